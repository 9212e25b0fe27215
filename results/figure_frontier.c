/* Utilization against held-out perplexity: a point per cell, its mean over seeds; the Pareto front; what to avoid is up
 * and left, what to look for down and right. */
#include "figures.h"

#include "quote.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A perplexity that many times the median is off the scale: it would press all others into one line. */
static const double off_scale = 50;
enum { MANY_POINTS = 28 };

struct point {
    int64_t cell;
    double x, y;   /* utilization in %, perplexity */
    double dx, dy; /* half widths of intervals; 0 where there are none */
    bool best;     /* on the Pareto front */
    struct style style;
    int64_t series; /* index of the first point drawn in the same style */
};

struct points {
    struct point *items; /* ascending x */
    int64_t count;
    struct axis_range x, y;
    enum axis shape_axis; /* shown by the points' shapes; AXES: the shapes are the strategies' */
    enum axis fill_axis;  /* of two values, the larger is shown by open shapes; AXES: none */
};

/* ---- which points ---- */

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_perplexity(const struct cells *cells, double *scratch) {
    int64_t count = 0;
    for (int64_t i = 0; i < cells->count; i++)
        if (cells->items[i].done > 0 && isfinite(cells->items[i].perplexity.mean))
            scratch[count++] = cells->items[i].perplexity.mean;
    qsort(scratch, (size_t)count, sizeof *scratch, compare_numbers);
    return count ? scratch[count / 2] : NAN;
}

static int compare_points(const void *a, const void *b) {
    const struct point *p = a, *q = b;
    if (p->x != q->x) return p->x > q->x ? 1 : -1;
    return (p->cell > q->cell) - (p->cell < q->cell);
}

static void collect(const struct cells *cells, double median, struct points *points, struct figure *figure) {
    char label[200];
    for (int64_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];
        double x = 100 * cell->utilization.mean, y = cell->perplexity.mean;
        if (cell->done == 0) continue; /* has its note */
        if (!isfinite(x) || !isfinite(y)) {
            figure_add_note(figure, "%s: no perplexity", cells_label(cells, i, label, sizeof label));
        } else if (y > off_scale * median) {
            figure_add_note(figure, "%s: perplexity %.3g, off the scale; utilization %.1f %%",
                            cells_label(cells, i, label, sizeof label), y, x);
        } else {
            double dx = 100 * cell->utilization.half_width, dy = cell->perplexity.half_width;
            points->items[points->count++] =
                (struct point){.cell = i, .x = x, .y = y, .dx = isfinite(dx) ? dx : 0, .dy = isfinite(dy) ? dy : 0};
        }
    }
    qsort(points->items, (size_t)points->count, sizeof *points->items, compare_points);
}

/* From right to left, a point is on the front if it is lower than all to its right. */
static void mark_front(struct points *points) {
    for (int64_t i = 0; i < points->count; i++) {
        struct point *point = &points->items[i];
        point->best = true;
        for (int64_t k = 0; k < points->count && point->best; k++) {
            const struct point *other = &points->items[k];
            bool no_worse = other->x >= point->x && other->y <= point->y;
            if (no_worse && (other->x > point->x || other->y < point->y)) point->best = false;
        }
    }
}

static void choose_axes(const struct cells *cells, struct points *points) {
    double low = INFINITY, high = -INFINITY, left = INFINITY, right = -INFINITY;
    for (int64_t i = 0; i < points->count; i++) {
        low = fmin(low, points->items[i].y), high = fmax(high, points->items[i].y);
        left = fmin(left, points->items[i].x), right = fmax(right, points->items[i].x);
    }
    if (points->count == 0) low = 1, high = 10, left = 0, right = 100;
    /* Intervals of two seeds are wide: they may leave the frame rather than flatten the points. */
    double reach = 0.5 * fmax(high - low, 0.04 * high), bottom = low, top = high;
    for (int64_t i = 0; i < points->count; i++) {
        bottom = fmin(bottom, fmax(points->items[i].y - points->items[i].dy, low - reach));
        top = fmax(top, fmin(points->items[i].y + points->items[i].dy, high + reach));
    }
    double floor = figures_floor_in_reach(cells, low, high);
    points->y = axis_make(isnan(floor) ? bottom : fmin(bottom, floor), top, true, 0, INFINITY);
    if (right - left < 4) left -= 2, right += 2;
    points->x = axis_make(left, right, false, -1.5, 101.5);
}

/* ---- series: points of one style ---- */

/* The first axis beside the strategy, if it has few values: shapes then tell these apart, colours the strategies. */
static void choose_shape_axes(const struct cells *cells, struct points *points, int64_t *values) {
    points->shape_axis = AXES;
    for (int axis = AXIS_STRATEGY + 1; axis < AXES && points->shape_axis == AXES; axis++)
        if (cells->varies[axis] && cells_axis_values(cells, (enum axis)axis, values) <= FIGURE_SHAPES)
            points->shape_axis = (enum axis)axis;
    points->fill_axis = AXES;
    for (int axis = (int)points->shape_axis + 1; axis < AXES && points->fill_axis == AXES; axis++)
        if (cells->varies[axis] && cells_axis_values(cells, (enum axis)axis, values) == 2)
            points->fill_axis = (enum axis)axis;
}

/* gnuplot's open shapes come just before the filled ones. */
static int fill_step(const struct cells *cells, const struct points *points, int64_t cell) {
    return points->fill_axis < AXES ? cells->items[cell].rank[points->fill_axis] : 0;
}

static struct style style_of(const struct cells *cells, const struct points *points, int64_t cell) {
    struct style style = figures_cell_style(cells, cell);
    if (points->shape_axis < AXES)
        style.point = figures_value_shape(cells, points->shape_axis, cell) - fill_step(cells, points, cell);
    return style;
}

static bool same_style(const struct style *a, const struct style *b) {
    return strcmp(a->color, b->color) == 0 && a->point == b->point;
}

static void find_series(const struct cells *cells, struct points *points) {
    for (int64_t i = 0; i < points->count; i++) {
        struct point *point = &points->items[i];
        point->style = style_of(cells, points, point->cell);
        point->series = 0;
        while (point->series < i && !same_style(&points->items[point->series].style, &point->style)) point->series++;
    }
}

static void write_series(const struct points *points, int64_t first, struct figure *figure) {
    text_append(&figure->data, "# utilization (%%), perplexity, half widths of both\n$series%lld << EOD\n",
                (long long)first);
    for (int64_t i = first; i < points->count; i++) {
        const struct point *point = &points->items[i];
        if (point->series != first) continue;
        text_append(&figure->data, "%.10g %.10g %.10g %.10g\n", point->x, point->y, point->dx, point->dy);
    }
    text_append(&figure->data, "EOD\n");
}

static void plot_series(struct text *body, int64_t first, struct style style, bool intervals) {
    if (intervals)
        text_append(body, ", \\\n  $series%lld using 1:2:3:4 with xyerrorbars pt 0 lw 0.8 lc rgb '%s' notitle",
                    (long long)first, style.color);
    text_append(body, ", \\\n  $series%lld using 1:2 with points pt %d ps 1.2*mark lc rgb '%s' notitle",
                (long long)first, style.point, style.color);
}

static void write_front(const struct points *points, struct figure *figure) {
    text_append(&figure->data, "$front << EOD\n");
    for (int64_t i = 0; i < points->count; i++)
        if (points->items[i].best) text_append(&figure->data, "%.10g %.10g\n", points->items[i].x, points->items[i].y);
    text_append(&figure->data, "EOD\n");
}

static bool any_interval(const struct points *points) {
    for (int64_t i = 0; i < points->count; i++)
        if (points->items[i].dx > 0 || points->items[i].dy > 0) return true;
    return false;
}

static int64_t front_size(const struct points *points) {
    int64_t size = 0;
    for (int64_t i = 0; i < points->count; i++) size += points->items[i].best;
    return size;
}

static void note_intervals(const struct cells *cells, const struct points *points, struct figure *figure) {
    int32_t least = INT32_MAX, most = 0;
    for (int64_t i = 0; i < points->count; i++) {
        int32_t seeds = cells->items[points->items[i].cell].perplexity.count;
        if (seeds < least) least = seeds;
        if (seeds > most) most = seeds;
    }
    if (most < 2) return;
    if (least == most)
        figure_add_note(figure, "means of %d seeds; bars are 95 %% confidence intervals", most);
    else
        figure_add_note(figure, "means of %d to %d seeds; bars are 95 %% confidence intervals", least, most);
}

/* ---- annotations: what distinguishes points of one strategy ---- */

struct box {
    double left, right, bottom, top;
};

static double overlap(const struct box *a, const struct box *b) {
    double x = fmin(a->right, b->right) - fmax(a->left, b->left), y = fmin(a->top, b->top) - fmax(a->bottom, b->bottom);
    return x > 0 && y > 0 ? x * y : 0;
}

/* Sides on which a text may stand beside its point, the preferred first. */
static const struct {
    double x, y; /* of the text's centre, in half widths and heights beyond the mark */
} sides[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
enum { SIDES = sizeof sides / sizeof sides[0] };

static struct box box_at(double x, double y, double text_width, int side) {
    const double mark = 5, height = 7.5;
    double cx = x + sides[side].x * (mark + text_width / 2), cy = y + sides[side].y * (mark + height / 2 - 1);
    return (struct box){cx - text_width / 2, cx + text_width / 2, cy - height / 2, cy + height / 2};
}

/* How bad a place is: covered text or marks, and leaving the frame. */
static double cost_of(const struct box *box, const struct box *frame, const struct box *taken, int64_t count) {
    double inside = overlap(box, frame), area = (box->right - box->left) * (box->top - box->bottom);
    double cost = 10 * (area - inside);
    for (int64_t i = 0; i < count; i++) cost += overlap(box, &taken[i]);
    return cost;
}

static void write_annotation(const struct panel *panel, const struct box *box, const char *text, const char *color,
                             struct figure *figure) {
    text_append(&figure->body, "set label ");
    quote_append(&figure->body, text);
    text_append(&figure->body, " at graph %.4f, %.4f left font small tc rgb '%s' front\n",
                (box->left - panel->left) / (panel->right - panel->left),
                ((box->bottom + box->top) / 2 - panel->bottom) / (panel->top - panel->bottom), color);
}

/* taken: room for two boxes per point: marks, then texts placed so far. */
static void annotate(const struct cells *cells, const struct points *points, struct box *taken, struct figure *figure) {
    bool skip[AXES] = {[AXIS_STRATEGY] = true};
    if (points->shape_axis < AXES) skip[points->shape_axis] = true;
    if (points->fill_axis < AXES) skip[points->fill_axis] = true;
    struct panel panel = figure_panel(figure, 0);
    struct box frame = {panel.left, panel.right, panel.bottom, panel.top};
    int64_t count = points->count;
    for (int64_t i = 0; i < points->count; i++) {
        double x = panel.left + axis_position(&points->x, points->items[i].x) * (panel.right - panel.left);
        double y = panel.bottom + axis_position(&points->y, points->items[i].y) * (panel.top - panel.bottom);
        taken[i] = (struct box){x - 3, x + 3, y - 3, y + 3};
    }
    for (int64_t i = 0; i < points->count; i++) {
        char text[160];
        cells_label_without(cells, points->items[i].cell, skip, text, sizeof text);
        if (!text[0]) continue;
        double x = (taken[i].left + taken[i].right) / 2, y = (taken[i].bottom + taken[i].top) / 2, least = INFINITY;
        struct box best = {0};
        for (int side = 0; side < SIDES; side++) {
            struct box box = box_at(x, y, quote_width(text, 6.5), side);
            double cost = cost_of(&box, &frame, taken, count);
            if (cost < least) least = cost, best = box;
        }
        if (least > 12) continue; /* square points covered: no place for it */
        taken[count++] = best;
        write_annotation(&panel, &best, text, points->items[i].style.color, figure);
    }
}

/* ---- the figure ---- */

/* Strategies and shapes in the order of the scenario. */
static void add_key(const struct cells *cells, const struct points *points, int64_t *values, struct figure *figure) {
    for (int64_t cell = 0; cell < cells->count; cell++) {
        bool shown = false, repeated = false;
        for (int64_t i = 0; i < points->count; i++) {
            bool same = strcmp(cells->items[points->items[i].cell].strategy, cells->items[cell].strategy) == 0;
            shown |= points->items[i].cell == cell;
            repeated |= same && points->items[i].cell < cell;
        }
        struct style style = figures_cell_style(cells, cell);
        if (points->shape_axis < AXES) style.point = 7;
        if (shown && !repeated) figure_add_key(figure, cells->items[cell].strategy, KEY_POINT, style);
    }
    int64_t count = points->shape_axis < AXES ? cells_axis_values(cells, points->shape_axis, values) : 0;
    char text[96];
    for (int64_t i = 0; i < count; i++)
        figure_add_key(figure, cells_axis_text(cells, values[i], points->shape_axis, text, sizeof text), KEY_POINT,
                       (struct style){"#777777", figures_value_shape(cells, points->shape_axis, values[i]), 1});
    count = points->fill_axis < AXES ? cells_axis_values(cells, points->fill_axis, values) : 0;
    for (int64_t i = 0; i < count; i++)
        figure_add_key(figure, cells_axis_text(cells, values[i], points->fill_axis, text, sizeof text), KEY_POINT,
                       (struct style){"#777777", 7 - fill_step(cells, points, values[i]), 1});
    if (front_size(points) > 1) figure_add_key(figure, "Pareto front", KEY_LINE, (struct style){"#BBBBBB", 0, 1});
}

static void draw_picture(const struct points *points, struct figure *figure) {
    struct text *body = &figure->body;
    bool intervals = any_interval(points);
    write_front(points, figure);
    text_append(body, "set errorbars small\nplot ");
    text_append(body, "$front using 1:2 with lines lw 2.5 lc rgb '#CCCCCC' notitle");
    for (int64_t i = 0; i < points->count; i++) {
        if (points->items[i].series != i) continue;
        write_series(points, i, figure);
        plot_series(body, i, points->items[i].style, intervals);
    }
    text_append(body, ", \\\n  (exists('floor') ? floor : NaN) with lines dt 2 lw 1.4 lc rgb '#555555' notitle\n");
}

static void draw_text(const struct cells *cells, const struct points *points, struct figure *figure) {
    char label[200];
    text_append(&figure->table, "     utilization  perplexity\n");
    text_append(&figure->body, "plot (exists('floor') ? floor : NaN) with lines dt 2 notitle");
    for (int64_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];
        char letter =
            figure_add_key(figure, cells_label(cells, point->cell, label, sizeof label), KEY_POINT, (struct style){0});
        text_append(&figure->data, "$point%lld << EOD\n%.10g %.10g\nEOD\n", (long long)i, point->x, point->y);
        text_append(&figure->body, ", \\\n  $point%lld using 1:2:('%c') with labels notitle", (long long)i, letter);
        text_append(&figure->table, "  %c  %9.2f %%  %10.4g", letter, point->x, point->y);
        if (point->dy > 0) text_append(&figure->table, " +- %-8.2g", point->dy);
        text_append(&figure->table, "  %s%s\n", label, point->best ? "  (Pareto front)" : "");
    }
    text_append(&figure->body, "\n");
}

static void draw(const struct cells *cells, struct points *points, struct box *taken, int64_t *values,
                 struct figure *figure) {
    figure->left = 38;
    figure->panel_count = 1;
    figure->panel_heights[0] = 150;
    cells_common(cells, figure->title, sizeof figure->title);
    mark_front(points);
    choose_axes(cells, points);
    choose_shape_axes(cells, points, values);
    find_series(cells, points);
    if (!figure_is_text(figure)) add_key(cells, points, values, figure);
    figures_add_floor(cells, &points->y, figure);
    note_intervals(cells, points, figure);
    figure_begin_panel(figure, 0);
    figure_set_axis(figure, "x", "utilization (%)", &points->x);
    figure_set_axis(figure, "y", "held-out perplexity", &points->y);
    if (figure_is_text(figure)) {
        draw_text(cells, points, figure);
        return;
    }
    if (points->count <= MANY_POINTS) annotate(cells, points, taken, figure);
    if (points->count == 0) text_append(&figure->body, "set label 'no run is done' at graph 0.5, 0.5 center front\n");
    draw_picture(points, figure);
}

static enum status draw_cells(const struct cells *cells, struct figure *figure, struct error *error) {
    struct points points = {.items = alloc_zero((size_t)cells->count, sizeof *points.items, "points", error)};
    struct box *taken = alloc_zero((size_t)cells->count, 2 * sizeof *taken, "places of labels", error);
    double *scratch = alloc_zero((size_t)cells->count, sizeof *scratch, "perplexities", error);
    int64_t *values = alloc_zero((size_t)cells->count, sizeof *values, "values of axes", error);
    bool complete = points.items && taken && scratch && values;
    if (complete) {
        figures_note_unfinished(cells, figure);
        collect(cells, median_perplexity(cells, scratch), &points, figure);
        draw(cells, &points, taken, values, figure);
    }
    alloc_free(points.items);
    alloc_free(taken);
    alloc_free(scratch);
    alloc_free(values);
    return complete ? STATUS_OK : STATUS_MEMORY;
}

enum status figure_frontier(const struct database *database, const char *scenario, struct figure *figure,
                            struct error *error) {
    struct cells cells;
    struct error untrained = {0};
    enum status status = cells_read(database, scenario, true, &cells, &untrained);
    if (status == STATUS_INPUT) return figure_utilization(database, scenario, figure, error);
    if (status != STATUS_OK) {
        if (error) *error = untrained;
        return status;
    }
    status = draw_cells(&cells, figure, error);
    cells_clear(&cells);
    return status;
}
