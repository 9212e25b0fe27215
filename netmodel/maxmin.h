/* Max-min fair rates for variables that share constraints (progressive filling).
 *
 * Knows nothing of links or flows: topology.c makes a link a constraint, flow.c a moving flow a variable. Adding,
 * removing or changing marks the constraints concerned; maxmin_solve() recomputes only the components that hold a
 * marked one, in O(E log E) of their edges. Source: Bertsekas & Gallager, Data Networks, max-min flow control.
 * Not for: weighted fairness.
 */
#ifndef MAXMIN_H
#define MAXMIN_H

#include "base/array.h"

struct maxmin; /* one thread at a time */

NODISCARD struct maxmin *maxmin_create(struct error *error);
void maxmin_free(struct maxmin *system); /* NULL is fine */

/* A constraint of capacity >= 0 (bytes per second; 0 stalls its variables; INFINITY never binds). Returns its index, or
 * -1 on lack of memory. */
int32_t maxmin_add_constraint(struct maxmin *system, double capacity, struct error *error);
void maxmin_set_capacity(struct maxmin *system, int32_t constraint, double capacity);
double maxmin_capacity(const struct maxmin *system, int32_t constraint);

/* A variable that uses each listed constraint once per mention, its rate at most `bound` (INFINITY: none). `tag` comes
 * back from maxmin_changed(). Indices of removed variables are used again. -1 on lack of memory. */
int32_t maxmin_add_variable(struct maxmin *system, double bound, const int32_t *constraints, int32_t count, int64_t tag,
                            struct error *error);
void maxmin_remove_variable(struct maxmin *system, int32_t variable);
void maxmin_set_bound(struct maxmin *system, int32_t variable, double bound);

/* Recomputes what is marked. Afterwards maxmin_changed() lists the variables whose component was recomputed. */
NODISCARD enum status maxmin_solve(struct maxmin *system, struct error *error);
bool maxmin_dirty(const struct maxmin *system);
int64_t maxmin_changed(const struct maxmin *system, const int32_t **variables);
double maxmin_rate(const struct maxmin *system, int32_t variable);
int64_t maxmin_tag(const struct maxmin *system, int32_t variable);
/* Sum of the rates over a constraint, as of the last solve. */
double maxmin_load(const struct maxmin *system, int32_t constraint);

#endif
