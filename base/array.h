/* Growing arrays of any type.
 *
 *     ARRAY(struct op) ops = {0};
 *     TRY(array_reserve(&ops, ops.count + 1, error));
 *     ops.items[ops.count++] = op;
 *     array_clear(&ops);
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "alloc.h"

#define ARRAY(type)                                                                                                    \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        int64_t count;                                                                                                 \
        int64_t capacity;                                                                                              \
    }

/* Makes room for `wanted` items at least, doubling. STATUS_MEMORY leaves the array as it was. */
#define array_reserve(array, wanted, error)                                                                            \
    array_reserve_bytes((void **)&(array)->items, &(array)->capacity, (wanted), sizeof *(array)->items, (error))
#define array_clear(array)                                                                                             \
    do {                                                                                                               \
        alloc_free((array)->items);                                                                                    \
        (array)->items = NULL;                                                                                         \
        (array)->count = (array)->capacity = 0;                                                                        \
    } while (0)

NODISCARD enum status array_reserve_bytes(void **items, int64_t *capacity, int64_t wanted, size_t size,
                                          struct error *error);

#endif
