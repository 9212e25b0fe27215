/* Rows of v_run back to records. */
#include "store.h"

#include "base/array.h"
#include "base/text.h"

#include <stdio.h>

static const char select_runs[] =
    "SELECT run_id, scenario, strategy, status, reason, seed, workers, inner_steps, rounds, bandwidth_bps, latency_s, "
    "failure_rate, virtual_seconds, utilization, perplexity, perplexity_worst, perplexity_average_model, "
    "perplexity_floor, js_distance, l2_consensus, bytes_sent, bytes_lost, tokens, wall_seconds, label FROM v_run "
    "WHERE ?1 IS NULL OR run_id IN (SELECT value FROM json_each(?1)) ORDER BY run_id";

static void read_row(sqlite3_stmt *statement, struct run_row *row) {
    int column = 0;
    row->run_id = sqlite3_column_int64(statement, column++);
    snprintf(row->scenario, sizeof row->scenario, "%s", database_text(statement, column++));
    snprintf(row->strategy, sizeof row->strategy, "%s", database_text(statement, column++));
    snprintf(row->status, sizeof row->status, "%s", database_text(statement, column++));
    snprintf(row->reason, sizeof row->reason, "%s", database_text(statement, column++));
    row->seed = sqlite3_column_int64(statement, column++);
    row->workers = sqlite3_column_int(statement, column++);
    row->inner_steps = sqlite3_column_int(statement, column++);
    row->rounds = sqlite3_column_int(statement, column++);
    double *const reals[] = {
        &row->bandwidth_bps,    &row->latency_s,   &row->failure_rate,     &row->virtual_seconds,
        &row->utilization,      &row->perplexity,  &row->perplexity_worst, &row->perplexity_average_model,
        &row->perplexity_floor, &row->js_distance, &row->l2_consensus,     &row->bytes_sent,
        &row->bytes_lost,       &row->tokens,      &row->wall_seconds};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) *reals[i] = database_real(statement, column++);
    snprintf(row->label, sizeof row->label, "%s", database_text(statement, column++));
}

/* "[1,5,7]" */
static enum status list_of(const int64_t *run_ids, int64_t count, struct text *list, struct error *error) {
    for (int64_t i = 0; i < count; i++) text_append(list, "%c%lld", i ? ',' : '[', (long long)run_ids[i]);
    text_append(list, count ? "]" : "[]");
    return list->failed ? error_set(error, STATUS_MEMORY, "no memory for the list of runs") : STATUS_OK;
}

static enum status read_all(const struct database *database, sqlite3_stmt *statement, struct run_row **rows,
                            int64_t *count, struct error *error) {
    ARRAY(struct run_row) found = {0};
    for (;;) {
        bool more = false;
        enum status status = database_step(database, statement, &more, error);
        if (status == STATUS_OK) status = array_reserve(&found, found.count + 1, error);
        if (status != STATUS_OK) {
            array_clear(&found);
            return status;
        }
        if (!more) break;
        read_row(statement, &found.items[found.count++]);
    }
    *rows = found.items;
    *count = found.count;
    return STATUS_OK;
}

enum status store_read_runs(struct store *store, const int64_t *run_ids, int64_t run_id_count, struct run_row **rows,
                            int64_t *count, struct error *error) {
    struct text list = {0};
    sqlite3_stmt *statement = NULL;
    enum status status = run_ids ? list_of(run_ids, run_id_count, &list, error) : STATUS_OK;
    if (status == STATUS_OK) status = database_prepare(&store->database, select_runs, &statement, error);
    if (status == STATUS_OK && run_ids) sqlite3_bind_text(statement, 1, text_get(&list), -1, SQLITE_STATIC);
    if (status == STATUS_OK) status = read_all(&store->database, statement, rows, count, error);
    sqlite3_finalize(statement);
    text_clear(&list);
    return status;
}
