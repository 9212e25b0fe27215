/* Memory: zeroed, aligned, counted; failing where a test says so, whichever thread asks. */
#include "expect.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static bool is_zero(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) return false;
    return true;
}

static void gives_zeroed_aligned_memory(void **state) {
    (void)state;
    int64_t before = alloc_live_blocks();
    for (size_t size = 0; size < 300; size++) {
        struct error error = {0};
        unsigned char *bytes = alloc_zero(size, 1, "bytes", &error);
        assert_non_null(bytes);
        EXPECT((uintptr_t)bytes % 64 == 0, "size %zu at %p", size, (void *)bytes);
        EXPECT(is_zero(bytes, size), "size %zu", size);
        memset(bytes, 0xAB, size); /* so that the next one does not get clean memory by chance */
        alloc_free(bytes);
    }
    assert_int_equal(alloc_live_blocks(), before);
    assert_no_faults();
}

static void refuses_what_cannot_be(void **state) {
    (void)state;
    static const struct {
        size_t count, size;
    } rows[] = {
        {SIZE_MAX, 1},
        {1, SIZE_MAX},
        {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},
        {(size_t)1 << 32, (size_t)1 << 32},
        {PTRDIFF_MAX, 1},
    };
    int64_t before = alloc_live_blocks();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error = {0};
        void *memory = alloc_zero(rows[i].count, rows[i].size, "optimiser state", &error);
        EXPECT(!memory, "row %zu", i);
        EXPECT(error.status == STATUS_MEMORY && strstr(error.message, "optimiser state"), "row %zu: %s", i,
               error.message);
    }
    assert_int_equal(alloc_live_blocks(), before);
    assert_no_faults();
}

static void multiplies_sizes(void **state) {
    (void)state;
    size_t product = 7;
    assert_true(size_mul(6, 7, &product));
    assert_int_equal(product, 42);
    assert_true(size_mul(0, SIZE_MAX, &product));
    assert_int_equal(product, 0);
    assert_true(size_mul(SIZE_MAX, 1, &product));
    assert_false(size_mul(SIZE_MAX / 2 + 1, 2, &product));
}

static void grows_with_zeroes_behind(void **state) {
    (void)state;
    struct error error = {0};
    int64_t before = alloc_live_blocks();
    int32_t *items = alloc_grow(NULL, 0, 3, sizeof *items, "items", &error);
    assert_non_null(items);
    for (int32_t i = 0; i < 3; i++) items[i] = 10 + i;
    items = alloc_grow(items, 3, 100, sizeof *items, "items", &error);
    assert_non_null(items);
    for (int32_t i = 0; i < 100; i++) EXPECT(items[i] == (i < 3 ? 10 + i : 0), "item %d: %d", i, items[i]);
    items = alloc_grow(items, 100, 2, sizeof *items, "items", &error);
    assert_non_null(items);
    assert_int_equal(items[1], 11);
    assert_int_equal(alloc_live_blocks(), before + 1);
    alloc_free(items);
    assert_int_equal(alloc_live_blocks(), before);
    assert_no_faults();
}

static void failed_growth_keeps_the_old_block(void **state) {
    (void)state;
    struct error error = {0};
    int64_t before = alloc_live_blocks();
    char *text = alloc_text("kept", &error);
    assert_non_null(text);
    assert_null(alloc_grow(text, 5, SIZE_MAX, 2, "text", &error));
    assert_int_equal(error.status, STATUS_MEMORY);
    alloc_fail_at(1, false);
    assert_null(alloc_grow(text, 5, 100, 1, "text", &error));
    assert_string_equal(text, "kept");
    assert_int_equal(alloc_live_blocks(), before + 1);
    alloc_free(text);
    alloc_free(NULL);
    assert_int_equal(alloc_live_blocks(), before);
}

/* Which of ten allocations fail, as a word of 0 and 1. */
static void failures_of_ten(char *word) {
    for (int i = 0; i < 10; i++) {
        void *memory = alloc_zero(1, 1, "block", NULL);
        word[i] = memory ? '0' : '1';
        alloc_free(memory);
    }
    word[10] = '\0';
}

static void fails_where_told(void **state) {
    (void)state;
    static const struct {
        int64_t n;
        bool persistent;
        const char *expected;
    } rows[] = {
        {0, false, "0000000000"}, {1, false, "1000000000"}, {4, false, "0001000000"},
        {1, true, "1111111111"},  {4, true, "0001111111"},  {0, true, "0000000000"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char word[11];
        alloc_fail_at(rows[i].n, rows[i].persistent);
        failures_of_ten(word);
        EXPECT(strcmp(word, rows[i].expected) == 0, "n %d: expected %s, got %s", (int)rows[i].n, rows[i].expected,
               word);
    }
    alloc_fail_at(0, false);
    assert_no_faults();
}

enum { THREADS = 4, BLOCKS = 5000 };

static void *allocate_many(void *argument) {
    _Atomic int64_t *failures = argument;
    for (int i = 0; i < BLOCKS; i++) {
        void *memory = alloc_zero(1, 16, "block", NULL);
        if (!memory) atomic_fetch_add(failures, 1);
        alloc_free(memory);
    }
    return NULL;
}

static int64_t failures_over_threads(void) {
    _Atomic int64_t failures = 0;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, allocate_many, &failures), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return failures;
}

static void counts_over_threads(void **state) {
    (void)state;
    int64_t before = alloc_live_blocks();
    alloc_fail_at(7777, false);
    assert_int_equal(failures_over_threads(), 1);
    alloc_fail_at(7777, true);
    assert_int_equal(failures_over_threads(), THREADS * BLOCKS - 7777 + 1);
    alloc_fail_at(0, false);
    assert_int_equal(failures_over_threads(), 0);
    assert_int_equal(alloc_live_blocks(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_zeroed_aligned_memory),
        cmocka_unit_test(refuses_what_cannot_be),
        cmocka_unit_test(multiplies_sizes),
        cmocka_unit_test(grows_with_zeroes_behind),
        cmocka_unit_test(failed_growth_keeps_the_old_block),
        cmocka_unit_test(fails_where_told),
        cmocka_unit_test(counts_over_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
