/* thinwire plot DATABASE: figures from the database alone. */
#include "cli.h"

#include "base/text.h"
#include "results/results.h"

#include <argp.h>
#include <limits.h>
#include <string.h>

struct plot_options {
    const char *database;
    struct plot_def def;
    bool all_kinds;
};

enum { KEY_KIND = 256, KEY_FORMAT, KEY_OUT, KEY_SCENARIO };

static const struct argp_option option_table[] = {
    {"kind", KEY_KIND, "KIND", 0, "frontier, loss, consensus, timeline, heatmap, bytes or all (default frontier)", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "svg, png, pdf or txt (default svg; txt also goes to stdout)", 0},
    {"out", KEY_OUT, "DIR", 0, "folder for the figures and their .gp files (default out)", 0},
    {"scenario", KEY_SCENARIO, "NAME", 0, "only runs of this scenario", 0},
    {0},
};

/* The index of word among count names, or -1 after an argp error that shows the nearest. */
static int find_name(struct argp_state *state, const char *what, const char *word, const char *const *names,
                     int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0) return i;
    const char *nearest = text_nearest(word, names, (size_t)count);
    if (nearest)
        argp_error(state, "unknown %s '%s'; did you mean '%s'?", what, word, nearest);
    else
        argp_error(state, "unknown %s '%s'; see --help", what, word);
    return -1;
}

static void take_kind(struct argp_state *state, struct plot_options *options, const char *word) {
    const char *names[PLOT_KINDS + 1];
    for (int i = 0; i < PLOT_KINDS; i++) names[i] = plot_kind_name((enum plot_kind)i);
    names[PLOT_KINDS] = "all";
    int found = find_name(state, "figure", word, names, PLOT_KINDS + 1);
    options->all_kinds = found == PLOT_KINDS;
    if (!options->all_kinds) options->def.kind = (enum plot_kind)found;
}

static void take_format(struct argp_state *state, struct plot_options *options, const char *word) {
    const char *names[PLOT_FORMATS];
    for (int i = 0; i < PLOT_FORMATS; i++) names[i] = plot_format_name((enum plot_format)i);
    options->def.format = (enum plot_format)find_name(state, "format", word, names, PLOT_FORMATS);
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    struct plot_options *options = state->input;
    switch (key) {
    case KEY_KIND:
        take_kind(state, options, argument);
        return 0;
    case KEY_FORMAT:
        take_format(state, options, argument);
        return 0;
    case KEY_OUT:
        options->def.directory = argument;
        return 0;
    case KEY_SCENARIO:
        options->def.scenario = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (options->database) argp_error(state, "one database at a time");
        options->database = argument;
        return 0;
    case ARGP_KEY_END:
        if (!options->database) argp_error(state, "a database is needed, e.g. thinwire.db");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {option_table,
                                   parse_option,
                                   "DATABASE",
                                   "Draws figures with gnuplot from the database alone. Each figure stands beside the "
                                   ".gp file that made it, data included.\v"
                                   "Examples:\n"
                                   "  thinwire plot thinwire.db\n"
                                   "  thinwire plot thinwire.db --kind loss --format png\n"
                                   "  thinwire plot thinwire.db --format txt",
                                   NULL,
                                   NULL,
                                   NULL};

static enum status draw(struct store *store, const struct plot_def *def, struct error *error) {
    char path[PATH_MAX];
    struct text figure = {0};
    enum status status = plot_draw(store, def, path, sizeof path, &figure, error);
    if (status == STATUS_OK && def->format == PLOT_TXT) fputs(text_get(&figure), stdout);
    if (status == STATUS_OK) fprintf(stderr, "figure: %s\n", path);
    text_clear(&figure);
    return status;
}

/* Of all figures, those that the database has nothing for are left out with a word. */
static void skip(enum plot_kind kind, const struct error *error) {
    fprintf(stderr, "thinwire: warning: no %s figure: %s\n", plot_kind_name(kind), error->message);
}

int command_plot(int argc, char **argv) {
    struct plot_options options = {.def = {.kind = PLOT_FRONTIER, .format = PLOT_SVG, .directory = "out"}};
    struct error error = {0};
    if (argp_parse(&parser, argc, argv, 0, NULL, &options) != 0) return 2;
    options.def.columns = terminal_columns(stdout, 100);
    struct store *store = store_open_read_only(options.database, &error);
    if (!store) return report_error(&error);
    enum status status = STATUS_OK;
    int drawn = 0, first = options.all_kinds ? 0 : (int)options.def.kind;
    int last = options.all_kinds ? PLOT_KINDS - 1 : first;
    for (int kind = first; kind <= last; kind++) {
        options.def.kind = (enum plot_kind)kind;
        status = draw(store, &options.def, &error);
        drawn += status == STATUS_OK;
        if (status != STATUS_OK && options.all_kinds) skip(options.def.kind, &error);
    }
    if (drawn > 0 && options.all_kinds) status = STATUS_OK;
    store_close(store);
    return status == STATUS_OK ? 0 : report_error(&error);
}
