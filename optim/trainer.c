/* Executes realised schedules on real parameters.
 *
 * Registers of a worker: `start` z, the parameters at the start of the round; `current` y; `velocity` v; the
 * optimiser's state; and where the program mixes gradients, `gradient`. The outer gradient z - y takes the place of y
 * once the inner steps are done: nothing needs y any more. A mix that was begun on the parameters is computed when
 * `outer` needs it, in place on z, after the outer gradient has been taken from z.
 */

#include "optim.h"

#include "metrics.h"
#include "mix.h"
#include "optimizer.h"
#include "trainer_def.h"

#include "base/alloc.h"
#include "base/pool.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What one worker's inner steps add up to in a round. */
struct tally {
    double loss_sum, norm_sum;
    int64_t steps;
    int64_t diverged_step; /* -1, or the inner step whose loss or gradient is not finite */
};

struct trainer {
    struct trainer_def def;
    const struct optimizer *optimizer;
    const struct backend *backend;
    struct llama *model;
    struct data *data;
    struct pool *pool;
    int32_t threads;
    int64_t count;        /* parameters */
    int64_t steps;        /* inner steps per worker that were asked for */
    int64_t steps_in_all; /* that the rounds will play: another number where a tail cannot be cut to fit */
    int64_t steps_done;
    int32_t rounds, next_round;

    float **start, **current, **velocity, **gradient; /* [workers], NULL where the program does without */
    float **state;                                    /* [workers * optimizer->vectors] */
    float **thread_gradient;                          /* [threads], where no gradient is kept per worker */
    struct compute **compute;                         /* [threads] */
    int32_t *tokens;                                  /* [threads, 2 * batch * context] */
    struct range *all, *subset;                       /* ranges of the parameter vector */
    int32_t all_count, subset_count;
    struct mix_task mix;
    struct metrics *metrics;
    struct tally *tallies; /* [workers] */
    struct worker_metrics *worker_metrics;
    double *values; /* [workers] scratch */

    /* of the round in progress */
    bool delta_taken;           /* current holds z - y */
    const struct mixing *begun; /* mix of z that outer will apply */
    int32_t inner_steps;        /* H of this round */
};

/* ---- making ---- */

/* `count` vectors of parameters; NULL stays NULL on failure, and free_vectors() copes with holes. */
static float **make_vectors(struct trainer *t, int64_t count, const char *what, struct error *error) {
    float **vectors = alloc_zero((size_t)count, sizeof *vectors, what, error);
    for (int64_t i = 0; vectors && i < count; i++) {
        vectors[i] = backend_alloc(t->backend, t->count, what, error);
        if (vectors[i]) continue;
        while (i-- > 0) backend_release(t->backend, vectors[i]);
        alloc_free(vectors);
        return NULL;
    }
    return vectors;
}

static void free_vectors(struct trainer *t, float **vectors, int64_t count) {
    for (int64_t i = 0; vectors && i < count; i++) backend_release(t->backend, vectors[i]);
    alloc_free(vectors);
}

static enum status make_registers(struct trainer *t, struct error *error) {
    const struct program *program = &t->def.strategy.program;
    int64_t workers = t->def.workers;
    t->current = make_vectors(t, workers, "parameters", error);
    if (!t->current) return STATUS_MEMORY;
    if (program_needs_start(program) &&
        !(t->start = make_vectors(t, workers, "parameters at the start of a round", error)))
        return STATUS_MEMORY;
    if (trainer_needs_velocity(&t->def) && !(t->velocity = make_vectors(t, workers, "outer momentum", error)))
        return STATUS_MEMORY;
    if (program_needs_gradient(program) && !(t->gradient = make_vectors(t, workers, "gradients", error)))
        return STATUS_MEMORY;
    if (!program_needs_gradient(program) && !(t->thread_gradient = make_vectors(t, t->threads, "gradients", error)))
        return STATUS_MEMORY;
    int64_t states = workers * t->optimizer->vectors;
    if (states > 0 && !(t->state = make_vectors(t, states, "optimiser state", error))) return STATUS_MEMORY;
    return STATUS_OK;
}

static enum status make_ranges(struct trainer *t, struct error *error) {
    size_t tensors = (size_t)llama_tensor_count(t->model);
    bool *selected = alloc_zero((size_t)llama_block_count(t->model), sizeof *selected, "blocks", error);
    t->all = alloc_zero(tensors, sizeof *t->all, "ranges", error);
    t->subset = alloc_zero(tensors, sizeof *t->subset, "ranges", error);
    enum status status = selected && t->all && t->subset ? STATUS_OK : STATUS_MEMORY;
    for (int32_t i = 0;
         i < t->def.strategy.subset_count && program_uses_subset(&t->def.strategy.program) && status == STATUS_OK; i++)
        status = llama_select_blocks(t->model, t->def.strategy.subset[i], selected, error);
    if (status == STATUS_OK) {
        t->all_count = llama_block_ranges(t->model, NULL, t->all);
        t->subset_count = llama_block_ranges(t->model, selected, t->subset);
    }
    alloc_free(selected);
    return status;
}

static enum status make_threads(struct trainer *t, struct error *error) {
    size_t threads = (size_t)t->threads, workers = (size_t)t->def.workers;
    t->compute = alloc_zero(threads, sizeof(struct compute *), "activations", error);
    t->tokens = alloc_zero(threads * 2 * (size_t)t->def.train.batch, (size_t)t->def.model.context * sizeof *t->tokens,
                           "batches", error);
    t->mix.pieces = alloc_zero(threads, MIX_PIECE * sizeof(float), "mixing", error);
    t->mix.sources = alloc_zero(threads * workers, sizeof *t->mix.sources, "mixing", error);
    t->mix.weights = alloc_zero(threads * workers, sizeof *t->mix.weights, "mixing", error);
    t->tallies = alloc_zero(workers, sizeof *t->tallies, "metrics", error);
    t->worker_metrics = alloc_zero(workers, sizeof *t->worker_metrics, "metrics", error);
    t->values = alloc_zero(workers, sizeof *t->values, "metrics", error);
    if (!t->compute || !t->tokens || !t->mix.pieces || !t->mix.sources || !t->mix.weights || !t->tallies ||
        !t->worker_metrics || !t->values)
        return STATUS_MEMORY;
    for (int32_t i = 0; i < t->threads; i++) {
        t->compute[i] =
            compute_create(t->model, t->backend, t->def.train.batch, t->def.model.context, COMPUTE_TRAINING, error);
        if (!t->compute[i]) return error->status;
    }
    return STATUS_OK;
}

/* The learning rate ends at its minimum where training ends. */
static int64_t steps_in_all(const struct trainer *t) {
    const struct strategy_def *strategy = &t->def.strategy;
    int32_t tail = train_round_inner_steps(t->steps, strategy, t->rounds - 1);
    return (t->rounds - 1) * program_inner_steps(&strategy->program, strategy->inner_steps) +
           program_inner_steps(&strategy->program, tail);
}

static enum status make(struct trainer *t, struct error *error) {
    const struct trainer_def *def = &t->def;
    TRY(backend_find(def->backend, &t->backend, error));
    t->model = llama_create(&def->model, error);
    if (!t->model) return error->status;
    t->count = llama_parameters(t->model);
    t->data = data_create(&def->data, def->workers, def->model.context, def->model.vocab, def->seed, error);
    if (!t->data) return error->status;
    t->pool = pool_create(def->jobs > 0 ? def->jobs : 1, error);
    if (!t->pool) return STATUS_MEMORY;
    t->threads = pool_threads(t->pool);
    t->steps = train_steps(&def->train, def->workers, def->model.context, &def->strategy);
    t->rounds = train_rounds(t->steps, &def->strategy);
    t->steps_in_all = steps_in_all(t);
    TRY(make_registers(t, error));
    TRY(make_ranges(t, error));
    TRY(make_threads(t, error));
    t->metrics = metrics_create(&def->evaluate, t->model, t->backend, t->data, def->workers, t->threads, error);
    if (!t->metrics) return STATUS_MEMORY;
    t->mix.backend = t->backend;
    t->mix.workers = def->workers;
    llama_initialize(t->model, t->backend, def->seed, t->current[0]);
    for (int32_t m = 1; m < def->workers; m++) vector_copy(t->backend, t->current[m], t->current[0], t->count);
    return STATUS_OK;
}

struct trainer *trainer_create(const struct trainer_def *def, struct error *error) {
    if (trainer_check(def, error) != STATUS_OK) return NULL;
    if (def->workers > WORKERS_MAX) {
        error_set(error, STATUS_INPUT,
                  "cluster.workers is %d; training takes at most %d (timing alone has no such limit)", def->workers,
                  WORKERS_MAX);
        return NULL;
    }
    struct trainer *t = alloc_zero(1, sizeof *t, "trainer", error);
    if (!t) return NULL;
    t->def = *def;
    t->optimizer = optimizer_find(def->train.optimizer.name);
    if (make(t, error) == STATUS_OK) return t;
    trainer_free(t);
    return NULL;
}

void trainer_free(struct trainer *t) {
    if (!t) return;
    int64_t workers = t->def.workers;
    free_vectors(t, t->start, workers);
    free_vectors(t, t->current, workers);
    free_vectors(t, t->velocity, workers);
    free_vectors(t, t->gradient, workers);
    free_vectors(t, t->thread_gradient, t->threads);
    free_vectors(t, t->state, workers * t->optimizer->vectors);
    for (int32_t i = 0; t->compute && i < t->threads; i++) compute_free(t->compute[i]);
    alloc_free(t->compute);
    alloc_free(t->tokens);
    alloc_free(t->mix.pieces);
    alloc_free(t->mix.sources);
    alloc_free(t->mix.weights);
    alloc_free(t->tallies);
    alloc_free(t->worker_metrics);
    alloc_free(t->values);
    alloc_free(t->all);
    alloc_free(t->subset);
    metrics_free(t->metrics);
    pool_free(t->pool);
    data_free(t->data);
    llama_free(t->model);
    alloc_free(t);
}

int64_t trainer_steps(const struct trainer *t) {
    return t->steps;
}
int32_t trainer_rounds(const struct trainer *t) {
    return t->rounds;
}
const char *trainer_data_identity(const struct trainer *t) {
    return data_identity(t->data);
}
const struct llama *trainer_model(const struct trainer *t) {
    return t->model;
}
double trainer_perplexity_floor(const struct trainer *t) {
    return exp(data_entropy_floor(t->data, metrics_windows(t->metrics)));
}

void trainer_get_parameters(const struct trainer *t, int32_t worker, float *parameters) {
    backend_download(t->backend, parameters, t->current[worker], t->count);
}

/* ---- inner steps ---- */

/* The gradient of worker m's batch of inner step `step`, its micro-batches accumulated. Mean loss per token. */
static double take_gradient(struct trainer *t, int32_t m, int32_t thread, int64_t step, float *gradient) {
    const struct train_def *train = &t->def.train;
    int32_t length = t->def.model.context, per_step = train->batch * train->accumulation;
    int32_t *tokens = t->tokens + (int64_t)thread * 2 * train->batch * length,
            *targets = tokens + (int64_t)train->batch * length;
    double normalizer = (double)per_step * length, total = 0;
    for (int32_t a = 0; a < train->accumulation; a++) {
        double loss;
        data_batch(t->data, m, step, per_step, a * train->batch, train->batch, tokens, targets);
        compute_gradient(t->compute[thread], t->current[m], tokens, targets, train->batch, normalizer, a > 0, gradient,
                         &loss);
        total += loss;
    }
    return total / normalizer;
}

/* Clips and applies the gradient; the norm before clipping. */
static double apply_gradient(struct trainer *t, int32_t m, int64_t step, const float *gradient) {
    double norm = sqrt(vector_square_norm(t->backend, gradient, t->count)), clip = t->def.train.clip;
    if (!isfinite(norm)) return norm;
    struct optimizer_step s = {.backend = t->backend,
                               .model = t->model,
                               .def = &t->def.train.optimizer,
                               .parameters = t->current[m],
                               .gradient = gradient,
                               .state = t->state ? t->state + (int64_t)m * t->optimizer->vectors : NULL,
                               .learning_rate = schedule_rate(&t->def.train, step, t->steps_in_all),
                               .gradient_scale = clip > 0 && norm > clip ? clip / norm : 1,
                               .step = step + 1};
    t->optimizer->step(&s);
    return norm;
}

static void note(struct tally *tally, int64_t step, double loss, double norm) {
    if (tally->diverged_step >= 0) return;
    if (!isfinite(loss) || !isfinite(norm)) {
        tally->diverged_step = step;
        return;
    }
    tally->loss_sum += loss;
    tally->norm_sum += norm;
    tally->steps++;
}

/* Looks at what a mix may take next: a mean would hide whose value is not finite. */
static void check_finite(struct trainer *t, int32_t m, const float *vector, int64_t step) {
    struct tally *tally = &t->tallies[m];
    if (tally->diverged_step < 0 && !vector_finite(t->backend, vector, t->count)) tally->diverged_step = step;
}

struct inner_task {
    struct trainer *trainer;
    int32_t count;
};

static void inner_steps(void *context, int64_t worker, int32_t thread) {
    const struct inner_task *task = context;
    struct trainer *t = task->trainer;
    struct tally *tally = &t->tallies[worker];
    float *gradient = t->gradient ? t->gradient[worker] : t->thread_gradient[thread];
    for (int64_t step = t->steps_done; step < t->steps_done + task->count && tally->diverged_step < 0; step++) {
        double loss = take_gradient(t, (int32_t)worker, thread, step, gradient);
        note(tally, step, loss, isfinite(loss) ? apply_gradient(t, (int32_t)worker, step, gradient) : NAN);
    }
    check_finite(t, (int32_t)worker, t->current[worker], t->steps_done + task->count - 1);
}

static void gradient_only(void *context, int64_t worker, int32_t thread) {
    struct trainer *t = context;
    t->values[worker] = take_gradient(t, (int32_t)worker, thread, t->steps_done, t->gradient[worker]);
    if (!isfinite(t->values[worker])) t->tallies[worker].diverged_step = t->steps_done;
    check_finite(t, (int32_t)worker, t->gradient[worker], t->steps_done);
}

static void step_only(void *context, int64_t worker, int32_t thread) {
    struct trainer *t = context;
    (void)thread;
    note(&t->tallies[worker], t->steps_done, t->values[worker],
         apply_gradient(t, (int32_t)worker, t->steps_done, t->gradient[worker]));
    check_finite(t, (int32_t)worker, t->current[worker], t->steps_done);
}

/* The earliest divergence, by step and then worker; -1 if there is none. */
static int32_t diverged_worker(const struct trainer *t) {
    int32_t first = -1;
    for (int32_t m = 0; m < t->def.workers; m++) {
        int64_t step = t->tallies[m].diverged_step;
        if (step >= 0 && (first < 0 || step < t->tallies[first].diverged_step)) first = m;
    }
    return first;
}

/* ---- mixing and the outer step ---- */

static void start_worker(void *context, int64_t worker, int32_t thread) {
    struct trainer *t = context;
    (void)thread;
    vector_copy(t->backend, t->start[worker], t->current[worker], t->count);
}

static void delta_worker(void *context, int64_t worker, int32_t thread) {
    static const double weights[] = {1, -1};
    struct trainer *t = context;
    const float *inputs[] = {t->start[worker], t->current[worker]};
    (void)thread;
    vector_combine(t->backend, t->current[worker], 2, inputs, weights, t->count);
}

static void take_delta(struct trainer *t) {
    if (t->delta_taken) return;
    pool_run(t->pool, t->def.workers, delta_worker, t);
    t->delta_taken = true;
}

static void mix(struct trainer *t, const struct mixing *mixing, float *const *vectors, bool subset) {
    t->mix.mixing = mixing;
    t->mix.vectors = vectors;
    t->mix.ranges = subset ? t->subset : t->all;
    t->mix.range_count = subset ? t->subset_count : t->all_count;
    mix_vectors(&t->mix, t->pool);
}

static void play_mix(struct trainer *t, const struct op *op, const struct mixing *mixing) {
    switch (op->quantity) {
    case QUANTITY_PARAMETERS:
        mix(t, mixing, t->current, op->subset);
        break;
    case QUANTITY_OUTER_GRADIENT:
        take_delta(t);
        mix(t, mixing, t->current, op->subset);
        break;
    case QUANTITY_GRADIENT:
        mix(t, mixing, t->gradient, op->subset);
        break;
    case QUANTITY_OUTER_MOMENTUM:
        mix(t, mixing, t->velocity, op->subset);
        break;
    case MIX_QUANTITIES:
        break;
    }
}

static void outer_worker(void *context, int64_t worker, int32_t thread) {
    struct trainer *t = context;
    const struct outer_def *outer = &t->def.outer;
    float *z = t->start[worker], *y = t->current[worker];
    (void)thread;
    if (outer->kind == OUTER_SGD) {
        const float *inputs[] = {z, y};
        const double weights[] = {1, -outer->learning_rate};
        vector_combine(t->backend, y, 2, inputs, weights, t->count);
        return;
    }
    vector_outer_momentum(t->backend, z, z, y, t->velocity[worker], t->count, outer->learning_rate, outer->momentum,
                          outer->kind == OUTER_NESTEROV);
    vector_copy(t->backend, y, z, t->count);
}

static void play_outer(struct trainer *t, const struct op *begin) {
    take_delta(t);
    if (t->begun) mix(t, t->begun, t->start, begin->subset);
    pool_run(t->pool, t->def.workers, outer_worker, t);
    t->delta_taken = false;
    t->begun = NULL;
}

/* ---- one round ---- */

/* The op after which all inner steps of the round are done. */
static int32_t last_step_op(const struct program *program) {
    int32_t last = 0;
    bool in_repeat = false, repeat_steps = false;
    for (int32_t i = 0; i < program->count; i++) {
        enum op_kind kind = program->ops[i].kind;
        if (kind == OP_REPEAT) in_repeat = true, repeat_steps = false;
        if (kind == OP_INNER || kind == OP_STEP) in_repeat ? (repeat_steps = true) : (last = i);
        if (kind == OP_END) {
            if (repeat_steps) last = i;
            in_repeat = false;
        }
    }
    return last;
}

static void measure_inner(struct trainer *t, struct round_metrics *metrics, bool evaluate) {
    metrics->l2_consensus_inner = metrics_consensus(t->metrics, t->current, t->pool);
    if (evaluate && t->def.evaluate.js_tokens > 0)
        metrics->js_distance_inner = metrics_js(t->metrics, t->current, t->values, t->pool);
}

static void measure_end(struct trainer *t, struct round_metrics *metrics, bool evaluate) {
    metrics->l2_consensus = metrics_consensus(t->metrics, t->current, t->pool);
    if (!evaluate) return;
    metrics->evaluated = true;
    metrics->perplexity_average_model = metrics_perplexity(t->metrics, t->current, t->values, t->pool);
    metrics->perplexity = 0;
    metrics->perplexity_worst = t->values[0];
    for (int32_t m = 0; m < t->def.workers; m++) {
        t->worker_metrics[m].perplexity = t->values[m];
        metrics->perplexity += t->values[m] / t->def.workers;
        if (!(t->values[m] <= metrics->perplexity_worst)) metrics->perplexity_worst = t->values[m];
    }
    if (t->def.evaluate.js_tokens == 0) return;
    metrics->js_distance = metrics_js(t->metrics, t->current, t->values, t->pool);
    for (int32_t m = 0; m < t->def.workers; m++) t->worker_metrics[m].js_distance = t->values[m];
}

static void begin_round(struct trainer *t, const struct realised_round *realised, struct round_metrics *metrics) {
    *metrics = round_metrics_none();
    metrics->round = realised->round;
    metrics->contributors = t->def.workers;
    metrics->workers = t->worker_metrics;
    for (int32_t m = 0; m < t->def.workers; m++) {
        t->tallies[m] = (struct tally){.diverged_step = -1};
        t->worker_metrics[m] = (struct worker_metrics){NAN, NAN, NAN};
    }
    t->inner_steps = realised->inner_steps;
    t->delta_taken = false;
    t->begun = NULL;
    if (t->start) pool_run(t->pool, t->def.workers, start_worker, t);
}

static void end_round(struct trainer *t, struct round_metrics *metrics) {
    const struct train_def *train = &t->def.train;
    int64_t steps = 0;
    metrics->loss = metrics->gradient_norm = 0;
    for (int32_t m = 0; m < t->def.workers; m++) {
        const struct tally *tally = &t->tallies[m];
        metrics->loss += tally->loss_sum;
        metrics->gradient_norm += tally->norm_sum;
        steps += tally->steps;
        if (tally->steps > 0) t->worker_metrics[m].loss = tally->loss_sum / (double)tally->steps;
    }
    metrics->loss = steps > 0 ? metrics->loss / (double)steps : NAN;
    metrics->gradient_norm = steps > 0 ? metrics->gradient_norm / (double)steps : NAN;
    metrics->steps = t->steps_done;
    metrics->tokens = t->steps_done * t->def.workers * train->batch * train->accumulation * t->def.model.context;
    metrics->learning_rate = schedule_rate(train, t->steps_done > 0 ? t->steps_done - 1 : 0, t->steps_in_all);
}

static void mark_diverged(struct round_metrics *metrics, int32_t worker, int64_t step) {
    metrics->diverged = true;
    metrics->diverged_worker = worker;
    metrics->diverged_step = step;
}

/* Plays one op; false when a worker diverged. */
static bool play_op(struct trainer *t, const struct op *op, const struct mixing *mixing, const struct op *begin,
                    struct round_metrics *metrics) {
    struct inner_task inner = {t, op->count > 0 ? op->count : t->inner_steps};
    if (mixing) {
        int32_t contributors = mixing_contributors(mixing, t->def.workers);
        if (contributors < metrics->contributors) metrics->contributors = contributors;
    }
    switch (op->kind) {
    case OP_INNER:
        pool_run(t->pool, t->def.workers, inner_steps, &inner);
        t->steps_done += inner.count;
        break;
    case OP_GRADIENT:
        pool_run(t->pool, t->def.workers, gradient_only, t);
        break;
    case OP_STEP:
        pool_run(t->pool, t->def.workers, step_only, t);
        t->steps_done++;
        break;
    case OP_BEGIN:
        t->begun = mixing;
        break;
    case OP_MIX:
        play_mix(t, op, mixing);
        break;
    case OP_OUTER:
        play_outer(t, begin);
        metrics->outer_updated = t->count;
        break;
    case OP_AWAIT:
    case OP_REPEAT:
    case OP_END:
    case OP_KINDS:
        break;
    }
    int32_t diverged = diverged_worker(t);
    if (diverged >= 0) mark_diverged(metrics, diverged, t->tallies[diverged].diverged_step);
    return diverged < 0;
}

/* All ops of the round, repeats unrolled. Stops at a divergence. */
static void play_program(struct trainer *t, const struct realised_round *realised, bool evaluate,
                         struct round_metrics *metrics) {
    const struct program *program = &t->def.strategy.program;
    const struct op *begin = NULL;
    int32_t next_mixing = 0, repeat_at = 0, last_step = last_step_op(program);
    int64_t repeat_left = 0;
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i], *played = op;
        const struct mixing *mixing = NULL;
        if (op->kind == OP_MIX || op->kind == OP_BEGIN) {
            assert(next_mixing < realised->mixing_count && realised->mixings[next_mixing].op == i);
            mixing = &realised->mixings[next_mixing++];
        }
        if (op->kind == OP_BEGIN) begin = op;
        if (!play_op(t, played, mixing, begin, metrics)) return;
        if (op->kind == OP_REPEAT) {
            repeat_left = op->count > 0 ? op->count : t->inner_steps;
            repeat_at = i;
        }
        if (op->kind == OP_END && --repeat_left > 0) {
            i = repeat_at;
            continue;
        }
        if (i == last_step) measure_inner(t, metrics, evaluate);
    }
    assert(next_mixing == realised->mixing_count);
}

enum status trainer_play_round(struct trainer *t, const struct realised_round *realised, struct round_metrics *metrics,
                               struct error *error) {
    (void)error;
    assert(realised->round == t->next_round && realised->round < t->rounds);
    int32_t every = t->def.evaluate.every;
    bool evaluate = (every > 0 && (realised->round + 1) % every == 0) || realised->round + 1 == t->rounds;
    begin_round(t, realised, metrics);
    play_program(t, realised, evaluate, metrics);
    t->next_round++;
    end_round(t, metrics);
    if (metrics->diverged) return STATUS_OK;
    for (int32_t m = 0; m < t->def.workers; m++)
        if (!vector_finite(t->backend, t->current[m], t->count)) {
            mark_diverged(metrics, m, t->steps_done - 1);
            return STATUS_OK;
        }
    measure_end(t, metrics, evaluate);
    /* a loss too large for exp() is a divergence too, not a number */
    for (int32_t m = 0; m < t->def.workers && evaluate; m++)
        if (!isfinite(t->worker_metrics[m].perplexity)) {
            mark_diverged(metrics, m, t->steps_done - 1);
            break;
        }
    return STATUS_OK;
}
