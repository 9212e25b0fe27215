/* Max-min fair rates of variables that share constraints, by progressive filling.
 *
 * Knows nothing of links or flows: a link is a constraint, a flow a variable. All variables rise together until a
 * constraint is full (or a variable has reached its cap); those in it stay, the others go on (Bertsekas & Gallager,
 * Data Networks, section 6.5.2). A change marks the constraints it touches, and maxmin_solve() recomputes the
 * components that hold marked ones, O(E log C) each; a variable that is alone on its constraints gets its rate in
 * O(1) when it is added. Up to rounding, results do not depend on the order of adding.
 * Not for: weighted fairness.
 */
#ifndef MAXMIN_H
#define MAXMIN_H

#include "base/error.h"

#include <stdbool.h>

struct maxmin;

/* A system of `constraint_count` constraints of infinite capacity, no variables. NULL and *error on lack of memory. */
NODISCARD struct maxmin *maxmin_create(int32_t constraint_count, struct error *error);
void maxmin_free(struct maxmin *system); /* NULL is fine */

/* capacity >= 0; 0 stops its variables, INFINITY limits none. */
void maxmin_set_capacity(struct maxmin *system, int32_t constraint, double capacity);

/* Adds a variable that uses constraints[0 .. count): one that is named k times carries k times the variable's rate.
 * rate <= cap (INFINITY = none). `owner` is the caller's name for it. STATUS_MEMORY leaves the system as it was. */
NODISCARD enum status maxmin_add_variable(struct maxmin *system, int32_t owner, double cap, const int32_t *constraints,
                                          int32_t count, int32_t *variable, struct error *error);
void maxmin_remove_variable(struct maxmin *system, int32_t variable);
void maxmin_set_cap(struct maxmin *system, int32_t variable, double cap);

/* Brings all rates up to date. Allocates nothing. */
void maxmin_solve(struct maxmin *system);

/* Takes one variable whose rate has changed (or that is new) since it was last taken; false when there is none. */
bool maxmin_next_changed(struct maxmin *system, int32_t *variable);
/* Whether rates are out of date or changes have not been taken. */
bool maxmin_is_dirty(const struct maxmin *system);

double maxmin_rate(const struct maxmin *system, int32_t variable); /* valid until the next change */
int32_t maxmin_owner(const struct maxmin *system, int32_t variable);
int32_t maxmin_bottleneck(const struct maxmin *system,
                          int32_t variable);              /* the constraint that limits it; -1: its cap */
int64_t maxmin_computations(const struct maxmin *system); /* components whose rates were computed */

#endif
