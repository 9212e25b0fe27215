/* An open SQLite database of ours: opening with all checks, statements, and SQLite's faults in our words.
 *
 * Private to results/. Opening costs a few page reads. A file that is no database of ours is never written to.
 */
#ifndef DATABASE_H
#define DATABASE_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>

/* "twir": PRAGMA application_id of every thinwire database. */
#define DATABASE_APPLICATION 0x74776972

struct database {
    sqlite3 *handle;
    char *path;
};

/* may_write: makes a file that is missing or empty, and migrates an older one. On failure *database is cleared. */
NODISCARD enum status database_open(struct database *database, const char *path, bool may_write, struct error *error);
void database_close(struct database *database); /* a cleared one is fine */

/* SQLite's last fault as a status and a message with the path. Never STATUS_OK. */
enum status database_fault(const struct database *database, struct error *error);

/* Statements without results. */
NODISCARD enum status database_execute(const struct database *database, const char *sql, struct error *error);
NODISCARD enum status database_prepare(const struct database *database, const char *sql, sqlite3_stmt **statement,
                                       struct error *error);
/* *row tells whether there was a row; at the end the statement is reset. */
NODISCARD enum status database_step(const struct database *database, sqlite3_stmt *statement, bool *row,
                                    struct error *error);
/* Executes a statement that returns nothing, and resets it. */
NODISCARD enum status database_run(const struct database *database, sqlite3_stmt *statement, struct error *error);

double database_real(sqlite3_stmt *statement, int column);      /* NAN for NULL */
const char *database_text(sqlite3_stmt *statement, int column); /* "" for NULL; until the next step */

#endif
