#include "migrate.h"

#include "embedded_sql.h"

#include <stdio.h>
#include <time.h>

static const char *const steps[] = {schema_sql};
const struct schema migrate_schema = {steps, sizeof steps / sizeof steps[0], views_sql};

/* What the file says of itself. */
struct identity {
    int64_t application, version, tables;
};

static enum status read_integer(const struct database *database, const char *sql, int64_t *value, struct error *error) {
    sqlite3_stmt *statement;
    bool row = false;
    TRY(database_prepare(database, sql, &statement, error));
    enum status status = database_step(database, statement, &row, error);
    *value = row ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return status;
}

static enum status read_identity(const struct database *database, struct identity *identity, struct error *error) {
    TRY(read_integer(database, "PRAGMA application_id", &identity->application, error));
    TRY(read_integer(database, "PRAGMA user_version", &identity->version, error));
    return read_integer(database, "SELECT count(*) FROM sqlite_schema", &identity->tables, error);
}

static bool is_new(const struct identity *identity) {
    return identity->application == 0 && identity->version == 0 && identity->tables == 0;
}

static enum status check_identity(const struct database *database, const struct identity *identity,
                                  const struct schema *schema, bool may_write, struct error *error) {
    if (is_new(identity))
        return may_write ? STATUS_OK
                         : error_at(error, STATUS_INPUT, database->path, 0, 0,
                                    "the database is empty; play a scenario first");
    if (identity->application != DATABASE_APPLICATION || identity->version < 1)
        return error_at(error, STATUS_INPUT, database->path, 0, 0,
                        "this SQLite database belongs to another program; name another file");
    if (identity->version > schema->version)
        return error_at(
            error, STATUS_INPUT, database->path, 0, 0,
            "the database has schema version %lld, this program knows versions up to %d; use a newer thinwire",
            (long long)identity->version, schema->version);
    if (identity->version < schema->version && !may_write)
        return error_at(error, STATUS_INPUT, database->path, 0, 0,
                        "the database has schema version %lld, this program's is %d, and it cannot be migrated unless "
                        "it can be written",
                        (long long)identity->version, schema->version);
    return STATUS_OK;
}

/* Applies what is missing. Runs in a transaction that nobody else can be in, so the version is read again. */
static enum status apply_missing(const struct database *database, const struct schema *schema, struct error *error) {
    struct identity identity;
    char pragmas[96];
    TRY(read_identity(database, &identity, error));
    TRY(check_identity(database, &identity, schema, true, error));
    if (identity.version == schema->version) return STATUS_OK;
    for (int64_t step = identity.version; step < schema->version; step++)
        TRY(database_execute(database, schema->steps[step], error));
    TRY(database_execute(database, schema->views, error));
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", DATABASE_APPLICATION,
             schema->version);
    return database_execute(database, pragmas, error);
}

/* Write-ahead logging: readers and one writer do not wait for each other. SQLite does not wait for a lock here by
 * itself. A file system that cannot do it keeps the rollback journal, which is slower and as safe. */
static enum status use_write_ahead_log(const struct database *database, struct error *error) {
    for (int attempt = 0;; attempt++) {
        int code = sqlite3_exec(database->handle, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (code == SQLITE_OK) return STATUS_OK;
        if (code != SQLITE_BUSY || attempt == 1000) return database_fault(database, error);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
}

enum status migrate(const struct database *database, const struct schema *schema, bool may_write, struct error *error) {
    struct identity identity = {0};
    TRY(read_identity(database, &identity, error));
    TRY(check_identity(database, &identity, schema, may_write, error));
    if (identity.version == schema->version) return STATUS_OK;
    TRY(use_write_ahead_log(database, error));
    TRY(database_execute(database, "BEGIN IMMEDIATE", error));
    enum status status = apply_missing(database, schema, error);
    if (status == STATUS_OK) status = database_execute(database, "COMMIT", error);
    if (status != STATUS_OK) sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
