/* Where the workers' time goes in the first rounds: a row per worker, boxes for computing and for each kind of waiting.
 *
 * The records say how long each took in a round, not in which order: within a round, boxes stand in the order of the
 * legend, which is that of most programs. */
#include "figures.h"

#include "base/alloc.h"
#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *column, *text, *color;
    char letter;
} parts[] = {
    {"compute_s", "computing", "#009E73", 'C'},          {"wait_mix1_s", "waiting for mix1", "#56B4E9", '1'},
    {"wait_mix2_s", "waiting for mix2", "#D55E00", '2'}, {"wait_other_s", "waiting for other mixes", "#CC79A7", 'w'},
    {"wasted_s", "lost to failures", "#000000", 'x'},    {"down_s", "down", "#BBBBBB", '.'}};
enum { PARTS = sizeof parts / sizeof parts[0], ROWS_SHOWN = 16, GROUPS_SHOWN = 8, ROUNDS_SHOWN = 3 };

static const char select_rounds[] =
    "SELECT worker, virtual_start_s, compute_s, wait_mix1_s, wait_mix2_s, wait_other_s, wasted_s, down_s "
    "FROM v_worker_round WHERE run_id = ?1 AND worker < ?2 AND virtual_start_s < ?3 ORDER BY worker, round";

struct bar {
    int32_t row, part;
    double start_s, end_s;
};

struct timeline {
    struct cells cells;
    int64_t shown[GROUPS_SHOWN]; /* cells */
    int32_t group_count, rows_each;
    double end_s; /* of the drawn time */
    double gap;   /* between groups, in rows */
    ARRAY(struct bar) bars;
};

static int32_t row_count(const struct timeline *timeline) {
    return timeline->group_count * timeline->rows_each;
}

/* ---- which runs, which time ---- */

/* Says which cells are shown where a strategy has several. */
static void note_which(const struct timeline *timeline, struct figure *figure) {
    static const bool skip[AXES] = {[AXIS_STRATEGY] = true};
    char label[200];
    cells_label_without(&timeline->cells, timeline->shown[0], skip, label, sizeof label);
    if (label[0] && timeline->cells.count > timeline->group_count)
        figure_add_note(figure, "the first cells: %s", label);
}

/* The first cell of each strategy. */
static void choose_cells(struct timeline *timeline, struct figure *figure) {
    int64_t left_out = 0;
    for (int64_t i = 0; i < timeline->cells.count; i++) {
        if (!timeline->cells.items[i].first) continue;
        if (timeline->group_count < GROUPS_SHOWN)
            timeline->shown[timeline->group_count++] = i;
        else
            left_out++;
    }
    note_which(timeline, figure);
    if (left_out > 0) figure_add_note(figure, "strategies that are not shown: %lld more", (long long)left_out);
    timeline->rows_each = timeline->group_count == 1  ? ROWS_SHOWN
                          : timeline->group_count < 4 ? 4
                          : figure_is_text(figure)    ? 1
                                                      : 2;
    double workers = 0;
    for (int32_t i = 0; i < timeline->group_count; i++)
        workers = fmax(workers, timeline->cells.items[timeline->shown[i]].number[AXIS_WORKERS]);
    if (workers > timeline->rows_each && timeline->rows_each == 1)
        figure_add_note(figure, "the first of %.0f workers", workers);
    else if (workers > timeline->rows_each)
        figure_add_note(figure, "the first %d of %.0f workers", timeline->rows_each, workers);
    if (workers > 0 && workers < timeline->rows_each) timeline->rows_each = (int32_t)workers;
}

static int64_t run_of(const struct timeline *timeline, int32_t group) {
    const struct cell *cell = &timeline->cells.items[timeline->shown[group]];
    const struct cell_run *runs = timeline->cells.runs + cell->first_run;
    for (int64_t i = 0; i < cell->run_count; i++)
        if (runs[i].done) return runs[i].run_id;
    return runs[0].run_id;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A few rounds of the strategy in the middle: fast ones show more, slow ones less. */
static enum status choose_end(const struct database *database, struct timeline *timeline, struct error *error) {
    sqlite3_stmt *statement;
    double lengths[GROUPS_SHOWN];
    int32_t count = 0;
    TRY(database_prepare(database, "SELECT max(virtual_end_s) / (max(round) + 1) FROM v_round WHERE run_id = ?",
                         &statement, error));
    enum status status = STATUS_OK;
    for (int32_t i = 0; i < timeline->group_count && status == STATUS_OK; i++) {
        bool row = false;
        sqlite3_bind_int64(statement, 1, run_of(timeline, i));
        status = database_step(database, statement, &row, error);
        double length = row ? database_real(statement, 0) : NAN;
        if (length > 0) lengths[count++] = length;
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    if (status != STATUS_OK) return status;
    if (count == 0)
        return error_set(error, STATUS_INPUT, "no round of these runs took any time; there is no timeline to draw");
    qsort(lengths, (size_t)count, sizeof lengths[0], compare_numbers);
    timeline->end_s = ROUNDS_SHOWN * lengths[count / 2];
    return STATUS_OK;
}

/* ---- bars ---- */

static enum status add_bars(struct timeline *timeline, int32_t group, sqlite3_stmt *statement, struct error *error) {
    int32_t row = group * timeline->rows_each + sqlite3_column_int(statement, 0);
    double start = sqlite3_column_double(statement, 1);
    for (int32_t part = 0; part < PARTS; part++) {
        double end = start + sqlite3_column_double(statement, 2 + part);
        if (end > start && start < timeline->end_s) {
            TRY(array_reserve(&timeline->bars, timeline->bars.count + 1, error));
            timeline->bars.items[timeline->bars.count++] = (struct bar){row, part, start, fmin(end, timeline->end_s)};
        }
        start = end;
    }
    return STATUS_OK;
}

static enum status read_group(const struct database *database, struct timeline *timeline, int32_t group,
                              sqlite3_stmt *statement, struct error *error) {
    bool more = true;
    enum status status = STATUS_OK;
    sqlite3_bind_int64(statement, 1, run_of(timeline, group));
    sqlite3_bind_int(statement, 2, timeline->rows_each);
    sqlite3_bind_double(statement, 3, timeline->end_s);
    while (status == STATUS_OK && more) {
        status = database_step(database, statement, &more, error);
        if (status == STATUS_OK && more) status = add_bars(timeline, group, statement, error);
    }
    sqlite3_reset(statement);
    return status;
}

static enum status read_bars(const struct database *database, struct timeline *timeline, struct error *error) {
    sqlite3_stmt *statement;
    TRY(choose_end(database, timeline, error));
    TRY(database_prepare(database, select_rounds, &statement, error));
    enum status status = STATUS_OK;
    for (int32_t i = 0; i < timeline->group_count && status == STATUS_OK; i++)
        status = read_group(database, timeline, i, statement, error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- drawing ---- */

/* Rows count from the top; groups stand apart. */
static double row_middle(const struct timeline *timeline, int32_t row) {
    int32_t group = row / timeline->rows_each;
    return -(row + timeline->gap * group);
}

static bool part_used(const struct timeline *timeline, int32_t part) {
    for (int64_t i = 0; i < timeline->bars.count; i++)
        if (timeline->bars.items[i].part == part) return true;
    return false;
}

static void add_key(const struct timeline *timeline, struct figure *figure) {
    for (int32_t part = 0; part < PARTS; part++) {
        if (!part_used(timeline, part)) continue;
        figure_add_key(figure, parts[part].text, KEY_BOX, (struct style){parts[part].color, 0, 1});
        figure->key[figure->key_count - 1].letter = parts[part].letter;
    }
}

static void write_rows(const struct timeline *timeline, struct figure *figure) {
    struct text *body = &figure->body;
    double lowest = row_middle(timeline, row_count(timeline) - 1);
    text_append(body, "set yrange [%.2f:1]\nset ytics " FIGURE_TICS " scale 0 (", lowest - 1);
    if (timeline->group_count == 1)
        for (int32_t row = 0; row < row_count(timeline); row++)
            text_append(body, "%s'worker %d' %.2f", row ? ", " : "", row, row_middle(timeline, row));
    for (int32_t group = 0; group < timeline->group_count && timeline->group_count > 1; group++) {
        int32_t first = group * timeline->rows_each;
        text_append(body, "%s", group ? ", " : "");
        figures_append_tic(body, timeline->cells.items[timeline->shown[group]].strategy);
        text_append(body, " %.2f",
                    (row_middle(timeline, first) + row_middle(timeline, first + timeline->rows_each - 1)) / 2);
    }
    text_append(body, ")\n");
}

static void draw_boxes(const struct timeline *timeline, double per_unit, struct figure *figure) {
    text_append(&figure->body, "plot NaN notitle");
    for (int32_t part = 0; part < PARTS; part++) {
        if (!part_used(timeline, part)) continue;
        text_append(&figure->data, "# %s: start, end, row\n$%s << EOD\n", parts[part].text, parts[part].column);
        for (int64_t i = 0; i < timeline->bars.count; i++) {
            const struct bar *bar = &timeline->bars.items[i];
            if (bar->part == part)
                text_append(&figure->data, "%.10g %.10g %.4g\n", bar->start_s / per_unit, bar->end_s / per_unit,
                            row_middle(timeline, bar->row));
        }
        text_append(&figure->data, "EOD\n");
        text_append(&figure->body,
                    ", \\\n  $%s using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs solid noborder fc rgb "
                    "'%s' notitle",
                    parts[part].column, parts[part].color);
    }
    text_append(&figure->body, "\n");
}

enum { TEXT_MAX = 400 };

/* A row of letters, each standing for what takes most of its stretch of time: here, what is going on at its middle. */
static void draw_letters(const struct timeline *timeline, struct figure *figure) {
    int32_t columns = figure->columns > 0 ? figure->columns : 80, left = (int32_t)(figure->left / 4.5) + 2;
    int32_t length = columns - left - 4; /* within the frame */
    if (length > TEXT_MAX - 1) length = TEXT_MAX - 1;
    if (length < 10) length = 10;
    text_append(&figure->body, "set lmargin %d; set rmargin 2\n", left);
    for (int32_t row = 0; row < row_count(timeline); row++) {
        char line[TEXT_MAX];
        memset(line, ' ', sizeof line);
        line[length] = '\0';
        for (int64_t i = 0; i < timeline->bars.count; i++) {
            const struct bar *bar = &timeline->bars.items[i];
            for (int32_t k = 0; k < length && bar->row == row; k++) {
                double middle = (k + 0.5) / length * timeline->end_s;
                if (bar->start_s <= middle && middle < bar->end_s) line[k] = parts[bar->part].letter;
            }
        }
        text_append(&figure->body, "set label '%s' at graph 0, first %.2f left offset 1, 0\n", line,
                    row_middle(timeline, row));
    }
    text_append(&figure->body, "plot NaN notitle\n");
}

static void draw(const struct timeline *timeline, struct figure *figure) {
    struct figures_unit unit = figures_time_unit(timeline->end_s);
    const struct axis_range range = {.low = 0, .high = timeline->end_s / unit.per_unit};
    char label[64];
    snprintf(label, sizeof label, "virtual time (%s)", unit.name);
    figure->left = timeline->group_count == 1 ? 48 : figures_tic_width(&timeline->cells, AXIS_STRATEGY);
    figure->panel_count = 1;
    figure->text_rows = (int32_t)-row_middle(timeline, row_count(timeline) - 1) + 2;
    figure->panel_heights[0] =
        10 + -row_middle(timeline, row_count(timeline)) * (timeline->group_count == 1 ? 10.5 : 8);
    cells_common(&timeline->cells, figure->title, sizeof figure->title);
    add_key(timeline, figure);
    figure_add_note(figure, "within a round: sums, in this order");
    figure_begin_panel(figure, 0);
    figure_set_axis(figure, "x", label, &range);
    text_append(&figure->body, "unset grid\n");
    write_rows(timeline, figure);
    if (figure_is_text(figure))
        draw_letters(timeline, figure);
    else
        draw_boxes(timeline, unit.per_unit, figure);
}

enum status figure_timeline(const struct database *database, const char *scenario, struct figure *figure,
                            struct error *error) {
    struct timeline timeline = {0};
    TRY(cells_read(database, scenario, false, &timeline.cells, error));
    timeline.gap = figure_is_text(figure) ? 1 : 0.7;
    choose_cells(&timeline, figure);
    enum status status = read_bars(database, &timeline, error);
    if (status == STATUS_OK) draw(&timeline, figure);
    array_clear(&timeline.bars);
    cells_clear(&timeline.cells);
    return status;
}
