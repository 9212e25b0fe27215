/* The settings of one cell to its def: values in the table's order, rules that concern several keys, and the check of
 * the simulator, whose complaints get the place of the key that they name.
 *
 * A pure function of its arguments, a few microseconds. A key that has no effect in the cell (outer.lr under DDP) is
 * back at its default afterwards, so that equal cells are equal; struct usage tells whether it had one in any cell.
 */
#ifndef SCENARIOS_RESOLVE_H
#define SCENARIOS_RESOLVE_H

#include "settings.h"

struct usage {
    bool effective[SETTINGS_MAX]; /* the row has an effect in some cell */
    bool idle[SETTINGS_MAX];      /* in some cell it was given a value of its own without effect */
};

struct resolve_context {
    const char *folder;  /* of the scenario file, absolute */
    const char *current; /* the process's folder, absolute */
    const char *file;    /* as errors name it */
    const char *name;    /* of a scenario that has none */
};

/* seed_step is added to the seed. usage may be NULL. Allocates nothing, so it fails with STATUS_INPUT only. */
NODISCARD enum status resolve_cell(const struct settings *settings, const struct resolve_context *context,
                                   uint64_t seed_step, struct sim_def *def, struct usage *usage, struct error *error);

/* sim_check(), its message at the place of the key that it names. */
NODISCARD enum status resolve_check(const struct settings *settings, const struct resolve_context *context,
                                    const struct sim_def *def, struct error *error);

#endif
