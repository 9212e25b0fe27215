/* The product of a scenario's axes: which cells there are, and the settings of each.
 *
 * An axis is a key path with a list of values, each value being settings of its own; seeds are the innermost axis.
 * Cells are numbered with the last axis fastest. Memory: one struct settings (1 KB) per value, nothing per cell.
 */
#ifndef SCENARIOS_GRID_H
#define SCENARIOS_GRID_H

#include "settings.h"

#include "base/array.h"

#define GRID_MAX_CELLS 1000000

struct axis {
    char path[KEY_MAX_PATH];
    const struct yaml_node *list; /* of values, with its key */
    struct settings *values;      /* [count] */
    int32_t count;
};

struct grid {
    ARRAY(struct axis) axes; /* start with {0} */
    int32_t seeds;           /* >= 1 */
};

void grid_clear(struct grid *grid);
/* Takes the map of a `grid:`, dropping what was there; null drops it only. */
NODISCARD enum status grid_read(struct grid *grid, const struct yaml_node *node, struct error *error);
/* Puts one axis, replacing one of the same path; a null node drops it. */
NODISCARD enum status grid_put_axis(struct grid *grid, const char *path, const struct yaml_node *node,
                                    struct error *error);
bool grid_has_axis(const struct grid *grid, const char *path);
void grid_drop_axis(struct grid *grid, const char *path);
/* STATUS_INPUT at the node, with the nearest name, when path is no key and no section. */
NODISCARD enum status grid_check_path(const char *path, const struct yaml_node *node, struct error *error);
/* Drops the axes that say something about the keys of `settings`. */
void grid_drop_overlapping(struct grid *grid, const struct settings *settings);
/* Cells of the product. STATUS_INPUT when there are more than GRID_MAX_CELLS or two axes set the same key. */
NODISCARD enum status grid_count(const struct grid *grid, int64_t *cells, struct error *error);
/* Lays the values of cell `cell` over *settings; *seed_step gets the seed's number, from 0. */
void grid_lay_over(const struct grid *grid, int64_t cell, struct settings *settings, uint64_t *seed_step);
/* "strategy.name=DiLoCo cluster.workers=8", cut to size; without the seed. */
char *grid_label(const struct grid *grid, int64_t cell, char *buffer, size_t size);

#endif
