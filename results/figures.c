/* What several kinds of figure share. */
#include "figures.h"

#include "quote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct figures_unit figures_time_unit(double seconds) {
    static const struct figures_unit units[] = {
        {86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}, {1e-3, "ms"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof units[0] && seconds < 3 * units[i].per_unit) i++;
    return units[i];
}

struct style figures_cell_style(const struct cells *cells, int64_t cell) {
    const char *strategy = cells->items[cell].strategy;
    int64_t unknown = 0;
    for (int64_t i = 0; i < cell && strcmp(cells->items[i].strategy, strategy) != 0; i++)
        unknown += cells->items[i].first && !figure_strategy_is_known(cells->items[i].strategy);
    return figure_strategy_style(strategy, unknown);
}

int figures_value_shape(const struct cells *cells, enum axis axis, int64_t cell) {
    /* Filled: circle, square, triangles, diamond, pentagon. */
    static const int shapes[FIGURE_SHAPES] = {7, 5, 9, 13, 11, 15};
    return shapes[cells->items[cell].rank[axis] % FIGURE_SHAPES];
}

static const double widest_tic = 130;

double figures_tic_width(const struct cells *cells, enum axis axis) {
    double widest = 0;
    char text[96];
    for (int64_t i = 0; i < cells->count; i++)
        widest = fmax(widest, quote_width(cells_tic_text(cells, i, axis, text, sizeof text), 7.5));
    return fmin(fmax(widest, 32), widest_tic) + 8;
}

void figures_append_tic(struct text *script, const char *text) {
    char shortened[160];
    quote_append_tic(script, quote_shorten(shortened, sizeof shortened, text, 7.5, widest_tic));
}

void figures_note_unfinished(const struct cells *cells, struct figure *figure) {
    char label[200];
    for (int64_t i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->items[i];
        const struct cell_run *bad = NULL;
        int64_t same = 0;
        for (int64_t k = cell->first_run; k < cell->first_run + cell->run_count; k++) {
            if (cells->runs[k].done) continue;
            if (!bad) bad = &cells->runs[k];
            same += strcmp(cells->runs[k].status, bad->status) == 0;
        }
        if (!bad) continue;
        cells_label(cells, i, label, sizeof label);
        if (cell->run_count > 1)
            figure_add_note(figure, "%s: %lld of %lld seeds %s%s%s", label, (long long)same, (long long)cell->run_count,
                            bad->status, bad->reason[0] ? "; " : "", bad->reason);
        else
            figure_add_note(figure, "%s: %s%s%s", label, bad->status, bad->reason[0] ? "; " : "", bad->reason);
    }
}

/* The floors' common value; NAN when unknown or not the same for all cells that know one. */
static double common_floor(const struct cells *cells) {
    double floor = NAN;
    for (int64_t i = 0; i < cells->count; i++) {
        double value = cells->items[i].perplexity_floor;
        if (!isfinite(value) || value <= 0) continue;
        if (!isnan(floor) && fabs(value - floor) > 1e-3 * floor) return NAN;
        floor = value;
    }
    return floor;
}

double figures_floor_in_reach(const struct cells *cells, double low, double high) {
    double floor = common_floor(cells);
    return floor <= high && low - floor <= 1.5 * fmax(high - low, 0.1 * low) ? floor : NAN;
}

void figures_add_floor(const struct cells *cells, const struct axis_range *range, struct figure *figure) {
    double floor = common_floor(cells);
    char text[64];
    if (isnan(floor)) return;
    if (floor < range->low || floor > range->high) {
        figure_add_note(figure, "entropy floor of the text: perplexity %.4g, outside the axis", floor);
        return;
    }
    struct style style = {.color = "#555555", .point = 0, .dash = 2};
    snprintf(text, sizeof text, "entropy floor %.4g", floor);
    if (figure_is_text(figure))
        figure_add_note(figure, "%s: the line across", text);
    else
        figure_add_key(figure, text, KEY_LINE, style);
    text_append(&figure->data, "floor = %.10g\n", floor);
}
