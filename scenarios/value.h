/* One value of one key: from YAML into the def, and from the def into canonical JSON.
 *
 * Parse stands beside print, kind by kind; what is printed parses to the same bits. Rules that concern two keys are in
 * resolve.c.
 */
#ifndef SCENARIOS_VALUE_H
#define SCENARIOS_VALUE_H

#include "keys.h"
#include "yaml.h"

struct text;

struct value_context {
    const char *folder;  /* absolute; relative data paths written in the file start here */
    const char *current; /* and those given by --set here */
    bool has_program;    /* strategy.program is given too, so strategy.name may be any text */
};

/* Checks the node against the row and stores it in *def. STATUS_INPUT at the node. */
NODISCARD enum status value_read(const struct key *key, const struct yaml_node *node,
                                 const struct value_context *context, struct sim_def *def, struct error *error);
/* The number of seeds, which no def holds. */
NODISCARD enum status value_read_seeds(const struct yaml_node *node, int32_t *seeds, struct error *error);
/* Whether canonical JSON shows the row: no aliases, and a path only for the corpus that uses it. */
bool value_is_printed(const struct key *key, const struct sim_def *def);
void value_print(const struct key *key, const struct sim_def *def, struct text *json);

/* For rows with `applies`: whether both hold the same value; take it over from another def. */
bool value_equal(const struct key *key, const struct sim_def *a, const struct sim_def *b);
void value_copy(const struct key *key, const struct sim_def *from, struct sim_def *to);

#endif
