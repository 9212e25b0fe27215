/* Axes: ranges and tics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ranges_hold_their_values(void **state) {
    (void)state;
    static const struct {
        double low, high;
        bool log;
        double minimum, maximum;
        bool is_log;
    } rows[] = {
        {5, 6, true, 0, INFINITY, false}, /* too narrow for a logarithmic axis */
        {5, 50, true, 0, INFINITY, true},     {0, 50, true, 0, INFINITY, false},
        {3, 3, false, 0, INFINITY, false},    {0, 0, false, 0, INFINITY, false},
        {0, 100, false, -1.5, 101.5, false},  {1, 1e30, true, 0, INFINITY, true},
        {-2, -1, false, -INFINITY, 0, false}, {1e-300, 1e300, true, 0, INFINITY, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct axis_range range = axis_make(rows[i].low, rows[i].high, rows[i].log, rows[i].minimum, rows[i].maximum);
        assert_int_equal(range.log, rows[i].is_log);
        assert_true(range.low <= rows[i].low && range.high >= rows[i].high && range.low < range.high);
        assert_true(range.low >= rows[i].minimum && range.high <= rows[i].maximum);
        double middle = axis_position(&range, rows[i].low);
        assert_true(middle >= 0 && middle <= 1);
        assert_true(fabs(axis_position(&range, range.high) - 1) < 1e-9);
    }
}

static int count_of(const char *text, const char *what) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) count++;
    return count;
}

/* Every axis has a few numbers, even one of less than a decade. */
static void axes_have_a_few_tics(void **state) {
    (void)state;
    for (double ratio = 3; ratio < 1e40; ratio *= 1.7) {
        struct figure figure = {.panel_heights = {150}, .panel_count = 1};
        struct axis_range range = axis_make(5, 5 * ratio, true, 0, INFINITY);
        assert_true(range.log);
        figure_set_axis(&figure, "y", "y", &range);
        const char *tics = strstr(text_get(&figure.body), "set ytics");
        assert_non_null(tics);
        int count = count_of(strchr(tics, '('), ", ") + 1;
        if (count < 2 || count > 9) fail_msg("ratio %g: %d tics: %s", ratio, count, tics);
        figure_clear(&figure);
    }
    for (double span = 1e-6; span < 1e20; span *= 3.1) {
        struct figure figure = {.panel_heights = {150}, .panel_count = 1};
        struct axis_range range = axis_make(7, 7 + span, false, 0, INFINITY);
        figure_set_axis(&figure, "y", "y", &range);
        const char *tics = strstr(text_get(&figure.body), "#000000' ");
        assert_non_null(tics);
        double count = (range.high - range.low) / strtod(tics + strlen("#000000' "), NULL);
        if (count < 2.9 || count > 8) fail_msg("span %g: %g tics", span, count);
        figure_clear(&figure);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_hold_their_values),
                                       cmocka_unit_test(axes_have_a_few_tics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
