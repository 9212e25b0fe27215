#include "resolve.h"

#include "value.h"

#include <stdio.h>
#include <string.h>

static const struct yaml_node *given(const struct settings *settings, const char *path) {
    return settings->nodes[key_find(path)];
}

static enum status conflict(const struct settings *settings, const char *path, const char *other, struct error *error) {
    return yaml_key_error(given(settings, path), error, path, "stands beside %s, which decides the same; write one",
                          other);
}

/* ---- rules between keys, before values are read ---- */

static enum status check_pairs(const struct settings *settings, struct error *error) {
    static const char *const pairs[][2] = {{"cluster.link.up", "cluster.link.bandwidth"},
                                           {"cluster.link.down", "cluster.link.bandwidth"},
                                           {"data.shards", "data.text"},
                                           {"data.split", "data.validation"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (given(settings, pairs[i][0]) && given(settings, pairs[i][1]))
            return conflict(settings, pairs[i][0], pairs[i][1], error);
    return STATUS_OK;
}

/* ---- and after ---- */

/* Of two keys that decide the same, the one that is given decides; a word ("derived") gives way. */
static enum status settle_step(const struct settings *settings, struct sim_def *def, struct error *error) {
    struct compute_def *compute = &def->cluster.compute;
    const struct yaml_node *peak = given(settings, "cluster.compute.peak");
    if (!peak || compute->peak_flops == 0) return STATUS_OK;
    if (given(settings, "cluster.compute.step") && compute->step_ns > 0)
        return conflict(settings, "cluster.compute.peak", "cluster.compute.step", error);
    compute->step_ns = 0;
    return STATUS_OK;
}

static enum status settle_length(const struct settings *settings, struct sim_def *def, struct error *error) {
    const struct yaml_node *tokens = given(settings, "train.tokens"), *rounds = given(settings, "train.rounds");
    bool by_tokens = tokens && def->train.tokens > 0, by_rounds = rounds && def->train.rounds > 0;
    if (by_tokens && by_rounds) return conflict(settings, "train.rounds", "train.tokens", error);
    if (by_tokens) def->train.rounds = 0;
    if (by_rounds || def->train.rounds > 0) def->train.tokens = 0;
    if (tokens && rounds && !by_tokens && !by_rounds)
        return yaml_error(tokens, error, "train.tokens", "neither tokens nor rounds has a number; write one");
    return STATUS_OK;
}

static enum status settle_corpus(const struct settings *settings, enum corpus_kind written, struct sim_def *def,
                                 struct error *error) {
    const struct yaml_node *corpus = given(settings, "data.corpus");
    bool text = given(settings, "data.text") != NULL, shards = given(settings, "data.shards") != NULL;
    if (!corpus) return STATUS_OK;
    enum corpus_kind used = text ? CORPUS_TEXT : shards ? CORPUS_SHARDS : CORPUS_SYNTHETIC;
    def->data.corpus = written;
    if (written == used) return STATUS_OK;
    if (used == CORPUS_SYNTHETIC)
        return yaml_error(corpus, error, "data.corpus", "'%s' needs its path; write data: {%s: PATH}",
                          corpus_kind_name(written), corpus_kind_name(written));
    return yaml_error(corpus, error, "data.corpus", "is '%s', but data.%s is given; write one",
                      corpus_kind_name(written), corpus_kind_name(used));
}

static bool same_program(const struct program *a, const struct program *b) {
    char left[96], right[96];
    if (a->count != b->count) return false;
    for (int32_t i = 0; i < a->count; i++)
        if (strcmp(op_print(&a->ops[i], left, sizeof left), op_print(&b->ops[i], right, sizeof right)) != 0)
            return false;
    return true;
}

static enum status settle_program(const struct settings *settings, struct sim_def *def, struct error *error) {
    const struct yaml_node *name = given(settings, "strategy.name");
    if (!given(settings, "strategy.program")) return STATUS_OK;
    if (!name) {
        memset(def->strategy.name, 0, sizeof def->strategy.name);
        snprintf(def->strategy.name, sizeof def->strategy.name, "custom");
        return STATUS_OK;
    }
    struct strategy_def known = strategy_default();
    if (strategy_find(def->strategy.name, &known, NULL) != STATUS_OK ||
        same_program(&known.program, &def->strategy.program))
        return STATUS_OK;
    return yaml_error(name, error, "strategy.name",
                      "'%s' is known, with another program than strategy.program; choose "
                      "another name",
                      def->strategy.name);
}

static void reset_idle_keys(const struct settings *settings, struct sim_def *def, struct usage *usage) {
    const struct sim_def defaults = sim_default();
    for (int32_t row = 0; row < key_count(); row++) {
        const struct key *key = key_at(row);
        if (!key->applies) continue;
        if (key->applies(def)) {
            if (usage) usage->effective[row] = true;
            continue;
        }
        if (usage && settings->nodes[row] && !value_equal(key, def, &defaults)) usage->idle[row] = true;
        value_copy(key, &defaults, def);
    }
}

static enum status read_values(const struct settings *settings, const struct resolve_context *context,
                               struct sim_def *def, struct error *error) {
    const struct value_context values = {.folder = context->folder,
                                         .current = context->current,
                                         .has_program = given(settings, "strategy.program") != NULL};
    enum corpus_kind written = def->data.corpus;
    for (int32_t row = 0; row < key_count(); row++) {
        if (!settings->nodes[row]) continue;
        TRY(value_read(key_at(row), settings->nodes[row], &values, def, error));
        if (strcmp(key_at(row)->path, "data.corpus") == 0) written = def->data.corpus;
    }
    TRY(settle_step(settings, def, error));
    TRY(settle_length(settings, def, error));
    TRY(settle_corpus(settings, written, def, error));
    return settle_program(settings, def, error);
}

enum status resolve_cell(const struct settings *settings, const struct resolve_context *context, uint64_t seed_step,
                         struct sim_def *def, struct usage *usage, struct error *error) {
    *def = sim_default();
    memset(def->name, 0, sizeof def->name);
    snprintf(def->name, sizeof def->name, "%s", context->name);
    TRY(check_pairs(settings, error));
    TRY(read_values(settings, context, def, error));
    def->seed += seed_step;
    reset_idle_keys(settings, def, usage);
    return STATUS_OK;
}

enum status resolve_check(const struct settings *settings, const struct resolve_context *context,
                          const struct sim_def *def, struct error *error) {
    struct error cause;
    error_clear(&cause);
    enum status status = sim_check(def, &cause);
    if (status == STATUS_OK) return STATUS_OK;
    if (status != STATUS_INPUT) return error_set(error, status, "%s", cause.message);
    const struct yaml_node *subject = settings_find_subject(settings, cause.message);
    if (subject) return yaml_error(subject, error, "", "%s", cause.message);
    return error_at(error, STATUS_INPUT, context->file, 0, 0, "%s", cause.message);
}
