/* The elementary functions on lanes against the C library in double. Compiled with the flags of kernels/cpu. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cpu/vector_math.h"

/* Distance in units of the last place of the exact value. */
static double ulps(double exact, float got) {
    return fabs((double)got - exact) / ldexp(1, ilogb(exact) - 23);
}

static void test_exp_within_two_ulp(void **state) {
    (void)state;
    for (int32_t step = -870000; step < 880000; step += LANES) {
        float x[LANES], y[LANES];
        for (int i = 0; i < LANES; i++) x[i] = (float)(step + i) * 1e-4f;
        lanes_store(y, lanes_exp(lanes_load(x)));
        for (int i = 0; i < LANES; i++)
            if (!(ulps(exp((double)x[i]), y[i]) <= 2)) {
                print_error("exp(%.9g): expected %.9g, got %.9g\n", (double)x[i], exp((double)x[i]), (double)y[i]);
                fail();
            }
    }
}

static void test_exp_at_the_ends(void **state) {
    float x[LANES] = {0, -0.0f, -87.5f, -1000, -INFINITY, -1e30f, NAN, INFINITY}, y[LANES];
    (void)state;
    lanes_store(y, lanes_exp(lanes_load(x)));
    assert_true(y[0] == 1 && y[1] == 1);
    for (int i = 2; i < 6; i++) assert_true(y[i] == 0);
    assert_true(isnan(y[6])); /* y[7]: anything, but no undefined behaviour */
}

/* Near 1 the error is measured against the logarithm itself, whose last place shrinks with it. */
static void test_log_within_two_ulp(void **state) {
    (void)state;
    for (uint32_t bits = 0x00800000; bits < 0x7f000000; bits += 16 * 257) {
        float x[LANES], y[LANES];
        for (uint32_t i = 0; i < LANES; i++) {
            uint32_t at = bits + 257 * i;
            memcpy(&x[i], &at, sizeof at);
        }
        lanes_store(y, lanes_log(lanes_load(x)));
        for (int i = 0; i < LANES; i++)
            if (x[i] != 1 && !(ulps(log((double)x[i]), y[i]) <= 2)) {
                print_error("log(%.9g): expected %.9g, got %.9g\n", (double)x[i], log((double)x[i]), (double)y[i]);
                fail();
            }
    }
    float one[LANES] = {1, 0}, y[LANES];
    lanes_store(y, lanes_log(lanes_load(one)));
    assert_true(y[0] == 0);
    assert_true(isfinite(y[1]) && y[1] < -80); /* so that 0 ln 0 = 0 */
}

static void test_transpose(void **state) {
    enum { FROM = 19, TO = 23 };
    float from[LANES * FROM], to[LANES * TO];
    (void)state;
    for (int i = 0; i < LANES * FROM; i++) from[i] = (float)i;
    lanes_transpose(to, TO, from, FROM);
    for (int r = 0; r < LANES; r++)
        for (int c = 0; c < LANES; c++) assert_true(to[r * TO + c] == from[c * FROM + r]);
}

static void test_sums_and_maxima(void **state) {
    float a[40], b[40];
    (void)state;
    for (int i = 0; i < 40; i++) a[i] = (float)(i * 7 % 40), b[i] = (float)(1 + i % 3);
    for (int count = 1; count <= 40; count++) { /* small whole numbers: exact */
        float top = 0, sum = 0;
        for (int i = 0; i < count; i++) top = a[i] > top ? a[i] : top, sum += a[i] * b[i];
        assert_true(max_of(a, count) == top);
        assert_true(sum_of_products(a, b, count) == sum);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_within_two_ulp), cmocka_unit_test(test_exp_at_the_ends),
        cmocka_unit_test(test_log_within_two_ulp), cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_sums_and_maxima),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
