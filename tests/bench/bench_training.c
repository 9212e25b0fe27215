/* How fast inner steps are, as ratios within one run: against the matrix products they contain, and against the
 * processor's peak of fused multiply-adds.
 *
 * usage: bench_training PRESET REPLICAS THREADS SECONDS [BATCH]
 * Prints one line: tokens/s over all replicas, model FLOP/s (6 N per token), the share of the FMA peak, and step time
 * over the summed time of its matrix products.
 */
#include "base/pool.h"
#include "base/rng.h"
#include "kernels/kernels.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- the peak: independent multiply-adds in registers ---- */

typedef float wide __attribute__((vector_size(64)));

static double fma_peak_flops(void) {
    enum { CHAINS = 20, ROUNDS = 2000000 };
    wide sum[CHAINS], a, b;
    for (int i = 0; i < 16; i++) a[i] = 1.0f + 1e-7f * (float)i, b[i] = 1e-9f;
    for (int c = 0; c < CHAINS; c++) sum[c] = a;
    double best = 0;
    for (int repeat = 0; repeat < 5; repeat++) {
        double start = now_s();
        for (int r = 0; r < ROUNDS; r++)
            for (int c = 0; c < CHAINS; c++) sum[c] = sum[c] * a + b;
        double rate = 2.0 * 16 * CHAINS * ROUNDS / (now_s() - start);
        if (rate > best) best = rate;
    }
    volatile float kept = 0;
    for (int c = 0; c < CHAINS; c++) kept = kept + sum[c][0];
    return best;
}

/* ---- the matrix products of one step ---- */

static double product_s(int n, int in, int out) {
    float *x = calloc((size_t)n * (size_t)in, sizeof *x), *w = calloc((size_t)in * (size_t)out, sizeof *w),
          *y = calloc((size_t)n * (size_t)out, sizeof *y);
    double best = 1e9;
    for (int repeat = 0; repeat < 12; repeat++) {
        double start = now_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, out, in, 1, x, in, w, in, 0, y, out);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, in, out, 1, y, out, w, in, 0, x, in);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, n, 1, y, out, x, in, 0, w, in);
        double took = now_s() - start;
        if (took < best) best = took;
    }
    free(x);
    free(w);
    free(y);
    return best;
}

/* Forward, both gradients, of every linear map; attention's products are not counted. */
static double products_s(const struct llama_def *d, int batch) {
    int n = batch * d->context, head = d->dim / d->heads;
    double layer = product_s(n, d->dim, (d->heads + 2 * d->kv_heads) * head) + product_s(n, d->dim, d->dim) +
                   product_s(n, d->dim, 2 * d->ffn) + product_s(n, d->ffn, d->dim);
    return d->layers * layer + product_s(n, d->dim, d->vocab);
}

/* ---- replicas ---- */

struct replicas {
    const struct backend *backend;
    struct llama *model;
    int32_t batch, length;
    int64_t count, steps;
    float **parameters, **gradients, **first, **second; /* gradients: per thread */
    struct compute **compute;
    int32_t *tokens;
};

static void step(void *context, int64_t replica, int32_t thread) {
    struct replicas *r = context;
    double loss;
    int32_t tokens = r->batch * r->length;
    compute_gradient(r->compute[thread], r->parameters[replica], r->tokens, r->tokens + 1, r->batch, tokens, false,
                     r->gradients[thread], &loss);
    double norm = vector_square_norm(r->backend, r->gradients[thread], r->count);
    struct adamw_step adamw = {1e-3, 0.9, 0.95, 1e-8, 0.1, norm > 1 ? 0.5 : 1, r->steps + 1};
    vector_adamw(r->backend, r->parameters[replica], r->gradients[thread], r->first[replica], r->second[replica],
                 r->count, &adamw);
}

static float **vectors(const struct replicas *r, int32_t count, struct error *error) {
    float **list = calloc((size_t)count, sizeof *list);
    for (int32_t i = 0; i < count; i++)
        if (!(list[i] = backend_alloc(r->backend, r->count, "bench", error))) exit(1);
    return list;
}

int main(int argc, char **argv) {
    struct error error = {0};
    struct llama_def def;
    if (argc < 5 || !llama_preset(argv[1], &def)) {
        fprintf(stderr, "usage: bench_training PRESET REPLICAS THREADS SECONDS [BATCH]\n");
        return 2;
    }
    int32_t replicas = (int32_t)strtol(argv[2], NULL, 10), threads = (int32_t)strtol(argv[3], NULL, 10);
    double seconds = strtod(argv[4], NULL);
    struct replicas r = {.batch = argc > 5 ? (int32_t)strtol(argv[5], NULL, 10) : 8, .length = def.context};
    struct pool *pool = pool_create(threads, &error);
    if (backend_find("openblas", &r.backend, &error) != STATUS_OK || !pool) return 1;
    r.model = llama_create(&def, &error);
    r.count = llama_parameters(r.model);
    r.parameters = vectors(&r, replicas, &error);
    r.first = vectors(&r, replicas, &error);
    r.second = vectors(&r, replicas, &error);
    r.gradients = vectors(&r, threads, &error);
    r.compute = calloc((size_t)threads, sizeof(struct compute *));
    for (int32_t t = 0; t < threads; t++)
        r.compute[t] = compute_create(r.model, r.backend, r.batch, r.length, COMPUTE_TRAINING, &error);
    for (int32_t m = 0; m < replicas; m++) llama_initialize(r.model, r.backend, 1, r.parameters[m]);
    r.tokens = calloc((size_t)(r.batch * r.length + 1), sizeof *r.tokens);
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (int32_t i = 0; i <= r.batch * r.length; i++) r.tokens[i] = (int32_t)rng_below(&rng, (uint32_t)def.vocab);

    double peak = fma_peak_flops(), products = products_s(&def, r.batch);
    pool_run(pool, replicas, step, &r); /* warm */
    double start = now_s();
    while (now_s() - start < seconds) {
        pool_run(pool, replicas, step, &r);
        r.steps++;
    }
    double took = now_s() - start;
    double tokens = (double)r.steps * replicas * r.batch * r.length;
    double rate = tokens / took, step_s = took * threads / ((double)r.steps * replicas);
    printf("%s: %.0f tokens/s with %d replicas on %d threads; model %.1f GFLOP/s = %.2f of the FMA peak (%.0f per "
           "core); step %.3f ms = %.2f x its matrix products\n",
           argv[1], rate, replicas, threads, 6e-9 * (double)r.count * rate,
           6 * (double)r.count * rate / (peak * threads), peak * 1e-9, step_s * 1e3, step_s / products);
    pool_free(pool);
    return 0;
}
