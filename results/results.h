/* results: records to rows to figures. The SQLite database (schema, migrations, stable views), gnuplot figures made
 * from the database alone, and the rows of the summary table.
 *
 * One transaction per round, so that a reader and a kill -9 see whole rounds. Nobody outside this room knows that there
 * is SQL. Errors: a database of a newer schema, a file that is no database, a directory that cannot be written:
 * STATUS_INPUT with the path; a full disk or a lock that does not go away: STATUS_IO.
 */
#ifndef RESULTS_RESULTS_H
#define RESULTS_RESULTS_H

#include "sim/sim.h"

struct store;

NODISCARD struct store *store_open(const char *path, struct error *error); /* creates or migrates */
NODISCARD struct store *store_open_read_only(const char *path, struct error *error);
void store_close(struct store *store); /* NULL is fine */

struct run_info {
    const char *scenario; /* name */
    const char *label;    /* of the cell */
    const char *config_json;
    const char *config_hash;
    const char *backend; /* name and what was found: "openblas (OpenBLAS 0.3.21 SkylakeX)" */
    const char *build;   /* version, compiler, options */
    bool timing_only;
};
/* A row with status `running`. An unfinished or older run of the same config_hash is replaced in the same transaction;
 * only, timing alone does not replace training. run_ids are never used twice: writing to a run that another process has
 * replaced meanwhile is STATUS_IO. */
NODISCARD enum status store_begin_run(struct store *store, const struct sim_def *def, const struct run_info *info,
                                      int64_t *run_id, struct error *error);
NODISCARD enum status store_put_round(struct store *store, int64_t run_id, const struct sim_round *round,
                                      struct error *error);
enum run_status { RUN_DONE, RUN_DIVERGED, RUN_FAILED, RUN_INTERRUPTED, RUN_RUNNING, RUN_STATUSES };
const char *run_status_name(enum run_status status); /* "done", ... */
NODISCARD enum status store_finish_run(struct store *store, int64_t run_id, enum run_status status, const char *reason,
                                       const struct sim_summary *summary, double wall_seconds, struct error *error);

/* A line of the summary table: v_run as a record. NAN where there is no value. */
struct run_row {
    int64_t run_id;
    char scenario[64], strategy[48], status[16], reason[256];
    char label[512]; /* of the cell: "cluster.link.bandwidth=100 Mbps seed=2" */
    int64_t seed;
    int32_t workers, inner_steps, rounds;
    double bandwidth_bps, latency_s, failure_rate;
    double virtual_seconds, utilization, perplexity, perplexity_worst, perplexity_average_model, perplexity_floor;
    double js_distance, l2_consensus, bytes_sent, bytes_lost, tokens, wall_seconds;
};
/* Runs in order of run_id; *rows from alloc (alloc_free). run_ids = NULL: all. */
NODISCARD enum status store_read_runs(struct store *store, const int64_t *run_ids, int64_t run_id_count,
                                      struct run_row **rows, int64_t *count, struct error *error);

/* ---- figures ---- */

enum plot_kind { PLOT_FRONTIER, PLOT_LOSS, PLOT_CONSENSUS, PLOT_TIMELINE, PLOT_HEATMAP, PLOT_BYTES, PLOT_KINDS };
const char *plot_kind_name(enum plot_kind kind); /* "frontier", ... */
enum plot_format { PLOT_SVG, PLOT_PNG, PLOT_PDF, PLOT_TXT, PLOT_FORMATS };
const char *plot_format_name(enum plot_format format);

struct plot_def {
    enum plot_kind kind;
    enum plot_format format;
    const char *directory; /* figures and their .gp files; made if missing */
    const char *scenario;  /* NULL = all; else only runs of this scenario */
    int32_t columns;       /* txt: width of the terminal */
};
/* Writes DIRECTORY/KIND.gp (self-contained: data within; DIRECTORY/KIND.txt.gp for txt, so that the picture's stays)
 * and DIRECTORY/KIND.FORMAT; for txt the figure is appended to `text` too when not NULL. Without gnuplot, or when it
 * fails: the .gp stays and STATUS_UNSUPPORTED says so. No runs to draw: STATUS_INPUT. */
NODISCARD enum status plot_draw(struct store *store, const struct plot_def *def, char *path, size_t path_size,
                                struct text *text, struct error *error);

#endif
