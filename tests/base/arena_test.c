/* Arenas: blocks apart and aligned, the peak as promised, and under AddressSanitizer poison where nothing lies. */
#include "expect.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONED 1
#endif
#endif
#ifdef POISONED
#include <sanitizer/asan_interface.h>
#endif

static const size_t sizes[] = {1, 64, 0, 63, 65, 1000, 4096, 7};
enum { BLOCKS = sizeof sizes / sizeof sizes[0] };

static size_t promised(void) {
    size_t total = 0;
    for (int i = 0; i < BLOCKS; i++) total += arena_block_bytes(sizes[i]);
    return total;
}

static struct arena *create(size_t bytes) {
    struct error error = {0};
    struct arena *arena = arena_create(bytes, "workspace", &error);
    assert_non_null(arena);
    return arena;
}

static void blocks_are_apart_and_aligned(void **state) {
    (void)state;
    struct arena *arena = create(promised());
    unsigned char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = arena_push(arena, sizes[i], 1);
        assert_int_equal((uintptr_t)blocks[i] % 64, 0);
        memset(blocks[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < sizes[i]; j++) EXPECT(blocks[i][j] == i + 1, "block %d byte %zu", i, j);
    assert_int_equal(arena_peak(arena), promised());
    assert_int_equal(arena_capacity(arena), promised());
    arena_free(arena);
    assert_no_faults();
}

static void reset_gives_the_same_memory_again(void **state) {
    (void)state;
    struct arena *arena = create(promised() + arena_block_bytes(10));
    arena_push(arena, 10, 1);
    size_t mark = arena_mark(arena);
    void *first = arena_push(arena, 100, 4);
    size_t peak = arena_peak(arena);
    arena_reset(arena, mark);
    assert_int_equal(arena_mark(arena), mark);
    assert_ptr_equal(arena_push(arena, 3, 1), first);
    assert_int_equal(arena_peak(arena), peak);
    assert_int_equal(peak, arena_block_bytes(10) + arena_block_bytes(400));
    arena_reset(arena, 0);
    assert_int_equal(arena_mark(arena), 0);
    arena_free(arena);
}

static void block_bytes_cover_and_do_not_wrap(void **state) {
    (void)state;
    size_t red_zone = arena_block_bytes(0);
    for (size_t bytes = 0; bytes < 1000; bytes++) {
        size_t taken = arena_block_bytes(bytes);
        EXPECT(taken % 64 == 0 && taken >= bytes + red_zone && taken < bytes + red_zone + 64, "%zu: %zu", bytes, taken);
    }
    assert_int_equal(arena_block_bytes(SIZE_MAX), SIZE_MAX);
    assert_int_equal(arena_block_bytes(SIZE_MAX - 62), SIZE_MAX);
    assert_no_faults();
}

static void creation_is_whole_or_nothing(void **state) {
    (void)state;
    int64_t blocks = alloc_live_blocks();
    struct error error = {0};
    assert_null(arena_create(SIZE_MAX, "activations", &error));
    assert_non_null(strstr(error.message, "activations"));
    for (int64_t n = 1; n <= 2; n++) {
        alloc_fail_at(n, false);
        error_clear(&error);
        assert_null(arena_create(100, "activations", &error));
        assert_int_equal(error.status, STATUS_MEMORY);
        assert_int_equal(alloc_live_blocks(), blocks);
    }
    alloc_fail_at(0, false);
    arena_free(create(0));
    arena_free(NULL);
    assert_int_equal(alloc_live_blocks(), blocks);
}

static void sanitizer_sees_overruns_and_stale_use(void **state) {
    (void)state;
#ifdef POISONED
    struct arena *arena = create(promised());
    unsigned char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) blocks[i] = arena_push(arena, sizes[i], 1);
    for (int i = 0; i < BLOCKS; i++) {
        EXPECT(!__asan_region_is_poisoned(blocks[i], sizes[i]), "block %d", i);
        for (size_t past = 0; past < 64; past++)
            EXPECT(__asan_address_is_poisoned(blocks[i] + sizes[i] + past), "block %d, %zu past its end", i, past);
    }
    arena_reset(arena, 0);
    for (int i = 0; i < BLOCKS; i++)
        EXPECT(sizes[i] == 0 || __asan_address_is_poisoned(blocks[i]), "block %d after reset", i);
    arena_free(arena);
    assert_no_faults();
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_apart_and_aligned),          cmocka_unit_test(reset_gives_the_same_memory_again),
        cmocka_unit_test(block_bytes_cover_and_do_not_wrap),     cmocka_unit_test(creation_is_whole_or_nothing),
        cmocka_unit_test(sanitizer_sees_overruns_and_stale_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
