/* Growing arrays: contents kept, room doubled, failure without loss. */
#include "expect.h"

#include "base/array.h"

static void keeps_items_and_doubles(void **state) {
    (void)state;
    ARRAY(int64_t) items = {0};
    struct error error = {0};
    int growths = 0;
    for (int64_t i = 0; i < 10000; i++) {
        int64_t before = items.capacity;
        assert_int_equal(array_reserve(&items, items.count + 1, &error), STATUS_OK);
        growths += items.capacity != before;
        items.items[items.count++] = i * i;
    }
    for (int64_t i = 0; i < 10000; i++) EXPECT(items.items[i] == i * i, "item %d", (int)i);
    assert_in_range(growths, 10, 12); /* 8 items, then 2^4 .. 2^14 */
    int64_t room = items.capacity;
    assert_int_equal(array_reserve(&items, 3, &error), STATUS_OK);
    assert_int_equal(items.capacity, room);
    array_clear(&items);
    assert_null(items.items);
    assert_int_equal(items.count + items.capacity, 0);
    assert_no_faults();
}

static void failure_leaves_the_array(void **state) {
    (void)state;
    ARRAY(int32_t) items = {0};
    struct error error = {0};
    int64_t blocks = alloc_live_blocks();
    assert_int_equal(array_reserve(&items, 4, &error), STATUS_OK);
    items.items[0] = 42;
    items.count = 1;
    int64_t room = items.capacity;
    alloc_fail_at(1, false);
    assert_int_equal(array_reserve(&items, 100, &error), STATUS_MEMORY);
    assert_int_equal(error.status, STATUS_MEMORY);
    assert_int_equal(array_reserve(&items, INT64_MAX, &error), STATUS_MEMORY);
    assert_int_equal(items.capacity, room);
    assert_int_equal(items.items[0], 42);
    array_clear(&items);
    assert_int_equal(alloc_live_blocks(), blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_items_and_doubles),
        cmocka_unit_test(failure_leaves_the_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
