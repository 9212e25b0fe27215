#include "array.h"

enum status array_reserve_bytes(void **items, int64_t *capacity, int64_t wanted, size_t size, struct error *error) {
    if (wanted <= *capacity) return STATUS_OK;
    int64_t doubled = *capacity > INT64_MAX / 2 ? wanted : 2 * *capacity;
    int64_t next = wanted > doubled ? wanted : doubled;
    if (next < 8) next = 8;
    void *grown = alloc_grow(*items, (size_t)*capacity, (size_t)next, size, "array", error);
    if (!grown) return STATUS_MEMORY;
    *items = grown;
    *capacity = next;
    return STATUS_OK;
}
