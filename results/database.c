#include "database.h"

#include "migrate.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_PATIENCE_MS = 20000 };

/* ---- faults ---- */

static enum status fault_at(const struct database *database, enum status status, const char *text,
                            struct error *error) {
    return error_at(error, status, database->path, 0, 0, "%s", text);
}

enum status database_fault(const struct database *database, struct error *error) {
    int code = sqlite3_errcode(database->handle) & 0xFF;
    char text[320];
    switch (code) {
    case SQLITE_NOMEM:
        return error_set(error, STATUS_MEMORY, "no memory for the database '%s'", database->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        snprintf(text, sizeof text, "the database is locked by another process and stayed so for %d s",
                 LOCK_PATIENCE_MS / 1000);
        return fault_at(database, STATUS_IO, text, error);
    case SQLITE_FULL:
        return fault_at(database, STATUS_IO, "the disk is full; the database is whole up to the last round", error);
    case SQLITE_NOTADB:
        return fault_at(database, STATUS_INPUT, "this file is no SQLite database; name another file", error);
    case SQLITE_CANTOPEN:
        return fault_at(database, STATUS_INPUT,
                        "the database cannot be opened or made here; is its folder there and may it be written?",
                        error);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return fault_at(database, STATUS_INPUT,
                        "the database cannot be written; check the rights of the file and its folder", error);
    case SQLITE_CORRUPT:
        snprintf(text, sizeof text, "the database is damaged (%s); restore a copy or name another file",
                 sqlite3_errmsg(database->handle));
        return fault_at(database, STATUS_INPUT, text, error);
    default:
        snprintf(text, sizeof text, "SQLite reports: %s", sqlite3_errmsg(database->handle));
        return fault_at(database, STATUS_IO, text, error);
    }
}

/* ---- opening ---- */

/* SQLite takes a short file of anything for an empty database, and would overwrite it. */
static enum status check_header(const struct database *database, int descriptor, bool may_write, struct error *error) {
    static const char magic[16] = "SQLite format 3"; /* its terminator included */
    char header[sizeof magic];
    struct stat info;
    if (fstat(descriptor, &info) != 0) return error_at(error, STATUS_IO, database->path, 0, 0, "%s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return fault_at(database, STATUS_INPUT, "not a regular file; a database needs one", error);
    if (info.st_size == 0)
        return may_write ? STATUS_OK
                         : fault_at(database, STATUS_INPUT, "the database is empty; play a scenario first", error);
    ssize_t count = pread(descriptor, header, sizeof header, 0);
    if (count < 0) return error_at(error, STATUS_IO, database->path, 0, 0, "%s", strerror(errno));
    if (count < (ssize_t)sizeof header || memcmp(header, magic, sizeof header) != 0)
        return fault_at(database, STATUS_INPUT, "this file is no SQLite database; name another file", error);
    if (info.st_size < 512)
        return fault_at(database, STATUS_INPUT,
                        "the database is damaged (cut short); restore a copy or name another file", error);
    return STATUS_OK;
}

static enum status check_file(const struct database *database, bool may_write, struct error *error) {
    int descriptor = open(database->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT && may_write) return STATUS_OK;
    if (descriptor < 0)
        return error_at(error, STATUS_INPUT, database->path, 0, 0, "cannot open the database: %s", strerror(errno));
    enum status status = check_header(database, descriptor, may_write, error);
    close(descriptor);
    return status;
}

/* A database in a folder that cannot be written has no place for the shared memory of its log. With no log beside it
 * the file itself is complete and can be read as it is. */
static int open_immutable(struct database *database) {
    char *uri = sqlite3_mprintf("file:%s?immutable=1", database->path),
         *log = sqlite3_mprintf("%s-wal", database->path);
    struct stat info;
    int code = SQLITE_CANTOPEN;
    if (!uri || !log)
        code = SQLITE_NOMEM;
    else if (!strpbrk(database->path, "?#%") && (stat(log, &info) != 0 || info.st_size == 0)) {
        sqlite3_close(database->handle);
        database->handle = NULL;
        code = sqlite3_open_v2(uri, &database->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    }
    sqlite3_free(uri);
    sqlite3_free(log);
    return code;
}

/* Whether the schema can be read at all. */
static int probe(sqlite3 *handle) {
    return sqlite3_exec(handle, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL, NULL, NULL);
}

static enum status open_handle(struct database *database, bool may_write, struct error *error) {
    /* Readers open for writing where they can: only then does the last of them tidy the log away. query_only holds
     * them. */
    int flags = SQLITE_OPEN_READWRITE | (may_write ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(database->path, &database->handle, flags, NULL) != SQLITE_OK)
        return database->handle ? database_fault(database, error)
                                : error_set(error, STATUS_MEMORY, "no memory for the database '%s'", database->path);
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_timeout(database->handle, LOCK_PATIENCE_MS);
    int code = probe(database->handle) & 0xFF;
    if (!may_write && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)) code = open_immutable(database);
    if (code != SQLITE_OK) return database_fault(database, error);
    if (may_write && sqlite3_db_readonly(database->handle, "main") == 1)
        return fault_at(database, STATUS_INPUT,
                        "the database cannot be written; check the rights of the file and its folder", error);
    return STATUS_OK;
}

static enum status open_checked(struct database *database, bool may_write, struct error *error) {
    TRY(check_file(database, may_write, error));
    TRY(open_handle(database, may_write, error));
    TRY(migrate(database, &migrate_schema, may_write, error));
    /* In a log, NORMAL loses at most the last rounds to a power cut, and nothing to a killed process. */
    return database_execute(
        database, may_write ? "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON" : "PRAGMA query_only = ON",
        error);
}

enum status database_open(struct database *database, const char *path, bool may_write, struct error *error) {
    *database = (struct database){0};
    if (!path[0]) return error_set(error, STATUS_INPUT, "the name of the database is empty; name a file");
    database->path = alloc_text(path, error);
    if (!database->path) return STATUS_MEMORY;
    enum status status = open_checked(database, may_write, error);
    if (status != STATUS_OK) database_close(database);
    return status;
}

void database_close(struct database *database) {
    sqlite3_close(database->handle);
    alloc_free(database->path);
    *database = (struct database){0};
}

/* ---- statements ---- */

enum status database_execute(const struct database *database, const char *sql, struct error *error) {
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : database_fault(database, error);
}

enum status database_prepare(const struct database *database, const char *sql, sqlite3_stmt **statement,
                             struct error *error) {
    int code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return code == SQLITE_OK ? STATUS_OK : database_fault(database, error);
}

enum status database_step(const struct database *database, sqlite3_stmt *statement, bool *row, struct error *error) {
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW) return STATUS_OK;
    enum status status = code == SQLITE_DONE ? STATUS_OK : database_fault(database, error);
    sqlite3_reset(statement);
    return status;
}

enum status database_run(const struct database *database, sqlite3_stmt *statement, struct error *error) {
    bool row;
    return database_step(database, statement, &row, error);
}

double database_real(sqlite3_stmt *statement, int column) {
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, column);
}

const char *database_text(sqlite3_stmt *statement, int column) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}
