/* scenarios: what a user writes (YAML, --set key=value) to what the simulator plays (struct sim_def), and back to one
 * canonical JSON text.
 *
 * One table of keys (keys.c) says path, kind, offset, range and help of each; reading, printing, hashing, did-you-mean
 * and the reference page come from it. Every fault is reported as file:line:column with what would be right. A grid is
 * a product of values of any keys; its cells are resolved one by one. YAML is known here only.
 */
#ifndef SCENARIOS_SCENARIOS_H
#define SCENARIOS_SCENARIOS_H

#include "sim/sim.h"

struct scenario;

/* Reads and checks the whole file with every cell; equal cells are kept once. path "-" reads standard input.
 *   overrides[i]  "key=value" as --set takes it; the value is YAML. A key of the grid gets that one value, `grid=null`
 *                 drops the grid, `key=null` goes back to the default, `grid.key=[a, b]` adds an axis
 *   seeds > 0     overrides the file's
 * NULL and *error: STATUS_INPUT, with the place, unless memory or a device fails. */
NODISCARD struct scenario *scenario_read(const char *path, const char *const *overrides, int32_t override_count,
                                         int32_t seeds, struct error *error);
void scenario_free(struct scenario *scenario); /* NULL is fine */
const char *scenario_name(const struct scenario *scenario);
/* Cells in order: the first grid key varies slowest, the seed fastest. */
int64_t scenario_cell_count(const struct scenario *scenario);
/* The def holds until a cell 64 or more away is asked for, here or below (a def has 6 KB, and there may be a million);
 * one thread at a time. */
const struct sim_def *scenario_cell(const struct scenario *scenario, int64_t cell);
/* What tells the cell apart, for people: "strategy.name=DiLoCo strategy.inner_steps=50 seed=1"; "" for a lone cell.
 * Holds as long as the def. */
const char *scenario_cell_label(const struct scenario *scenario, int64_t cell);

/* The resolved def as canonical JSON: every key, in the table's order, values as they would be written in a file. */
NODISCARD enum status scenario_print_json(const struct sim_def *def, struct text *json);
/* 32 hexadecimal digits over that text: the cell's name. hex: [33]. */
NODISCARD enum status scenario_hash(const struct sim_def *def, char *hex, struct error *error);

/* The reference page of keys, Markdown. */
NODISCARD enum status scenario_print_reference(struct text *markdown);

/* ---- files for `thinwire flows` ---- */

struct flows_file {
    struct network_def network;
    struct flow_def *flows; /* [count], in the order of the file */
    int64_t *start_ns;
    char (*names)[48];
    int64_t count;
    struct flows_memory *memory; /* what the above points into */
};
/* Input faults have line and column, except those between parts (network_check). On failure *file is empty. */
NODISCARD enum status flows_read(const char *path, struct flows_file *file, struct error *error);
void flows_clear(struct flows_file *file);

#endif
