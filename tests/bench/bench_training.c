/* How fast inner steps are, as ratios within one run: against the matrix products they contain, and against what the
 * processor can do at most.
 *
 * usage: bench_training PRESET REPLICAS THREADS SECONDS [BATCH]
 * Prints one line of tokens/s over all replicas and per core-second (processor time, which a busy neighbour changes
 * little), then the floating-point rates of the step's matrix products inside the step, alone, of one large product,
 * and of multiply-adds in registers. Attention's products are not counted.
 */
#include "base/pool.h"
#include "base/rng.h"
#include "kernels/kernels.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_s(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double now_s(void) {
    return clock_s(CLOCK_MONOTONIC);
}

/* Of this thread alone. */
static double core_s(void) {
    return clock_s(CLOCK_THREAD_CPUTIME_ID);
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
        double start = core_s();
        for (int r = 0; r < ROUNDS; r++)
            for (int c = 0; c < CHAINS; c++) sum[c] = sum[c] * a + b;
        double rate = 2.0 * 16 * CHAINS * ROUNDS / (core_s() - start);
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
        double start = core_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, out, in, 1, x, in, w, in, 0, y, out);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, in, out, 1, y, out, w, in, 0, x, in);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, n, 1, y, out, x, in, 0, w, in);
        double took = core_s() - start;
        if (took < best) best = took;
    }
    free(x);
    free(w);
    free(y);
    return best;
}

/* Every linear map of the model: calls visit(inputs, outputs) and adds up what it returns. */
static double each_linear(const struct llama_def *d, int n, double (*visit)(int n, int in, int out)) {
    int head = d->dim / d->heads;
    double layer = visit(n, d->dim, (d->heads + 2 * d->kv_heads) * head) + visit(n, d->dim, d->dim) +
                   visit(n, d->dim, 2 * d->ffn) + visit(n, d->ffn, d->dim);
    return d->layers * layer + visit(n, d->dim, d->vocab);
}

/* Forward and both gradients are three products. */
static double product_flop(int n, int in, int out) {
    return 6.0 * n * in * out;
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

static void make(struct replicas *r, const struct llama_def *def, int32_t replicas, int32_t threads) {
    struct error error = {0};
    if (backend_find("auto", &r->backend, &error) != STATUS_OK || !(r->model = llama_create(def, &error))) exit(1);
    r->count = llama_parameters(r->model);
    r->parameters = vectors(r, replicas, &error);
    r->first = vectors(r, replicas, &error);
    r->second = vectors(r, replicas, &error);
    r->gradients = vectors(r, threads, &error);
    r->compute = calloc((size_t)threads, sizeof(struct compute *));
    for (int32_t t = 0; t < threads; t++)
        if (!(r->compute[t] = compute_create(r->model, r->backend, r->batch, r->length, COMPUTE_TRAINING, &error)))
            exit(1);
    for (int32_t m = 0; m < replicas; m++) llama_initialize(r->model, r->backend, 1, r->parameters[m]);
    r->tokens = calloc((size_t)(r->batch * r->length + 1), sizeof *r->tokens);
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (int32_t i = 0; i <= r->batch * r->length; i++) r->tokens[i] = (int32_t)rng_below(&rng, (uint32_t)def->vocab);
}

static void report(const char *preset, const struct llama_def *def, const struct replicas *r, int32_t replicas,
                   int32_t threads, double wall_s, double cores_s) {
    int n = r->batch * r->length;
    double steps = (double)r->steps * replicas, flop = each_linear(def, n, product_flop);
    double peak = fma_peak_flops(), products = each_linear(def, n, product_s), large = product_s(512, 768, 768);
    printf(
        "%s: %.0f tokens/s with %d replicas on %d threads, %.0f per core-second; step %.3f ms of a core = %.2f x its "
        "matrix products\n",
        preset, steps * n / wall_s, replicas, threads, steps * n / cores_s, cores_s / steps * 1e3,
        cores_s / steps / products);
    printf(
        "  GFLOP/s of a core: %.1f in the step, %.1f its products alone, %.1f a large product, %.1f multiply-add peak; "
        "the step reaches %.2f of the large product, %.2f of the peak\n",
        1e-9 * flop * steps / cores_s, 1e-9 * flop / products, 1e-9 * product_flop(512, 768, 768) / large, 1e-9 * peak,
        flop * steps / cores_s * large / product_flop(512, 768, 768), flop * steps / cores_s / peak);
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
    if (!pool) return 1;
    make(&r, &def, replicas, threads);
    pool_run(pool, replicas, step, &r); /* warm */
    double start = now_s(), core_start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    while (now_s() - start < seconds) {
        pool_run(pool, replicas, step, &r);
        r.steps++;
    }
    report(argv[1], &def, &r, replicas, threads, now_s() - start, clock_s(CLOCK_PROCESS_CPUTIME_ID) - core_start);
    pool_free(pool);
    return 0;
}
