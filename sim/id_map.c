#include "id_map.h"

#include "base/alloc.h"

void id_map_clear(struct id_map *map) {
    alloc_free(map->entries);
    *map = (struct id_map){0};
}

/* Fibonacci hashing: ids that count up spread over the table. */
static int64_t home(const struct id_map *map, int64_t id) {
    return (int64_t)(((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->capacity - 1);
}

/* Where id is, or the empty place where it would go. */
static int64_t find(const struct id_map *map, int64_t id) {
    int64_t i = home(map, id);
    while (map->entries[i].value >= 0 && map->entries[i].id != id) i = (i + 1) & (map->capacity - 1);
    return i;
}

static enum status grow(struct id_map *map, struct error *error) {
    struct id_map larger = {.capacity = map->capacity ? 2 * map->capacity : 16};
    larger.entries = alloc_zero((size_t)larger.capacity, sizeof *larger.entries, "map of transfers", error);
    if (!larger.entries) return STATUS_MEMORY;
    for (int64_t i = 0; i < larger.capacity; i++) larger.entries[i].value = -1;
    for (int64_t i = 0; i < map->capacity; i++)
        if (map->entries[i].value >= 0) larger.entries[find(&larger, map->entries[i].id)] = map->entries[i];
    larger.count = map->count;
    alloc_free(map->entries);
    *map = larger;
    return STATUS_OK;
}

enum status id_map_put(struct id_map *map, int64_t id, int64_t value, struct error *error) {
    if (2 * (map->count + 1) > map->capacity) TRY(grow(map, error));
    int64_t i = find(map, id);
    if (map->entries[i].value < 0) map->count++;
    map->entries[i] = (struct id_map_entry){id, value};
    return STATUS_OK;
}

int64_t id_map_get(const struct id_map *map, int64_t id) {
    return map->capacity ? map->entries[find(map, id)].value : -1;
}

void id_map_remove(struct id_map *map, int64_t id) {
    if (!map->capacity) return;
    int64_t hole = find(map, id);
    if (map->entries[hole].value < 0) return;
    map->entries[hole].value = -1;
    map->count--;
    /* Those that probed past the hole move up, so that no search stops short of them. */
    for (int64_t i = (hole + 1) & (map->capacity - 1); map->entries[i].value >= 0; i = (i + 1) & (map->capacity - 1)) {
        struct id_map_entry entry = map->entries[i];
        map->entries[i].value = -1;
        map->entries[find(map, entry.id)] = entry;
    }
}
