/* scenario_read(): file and overrides to settings and a grid, every cell checked, equal cells kept once.
 *
 * Cells are not stored: resolving one takes microseconds, and a def is 6 KB. The last CELLS_HELD that were asked for
 * are held, so pointers to them stay good.
 */
#include "grid.h"
#include "resolve.h"
#include "value.h"

#include "scenarios.h"

#include "base/hash.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_HELD 64

struct held_cell {
    int64_t cell; /* + 1, so that 0 = none */
    struct sim_def def;
    char label[512];
};

struct scenario {
    ARRAY(struct yaml *) documents; /* the file, then the overrides; nodes point into them */
    struct settings base;
    struct grid grid;
    char file[PATH_MAX];    /* as errors name it */
    char folder[PATH_MAX];  /* absolute */
    char current[PATH_MAX]; /* absolute */
    char default_name[64];
    char name[64];   /* of the first cell */
    bool overridden; /* by --set: then idle keys of the file are no fault */
    int64_t cell_count;
    int32_t *cells;         /* [cell_count] numbers in the grid */
    struct held_cell *held; /* [CELLS_HELD] */
};

/* ---- the file ---- */

static void name_folders(struct scenario *scenario, const char *path) {
    char folder[PATH_MAX];
    const char *slash = strcmp(path, "-") == 0 ? NULL : strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    if (!realpath(folder, scenario->folder)) snprintf(scenario->folder, sizeof scenario->folder, "%s", ".");
    if (!realpath(".", scenario->current)) snprintf(scenario->current, sizeof scenario->current, "%s", ".");
}

/* The file's name without folder and extension. */
static void name_scenario(struct scenario *scenario, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    int length = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(scenario->default_name, sizeof scenario->default_name, "%.*s", length > 63 ? 63 : length, base);
    for (char *c = scenario->default_name; *c; c++)
        if ((unsigned char)*c < 32) *c = '_';
}

static enum status keep(struct scenario *scenario, struct yaml *yaml, struct error *error) {
    enum status status = array_reserve(&scenario->documents, scenario->documents.count + 1, error);
    if (status != STATUS_OK)
        yaml_free(yaml);
    else
        scenario->documents.items[scenario->documents.count++] = yaml;
    return status;
}

static enum status read_document(struct scenario *scenario, const char *path, struct error *error) {
    bool standard_input = strcmp(path, "-") == 0;
    snprintf(scenario->file, sizeof scenario->file, "%s", standard_input ? "stdin" : path);
    name_folders(scenario, path);
    name_scenario(scenario, path);
    struct yaml *yaml = NULL;
    TRY(yaml_read_file(path, &yaml, error));
    TRY(keep(scenario, yaml, error));
    const struct yaml_node *root = yaml_root(yaml);
    struct settings written = {{0}};
    TRY(settings_add(&written, "", root, error));
    settings_lay_over(&scenario->base, &written);
    const struct yaml_node *grid = root->kind == YAML_MAP ? yaml_child(root, "grid") : NULL;
    return grid ? grid_read(&scenario->grid, grid, error) : STATUS_OK;
}

/* ---- overrides ---- */

static enum status apply_override(struct scenario *scenario, const char *path, const struct yaml_node *node,
                                  struct error *error) {
    if (strcmp(path, "grid") == 0) return grid_read(&scenario->grid, node, error);
    if (strncmp(path, "grid.", 5) == 0) return grid_put_axis(&scenario->grid, path + 5, node, error);
    struct settings top = {{0}};
    TRY(grid_check_path(path, node, error));
    TRY(settings_add(&top, path, node, error));
    grid_drop_overlapping(&scenario->grid, &top);
    settings_lay_over(&scenario->base, &top);
    return STATUS_OK;
}

static enum status read_override(struct scenario *scenario, const char *override, struct error *error) {
    char path[2 * KEY_MAX_PATH];
    const char *equals = strchr(override, '=');
    if (!equals || equals == override)
        return error_set(error, STATUS_INPUT, "--set '%.100s' has no key and value; write --set key=value", override);
    if ((size_t)(equals - override) >= sizeof path)
        return error_set(error, STATUS_INPUT, "--set %.40s...: unknown key; docs/scenario.md lists all", override);
    snprintf(path, sizeof path, "%.*s", (int)(equals - override), override);
    struct yaml *yaml =
        yaml_parse(equals + 1, strlen(equals + 1), &(struct yaml_origin){.file = "", .set = path}, error);
    if (!yaml) return error->status;
    TRY(keep(scenario, yaml, error));
    return apply_override(scenario, path, yaml_root(yaml), error);
}

static enum status settle_seeds(struct scenario *scenario, int32_t seeds, struct error *error) {
    const struct yaml_node *node = scenario->base.nodes[key_find("seeds")];
    scenario->grid.seeds = 1;
    if (node) TRY(value_read_seeds(node, &scenario->grid.seeds, error));
    if (seeds > 0) {
        scenario->grid.seeds = seeds;
        grid_drop_axis(&scenario->grid, "seed");
    } else if (scenario->grid.seeds > 1 && grid_has_axis(&scenario->grid, "seed")) {
        return yaml_key_error(node, error, "seeds", "stands beside an axis of seed in the grid; write one");
    }
    return STATUS_OK;
}

/* ---- cells ---- */

static struct resolve_context context_of(const struct scenario *scenario) {
    return (struct resolve_context){.folder = scenario->folder,
                                    .current = scenario->current,
                                    .file = scenario->file,
                                    .name = scenario->default_name};
}

static struct settings settings_of(const struct scenario *scenario, int64_t number, uint64_t *seed_step) {
    struct settings settings = scenario->base;
    grid_lay_over(&scenario->grid, number, &settings, seed_step);
    return settings;
}

/* A value is at fault where it stands; that values do not go together is a fault of the cell, which is named. */
static enum status blame_cell(const struct scenario *scenario, int64_t number, enum status status,
                              struct error *error) {
    if (status != STATUS_INPUT || scenario->grid.axes.count == 0) return status;
    char label[128];
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, " (in the cell %s)",
             grid_label(&scenario->grid, number, label, sizeof label));
    return status;
}

static enum status resolve(const struct scenario *scenario, int64_t number, struct sim_def *def, struct usage *usage,
                           struct error *error) {
    uint64_t seed_step = 0;
    const struct settings settings = settings_of(scenario, number, &seed_step);
    const struct resolve_context context = context_of(scenario);
    TRY(resolve_cell(&settings, &context, seed_step, def, usage, error));
    return blame_cell(scenario, number, resolve_check(&settings, &context, def, error), error);
}

struct cell_name {
    char hex[HASH_HEX_SIZE];
    int32_t number;
};

static int compare_names(const void *left, const void *right) {
    const struct cell_name *a = left, *b = right;
    int order = strcmp(a->hex, b->hex);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_numbers(const void *left, const void *right) {
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

static enum status resolve_all(struct scenario *scenario, int64_t count, struct cell_name *names, struct usage *usage,
                               struct error *error) {
    struct sim_def def;
    for (int64_t i = 0; i < count; i++) {
        TRY(resolve(scenario, i, &def, usage, error));
        TRY(scenario_hash(&def, names[i].hex, error));
        names[i].number = (int32_t)i;
    }
    return STATUS_OK;
}

/* Of equal cells the first stays. */
static enum status keep_unique(struct scenario *scenario, int64_t count, struct cell_name *names, struct error *error) {
    scenario->cells = alloc_zero((size_t)count, sizeof scenario->cells[0], "the cells of a grid", error);
    if (!scenario->cells) return STATUS_MEMORY;
    qsort(names, (size_t)count, sizeof names[0], compare_names);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i - 1].hex, names[i].hex) != 0)
            scenario->cells[scenario->cell_count++] = names[i].number;
    qsort(scenario->cells, (size_t)scenario->cell_count, sizeof scenario->cells[0], compare_numbers);
    return STATUS_OK;
}

static const struct yaml_node *any_node(const struct scenario *scenario, int32_t row) {
    for (int64_t i = 0; i < scenario->grid.axes.count; i++)
        for (int32_t k = 0; k < scenario->grid.axes.items[i].count; k++)
            if (scenario->grid.axes.items[i].values[k].nodes[row])
                return scenario->grid.axes.items[i].values[k].nodes[row];
    return scenario->base.nodes[row];
}

/* A key that nothing reads in any cell is a mistake: it would be accepted and ignored. */
static enum status check_usage(const struct scenario *scenario, const struct usage *usage, struct error *error) {
    for (int32_t row = 0; row < key_count(); row++) {
        if (!usage->idle[row] || usage->effective[row]) continue;
        const struct yaml_node *node = any_node(scenario, row);
        if (scenario->overridden && !node->origin->set) continue;
        return yaml_key_error(node, error, key_at(row)->path, "has no effect here; it needs %s", key_at(row)->needs);
    }
    return STATUS_OK;
}

static enum status find_cells(struct scenario *scenario, struct error *error) {
    int64_t count = 0;
    struct usage usage = {.effective = {false}};
    TRY(grid_count(&scenario->grid, &count, error));
    struct cell_name *names = alloc_zero((size_t)count, sizeof *names, "the cells of a grid", error);
    if (!names) return STATUS_MEMORY;
    enum status status = resolve_all(scenario, count, names, &usage, error);
    if (status == STATUS_OK) status = check_usage(scenario, &usage, error);
    if (status == STATUS_OK) status = keep_unique(scenario, count, names, error);
    alloc_free(names);
    return status;
}

static enum status read_all(struct scenario *scenario, const char *path, const char *const *overrides,
                            int32_t override_count, int32_t seeds, struct error *error) {
    TRY(read_document(scenario, path, error));
    scenario->overridden = override_count > 0;
    for (int32_t i = 0; i < override_count; i++) TRY(read_override(scenario, overrides[i], error));
    TRY(settle_seeds(scenario, seeds, error));
    return find_cells(scenario, error);
}

/* ---- the door ---- */

struct scenario *scenario_read(const char *path, const char *const *overrides, int32_t override_count, int32_t seeds,
                               struct error *error) {
    struct error unused;
    if (!error) error = &unused;
    error_clear(error);
    struct scenario *scenario = alloc_zero(1, sizeof *scenario, "a scenario", error);
    if (!scenario) return NULL;
    scenario->held = alloc_zero(CELLS_HELD, sizeof scenario->held[0], "the cells of a scenario", error);
    if (!scenario->held || read_all(scenario, path, overrides, override_count, seeds, error) != STATUS_OK) {
        scenario_free(scenario);
        return NULL;
    }
    snprintf(scenario->name, sizeof scenario->name, "%s", scenario_cell(scenario, 0)->name);
    return scenario;
}

void scenario_free(struct scenario *scenario) {
    if (!scenario) return;
    grid_clear(&scenario->grid);
    for (int64_t i = 0; i < scenario->documents.count; i++) yaml_free(scenario->documents.items[i]);
    array_clear(&scenario->documents);
    alloc_free(scenario->cells);
    alloc_free(scenario->held);
    alloc_free(scenario);
}

const char *scenario_name(const struct scenario *scenario) {
    return scenario->name;
}

int64_t scenario_cell_count(const struct scenario *scenario) {
    return scenario->cell_count;
}

static void write_label(const struct scenario *scenario, int64_t number, struct held_cell *held) {
    grid_label(&scenario->grid, number, held->label, sizeof held->label);
    size_t used = strlen(held->label);
    if (scenario->grid.seeds > 1)
        snprintf(held->label + used, sizeof held->label - used, "%sseed=%" PRIu64, used ? " " : "", held->def.seed);
}

static const struct held_cell *hold(const struct scenario *scenario, int64_t cell) {
    assert(cell >= 0 && cell < scenario->cell_count);
    struct held_cell *held = &scenario->held[cell % CELLS_HELD];
    if (held->cell == cell + 1) return held;
    uint64_t seed_step = 0;
    const struct settings settings = settings_of(scenario, scenario->cells[cell], &seed_step);
    const struct resolve_context context = context_of(scenario);
    enum status status = resolve_cell(&settings, &context, seed_step, &held->def, NULL, NULL);
    assert(status == STATUS_OK); /* it was when the scenario was read */
    (void)status;
    write_label(scenario, scenario->cells[cell], held);
    held->cell = cell + 1;
    return held;
}

const struct sim_def *scenario_cell(const struct scenario *scenario, int64_t cell) {
    return &hold(scenario, cell)->def;
}

const char *scenario_cell_label(const struct scenario *scenario, int64_t cell) {
    return hold(scenario, cell)->label;
}
