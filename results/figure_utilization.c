/* Utilization alone, when nothing was trained: a row per strategy, a dot per cell. The first other axis that varies is
 * shown by colour, the second by shape, the third by a step within the row. */
#include "figures.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct style value_styles[] = {{"#0072B2", 7, 1},  {"#E69F00", 5, 1},  {"#009E73", 9, 1},
                                            {"#D55E00", 13, 1}, {"#CC79A7", 11, 1}, {"#000000", 15, 1}};
enum { VALUE_STYLES = sizeof value_styles / sizeof value_styles[0], SHOWN_AXES = 3 };

/* One way in which dots differ. */
struct dimension {
    enum axis axis; /* AXES: unused */
    int64_t *values;
    int64_t count;
};

struct dots {
    const struct cells *cells;
    struct dimension rows, shown[SHOWN_AXES];
    char letters[VALUE_STYLES];
};

static int32_t value_index(const struct cells *cells, const struct dimension *dimension, int64_t cell) {
    return dimension->axis == AXES ? 0 : cells->items[cell].rank[dimension->axis];
}

static void choose_dimensions(struct dots *dots, int64_t *memory, struct figure *figure) {
    const struct cells *cells = dots->cells;
    dots->rows = (struct dimension){.axis = AXIS_STRATEGY, .values = memory};
    dots->rows.count = cells_axis_values(cells, AXIS_STRATEGY, memory);
    int used = 0, most = figure_is_text(figure) ? 1 : SHOWN_AXES;
    for (int i = 0; i < SHOWN_AXES; i++) dots->shown[i].axis = AXES;
    for (int axis = AXIS_STRATEGY + 1; axis < AXES; axis++) {
        if (!cells->varies[axis]) continue;
        int64_t *values = memory + (used + 1) * cells->count, count = 0;
        if (used < most) count = cells_axis_values(cells, (enum axis)axis, values);
        if (used < most && count <= VALUE_STYLES)
            dots->shown[used++] = (struct dimension){(enum axis)axis, values, count};
        else
            figure_add_note(figure, "dots also differ in: %s", cells_axis_name(cells, (enum axis)axis));
    }
}

static void add_key(struct dots *dots, struct figure *figure) {
    const struct cells *cells = dots->cells;
    const struct dimension *color = &dots->shown[0], *shape = &dots->shown[1], *step = &dots->shown[2];
    char text[96], last[96];
    for (int64_t i = 0; i < color->count; i++) {
        struct style style = value_styles[i];
        style.point = 7;
        cells_axis_text(cells, color->values[i], color->axis, text, sizeof text);
        char letter = figure_add_key(figure, text, KEY_POINT, style);
        dots->letters[i] = letter;
    }
    for (int64_t i = 0; i < shape->count; i++)
        figure_add_key(figure, cells_axis_text(cells, shape->values[i], shape->axis, text, sizeof text), KEY_POINT,
                       (struct style){"#777777", value_styles[i].point, 1});
    if (step->count > 1)
        figure_add_note(figure, "within each row, from top: %s to %s",
                        cells_axis_text(cells, step->values[0], step->axis, text, sizeof text),
                        cells_axis_text(cells, step->values[step->count - 1], step->axis, last, sizeof last));
}

/* Rows count from the top. */
static double row_position(const struct dots *dots, int64_t cell) {
    double row = (double)(dots->rows.count - value_index(dots->cells, &dots->rows, cell));
    const struct dimension *step = &dots->shown[2];
    if (step->count < 2) return row;
    return row + 0.5 * (0.5 - (double)value_index(dots->cells, step, cell) / (double)(step->count - 1));
}

static struct style dot_style(const struct dots *dots, int64_t cell) {
    if (dots->shown[0].axis == AXES) return figures_cell_style(dots->cells, cell);
    struct style style = value_styles[value_index(dots->cells, &dots->shown[0], cell)];
    style.point = value_styles[value_index(dots->cells, &dots->shown[1], cell)].point;
    return style;
}

static void write_rows(const struct dots *dots, struct figure *figure) {
    struct text *body = &figure->body;
    text_append(body, "set yrange [0.5:%.1f]\nset ytics " FIGURE_TICS " scale 0 (", (double)dots->rows.count + 0.5);
    for (int64_t i = 0; i < dots->rows.count; i++) {
        text_append(body, "%s", i ? ", " : "");
        figures_append_tic(body, dots->cells->items[dots->rows.values[i]].strategy);
        text_append(body, " %lld", (long long)(dots->rows.count - i));
    }
    text_append(body, ")\n");
}

static void write_dot(const struct dots *dots, int64_t cell, struct figure *figure) {
    struct style style = dot_style(dots, cell);
    text_append(&figure->data, "$cell%lld << EOD\n%.10g %.10g\nEOD\n", (long long)cell,
                100 * dots->cells->items[cell].utilization.mean, row_position(dots, cell));
    if (figure_is_text(figure)) {
        int32_t value = value_index(dots->cells, &dots->shown[0], cell);
        text_append(&figure->body, ", \\\n  $cell%lld using 1:2:('%c') with labels notitle", (long long)cell,
                    dots->letters[value] ? dots->letters[value] : 'o');
    } else {
        text_append(&figure->body, ", \\\n  $cell%lld using 1:2 with points pt %d ps 1.1*mark lc rgb '%s' notitle",
                    (long long)cell, style.point, style.color);
    }
}

static void draw(struct dots *dots, struct figure *figure) {
    const struct axis_range range = {.low = 0, .high = 102};
    figure->left = figures_tic_width(dots->cells, AXIS_STRATEGY);
    figure->panel_count = 1;
    figure->text_rows = 2 * (int32_t)dots->rows.count;
    figure->panel_heights[0] = 12 + (double)dots->rows.count * (dots->shown[2].count > 1 ? 24 : 17);
    cells_common(dots->cells, figure->title, sizeof figure->title);
    add_key(dots, figure);
    figures_note_unfinished(dots->cells, figure);
    figure_begin_panel(figure, 0);
    figure_set_axis(figure, "x", "utilization (%)", &range);
    write_rows(dots, figure);
    text_append(&figure->body, "plot NaN notitle");
    for (int64_t i = 0; i < dots->cells->count; i++)
        if (isfinite(dots->cells->items[i].utilization.mean)) write_dot(dots, i, figure);
    text_append(&figure->body, "\n");
}

enum status figure_utilization(const struct database *database, const char *scenario, struct figure *figure,
                               struct error *error) {
    struct cells cells;
    TRY(cells_read(database, scenario, false, &cells, error));
    struct dots dots = {.cells = &cells};
    int64_t *memory = alloc_zero((size_t)cells.count, (SHOWN_AXES + 1) * sizeof *memory, "axis values", error);
    if (memory) {
        choose_dimensions(&dots, memory, figure);
        draw(&dots, figure);
    }
    alloc_free(memory);
    cells_clear(&cells);
    return memory ? STATUS_OK : STATUS_MEMORY;
}
