#include "table.h"

#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_SIZE = 64, COLUMNS_MAX = 20 };

/* ---- one function per column: the cell's text, "-" where there is no value ---- */

static void put_number(char *cell, double value, const char *format) {
    if (isnan(value))
        snprintf(cell, CELL_SIZE, "-");
    else
        snprintf(cell, CELL_SIZE, format, value);
}

static void put_scenario(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%s", row->scenario);
}
static void put_strategy(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%s", row->strategy);
}
static void put_bandwidth(const struct run_row *row, char *cell) {
    units_show_rate(row->bandwidth_bps, cell, CELL_SIZE);
}
static void put_workers(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%d", row->workers);
}
static void put_inner_steps(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%d", row->inner_steps);
}
static void put_failures(const struct run_row *row, char *cell) {
    put_number(cell, 100 * row->failure_rate, "%g %%");
}
static void put_seed(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%lld", (long long)row->seed);
}
static void put_rounds(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%d", row->rounds);
}
static void put_utilization(const struct run_row *row, char *cell) {
    put_number(cell, 100 * row->utilization, "%.2f %%");
}
static void put_perplexity(const struct run_row *row, char *cell) {
    put_number(cell, row->perplexity, "%#.4g");
}
static void put_worst(const struct run_row *row, char *cell) {
    put_number(cell, row->perplexity_worst, "%#.4g");
}
static void put_average(const struct run_row *row, char *cell) {
    put_number(cell, row->perplexity_average_model, "%#.4g");
}
static void put_js(const struct run_row *row, char *cell) {
    put_number(cell, row->js_distance, "%.4f");
}
static void put_l2(const struct run_row *row, char *cell) {
    put_number(cell, row->l2_consensus, "%.3g");
}
static void put_sent(const struct run_row *row, char *cell) {
    units_show_bytes(row->bytes_sent, cell, CELL_SIZE);
}
static void put_lost(const struct run_row *row, char *cell) {
    units_show_bytes(row->bytes_lost, cell, CELL_SIZE);
}
static void put_virtual(const struct run_row *row, char *cell) {
    units_show_duration((int64_t)(row->virtual_seconds * 1e9), cell, CELL_SIZE);
}
static void put_status(const struct run_row *row, char *cell) {
    snprintf(cell, CELL_SIZE, "%s", row->status);
}

/* How dear a column is when the terminal is narrow (1 = dropped first, 9 = never), and whether it is shown only when
 * its values differ between runs. */
struct column {
    const char *title;
    void (*put)(const struct run_row *row, char *cell);
    int weight;
    bool only_if_varying;
    bool left;
};

static const struct column columns[] = {
    {"scenario", put_scenario, 5, true, true},
    {"strategy", put_strategy, 9, false, true},
    {"link", put_bandwidth, 8, false, false},
    {"M", put_workers, 7, false, false},
    {"H", put_inner_steps, 7, false, false},
    {"failures", put_failures, 6, true, false},
    {"seed", put_seed, 6, true, false},
    {"rounds", put_rounds, 1, false, false},
    {"utilization", put_utilization, 9, false, false},
    {"perplexity", put_perplexity, 9, false, false},
    {"worst", put_worst, 4, false, false},
    {"averaged", put_average, 4, false, false},
    {"JS", put_js, 5, false, false},
    {"L2", put_l2, 3, false, false},
    {"sent", put_sent, 3, false, false},
    {"lost", put_lost, 2, true, false},
    {"virtual time", put_virtual, 5, false, false},
    {"status", put_status, 8, true, true},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct layout {
    bool shown[COLUMNS];
    int width[COLUMNS];
};

/* A column without any value says nothing, and so does one that only_if_varying and does not vary. The status of runs
 * that are all done goes unsaid, any other is shown. */
static bool column_useful(const struct column *column, const struct run_row *rows, int64_t count, int *width) {
    char first[CELL_SIZE], cell[CELL_SIZE];
    bool any = false, varying = false;
    *width = (int)strlen(column->title);
    for (int64_t i = 0; i < count; i++) {
        column->put(&rows[i], cell);
        if (i == 0) memcpy(first, cell, sizeof first);
        any |= strcmp(cell, "-") != 0;
        varying |= strcmp(cell, first) != 0;
        if ((int)strlen(cell) > *width) *width = (int)strlen(cell);
    }
    if (column->put == put_status && count > 0 && strcmp(first, "done") != 0) return true;
    return any && (varying || !column->only_if_varying);
}

static int layout_width(const struct layout *layout) {
    int total = 0;
    for (int c = 0; c < COLUMNS; c++)
        if (layout->shown[c]) total += layout->width[c] + 2;
    return total - 2;
}

static struct layout lay_out(const struct run_row *rows, int64_t count, int width) {
    struct layout layout;
    for (int c = 0; c < COLUMNS; c++) layout.shown[c] = column_useful(&columns[c], rows, count, &layout.width[c]);
    for (int weight = 1; weight < 9; weight++)
        for (int c = COLUMNS - 1; c >= 0 && layout_width(&layout) > width; c--)
            if (columns[c].weight == weight) layout.shown[c] = false;
    return layout;
}

static void print_line(const struct layout *layout, const struct run_row *row) {
    char cell[CELL_SIZE];
    const char *gap = "";
    for (int c = 0; c < COLUMNS; c++) {
        if (!layout->shown[c]) continue;
        if (row)
            columns[c].put(row, cell);
        else
            snprintf(cell, sizeof cell, "%s", columns[c].title);
        printf("%s%*s", gap, columns[c].left ? -layout->width[c] : layout->width[c], cell);
        gap = "  ";
    }
    putchar('\n');
}

void table_print(const struct run_row *rows, int64_t count, int width) {
    if (count == 0) {
        puts("no runs");
        return;
    }
    struct layout layout = lay_out(rows, count, width);
    print_line(&layout, NULL);
    for (int64_t i = 0; i < count; i++) print_line(&layout, &rows[i]);
}

/* ---- JSON ---- */

static void json_text(struct text *json, const char *key, const char *value) {
    text_append(json, "\"%s\": ", key);
    text_append_json(json, value);
    text_append(json, ", ");
}

static void json_number(struct text *json, const char *key, double value, const char *after) {
    char number[40];
    if (isfinite(value))
        text_append(json, "\"%s\": %s%s", key, units_format_number(value, number, sizeof number), after);
    else
        text_append(json, "\"%s\": null%s", key, after);
}

void table_print_json(const struct run_row *rows, int64_t count) {
    struct text json = {0};
    text_append(&json, "[");
    for (int64_t i = 0; i < count; i++) {
        const struct run_row *row = &rows[i];
        text_append(&json, "%s\n  {\"run_id\": %lld, ", i ? "," : "", (long long)row->run_id);
        json_text(&json, "scenario", row->scenario);
        json_text(&json, "strategy", row->strategy);
        json_text(&json, "status", row->status);
        json_text(&json, "reason", row->reason);
        json_number(&json, "seed", (double)row->seed, ", ");
        json_number(&json, "workers", row->workers, ", ");
        json_number(&json, "inner_steps", row->inner_steps, ", ");
        json_number(&json, "rounds", row->rounds, ", ");
        json_number(&json, "bandwidth_bps", row->bandwidth_bps, ", ");
        json_number(&json, "latency_s", row->latency_s, ", ");
        json_number(&json, "failure_rate", row->failure_rate, ", ");
        json_number(&json, "virtual_seconds", row->virtual_seconds, ", ");
        json_number(&json, "utilization", row->utilization, ", ");
        json_number(&json, "perplexity", row->perplexity, ", ");
        json_number(&json, "perplexity_worst", row->perplexity_worst, ", ");
        json_number(&json, "perplexity_average_model", row->perplexity_average_model, ", ");
        json_number(&json, "perplexity_floor", row->perplexity_floor, ", ");
        json_number(&json, "js_distance", row->js_distance, ", ");
        json_number(&json, "l2_consensus", row->l2_consensus, ", ");
        json_number(&json, "bytes_sent", row->bytes_sent, ", ");
        json_number(&json, "bytes_lost", row->bytes_lost, ", ");
        json_number(&json, "tokens", row->tokens, ", ");
        json_number(&json, "wall_seconds", row->wall_seconds, "}");
    }
    text_append(&json, "\n]\n");
    fputs(text_get(&json), stdout);
    text_clear(&json);
}
