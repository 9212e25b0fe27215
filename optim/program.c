/* Round programs: text to ops and back, what makes one valid, and what can be counted from it. */
#include "optim.h"

#include "base/text.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

static const char *const op_names[OP_KINDS] = {
#define PROGRAM_OP(name, text, help) text,
#include "program_ops.def"
#undef PROGRAM_OP
};
static const char *const label_names[MIX_LABELS] = {
#define MIX_LABEL(name, text) text,
#include "mix.def"
#undef MIX_LABEL
};
static const char *const quantity_names[MIX_QUANTITIES] = {
#define MIX_QUANTITY(name, text, help) text,
#include "mix.def"
#undef MIX_QUANTITY
};
static const char *const group_names[MIX_GROUPS] = {
#define MIX_GROUP(name, text, help) text,
#include "mix.def"
#undef MIX_GROUP
};

const char *mix_label_name(enum mix_label label) {
    return label_names[label];
}

/* ---- text ---- */

enum { WORDS_MAX = 6, WORD_SIZE = 32 };

/* Words of text; -1 when there are more or longer ones than any op has. */
static int split(const char *text, char words[WORDS_MAX][WORD_SIZE]) {
    int count = 0;
    for (;;) {
        text += strspn(text, " \t\r\n");
        size_t length = strcspn(text, " \t\r\n");
        if (length == 0) return count;
        if (count == WORDS_MAX || length >= WORD_SIZE) return -1;
        memcpy(words[count], text, length);
        words[count++][length] = '\0';
        text += length;
    }
}

static int find(const char *word, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0) return i;
    return -1;
}

static enum status unknown(const char *what, const char *word, const char *const *names, int count,
                           struct error *error) {
    const char *nearest = text_nearest(word, names, (size_t)count);
    char all[200] = "";
    size_t length = 0;
    for (int i = 0; i < count && length < sizeof all; i++)
        if (names[i][0])
            length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", length ? ", " : "", names[i]);
    if (nearest) return error_set(error, STATUS_INPUT, "unknown %s '%s'; did you mean '%s'?", what, word, nearest);
    return error_set(error, STATUS_INPUT, "unknown %s '%s'; there are %s", what, word, all);
}

static enum status parse_count(const char *op, const char *word, int32_t *count, struct error *error) {
    int64_t value;
    struct error ignored;
    *count = 0;
    if (strcmp(word, "H") == 0) return STATUS_OK;
    if (units_parse_integer(word, &value, &ignored) != STATUS_OK || value < 1 || value > 1000000000)
        return error_set(error, STATUS_INPUT, "'%s %s'; H or a whole number from 1 is needed", op, word);
    *count = (int32_t)value;
    return STATUS_OK;
}

/* LABEL QUANTITY GROUP [subset] */
static enum status parse_mix(char words[][WORD_SIZE], int count, struct op *op, struct error *error) {
    if (count < 3 || count > 4)
        return error_set(error, STATUS_INPUT,
                         "a mix of %d words; LABEL QUANTITY GROUP [subset] is needed, like 'mix2 outer_gradient pairs'",
                         count);
    int label = find(words[0], label_names, MIX_LABELS);
    int quantity = find(words[1], quantity_names, MIX_QUANTITIES), group = find(words[2], group_names, MIX_GROUPS);
    if (label < 0) return unknown("mix", words[0], label_names, MIX_LABELS, error);
    if (quantity < 0) return unknown("quantity", words[1], quantity_names, MIX_QUANTITIES, error);
    if (group < 0) return unknown("group", words[2], group_names, MIX_GROUPS, error);
    if (count == 4 && strcmp(words[3], "subset") != 0)
        return error_set(error, STATUS_INPUT, "'%s' after a mix; 'subset' or nothing is needed", words[3]);
    op->label = (enum mix_label)label;
    op->quantity = (enum mix_quantity)quantity;
    op->group = (enum mix_group)group;
    op->subset = count == 4;
    return STATUS_OK;
}

static enum status parse_await(char words[][WORD_SIZE], int count, struct op *op, struct error *error) {
    int label = count == 2 ? find(words[1], label_names, MIX_LABELS) : -1;
    if (count != 2) return error_set(error, STATUS_INPUT, "'await' needs the label of a mix, like 'await mix1'");
    if (label < 0) return unknown("mix", words[1], label_names, MIX_LABELS, error);
    op->label = (enum mix_label)label;
    return STATUS_OK;
}

enum status op_parse(const char *text, struct op *op, struct error *error) {
    char words[WORDS_MAX][WORD_SIZE];
    struct op parsed = {0};
    int count = split(text, words);
    if (count == 0) return error_set(error, STATUS_INPUT, "an empty operation; one like 'inner H' is needed");
    if (count < 0) return error_set(error, STATUS_INPUT, "'%.60s' is no operation; one like 'inner H' is needed", text);
    int kind = find(words[0], op_names, OP_KINDS);
    if (kind < 0 && find(words[0], label_names, MIX_LABELS) >= 0) kind = OP_MIX;
    if (kind < 0) {
        const char *names[OP_KINDS + MIX_LABELS];
        memcpy(names, op_names, sizeof op_names);
        memcpy(names + OP_KINDS, label_names, sizeof label_names);
        return unknown("operation", words[0], names, OP_KINDS + MIX_LABELS, error);
    }
    parsed.kind = (enum op_kind)kind;
    switch (parsed.kind) {
    case OP_REPEAT:
    case OP_INNER:
        if (count != 2) return error_set(error, STATUS_INPUT, "'%s' needs how often, like '%s H'", words[0], words[0]);
        TRY(parse_count(words[0], words[1], &parsed.count, error));
        break;
    case OP_BEGIN:
        TRY(parse_mix(words + 1, count - 1, &parsed, error));
        break;
    case OP_AWAIT:
        TRY(parse_await(words, count, &parsed, error));
        break;
    case OP_MIX:
        TRY(parse_mix(words, count, &parsed, error));
        break;
    case OP_END:
    case OP_GRADIENT:
    case OP_STEP:
    case OP_OUTER:
        if (count != 1) return error_set(error, STATUS_INPUT, "'%s' after '%s'; it stands alone", words[1], words[0]);
        break;
    case OP_KINDS:
        break;
    }
    *op = parsed;
    return STATUS_OK;
}

char *op_print(const struct op *op, char *buffer, size_t size) {
    char count[16] = "H";
    if (op->count > 0) snprintf(count, sizeof count, "%d", op->count);
    switch (op->kind) {
    case OP_REPEAT:
    case OP_INNER:
        snprintf(buffer, size, "%s %s", op_names[op->kind], count);
        break;
    case OP_AWAIT:
        snprintf(buffer, size, "await %s", label_names[op->label]);
        break;
    case OP_BEGIN:
    case OP_MIX:
        snprintf(buffer, size, "%s%s %s %s%s", op->kind == OP_BEGIN ? "begin " : "", label_names[op->label],
                 quantity_names[op->quantity], group_names[op->group], op->subset ? " subset" : "");
        break;
    case OP_END:
    case OP_GRADIENT:
    case OP_STEP:
    case OP_OUTER:
        snprintf(buffer, size, "%s", op_names[op->kind]);
        break;
    case OP_KINDS:
        break;
    }
    return buffer;
}

/* ---- validity ---- */

/* What has happened before the op that is looked at. */
struct progress {
    bool begun[MIX_LABELS], in_repeat;
    bool started_mixed, mixed; /* the start of the round by a begin, the parameters by a blocking mix */
    bool stepped, gradient;    /* a gradient that waits for its step */
    bool delta, momentum;      /* mixed outer gradients that wait for outer; a mixed outer momentum */
    bool outer;
};

static enum status check_begin(const struct op *op, struct progress *progress, struct error *error) {
    if (progress->in_repeat) return error_set(error, STATUS_INPUT, "'begin' inside a repeat; it must stand outside");
    if (progress->begun[op->label])
        return error_set(error, STATUS_INPUT, "'%s' is begun twice; await it first", label_names[op->label]);
    if (op->quantity != QUANTITY_PARAMETERS)
        return error_set(error, STATUS_INPUT, "'begin' mixes %s; only parameters can be mixed while steps run",
                         quantity_names[op->quantity]);
    if (progress->stepped)
        return error_set(error, STATUS_INPUT,
                         "'begin' after an inner step; it mixes the start of the round, so it must stand before");
    if (progress->mixed)
        return error_set(error, STATUS_INPUT,
                         "'begin' after the parameters were mixed; it mixes the start of the round, so it must stand "
                         "before");
    if (progress->started_mixed)
        return error_set(error, STATUS_INPUT, "the start of the round is mixed twice; one 'begin' a round");
    progress->begun[op->label] = progress->started_mixed = true;
    return STATUS_OK;
}

static enum status check_mix(const struct op *op, struct progress *progress, struct error *error) {
    if (progress->begun[op->label])
        return error_set(error, STATUS_INPUT, "'%s' while '%s' is under way; await it first", label_names[op->label],
                         label_names[op->label]);
    if (op->quantity == QUANTITY_GRADIENT && !progress->gradient)
        return error_set(error, STATUS_INPUT, "mixes a gradient before there is one; 'gradient' must stand before");
    if (op->quantity == QUANTITY_OUTER_GRADIENT && (!progress->stepped || progress->outer))
        return error_set(
            error, STATUS_INPUT,
            "mixes the outer gradient before there is one; inner steps must stand before and 'outer' after");
    if (op->quantity == QUANTITY_PARAMETERS && progress->delta)
        return error_set(
            error, STATUS_INPUT,
            "mixes parameters between the mix of outer gradients and 'outer', which replaces them; it must "
            "stand before or after both");
    progress->mixed |= op->quantity == QUANTITY_PARAMETERS;
    progress->delta |= op->quantity == QUANTITY_OUTER_GRADIENT;
    progress->momentum |= op->quantity == QUANTITY_OUTER_MOMENTUM;
    return STATUS_OK;
}

/* Ops that need the parameters and overwrite the gradient (INNER, GRADIENT) or apply it (STEP). */
static enum status check_training(const struct op *op, struct progress *progress, struct error *error) {
    if (progress->delta)
        return error_set(error, STATUS_INPUT,
                         "'%s' between the mix of outer gradients and 'outer'; it must stand before or after both",
                         op_names[op->kind]);
    if (op->kind == OP_STEP && !progress->gradient)
        return error_set(error, STATUS_INPUT, "'step' without a gradient; 'gradient' must stand before");
    if (op->kind != OP_STEP && progress->gradient)
        return error_set(error, STATUS_INPUT, "'%s' after a gradient that no 'step' applies", op_names[op->kind]);
    progress->gradient = op->kind == OP_GRADIENT;
    progress->stepped |= op->kind != OP_GRADIENT;
    return STATUS_OK;
}

static enum status check_outer(struct progress *progress, struct error *error) {
    if (progress->in_repeat) return error_set(error, STATUS_INPUT, "'outer' inside a repeat; it must stand outside");
    if (!progress->stepped || progress->outer)
        return error_set(error, STATUS_INPUT, "'outer' must stand once, after the inner steps");
    for (int label = 0; label < MIX_LABELS; label++)
        if (progress->begun[label])
            return error_set(error, STATUS_INPUT, "'outer' while '%s' is under way; 'await %s' must stand before",
                             label_names[label], label_names[label]);
    progress->outer = true;
    progress->delta = false;
    return STATUS_OK;
}

static enum status check_op(const struct op *op, struct progress *progress, struct error *error) {
    switch (op->kind) {
    case OP_REPEAT:
        if (progress->in_repeat) return error_set(error, STATUS_INPUT, "a repeat inside a repeat; they do not nest");
        progress->in_repeat = true;
        return STATUS_OK;
    case OP_END:
        if (!progress->in_repeat) return error_set(error, STATUS_INPUT, "'end' without a 'repeat'");
        progress->in_repeat = false;
        return STATUS_OK;
    case OP_INNER:
    case OP_GRADIENT:
    case OP_STEP:
        return check_training(op, progress, error);
    case OP_BEGIN:
        return check_begin(op, progress, error);
    case OP_AWAIT:
        if (!progress->begun[op->label])
            return error_set(error, STATUS_INPUT, "'await %s' but it is not begun; 'begin %s ...' must stand before",
                             label_names[op->label], label_names[op->label]);
        progress->begun[op->label] = false;
        return STATUS_OK;
    case OP_MIX:
        return check_mix(op, progress, error);
    case OP_OUTER:
        return check_outer(progress, error);
    case OP_KINDS:
        break;
    }
    return STATUS_OK;
}

/* What a whole round may not leave behind. */
static enum status check_end(const struct progress *progress, struct error *error) {
    if (progress->in_repeat) return error_set(error, STATUS_INPUT, "a 'repeat' without its 'end'");
    for (int label = 0; label < MIX_LABELS; label++)
        if (progress->begun[label])
            return error_set(error, STATUS_INPUT, "'%s' is begun and never awaited; 'await %s' is needed",
                             label_names[label], label_names[label]);
    if (progress->gradient) return error_set(error, STATUS_INPUT, "a gradient that no 'step' applies");
    if (progress->started_mixed && !progress->outer)
        return error_set(error, STATUS_INPUT,
                         "the mixed start of the round is used by nothing; 'outer' is needed after the inner steps");
    if (progress->delta)
        return error_set(error, STATUS_INPUT, "mixed outer gradients are used by nothing; 'outer' is needed after");
    if (progress->momentum && !progress->outer)
        return error_set(error, STATUS_INPUT, "the outer momentum is mixed, and no 'outer' uses it; 'outer' is needed");
    if (!progress->stepped) return error_set(error, STATUS_INPUT, "a round without inner steps; 'inner H' is needed");
    return STATUS_OK;
}

/* The body of a repeat is walked twice, so that what its end leaves to its beginning is seen too. */
enum status program_check(const struct program *program, int32_t *op_at_fault, struct error *error) {
    struct progress progress = {0};
    int32_t repeat_at = 0;
    bool again = false;
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i];
        if (op_at_fault) *op_at_fault = i;
        TRY(check_op(op, &progress, error));
        if (op->kind == OP_REPEAT) {
            repeat_at = i;
            again = op->count != 1;
        }
        if (op->kind == OP_END && again) {
            i = repeat_at;
            progress.in_repeat = true;
            again = false;
        }
    }
    if (op_at_fault) *op_at_fault = program->count > 0 ? program->count - 1 : 0;
    return check_end(&progress, error);
}

/* ---- counting ---- */

/* Counts are at most 1e9, so a product fits; a sum of many may not and stays at the largest. */
int64_t program_inner_steps(const struct program *program, int32_t inner_steps) {
    int64_t steps = 0, times = 1;
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i];
        int64_t count = op->count > 0 ? op->count : inner_steps;
        if (op->kind == OP_REPEAT) times = count;
        if (op->kind == OP_END) times = 1;
        int64_t more = op->kind == OP_INNER ? times * count : op->kind == OP_STEP ? times : 0;
        if (__builtin_add_overflow(steps, more, &steps)) return INT64_MAX;
    }
    return steps;
}

bool program_uses(const struct program *program, enum op_kind kind) {
    for (int32_t i = 0; i < program->count; i++)
        if (program->ops[i].kind == kind) return true;
    return false;
}

static bool is_mix(const struct op *op) {
    return op->kind == OP_MIX || op->kind == OP_BEGIN;
}

bool program_mixes(const struct program *program, enum mix_quantity quantity) {
    for (int32_t i = 0; i < program->count; i++)
        if (is_mix(&program->ops[i]) && program->ops[i].quantity == quantity) return true;
    return false;
}

bool program_uses_subset(const struct program *program) {
    for (int32_t i = 0; i < program->count; i++)
        if (is_mix(&program->ops[i]) && program->ops[i].subset) return true;
    return false;
}

int32_t program_operation(const struct program *program, int32_t index) {
    const struct op *op = &program->ops[index];
    if (op->label == LABEL_MIX1) return 0;
    if (op->label == LABEL_MIX2) return 1;
    int32_t others = 0;
    for (int32_t i = 0; i < index; i++) others += is_mix(&program->ops[i]) && program->ops[i].label == LABEL_OTHER;
    return 2 + others;
}
