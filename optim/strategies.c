/* The table of strategies: each is a program. */
#include "optim.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct strategy {
    const char *name, *help;
    const char *ops[8];
};

static const struct strategy strategies[] = {
    {"DDP",
     "all-reduce of every gradient: synchronous data parallelism",
     {"repeat H", "gradient", "mix gradient global", "step", "end"}},
    {"LocalSGD", "inner steps, then the parameters are averaged", {"inner H", "mix parameters global"}},
    {"DiLoCo",
     "inner steps, then one blocking global mix of outer gradients",
     {"inner H", "mix2 outer_gradient global", "outer"}},
    {"GlobalM1",
     "parameters mixed globally behind the inner steps, own outer gradients",
     {"begin mix1 parameters global", "inner H", "await mix1", "outer"}},
    {"GlobalM1LocalM2",
     "parameters mixed globally behind the inner steps, outer gradients in pairs",
     {"begin mix1 parameters global", "inner H", "await mix1", "mix2 outer_gradient pairs", "outer"}},
    {"GlobalM1LocalM2-subset",
     "the same, pairs exchanging chosen blocks only",
     {"begin mix1 parameters global", "inner H", "await mix1", "mix2 outer_gradient pairs subset", "outer"}},
    {"LocalM1M2",
     "parameters mixed in pairs behind the inner steps, outer gradients in other pairs",
     {"begin mix1 parameters pairs", "inner H", "await mix1", "mix2 outer_gradient pairs", "outer"}},
    {"NoMixing", "every worker alone: the same round with nothing mixed, the control", {"inner H", "outer"}},
};
enum { STRATEGIES = sizeof strategies / sizeof strategies[0] };

int32_t strategy_count(void) {
    return STRATEGIES;
}
const char *strategy_name(int32_t index) {
    return strategies[index].name;
}
const char *strategy_help(int32_t index) {
    return strategies[index].help;
}

static void fill(const struct strategy *strategy, struct strategy_def *def) {
    static const char *const subset[] = {"embedding", "head", "layer0"};
    snprintf(def->name, sizeof def->name, "%s", strategy->name);
    def->program.count = 0;
    for (int i = 0; strategy->ops[i]; i++) {
        struct error error;
        enum status status = op_parse(strategy->ops[i], &def->program.ops[def->program.count++], &error);
        assert(status == STATUS_OK); /* the table is ours */
        (void)status;
    }
    if (!program_uses_subset(&def->program) || def->subset_count > 0) return;
    for (size_t i = 0; i < sizeof subset / sizeof subset[0]; i++)
        snprintf(def->subset[def->subset_count++], sizeof def->subset[0], "%s", subset[i]);
}

enum status strategy_find(const char *name, struct strategy_def *def, struct error *error) {
    const char *names[STRATEGIES];
    for (int i = 0; i < STRATEGIES; i++) {
        names[i] = strategies[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        fill(&strategies[i], def);
        return STATUS_OK;
    }
    const char *nearest = text_nearest(name, names, STRATEGIES);
    if (nearest) return error_set(error, STATUS_INPUT, "unknown strategy '%.40s'; did you mean '%s'?", name, nearest);
    return error_set(error, STATUS_INPUT, "unknown strategy '%.40s'; 'thinwire list strategies' names them", name);
}

struct strategy_def strategy_default(void) {
    struct strategy_def def = {.inner_steps = 50};
    struct error error;
    enum status status = strategy_find("DiLoCo", &def, &error);
    assert(status == STATUS_OK);
    (void)status;
    return def;
}
