/* The inside of a store, for the files of results/ that read from it. */
#ifndef STORE_H
#define STORE_H

#include "results.h"

#include "database.h"

enum store_statement {
    STATEMENT_DELETE_RUN,
    STATEMENT_INSERT_RUN,
    STATEMENT_INSERT_ROUND,
    STATEMENT_INSERT_WORKER_ROUND,
    STATEMENT_INSERT_TRANSFER,
    STATEMENT_FINISH_RUN,
    STATEMENTS
};

struct store {
    struct database database;
    sqlite3_stmt *statements[STATEMENTS]; /* prepared at first use */
};

#endif
