/* Which keys are given, and where: rows of the key table to YAML nodes.
 *
 * A scenario file, a --set and one value of a grid axis are all settings; laying one over another gives the settings of
 * a cell. What the values mean is not looked at here, only which keys there are (unknown ones, wrong sections).
 */
#ifndef SCENARIOS_SETTINGS_H
#define SCENARIOS_SETTINGS_H

#include "keys.h"
#include "yaml.h"

#define SETTINGS_MAX 128

struct settings {
    const struct yaml_node *nodes[SETTINGS_MAX]; /* by row; NULL = not given; a null node = back to the default */
};

/* Adds what `node` says for `path`: one key, or a section ("" = the whole file, whose `grid` is passed over). */
NODISCARD enum status settings_add(struct settings *settings, const char *path, const struct yaml_node *node,
                                   struct error *error);
/* Lays `top` over `base`: a key given in top also ends the keys of base that it replaces (cluster.link.up by
 * cluster.link.bandwidth). */
void settings_lay_over(struct settings *base, const struct settings *top);
/* Whether laying `top` over a base would change row `row` of it. */
bool settings_touch(const struct settings *top, int32_t row);
/* The row that both settings concern; -1 if there is none. */
int32_t settings_overlap(const struct settings *a, const struct settings *b);
/* "unknown key 'x' ...; did you mean 'y'?" at the key. */
enum status settings_unknown_key(const char *section, const char *name, const struct yaml_node *node,
                                 struct error *error);
/* The node of the first key that a message of a check names and that is given ("model.dim is 64; an even multiple of
 * model.heads ..."), relatives of a key counting as it; NULL if there is none. */
const struct yaml_node *settings_find_subject(const struct settings *settings, const char *message);

#endif
