/* thinwire explain SCENARIO: what a run will do, send, take and hold, by formula, before anything is played. */
#include "cli.h"

#include "base/pool.h"
#include "base/units.h"
#include "scenarios/scenarios.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SET = 256, KEY_ALL, OVERRIDES_MAX = 256 };

struct explain_options {
    const char *path;
    const char *overrides[OVERRIDES_MAX];
    int32_t override_count;
    bool all;
};

static const struct argp_option option_table[] = {
    {"set", KEY_SET, "KEY=VALUE", 0, "override a key of the scenario", 0},
    {"all", KEY_ALL, NULL, 0, "every cell of the grid in full (default: the first in full, one line for the others)",
     0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    struct explain_options *options = state->input;
    switch (key) {
    case KEY_SET:
        if (options->override_count == OVERRIDES_MAX) argp_error(state, "over %d times --set", OVERRIDES_MAX);
        options->overrides[options->override_count++] = argument;
        return 0;
    case KEY_ALL:
        options->all = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path) argp_error(state, "one scenario at a time");
        options->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a scenario file is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {option_table,
                                   parse_option,
                                   "SCENARIO",
                                   "Prints the round program with bytes and closed-form seconds for each operation, "
                                   "virtual time, utilization, memory and warnings. Failures are not in the formulas.",
                                   NULL,
                                   NULL,
                                   NULL};

/* ---- one cell ---- */

static int64_t rounds_of(const struct sim_def *def) {
    int64_t steps = train_steps(&def->train, def->cluster.workers, def->model.context, &def->strategy);
    return train_rounds(steps, &def->strategy);
}

static void print_ops(const struct sim_def *def, const struct round_cost *round) {
    char op[96], bytes[32];
    printf("   #  %-42s %-8s %14s %12s  %s\n", "operation", "times", "bytes/worker", "seconds", "formula");
    for (int32_t i = 0; i < round->op_count; i++) {
        const struct op_cost *cost = &round->ops[i];
        op_print(&def->strategy.program.ops[i], op, sizeof op);
        if (!cost->formula[0]) {
            printf("  %2d  %s\n", i, op);
            continue;
        }
        snprintf(bytes, sizeof bytes, "-");
        if (cost->bytes > 0) units_show_bytes(cost->bytes, bytes, sizeof bytes);
        printf("  %2d  %-42s %-8lld %14s %12.3f  %s\n", i, op, (long long)cost->times, bytes, cost->seconds,
               cost->formula);
    }
}

static bool blocks_on_all(const struct program *program) {
    for (int32_t i = 0; i < program->count; i++)
        if (program->ops[i].kind == OP_MIX && program->ops[i].group == GROUP_GLOBAL) return true;
    return false;
}

static void print_totals(const struct sim_def *def, const struct round_cost *round, bool exact) {
    char duration[48], bytes[32], memory[32], states[32];
    int64_t rounds = rounds_of(def);
    struct trainer_def trainer = sim_trainer_def(def, pool_cores());
    double total_s = round->seconds * (double)rounds;
    units_show_duration(total_s < 9e9 ? (int64_t)(total_s * 1e9) : INT64_MAX, duration, sizeof duration);
    printf("  round %.3f s, %.3f s of it computing: utilization %.2f %%%s\n", round->seconds, round->compute_s,
           100 * round->utilization, exact ? "" : " (a guide: there is no closed form here)");
    printf("  %lld round%s, virtual time %s, %s sent by all workers\n", (long long)rounds, rounds == 1 ? "" : "s",
           duration, units_show_bytes(round->bytes * def->cluster.workers * (double)rounds, bytes, sizeof bytes));
    printf("  training holds %s, of it optimiser state %s; the corpus apart\n",
           units_show_bytes((double)trainer_bytes(&trainer), memory, sizeof memory),
           units_show_bytes((double)trainer_optimizer_bytes(&trainer), states, sizeof states));
    double p = def->cluster.failures.exchange;
    if (p > 0 && def->cluster.failures.per == FAILURE_PER_WORKER && blocks_on_all(&def->strategy.program))
        printf("  failures of %g %% per worker and attempt: a blocking global mix takes %.3f attempts on average\n",
               100 * p, pow(1 - p, -def->cluster.workers));
}

static void print_head(const struct scenario *scenario, int64_t cell) {
    const struct sim_def *def = scenario_cell(scenario, cell);
    char up[32], latency[32], payload[32], subset[32];
    printf("%s, run %lld of %lld: %s%s%s\n", scenario_name(scenario), (long long)cell + 1,
           (long long)scenario_cell_count(scenario), def->strategy.name,
           scenario_cell_label(scenario, cell)[0] ? ", " : "", scenario_cell_label(scenario, cell));
    printf("  %d workers, %s, latency %s; an exchange carries %s", def->cluster.workers,
           units_show_rate((double)def->cluster.up_bps, up, sizeof up),
           units_show_duration(def->cluster.latency_ns, latency, sizeof latency),
           units_show_bytes((double)sim_payload_bytes(def, false), payload, sizeof payload));
    if (program_uses_subset(&def->strategy.program))
        printf(", of a subset %s", units_show_bytes((double)sim_payload_bytes(def, true), subset, sizeof subset));
    putchar('\n');
}

static void explain_cell(const struct scenario *scenario, int64_t cell) {
    const struct sim_def *def = scenario_cell(scenario, cell);
    struct round_cost round;
    char warning[400];
    bool exact = sim_closed_form(def, &round);
    print_head(scenario, cell);
    print_ops(def, &round);
    print_totals(def, &round, exact);
    for (int32_t i = 0; sim_warning(def, i, warning, sizeof warning); i++) printf("  warning: %s\n", warning);
}

static void mention_cell(const struct scenario *scenario, int64_t cell) {
    const struct sim_def *def = scenario_cell(scenario, cell);
    struct round_cost round;
    sim_closed_form(def, &round);
    printf("run %-4lld %-24s round %10.3f s  utilization %6.2f %%  %s\n", (long long)cell + 1, def->strategy.name,
           round.seconds, 100 * round.utilization, scenario_cell_label(scenario, cell));
}

int command_explain(int argc, char **argv) {
    struct explain_options options = {0};
    struct error error = {0};
    if (argp_parse(&parser, argc, argv, 0, NULL, &options) != 0) return 2;
    struct scenario *scenario = scenario_read(options.path, options.overrides, options.override_count, 0, &error);
    if (!scenario) return report_error(&error);
    for (int64_t cell = 0; cell < scenario_cell_count(scenario); cell++) {
        if (cell == 0 || options.all)
            explain_cell(scenario, cell);
        else
            mention_cell(scenario, cell);
        if (cell == 0 || options.all) putchar('\n');
    }
    scenario_free(scenario);
    return 0;
}
