/* Before training: is the def sound, which trajectory does it name, how much memory will it take. */
#include "trainer_def.h"

#include "metrics.h"
#include "mix.h"
#include "optimizer.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <string.h>

/* ---- what a program needs ---- */

bool program_needs_start(const struct program *program) {
    return program_uses(program, OP_OUTER) || program_mixes(program, QUANTITY_OUTER_GRADIENT);
}
bool trainer_needs_velocity(const struct trainer_def *def) {
    return (program_uses(&def->strategy.program, OP_OUTER) && def->outer.kind != OUTER_SGD) ||
           program_mixes(&def->strategy.program, QUANTITY_OUTER_MOMENTUM);
}
bool program_needs_gradient(const struct program *program) {
    return program_uses(program, OP_GRADIENT);
}

/* ---- checking ---- */

static enum status check_number(const char *field, double value, double low, double high, struct error *error) {
    if (value >= low && value <= high) return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s is %g; %g to %g is needed", field, value, low, high);
}

static enum status check_optimizer(const struct optimizer_def *def, struct error *error) {
    if (!optimizer_find(def->name))
        return error_set(error, STATUS_INPUT, "train.optimizer.name is '%s'; 'thinwire list optimizers' names them",
                         def->name);
    TRY(check_number("train.optimizer.lr", def->learning_rate, 0, 1e38, error));
    TRY(check_number("train.optimizer.betas", def->beta1, 0, 0.9999999, error));
    TRY(check_number("train.optimizer.betas", def->beta2, 0, 0.9999999999, error));
    TRY(check_number("train.optimizer.epsilon", def->epsilon, 0, 1, error));
    return check_number("train.optimizer.weight_decay", def->weight_decay, 0, 100, error);
}

static enum status check_train(const struct train_def *def, struct error *error) {
    TRY(check_number("train.batch", def->batch, 1, 65536, error));
    TRY(check_number("train.accumulation", def->accumulation, 1, 65536, error));
    if ((int64_t)def->batch * def->accumulation > INT32_MAX)
        return error_set(error, STATUS_INPUT, "train.batch x train.accumulation is %lld; at most %d is needed",
                         (long long)def->batch * def->accumulation, INT32_MAX);
    TRY(check_number("train.rounds", def->rounds, 0, 1e9, error));
    TRY(check_number("train.warmup", (double)def->warmup, 0, 1e12, error));
    TRY(check_number("train.minimum", def->minimum, 0, 1, error));
    TRY(check_number("train.decay", def->decay, 0, 1, error));
    TRY(check_number("train.clip", def->clip, 0, 1e12, error));
    return check_optimizer(&def->optimizer, error);
}

static enum status check_subset(const struct trainer_def *def, struct error *error) {
    if (!program_uses_subset(&def->strategy.program)) return STATUS_OK;
    if (def->strategy.subset_count == 0)
        return error_set(error, STATUS_INPUT,
                         "strategy.subset is empty; the program mixes a subset, so blocks are needed");
    struct llama *model = llama_create(&def->model, error);
    bool *selected = model ? alloc_zero((size_t)llama_block_count(model), sizeof *selected, "blocks", error) : NULL;
    enum status status = selected ? STATUS_OK : error->status;
    struct error fault = {0};
    for (int32_t i = 0; i < def->strategy.subset_count && status == STATUS_OK; i++) {
        status = llama_select_blocks(model, def->strategy.subset[i], selected, &fault);
        if (status != STATUS_OK) error_set(error, status, "strategy.subset: %s", fault.message);
    }
    alloc_free(selected);
    llama_free(model);
    return status;
}

static enum status check_length(const struct trainer_def *def, struct error *error) {
    int64_t steps = train_steps(&def->train, def->workers, def->model.context, &def->strategy);
    if (steps < 1)
        return error_set(error, STATUS_INPUT, "train.tokens is %lld; one inner step of %d workers takes %.0f",
                         (long long)def->train.tokens, def->workers,
                         (double)def->workers * def->train.batch * def->train.accumulation * def->model.context);
    int64_t rounds = steps / program_inner_steps(&def->strategy.program, def->strategy.inner_steps);
    if (rounds >= 1000000000)
        return error_set(error, STATUS_INPUT, "train.tokens is %lld; that is %lld rounds, and at most 1e9 are played",
                         (long long)def->train.tokens, (long long)rounds);
    if (steps > 1000000000000000)
        return error_set(error, STATUS_INPUT,
                         "train.rounds x strategy.inner_steps is %lld steps; at most 1e15 is needed", (long long)steps);
    return STATUS_OK;
}

enum status trainer_check(const struct trainer_def *def, struct error *error) {
    TRY(check_number("cluster.workers", def->workers, 1, INT32_MAX, error));
    TRY(check_number("strategy.inner_steps", def->strategy.inner_steps, 1, 1e9, error));
    TRY(check_train(&def->train, error));
    TRY(check_number("outer.lr", def->outer.learning_rate, 0, 1e6, error));
    TRY(check_number("outer.momentum", def->outer.momentum, 0, 0.9999999, error));
    TRY(check_number("evaluate.every", def->evaluate.every, 0, 1e9, error));
    TRY(check_number("evaluate.tokens", (double)def->evaluate.tokens, 1, 1e12, error));
    TRY(check_number("evaluate.js_tokens", (double)def->evaluate.js_tokens, 0, 1e9, error));
    TRY(llama_check(&def->model, error));
    TRY(data_check(&def->data, error));
    struct error fault = {0};
    int32_t at;
    if (program_check(&def->strategy.program, &at, &fault) != STATUS_OK)
        return error_set(error, STATUS_INPUT, "strategy.program: operation %d: %s", at + 1, fault.message);
    TRY(check_subset(def, error));
    return check_length(def, error);
}

/* ---- identity ---- */

static void hash_program(const struct strategy_def *strategy, struct hash *hash) {
    char op[96];
    hash_i64(hash, strategy->inner_steps);
    hash_i64(hash, strategy->program.count);
    for (int32_t i = 0; i < strategy->program.count; i++)
        hash_text(hash, op_print(&strategy->program.ops[i], op, sizeof op));
    int32_t subset = program_uses_subset(&strategy->program) ? strategy->subset_count : 0;
    hash_i64(hash, subset);
    for (int32_t i = 0; i < subset; i++) hash_text(hash, strategy->subset[i]);
}

static void hash_train(const struct train_def *train, struct hash *hash) {
    hash_i64(hash, train->batch);
    hash_i64(hash, train->accumulation);
    hash_text(hash, train->optimizer.name);
    hash_f64(hash, train->optimizer.learning_rate);
    hash_f64(hash, train->optimizer.beta1);
    hash_f64(hash, train->optimizer.beta2);
    hash_f64(hash, train->optimizer.epsilon);
    hash_f64(hash, train->optimizer.weight_decay);
    hash_text(hash, schedule_name(train->schedule));
    hash_i64(hash, train->warmup);
    hash_f64(hash, train->minimum);
    hash_f64(hash, train->decay);
    hash_f64(hash, train->clip);
}

static void hash_model(const struct llama_def *d, struct hash *hash) {
    const int32_t sizes[] = {d->dim, d->layers, d->heads, d->kv_heads, d->ffn, d->vocab, d->context, d->tied};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) hash_i64(hash, sizes[i]);
    hash_f64(hash, d->rope_theta);
    hash_f64(hash, d->norm_epsilon);
}

void trainer_hash(const struct trainer_def *def, struct hash *hash) {
    struct error ignored;
    const struct backend *backend = NULL; /* "auto" is the one it finds */
    bool found = backend_find(def->backend, &backend, &ignored) == STATUS_OK;
    hash_text(hash, found ? backend_name(backend) : def->backend);
    hash_model(&def->model, hash);
    hash_text(hash, corpus_kind_name(def->data.corpus));
    hash_text(hash, def->data.path);
    hash_i64(hash, def->data.tokens);
    hash_i64(hash, (int64_t)def->data.source_seed);
    hash_f64(hash, def->data.validation);
    hash_f64(hash, def->data.non_iid_alpha);
    hash_train(&def->train, hash);
    hash_text(hash, outer_name(def->outer.kind));
    hash_f64(hash, def->outer.learning_rate);
    hash_f64(hash, def->outer.momentum);
    hash_i64(hash, def->evaluate.every);
    hash_i64(hash, def->evaluate.tokens);
    hash_i64(hash, def->evaluate.js_tokens);
    hash_program(&def->strategy, hash);
    hash_i64(hash, def->workers);
    hash_i64(hash, (int64_t)def->seed);
    hash_i64(hash, train_steps(&def->train, def->workers, def->model.context, &def->strategy));
}

/* ---- sizes ---- */

static int32_t optimizer_vectors(const struct trainer_def *def) {
    const struct optimizer *optimizer = optimizer_find(def->train.optimizer.name);
    return optimizer ? optimizer->vectors : 0;
}

size_t trainer_optimizer_bytes(const struct trainer_def *def) {
    size_t vectors = (size_t)optimizer_vectors(def) + trainer_needs_velocity(def);
    return (size_t)def->workers * vectors * (size_t)llama_count_parameters(&def->model) * sizeof(float);
}

size_t trainer_bytes(const struct trainer_def *def) {
    struct error ignored;
    const struct backend *backend;
    struct llama *model = llama_create(&def->model, &ignored);
    if (!model || backend_find(def->backend, &backend, &ignored) != STATUS_OK) {
        llama_free(model);
        return 0;
    }
    const struct program *program = &def->strategy.program;
    size_t vector = (size_t)llama_parameters(model) * sizeof(float), threads = (size_t)(def->jobs > 0 ? def->jobs : 1);
    size_t per_worker = vector * (1 + program_needs_start(program) + program_needs_gradient(program));
    size_t per_thread = compute_bytes(model, backend, def->train.batch, def->model.context, COMPUTE_TRAINING) +
                        (program_needs_gradient(program) ? 0 : vector) + MIX_PIECE * sizeof(float) +
                        2 * (size_t)def->train.batch * (size_t)def->model.context * sizeof(int32_t);
    size_t total = (size_t)def->workers * per_worker + trainer_optimizer_bytes(def) + threads * per_thread +
                   metrics_bytes(&def->evaluate, model, backend, def->workers, (int32_t)threads);
    llama_free(model);
    return total;
}
