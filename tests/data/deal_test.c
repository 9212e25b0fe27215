/* Non-IID dealing: everything dealt once, workers alike in number and, for a small alpha, unlike in kind. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "deal.h"

enum { COUNT = 20000, MOST_WORKERS = 64, MOST_GROUPS = DEAL_MOST_GROUPS };

static uint8_t group[COUNT];
static int64_t tally[MOST_WORKERS][MOST_GROUPS];

static struct deal deal(int32_t groups, int32_t workers, double alpha, uint64_t seed) {
    struct deal result = {0};
    struct error error = {0};
    for (int32_t i = 0; i < COUNT; i++) group[i] = (uint8_t)(i / 37 % groups);
    enum status status = deal_out(&result, group, groups, COUNT, workers, alpha, seed, &error);
    if (status != STATUS_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STATUS_OK);
    memset(tally, 0, sizeof tally);
    for (int32_t m = 0; m < workers; m++)
        for (int64_t i = result.first[m]; i < result.first[m + 1]; i++) tally[m][group[result.order[i]]]++;
    return result;
}

static void test_all_dealt_once_and_evenly(void **state) {
    static const struct {
        int32_t groups, workers;
        double alpha;
    } cases[] = {{4, 1, 0.1}, {4, 8, 0.001}, {4, 8, 0.1},   {4, 8, 1},
                 {4, 8, 1e6}, {64, 3, 0.5},  {64, 64, 0.1}, {1, 5, 1}};
    static uint8_t seen[COUNT];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct deal result = deal(cases[c].groups, cases[c].workers, cases[c].alpha, 1);
        memset(seen, 0, sizeof seen);
        for (int64_t i = 0; i < COUNT; i++) assert_int_equal(seen[result.order[i]]++, 0);
        assert_int_equal(result.first[0], 0);
        assert_int_equal(result.first[cases[c].workers], COUNT);
        for (int32_t m = 0; m < cases[c].workers; m++) {
            /* rounding moves at most one window per group; scaling stops within 5 % of even */
            double even = (double)COUNT / cases[c].workers, got = (double)(result.first[m + 1] - result.first[m]);
            if (fabs(got - even) > 0.05 * even + cases[c].groups)
                fail_msg("case %zu: worker %d has %g windows of %g", c, m, got, even);
        }
        deal_clear(&result);
    }
}

/* Mean over workers of the largest group's share of a worker's windows. */
static double concentration(int32_t groups, int32_t workers, double alpha, uint64_t seed) {
    struct deal result = deal(groups, workers, alpha, seed);
    double sum = 0;
    for (int32_t m = 0; m < workers; m++) {
        int64_t most = 0;
        for (int32_t g = 0; g < groups; g++) most = tally[m][g] > most ? tally[m][g] : most;
        sum += (double)most / (double)(result.first[m + 1] - result.first[m]);
    }
    deal_clear(&result);
    return sum / workers;
}

/* alpha -> infinity is a quarter of each of four groups, alpha -> 0 nearly one group alone, and between them it falls.
 */
static void test_alpha_sets_the_mixture(void **state) {
    double alphas[] = {0.01, 0.3, 3, 1e5}, mean[4] = {0};
    (void)state;
    for (int a = 0; a < 4; a++)
        for (uint64_t seed = 0; seed < 10; seed++) mean[a] += concentration(4, 8, alphas[a], seed) / 10;
    assert_true(mean[0] > 0.85);
    assert_true(mean[0] > mean[1] + 0.1 && mean[1] > mean[2] + 0.1 && mean[2] > mean[3] + 0.1);
    assert_true(fabs(mean[3] - 0.25) < 0.01);
}

static void test_seed_decides(void **state) {
    struct deal a = deal(4, 8, 0.5, 1), again = deal(4, 8, 0.5, 1), b = deal(4, 8, 0.5, 2);
    (void)state;
    assert_memory_equal(a.order, again.order, COUNT * sizeof *a.order);
    assert_true(memcmp(a.order, b.order, COUNT * sizeof *a.order) != 0);
    deal_clear(&a);
    deal_clear(&again);
    deal_clear(&b);
}

static void test_starving_worker_is_refused(void **state) {
    struct deal result = {0};
    struct error error = {0};
    (void)state;
    memset(group, 0, sizeof group);
    assert_int_equal(deal_out(&result, group, 1, 3, 8, 1, 1, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "without a window"));
    deal_clear(&result);
}

static void test_no_memory(void **state) {
    enum status status = STATUS_MEMORY;
    (void)state;
    for (int n = 1; status != STATUS_OK; n++) {
        struct deal result = {0};
        struct error error = {0};
        int64_t before = alloc_live_blocks();
        alloc_fail_at(n, false);
        status = deal_out(&result, group, 1, COUNT, 4, 1, 1, &error);
        alloc_fail_at(0, false);
        assert_true(status == STATUS_OK ? n == 5 : status == STATUS_MEMORY);
        deal_clear(&result);
        assert_int_equal(alloc_live_blocks(), before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_dealt_once_and_evenly), cmocka_unit_test(test_alpha_sets_the_mixture),
        cmocka_unit_test(test_seed_decides), cmocka_unit_test(test_starving_worker_is_refused),
        cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
