/* Runs as a figure sees them: gathered into groups that differ in nothing but the seed, with the axes along which the
 * groups differ from each other. Read from v_run alone. Private to results/.
 */
#ifndef CELLS_H
#define CELLS_H

#include "database.h"
#include "statistics.h"

#include "base/text.h"

/* What groups can differ in. AXIS_OTHER and up: keys that a grid names and v_run has no column for. */
enum axis {
    AXIS_STRATEGY,
    AXIS_SCENARIO,
    AXIS_BANDWIDTH,
    AXIS_INNER_STEPS,
    AXIS_WORKERS,
    AXIS_LATENCY,
    AXIS_FAILURES,
    AXIS_OTHER,
    AXES = AXIS_OTHER + 6
};

struct cell_run {
    int64_t run_id;
    bool done, timing_only;
    char status[16], reason[200];
    double utilization, perplexity, perplexity_floor, virtual_seconds, bytes_sent;
};

struct cell {
    int64_t first_run, run_count; /* into cells.runs */
    char strategy[48];
    char text[AXES][64]; /* "100 Mbps", "H = 50" */
    int32_t rank[AXES];  /* of its value among the different ones, ascending */
    bool first;          /* no cell before has its strategy */
    double number[AXES]; /* for ordering; the order of appearance where the axis has no numbers */
    /* Over the runs that are done; over all that have a value when none is. */
    int32_t done;
    struct estimate utilization, perplexity;
    double perplexity_floor; /* NAN if unknown */
};

struct cells {
    struct cell_run *runs;
    int64_t run_count;
    struct cell *items; /* in order of their first run */
    int64_t count;
    char other_names[AXES][32]; /* "lr" */
    char axis_keys[AXES][96];
    bool varies[AXES];
};

/* scenario = NULL: all; trained: no timing-only runs. None left: STATUS_INPUT. */
NODISCARD enum status cells_read(const struct database *database, const char *scenario, bool trained,
                                 struct cells *cells, struct error *error);
void cells_clear(struct cells *cells);

/* What distinguishes the cell from the others: its strategy if that varies, then the other axes that vary; never empty
 * and never the same for two cells. */
char *cells_label(const struct cells *cells, int64_t cell, char *buffer, size_t size);
/* The same without the axes for which skip[axis]; may be empty. */
char *cells_label_without(const struct cells *cells, int64_t cell, const bool skip[AXES], char *buffer, size_t size);
/* What all cells share: "8 workers, H = 50, 100 Mbps". */
char *cells_common(const struct cells *cells, char *buffer, size_t size);
const char *cells_axis_name(const struct cells *cells, enum axis axis); /* "bandwidth", "inner steps H", "lr" */
/* A cell's value on an axis, in a key ("H = 50") and as a tic under the axis' name ("50"). Return buffer. */
char *cells_axis_text(const struct cells *cells, int64_t cell, enum axis axis, char *buffer, size_t size);
char *cells_tic_text(const struct cells *cells, int64_t cell, enum axis axis, char *buffer, size_t size);
/* The different values of an axis, ascending: cells that show them. values: [cells.count]. Returns their number. */
int64_t cells_axis_values(const struct cells *cells, enum axis axis, int64_t *values);

/* "[3,4]": the runs of a cell whose curves are worth drawing, the done ones if there are any. */
void cells_run_list(const struct cells *cells, int64_t cell, struct text *list);

#endif
