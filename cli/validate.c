/* thinwire validate SCENARIO...: checks only. */
#include "cli.h"

#include "scenarios/scenarios.h"

#include <argp.h>

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    (void)argument;
    if (key == ARGP_KEY_NO_ARGS) argp_error(state, "a scenario file is needed");
    /* left to command_validate, which finds them by the index that argp_parse reports */
    return key == ARGP_KEY_ARG || key == ARGP_KEY_ARGS ? ARGP_ERR_UNKNOWN : 0;
}

static const struct argp parser = {NULL,
                                   parse_option,
                                   "SCENARIO...",
                                   "Checks scenario files: every key, unit, range and cell of the grid. Exit status 2 "
                                   "and a line with file:line:column for each file with a fault.",
                                   NULL,
                                   NULL,
                                   NULL};

static int validate(const char *path) {
    struct error error = {0};
    struct scenario *scenario = scenario_read(path, NULL, 0, 0, &error);
    if (!scenario) return report_error(&error);
    int64_t cells = scenario_cell_count(scenario);
    printf("%s: ok, scenario '%s', %lld %s\n", path, scenario_name(scenario), (long long)cells,
           cells == 1 ? "run" : "runs");
    scenario_free(scenario);
    return 0;
}

int command_validate(int argc, char **argv) {
    int first;
    if (argp_parse(&parser, argc, argv, 0, &first, NULL) != 0) return 2;
    int exit_status = 0;
    for (int i = first; i < argc; i++) {
        int status = validate(argv[i]);
        if (status > exit_status) exit_status = status;
    }
    return exit_status;
}
