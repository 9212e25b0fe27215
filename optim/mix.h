/* Averaging vectors of many workers as a realised mixing says. */
#ifndef MIX_H
#define MIX_H

#include "optim.h"

#include "base/pool.h"

/* vectors[m] <- sum_n W[m, n] vectors[n] in place, on the given ranges only. Workers that get the same mean share one
 * computation, in a piece of memory per thread; sums run over workers in ascending order whoever computes them. */
struct mix_task {
    const struct backend *backend;
    const struct mixing *mixing;
    int32_t workers;
    float *const *vectors;
    const struct range *ranges;
    int32_t range_count;
    float *pieces;         /* [threads, MIX_PIECE] scratch */
    const float **sources; /* [threads, workers] scratch */
    double *weights;       /* [threads, workers] scratch */
};
enum { MIX_PIECE = 8192 };
void mix_vectors(const struct mix_task *task, struct pool *pool);

/* Workers whose value entered the mix: all of them where nothing failed. */
int32_t mixing_contributors(const struct mixing *mixing, int32_t workers);

#endif
