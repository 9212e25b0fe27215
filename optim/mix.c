#include "mix.h"

#include "base/rng.h"

#include <assert.h>
#include <string.h>

/* Each worker in turn, if still free, takes a random free one: uniform over perfect matchings, O(M log M) draws. With
 * an odd number a phantom joins in, whose partner stays alone. */
void mixing_draw_pairs(uint64_t seed, int32_t round, int32_t operation, int32_t workers, int32_t *partner) {
    struct rng rng = rng_stream(seed, RNG_MIX_PAIRS, (uint32_t)round, (uint32_t)operation);
    const int32_t phantom = workers % 2 ? workers : -1, places = workers + workers % 2;
    bool phantom_free = phantom >= 0;
    for (int32_t m = 0; m < workers; m++) partner[m] = -1;
    for (int32_t m = 0; m < workers; m++) {
        if (partner[m] >= 0) continue;
        int32_t other;
        do other = m + 1 + (int32_t)rng_below(&rng, (uint32_t)(places - m - 1));
        while (other == phantom ? !phantom_free : partner[other] >= 0);
        if (other == phantom) {
            phantom_free = false;
            partner[m] = m;
        } else {
            partner[m] = other;
            partner[other] = m;
        }
    }
}

/* ---- rows of W ---- */

static bool contributes(const struct mixing *mixing, int32_t worker) {
    return !mixing->member || mixing->member[worker] != 0;
}

int32_t mixing_contributors(const struct mixing *mixing, int32_t workers) {
    /* the one who sits out of an odd number has not failed */
    int32_t count = mixing->kind == MIXING_PAIRS ? workers % 2 : 0;
    for (int32_t m = 0; m < workers; m++) {
        switch (mixing->kind) {
        case MIXING_NONE:
            break;
        case MIXING_MEAN:
            count += contributes(mixing, m);
            break;
        case MIXING_PAIRS:
            count += mixing->member[m] != m;
            break;
        }
    }
    return count;
}

static int32_t mean_row(const struct mixing *mixing, int32_t workers, int32_t *sources, double *weights) {
    int32_t count = 0;
    for (int32_t m = 0; m < workers; m++)
        if (contributes(mixing, m)) sources[count++] = m;
    for (int32_t i = 0; i < count; i++) weights[i] = 1.0 / count;
    return count;
}

static int32_t own_row(int32_t worker, int32_t *sources, double *weights) {
    sources[0] = worker;
    weights[0] = 1;
    return 1;
}

int32_t mixing_row(const struct mixing *mixing, int32_t workers, int32_t worker, int32_t *sources, double *weights) {
    switch (mixing->kind) {
    case MIXING_NONE:
        return own_row(worker, sources, weights);
    case MIXING_MEAN: {
        int32_t count = mean_row(mixing, workers, sources, weights);
        return count > 0 ? count : own_row(worker, sources, weights);
    }
    case MIXING_PAIRS: {
        int32_t partner = mixing->member[worker];
        if (partner == worker) return own_row(worker, sources, weights);
        sources[0] = worker < partner ? worker : partner;
        sources[1] = worker < partner ? partner : worker;
        weights[0] = weights[1] = 0.5;
        return 2;
    }
    }
    return 0;
}

/* ---- mixing ---- */

/* The mean of some workers on one piece of the vectors, given to some. */
static void mix_global(const struct mix_task *task, int64_t at, int64_t count, float *piece, const float **sources,
                       double *weights) {
    int32_t terms = 0;
    for (int32_t m = 0; m < task->workers; m++)
        if (contributes(task->mixing, m)) sources[terms++] = task->vectors[m] + at;
    if (terms == 0) return;
    for (int32_t i = 0; i < terms; i++) weights[i] = 1.0 / terms;
    vector_combine(task->backend, piece, terms, sources, weights, count);
    for (int32_t m = 0; m < task->workers; m++) vector_copy(task->backend, task->vectors[m] + at, piece, count);
}

static void mix_pairs(const struct mix_task *task, int64_t at, int64_t count, float *piece) {
    static const double halves[] = {0.5, 0.5};
    for (int32_t m = 0; m < task->workers; m++) {
        int32_t partner = task->mixing->member[m];
        if (partner <= m) continue; /* alone, or done with the partner */
        const float *sources[] = {task->vectors[m] + at, task->vectors[partner] + at};
        vector_combine(task->backend, piece, 2, sources, halves, count);
        vector_copy(task->backend, task->vectors[m] + at, piece, count);
        vector_copy(task->backend, task->vectors[partner] + at, piece, count);
    }
}

static void mix_piece(void *context, int64_t index, int32_t thread) {
    const struct mix_task *task = context;
    /* the index-th piece over all ranges */
    int32_t r = 0;
    for (int64_t pieces; index >= (pieces = (task->ranges[r].count + MIX_PIECE - 1) / MIX_PIECE); r++) index -= pieces;
    int64_t at = task->ranges[r].offset + index * MIX_PIECE;
    int64_t left = task->ranges[r].count - index * MIX_PIECE, count = left < MIX_PIECE ? left : MIX_PIECE;
    float *piece = task->pieces + (int64_t)thread * MIX_PIECE;
    switch (task->mixing->kind) {
    case MIXING_NONE:
        break;
    case MIXING_MEAN:
        mix_global(task, at, count, piece, task->sources + (int64_t)thread * task->workers,
                   task->weights + (int64_t)thread * task->workers);
        break;
    case MIXING_PAIRS:
        mix_pairs(task, at, count, piece);
        break;
    }
}

void mix_vectors(const struct mix_task *task, struct pool *pool) {
    int64_t pieces = 0;
    if (task->mixing->kind == MIXING_NONE) return;
    for (int32_t r = 0; r < task->range_count; r++) pieces += (task->ranges[r].count + MIX_PIECE - 1) / MIX_PIECE;
    pool_run(pool, pieces, mix_piece, (void *)(uintptr_t)task);
}
