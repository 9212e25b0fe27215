#include "arena.h"

#include "alloc.h"

#include <assert.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_RED_ZONES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_RED_ZONES 1
#endif
#endif

#ifdef ARENA_RED_ZONES
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 64 };
#define POISON(from, size)   __asan_poison_memory_region((from), (size))
#define UNPOISON(from, size) __asan_unpoison_memory_region((from), (size))
#else
enum { RED_ZONE = 0 };
#define POISON(from, size)   ((void)(from), (void)(size))
#define UNPOISON(from, size) ((void)(from), (void)(size))
#endif

struct arena {
    unsigned char *bytes;
    size_t capacity;
    size_t used;
    size_t peak;
};

struct arena *arena_create(size_t bytes, const char *what, struct error *error) {
    struct arena *arena = alloc_zero(1, sizeof *arena, what, error);
    if (!arena) return NULL;
    arena->bytes = alloc_zero(bytes, 1, what, error);
    if (!arena->bytes) {
        alloc_free(arena);
        return NULL;
    }
    arena->capacity = bytes;
    POISON(arena->bytes, bytes);
    return arena;
}

void arena_free(struct arena *arena) {
    if (!arena) return;
    UNPOISON(arena->bytes, arena->capacity);
    alloc_free(arena->bytes);
    alloc_free(arena);
}

size_t arena_block_bytes(size_t bytes) {
    if (bytes > SIZE_MAX - 63 - RED_ZONE) return SIZE_MAX; /* no arena has that much, so nothing is pushed */
    return ((bytes + 63) & ~(size_t)63) + RED_ZONE;
}

void *arena_push(struct arena *arena, size_t count, size_t size) {
    size_t bytes;
    bool fits = size_mul(count, size, &bytes) && arena_block_bytes(bytes) <= arena->capacity - arena->used;
    assert(fits);
    (void)fits;
    unsigned char *block = arena->bytes + arena->used;
    UNPOISON(block, bytes);
    arena->used += arena_block_bytes(bytes);
    if (arena->used > arena->peak) arena->peak = arena->used;
    return block;
}

size_t arena_mark(const struct arena *arena) {
    return arena->used;
}

void arena_reset(struct arena *arena, size_t mark) {
    assert(mark <= arena->used);
    POISON(arena->bytes + mark, arena->used - mark);
    arena->used = mark;
}

size_t arena_capacity(const struct arena *arena) {
    return arena->capacity;
}
size_t arena_peak(const struct arena *arena) {
    return arena->peak;
}
