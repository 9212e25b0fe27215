/* Utilization over two axes: a coloured cell with its number. */
#include "figures.h"

#include "quote.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct map {
    const struct cells *cells;
    enum axis across, up;
    int64_t *across_values, *up_values; /* cells that show the values, ascending */
    int64_t across_count, up_count;
};

/* The strategy upwards if it varies; else the two first that vary. Axes that do not vary fill what is missing. */
static void choose_axes(struct map *map, struct figure *figure) {
    static const enum axis preferred[] = {AXIS_STRATEGY, AXIS_BANDWIDTH, AXIS_INNER_STEPS, AXIS_WORKERS,
                                          AXIS_LATENCY,  AXIS_FAILURES,  AXIS_SCENARIO};
    enum { PREFERRED = sizeof preferred / sizeof preferred[0] };
    enum axis found[AXES];
    int count = 0;
    for (int i = 0; i < PREFERRED; i++)
        if (map->cells->varies[preferred[i]]) found[count++] = preferred[i];
    for (int axis = AXIS_OTHER; axis < AXES; axis++)
        if (map->cells->varies[axis]) found[count++] = (enum axis)axis;
    char others[160] = "";
    for (int i = 2; i < count; i++) {
        size_t used = strlen(others);
        snprintf(others + used, sizeof others - used, "%s%s", used ? ", " : "", cells_axis_name(map->cells, found[i]));
    }
    if (others[0]) figure_add_note(figure, "means over: %s", others);
    if (count == 0) found[count++] = AXIS_STRATEGY;
    if (count == 1) found[count++] = found[0] == AXIS_BANDWIDTH ? AXIS_INNER_STEPS : AXIS_BANDWIDTH;
    map->up = found[0];
    map->across = found[1];
    map->across_count = cells_axis_values(map->cells, map->across, map->across_values);
    map->up_count = cells_axis_values(map->cells, map->up, map->up_values);
}

/* Mean utilization in % of the cells with these values; NAN where there are none. */
static double value_at(const struct map *map, int64_t across, int64_t up) {
    const struct cells *cells = map->cells;
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];
        if (cell->rank[map->across] != across || cell->rank[map->up] != up || !isfinite(cell->utilization.mean))
            continue;
        sum += 100 * cell->utilization.mean;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

static void write_tics(const struct map *map, const char *name, enum axis axis, const int64_t *values, int64_t count,
                       const char *options, struct figure *figure) {
    char text[96];
    text_append(&figure->body, "set %stics " FIGURE_TICS " scale 0 %s (", name, options);
    for (int64_t i = 0; i < count; i++) {
        text_append(&figure->body, "%s", i ? ", " : "");
        figures_append_tic(&figure->body, cells_tic_text(map->cells, values[i], axis, text, sizeof text));
        /* Upwards the first value is the topmost. */
        text_append(&figure->body, " %lld", (long long)(name[0] == 'y' ? count - 1 - i : i));
    }
    text_append(&figure->body, ")\n");
}

static void write_values(const struct map *map, struct figure *figure) {
    text_append(&figure->data, "# column, row, utilization (%%)\n$map << EOD\n");
    for (int64_t up = 0; up < map->up_count; up++)
        for (int64_t across = 0; across < map->across_count; across++) {
            double value = value_at(map, across, up);
            if (!isnan(value))
                text_append(&figure->data, "%lld %lld %.10g\n", (long long)across, (long long)(map->up_count - 1 - up),
                            value);
        }
    text_append(&figure->data, "EOD\n");
}

/* Widest tic under the map, in points. */
static double widest_tic(const struct map *map) {
    double widest = 0;
    char text[96];
    for (int64_t i = 0; i < map->across_count; i++)
        widest =
            fmax(widest,
                 quote_width(cells_tic_text(map->cells, map->across_values[i], map->across, text, sizeof text), 7.5));
    return widest;
}

static void draw(const struct map *map, struct figure *figure) {
    struct text *body = &figure->body;
    figure->left = figures_tic_width(map->cells, map->up) + (map->up == AXIS_STRATEGY ? 0 : 12);
    figure->panel_count = 1;
    figure->text_rows = 2 * (int32_t)map->up_count;
    figure->panel_heights[0] = fmin(18 * (double)map->up_count, 320);
    double cell_width = (figure_width() - figure->left - 9) / (double)map->across_count;
    bool turned = widest_tic(map) + 4 > cell_width;
    if (turned) figure->tics_below = fmin(widest_tic(map), 80) - 6;
    snprintf(figure->title, sizeof figure->title, "Utilization (%%)");
    char common[160];
    cells_common(map->cells, common, sizeof common);
    if (common[0]) figure_add_note(figure, "%s", common);
    figures_note_unfinished(map->cells, figure);
    figure_begin_panel(figure, 0);
    text_append(body, "set xrange [-0.5:%.1f]; set yrange [-0.5:%.1f]\n", (double)map->across_count - 0.5,
                (double)map->up_count - 0.5);
    write_tics(map, "x", map->across, map->across_values, map->across_count,
               turned && !figure_is_text(figure) ? "rotate by 90 right" : "", figure);
    write_tics(map, "y", map->up, map->up_values, map->up_count, "", figure);
    text_append(body, "set xlabel ");
    quote_append(body, cells_axis_name(map->cells, map->across));
    text_append(body, " offset 0, lift\nset ylabel ");
    quote_append(body, map->up == AXIS_STRATEGY ? "" : cells_axis_name(map->cells, map->up));
    text_append(body, "\nunset grid\nunset colorbox\nset cbrange [0:100]\n"
                      "set palette defined (0 '#F7FBFF', 25 '#C6DBEF', 50 '#6BAED6', 75 '#2171B5', 100 '#08306B')\n");
    write_values(map, figure);
    const char *number = cell_width > 24 ? "%.1f" : "%.0f";
    if (figure_is_text(figure)) {
        text_append(body, "plot $map using 1:2:(sprintf('%s', $3)) with labels notitle\n", number);
        return;
    }
    text_append(body, "plot $map using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror fs solid border lc "
                      "rgb 'white' fc palette notitle");
    if (cell_width > 12)
        text_append(body,
                    ", \\\n  $map using 1:2:(sprintf('%s', $3)):($3 > 55 ? 0xFFFFFF : 0x000000) with labels font small "
                    "tc rgb variable notitle",
                    number);
    text_append(body, "\n");
}

enum status figure_heatmap(const struct database *database, const char *scenario, struct figure *figure,
                           struct error *error) {
    struct cells cells;
    TRY(cells_read(database, scenario, false, &cells, error));
    int64_t *memory = alloc_zero((size_t)cells.count, 2 * sizeof *memory, "axis values", error);
    struct map map = {.cells = &cells, .across_values = memory, .up_values = memory ? memory + cells.count : NULL};
    if (memory) {
        choose_axes(&map, figure);
        draw(&map, figure);
    }
    alloc_free(memory);
    cells_clear(&cells);
    return memory ? STATUS_OK : STATUS_MEMORY;
}
