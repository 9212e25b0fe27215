/* Figures: from the database to a self-contained script, from there to the picture by gnuplot. */
#include "figures.h"
#include "gnuplot.h"
#include "store.h"

#include "base/alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum status (*fill)(const struct database *database, const char *scenario, struct figure *figure,
                        struct error *error);
} kinds[PLOT_KINDS] = {
    [PLOT_FRONTIER] = {"frontier", figure_frontier},    [PLOT_LOSS] = {"loss", figure_loss},
    [PLOT_CONSENSUS] = {"consensus", figure_consensus}, [PLOT_TIMELINE] = {"timeline", figure_timeline},
    [PLOT_HEATMAP] = {"heatmap", figure_heatmap},       [PLOT_BYTES] = {"bytes", figure_bytes},
};
static const char *const format_names[PLOT_FORMATS] = {
    [PLOT_SVG] = "svg", [PLOT_PNG] = "png", [PLOT_PDF] = "pdf", [PLOT_TXT] = "txt"};

const char *plot_kind_name(enum plot_kind kind) {
    return kinds[kind].name;
}

const char *plot_format_name(enum plot_format format) {
    return format_names[format];
}

/* ---- files ---- */

/* Makes the folder and those above it. */
static enum status make_directory(const char *directory, struct error *error) {
    char path[PATH_MAX];
    size_t length = strlen(directory);
    struct stat info;
    if (length >= sizeof path)
        return error_set(error, STATUS_INPUT, "the name of the folder '%s' is too long", directory);
    memcpy(path, directory, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        path[i] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return error_set(error, STATUS_INPUT, "cannot make the folder '%s': %s", path, strerror(errno));
        path[i] = directory[i];
    }
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode))
        return error_set(error, STATUS_INPUT, "'%s' is no folder; figures need one", directory);
    return STATUS_OK;
}

/* Names of a figure's files. */
struct names {
    const char *directory;
    char script[64]; /* "frontier.gp" */
    char drawn[64];  /* "frontier.svg.part": what gnuplot writes */
    char figure[64]; /* "frontier.svg" */
};

static struct names names_of(const struct plot_def *def) {
    struct names names = {.directory = def->directory && def->directory[0] ? def->directory : "."};
    const char *kind = kinds[def->kind].name, *format = format_names[def->format];
    /* Text figures have their own script beside that of the pictures. */
    snprintf(names.script, sizeof names.script, def->format == PLOT_TXT ? "%s.txt.gp" : "%s.gp", kind);
    snprintf(names.drawn, sizeof names.drawn, "%s.%s.part", kind, format);
    snprintf(names.figure, sizeof names.figure, "%s.%s", kind, format);
    return names;
}

static enum status join(const char *directory, const char *name, char *path, size_t size, struct error *error) {
    if ((size_t)snprintf(path, size, "%s/%s", directory, name) < size) return STATUS_OK;
    return error_set(error, STATUS_INPUT, "the name of the folder '%s' is too long", directory);
}

/* ---- drawing ---- */

static enum status write_script(const struct figure *figure, const struct plot_def *def, const char *path,
                                struct error *error) {
    struct text script = {0};
    figure_compose(figure, kinds[def->kind].name, &script);
    enum status status = script.failed ? error_set(error, STATUS_MEMORY, "no memory for the script of a figure")
                                       : text_write_file(path, script.bytes, script.length, error);
    text_clear(&script);
    return status;
}

/* gnuplot's drawing without its form feed, blank lines around it and blanks at line ends. */
static void append_drawing(const char *drawing, struct text *text) {
    int blank_lines = 0;
    bool begun = false;
    for (const char *line = drawing; *line;) {
        size_t length = strcspn(line, "\n"), kept = length;
        while (kept > 0 && (line[kept - 1] == ' ' || line[kept - 1] == '\f')) kept--;
        size_t skipped = strspn(line, "\f");
        if (skipped > kept) skipped = kept;
        if (kept == skipped) {
            blank_lines++;
        } else {
            for (; begun && blank_lines > 0; blank_lines--) text_append(text, "\n");
            begun = true;
            blank_lines = 0;
            text_append(text, "%.*s\n", (int)(kept - skipped), line + skipped);
        }
        line += length + (line[length] == '\n');
    }
}

/* What gnuplot has drawn becomes the figure's file. */
static enum status publish_picture(const char *drawn, const char *path, struct error *error) {
    if (rename(drawn, path) == 0) return STATUS_OK;
    return error_set(error, STATUS_IO, "cannot write '%s': %s", path, strerror(errno));
}

static enum status publish_text(const struct figure *figure, const char *drawn, const char *path, struct text *copy,
                                struct error *error) {
    struct text whole = {0};
    char *drawing = NULL;
    size_t length;
    TRY(text_read_file(drawn, 1 << 24, &drawing, &length, error));
    append_drawing(drawing, &whole);
    figure_append_legend(figure, &whole);
    enum status status = whole.failed ? error_set(error, STATUS_MEMORY, "no memory for a text figure")
                                      : text_write_file(path, text_get(&whole), whole.length, error);
    if (status == STATUS_OK && copy) text_append_bytes(copy, text_get(&whole), whole.length);
    text_clear(&whole);
    alloc_free(drawing);
    return status;
}

static enum status draw_figure(const struct figure *figure, const struct plot_def *def, const char *path,
                               struct text *text, struct error *error) {
    struct names names = names_of(def);
    char script[PATH_MAX], drawn[PATH_MAX], definitions[160];
    TRY(join(names.directory, names.script, script, sizeof script, error));
    TRY(join(names.directory, names.drawn, drawn, sizeof drawn, error));
    TRY(make_directory(names.directory, error));
    TRY(write_script(figure, def, script, error));
    snprintf(definitions, sizeof definitions, "format = '%s'; output = '%s'", format_names[def->format], names.drawn);
    enum status status = gnuplot_run(names.directory, names.script, definitions, error);
    if (status == STATUS_OK)
        status = figure_is_text(figure) ? publish_text(figure, drawn, path, text, error)
                                        : publish_picture(drawn, path, error);
    if (status != STATUS_OK || figure_is_text(figure)) unlink(drawn);
    return status;
}

enum status plot_draw(struct store *store, const struct plot_def *def, char *path, size_t path_size, struct text *text,
                      struct error *error) {
    struct names names = names_of(def);
    TRY(join(names.directory, names.figure, path, path_size, error));
    struct figure *figure = alloc_zero(1, sizeof *figure, "figure", error);
    if (!figure) return STATUS_MEMORY;
    figure->format = def->format;
    figure->columns = def->columns;
    enum status status = kinds[def->kind].fill(&store->database, def->scenario, figure, error);
    if (status == STATUS_OK) status = draw_figure(figure, def, path, text, error);
    figure_clear(figure);
    alloc_free(figure);
    return status;
}
