/* thinwire run SCENARIO...: every cell played, stored, summed up and drawn. */
#include "cli.h"
#include "play.h"
#include "seeds.h"
#include "table.h"

#include "base/pool.h"
#include "base/text.h"
#include "base/units.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct words {
    const char **items;
    int64_t count;
    int64_t capacity;
};

struct run_options {
    const char *database;
    const char *directory;
    struct words paths;
    struct words overrides;
    char backend_override[64];
    int32_t seeds;
    int32_t jobs;
    bool timing_only, no_plot, json, quiet, transfers;
    struct error error; /* of the options themselves */
};

enum {
    KEY_DATABASE = 256,
    KEY_OUT,
    KEY_SET,
    KEY_SEEDS,
    KEY_JOBS,
    KEY_BACKEND,
    KEY_TIMING,
    KEY_NO_PLOT,
    KEY_JSON,
    KEY_TRANSFERS
};

static const struct argp_option option_table[] = {
    {"db", KEY_DATABASE, "FILE", 0, "database for the results (default thinwire.db)", 0},
    {"out", KEY_OUT, "DIR", 0, "folder for the figures (default out)", 0},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "override a key of the scenario, e.g. cluster.workers=16; grid=null drops the grid", 0},
    {"seeds", KEY_SEEDS, "N", 0, "play every cell with N seeds", 0},
    {"jobs", KEY_JOBS, "N", 0, "threads over workers (default: one per core); changes no result", 0},
    {"backend", KEY_BACKEND, "NAME", 0, "where the arithmetic runs ('thinwire list backends')", 0},
    {"timing-only", KEY_TIMING, NULL, 0, "the network and the clock alone, no training", 0},
    {"no-plot", KEY_NO_PLOT, NULL, 0, "no figures", 0},
    {"transfers", KEY_TRANSFERS, NULL, 0, "store every transfer (v_transfer)", 0},
    {"json", KEY_JSON, NULL, 0, "the summary as JSON", 0},
    {"quiet", 'q', NULL, 0, "no progress on stderr", 0},
    {0},
};

static enum status parse_small(const char *option, const char *text, int32_t *value, struct error *error) {
    int64_t number;
    struct error ignored;
    if (units_parse_integer(text, &number, &ignored) != STATUS_OK || number < 1 || number > 1000000)
        return error_set(error, STATUS_INPUT, "--%s '%s'; a whole number from 1 to 1000000 is needed", option, text);
    *value = (int32_t)number;
    return STATUS_OK;
}

static enum status append(struct words *words, const char *word, struct error *error) {
    TRY(array_reserve(words, words->count + 1, error));
    words->items[words->count++] = word;
    return STATUS_OK;
}

static enum status take_option(int key, char *argument, struct run_options *options) {
    switch (key) {
    case KEY_DATABASE:
        options->database = argument;
        return STATUS_OK;
    case KEY_OUT:
        options->directory = argument;
        return STATUS_OK;
    case KEY_SET:
        return append(&options->overrides, argument, &options->error);
    case KEY_SEEDS:
        return parse_small("seeds", argument, &options->seeds, &options->error);
    case KEY_JOBS:
        return parse_small("jobs", argument, &options->jobs, &options->error);
    case KEY_BACKEND:
        snprintf(options->backend_override, sizeof options->backend_override, "backend=%s", argument);
        return append(&options->overrides, options->backend_override, &options->error);
    case KEY_TIMING:
        options->timing_only = true;
        return STATUS_OK;
    case KEY_NO_PLOT:
        options->no_plot = true;
        return STATUS_OK;
    case KEY_TRANSFERS:
        options->transfers = true;
        return STATUS_OK;
    case KEY_JSON:
        options->json = true;
        return STATUS_OK;
    case 'q':
        options->quiet = true;
        return STATUS_OK;
    case ARGP_KEY_ARG:
        return append(&options->paths, argument, &options->error);
    default:
        return STATUS_UNSUPPORTED;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    struct run_options *options = state->input;
    if (key == ARGP_KEY_END && state->arg_num == 0)
        argp_error(state, "a scenario file is needed, e.g. scenarios/quickstart.yaml");
    enum status status = take_option(key, argument, options);
    if (status == STATUS_UNSUPPORTED) return ARGP_ERR_UNKNOWN;
    return status == STATUS_OK ? 0 : EINVAL;
}

static const struct argp parser = {
    option_table,
    parse_option,
    "SCENARIO...",
    "Plays scenarios: every cell of their grids in turn, each for its seeds. Rounds go to the database as they end; "
    "the "
    "summary table goes to stdout, progress to stderr.\v"
    "Examples:\n"
    "  thinwire run scenarios/quickstart.yaml\n"
    "  thinwire run scenarios/quickstart.yaml --set cluster.link.bandwidth='200 Mbps' --set grid=null\n"
    "  thinwire run scenarios/gossip-utilization.yaml --timing-only\n\n"
    "Exit status: 0 all played (a diverged run is a result), 1 a failure, 2 wrong usage or input, 130 after Ctrl-C.",
    NULL,
    NULL,
    NULL};

static enum status read_scenarios(const struct run_options *options, struct scenario **scenarios, int64_t *cells,
                                  struct error *error) {
    for (int64_t i = 0; i < options->paths.count; i++) {
        scenarios[i] = scenario_read(options->paths.items[i], options->overrides.items,
                                     (int32_t)options->overrides.count, options->seeds, error);
        if (!scenarios[i]) return error->status;
        *cells += scenario_cell_count(scenarios[i]);
    }
    return STATUS_OK;
}

/* A figure that cannot be drawn is a pity, not a failure of the run. */
static void draw(const struct play *play, const struct run_options *options, enum plot_kind kind, bool on_terminal) {
    char path[PATH_MAX];
    struct text figure = {0};
    struct error error = {0};
    struct plot_def def = {
        .kind = kind, .format = PLOT_SVG, .directory = options->directory, .columns = terminal_columns(stdout, 100)};
    enum status status = plot_draw(play->store, &def, path, sizeof path, NULL, &error);
    if (status == STATUS_OK) {
        fprintf(stderr, "figure: %s\n", path);
        def.format = PLOT_TXT;
        if (on_terminal && plot_draw(play->store, &def, path, sizeof path, &figure, &error) == STATUS_OK)
            printf("\n%s", text_get(&figure));
    } else {
        fprintf(stderr, "thinwire: warning: no %s figure: %s\n", plot_kind_name(kind), error.message);
    }
    text_clear(&figure);
}

static enum status summarise(struct play *play, const struct run_options *options, struct error *error) {
    struct run_row *rows = NULL;
    int64_t count = 0;
    TRY(store_read_runs(play->store, play->run_ids.items, play->run_ids.count, &rows, &count, error));
    if (options->json)
        table_print_json(rows, count);
    else
        table_print(rows, count, isatty(STDOUT_FILENO) ? terminal_columns(stdout, 100) : INT_MAX);
    if (!options->json && seeds_repeated(rows, count)) seeds_print(rows, count);
    alloc_free(rows);
    if (options->no_plot || interrupt_signal()) return STATUS_OK;
    bool on_terminal = !options->json;
    draw(play, options, PLOT_FRONTIER, on_terminal);
    if (!options->timing_only) draw(play, options, PLOT_LOSS, false);
    return STATUS_OK;
}

static int play_and_report(const struct run_options *options, struct scenario **scenarios) {
    struct error error = {0};
    int64_t cells = 0;
    if (read_scenarios(options, scenarios, &cells, &error) != STATUS_OK) return report_error(&error);
    struct play play = {.database = options->database,
                        .timing_only = options->timing_only,
                        .keep_transfers = options->transfers,
                        .jobs = options->jobs ? options->jobs : pool_cores()};
    interrupt_install();
    progress_start(&play.progress, options->quiet, cells);
    enum status status = play_scenarios(&play, scenarios, (int32_t)options->paths.count, &error);
    int exit_status = 0;
    if (status != STATUS_OK) exit_status = report_error(&error);
    if (play.store && (status == STATUS_OK || status == STATUS_INTERRUPTED)) {
        status = summarise(&play, options, &error);
        if (status != STATUS_OK) exit_status = report_error(&error);
    }
    if (interrupt_signal()) exit_status = 128 + interrupt_signal();
    if (exit_status == 0 && play.failed > 0) exit_status = 1;
    store_close(play.store);
    array_clear(&play.run_ids);
    return exit_status;
}

int command_run(int argc, char **argv) {
    struct run_options options = {.database = "thinwire.db", .directory = "out"};
    int exit_status;
    if (argp_parse(&parser, argc, argv, 0, NULL, &options) != 0) {
        exit_status = report_error(&options.error);
    } else {
        struct scenario **scenarios =
            alloc_zero((size_t)options.paths.count, sizeof *scenarios, "scenarios", &options.error);
        exit_status = scenarios ? play_and_report(&options, scenarios) : report_error(&options.error);
        for (int64_t i = 0; scenarios && i < options.paths.count; i++) scenario_free(scenarios[i]);
        alloc_free(scenarios);
    }
    array_clear(&options.paths);
    array_clear(&options.overrides);
    return exit_status;
}
