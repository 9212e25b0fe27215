/* Figures of curves over the rounds: a line per cell, the mean over its seeds. */
#include "figures.h"

#include "base/alloc.h"
#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum quantity {
    QUANTITY_ROUND,
    QUANTITY_SECONDS,
    QUANTITY_BYTES, /* sent since the start */
    QUANTITY_PERPLEXITY,
    QUANTITY_LOSS,
    QUANTITY_JS,
    QUANTITY_L2,
    QUANTITIES_OF_A_ROUND
};

static const char select_curve[] =
    "SELECT round, avg(virtual_end_s), avg(total_bytes), avg(perplexity), avg(loss), avg(js_distance), "
    "avg(l2_consensus) FROM (SELECT *, sum(bytes_sent) OVER (PARTITION BY run_id ORDER BY round) AS total_bytes "
    "FROM v_round WHERE run_id IN (SELECT value FROM json_each(?1))) GROUP BY round ORDER BY round";

struct sample {
    double values[QUANTITIES_OF_A_ROUND];
};

struct curve {
    struct sample *samples;
    int64_t count;
};

struct curves {
    struct cells cells;
    struct curve *items; /* [cells.count] */
};

enum { POINTS_PER_CURVE = 400, MANY_CURVES = 16, DASHES = 5 };

/* Perplexities up to this many times the best final one are shown: early rounds and runs that diverge would press what
 * is of interest into one line. */
static const double shown_ratio = 6;

/* ---- reading ---- */

static enum status read_samples(const struct database *database, sqlite3_stmt *statement, struct curve *curve,
                                struct error *error) {
    ARRAY(struct sample) samples = {0};
    bool more = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        status = database_step(database, statement, &more, error);
        if (status != STATUS_OK || !more) break;
        status = array_reserve(&samples, samples.count + 1, error);
        if (status != STATUS_OK) break;
        struct sample *sample = &samples.items[samples.count++];
        for (int q = 0; q < QUANTITIES_OF_A_ROUND; q++) sample->values[q] = database_real(statement, q);
    }
    curve->samples = samples.items; /* freed with the curves, whatever happened */
    curve->count = samples.count;
    return status;
}

static enum status read_curve(const struct database *database, sqlite3_stmt *statement, const struct cells *cells,
                              int64_t cell, struct curve *curve, struct error *error) {
    struct text list = {0};
    cells_run_list(cells, cell, &list);
    enum status status = list.failed ? error_set(error, STATUS_MEMORY, "no memory for the list of runs") : STATUS_OK;
    if (status == STATUS_OK) {
        sqlite3_bind_text(statement, 1, text_get(&list), -1, SQLITE_TRANSIENT);
        status = read_samples(database, statement, curve, error);
        sqlite3_reset(statement);
    }
    text_clear(&list);
    return status;
}

static void curves_clear(struct curves *curves) {
    for (int64_t i = 0; curves->items && i < curves->cells.count; i++) alloc_free(curves->items[i].samples);
    alloc_free(curves->items);
    cells_clear(&curves->cells);
}

static enum status read_all(const struct database *database, struct curves *curves, struct error *error) {
    sqlite3_stmt *statement;
    curves->items = alloc_zero((size_t)curves->cells.count, sizeof *curves->items, "curves", error);
    if (!curves->items) return STATUS_MEMORY;
    TRY(database_prepare(database, select_curve, &statement, error));
    enum status status = STATUS_OK;
    for (int64_t i = 0; i < curves->cells.count && status == STATUS_OK; i++)
        status = read_curve(database, statement, &curves->cells, i, &curves->items[i], error);
    sqlite3_finalize(statement);
    return status;
}

static enum status curves_read(const struct database *database, const char *scenario, struct curves *curves,
                               struct error *error) {
    *curves = (struct curves){0};
    TRY(cells_read(database, scenario, true, &curves->cells, error));
    enum status status = read_all(database, curves, error);
    if (status != STATUS_OK) curves_clear(curves);
    return status;
}

/* ---- ranges ---- */

struct extent {
    double low, high, smallest_end, largest_end; /* of finite values; ends: last value of each curve */
    double positive;                             /* the smallest one above 0 */
    int64_t count;
};

/* Of quantity `which` in the rounds where x and y have values, those of y above `limit` left out. */
static struct extent extent_of(const struct curves *curves, enum quantity x, enum quantity y, enum quantity which,
                               double limit) {
    struct extent extent = {INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, 0};
    for (int64_t i = 0; i < curves->cells.count; i++) {
        double end = NAN;
        for (int64_t k = 0; k < curves->items[i].count; k++) {
            const double *values = curves->items[i].samples[k].values;
            if (!isfinite(values[x]) || !isfinite(values[y]) || values[y] > limit) continue;
            end = values[which];
            extent.low = fmin(extent.low, end), extent.high = fmax(extent.high, end);
            if (end > 0) extent.positive = fmin(extent.positive, end);
            extent.count++;
        }
        if (isnan(end)) continue;
        extent.smallest_end = fmin(extent.smallest_end, end), extent.largest_end = fmax(extent.largest_end, end);
    }
    return extent;
}

/* ---- drawing ---- */

/* With many curves a key row for each would be longer than the figure: strategies then have the colours, and the values
 * of the first other axis that varies the dashes. */
static bool is_many(const struct cells *cells) {
    return cells->count > MANY_CURVES;
}

static enum axis dash_axis(const struct cells *cells) {
    for (int axis = AXIS_STRATEGY + 1; axis < AXES; axis++)
        if (cells->varies[axis]) return (enum axis)axis;
    return AXES;
}

/* Cells of one strategy differ by their dashes. */
static struct style curve_style(const struct cells *cells, int64_t cell) {
    struct style style = figures_cell_style(cells, cell);
    int rank = 0;
    if (is_many(cells) && dash_axis(cells) < AXES)
        rank = cells->items[cell].rank[dash_axis(cells)];
    else
        for (int64_t i = 0; i < cell; i++) rank += strcmp(cells->items[i].strategy, cells->items[cell].strategy) == 0;
    style.dash = 1 + rank % DASHES;
    return style;
}

struct panel_def {
    enum quantity x, y;
    const char *x_label, *y_label; /* x_label = NULL: no numbers either */
    double x_scale;                /* the drawn x is value * x_scale */
    struct axis_range x_range, y_range;
};

static bool drawable(const struct panel_def *panel, const struct sample *sample) {
    double x = sample->values[panel->x], y = sample->values[panel->y];
    return isfinite(x) && isfinite(y) && !(panel->x_range.log && x <= 0) && !(panel->y_range.log && y <= 0);
}

/* The samples to draw, thinned evenly to at most `most`, the last one kept. Returns how many were written. */
static int64_t write_samples(const struct panel_def *panel, const struct curve *curve, int64_t most,
                             struct text *data) {
    int64_t usable = 0, written = 0, seen = 0;
    for (int64_t k = 0; k < curve->count; k++) usable += drawable(panel, &curve->samples[k]);
    int64_t stride = (usable + most - 1) / most;
    for (int64_t k = 0; k < curve->count; k++) {
        const struct sample *sample = &curve->samples[k];
        if (!drawable(panel, sample)) continue;
        bool last = ++seen == usable;
        if (!last && (usable - seen) % stride != 0) continue;
        text_append(data, "%.10g %.10g\n", sample->values[panel->x] * panel->x_scale, sample->values[panel->y]);
        written++;
    }
    return written;
}

static void write_curve(const struct curves *curves, const struct panel_def *panel, int32_t index, int64_t cell,
                        struct figure *figure) {
    struct style style = curve_style(&curves->cells, cell);
    long long number = (long long)cell;
    int64_t most = figure_is_text(figure) ? 12 : POINTS_PER_CURVE;
    text_append(&figure->data, "$curve%d_%lld << EOD\n", index, number);
    int64_t count = write_samples(panel, &curves->items[cell], most, &figure->data);
    text_append(&figure->data, "EOD\n");
    if (count == 0) return;
    if (figure_is_text(figure)) {
        char letter = cell < figure->key_count ? figure->key[cell].letter : '*';
        text_append(&figure->body, ", \\\n  $curve%d_%lld using 1:2:('%c') with labels notitle", index, number, letter);
        return;
    }
    text_append(&figure->body, ", \\\n  $curve%d_%lld using 1:2 with lines lw 1.3 dt %d lc rgb '%s' notitle", index,
                number, style.dash, style.color);
    text_append(&figure->body,
                ", \\\n  '' using 1:2 every ::%lld::%lld with points pt %d ps 0.9*mark lc rgb '%s' notitle",
                (long long)count - 1, (long long)count - 1, style.point, style.color);
}

static void draw_panel(const struct curves *curves, const struct panel_def *panel, int32_t index,
                       struct figure *figure) {
    figure_begin_panel(figure, index);
    figure_set_axis(figure, "x", panel->x_label, &panel->x_range);
    figure_set_axis(figure, "y", panel->y_label, &panel->y_range);
    text_append(&figure->body, "plot NaN notitle");
    for (int64_t i = 0; i < curves->cells.count; i++) write_curve(curves, panel, index, i, figure);
    text_append(&figure->body,
                ", \\\n  (exists('floor') ? floor : NaN) with lines dt 2 lw 1.4 lc rgb '#555555' notitle\n");
}

static void add_short_key(const struct cells *cells, struct figure *figure) {
    enum axis axis = dash_axis(cells);
    char text[96];
    for (int64_t i = 0; i < cells->count; i++) {
        struct style style = figures_cell_style(cells, i);
        if (cells->items[i].first) figure_add_key(figure, cells->items[i].strategy, KEY_LINE_POINT, style);
    }
    for (int64_t i = 0; i < cells->count && axis < AXES; i++) {
        bool first = true;
        for (int64_t k = 0; k < i && first; k++)
            first = strcmp(cells->items[k].text[axis], cells->items[i].text[axis]) != 0;
        if (first)
            figure_add_key(figure, cells_axis_text(cells, i, axis, text, sizeof text), KEY_LINE,
                           (struct style){"#777777", 0, 1 + cells->items[i].rank[axis] % DASHES});
    }
    for (int rest = (int)axis + 1; rest < AXES; rest++)
        if (cells->varies[rest])
            figure_add_note(figure, "curves also differ in: %s", cells_axis_name(cells, (enum axis)rest));
}

static void add_key(const struct curves *curves, struct figure *figure) {
    const struct cells *cells = &curves->cells;
    char label[200];
    if (is_many(cells) && !figure_is_text(figure)) {
        add_short_key(cells, figure);
        return;
    }
    for (int64_t i = 0; i < cells->count; i++)
        figure_add_key(figure, cells_label(cells, i, label, sizeof label), KEY_LINE_POINT, curve_style(cells, i));
}

static void start_figure(const struct curves *curves, struct figure *figure) {
    figure->left = 40;
    cells_common(&curves->cells, figure->title, sizeof figure->title);
    add_key(curves, figure);
    figures_note_unfinished(&curves->cells, figure);
    for (int64_t i = 0; i < curves->cells.count; i++)
        if (curves->cells.items[i].run_count > 1) {
            figure_add_note(figure, "curves are means over seeds");
            break;
        }
}

/* ---- perplexity over something that grows ---- */

static struct figures_unit byte_unit(double bytes) {
    static const struct figures_unit units[] = {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"},
                                                {1e6, "MB"},  {1e3, "kB"},  {1, "bytes"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof units[0] && bytes < 3 * units[i].per_unit) i++;
    return units[i];
}

/* The first rounds, many times above where the curves end, would leave little room for what is of interest. */
static struct axis_range perplexity_range(const struct curves *curves, const struct extent *y, bool loss,
                                          struct figure *figure) {
    double high = loss ? y->high : fmin(y->high, shown_ratio * y->smallest_end);
    if (high < y->high) figure_add_note(figure, "rounds with a perplexity above %.3g lie outside the frame", high);
    double floor = loss ? NAN : figures_floor_in_reach(&curves->cells, y->low, high);
    return axis_make(isnan(floor) ? y->low : fmin(floor, y->low), high, !loss, 0, high < y->high ? high : INFINITY);
}

/* Perplexity, or training loss where none was evaluated, over `x`. */
static enum status draw_progress(const struct curves *curves, enum quantity x, struct figures_unit (*unit_for)(double),
                                 const char *what, struct figure *figure, struct error *error) {
    bool loss = extent_of(curves, x, QUANTITY_PERPLEXITY, x, INFINITY).count == 0;
    struct panel_def panel = {.x = x,
                              .y = loss ? QUANTITY_LOSS : QUANTITY_PERPLEXITY,
                              .y_label = loss ? "training loss (nats per token)" : "held-out perplexity"};
    struct extent across = extent_of(curves, x, panel.y, x, INFINITY),
                  up = extent_of(curves, x, panel.y, panel.y, INFINITY);
    if (up.count == 0)
        return error_set(error, STATUS_INPUT, "no round of these runs has a perplexity or a loss to draw");
    struct figures_unit unit = unit_for(across.largest_end);
    char x_label[64];
    snprintf(x_label, sizeof x_label, "%s (%s)", what, unit.name);
    panel.x_label = x_label;
    panel.x_scale = 1 / unit.per_unit;
    /* Logarithmic when some curves end long before others, and would be a streak at the edge. */
    double first_end = across.smallest_end > 0 ? across.smallest_end : across.positive;
    bool log_x = across.largest_end > 8 * first_end;
    panel.x_range = axis_make((log_x ? across.positive : across.low) * panel.x_scale, across.high * panel.x_scale,
                              log_x, 0, INFINITY);
    figure->panel_count = 1;
    figure->panel_heights[0] = 150;
    start_figure(curves, figure);
    panel.y_range = perplexity_range(curves, &up, loss, figure);
    if (!loss) figures_add_floor(&curves->cells, &panel.y_range, figure);
    for (int64_t i = 0; i < curves->cells.count && x == QUANTITY_BYTES; i++) {
        const struct curve *curve = &curves->items[i];
        char label[200];
        if (curve->count > 0 && curve->samples[curve->count - 1].values[x] == 0)
            figure_add_note(figure, "%s: sends nothing; perplexity %.4g",
                            cells_label(&curves->cells, i, label, sizeof label),
                            curve->samples[curve->count - 1].values[QUANTITY_PERPLEXITY]);
    }
    draw_panel(curves, &panel, 0, figure);
    return STATUS_OK;
}

enum status figure_loss(const struct database *database, const char *scenario, struct figure *figure,
                        struct error *error) {
    struct curves curves;
    TRY(curves_read(database, scenario, &curves, error));
    enum status status = draw_progress(&curves, QUANTITY_SECONDS, figures_time_unit, "virtual time", figure, error);
    curves_clear(&curves);
    return status;
}

enum status figure_bytes(const struct database *database, const char *scenario, struct figure *figure,
                         struct error *error) {
    struct curves curves;
    TRY(curves_read(database, scenario, &curves, error));
    enum status status = draw_progress(&curves, QUANTITY_BYTES, byte_unit, "sent by all workers", figure, error);
    curves_clear(&curves);
    return status;
}

/* ---- consensus ---- */

static void note_zeros(const struct curves *curves, struct figure *figure) {
    char zeros[256] = "", label[200];
    for (int64_t i = 0; i < curves->cells.count; i++) {
        double largest = -1;
        for (int64_t k = 0; k < curves->items[i].count; k++)
            largest = fmax(largest, curves->items[i].samples[k].values[QUANTITY_L2]);
        if (largest != 0) continue;
        size_t used = strlen(zeros);
        snprintf(zeros + used, sizeof zeros - used, "%s%s", used ? ", " : "",
                 cells_label(&curves->cells, i, label, sizeof label));
    }
    if (zeros[0]) figure_add_note(figure, "L2 is 0 after every round: %s", zeros);
}

static enum status draw_consensus(const struct curves *curves, struct figure *figure, struct error *error) {
    struct panel_def panels[2];
    int32_t count = 0;
    const enum quantity quantities[2] = {QUANTITY_JS, QUANTITY_L2};
    const char *const labels[2] = {"JS distance", "L2 consensus"};
    for (int i = 0; i < 2; i++) {
        struct extent up = extent_of(curves, QUANTITY_ROUND, quantities[i], quantities[i], INFINITY);
        struct extent across = extent_of(curves, QUANTITY_ROUND, quantities[i], QUANTITY_ROUND, INFINITY);
        if (up.count == 0) continue;
        bool log = quantities[i] == QUANTITY_L2 && up.high > 20 * up.positive;
        panels[count++] =
            (struct panel_def){.x = QUANTITY_ROUND,
                               .y = quantities[i],
                               .y_label = labels[i],
                               .x_scale = 1,
                               .x_range = axis_make(across.low, across.high, false, -INFINITY, INFINITY),
                               .y_range = axis_make(log ? up.positive : up.low, up.high, log, 0, INFINITY)};
    }
    if (count == 0)
        return error_set(error, STATUS_INPUT, "no round of these runs has a JS distance or L2 consensus to draw");
    panels[count - 1].x_label = "round";
    figure->panel_count = count;
    figure->panel_heights[0] = figure->panel_heights[1] = 105;
    figure->shared_axis = true;
    start_figure(curves, figure);
    if (count == 2 && panels[1].y_range.log) note_zeros(curves, figure);
    figure_add_note(figure, "after each round: root of the Jensen-Shannon divergence (nats) to the averaged model's "
                            "predictions; root mean square distance to the mean of the parameters");
    for (int32_t i = 0; i < count; i++) draw_panel(curves, &panels[i], i, figure);
    return STATUS_OK;
}

enum status figure_consensus(const struct database *database, const char *scenario, struct figure *figure,
                             struct error *error) {
    struct curves curves;
    TRY(curves_read(database, scenario, &curves, error));
    enum status status = draw_consensus(&curves, figure, error);
    curves_clear(&curves);
    return status;
}
