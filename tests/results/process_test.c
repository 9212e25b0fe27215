/* Several processes on one database, and processes that are killed. */
#include "fake.h"

#include "base/alloc.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

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

static int64_t ask(const char *sql) {
    sqlite3 *handle;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    sqlite3_busy_timeout(handle, 10000);
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return value;
}

/* Exit status 0 when all went well. */
static int play_runs(uint64_t first_seed, int count) {
    struct error error = {0};
    struct store *store = store_open(path, &error);
    if (!store) return 10;
    for (int i = 0; i < count; i++) {
        struct fake fake = fake_strategy(2);
        int64_t id;
        fake.seed = first_seed + (uint64_t)i;
        if (fake_play(store, &fake, &id, &error) != STATUS_OK) return 11;
    }
    store_close(store);
    return 0;
}

/* The database does not exist yet: they also race to make it. */
static void processes_write_at_once(void **state) {
    (void)state;
    enum { PROCESSES = 4, RUNS = 5 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(play_runs((uint64_t)(100 * i), RUNS));
        assert_true(children[i] > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(ask("SELECT count(*) FROM v_run WHERE status = 'done' AND rounds = 20"), PROCESSES * RUNS);
    assert_int_equal(ask("SELECT count(*) FROM v_worker_round"), PROCESSES * RUNS * 20 * 8);
    assert_int_equal(ask("SELECT count(*) = 0 FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 1);
}

/* Writes rounds until it is killed. */
static void write_for_ever(void) {
    struct error error = {0};
    struct fake_round round;
    int64_t id;
    struct store *store = store_open(path, &error);
    struct fake fake = fake_strategy(2);
    fake.seed = 7;
    fake.keep_transfers = true;
    if (!store || fake_begin(store, &fake, &id, &error) != STATUS_OK) _exit(10);
    for (int32_t r = 0;; r++) {
        fake_fill(&fake, r, &round);
        if (store_put_round(store, id, &round.round, &error) != STATUS_OK) _exit(11);
    }
}

static void a_killed_process_leaves_whole_rounds(void **state) {
    (void)state;
    enum { TIMES = 12 };
    int64_t largest = 0;
    for (int i = 0; i < TIMES; i++) {
        pid_t child = fork();
        int status = 0;
        if (child == 0) write_for_ever();
        assert_true(child > 0);
        nanosleep(&(struct timespec){.tv_nsec = (20 + 7 * i) * 1000000L}, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
        assert_int_equal(ask("SELECT count(*) FROM pragma_foreign_key_check"), 0);
        /* Nobody wrote a run twice, no round lacks a worker or a transfer, none is missing in between. */
        assert_true(ask("SELECT count(*) FROM v_run WHERE seed = 7") <= 1);
        assert_int_equal(
            ask("SELECT count(*) FROM v_round JOIN v_run USING (run_id) WHERE seed = 7 AND 8 <> (SELECT count(*) "
                "FROM v_worker_round AS w WHERE w.run_id = v_round.run_id AND w.round = v_round.round)"),
            0);
        assert_int_equal(
            ask("SELECT count(*) FROM v_round JOIN v_run USING (run_id) WHERE seed = 7 AND 8 <> (SELECT count(*) "
                "FROM v_transfer AS t WHERE t.run_id = v_round.run_id AND t.round = v_round.round)"),
            0);
        int64_t rounds = ask("SELECT count(*) FROM v_round JOIN v_run USING (run_id) WHERE seed = 7");
        assert_int_equal(
            ask("SELECT coalesce(max(round) + 1, 0) FROM v_round JOIN v_run USING (run_id) WHERE seed = 7"), rounds);
        if (rounds > largest) largest = rounds;
    }
    assert_true(largest > 0); /* some were killed in the middle of writing */
    /* And the next one replaces what was left. */
    struct error error = {0};
    struct store *store = store_open(path, &error);
    assert_non_null(store);
    struct fake fake = fake_strategy(2);
    fake.seed = 7;
    fake_store(store, &fake);
    store_close(store);
    assert_int_equal(ask("SELECT count(*) FROM v_run WHERE seed = 7 AND status = 'done' AND rounds = 20"), 1);
}

static void readers_see_whole_rounds_meanwhile(void **state) {
    (void)state;
    pid_t child = fork();
    int status = 0;
    if (child == 0) write_for_ever();
    assert_true(child > 0);
    int64_t last = 0;
    for (int i = 0; i < 50; i++) {
        struct error error = {0};
        struct run_row *rows;
        int64_t count;
        struct store *store = store_open_read_only(path, &error);
        if (!store) fail_msg("%s", error.message);
        fake_expect(store_read_runs(store, NULL, 0, &rows, &count, &error), &error);
        alloc_free(rows);
        store_close(store);
        last = ask("SELECT count(*) FROM v_round JOIN v_run USING (run_id) WHERE seed = 7 AND status = 'running'");
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* no reader made it fail */
    assert_true(last > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_write_at_once),
        cmocka_unit_test(a_killed_process_leaves_whole_rounds),
        cmocka_unit_test(readers_see_whole_rounds_meanwhile),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
