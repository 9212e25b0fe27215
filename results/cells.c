#include "cells.h"

#include "base/array.h"
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Runs of a group are neighbours, groups come in order of their first run. */
static const char select_runs[] =
    "SELECT run_id, min(run_id) OVER (PARTITION BY scenario, timing_only, "
    "CASE WHEN json_valid(config) THEN json_remove(config, '$.seed') ELSE config_hash END) AS first_run, "
    "status, reason, timing_only, utilization, perplexity, perplexity_floor, virtual_seconds, bytes_sent, "
    "strategy, scenario, bandwidth_bps, inner_steps, workers, latency_s, failure_rate, label FROM v_run "
    "WHERE (?1 IS NULL OR scenario = ?1) AND timing_only <= ?2 ORDER BY first_run, run_id";
enum {
    COLUMN_RUN,
    COLUMN_GROUP,
    COLUMN_STATUS,
    COLUMN_REASON,
    COLUMN_TIMING_ONLY,
    COLUMN_UTILIZATION,
    COLUMN_PERPLEXITY,
    COLUMN_FLOOR,
    COLUMN_VIRTUAL,
    COLUMN_BYTES,
    COLUMN_STRATEGY,
    COLUMN_SCENARIO,
    COLUMN_BANDWIDTH,
    COLUMN_INNER_STEPS,
    COLUMN_WORKERS,
    COLUMN_LATENCY,
    COLUMN_FAILURES,
    COLUMN_LABEL
};

/* ---- the axes of a cell ---- */

#define AXIS_TEXT(cell, axis, ...) snprintf((cell)->text[axis], sizeof(cell)->text[axis], __VA_ARGS__)

static void read_fixed_axes(sqlite3_stmt *row, struct cell *cell) {
    char buffer[48];
    snprintf(cell->strategy, sizeof cell->strategy, "%s", database_text(row, COLUMN_STRATEGY));
    AXIS_TEXT(cell, AXIS_STRATEGY, "%s", cell->strategy);
    AXIS_TEXT(cell, AXIS_SCENARIO, "%s", database_text(row, COLUMN_SCENARIO));
    cell->number[AXIS_BANDWIDTH] = sqlite3_column_double(row, COLUMN_BANDWIDTH);
    units_show_rate(cell->number[AXIS_BANDWIDTH], buffer, sizeof buffer);
    AXIS_TEXT(cell, AXIS_BANDWIDTH, "%s", strcmp(buffer, "inf") == 0 ? "no bandwidth limit" : buffer);
    cell->number[AXIS_INNER_STEPS] = sqlite3_column_double(row, COLUMN_INNER_STEPS);
    AXIS_TEXT(cell, AXIS_INNER_STEPS, "H = %d", sqlite3_column_int(row, COLUMN_INNER_STEPS));
    cell->number[AXIS_WORKERS] = sqlite3_column_double(row, COLUMN_WORKERS);
    AXIS_TEXT(cell, AXIS_WORKERS, "%d worker%s", sqlite3_column_int(row, COLUMN_WORKERS),
              sqlite3_column_int(row, COLUMN_WORKERS) == 1 ? "" : "s");
    cell->number[AXIS_LATENCY] = sqlite3_column_double(row, COLUMN_LATENCY);
    AXIS_TEXT(cell, AXIS_LATENCY, "latency %g ms", 1e3 * cell->number[AXIS_LATENCY]);
    cell->number[AXIS_FAILURES] = sqlite3_column_double(row, COLUMN_FAILURES);
    AXIS_TEXT(cell, AXIS_FAILURES, "%g %% failures", 100 * cell->number[AXIS_FAILURES]);
}

/* Where the next "key=" of a label begins, at or after `at`; NULL at its end. Values may hold blanks. */
static const char *next_key(const char *label, const char *at, const char **equals) {
    for (; *at; at++) {
        if (at != label && at[-1] != ' ') continue;
        const char *end = at;
        while (isalnum((unsigned char)*end) || *end == '_' || *end == '.') end++;
        if (end > at && *end == '=' && isalpha((unsigned char)*at)) {
            *equals = end;
            return at;
        }
    }
    return NULL;
}

/* Keys that v_run has columns for, so that they are axes already. */
static bool has_column(const char *key, size_t length) {
    static const char *const known[] = {"seed",
                                        "name",
                                        "strategy",
                                        "strategy.name",
                                        "strategy.inner_steps",
                                        "cluster.workers",
                                        "cluster.link",
                                        "cluster.link.bandwidth",
                                        "cluster.link.latency",
                                        "cluster.failures.exchange"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i]) == length && memcmp(known[i], key, length) == 0) return true;
    return false;
}

/* The axis of a key, taken into the list at its first appearance; AXES when the list is full or the key too long. */
static enum axis find_axis(struct cells *cells, const char *key, size_t length) {
    if (length >= sizeof cells->axis_keys[0]) return AXES;
    for (int axis = AXIS_OTHER; axis < AXES; axis++) {
        char *name = cells->axis_keys[axis];
        if (!name[0]) {
            snprintf(name, sizeof cells->axis_keys[axis], "%.*s", (int)length, key);
            const char *dot = strrchr(name, '.');
            snprintf(cells->other_names[axis], sizeof cells->other_names[axis], "%.31s", dot ? dot + 1 : name);
        }
        if (strlen(name) == length && memcmp(name, key, length) == 0) return (enum axis)axis;
    }
    return AXES;
}

static void read_label_axes(struct cells *cells, struct cell *cell, const char *label) {
    const char *equals, *key = next_key(label, label, &equals);
    while (key) {
        const char *next_equals = NULL, *next = next_key(label, equals + 1, &next_equals);
        size_t length = (size_t)(equals - key), value = next ? (size_t)(next - equals) - 2 : strlen(equals + 1);
        enum axis axis = has_column(key, length) ? AXES : find_axis(cells, key, length);
        if (axis < AXES) AXIS_TEXT(cell, axis, "%s = %.*s", cells->other_names[axis], (int)value, equals + 1);
        key = next;
        equals = next_equals;
    }
}

/* ---- reading ---- */

static void read_run(sqlite3_stmt *row, struct cell_run *run) {
    run->run_id = sqlite3_column_int64(row, COLUMN_RUN);
    snprintf(run->status, sizeof run->status, "%s", database_text(row, COLUMN_STATUS));
    snprintf(run->reason, sizeof run->reason, "%s", database_text(row, COLUMN_REASON));
    run->done = strcmp(run->status, "done") == 0;
    run->timing_only = sqlite3_column_int(row, COLUMN_TIMING_ONLY) != 0;
    run->utilization = database_real(row, COLUMN_UTILIZATION);
    run->perplexity = database_real(row, COLUMN_PERPLEXITY);
    run->perplexity_floor = database_real(row, COLUMN_FLOOR);
    run->virtual_seconds = database_real(row, COLUMN_VIRTUAL);
    run->bytes_sent = database_real(row, COLUMN_BYTES);
}

struct reading {
    ARRAY(struct cell_run) runs;
    ARRAY(struct cell) items;
    int64_t group; /* of the row read last */
};

static enum status take_row(struct cells *cells, struct reading *reading, sqlite3_stmt *row, struct error *error) {
    int64_t group = sqlite3_column_int64(row, COLUMN_GROUP);
    TRY(array_reserve(&reading->runs, reading->runs.count + 1, error));
    if (reading->items.count == 0 || group != reading->group) {
        TRY(array_reserve(&reading->items, reading->items.count + 1, error));
        struct cell *cell = &reading->items.items[reading->items.count++];
        *cell = (struct cell){.first_run = reading->runs.count};
        read_fixed_axes(row, cell);
        read_label_axes(cells, cell, database_text(row, COLUMN_LABEL));
        reading->group = group;
    }
    read_run(row, &reading->runs.items[reading->runs.count++]);
    reading->items.items[reading->items.count - 1].run_count++;
    return STATUS_OK;
}

static enum status read_rows(const struct database *database, sqlite3_stmt *statement, struct cells *cells,
                             struct error *error) {
    struct reading reading = {0};
    bool more = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = database_step(database, statement, &more, error);
        if (status == STATUS_OK && more) status = take_row(cells, &reading, statement, error);
    }
    cells->runs = reading.runs.items;
    cells->run_count = reading.runs.count;
    cells->items = reading.items.items;
    cells->count = reading.items.count;
    return status;
}

/* ---- what follows from the rows ---- */

static enum status estimate_cell(const struct cells *cells, struct cell *cell, struct error *error) {
    const struct cell_run *runs = cells->runs + cell->first_run;
    double *values = alloc_zero((size_t)cell->run_count * 2, sizeof *values, "values of seeds", error);
    if (!values) return STATUS_MEMORY;
    double *perplexities = values + cell->run_count;
    cell->perplexity_floor = NAN;
    for (int64_t i = 0; i < cell->run_count; i++) cell->done += runs[i].done;
    for (int64_t i = 0; i < cell->run_count; i++) {
        bool counts = runs[i].done || cell->done == 0;
        values[i] = counts ? runs[i].utilization : NAN;
        perplexities[i] = counts ? runs[i].perplexity : NAN;
        if (!isnan(runs[i].perplexity_floor)) cell->perplexity_floor = runs[i].perplexity_floor;
    }
    cell->utilization = estimate_mean(values, cell->run_count);
    cell->perplexity = estimate_mean(perplexities, cell->run_count);
    alloc_free(values);
    return STATUS_OK;
}

/* Axes of words are ordered as they appeared, unless all their values begin with a number after "name = ". */
static void number_words(struct cells *cells, enum axis axis) {
    for (int64_t i = 0; i < cells->count; i++) {
        struct cell *cell = &cells->items[i];
        const char *equals = axis >= AXIS_OTHER ? strstr(cell->text[axis], " = ") : NULL;
        int64_t first = 0;
        while (strcmp(cells->items[first].text[axis], cell->text[axis]) != 0) first++;
        cell->number[axis] = (double)first;
        double number;
        char end;
        if (equals && sscanf(equals + 3, "%lf%c", &number, &end) == 1 && isfinite(number)) cell->number[axis] = number;
    }
}

static void find_varying(struct cells *cells) {
    for (int axis = 0; axis < AXES; axis++)
        for (int64_t i = 1; i < cells->count; i++)
            cells->varies[axis] |= strcmp(cells->items[i].text[axis], cells->items[0].text[axis]) != 0;
}

static void rank_values(struct cells *cells, enum axis axis, int64_t *values) {
    int64_t count = cells_axis_values(cells, axis, values);
    for (int64_t i = 0; i < cells->count; i++)
        for (int64_t k = 0; k < count; k++)
            if (strcmp(cells->items[values[k]].text[axis], cells->items[i].text[axis]) == 0)
                cells->items[i].rank[axis] = (int32_t)k;
}

static void find_first(struct cells *cells) {
    for (int64_t i = 0; i < cells->count; i++) {
        int64_t k = 0;
        while (strcmp(cells->items[k].strategy, cells->items[i].strategy) != 0) k++;
        cells->items[i].first = k == i;
    }
}

static enum status compare_cells(struct cells *cells, struct error *error) {
    int64_t *values = alloc_zero((size_t)cells->count, sizeof *values, "values of an axis", error);
    if (!values) return STATUS_MEMORY;
    number_words(cells, AXIS_STRATEGY);
    number_words(cells, AXIS_SCENARIO);
    for (int axis = AXIS_OTHER; axis < AXES; axis++) number_words(cells, (enum axis)axis);
    find_varying(cells);
    find_first(cells);
    for (int axis = 0; axis < AXES; axis++) rank_values(cells, (enum axis)axis, values);
    alloc_free(values);
    return STATUS_OK;
}

static enum status finish(struct cells *cells, const char *scenario, bool trained, struct error *error) {
    const char *what = trained ? "trained run" : "run";
    if (cells->run_count == 0 && scenario)
        return error_set(error, STATUS_INPUT, "no %s of scenario '%s' in the database", what, scenario);
    if (cells->run_count == 0)
        return error_set(error, STATUS_INPUT, "no %s in the database; play a scenario%s first", what,
                         trained ? " without --timing-only" : "");
    for (int64_t i = 0; i < cells->count; i++) TRY(estimate_cell(cells, &cells->items[i], error));
    return compare_cells(cells, error);
}

enum status cells_read(const struct database *database, const char *scenario, bool trained, struct cells *cells,
                       struct error *error) {
    sqlite3_stmt *statement;
    *cells = (struct cells){0};
    TRY(database_prepare(database, select_runs, &statement, error));
    if (scenario) sqlite3_bind_text(statement, 1, scenario, -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 2, trained ? 0 : 1);
    enum status status = read_rows(database, statement, cells, error);
    sqlite3_finalize(statement);
    if (status == STATUS_OK) status = finish(cells, scenario, trained, error);
    if (status != STATUS_OK) cells_clear(cells);
    return status;
}

void cells_clear(struct cells *cells) {
    alloc_free(cells->runs);
    alloc_free(cells->items);
    *cells = (struct cells){0};
}

/* ---- words ---- */

static void join(char *buffer, size_t size, const char *text) {
    size_t used = strlen(buffer);
    if (text[0]) snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", text);
}

char *cells_label_without(const struct cells *cells, int64_t cell, const bool skip[AXES], char *buffer, size_t size) {
    buffer[0] = '\0';
    for (int axis = 0; axis < AXES; axis++)
        if (cells->varies[axis] && !skip[axis]) join(buffer, size, cells->items[cell].text[axis]);
    return buffer;
}

/* Whether another cell agrees on every axis we know: two configurations that differ in something else. */
static bool has_twin(const struct cells *cells, int64_t cell) {
    for (int64_t i = 0; i < cells->count; i++) {
        bool same = i != cell;
        for (int axis = 0; axis < AXES && same; axis++)
            same = strcmp(cells->items[i].text[axis], cells->items[cell].text[axis]) == 0;
        if (same) return true;
    }
    return false;
}

char *cells_label(const struct cells *cells, int64_t cell, char *buffer, size_t size) {
    static const bool none[AXES];
    char run[40];
    cells_label_without(cells, cell, none, buffer, size);
    if (!cells->varies[AXIS_STRATEGY]) {
        char rest[256];
        snprintf(rest, sizeof rest, "%s", buffer);
        snprintf(buffer, size, "%s", cells->items[cell].strategy);
        join(buffer, size, rest);
    }
    if (has_twin(cells, cell)) {
        snprintf(run, sizeof run, "run %lld", (long long)cells->runs[cells->items[cell].first_run].run_id);
        join(buffer, size, run);
    }
    return buffer;
}

char *cells_common(const struct cells *cells, char *buffer, size_t size) {
    static const enum axis order[] = {AXIS_STRATEGY,  AXIS_WORKERS, AXIS_INNER_STEPS,
                                      AXIS_BANDWIDTH, AXIS_LATENCY, AXIS_FAILURES};
    const struct cell *first = &cells->items[0];
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        bool nothing = (order[i] == AXIS_LATENCY || order[i] == AXIS_FAILURES) && first->number[order[i]] == 0;
        if (!cells->varies[order[i]] && !nothing) join(buffer, size, first->text[order[i]]);
    }
    return buffer;
}

const char *cells_axis_name(const struct cells *cells, enum axis axis) {
    switch (axis) {
    case AXIS_STRATEGY:
        return "strategy";
    case AXIS_SCENARIO:
        return "scenario";
    case AXIS_BANDWIDTH:
        return "bandwidth";
    case AXIS_INNER_STEPS:
        return "inner steps";
    case AXIS_WORKERS:
        return "workers";
    case AXIS_LATENCY:
        return "latency";
    case AXIS_FAILURES:
        return "failure rate";
    case AXIS_OTHER:
    case AXES:
        break;
    }
    return cells->other_names[axis];
}

char *cells_axis_text(const struct cells *cells, int64_t cell, enum axis axis, char *buffer, size_t size) {
    const char *text = cells->items[cell].text[axis];
    if (text[0])
        snprintf(buffer, size, "%s", text);
    else /* a cell of another grid, which does not name the key */
        snprintf(buffer, size, "default %s", cells_axis_name(cells, axis));
    return buffer;
}

char *cells_tic_text(const struct cells *cells, int64_t cell, enum axis axis, char *buffer, size_t size) {
    const char *text = cells->items[cell].text[axis], *equals = axis != AXIS_STRATEGY ? strstr(text, " = ") : NULL;
    if (axis == AXIS_WORKERS)
        snprintf(buffer, size, "%.0f", cells->items[cell].number[axis]);
    else if (axis == AXIS_LATENCY)
        snprintf(buffer, size, "%g ms", 1e3 * cells->items[cell].number[axis]);
    else if (axis == AXIS_FAILURES)
        snprintf(buffer, size, "%g %%", 100 * cells->items[cell].number[axis]);
    else
        snprintf(buffer, size, "%s", equals ? equals + 3 : text[0] ? text : "default");
    return buffer;
}

int64_t cells_axis_values(const struct cells *cells, enum axis axis, int64_t *values) {
    int64_t count = 0;
    for (int64_t i = 0; i < cells->count; i++) {
        int64_t at = 0;
        while (at < count && strcmp(cells->items[values[at]].text[axis], cells->items[i].text[axis]) != 0) at++;
        if (at < count) continue;
        for (at = count++; at > 0 && cells->items[values[at - 1]].number[axis] > cells->items[i].number[axis]; at--)
            values[at] = values[at - 1];
        values[at] = i;
    }
    return count;
}

void cells_run_list(const struct cells *cells, int64_t cell, struct text *list) {
    const struct cell *item = &cells->items[cell];
    const char *before = "[";
    for (int64_t i = 0; i < item->run_count; i++) {
        const struct cell_run *run = &cells->runs[item->first_run + i];
        if (item->done > 0 && !run->done) continue;
        text_append(list, "%s%lld", before, (long long)run->run_id);
        before = ",";
    }
    text_append(list, "]");
}
