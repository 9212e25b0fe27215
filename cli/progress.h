/* What a person sees while cells play: one line that rewrites itself on a terminal, plain lines elsewhere. On stderr.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "sim/sim.h"

struct progress {
    bool quiet;
    bool terminal;
    int columns;
    int64_t cell, cells;                         /* the one in progress, from 0 */
    int32_t rounds;                              /* of this cell */
    int64_t compute_ns;                          /* of this cell so far, over workers */
    double started_s, cell_started_s, printed_s; /* wall clock */
    double perplexity;                           /* last known of this cell */
    char name[160];                              /* of this cell */
};

void progress_start(struct progress *progress, bool quiet, int64_t cells);
void progress_begin_cell(struct progress *progress, int64_t cell, const char *name, int32_t rounds);
void progress_round(struct progress *progress, const struct sim_round *round);
/* outcome: "done", "diverged in round 3 ..." */
void progress_end_cell(struct progress *progress, const char *outcome, const struct sim_summary *summary);
void progress_warning(struct progress *progress, const char *text);
double progress_wall_s(void); /* monotonic */

#endif
