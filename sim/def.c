/* Defaults, checks, sizes and warnings of a whole scenario cell. The rooms below check their own parts; here stands
 * what concerns the cluster, the payload, and how the parts fit together. */
#include "def.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *dtype_name(enum payload_dtype dtype) {
    switch (dtype) {
    case DTYPE_FP32:
        return "fp32";
    case DTYPE_BF16:
        return "bf16";
    case DTYPE_FP16:
        return "fp16";
    case DTYPE_INT8:
        return "int8";
    case DTYPES:
        break;
    }
    return NULL;
}

int64_t dtype_bytes(enum payload_dtype dtype) {
    switch (dtype) {
    case DTYPE_FP32:
        return 4;
    case DTYPE_BF16:
    case DTYPE_FP16:
        return 2;
    case DTYPE_INT8:
        return 1;
    case DTYPES:
        break;
    }
    return 0;
}

const char *overlapped_failure_name(enum overlapped_failure value) {
    switch (value) {
    case OVERLAPPED_RETRY:
        return "retry";
    case OVERLAPPED_SKIP:
        return "skip";
    case OVERLAPPED_WAIT:
        return "wait";
    case OVERLAPPED_FAILURES:
        break;
    }
    return NULL;
}

struct sim_def sim_default(void) {
    struct sim_def def = {
        .cluster =
            {.workers = 8,
             .up_bps = 100 * INT64_C(1000000),
             .down_bps = 100 * INT64_C(1000000),
             .latency_ns = 0,
             /* 1.5 B parameters on one A100 take about this long (gossip DiLoCo's setting). */
             .compute = {.step_ns = 2360 * INT64_C(1000000), .mfu = 0.4},
             .failures = {.per = FAILURE_PER_WORKER, .detect = 1, .overlapped = OVERLAPPED_RETRY, .max_attempts = 1000},
             .collective = COLLECTIVE_RING,
             .fidelity = FIDELITY_AUTO},
        .payload = {.parameters = 0, .dtype = DTYPE_BF16, .subset = -1},
        .seed = 1,
    };
    def.model = llama_default();
    def.data = data_default();
    def.train = train_default();
    def.outer = outer_default();
    def.strategy = strategy_default();
    def.evaluate = evaluate_default();
    snprintf(def.backend, sizeof def.backend, "auto");
    return def;
}

struct trainer_def sim_trainer_def(const struct sim_def *def, int32_t jobs) {
    struct trainer_def trainer = {.model = def->model,
                                  .data = def->data,
                                  .train = def->train,
                                  .outer = def->outer,
                                  .evaluate = def->evaluate,
                                  .strategy = def->strategy,
                                  .workers = def->cluster.workers,
                                  .seed = def->seed,
                                  .jobs = jobs};
    memcpy(trainer.backend, def->backend, sizeof trainer.backend);
    return trainer;
}

/* ---- sizes ---- */

static int64_t payload_parameters(const struct sim_def *def) {
    return def->payload.parameters > 0 ? def->payload.parameters : llama_count_parameters(&def->model);
}

/* Parameters of the trained model that the strategy's subset holds. */
static enum status count_subset(const struct sim_def *def, int64_t *parameters, struct error *error) {
    struct llama *model = llama_create(&def->model, error);
    if (!model) return error ? error->status : STATUS_MEMORY;
    bool *selected = alloc_zero((size_t)llama_block_count(model), sizeof *selected, "chosen blocks", error);
    enum status status = selected ? STATUS_OK : STATUS_MEMORY;
    for (int32_t i = 0; status == STATUS_OK && i < def->strategy.subset_count; i++)
        status = llama_select_blocks(model, def->strategy.subset[i], selected, error);
    *parameters = 0;
    for (int32_t block = 0; status == STATUS_OK && block < llama_block_count(model); block++)
        if (selected[block]) *parameters += llama_block_parameters(model, block);
    alloc_free(selected);
    llama_free(model);
    return status;
}

enum status payload_measure(const struct sim_def *def, bool subset, int64_t *bytes, struct error *error) {
    int64_t whole = payload_parameters(def), each = dtype_bytes(def->payload.dtype), chosen = 0;
    if (!subset) {
        *bytes = whole * each;
        return STATUS_OK;
    }
    if (def->payload.subset >= 0) {
        *bytes = llround(def->payload.subset * (double)(whole * each));
        return STATUS_OK;
    }
    TRY(count_subset(def, &chosen, error));
    double fraction = (double)chosen / (double)llama_count_parameters(&def->model);
    *bytes = def->payload.parameters > 0 ? llround(fraction * (double)(whole * each)) : chosen * each;
    return STATUS_OK;
}

int64_t sim_payload_bytes(const struct sim_def *def, bool subset) {
    int64_t bytes;
    return payload_measure(def, subset, &bytes, NULL) == STATUS_OK ? bytes : -1;
}

static int64_t tokens_per_step(const struct sim_def *def) {
    return (int64_t)def->train.batch * def->train.accumulation * def->model.context;
}

/* 6 floating-point operations per parameter and token (Kaplan et al. 2020, forward and backward). */
static double derived_step_s(const struct sim_def *def) {
    const struct compute_def *compute = &def->cluster.compute;
    double tokens = (double)(compute->tokens > 0 ? compute->tokens : tokens_per_step(def));
    return 6 * (double)payload_parameters(def) * tokens / (compute->peak_flops * compute->mfu);
}

int64_t sim_step_ns(const struct sim_def *def) {
    if (def->cluster.compute.step_ns > 0) return def->cluster.compute.step_ns;
    double ns = derived_step_s(def) * 1e9;
    return ns < 1 ? 1 : llround(ns);
}

int64_t def_steps(const struct sim_def *def) {
    return train_steps(&def->train, def->cluster.workers, def->model.context, &def->strategy);
}

/* ---- checks ---- */

#define MAX_PARAMETERS INT64_C(1000000000000000) /* so that bytes fit int64 */
#define MAX_STEP_S     3e9                       /* a century */

static enum status input(struct error *error, bool good, const char *message) {
    return good ? STATUS_OK : error_set(error, STATUS_INPUT, "%s", message);
}

static enum status check_failures(const struct failures_def *failures, struct error *error) {
    TRY(input(error, failures->exchange >= 0 && failures->exchange <= 1,
              "cluster.failures.exchange must be a probability from 0 to 1"));
    TRY(input(error, failures->per < FAILURE_UNITS,
              "cluster.failures.per must be worker, transfer or synchronisation"));
    TRY(input(error, failures->detect >= 0 && failures->detect <= 1,
              "cluster.failures.detect must be a fraction from 0 to 1"));
    TRY(input(error, failures->overlapped < OVERLAPPED_FAILURES,
              "cluster.failures.overlapped must be retry, skip or wait"));
    return input(error, failures->max_attempts >= 1, "cluster.failures.max_attempts must be at least 1");
}

static enum status check_compute(const struct sim_def *def, struct error *error) {
    const struct compute_def *compute = &def->cluster.compute;
    TRY(input(error, compute->step_ns >= 0, "cluster.compute.step must be above 0"));
    TRY(input(error, compute->tokens >= 0, "cluster.compute.tokens must not be negative"));
    if (compute->step_ns > 0) return STATUS_OK;
    TRY(input(error, compute->peak_flops > 0 && isfinite(compute->peak_flops),
              "cluster.compute.peak must be above 0 where there is no cluster.compute.step"));
    TRY(input(error, compute->mfu > 0 && compute->mfu <= 1, "cluster.compute.mfu must be above 0 and at most 1"));
    return input(error, derived_step_s(def) < MAX_STEP_S,
                 "cluster.compute.peak makes one step last longer than a century; it must be higher");
}

static enum status check_collective(const struct cluster_def *cluster, struct error *error) {
    TRY(input(error, cluster->collective < COLLECTIVE_COUNT, "cluster.collective must be one that `list` names"));
    TRY(input(error, cluster->fidelity <= FIDELITY_FLUID, "cluster.fidelity must be auto, step or fluid"));
    if (cluster->collective == COLLECTIVE_PAIR && cluster->workers > 2)
        return error_set(error, STATUS_INPUT, "cluster.collective must not be 'pair' for %d workers; try ring",
                         cluster->workers);
    return STATUS_OK;
}

static enum status check_cluster(const struct sim_def *def, struct error *error) {
    const struct cluster_def *cluster = &def->cluster;
    TRY(input(error, cluster->workers >= 1, "cluster.workers must be at least 1"));
    TRY(input(error, cluster->up_bps > 0, "cluster.link.up must be above 0"));
    TRY(input(error, cluster->down_bps > 0, "cluster.link.down must be above 0"));
    TRY(input(error, cluster->latency_ns >= 0, "cluster.link.latency must not be negative"));
    TRY(check_failures(&cluster->failures, error));
    return check_collective(cluster, error);
}

static enum status check_payload(const struct sim_def *def, struct error *error) {
    const struct payload_def *payload = &def->payload;
    TRY(input(error, payload->parameters >= 0, "payload.parameters must not be negative"));
    TRY(input(error, payload->parameters <= MAX_PARAMETERS, "payload.parameters must be at most 1e15"));
    TRY(input(error, payload->dtype < DTYPES, "payload.dtype must be fp32, bf16, fp16 or int8"));
    return input(error, payload->subset <= 1, "payload.subset must be a fraction from 0 to 1");
}

enum status sim_check(const struct sim_def *def, struct error *error) {
    TRY(check_cluster(def, error));
    TRY(check_payload(def, error));
    struct trainer_def trainer = sim_trainer_def(def, 1);
    TRY(trainer_check(&trainer, error));
    return check_compute(def, error);
}

/* ---- warnings ---- */

static bool mixes_anything(const struct program *program) {
    return program_uses(program, OP_MIX) || program_uses(program, OP_BEGIN);
}

static bool warn_short(const struct sim_def *def, char *buffer, size_t size) {
    int64_t steps = def_steps(def), round = program_inner_steps(&def->strategy.program, def->strategy.inner_steps);
    if (steps >= round) return false;
    snprintf(buffer, size,
             "a round of %lld inner steps is longer than the whole run of %lld: one shortened round is played",
             (long long)round, (long long)steps);
    return true;
}

static bool warn_tail(const struct sim_def *def, char *buffer, size_t size) {
    int64_t steps = def_steps(def), round = program_inner_steps(&def->strategy.program, def->strategy.inner_steps);
    if (steps < round || steps % round == 0) return false;
    snprintf(buffer, size, "%lld inner steps are no multiple of a round's %lld: the last round is a tail of %lld",
             (long long)steps, (long long)round, (long long)(steps % round));
    return true;
}

static bool warn_alone(const struct sim_def *def, char *buffer, size_t size) {
    if (def->cluster.workers > 1 || !mixes_anything(&def->strategy.program)) return false;
    snprintf(buffer, size, "with one worker nothing is exchanged: every mix of %s gives the worker's own values",
             def->strategy.name);
    return true;
}

static bool warn_untied(const struct sim_def *def, char *buffer, size_t size) {
    if (def->cluster.workers == 1 || mixes_anything(&def->strategy.program)) return false;
    snprintf(buffer, size, "%s mixes nothing: its %d workers drift apart", def->strategy.name, def->cluster.workers);
    return true;
}

static bool warn_failures(const struct sim_def *def, char *buffer, size_t size) {
    if (def->cluster.failures.exchange < 1 || def->cluster.workers == 1) return false;
    snprintf(buffer, size, "cluster.failures.exchange is 1: every exchange fails");
    return true;
}

bool sim_warning(const struct sim_def *def, int32_t index, char *buffer, size_t size) {
    static bool (*const warnings[])(const struct sim_def *, char *, size_t) = {warn_short, warn_tail, warn_alone,
                                                                               warn_untied, warn_failures};
    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++)
        if (warnings[i](def, buffer, size) && index-- == 0) return true;
    return false;
}
