/* Every allocation fails once, ours and SQLite's: a status and a line, nothing leaked, the database whole. */
#include "fake.h"

#include "base/alloc.h"

#include <sqlite3.h>

static char folder[64], path[96];

static int make_folder(void **state) {
    (void)state;
    fake_folder(folder);
    snprintf(path, sizeof path, "%s/x.db", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    fake_remove(folder);
    return 0;
}

static enum status store_and_read(struct error *error) {
    struct run_row *rows = NULL;
    int64_t count = 0, id;
    struct fake fake = fake_strategy(4);
    fake.keep_transfers = true;
    struct store *store = store_open(path, error);
    if (!store) return error->status;
    enum status status = fake_play(store, &fake, &id, error);
    if (status == STATUS_OK) status = store_read_runs(store, NULL, 0, &rows, &count, error);
    alloc_free(rows);
    rows = NULL;
    if (status == STATUS_OK) status = store_read_runs(store, &id, 1, &rows, &count, error);
    alloc_free(rows);
    store_close(store);
    return status;
}

static enum status draw_all(struct error *error) {
    char figure[1024];
    struct text text = {0};
    struct store *store = store_open_read_only(path, error);
    if (!store) return error->status;
    enum status status = STATUS_OK;
    for (int kind = 0; kind < PLOT_KINDS && status == STATUS_OK; kind++) {
        struct plot_def def = {
            .kind = (enum plot_kind)kind, .format = kind % 2 ? PLOT_TXT : PLOT_SVG, .directory = folder, .columns = 80};
        status = plot_draw(store, &def, figure, sizeof figure, &text, error);
        if (status == STATUS_UNSUPPORTED) status = STATUS_OK; /* no gnuplot: the script is there all the same */
    }
    text_clear(&text);
    store_close(store);
    return status;
}

static void check_whole(void) {
    sqlite3 *handle;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "PRAGMA integrity_check", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(handle);
}

static void expect_no_memory(enum status status, const struct error *error, const char *what, int64_t n) {
    if (status != STATUS_MEMORY || error->message[0] == '\0')
        fail_msg("%s, allocation %lld: %s '%s'", what, (long long)n, status_name(status), error->message);
}

static void fail_each(const char *what, enum status (*task)(struct error *error), int64_t at_least) {
    int64_t before = alloc_live_blocks();
    for (int64_t n = 1;; n++) {
        struct error error = {0};
        alloc_fail_at(n, false);
        enum status status = task(&error);
        alloc_fail_at(0, false);
        assert_int_equal(alloc_live_blocks(), before);
        if (status == STATUS_OK) {
            if (n <= at_least) fail_msg("%s: only %lld allocations", what, (long long)n - 1);
            return;
        }
        expect_no_memory(status, &error, what, n);
        if (access(path, F_OK) == 0) check_whole();
    }
}

static void our_allocations(void **state) {
    (void)state;
    fail_each("store", store_and_read, 4); /* store, path, two lists of rows, list of ids */
    fail_each("figures", draw_all, 40);
}

/* SQLite's own memory is limited to ever more until everything succeeds. */
static void allocations_of_sqlite(void **state) {
    (void)state;
    struct error error = {0};
    int64_t before = alloc_live_blocks(), refused = 0;
    for (sqlite3_int64 limit = 20000;; limit += 7001) {
        error_clear(&error);
        sqlite3_hard_heap_limit64(limit);
        enum status status = store_and_read(&error);
        if (status == STATUS_OK) status = draw_all(&error);
        sqlite3_hard_heap_limit64(0);
        assert_int_equal(alloc_live_blocks(), before);
        if (status == STATUS_OK) break;
        expect_no_memory(status, &error, "SQLite with a limit of", limit);
        refused++;
        check_whole();
    }
    assert_true(refused > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(our_allocations), cmocka_unit_test(allocations_of_sqlite)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
