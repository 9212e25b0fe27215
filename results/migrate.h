/* Schema versions: which program may use which database, and how an old one is brought up to date.
 *
 * PRAGMA user_version counts the steps that were applied: step i leads from version i to i + 1, step 0 makes the
 * tables. All steps that are missing, and then the views, are applied in one transaction. Private to results/.
 */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "database.h"

struct schema {
    const char *const *steps;
    int32_t version; /* number of steps */
    const char *views;
};

extern const struct schema migrate_schema; /* of this program */

/* STATUS_INPUT: a database of another program, or of a newer version; or of an older one while it may not be written.
 */
NODISCARD enum status migrate(const struct database *database, const struct schema *schema, bool may_write,
                              struct error *error);

#endif
