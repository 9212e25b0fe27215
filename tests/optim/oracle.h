/* A second trainer, as plain as can be: every register of gossip.md's round is an array of its own, mixing is a dense
 * matrix in double, programs are unrolled first. It shares with the first only the gradient and the inner optimiser.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "optimizer.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { ORACLE_WORKERS = 5 };

/* z the start of the round, y the parameters now, x the mixed start, delta the outer gradient, v the outer momentum */
struct oracle_worker {
    float *z, *y, *x, *delta, *v, *gradient, *state[2];
};

struct oracle {
    const struct trainer_def *def;
    const struct backend *backend;
    const struct optimizer *optimizer;
    struct llama *model;
    struct data *data;
    struct compute *compute;
    int64_t count, steps, all_steps;
    bool *in_subset; /* [count] */
    struct oracle_worker workers[ORACLE_WORKERS];
    double loss_sum, norm_sum; /* of the round */
    int64_t terms;
    bool has_x, has_delta;
};

static inline float *oracle_vector(const struct oracle *o) {
    struct error error;
    return backend_alloc(o->backend, o->count, "test", &error);
}

static inline void oracle_init(struct oracle *o, const struct trainer_def *def, int64_t all_steps) {
    struct error error;
    *o = (struct oracle){.def = def, .all_steps = all_steps, .optimizer = optimizer_find(def->train.optimizer.name)};
    if (backend_find(def->backend, &o->backend, &error) != STATUS_OK) return;
    o->model = llama_create(&def->model, &error);
    o->data = data_create(&def->data, def->workers, def->model.context, def->model.vocab, def->seed, &error);
    o->compute = compute_create(o->model, o->backend, ORACLE_WORKERS * def->train.batch, def->model.context,
                                COMPUTE_TRAINING, &error);
    o->count = llama_parameters(o->model);
    o->in_subset = alloc_zero((size_t)o->count, sizeof(bool), "test", &error);
    bool *selected = alloc_zero((size_t)llama_block_count(o->model), sizeof(bool), "test", &error);
    for (int32_t i = 0; i < def->strategy.subset_count; i++)
        if (llama_select_blocks(o->model, def->strategy.subset[i], selected, &error) != STATUS_OK) return;
    for (int32_t t = 0; t < llama_tensor_count(o->model); t++) {
        const struct llama_tensor *tensor = llama_tensor(o->model, t);
        for (int64_t i = 0; i < tensor->rows * tensor->columns; i++)
            o->in_subset[tensor->offset + i] = selected[tensor->block];
    }
    alloc_free(selected);
    for (int32_t m = 0; m < def->workers; m++) {
        struct oracle_worker *w = &o->workers[m];
        float **vectors[] = {&w->z, &w->y, &w->x, &w->delta, &w->v, &w->gradient, &w->state[0], &w->state[1]};
        for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) *vectors[i] = oracle_vector(o);
        llama_initialize(o->model, o->backend, def->seed, w->y);
    }
}

static inline void oracle_clear(struct oracle *o) {
    for (int32_t m = 0; m < o->def->workers; m++) {
        struct oracle_worker *w = &o->workers[m];
        float *vectors[] = {w->z, w->y, w->x, w->delta, w->v, w->gradient, w->state[0], w->state[1]};
        for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) backend_release(o->backend, vectors[i]);
    }
    alloc_free(o->in_subset);
    compute_free(o->compute);
    data_free(o->data);
    llama_free(o->model);
}

/* ---- inner steps ---- */

/* The whole batch of a step at once, however many micro-batches the trainer cuts it into. */
static inline double oracle_gradient(struct oracle *o, int32_t m) {
    int32_t tokens[1024], targets[1024], sequences = o->def->train.batch * o->def->train.accumulation;
    double loss, normalizer = (double)sequences * o->def->model.context;
    data_batch(o->data, m, o->steps, sequences, 0, sequences, tokens, targets);
    compute_gradient(o->compute, o->workers[m].y, tokens, targets, sequences, normalizer, false, o->workers[m].gradient,
                     &loss);
    return loss / normalizer;
}

static inline double oracle_step(struct oracle *o, int32_t m) {
    struct oracle_worker *w = &o->workers[m];
    double square = 0, clip = o->def->train.clip;
    for (int64_t i = 0; i < o->count; i++) square += (double)w->gradient[i] * (double)w->gradient[i];
    double norm = sqrt(square);
    struct optimizer_step s = {.backend = o->backend,
                               .model = o->model,
                               .def = &o->def->train.optimizer,
                               .parameters = w->y,
                               .gradient = w->gradient,
                               .state = w->state,
                               .learning_rate = schedule_rate(&o->def->train, o->steps, o->all_steps),
                               .gradient_scale = clip > 0 && norm > clip ? clip / norm : 1,
                               .step = o->steps + 1};
    o->optimizer->step(&s);
    return norm;
}

/* ---- mixing ---- */

/* W as a full matrix, from what the realised schedule says. */
static inline void oracle_matrix(const struct mixing *mixing, int32_t workers, double w[][ORACLE_WORKERS]) {
    int32_t present = 0;
    for (int32_t n = 0; n < workers; n++)
        present += mixing->kind == MIXING_MEAN && (!mixing->member || mixing->member[n]);
    for (int32_t m = 0; m < workers; m++)
        for (int32_t n = 0; n < workers; n++) {
            w[m][n] = m == n;
            if (mixing->kind == MIXING_MEAN && present > 0)
                w[m][n] = !mixing->member || mixing->member[n] ? 1.0 / present : 0;
            if (mixing->kind == MIXING_PAIRS && mixing->member[m] != m)
                w[m][n] = n == m || n == mixing->member[m] ? 0.5 : 0;
        }
}

/* to[m] = sum_n W[m, n] from[n], outside of a subset to[m] = from[m]. */
static inline void oracle_mix(struct oracle *o, const struct mixing *mixing, bool subset, float **to[],
                              float **from[]) {
    double w[ORACLE_WORKERS][ORACLE_WORKERS];
    int32_t workers = o->def->workers;
    oracle_matrix(mixing, workers, w);
    for (int64_t i = 0; i < o->count; i++) {
        float mixed[ORACLE_WORKERS];
        for (int32_t m = 0; m < workers; m++) {
            double sum = 0;
            for (int32_t n = 0; n < workers; n++)
                if (w[m][n] != 0) sum += w[m][n] * (double)(*from[n])[i];
            mixed[m] = subset && !o->in_subset[i] ? (*from[m])[i] : (float)sum;
        }
        for (int32_t m = 0; m < workers; m++) (*to[m])[i] = mixed[m];
    }
}

static inline void oracle_take_delta(struct oracle *o) {
    for (int32_t m = 0; m < o->def->workers && !o->has_delta; m++)
        for (int64_t i = 0; i < o->count; i++) o->workers[m].delta[i] = o->workers[m].z[i] - o->workers[m].y[i];
    o->has_delta = true;
}

static inline void oracle_play_mix(struct oracle *o, const struct op *op, const struct mixing *mixing) {
    float **from[ORACLE_WORKERS], **to[ORACLE_WORKERS];
    if (op->quantity == QUANTITY_OUTER_GRADIENT) oracle_take_delta(o);
    for (int32_t m = 0; m < o->def->workers; m++) {
        struct oracle_worker *w = &o->workers[m];
        float **of[] = {[QUANTITY_PARAMETERS] = &w->y,
                        [QUANTITY_OUTER_GRADIENT] = &w->delta,
                        [QUANTITY_GRADIENT] = &w->gradient,
                        [QUANTITY_OUTER_MOMENTUM] = &w->v};
        from[m] = of[op->quantity];
        to[m] = op->kind == OP_BEGIN ? &w->x : from[m];
    }
    o->has_x |= op->kind == OP_BEGIN;
    oracle_mix(o, mixing, op->subset, to, from);
}

static inline void oracle_outer(struct oracle *o) {
    double alpha = o->def->outer.learning_rate, beta = o->def->outer.momentum;
    oracle_take_delta(o);
    for (int32_t m = 0; m < o->def->workers; m++)
        for (int64_t i = 0; i < o->count; i++) {
            struct oracle_worker *w = &o->workers[m];
            double base = (double)(o->has_x ? w->x : w->z)[i], delta = (double)w->delta[i], move = delta;
            if (o->def->outer.kind != OUTER_SGD) {
                double v = beta * (double)w->v[i] + delta;
                w->v[i] = (float)v;
                move = o->def->outer.kind == OUTER_NESTEROV ? delta + beta * v : v;
            }
            w->y[i] = (float)(base - alpha * move);
        }
}

/* ---- one round ---- */

static inline void oracle_play_op(struct oracle *o, const struct op *op, const struct mixing *mixing, int32_t h) {
    int32_t workers = o->def->workers, steps = op->count > 0 ? op->count : h;
    switch (op->kind) {
    case OP_INNER:
        for (int32_t s = 0; s < steps; s++, o->steps++)
            for (int32_t m = 0; m < workers; m++, o->terms++) {
                o->loss_sum += oracle_gradient(o, m);
                o->norm_sum += oracle_step(o, m);
            }
        break;
    case OP_GRADIENT:
        for (int32_t m = 0; m < workers; m++) o->loss_sum += oracle_gradient(o, m);
        break;
    case OP_STEP:
        for (int32_t m = 0; m < workers; m++, o->terms++) o->norm_sum += oracle_step(o, m);
        o->steps++;
        break;
    case OP_BEGIN:
    case OP_MIX:
        oracle_play_mix(o, op, mixing);
        break;
    case OP_OUTER:
        oracle_outer(o);
        break;
    case OP_AWAIT:
    case OP_REPEAT:
    case OP_END:
    case OP_KINDS:
        break;
    }
}

/* Unrolls by the door's words: what is between a repeat and its end stands there as often as the repeat says. */
static inline void oracle_play_round(struct oracle *o, const struct realised_round *realised) {
    const struct program *program = &o->def->strategy.program;
    const struct mixing *mixing = realised->mixings;
    o->loss_sum = o->norm_sum = 0;
    o->terms = 0;
    o->has_x = o->has_delta = false;
    for (int32_t m = 0; m < o->def->workers; m++)
        memcpy(o->workers[m].z, o->workers[m].y, (size_t)o->count * sizeof(float));
    for (int32_t i = 0; i < program->count; i++) {
        int32_t end = i, times = 1, h = realised->inner_steps;
        if (program->ops[i].kind == OP_REPEAT) {
            times = program->ops[i].count > 0 ? program->ops[i].count : h;
            while (program->ops[end].kind != OP_END) end++;
        }
        for (int32_t time = 0; time < times; time++)
            for (int32_t k = i; k <= end; k++) {
                const struct op *op = &program->ops[k];
                oracle_play_op(o, op, mixing, h);
                mixing += op->kind == OP_MIX || op->kind == OP_BEGIN;
            }
        i = end;
    }
}

#endif
