/* Division into training and held-out windows, and the permutations that need no memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "windows.h"

/* Every window is of one kind, once; both kinds come in order; the share is met. */
static void test_division(void **state) {
    static const double fractions[] = {0.05, 0.1, 0.3, 1.0 / 3, 0.4, 0.5, 0.6, 0.95, 0.000001, 0.999999};
    static const int64_t counts[] = {1, 2, 19, 20, 21, 58, 1000, 65537};
    static uint8_t kind[65537];
    (void)state;
    for (size_t f = 0; f < sizeof fractions / sizeof fractions[0]; f++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            struct windows windows = windows_divide(counts[c], fractions[f]);
            int64_t before = -1;
            memset(kind, 0, sizeof kind);
            assert_int_equal(windows.held_out, counts[c] * llround(fractions[f] * 1e6) / 1000000);
            assert_int_equal(windows.held_out + windows.training, counts[c]);
            for (int64_t i = 0; i < windows.held_out; i++) {
                int64_t window = windows_held_out(&windows, i);
                assert_true(window > before && window < counts[c]);
                kind[before = window]++;
            }
            before = -1;
            for (int64_t i = 0; i < windows.training; i++) {
                int64_t window = windows_training(&windows, i);
                assert_true(window > before && window < counts[c]);
                kind[before = window]++;
            }
            for (int64_t i = 0; i < counts[c]; i++) assert_int_equal(kind[i], 1);
        }
}

/* Of any stretch of 1000 windows, 0.3 of them are held out, give or take one. */
static void test_even_spread(void **state) {
    struct windows windows = windows_divide(100000, 0.3);
    static int32_t held[100];
    (void)state;
    for (int64_t i = 0; i < windows.held_out; i++) held[windows_held_out(&windows, i) / 1000]++;
    for (int i = 0; i < 100; i++) assert_in_range(held[i], 299, 301);
}

/* Sizes past what 32 bits hold: a trillion windows. */
static void test_large(void **state) {
    struct windows windows = windows_divide(INT64_C(1000000000000), 0.05);
    (void)state;
    assert_int_equal(windows.held_out, INT64_C(50000000000));
    assert_int_equal(windows_held_out(&windows, windows.held_out - 1), INT64_C(999999999999));
    assert_int_equal(windows_training(&windows, windows.training - 1), INT64_C(999999999998));
}

static void test_permutations(void **state) {
    static const int64_t counts[] = {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4096, 4097};
    static uint8_t seen[4097];
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint64_t key = 0; key < 20; key++) {
            memset(seen, 0, sizeof seen);
            for (int64_t i = 0; i < counts[c]; i++) {
                int64_t to = windows_permute(key, counts[c], i);
                assert_in_range(to, 0, counts[c] - 1);
                assert_int_equal(seen[to]++, 0);
            }
        }
}

/* Over many keys every index goes everywhere equally often: chi-squared of 100 x 100 cells with 99^2 degrees of freedom
 * has mean 9801 and standard deviation sqrt(2 * 9801) = 140. */
static void test_permutations_are_even(void **state) {
    enum { COUNT = 100, KEYS = 20000 };
    static double times[COUNT][COUNT];
    double chi_squared = 0, expected = (double)KEYS / COUNT;
    (void)state;
    for (uint64_t key = 0; key < KEYS; key++)
        for (int64_t i = 0; i < COUNT; i++) times[i][windows_permute(key * UINT64_C(0x9e3779b97f4a7c15), COUNT, i)]++;
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) chi_squared += (times[i][j] - expected) * (times[i][j] - expected) / expected;
    assert_true(fabs(chi_squared - 9801) < 6 * 140);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_division), cmocka_unit_test(test_even_spread),
                                       cmocka_unit_test(test_large), cmocka_unit_test(test_permutations),
                                       cmocka_unit_test(test_permutations_are_even)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
