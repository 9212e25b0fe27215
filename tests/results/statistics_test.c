/* Means and their 95 % intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "statistics.h"

#include <math.h>

static void intervals_are_those_of_the_tables(void **state) {
    (void)state;
    /* Half widths by hand: t * s / sqrt(n). {1, 3}: 12.706 * sqrt(2) / sqrt(2). {1, 2, 3}: 4.303 * 1 / sqrt(3). The t
     * values have three decimals, so 5e-4 / 2 relative at most. */
    static const struct {
        double values[6];
        int64_t count;
        int32_t finite;
        double mean, half_width;
    } rows[] = {
        {{0}, 0, 0, NAN, NAN},         {{7}, 1, 1, 7, NAN},        {{1, 3}, 2, 2, 2, 12.7062},
        {{1, 2, 3}, 3, 3, 2, 2.48414}, {{5, 5, 5, 5}, 4, 4, 5, 0}, {{1, NAN, 3, INFINITY, -INFINITY}, 5, 2, 2, 12.7062},
        {{NAN, NAN}, 2, 0, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct estimate estimate = estimate_mean(rows[i].values, rows[i].count);
        assert_int_equal(estimate.count, rows[i].finite);
        assert_true(isnan(rows[i].mean) ? isnan(estimate.mean) : estimate.mean == rows[i].mean);
        if (isnan(rows[i].half_width))
            assert_true(isnan(estimate.half_width));
        else
            assert_true(fabs(estimate.half_width - rows[i].half_width) <= 2.5e-4 * rows[i].half_width);
    }
}

/* Beyond the table of t values: 101 values 0 and 1 in turn have t = 1.98397. */
static void many_values(void **state) {
    (void)state;
    double values[101], mean = 50.0 / 101, variance = 50.0 * 51 / 101 / 100;
    for (int i = 0; i < 101; i++) values[i] = i % 2;
    struct estimate estimate = estimate_mean(values, 101);
    assert_true(fabs(estimate.mean - mean) < 1e-15);
    assert_true(fabs(estimate.half_width - 1.98397 * sqrt(variance / 101)) < 1e-3 * estimate.half_width);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(intervals_are_those_of_the_tables),
                                       cmocka_unit_test(many_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
