/* Non-IID dealing: every worker gets as many windows as another, but of a mixture of groups of its own.
 *
 * Worker m's wish is a Dirichlet(alpha) draw over the groups (topics of the synthetic language, stretches of other
 * corpora). The wishes are scaled to what there is, each group dealt out whole and each worker given the same number
 * (iterative proportional fitting: Deming & Stephan 1940; Sinkhorn 1967), then rounded. Memory: 8 bytes a window.
 */
#ifndef DEAL_H
#define DEAL_H

#include "base/error.h"

enum { DEAL_MOST_GROUPS = 64 };

struct deal {
    int64_t *order; /* [count] window indices, worker after worker */
    int64_t *first; /* [workers + 1] where each worker's begin */
};

/* group[i] < group_count <= DEAL_MOST_GROUPS tells the group of window i < count. Rounding leaves workers apart by up
 * to the number of groups; a worker left with none is STATUS_INPUT. `deal` starts as {0}; deal_clear() it in any case.
 */
NODISCARD enum status deal_out(struct deal *deal, const uint8_t *group, int32_t group_count, int64_t count,
                               int32_t workers, double alpha, uint64_t seed, struct error *error);
void deal_clear(struct deal *deal);

#endif
