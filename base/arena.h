/* Memory with a lifetime (run, round or step): blocks are pushed, and freed all together by going back to a mark.
 *
 * One fixed buffer, so pushing is an addition and never fails silently. Blocks are 64-byte aligned. Under
 * AddressSanitizer there are red zones between blocks and memory past a mark is poisoned. The peak is recorded, so
 * that tests compare it with what the `_bytes` functions promised. One thread at a time. Not for: data whose size is
 * unknown when the arena is made.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "error.h"

struct arena;

/* An arena of `bytes` bytes (plus what alignment needs). NULL and *error on lack of memory. */
NODISCARD struct arena *arena_create(size_t bytes, const char *what, struct error *error);
void arena_free(struct arena *arena); /* NULL is fine */

/* What pushing a block of `bytes` takes from the arena: rounded up to 64, red zone included where there is one.
 * Sums of this are what the `_bytes` functions return. */
size_t arena_block_bytes(size_t bytes);

/* count * size bytes, NOT zeroed. Asserts that the arena is large enough: the size was promised by a `_bytes`
 * function, so running out is our own bug. */
void *arena_push(struct arena *arena, size_t count, size_t size);

size_t arena_mark(const struct arena *arena);
void arena_reset(struct arena *arena, size_t mark); /* everything pushed since the mark is gone */

size_t arena_capacity(const struct arena *arena);
size_t arena_peak(const struct arena *arena); /* most bytes ever in use, in arena_block_bytes() units */

#endif
