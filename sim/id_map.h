/* From the network's ids to our own numbers. Open addressing, linear probing; O(1) expected per call. */
#ifndef SIM_ID_MAP_H
#define SIM_ID_MAP_H

#include "base/error.h"

#include <stdbool.h>

struct id_map_entry {
    int64_t id;
    int64_t value; /* -1: empty */
};
struct id_map { /* start with {0} */
    struct id_map_entry *entries;
    int64_t count;
    int64_t capacity; /* a power of two, or 0 */
};

void id_map_clear(struct id_map *map);
/* value >= 0. An id already there gets the new value. */
NODISCARD enum status id_map_put(struct id_map *map, int64_t id, int64_t value, struct error *error);
int64_t id_map_get(const struct id_map *map, int64_t id); /* -1 when absent */
void id_map_remove(struct id_map *map, int64_t id);       /* absent is fine */

#endif
