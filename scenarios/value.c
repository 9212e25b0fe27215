#include "value.h"

#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void *field(const struct key *key, struct sim_def *def) {
    return (char *)def + key->offset;
}

static const void *const_field(const struct key *key, const struct sim_def *def) {
    return (const char *)def + key->offset;
}

/* ---- reading: shape and range ---- */

static enum status need(const struct key *key, const struct yaml_node *node, enum yaml_kind kind, struct error *error) {
    const char *wanted = key_kind_help(key->kind);
    if (yaml_is_empty(node)) return yaml_error(node, error, key->path, "is empty; write %s", wanted);
    if (node->kind == kind) return STATUS_OK;
    if (node->kind == YAML_LIST && strncmp(key->path, "cluster.link.", 13) == 0)
        return yaml_error(node, error, key->path, "lists per worker are not supported by this version; write %s",
                          wanted);
    if (node->kind == YAML_LIST)
        return yaml_error(node, error, key->path,
                          "must be %s, not a list; several values go into the grid: {%s: [...]}", wanted, key->path);
    return yaml_error(node, error, key->path, "must be %s, not %s", wanted, yaml_kind_name(node->kind));
}

static bool in_range(const struct key *key, double value) {
    if (key->word && value == key->word_value) return true;
    if (key->maximum <= key->minimum) return true;
    if (key->above_minimum && value == key->minimum) return false;
    return value >= key->minimum && value <= key->maximum;
}

static enum status check_range(const struct key *key, const struct yaml_node *node, double value, struct error *error) {
    char range[128];
    if (in_range(key, value)) return STATUS_OK;
    return yaml_error(node, error, key->path, "'%.40s' is out of range; write %s", node->text,
                      key_describe_range(key, range, sizeof range));
}

/* What units.h says of the value, at its place. */
static enum status unit_error(const struct key *key, const struct yaml_node *node, const struct error *cause,
                              struct error *error) {
    return yaml_error(node, error, key->path, "%s", cause->message);
}

static bool is_word(const struct key *key, const struct yaml_node *node) {
    return key->word && strcmp(node->text, key->word) == 0;
}

/* ---- reading: kind by kind ---- */

static enum status read_whole(const struct key *key, const struct yaml_node *node, int64_t *value,
                              struct error *error) {
    struct error cause;
    error_clear(&cause);
    enum status status = STATUS_OK;
    if (is_word(key, node)) {
        *value = (int64_t)key->word_value;
        return STATUS_OK;
    }
    switch (key->kind) {
    case KEY_DURATION:
        status = units_parse_duration_ns(node->text, value, &cause);
        break;
    case KEY_BANDWIDTH:
    case KEY_RATE:
        status = units_parse_rate_bps(node->text, value, &cause);
        break;
    case KEY_COUNT:
        status = units_parse_count(node->text, value, &cause);
        break;
    default:
        status = units_parse_integer(node->text, value, &cause);
        break;
    }
    if (status != STATUS_OK) return unit_error(key, node, &cause, error);
    return check_range(key, node, (double)*value, error);
}

static enum status read_real(const struct key *key, const struct yaml_node *node, double *value, struct error *error) {
    struct error cause;
    error_clear(&cause);
    if (is_word(key, node)) {
        *value = key->word_value;
        return STATUS_OK;
    }
    enum status status = key->kind == KEY_FRACTION ? units_parse_fraction(node->text, value, &cause)
                         : key->kind == KEY_FLOPS  ? units_parse_flops(node->text, value, &cause)
                                                   : units_parse_number(node->text, value, &cause);
    if (status != STATUS_OK) return unit_error(key, node, &cause, error);
    if (*value == 0) *value = 0; /* -0 and 0 are the same setting */
    return check_range(key, node, *value, error);
}

static enum status read_boolean(const struct key *key, const struct yaml_node *node, bool *value, struct error *error) {
    *value = strcmp(node->text, "true") == 0;
    if (*value || strcmp(node->text, "false") == 0) return STATUS_OK;
    return yaml_error(node, error, key->path, "'%.40s' is neither true nor false", node->text);
}

static enum status read_characters(const struct key *key, const struct yaml_node *node, char *characters, size_t size,
                                   struct error *error) {
    if (node->text[0] == '\0')
        return yaml_error(node, error, key->path, "is empty; write %s", key_kind_help(key->kind));
    if (strlen(node->text) >= size)
        return yaml_error(node, error, key->path, "is too long; at most %zu bytes", size - 1);
    for (const char *c = node->text; *c; c++)
        if ((unsigned char)*c < 32)
            return yaml_error(node, error, key->path, "holds a line break or tab; write one line");
    memset(characters, 0, size);
    memcpy(characters, node->text, strlen(node->text));
    return STATUS_OK;
}

#define MAX_CHOICES 64

static enum status unknown_choice(const struct key *key, const struct yaml_node *node, struct error *error) {
    const char *names[MAX_CHOICES];
    size_t count = 0;
    while (count < MAX_CHOICES && (names[count] = key->choice((int32_t)count))) count++;
    if (key_name_is_planned(key->path, node->text))
        return yaml_error(node, error, key->path, "'%.40s' is not supported by this version", node->text);
    const char *nearest = text_nearest(node->text, names, count);
    if (nearest)
        return yaml_error(node, error, key->path, "unknown name '%.40s'; did you mean '%s'?", node->text, nearest);
    char range[256];
    return yaml_error(node, error, key->path, "unknown name '%.40s'; there are %s", node->text,
                      key_describe_range(key, range, sizeof range));
}

static enum status read_choice(const struct key *key, const struct yaml_node *node, int32_t *chosen,
                               struct error *error) {
    const char *name;
    for (int32_t i = 0; (name = key->choice(i)); i++) {
        if (strcmp(name, node->text) != 0) continue;
        *chosen = i;
        return STATUS_OK;
    }
    return unknown_choice(key, node, error);
}

static enum status read_strategy(const struct key *key, const struct yaml_node *node,
                                 const struct value_context *context, struct sim_def *def, struct error *error) {
    if (context->has_program) return read_characters(key, node, def->strategy.name, sizeof def->strategy.name, error);
    int32_t chosen;
    TRY(read_choice(key, node, &chosen, error));
    return strategy_find(key->choice(chosen), &def->strategy, error);
}

static enum status read_file(const struct key *key, const struct yaml_node *node, const struct value_context *context,
                             struct sim_def *def, struct error *error) {
    char path[sizeof def->data.path];
    TRY(read_characters(key, node, path, sizeof path, error));
    const char *rest = path;
    char folder[PATH_MAX] = "";
    if (path[0] != '/') {
        snprintf(folder, sizeof folder, "%s", node->origin->set ? context->current : context->folder);
        if (strcmp(folder, "/") == 0) folder[0] = '\0';
        /* The folder has no links in it, so going up is taking its last name away. */
        for (char *slash; strncmp(rest, "../", 3) == 0 && (slash = strrchr(folder, '/')); rest += 3) *slash = '\0';
        while (strncmp(rest, "./", 2) == 0) rest += 2;
    }
    memset(def->data.path, 0, sizeof def->data.path);
    int length = snprintf(def->data.path, sizeof def->data.path, "%s%s%s", folder, path[0] != '/' ? "/" : "", rest);
    if (length < 0 || (size_t)length >= sizeof def->data.path)
        return yaml_error(node, error, key->path, "is too long with its folder; at most %zu bytes",
                          sizeof def->data.path - 1);
    def->data.corpus = strcmp(key->path, "data.text") == 0 ? CORPUS_TEXT : CORPUS_SHARDS;
    return STATUS_OK;
}

static enum status read_program(const struct key *key, const struct yaml_node *node, struct sim_def *def,
                                struct error *error) {
    struct program program = {.count = 0};
    struct error cause;
    error_clear(&cause);
    if (node->count == 0) return yaml_error(node, error, key->path, "is empty; write %s", key_kind_help(key->kind));
    if (node->count > PROGRAM_MAX_OPS)
        return yaml_error(node, error, key->path, "%d operations; at most %d", node->count, PROGRAM_MAX_OPS);
    for (const struct yaml_node *item = node->first; item; item = item->next) {
        if (item->kind != YAML_SCALAR)
            return yaml_error(item, error, key->path, "an operation must be text, not %s", yaml_kind_name(item->kind));
        if (op_parse(item->text, &program.ops[program.count++], &cause) != STATUS_OK)
            return unit_error(key, item, &cause, error);
    }
    int32_t at_fault = 0;
    if (program_check(&program, &at_fault, &cause) != STATUS_OK) {
        const struct yaml_node *item = node->first;
        for (int32_t i = 0; i < at_fault && item->next; i++) item = item->next;
        return unit_error(key, item, &cause, error);
    }
    def->strategy.program = program;
    return STATUS_OK;
}

static enum status read_subset(const struct key *key, const struct yaml_node *node, struct sim_def *def,
                               struct error *error) {
    const struct yaml_node *list = node;
    if (node->kind == YAML_MAP) {
        list = yaml_child(node, "blocks");
        for (const struct yaml_node *child = node->first; child; child = child->next)
            if (child != list)
                return yaml_key_error(child, error, key->path, "unknown key '%.40s'; write {blocks: [...]}",
                                      child->key);
        if (!list) return yaml_error(node, error, key->path, "is empty; write %s", key_kind_help(key->kind));
    }
    TRY(need(key, list, YAML_LIST, error));
    if (list->count > SUBSET_MAX)
        return yaml_error(list, error, key->path, "%d blocks; at most %d", list->count, SUBSET_MAX);
    struct strategy_def *strategy = &def->strategy;
    memset(strategy->subset, 0, sizeof strategy->subset);
    strategy->subset_count = 0;
    for (const struct yaml_node *item = list->first; item; item = item->next) {
        if (item->kind != YAML_SCALAR)
            return yaml_error(item, error, key->path, "a block must be a name, not %s", yaml_kind_name(item->kind));
        char *name = strategy->subset[strategy->subset_count++];
        TRY(read_characters(key, item, name, sizeof strategy->subset[0], error));
    }
    return STATUS_OK;
}

static enum status read_betas(const struct key *key, const struct yaml_node *node, struct sim_def *def,
                              struct error *error) {
    double betas[2] = {0, 0};
    if (node->count != 2)
        return yaml_error(node, error, key->path, "holds %d; write %s", node->count, key_kind_help(key->kind));
    const struct yaml_node *item = node->first;
    for (int32_t i = 0; i < 2; i++, item = item->next) {
        if (item->kind != YAML_SCALAR)
            return yaml_error(item, error, key->path, "must be %s", key_kind_help(key->kind));
        TRY(read_real(key, item, &betas[i], error));
        if (betas[i] < 0 || betas[i] >= 1)
            return yaml_error(item, error, key->path, "'%.40s' is out of range; write 0 or more and below 1",
                              item->text);
    }
    def->train.optimizer.beta1 = betas[0];
    def->train.optimizer.beta2 = betas[1];
    return STATUS_OK;
}

static enum status read_int32(const struct key *key, const struct yaml_node *node, int32_t *value,
                              struct error *error) {
    int64_t wide = 0;
    TRY(read_whole(key, node, &wide, error));
    *value = (int32_t)wide; /* the row's range fits */
    return STATUS_OK;
}

static enum status read_seed(const struct key *key, const struct yaml_node *node, uint64_t *value,
                             struct error *error) {
    int64_t wide = 0;
    TRY(read_whole(key, node, &wide, error));
    if (wide < 0) return yaml_error(node, error, key->path, "'%.40s' is out of range; write 0 or more", node->text);
    *value = (uint64_t)wide;
    return STATUS_OK;
}

static enum status read_rate(const struct key *key, const struct yaml_node *node, int64_t *value, struct error *error) {
    TRY(read_whole(key, node, value, error));
    if (*value > 0) return STATUS_OK;
    return yaml_error(node, error, key->path, "'%.40s' is out of range; write more than 0", node->text);
}

static enum status read_bandwidth(const struct key *key, const struct yaml_node *node, struct sim_def *def,
                                  struct error *error) {
    int64_t rate = 0;
    TRY(read_rate(key, node, &rate, error));
    def->cluster.up_bps = def->cluster.down_bps = rate;
    return STATUS_OK;
}

static enum yaml_kind shape(const struct key *key, const struct yaml_node *node) {
    switch (key->kind) {
    case KEY_PROGRAM:
    case KEY_BETAS:
        return YAML_LIST;
    case KEY_SUBSET:
        return node->kind == YAML_MAP ? YAML_MAP : YAML_LIST;
    default:
        return YAML_SCALAR;
    }
}

enum status value_read(const struct key *key, const struct yaml_node *node, const struct value_context *context,
                       struct sim_def *def, struct error *error) {
    void *at = field(key, def);
    int32_t chosen = 0;
    TRY(need(key, node, shape(key, node), error));
    switch (key->kind) {
    case KEY_COUNT:
    case KEY_DURATION:
        return read_whole(key, node, at, error);
    case KEY_RATE:
        return read_rate(key, node, at, error);
    case KEY_SEEDS:
        return STATUS_OK;
    case KEY_INTEGER:
        return read_int32(key, node, at, error);
    case KEY_SEED:
        return read_seed(key, node, at, error);
    case KEY_NUMBER:
    case KEY_FRACTION:
    case KEY_FLOPS:
        return read_real(key, node, at, error);
    case KEY_BOOLEAN:
        return read_boolean(key, node, at, error);
    case KEY_ENUM:
        TRY(read_choice(key, node, &chosen, error));
        memcpy(at, &chosen, sizeof chosen); /* an enum of non-negative values has int's size and values */
        return STATUS_OK;
    case KEY_NAME:
        TRY(read_choice(key, node, &chosen, error));
        return read_characters(key, node, at, key->size, error);
    case KEY_TEXT:
        return read_characters(key, node, at, key->size, error);
    case KEY_BANDWIDTH:
        return read_bandwidth(key, node, def, error);
    case KEY_FILE:
        return read_file(key, node, context, def, error);
    case KEY_PRESET:
        TRY(read_choice(key, node, &chosen, error));
        return llama_preset(key->choice(chosen), &def->model) ? STATUS_OK : unknown_choice(key, node, error);
    case KEY_STRATEGY:
        return read_strategy(key, node, context, def, error);
    case KEY_PROGRAM:
        return read_program(key, node, def, error);
    case KEY_SUBSET:
        return read_subset(key, node, def, error);
    case KEY_BETAS:
        return read_betas(key, node, def, error);
    case KEY_UNSUPPORTED:
        break;
    }
    return yaml_key_error(node, error, "", "key '%s' is not supported by this version", key->path);
}

enum status value_read_seeds(const struct yaml_node *node, int32_t *seeds, struct error *error) {
    const struct key *key = key_at(key_find("seeds"));
    TRY(need(key, node, YAML_SCALAR, error));
    return read_int32(key, node, seeds, error);
}

/* ---- printing ---- */

bool value_is_printed(const struct key *key, const struct sim_def *def) {
    if (key->alias || key->kind == KEY_UNSUPPORTED) return false;
    if (key->kind != KEY_FILE) return true;
    return def->data.corpus == (strcmp(key->path, "data.text") == 0 ? CORPUS_TEXT : CORPUS_SHARDS);
}

static bool print_word(const struct key *key, double value, struct text *json) {
    if (!key->word || value != key->word_value) return false;
    text_append_json(json, key->word);
    return true;
}

static void print_program(const struct program *program, struct text *json) {
    char op[96];
    text_append(json, "[");
    for (int32_t i = 0; i < program->count; i++) {
        if (i) text_append(json, ", ");
        text_append_json(json, op_print(&program->ops[i], op, sizeof op));
    }
    text_append(json, "]");
}

static void print_subset(const struct strategy_def *strategy, struct text *json) {
    text_append(json, "[");
    for (int32_t i = 0; i < strategy->subset_count; i++) {
        if (i) text_append(json, ", ");
        text_append_json(json, strategy->subset[i]);
    }
    text_append(json, "]");
}

static void print_whole(const struct key *key, int64_t value, struct text *json) {
    char buffer[64];
    if (print_word(key, (double)value, json)) return;
    if (key->kind == KEY_DURATION)
        text_append_json(json, units_format_duration(value, buffer, sizeof buffer));
    else if (key->kind == KEY_RATE)
        text_append_json(json, units_format_rate(value, buffer, sizeof buffer));
    else
        text_append(json, "%" PRId64, value);
}

static void print_real(const struct key *key, double value, struct text *json) {
    char number[64], with_unit[80];
    if (print_word(key, value, json)) return;
    units_format_number(value, number, sizeof number);
    if (key->kind != KEY_FLOPS) {
        text_append(json, "%s", number);
        return;
    }
    snprintf(with_unit, sizeof with_unit, "%s FLOP/s", number);
    text_append_json(json, with_unit);
}

void value_print(const struct key *key, const struct sim_def *def, struct text *json) {
    const void *at = const_field(key, def);
    char number[2][64];
    int32_t chosen;
    switch (key->kind) {
    case KEY_DURATION:
    case KEY_RATE:
    case KEY_COUNT:
        print_whole(key, *(const int64_t *)at, json);
        return;
    case KEY_INTEGER:
        print_whole(key, *(const int32_t *)at, json);
        return;
    case KEY_SEED:
        text_append(json, "%" PRIu64, *(const uint64_t *)at);
        return;
    case KEY_NUMBER:
    case KEY_FRACTION:
    case KEY_FLOPS:
        print_real(key, *(const double *)at, json);
        return;
    case KEY_BOOLEAN:
        text_append(json, "%s", *(const bool *)at ? "true" : "false");
        return;
    case KEY_ENUM:
        memcpy(&chosen, at, sizeof chosen);
        text_append_json(json, key->choice(chosen));
        return;
    case KEY_NAME:
    case KEY_TEXT:
    case KEY_FILE:
    case KEY_STRATEGY:
        text_append_json(json, at);
        return;
    case KEY_PROGRAM:
        print_program(&def->strategy.program, json);
        return;
    case KEY_SUBSET:
        print_subset(&def->strategy, json);
        return;
    case KEY_BETAS:
        text_append(json, "[%s, %s]", units_format_number(def->train.optimizer.beta1, number[0], sizeof number[0]),
                    units_format_number(def->train.optimizer.beta2, number[1], sizeof number[1]));
        return;
    case KEY_BANDWIDTH:
    case KEY_PRESET:
    case KEY_SEEDS:
    case KEY_UNSUPPORTED:
        assert(!"an alias is never printed");
        return;
    }
}

/* ---- comparing and copying ---- */

static size_t field_bytes(const struct key *key) {
    switch (key->kind) {
    case KEY_DURATION:
    case KEY_RATE:
    case KEY_COUNT:
        return sizeof(int64_t);
    case KEY_SEED:
        return sizeof(uint64_t);
    case KEY_NUMBER:
    case KEY_FRACTION:
    case KEY_FLOPS:
        return sizeof(double);
    case KEY_INTEGER:
    case KEY_ENUM:
        return sizeof(int32_t);
    case KEY_BOOLEAN:
        return sizeof(bool);
    case KEY_BETAS:
        return 2 * sizeof(double); /* beta1, beta2 */
    case KEY_SUBSET:
        return offsetof(struct strategy_def, subset_count) + sizeof(int32_t) - offsetof(struct strategy_def, subset);
    case KEY_NAME:
    case KEY_TEXT:
        return key->size;
    case KEY_FILE:
    case KEY_STRATEGY:
    case KEY_PROGRAM:
    case KEY_BANDWIDTH:
    case KEY_PRESET:
    case KEY_SEEDS:
    case KEY_UNSUPPORTED:
        break;
    }
    return 0;
}

_Static_assert(offsetof(struct optimizer_def, beta2) == offsetof(struct optimizer_def, beta1) + sizeof(double),
               "betas are copied together");
_Static_assert(sizeof(enum payload_dtype) == sizeof(int32_t), "enums are read and written as int32_t");

bool value_equal(const struct key *key, const struct sim_def *a, const struct sim_def *b) {
    return memcmp(const_field(key, a), const_field(key, b), field_bytes(key)) == 0;
}

void value_copy(const struct key *key, const struct sim_def *from, struct sim_def *to) {
    memcpy(field(key, to), const_field(key, from), field_bytes(key));
}
