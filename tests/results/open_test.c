/* Which files are opened, and what is said of the others. A refused file keeps every byte. */
#include "fake.h"

#include "migrate.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    fake_folder(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    fake_remove(folder);
    return 0;
}

static const char *path_of(const char *name) {
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(const char *path, char *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

static void write_by_sql(const char *path, const char *sql) {
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

/* A whole database with a run in it. */
static void make_database(const char *path) {
    struct error error = {0};
    struct store *store = store_open(path, &error);
    if (!store) fail_msg("%s", error.message);
    struct fake fake = fake_strategy(2);
    fake_store(store, &fake);
    store_close(store);
}

static void expect_line(const struct error *error, const char *path, const char *wanted) {
    char line[1024];
    error_format(error, line, sizeof line);
    if (error->status != STATUS_INPUT || strchr(line, '\n') || !strstr(line, wanted) || !strstr(line, path))
        fail_msg("%s: got %s '%s'; expected INPUT with '%s'", path, status_name(error->status), line, wanted);
}

/* Opening fails in both ways, names the file, says `wanted`, and leaves the bytes alone. */
static void expect_refused(const char *path, const char *wanted) {
    static char before[1 << 20], after[1 << 20];
    struct stat info;
    bool regular = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    size_t length = regular ? read_bytes(path, before, sizeof before) : 0;
    int64_t blocks = alloc_live_blocks();
    for (int read_only = 0; read_only < 2; read_only++) {
        struct error error = {0};
        struct store *store = read_only ? store_open_read_only(path, &error) : store_open(path, &error);
        if (store) fail_msg("%s was opened", path);
        expect_line(&error, path, wanted);
    }
    assert_int_equal(alloc_live_blocks(), blocks);
    if (!regular) return;
    if (read_bytes(path, after, sizeof after) != length || memcmp(before, after, length) != 0)
        fail_msg("%s was changed", path);
}

static void files_that_are_no_database(void **state) {
    (void)state;
    write_bytes(path_of("text"), "not a database, but a text of some length\n", 42);
    expect_refused(path_of("text"), "no SQLite database");
    write_bytes(path_of("short"), "hi\n", 3);
    expect_refused(path_of("short"), "no SQLite database");
    static char zeros[8192];
    write_bytes(path_of("zeros"), zeros, sizeof zeros);
    expect_refused(path_of("zeros"), "no SQLite database");
    mkdir(path_of("folder"), 0777);
    expect_refused(path_of("folder"), "not a regular file");
    mkfifo(path_of("pipe"), 0666);
    expect_refused(path_of("pipe"), "not a regular file");
    expect_refused(path_of("text/x.db"), "cannot");
    struct error error = {0};
    assert_null(store_open("", &error));
    assert_non_null(strstr(error.message, "empty"));
}

static void places_where_none_can_be(void **state) {
    (void)state;
    static const char *const paths[] = {"/proc/thinwire.db", "/nowhere/x.db"};
    for (size_t i = 0; i < 2; i++) {
        struct error error = {0};
        assert_null(store_open(paths[i], &error));
        expect_line(&error, paths[i], "cannot be");
        error_clear(&error);
        assert_null(store_open_read_only(paths[i], &error));
        expect_line(&error, paths[i], "No such file");
    }
    struct stat info;
    assert_true(stat("/nowhere", &info) != 0);
}

static void databases_of_others(void **state) {
    (void)state;
    write_by_sql(path_of("foreign"), "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    expect_refused(path_of("foreign"), "another program");
    write_by_sql(path_of("gpkg"), "PRAGMA application_id = 1196444487; CREATE TABLE t (x)");
    expect_refused(path_of("gpkg"), "another program");
    write_by_sql(path_of("named"), "PRAGMA application_id = 1196444487; PRAGMA user_version = 1");
    expect_refused(path_of("named"), "another program");
}

static void newer_versions(void **state) {
    (void)state;
    char wanted[64];
    make_database(path_of("newer"));
    snprintf(wanted, sizeof wanted, "PRAGMA user_version = %d", migrate_schema.version + 1);
    write_by_sql(path_of("newer"), wanted);
    snprintf(wanted, sizeof wanted, "schema version %d, this program knows versions up to %d",
             migrate_schema.version + 1, migrate_schema.version);
    expect_refused(path_of("newer"), wanted);
}

static void damaged_databases(void **state) {
    (void)state;
    static char whole[1 << 20];
    make_database(path_of("whole"));
    size_t length = read_bytes(path_of("whole"), whole, sizeof whole);
    static const size_t kept[] = {16, 99, 511, 512, 3000, 4096, 20480};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        assert_true(kept[i] < length);
        write_bytes(path_of("cut"), whole, kept[i]);
        expect_refused(path_of("cut"), "damaged");
    }
    memset(whole + 100, 0xFF, 3996); /* the schema */
    write_bytes(path_of("overwritten"), whole, length);
    expect_refused(path_of("overwritten"), "damaged");
}

/* Damage further in shows when it is read: a line, not a crash. */
static void damage_found_later(void **state) {
    (void)state;
    static char whole[1 << 20];
    make_database(path_of("later"));
    size_t length = read_bytes(path_of("later"), whole, sizeof whole);
    int refused = 0;
    for (size_t page = 1; page < length / 4096; page++) {
        static char copy[1 << 20];
        struct error error = {0};
        struct run_row *rows;
        int64_t count;
        memcpy(copy, whole, length);
        memset(copy + page * 4096, 0xA5, 4096);
        write_bytes(path_of("flipped"), copy, length);
        struct store *store = store_open_read_only(path_of("flipped"), &error);
        enum status status = store ? store_read_runs(store, NULL, 0, &rows, &count, &error) : error.status;
        if (status == STATUS_OK)
            alloc_free(rows);
        else
            expect_line(&error, path_of("flipped"), "damaged"), refused++;
        store_close(store);
    }
    assert_true(refused >= 2); /* the pages of runs and rounds at least */
}

static void empty_files_are_made_new(void **state) {
    (void)state;
    struct error error = {0};
    write_bytes(path_of("empty"), "", 0);
    assert_null(store_open_read_only(path_of("empty"), &error));
    expect_line(&error, path_of("empty"), "empty");
    make_database(path_of("empty"));
    struct store *store = store_open_read_only(path_of("empty"), &error);
    assert_non_null(store);
    store_close(store);
    assert_null(store_open_read_only(path_of("missing"), &error));
    assert_true(access(path_of("missing"), F_OK) != 0);
}

static void readers_change_nothing(void **state) {
    (void)state;
    static char before[1 << 20], after[1 << 20];
    struct error error = {0};
    struct fake fake = fake_strategy(3);
    int64_t id;
    make_database(path_of("read"));
    size_t length = read_bytes(path_of("read"), before, sizeof before);
    struct store *store = store_open_read_only(path_of("read"), &error);
    assert_non_null(store);
    assert_int_equal(fake_begin(store, &fake, &id, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "cannot be written"));
    store_close(store);
    assert_int_equal(read_bytes(path_of("read"), after, sizeof after), length);
    assert_memory_equal(before, after, length);
    char beside[160];
    snprintf(beside, sizeof beside, "%s-wal", path_of("read"));
    assert_true(access(beside, F_OK) != 0);
}

/* In a child, as a user who has no rights there. Returns its exit status. */
static int as_nobody(void (*task)(void)) {
    pid_t child = fork();
    int state = 0;
    if (child == 0) {
        if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0)) _exit(3);
        task();
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &state, 0), child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void use_without_rights(void) {
    struct error error = {0};
    struct run_row *rows;
    int64_t count;
    struct store *store = store_open(path_of("locked/x.db"), &error);
    if (store || error.status != STATUS_INPUT || !strstr(error.message, "cannot be")) _exit(10);
    store = store_open(path_of("locked/new.db"), &error);
    if (store || error.status != STATUS_INPUT || !strstr(error.message, "cannot be")) _exit(11);
    store = store_open_read_only(path_of("locked/x.db"), &error);
    if (!store) _exit(12);
    if (store_read_runs(store, NULL, 0, &rows, &count, &error) != STATUS_OK || count != 1) _exit(13);
    alloc_free(rows);
    store_close(store);
    store = store_open_read_only(path_of("locked/secret.db"), &error);
    if (store || error.status != STATUS_INPUT || !strstr(error.message, "Permission denied")) _exit(14);
}

static void folders_that_cannot_be_written(void **state) {
    (void)state;
    chmod(folder, 0755);
    mkdir(path_of("locked"), 0755);
    make_database(path_of("locked/x.db"));
    make_database(path_of("locked/secret.db"));
    chmod(path_of("locked/x.db"), 0444);
    chmod(path_of("locked/secret.db"), 0000);
    chmod(path_of("locked"), 0555);
    assert_int_equal(as_nobody(use_without_rights), 0);
    chmod(path_of("locked"), 0755);
    chmod(path_of("locked/secret.db"), 0644);
}

/* ---- migration ---- */

static enum status migrate_with(const char *path, const char *const *steps, int32_t version, bool may_write,
                                struct error *error) {
    struct schema schema = {steps, version, "DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT * FROM t"};
    struct database database = {.path = (char *)path};
    assert_int_equal(sqlite3_open(path, &database.handle), SQLITE_OK);
    enum status status = migrate(&database, &schema, may_write, error);
    sqlite3_close(database.handle);
    return status;
}

static int64_t ask_file(const char *path, const char *sql) {
    sqlite3 *handle;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return value;
}

static void older_versions_are_migrated_step_by_step(void **state) {
    (void)state;
    static const char *const steps[] = {"CREATE TABLE t (a); INSERT INTO t VALUES (1)", "ALTER TABLE t ADD b",
                                        "UPDATE t SET b = a + 1", "UPDATE t SET b = 10 * b; broken"};
    struct error error = {0};
    const char *path = path_of("old");
    fake_expect(migrate_with(path, steps, 1, true, &error), &error);
    assert_int_equal(ask_file(path, "PRAGMA user_version"), 1);
    assert_int_equal(migrate_with(path, steps, 3, false, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "schema version 1, this program's is 3"));
    fake_expect(migrate_with(path, steps, 3, true, &error), &error);
    assert_int_equal(ask_file(path, "PRAGMA user_version"), 3);
    assert_int_equal(ask_file(path, "SELECT b FROM v"), 2); /* the view knows the new column */
    /* A step that fails leaves the version before it. */
    assert_int_not_equal(migrate_with(path, steps, 4, true, &error), STATUS_OK);
    assert_int_equal(ask_file(path, "PRAGMA user_version"), 3);
    assert_int_equal(ask_file(path, "SELECT b FROM v"), 2);
    assert_int_equal(migrate_with(path, steps, 2, true, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "schema version 3, this program knows versions up to 2"));
}

static void the_database_is_marked_ours(void **state) {
    (void)state;
    make_database(path_of("ours"));
    assert_int_equal(ask_file(path_of("ours"), "PRAGMA application_id"), DATABASE_APPLICATION);
    assert_int_equal(ask_file(path_of("ours"), "PRAGMA user_version"), migrate_schema.version);
    assert_int_equal(ask_file(path_of("ours"), "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(ask_file(path_of("ours"), "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND "
                                               "type = 'table' AND NOT strict AND name NOT GLOB 'sqlite_*'"),
                     0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_database),
        cmocka_unit_test(places_where_none_can_be),
        cmocka_unit_test(databases_of_others),
        cmocka_unit_test(newer_versions),
        cmocka_unit_test(damaged_databases),
        cmocka_unit_test(damage_found_later),
        cmocka_unit_test(empty_files_are_made_new),
        cmocka_unit_test(readers_change_nothing),
        cmocka_unit_test(folders_that_cannot_be_written),
        cmocka_unit_test(older_versions_are_migrated_step_by_step),
        cmocka_unit_test(the_database_is_marked_ours),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
