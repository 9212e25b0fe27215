/* What is measured on M sets of parameters: held-out perplexity, JS distance to the averaged model, L2 consensus. */
#ifndef METRICS_H
#define METRICS_H

#include "optim.h"

#include "base/pool.h"

struct metrics;

NODISCARD struct metrics *metrics_create(const struct evaluate_def *def, const struct llama *model,
                                         const struct backend *backend, const struct data *data, int32_t workers,
                                         int32_t threads, struct error *error);
void metrics_free(struct metrics *metrics); /* NULL is fine */
size_t metrics_bytes(const struct evaluate_def *def, const struct llama *model, const struct backend *backend,
                     int32_t workers, int32_t threads);
int64_t metrics_windows(const struct metrics *metrics); /* validation windows that perplexities use */

/* The mean over workers into metrics, for what follows; sqrt(mean_m |z_m - mean|^2). */
double metrics_consensus(struct metrics *metrics, float *const *parameters, struct pool *pool);

/* Both need metrics_consensus() on the same parameters before. Equal replicas are computed once.
 * js[m]: mean over tokens of the JS distance between worker m and the averaged model; returns the mean over workers. */
double metrics_js(struct metrics *metrics, float *const *parameters, double *js, struct pool *pool);
/* perplexity[m] = exp(total loss / total tokens) of worker m; returns that of the averaged model. */
double metrics_perplexity(struct metrics *metrics, float *const *parameters, double *perplexity, struct pool *pool);

#endif
