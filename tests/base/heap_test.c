/* The event heap against sorting: order by time, then phase, then insertion. */
#include "expect.h"

#include "base/heap.h"
#include "base/rng.h"

#include <stdlib.h>

static int by_time_phase_sequence(const void *left, const void *right) {
    const struct heap_entry *a = left, *b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* Few distinct times and phases, so that ties are frequent; now and then an extreme one. */
static struct heap_entry random_entry(struct rng *rng, int64_t sequence) {
    struct heap_entry entry = {.time_ns = rng_below(rng, 20),
                               .phase = (int32_t)rng_below(rng, 4) - 2,
                               .generation = rng_u32(rng),
                               .sequence = sequence,
                               .payload = (int64_t)rng_u64(rng)};
    switch (rng_below(rng, 50)) {
    case 0:
        entry.time_ns = INT64_MAX;
        break;
    case 1:
        entry.time_ns = INT64_MIN;
        break;
    case 2:
        entry.phase = INT32_MIN;
        break;
    case 3:
        entry.phase = INT32_MAX;
        break;
    }
    return entry;
}

static void push(struct heap *heap, const struct heap_entry *entry) {
    assert_int_equal(heap_push(heap, entry->time_ns, entry->phase, entry->generation, entry->payload, NULL), STATUS_OK);
}

static bool same(const struct heap_entry *a, const struct heap_entry *b) {
    return by_time_phase_sequence(a, b) == 0 && a->generation == b->generation && a->payload == b->payload;
}

enum { MOST = 500 };

static void pops_like_qsort(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        struct rng rng = rng_stream(1, RNG_TEST, round, 0);
        struct heap heap = {0};
        struct heap_entry expected[MOST], got;
        int count = (int)rng_below(&rng, MOST + 1);
        for (int i = 0; i < count; i++) {
            expected[i] = random_entry(&rng, i);
            push(&heap, &expected[i]);
        }
        qsort(expected, (size_t)count, sizeof expected[0], by_time_phase_sequence);
        for (int i = 0; i < count; i++)
            EXPECT(heap_pop(&heap, &got) && same(&got, &expected[i]), "round %u, entry %d of %d", round, i, count);
        EXPECT(!heap_pop(&heap, &got) && !heap_peek(&heap, &got), "round %u: not empty at the end", round);
        heap_clear(&heap);
    }
    assert_no_faults();
}

/* Pushes and pops mixed, against a plain list that is searched for its first. */
static void mixed_pushes_and_pops_agree_with_a_list(void **state) {
    (void)state;
    struct rng rng = rng_stream(2, RNG_TEST, 0, 0);
    struct heap heap = {0};
    struct heap_entry list[MOST];
    int count = 0;
    int64_t sequence = 0;
    for (int step = 0; step < 20000; step++) {
        if (count < MOST && rng_below(&rng, 2)) {
            list[count] = random_entry(&rng, sequence++);
            push(&heap, &list[count++]);
            continue;
        }
        struct heap_entry seen, got;
        bool any = heap_peek(&heap, &seen);
        EXPECT(any == (count > 0) && heap_pop(&heap, &got) == any, "step %d", step);
        if (count == 0) continue;
        int first = 0;
        for (int i = 1; i < count; i++)
            if (by_time_phase_sequence(&list[i], &list[first]) < 0) first = i;
        EXPECT(same(&got, &list[first]) && same(&seen, &got), "step %d, %d entries", step, count);
        list[first] = list[--count];
    }
    heap_clear(&heap);
    assert_no_faults();
}

static void failed_push_changes_nothing(void **state) {
    (void)state;
    int64_t blocks = alloc_live_blocks();
    struct heap heap = {0};
    struct error error = {0};
    alloc_fail_at(1, false);
    assert_int_equal(heap_push(&heap, 1, 0, 0, 0, &error), STATUS_MEMORY);
    for (int i = 0; i < 8; i++) assert_int_equal(heap_push(&heap, 10 - i, 0, 0, i, &error), STATUS_OK);
    alloc_fail_at(1, false);
    assert_int_equal(heap_push(&heap, 0, 0, 0, 99, &error), STATUS_MEMORY);
    struct heap_entry entry;
    for (int i = 7; i >= 0; i--) {
        assert_true(heap_pop(&heap, &entry));
        assert_int_equal(entry.payload, i);
        assert_int_equal(entry.sequence, i);
    }
    assert_false(heap_pop(&heap, &entry));
    heap_clear(&heap);
    assert_int_equal(alloc_live_blocks(), blocks);
}

static void clear_starts_anew(void **state) {
    (void)state;
    struct heap heap = {0};
    struct heap_entry entry;
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(heap_push(&heap, 5, 1, 2, 3, NULL), STATUS_OK);
        assert_true(heap_peek(&heap, &entry));
        assert_int_equal(entry.sequence, 0);
        heap_clear(&heap);
        assert_false(heap_peek(&heap, &entry));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pops_like_qsort),
        cmocka_unit_test(mixed_pushes_and_pops_agree_with_a_list),
        cmocka_unit_test(failed_push_changes_nothing),
        cmocka_unit_test(clear_starts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
