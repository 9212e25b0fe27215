#include "alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t live_blocks;
static _Atomic int64_t fail_countdown; /* 0 = off */
static _Atomic bool fail_persistent;

bool size_mul(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

void alloc_fail_at(int64_t n, bool persistent) {
    atomic_store(&fail_persistent, persistent);
    atomic_store(&fail_countdown, n);
}

int64_t alloc_live_blocks(void) {
    return atomic_load(&live_blocks);
}

static bool told_to_fail(void) {
    int64_t left = atomic_load(&fail_countdown);
    while (left > 0) {
        int64_t next = left > 1 ? left - 1 : atomic_load(&fail_persistent) ? 1 : 0;
        if (atomic_compare_exchange_weak(&fail_countdown, &left, next)) return left == 1;
    }
    return false;
}

static void *refuse(const char *what, size_t count, size_t size, struct error *error) {
    error_set(error, STATUS_MEMORY, "no memory for %s (%zu x %zu bytes)", what, count, size);
    return NULL;
}

void *alloc_zero(size_t count, size_t size, const char *what, struct error *error) {
    size_t bytes, rounded;
    if (!size_mul(count, size, &bytes) || __builtin_add_overflow(bytes ? bytes : 1, (size_t)63, &rounded) ||
        rounded > PTRDIFF_MAX)
        return refuse(what, count, size, error);
    rounded &= ~(size_t)63;
    void *memory = told_to_fail() ? NULL : aligned_alloc(64, rounded);
    if (!memory) return refuse(what, count, size, error);
    memset(memory, 0, rounded);
    atomic_fetch_add(&live_blocks, 1);
    return memory;
}

void *alloc_grow(void *old, size_t old_count, size_t new_count, size_t size, const char *what, struct error *error) {
    void *memory = alloc_zero(new_count, size, what, error);
    if (memory && old) {
        memcpy(memory, old, (old_count < new_count ? old_count : new_count) * size);
        alloc_free(old);
    }
    return memory;
}

char *alloc_text(const char *text, struct error *error) {
    char *copy = alloc_zero(strlen(text) + 1, 1, "text", error);
    if (copy) memcpy(copy, text, strlen(text));
    return copy;
}

void alloc_free(void *memory) {
    if (!memory) return;
    atomic_fetch_sub(&live_blocks, 1);
    free(memory);
}
