#include "grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void axis_clear(struct axis *axis) {
    alloc_free(axis->values);
    axis->values = NULL;
}

static void drop_axis(struct grid *grid, int64_t index) {
    axis_clear(&grid->axes.items[index]);
    grid->axes.count--;
    memmove(&grid->axes.items[index], &grid->axes.items[index + 1],
            (size_t)(grid->axes.count - index) * sizeof grid->axes.items[0]);
}

void grid_clear(struct grid *grid) {
    while (grid->axes.count > 0) drop_axis(grid, grid->axes.count - 1);
    array_clear(&grid->axes);
}

/* ---- reading ---- */

enum status grid_check_path(const char *path, const struct yaml_node *node, struct error *error) {
    char section[KEY_MAX_PATH] = "", longer[KEY_MAX_PATH];
    const char *name = path;
    for (;;) {
        size_t length = strcspn(name, ".");
        char word[KEY_MAX_PATH];
        snprintf(word, sizeof word, "%.*s", (int)length, name);
        int written = snprintf(longer, sizeof longer, "%s%s%s", section, section[0] ? "." : "", word);
        if (written < 0 || (size_t)written >= sizeof longer || (key_find(longer) < 0 && !key_is_section(longer)) ||
            word[0] == '\0')
            return settings_unknown_key(section, word, node, error);
        if (name[length] == '\0') return STATUS_OK;
        memcpy(section, longer, sizeof section);
        name += length + 1;
    }
}

static enum status read_axis(struct axis *axis, const char *path, const struct yaml_node *node, struct error *error) {
    TRY(grid_check_path(path, node, error));
    int32_t row = key_find(path);
    if (row >= 0 && key_at(row)->kind == KEY_SEEDS)
        return yaml_key_error(node, error, "",
                              "seeds is no axis of the grid; write seeds: 3 at the top, or seed: [...] here");
    if (node->kind != YAML_LIST)
        return yaml_error(node, error, "", "grid: %s must be a list of values, such as [a, b]", path);
    if (node->count == 0)
        return yaml_error(node, error, "", "grid: %s is an empty list; write values or remove it", path);
    if (node->count > GRID_MAX_CELLS / 10)
        return yaml_error(node, error, "", "grid: %s has %d values; at most %d", path, node->count,
                          GRID_MAX_CELLS / 10);
    snprintf(axis->path, sizeof axis->path, "%s", path);
    axis->list = node;
    axis->values = alloc_zero((size_t)node->count, sizeof axis->values[0], "the values of a grid", error);
    if (!axis->values) return STATUS_MEMORY;
    for (const struct yaml_node *item = node->first; item; item = item->next)
        TRY(settings_add(&axis->values[axis->count++], path, item, error));
    return STATUS_OK;
}

void grid_drop_axis(struct grid *grid, const char *path) {
    for (int64_t i = grid->axes.count - 1; i >= 0; i--)
        if (strcmp(grid->axes.items[i].path, path) == 0) drop_axis(grid, i);
}

bool grid_has_axis(const struct grid *grid, const char *path) {
    for (int64_t i = 0; i < grid->axes.count; i++)
        if (strcmp(grid->axes.items[i].path, path) == 0) return true;
    return false;
}

enum status grid_put_axis(struct grid *grid, const char *path, const struct yaml_node *node, struct error *error) {
    if (yaml_is_null(node)) {
        TRY(grid_check_path(path, node, error));
        grid_drop_axis(grid, path);
        return STATUS_OK;
    }
    struct axis axis = {.count = 0};
    enum status status = read_axis(&axis, path, node, error);
    if (status == STATUS_OK) status = array_reserve(&grid->axes, grid->axes.count + 1, error);
    if (status != STATUS_OK) {
        axis_clear(&axis);
        return status;
    }
    grid_drop_axis(grid, path);
    grid->axes.items[grid->axes.count++] = axis;
    return STATUS_OK;
}

enum status grid_read(struct grid *grid, const struct yaml_node *node, struct error *error) {
    while (grid->axes.count > 0) drop_axis(grid, grid->axes.count - 1);
    if (yaml_is_null(node)) return STATUS_OK;
    if (yaml_is_empty(node) || node->kind != YAML_MAP)
        return yaml_error(node, error, "grid",
                          "must be a map of keys to lists, such as {strategy.name: [DDP, DiLoCo]}");
    for (const struct yaml_node *child = node->first; child; child = child->next)
        TRY(grid_put_axis(grid, child->key, child, error));
    return STATUS_OK;
}

/* ---- axes against settings and each other ---- */

static int32_t axis_overlap(const struct axis *axis, const struct settings *settings) {
    int32_t row = -1;
    for (int32_t i = 0; i < axis->count && row < 0; i++) row = settings_overlap(&axis->values[i], settings);
    return row;
}

/* All keys that some value of the axis gives. */
static struct settings axis_union(const struct axis *axis) {
    struct settings all = {{0}};
    for (int32_t i = 0; i < axis->count; i++)
        for (int32_t row = 0; row < key_count(); row++)
            if (axis->values[i].nodes[row]) all.nodes[row] = axis->values[i].nodes[row];
    return all;
}

void grid_drop_overlapping(struct grid *grid, const struct settings *settings) {
    for (int64_t i = grid->axes.count - 1; i >= 0; i--)
        if (axis_overlap(&grid->axes.items[i], settings) >= 0) drop_axis(grid, i);
}

static enum status check_overlaps(const struct grid *grid, struct error *error) {
    for (int64_t i = 0; i < grid->axes.count; i++) {
        const struct axis *axis = &grid->axes.items[i];
        struct settings all = axis_union(axis);
        for (int64_t j = i + 1; j < grid->axes.count; j++) {
            const struct axis *other = &grid->axes.items[j];
            if (axis_overlap(other, &all) >= 0)
                return yaml_key_error(other->list, error, "", "grid: %s and %s decide the same key; keep one axis",
                                      other->path, axis->path);
        }
    }
    return STATUS_OK;
}

enum status grid_count(const struct grid *grid, int64_t *cells, struct error *error) {
    TRY(check_overlaps(grid, error));
    int64_t product = grid->seeds;
    const struct yaml_node *last = NULL;
    for (int64_t i = 0; i < grid->axes.count && product <= GRID_MAX_CELLS; i++) {
        product *= grid->axes.items[i].count; /* at most 1e6 * 1e5 */
        last = grid->axes.items[i].list;
    }
    if (product > GRID_MAX_CELLS)
        return last ? yaml_key_error(last, error, "", "grid: %" PRId64 " cells or more with the seeds; at most %d",
                                     product, GRID_MAX_CELLS)
                    : error_set(error, STATUS_INPUT, "seeds: %" PRId64 " cells; at most %d", product, GRID_MAX_CELLS);
    *cells = product;
    return STATUS_OK;
}

/* ---- cells ---- */

static int64_t combinations_below(const struct grid *grid, int64_t axis) {
    int64_t product = grid->seeds;
    for (int64_t i = axis + 1; i < grid->axes.count; i++) product *= grid->axes.items[i].count;
    return product;
}

static int32_t value_of(const struct grid *grid, int64_t cell, int64_t axis) {
    return (int32_t)(cell / combinations_below(grid, axis) % grid->axes.items[axis].count);
}

void grid_lay_over(const struct grid *grid, int64_t cell, struct settings *settings, uint64_t *seed_step) {
    for (int64_t i = 0; i < grid->axes.count; i++)
        settings_lay_over(settings, &grid->axes.items[i].values[value_of(grid, cell, i)]);
    *seed_step = (uint64_t)(cell % grid->seeds);
}

struct label {
    char *buffer;
    size_t size, used;
};

static void label_append(struct label *label, const char *text) {
    if (label->used + 1 >= label->size) return;
    snprintf(label->buffer + label->used, label->size - label->used, "%s", text);
    label->used += strlen(label->buffer + label->used);
}

static void label_value(struct label *label, const struct yaml_node *node) {
    if (node->kind == YAML_SCALAR) {
        label_append(label, node->text);
        return;
    }
    label_append(label, node->kind == YAML_LIST ? "[" : "{");
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        if (child != node->first) label_append(label, ", ");
        if (child->key) label_append(label, child->key), label_append(label, ": ");
        label_value(label, child);
    }
    label_append(label, node->kind == YAML_LIST ? "]" : "}");
}

char *grid_label(const struct grid *grid, int64_t cell, char *buffer, size_t size) {
    struct label label = {.buffer = buffer, .size = size};
    buffer[0] = '\0';
    for (int64_t i = 0; i < grid->axes.count; i++) {
        const struct axis *axis = &grid->axes.items[i];
        const struct yaml_node *value = axis->list->first;
        for (int32_t k = value_of(grid, cell, i); k > 0; k--) value = value->next;
        if (i) label_append(&label, " ");
        label_append(&label, axis->path);
        label_append(&label, "=");
        label_value(&label, value);
    }
    return buffer;
}
