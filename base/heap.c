#include "heap.h"

enum { WAYS = 4 };

static bool before(const struct heap_entry *a, const struct heap_entry *b) {
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns;
    if (a->phase != b->phase) return a->phase < b->phase;
    return a->sequence < b->sequence;
}

void heap_clear(struct heap *heap) {
    array_clear(&heap->entries);
    heap->next_sequence = 0;
}

enum status heap_push(struct heap *heap, int64_t time_ns, int32_t phase, uint32_t generation, int64_t payload,
                      struct error *error) {
    TRY(array_reserve(&heap->entries, heap->entries.count + 1, error));
    struct heap_entry entry = {time_ns, phase, generation, heap->next_sequence++, payload};
    struct heap_entry *items = heap->entries.items;
    int64_t at = heap->entries.count++;
    while (at > 0 && before(&entry, &items[(at - 1) / WAYS])) {
        items[at] = items[(at - 1) / WAYS];
        at = (at - 1) / WAYS;
    }
    items[at] = entry;
    return STATUS_OK;
}

bool heap_peek(const struct heap *heap, struct heap_entry *entry) {
    if (heap->entries.count == 0) return false;
    *entry = heap->entries.items[0];
    return true;
}

/* The earliest of the children of `at`, or -1. */
static int64_t first_child(const struct heap *heap, int64_t at) {
    int64_t best = -1;
    for (int64_t child = at * WAYS + 1; child <= at * WAYS + WAYS && child < heap->entries.count; child++)
        if (best < 0 || before(&heap->entries.items[child], &heap->entries.items[best])) best = child;
    return best;
}

bool heap_pop(struct heap *heap, struct heap_entry *entry) {
    if (!heap_peek(heap, entry)) return false;
    struct heap_entry *items = heap->entries.items;
    struct heap_entry last = items[--heap->entries.count];
    if (heap->entries.count == 0) return true;
    int64_t at = 0;
    for (int64_t child; (child = first_child(heap, at)) >= 0 && before(&items[child], &last); at = child)
        items[at] = items[child];
    items[at] = last;
    return true;
}
