/* Records go in, rows of the stable views come out. */
#include "fake.h"

#include "base/alloc.h"

#include <sqlite3.h>

struct place {
    char folder[64], path[96];
    struct store *store;
    sqlite3 *reader; /* a second connection, as a notebook would have */
};

static void open_place(struct place *place) {
    struct error error = {0};
    fake_folder(place->folder);
    snprintf(place->path, sizeof place->path, "%s/x.db", place->folder);
    place->store = store_open(place->path, &error);
    if (!place->store) fail_msg("%s", error.message);
    assert_int_equal(sqlite3_open_v2(place->path, &place->reader, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
}

static void close_place(struct place *place) {
    sqlite3_close(place->reader);
    store_close(place->store);
    fake_remove(place->folder);
}

/* First column of the first row, as text; "NULL"; "" when there is no row. */
static const char *ask(struct place *place, const char *sql) {
    static char answers[8][2048];
    static int next;
    char *answer = answers[next++ % 8];
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(place->reader, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(place->reader));
    answer[0] = '\0';
    if (sqlite3_step(statement) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(statement, 0);
        snprintf(answer, sizeof answers[0], "%s", text ? (const char *)text : "NULL");
    }
    sqlite3_finalize(statement);
    return answer;
}

static double ask_real(struct place *place, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(place->reader, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(place->reader));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* ---- the contract ---- */

/* What others' scripts read. Never change a line here. */
static const struct {
    const char *view, *columns;
} contract[] = {
    {"v_run",
     "run_id,scenario,strategy,seed,workers,inner_steps,bandwidth_bps,latency_s,failure_rate,rank,status,reason,"
     "rounds,tokens,virtual_seconds,utilization,perplexity,perplexity_worst,perplexity_average_model,"
     "js_distance,l2_consensus,bytes_sent,bytes_lost,optimizer_bytes,wall_seconds,config_hash,trajectory_hash,build"},
    {"v_round", "run_id,round,virtual_start_s,virtual_end_s,compute_s,wait_mix1_s,wait_mix2_s,wait_other_s,wasted_s,"
                "down_s,loss,perplexity,js_distance,l2_consensus,contributors,bytes_sent,bytes_lost"},
    {"v_worker_round",
     "run_id,round,worker,virtual_start_s,virtual_end_s,compute_s,wait_mix1_s,wait_mix2_s,wait_other_s,"
     "wasted_s,down_s,loss"},
    {"v_transfer", "run_id,round,operation,source,destination,bytes,virtual_start_s,virtual_end_s,outcome"},
    {"v_reference", "source,table_name,case_name,metric,value"},
};
enum { VIEWS = sizeof contract / sizeof contract[0] };

static void views_are_the_contract(void **state) {
    (void)state;
    struct place place;
    char sql[200];
    open_place(&place);
    assert_string_equal(ask(&place,
                            "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema WHERE type = 'view' "
                            "AND name GLOB 'v_*' ORDER BY name)"),
                        "v_reference,v_round,v_run,v_transfer,v_worker_round");
    for (int i = 0; i < VIEWS; i++) {
        snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s')", contract[i].view);
        const char *columns = ask(&place, sql);
        size_t length = strlen(contract[i].columns);
        if (strncmp(columns, contract[i].columns, length) != 0 || (columns[length] != ',' && columns[length] != '\0'))
            fail_msg("%s has columns %s; expected %s first", contract[i].view, columns, contract[i].columns);
    }
    close_place(&place);
}

/* Whether a list "a,b,c" has the name. */
static bool list_has(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
    return false;
}

/* An added column with the name of another view's column would make that name ambiguous in people's joins. */
static void added_columns_have_names_of_their_own(void **state) {
    (void)state;
    struct place place;
    char sql[200], columns[2048], added[2048] = ",";
    open_place(&place);
    for (int i = 0; i < VIEWS; i++) {
        snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s')", contract[i].view);
        snprintf(columns, sizeof columns, "%s", ask(&place, sql));
        char *rest = columns + strlen(contract[i].columns);
        for (char *name; (name = strsep(&rest, ","));) {
            if (!name[0]) continue;
            for (int k = 0; k < VIEWS; k++)
                if (list_has(contract[k].columns, name))
                    fail_msg("%s.%s has the name of a column of %s", contract[i].view, name, contract[k].view);
            if (list_has(added, name)) fail_msg("%s.%s: another view has added the same name", contract[i].view, name);
            snprintf(added + strlen(added), sizeof added - strlen(added), "%s,", name);
        }
    }
    close_place(&place);
}

static void every_column_is_documented(void **state) {
    (void)state;
    struct place place;
    struct error error = {0};
    char *page = NULL, columns[2048], quoted[80];
    size_t length;
    open_place(&place);
    fake_expect(text_read_file(SOURCE_DIR "/docs/database.md", 1 << 20, &page, &length, &error), &error);
    for (int i = 0; i < VIEWS; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT group_concat(name) FROM pragma_table_info('%s')", contract[i].view);
        snprintf(columns, sizeof columns, "%s", ask(&place, sql));
        char *rest = columns;
        for (char *name; (name = strsep(&rest, ","));) {
            snprintf(quoted, sizeof quoted, "`%s`", name);
            if (!strstr(page, quoted)) fail_msg("docs/database.md does not mention %s of %s", quoted, contract[i].view);
        }
    }
    alloc_free(page);
    close_place(&place);
}

/* Every query of the page runs and has an answer. */
static void documented_queries_run(void **state) {
    (void)state;
    struct place place;
    struct error error = {0};
    char *page = NULL;
    size_t length;
    int count = 0;
    open_place(&place);
    for (int i = 0; i < FAKE_STRATEGIES; i++) {
        struct fake fake = fake_strategy(i);
        fake.inner_steps = 100;
        fake.keep_transfers = true;
        fake_store(place.store, &fake);
    }
    fake_expect(text_read_file(SOURCE_DIR "/docs/database.md", 1 << 20, &page, &length, &error), &error);
    for (char *at = strstr(page, "```sql\n"); at; at = strstr(at, "```sql\n")) {
        char *sql = at + strlen("```sql\n"), *end = strstr(sql, "```");
        assert_non_null(end);
        *end = '\0';
        if (!ask(&place, sql)[0]) fail_msg("no row: %s", sql);
        at = end + 1;
        count++;
    }
    assert_true(count >= VIEWS);
    alloc_free(page);
    close_place(&place);
}

/* ---- values ---- */

static void rows_read_back(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    struct fake fake = fake_strategy(4);
    fake.keep_transfers = true;
    fake.label = "strategy.name=GlobalM1LocalM2 seed=1";
    int64_t id = fake_store(place.store, &fake);
    struct worker_times times = fake_times(&fake);
    assert_int_equal(id, 1);
    assert_string_equal(ask(&place, "SELECT scenario || '|' || strategy || '|' || seed || '|' || workers || '|' || "
                                    "inner_steps || '|' || bandwidth_bps || '|' || latency_s || '|' || failure_rate || "
                                    "'|' || status || '|' || rounds || '|' || label || '|' || timing_only FROM v_run"),
                        "quickstart|GlobalM1LocalM2|1|8|50|100000000|0.02|0.0|done|20|strategy.name=GlobalM1LocalM2 "
                        "seed=1|0");
    assert_string_equal(ask(&place, "SELECT reason IS NULL AND rank IS NULL AND diverged_worker IS NULL FROM v_run"),
                        "1");
    assert_true(ask_real(&place, "SELECT utilization FROM v_run") == fake.utilization);
    assert_true(ask_real(&place, "SELECT virtual_seconds FROM v_run") == (double)(20 * fake_duration(&times)) / 1e9);
    assert_true(ask_real(&place, "SELECT wall_seconds FROM v_run") == 1.25);
    assert_true(ask_real(&place, "SELECT perplexity_floor FROM v_run") == 4.3);
    assert_string_equal(ask(&place, "SELECT tokens FROM v_run"),
                        "4096000"); /* 512 * 20 rounds * 50 steps * 8 workers */
    assert_string_equal(ask(&place, "SELECT json_extract(config, '$.seed') FROM v_run"), "1");
    /* Exact nanoseconds to the nearest double of seconds. */
    assert_true(ask_real(&place, "SELECT virtual_end_s FROM v_round WHERE round = 2") ==
                (double)(3 * fake_duration(&times)) / 1e9);
    assert_true(ask_real(&place, "SELECT wait_mix1_s FROM v_worker_round WHERE round = 2 AND worker = 5") ==
                (double)times.wait_mix1_ns / 1e9);
    assert_string_equal(ask(&place, "SELECT count(*) || '|' || sum(worker_bytes_lost) FROM v_worker_round"), "160|560");
    assert_string_equal(ask(&place, "SELECT typeof(virtual_start_s) FROM v_round"), "real");
    assert_string_equal(ask(&place,
                            "SELECT operation || '|' || source || '|' || destination || '|' || bytes || '|' || outcome "
                            "|| '|' || attempt FROM v_transfer WHERE round = 1 AND source = 3"),
                        "mix1|3|4|1003|failed|1");
    assert_string_equal(ask(&place, "SELECT count(*) FROM v_transfer"), "160");
    close_place(&place);
}

/* Means over workers in v_round: together the duration of the round for a worker. */
static void times_sum_to_the_round(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    struct fake fake = fake_strategy(3);
    fake_store(place.store, &fake);
    const char *sum = "compute_s + wait_mix1_s + wait_mix2_s + wait_other_s + wasted_s + down_s";
    char sql[300];
    /* Six roundings of numbers below 1e4: 1e-11 is ten times their worst. */
    snprintf(sql, sizeof sql, "SELECT max(abs(%s - (virtual_end_s - virtual_start_s))) FROM v_round", sum);
    assert_true(ask_real(&place, sql) < 1e-11);
    snprintf(sql, sizeof sql, "SELECT max(abs(%s - (virtual_end_s - virtual_start_s))) FROM v_worker_round", sum);
    assert_true(ask_real(&place, sql) < 1e-11);
    close_place(&place);
}

static void values_that_are_not_there_are_null(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    struct fake fake = fake_strategy(2);
    fake.timing_only = true;
    fake.mbps = 0; /* no limit */
    fake.floor = 0;
    fake_store(place.store, &fake);
    assert_string_equal(ask(&place,
                            "SELECT count(perplexity) + count(perplexity_worst) + count(js_distance) + "
                            "count(l2_consensus) + count(perplexity_floor) + count(trajectory_hash) FROM v_run"),
                        "0");
    assert_string_equal(ask(&place, "SELECT count(loss) + count(perplexity) + count(js_distance) FROM v_round"), "0");
    assert_string_equal(ask(&place, "SELECT count(loss) FROM v_worker_round"), "0");
    assert_true(isinf(ask_real(&place, "SELECT bandwidth_bps FROM v_run")));
    struct run_row *rows;
    int64_t count;
    struct error error = {0};
    fake_expect(store_read_runs(place.store, NULL, 0, &rows, &count, &error), &error);
    assert_int_equal(count, 1);
    assert_true(isnan(rows[0].perplexity) && isnan(rows[0].perplexity_floor) && isinf(rows[0].bandwidth_bps));
    assert_true(rows[0].utilization == fake.utilization);
    alloc_free(rows);
    close_place(&place);
}

static void perplexities_are_of_the_last_evaluated_round(void **state) {
    (void)state;
    struct place place;
    struct fake_round round;
    struct error error = {0};
    int64_t id;
    open_place(&place);
    struct fake fake = fake_strategy(2);
    fake_expect(fake_begin(place.store, &fake, &id, &error), &error);
    for (int32_t r = 0; r < 3; r++) {
        fake_fill(&fake, r, &round);
        round.round.metrics.perplexity = 10 - r;
        round.round.metrics.evaluated = r < 2;
        fake_expect(store_put_round(place.store, id, &round.round, &error), &error);
    }
    assert_true(ask_real(&place, "SELECT perplexity FROM v_run") == 9);
    assert_string_equal(ask(&place, "SELECT perplexity FROM v_round WHERE round = 2"), "NULL");
    close_place(&place);
}

/* A run that goes on, or whose process was killed, shows what it has. */
static void a_running_run_shows_its_rounds(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    struct fake fake = fake_strategy(4);
    fake.status = RUN_RUNNING;
    fake.stop_after = 7;
    fake_store(place.store, &fake);
    assert_string_equal(ask(&place, "SELECT status || '|' || rounds FROM v_run"), "running|7");
    /* The fake's times are rounded to nanoseconds; utilization is known to 1e-9 of a 118 s round. */
    assert_true(fabs(ask_real(&place, "SELECT utilization FROM v_run") - fake.utilization) < 1e-9);
    assert_true(ask_real(&place, "SELECT bytes_sent FROM v_run") == 7.0 * (double)fake.bytes_per_round);
    close_place(&place);
}

static void outcomes_are_kept(void **state) {
    (void)state;
    static const enum run_status outcomes[] = {RUN_DONE, RUN_DIVERGED, RUN_FAILED, RUN_INTERRUPTED};
    struct place place;
    char sql[100], wanted[64];
    open_place(&place);
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        struct fake fake = fake_strategy(2);
        fake.seed = 1 + i;
        fake.status = outcomes[i];
        fake.reason = outcomes[i] == RUN_DONE ? NULL : "it's \"so\"";
        int64_t id = fake_store(place.store, &fake);
        snprintf(sql, sizeof sql, "SELECT status || '|' || coalesce(reason, '-') FROM v_run WHERE run_id = %lld",
                 (long long)id);
        snprintf(wanted, sizeof wanted, "%s|%s", run_status_name(outcomes[i]), fake.reason ? fake.reason : "-");
        assert_string_equal(ask(&place, sql), wanted);
    }
    assert_string_equal(
        ask(&place, "SELECT diverged_worker || '|' || diverged_step FROM v_run WHERE status = 'diverged'"), "2|17");
    close_place(&place);
}

/* ---- replacing ---- */

static void the_same_configuration_replaces_its_run(void **state) {
    (void)state;
    struct place place;
    open_place(&place);
    struct fake fake = fake_strategy(2), other = fake_strategy(3);
    fake.keep_transfers = true;
    fake.status = RUN_RUNNING; /* as a killed process leaves it */
    fake.stop_after = 5;
    int64_t killed = fake_store(place.store, &fake), kept = fake_store(place.store, &other);
    fake.status = RUN_DONE;
    fake.stop_after = 0;
    int64_t again = fake_store(place.store, &fake);
    assert_true(again != killed && again > kept); /* ids are never used twice */
    assert_string_equal(ask(&place, "SELECT group_concat(run_id) FROM (SELECT run_id FROM v_run ORDER BY run_id)"),
                        "2,3");
    assert_string_equal(ask(&place, "SELECT count(*) FROM round"), "40");
    assert_string_equal(ask(&place, "SELECT count(*) FROM worker_round WHERE run_id = 1"), "0");
    assert_string_equal(ask(&place, "SELECT count(*) FROM transfer WHERE run_id = 1"), "0");
    /* Timing alone does not take the place of training; training takes that of timing. */
    fake.timing_only = true;
    fake_store(place.store, &fake);
    assert_string_equal(ask(&place, "SELECT count(*) FROM v_run WHERE strategy = 'DiLoCo'"), "2");
    fake.timing_only = false;
    fake_store(place.store, &fake);
    assert_string_equal(ask(&place, "SELECT count(*) FROM v_run WHERE strategy = 'DiLoCo'"), "1");
    close_place(&place);
}

static void a_run_replaced_meanwhile_says_so(void **state) {
    (void)state;
    struct place place;
    struct fake_round round;
    struct error error = {0};
    int64_t first, second;
    open_place(&place);
    struct fake fake = fake_strategy(2);
    fake_expect(fake_begin(place.store, &fake, &first, &error), &error);
    fake_expect(fake_begin(place.store, &fake, &second, &error), &error);
    fake_fill(&fake, 0, &round);
    assert_int_equal(store_put_round(place.store, first, &round.round, &error), STATUS_IO);
    assert_non_null(strstr(error.message, "run 1 is no longer there"));
    struct sim_summary summary = fake_summary(&fake, 1);
    error_clear(&error);
    assert_int_equal(store_finish_run(place.store, first, RUN_DONE, "", &summary, 1, &error), STATUS_IO);
    assert_non_null(strstr(error.message, "run 1 is no longer there"));
    /* The store stays usable. */
    fake_expect(store_put_round(place.store, second, &round.round, &error), &error);
    assert_int_equal(store_put_round(place.store, second, &round.round, &error),
                     STATUS_IO); /* the round is there already */
    assert_string_equal(ask(&place, "SELECT count(*) FROM v_worker_round"), "8");
    close_place(&place);
}

static void runs_are_read_by_id(void **state) {
    (void)state;
    struct place place;
    struct error error = {0};
    struct run_row *rows;
    int64_t count;
    open_place(&place);
    for (int i = 0; i < 5; i++) {
        struct fake fake = fake_strategy(i);
        fake_store(place.store, &fake);
    }
    fake_expect(store_read_runs(place.store, (int64_t[]){4, 2, 99}, 3, &rows, &count, &error), &error);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].run_id, 2);
    assert_string_equal(rows[1].strategy, "GlobalM1");
    assert_true(rows[1].perplexity == 6.268);
    alloc_free(rows);
    fake_expect(store_read_runs(place.store, (int64_t[]){1}, 0, &rows, &count, &error), &error);
    assert_int_equal(count, 0);
    alloc_free(rows);
    close_place(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_the_contract),
        cmocka_unit_test(added_columns_have_names_of_their_own),
        cmocka_unit_test(every_column_is_documented),
        cmocka_unit_test(documented_queries_run),
        cmocka_unit_test(rows_read_back),
        cmocka_unit_test(times_sum_to_the_round),
        cmocka_unit_test(values_that_are_not_there_are_null),
        cmocka_unit_test(perplexities_are_of_the_last_evaluated_round),
        cmocka_unit_test(a_running_run_shows_its_rounds),
        cmocka_unit_test(outcomes_are_kept),
        cmocka_unit_test(the_same_configuration_replaces_its_run),
        cmocka_unit_test(a_run_replaced_meanwhile_says_so),
        cmocka_unit_test(runs_are_read_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
