/* How windows are dealt: nobody shares one, nothing held out leaks, orders are functions of their arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "data/data.h"

enum { LENGTH = 16 };

static struct data *open_data(int64_t tokens, int32_t workers, double validation, double alpha, uint64_t seed) {
    struct data_def def = data_default();
    struct error error = {0};
    def.tokens = tokens;
    def.validation = validation;
    def.non_iid_alpha = alpha;
    struct data *data = data_create(&def, workers, LENGTH, 256, seed, &error);
    if (!data) print_error("%s\n", error.message);
    assert_non_null(data);
    return data;
}

/* Over one epoch every training window belongs to exactly one worker, once, but for those left out. */
static void check_epoch(struct data *data, int32_t workers, int64_t windows) {
    struct error error;
    uint8_t *owner = alloc_zero((size_t)windows, 1, "test", &error);
    int64_t used = 0;
    for (int32_t m = 0; m < workers; m++)
        for (int64_t i = 0; i < data_worker_windows(data, m); i++) {
            int64_t id = data_window_id(data, m, i);
            assert_in_range(id, 0, windows - 1);
            assert_int_equal(owner[id], 0);
            owner[id] = 1;
            used++;
        }
    for (int64_t i = 0; i < data_validation_windows(data); i++) {
        int64_t id = data_validation_window_id(data, i);
        assert_int_equal(owner[id], 0); /* no worker's, and held out once */
        owner[id] = 2;
        used++;
    }
    assert_int_equal(used + data_unused_windows(data), windows);
    alloc_free(owner);
}

static void test_windows_are_dealt_once(void **state) {
    static const struct {
        int32_t workers;
        double validation, alpha;
    } cases[] = {{1, 0.05, 0}, {3, 0.05, 0}, {8, 0.1, 0}, {7, 0.5, 0}, {64, 0.05, 0}, {4, 0.05, 1.0}, {8, 0.05, 0.1}};
    const int64_t tokens = 100003;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct data *data = open_data(tokens, cases[i].workers, cases[i].validation, cases[i].alpha, 9);
        check_epoch(data, cases[i].workers, tokens / (LENGTH + 1));
        data_free(data);
    }
}

/* The second epoch has the same windows in another order. */
static void test_epochs(void **state) {
    struct data *data = open_data(50000, 2, 0.05, 0, 1);
    int64_t count = data_worker_windows(data, 0), same = 0, sum[2] = {0};
    (void)state;
    for (int64_t i = 0; i < count; i++) {
        int64_t first = data_window_id(data, 0, i), second = data_window_id(data, 0, count + i);
        same += first == second;
        sum[0] += first * first;
        sum[1] += second * second;
    }
    assert_true(sum[0] == sum[1]);
    assert_true(same < count / 10);
    data_free(data);
}

/* The held-out set is one and the same for every seed and number of workers. */
static void test_validation_is_fixed(void **state) {
    int32_t first[2 * LENGTH], other[2 * LENGTH];
    struct data *a = open_data(50000, 2, 0.05, 0, 1), *b = open_data(50000, 5, 0.05, 0.5, 77);
    (void)state;
    assert_int_equal(data_validation_windows(a), data_validation_windows(b));
    for (int64_t i = 0; i < data_validation_windows(a); i++) {
        data_validation_batch(a, i, 1, first, first + LENGTH);
        data_validation_batch(b, i, 1, other, other + LENGTH);
        assert_memory_equal(first, other, sizeof first);
    }
    data_free(a);
    data_free(b);
}

/* A batch is its sequences, however they are asked for; targets are the tokens shifted by one. */
static void test_batches(void **state) {
    int32_t whole[4 * LENGTH], whole_targets[4 * LENGTH], one[LENGTH], one_targets[LENGTH];
    struct data *data = open_data(50000, 3, 0.05, 0, 1);
    (void)state;
    for (int64_t step = 0; step < 400; step += 37) {
        data_batch(data, 2, step, 4, 0, 4, whole, whole_targets);
        for (int32_t i = 0; i < 4; i++) {
            data_batch(data, 2, step, 4, i, 1, one, one_targets);
            assert_memory_equal(one, whole + i * LENGTH, sizeof one);
            assert_memory_equal(one_targets, whole_targets + i * LENGTH, sizeof one);
            for (int32_t t = 0; t + 1 < LENGTH; t++) assert_int_equal(one[t + 1], one_targets[t]);
        }
    }
    data_free(data);
}

/* Seeds give other orders; the number of the seed changes nothing else. */
static void test_seeds(void **state) {
    struct data *a = open_data(50000, 3, 0.05, 0, 1), *b = open_data(50000, 3, 0.05, 0, 2),
                *again = open_data(50000, 3, 0.05, 0, 1);
    int64_t same = 0;
    (void)state;
    for (int64_t i = 0; i < 200; i++) {
        same += data_window_id(a, 1, i) == data_window_id(b, 1, i);
        assert_int_equal(data_window_id(a, 1, i), data_window_id(again, 1, i));
    }
    assert_true(same < 20);
    assert_string_equal(data_identity(a), data_identity(b));
    data_free(a);
    data_free(b);
    data_free(again);
}

/* Small concentrations give workers unlike shares of the corpus. */
static void test_non_iid(void **state) {
    struct data *even = open_data(200000, 4, 0.05, 1000, 1), *skewed = open_data(200000, 4, 0.05, 0.05, 1);
    int64_t most_even = 0, most_skewed = 0, windows = 200000 / (LENGTH + 1);
    (void)state;
    /* windows of the first 64th of the corpus, by worker */
    for (int32_t m = 0; m < 4; m++) {
        int64_t count[2] = {0};
        for (int64_t i = 0; i < data_worker_windows(even, m); i++)
            count[0] += data_window_id(even, m, i) < windows / 64;
        for (int64_t i = 0; i < data_worker_windows(skewed, m); i++)
            count[1] += data_window_id(skewed, m, i) < windows / 64;
        if (count[0] > most_even) most_even = count[0];
        if (count[1] > most_skewed) most_skewed = count[1];
    }
    assert_true(most_skewed > 2 * most_even);
    data_free(even);
    data_free(skewed);
}

static void test_refusals(void **state) {
    static const struct {
        int64_t tokens;
        int32_t workers;
        double validation, alpha;
        int32_t vocab;
        const char *expected;
    } cases[] = {
        {1000, 64, 0.05, 0, 256, "too few"},     {1000, 1, 0.01, 0, 256, "too few"},
        {999, 1, 0.05, 0, 256, "data.tokens"},   {50000, 2, 0, 0, 256, "validation"},
        {50000, 2, 0.6, 0, 256, "validation"},   {50000, 2, 0.05, -1, 256, "non_iid"},
        {50000, 2, 0.05, 0, 255, "model.vocab"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct data_def def = data_default();
        struct error error = {0};
        def.tokens = cases[i].tokens;
        def.validation = cases[i].validation;
        def.non_iid_alpha = cases[i].alpha;
        int64_t before = alloc_live_blocks();
        assert_null(data_create(&def, cases[i].workers, LENGTH, cases[i].vocab, 1, &error));
        assert_int_equal(error.status, STATUS_INPUT);
        if (!strstr(error.message, cases[i].expected))
            fail_msg("expected '%s' in: %s", cases[i].expected, error.message);
        assert_int_equal(alloc_live_blocks(), before);
    }
}

static void test_no_memory(void **state) {
    bool made = false;
    (void)state;
    for (int n = 1; !made && n < 60; n++) {
        struct data_def def = data_default();
        struct error error = {0};
        def.tokens = 20000;
        def.non_iid_alpha = 1;
        int64_t before = alloc_live_blocks();
        alloc_fail_at(n, false);
        struct data *data = data_create(&def, 2, LENGTH, 256, 1, &error);
        alloc_fail_at(0, false);
        made = data != NULL;
        if (!made) assert_int_equal(error.status, STATUS_MEMORY);
        data_free(data);
        assert_int_equal(alloc_live_blocks(), before);
    }
    assert_true(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows_are_dealt_once),
                                       cmocka_unit_test(test_epochs),
                                       cmocka_unit_test(test_validation_is_fixed),
                                       cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_seeds),
                                       cmocka_unit_test(test_non_iid),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
