/* Records to rows. Each public function is one transaction, so a reader, a full disk or a kill -9 sees all of it or
 * nothing. Statements are prepared once per store. */
#include "store.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

static const char *const statement_texts[STATEMENTS] = {
    /* A trained run takes the place of a timing-only one of the same configuration, not the other way round. */
    [STATEMENT_DELETE_RUN] = "DELETE FROM run WHERE config_hash = ? AND timing_only >= ?",
    [STATEMENT_INSERT_RUN] =
        "INSERT INTO run (scenario, label, config, config_hash, timing_only, backend, build, strategy, seed, workers, "
        "inner_steps, up_bps, down_bps, latency_ns, failure_rate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_INSERT_ROUND] =
        "INSERT INTO round (run_id, round, start_ns, end_ns, workers, compute_ns, wait_mix1_ns, wait_mix2_ns, "
        "wait_other_ns, wasted_ns, down_ns, bytes_sent, bytes_lost, steps, tokens, contributors, loss, gradient_norm, "
        "learning_rate, perplexity, perplexity_worst, perplexity_average_model, js_distance, js_distance_inner, "
        "l2_consensus, l2_consensus_inner, outer_updated) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_INSERT_WORKER_ROUND] =
        "INSERT INTO worker_round (run_id, round, worker, start_ns, end_ns, compute_ns, wait_mix1_ns, wait_mix2_ns, "
        "wait_other_ns, wasted_ns, down_ns, bytes_sent, bytes_lost, loss, perplexity, js_distance) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_INSERT_TRANSFER] =
        "INSERT INTO transfer (run_id, round, number, program_op, operation, attempt, source, destination, bytes, "
        "start_ns, end_ns, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STATEMENT_FINISH_RUN] =
        "UPDATE run SET status = ?, reason = ?, rounds = ?, rounds_planned = ?, virtual_ns = ?, compute_ns = ?, "
        "wait_mix1_ns = ?, wait_mix2_ns = ?, wait_other_ns = ?, wasted_ns = ?, down_ns = ?, utilization = ?, "
        "bytes_sent = ?, bytes_lost = ?, optimizer_bytes = ?, perplexity_floor = ?, diverged_worker = ?, "
        "diverged_step = ?, trajectory_hash = ?, wall_seconds = ? WHERE run_id = ?",
};

/* ---- a store ---- */

static struct store *open_store(const char *path, bool may_write, struct error *error) {
    struct store *store = alloc_zero(1, sizeof *store, "store", error);
    if (!store) return NULL;
    if (database_open(&store->database, path, may_write, error) == STATUS_OK) return store;
    alloc_free(store);
    return NULL;
}

struct store *store_open(const char *path, struct error *error) {
    return open_store(path, true, error);
}

struct store *store_open_read_only(const char *path, struct error *error) {
    return open_store(path, false, error);
}

void store_close(struct store *store) {
    if (!store) return;
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(store->statements[i]);
    database_close(&store->database);
    alloc_free(store);
}

/* ---- binding: values in the order of the statement's question marks ---- */

struct row {
    sqlite3_stmt *statement;
    int column;
};

static void put_integer(struct row *row, int64_t value) {
    sqlite3_bind_int64(row->statement, ++row->column, value);
}

/* SQLite has no NaN: binding one gives NULL, which is what we mean. */
static void put_real(struct row *row, double value) {
    sqlite3_bind_double(row->statement, ++row->column, value);
}

static void put_null(struct row *row) {
    sqlite3_bind_null(row->statement, ++row->column);
}

static void put_text(struct row *row, const char *value) {
    sqlite3_bind_text(row->statement, ++row->column, value ? value : "", -1, SQLITE_STATIC);
}

static void put_text_or_null(struct row *row, const char *value) {
    if (value && value[0])
        put_text(row, value);
    else
        put_null(row);
}

static void put_times(struct row *row, const struct worker_times *times) {
    put_integer(row, times->compute_ns);
    put_integer(row, times->wait_mix1_ns);
    put_integer(row, times->wait_mix2_ns);
    put_integer(row, times->wait_other_ns);
    put_integer(row, times->wasted_ns);
    put_integer(row, times->down_ns);
}

static enum status start_row(struct store *store, enum store_statement which, struct row *row, struct error *error) {
    if (!store->statements[which])
        TRY(database_prepare(&store->database, statement_texts[which], &store->statements[which], error));
    *row = (struct row){.statement = store->statements[which]};
    return STATUS_OK;
}

/* Executes the statement; every parameter must have been bound. */
static enum status end_row(struct store *store, struct row *row, struct error *error) {
    assert(row->column == sqlite3_bind_parameter_count(row->statement));
    return database_run(&store->database, row->statement, error);
}

/* ---- transactions ---- */

static enum status begin(struct store *store, struct error *error) {
    return database_execute(&store->database, "BEGIN IMMEDIATE", error);
}

/* COMMIT, or undo everything when something went wrong. */
static enum status end(struct store *store, enum status status, struct error *error) {
    if (status == STATUS_OK) status = database_execute(&store->database, "COMMIT", error);
    if (status != STATUS_OK) sqlite3_exec(store->database.handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static enum status run_is_gone(struct store *store, int64_t run_id, struct error *error) {
    return error_at(error, STATUS_IO, store->database.path, 0, 0,
                    "run %lld is no longer there; another process plays the same configuration and has replaced it",
                    (long long)run_id);
}

/* ---- runs ---- */

static enum status delete_older(struct store *store, const struct run_info *info, struct error *error) {
    struct row row;
    TRY(start_row(store, STATEMENT_DELETE_RUN, &row, error));
    put_text(&row, info->config_hash);
    put_integer(&row, info->timing_only);
    return end_row(store, &row, error);
}

static enum status insert_run(struct store *store, const struct sim_def *def, const struct run_info *info,
                              struct error *error) {
    struct row row;
    TRY(start_row(store, STATEMENT_INSERT_RUN, &row, error));
    put_text(&row, info->scenario);
    put_text(&row, info->label);
    put_text(&row, info->config_json);
    put_text(&row, info->config_hash);
    put_integer(&row, info->timing_only);
    put_text(&row, info->backend);
    put_text(&row, info->build);
    put_text(&row, def->strategy.name);
    put_integer(&row, (int64_t)def->seed);
    put_integer(&row, def->cluster.workers);
    put_integer(&row, def->strategy.inner_steps);
    put_integer(&row, def->cluster.up_bps);
    put_integer(&row, def->cluster.down_bps);
    put_integer(&row, def->cluster.latency_ns);
    put_real(&row, def->cluster.failures.exchange);
    return end_row(store, &row, error);
}

enum status store_begin_run(struct store *store, const struct sim_def *def, const struct run_info *info,
                            int64_t *run_id, struct error *error) {
    TRY(begin(store, error));
    enum status status = delete_older(store, info, error);
    if (status == STATUS_OK) status = insert_run(store, def, info, error);
    int64_t inserted = sqlite3_last_insert_rowid(store->database.handle);
    status = end(store, status, error);
    if (status == STATUS_OK) *run_id = inserted;
    return status;
}

static const char *const run_status_names[RUN_STATUSES] = {[RUN_DONE] = "done",
                                                           [RUN_DIVERGED] = "diverged",
                                                           [RUN_FAILED] = "failed",
                                                           [RUN_INTERRUPTED] = "interrupted",
                                                           [RUN_RUNNING] = "running"};

const char *run_status_name(enum run_status status) {
    return run_status_names[status];
}

static enum status update_run(struct store *store, int64_t run_id, enum run_status run_status, const char *reason,
                              const struct sim_summary *summary, double wall_seconds, struct error *error) {
    struct row row;
    TRY(start_row(store, STATEMENT_FINISH_RUN, &row, error));
    put_text(&row, run_status_name(run_status));
    put_text_or_null(&row, reason);
    put_integer(&row, summary->rounds);
    put_integer(&row, summary->rounds_planned);
    put_integer(&row, summary->virtual_ns);
    put_times(&row, &summary->times);
    put_real(&row, summary->virtual_ns > 0 ? summary->utilization : NAN);
    put_integer(&row, summary->bytes_sent);
    put_integer(&row, summary->bytes_lost);
    put_integer(&row, (int64_t)summary->optimizer_bytes);
    put_real(&row, summary->perplexity_floor);
    if (run_status == RUN_DIVERGED) {
        put_integer(&row, summary->diverged_worker);
        put_integer(&row, summary->diverged_step);
    } else {
        put_null(&row);
        put_null(&row);
    }
    put_text_or_null(&row, summary->trajectory_hash);
    put_real(&row, wall_seconds);
    put_integer(&row, run_id);
    return end_row(store, &row, error);
}

enum status store_finish_run(struct store *store, int64_t run_id, enum run_status run_status, const char *reason,
                             const struct sim_summary *summary, double wall_seconds, struct error *error) {
    TRY(begin(store, error));
    enum status status = update_run(store, run_id, run_status, reason, summary, wall_seconds, error);
    if (status == STATUS_OK && sqlite3_changes64(store->database.handle) == 0)
        status = run_is_gone(store, run_id, error);
    return end(store, status, error);
}

/* ---- rounds ---- */

static enum status insert_round(struct store *store, int64_t run_id, const struct sim_round *round,
                                struct error *error) {
    const struct round_metrics *metrics = &round->metrics;
    struct row row;
    TRY(start_row(store, STATEMENT_INSERT_ROUND, &row, error));
    put_integer(&row, run_id);
    put_integer(&row, round->round);
    put_integer(&row, round->start_ns);
    put_integer(&row, round->end_ns);
    put_integer(&row, round->worker_count);
    put_times(&row, &round->times);
    put_integer(&row, round->bytes_sent);
    put_integer(&row, round->bytes_lost);
    put_integer(&row, metrics->steps);
    put_integer(&row, metrics->tokens);
    put_integer(&row, metrics->contributors);
    put_real(&row, metrics->loss);
    put_real(&row, metrics->gradient_norm);
    put_real(&row, metrics->learning_rate);
    put_real(&row, metrics->evaluated ? metrics->perplexity : NAN);
    put_real(&row, metrics->evaluated ? metrics->perplexity_worst : NAN);
    put_real(&row, metrics->evaluated ? metrics->perplexity_average_model : NAN);
    put_real(&row, metrics->js_distance);
    put_real(&row, metrics->js_distance_inner);
    put_real(&row, metrics->l2_consensus);
    put_real(&row, metrics->l2_consensus_inner);
    put_integer(&row, metrics->outer_updated);
    return end_row(store, &row, error);
}

static enum status insert_worker_round(struct store *store, int64_t run_id, const struct sim_round *round,
                                       int32_t worker, struct error *error) {
    const struct worker_round *record = &round->workers[worker];
    struct row row;
    TRY(start_row(store, STATEMENT_INSERT_WORKER_ROUND, &row, error));
    put_integer(&row, run_id);
    put_integer(&row, round->round);
    put_integer(&row, worker);
    put_integer(&row, record->start_ns);
    put_integer(&row, record->end_ns);
    put_times(&row, &record->times);
    put_integer(&row, record->bytes_sent);
    put_integer(&row, record->bytes_lost);
    put_real(&row, record->metrics.loss);
    put_real(&row, record->metrics.perplexity);
    put_real(&row, record->metrics.js_distance);
    return end_row(store, &row, error);
}

/* Named here from the one list, so that this room needs nothing of optim but its door. */
static const char *const label_names[MIX_LABELS] = {
#define MIX_LABEL(name, text) [LABEL_##name] = text,
#include "optim/mix.def"
#undef MIX_LABEL
};

static enum status insert_transfer(struct store *store, int64_t run_id, const struct sim_round *round, int64_t number,
                                   struct error *error) {
    const struct transfer *transfer = &round->transfers[number];
    struct row row;
    TRY(start_row(store, STATEMENT_INSERT_TRANSFER, &row, error));
    put_integer(&row, run_id);
    put_integer(&row, round->round);
    put_integer(&row, number);
    put_integer(&row, transfer->op);
    put_text(&row, label_names[transfer->label]);
    put_integer(&row, transfer->attempt);
    put_integer(&row, transfer->source);
    put_integer(&row, transfer->destination);
    put_integer(&row, transfer->bytes);
    put_integer(&row, transfer->start_ns);
    put_integer(&row, transfer->end_ns);
    put_text(&row, transfer->ok ? "ok" : "failed");
    return end_row(store, &row, error);
}

static enum status insert_all(struct store *store, int64_t run_id, const struct sim_round *round, struct error *error) {
    enum status status = insert_round(store, run_id, round, error);
    if (status != STATUS_OK && sqlite3_extended_errcode(store->database.handle) == SQLITE_CONSTRAINT_FOREIGNKEY)
        return run_is_gone(store, run_id, error);
    TRY(status);
    for (int32_t m = 0; m < round->worker_count; m++) TRY(insert_worker_round(store, run_id, round, m, error));
    for (int64_t i = 0; i < round->transfer_count; i++) TRY(insert_transfer(store, run_id, round, i, error));
    return STATUS_OK;
}

enum status store_put_round(struct store *store, int64_t run_id, const struct sim_round *round, struct error *error) {
    TRY(begin(store, error));
    return end(store, insert_all(store, run_id, round, error), error);
}
