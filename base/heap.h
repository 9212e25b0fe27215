/* Priority queue for events: a 4-ary heap ordered by (time, phase, sequence).
 *
 * Equal times fire by phase, equal phases in the order of insertion (the sequence number is given by the heap).
 * Push and pop cost O(log n); nothing is removed from the middle: holders keep a generation number and ignore stale
 * entries. Good to about 1e5 pending entries.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "array.h"

struct heap_entry {
    int64_t time_ns;
    int32_t phase;
    uint32_t generation; /* the holder's, to recognise a stale entry */
    int64_t sequence;
    int64_t payload; /* the holder's index */
};

struct heap {
    ARRAY(struct heap_entry) entries;
    int64_t next_sequence;
};

void heap_clear(struct heap *heap); /* start with {0} */
NODISCARD enum status heap_push(struct heap *heap, int64_t time_ns, int32_t phase, uint32_t generation, int64_t payload,
                                struct error *error);
bool heap_peek(const struct heap *heap, struct heap_entry *entry); /* false when empty */
bool heap_pop(struct heap *heap, struct heap_entry *entry);        /* false when empty */

#endif
