/* The three matrix products of a linear map against sums in double, over shapes around every block size and on both
 * sides of the hand-over to OpenBLAS. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "cpu/operators.h"

static const struct {
    int64_t n, in, out;
} shapes[] = {
    {1, 1, 1},     {1, 2, 3},     {7, 15, 16},    {8, 16, 32},    {9, 17, 33},    {13, 24, 40},
    {16, 48, 257}, {64, 64, 384}, {65, 31, 47},   {5, 300, 20},   {600, 18, 34},  {3, 257, 100},
    {40, 512, 64}, {300, 64, 96}, {2, 1024, 512}, {2, 1024, 513}, {17, 64, 8200}, {11, 8200, 70},
};

static float *vector(int64_t count, uint32_t stream) {
    struct error error;
    float *values = alloc_zero((size_t)count, sizeof *values, "test", &error);
    struct rng rng = rng_stream(2, RNG_TEST, stream, 0);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) values[i] = (float)rng_normal(&rng);
    return values;
}

/* got against start + sum_k a b: rounding of `terms` additions of products with magnitude sum |a b|, each by 2^-24 of a
 * partial sum no larger than that; the first-order bound is (terms + 1) 2^-24 magnitude. */
static void check(const char *what, size_t shape, int64_t terms, double expected, double magnitude, double got) {
    if (fabs(expected - got) <= (double)(terms + 1) * 0x1p-24 * magnitude) return;
    print_error("%s of %lld x %lld -> %lld: expected %.9g, got %.9g\n", what, (long long)shapes[shape].n,
                (long long)shapes[shape].in, (long long)shapes[shape].out, expected, got);
    fail();
}

static void test_forward(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int kind = 0; kind < 3; kind++) { /* from nothing, from another matrix, onto itself */
            int64_t n = shapes[i].n, in = shapes[i].in, out = shapes[i].out;
            float *x = vector(n * in, 1), *w = vector(in * out, 2), *base = vector(n * out, 3),
                  *y = vector(n * out, kind == 2 ? 3 : 4);
            cpu_linear_forward(y, kind == 0 ? NULL : kind == 1 ? base : y, x, w, n, in, out);
            for (int64_t t = 0; t < n; t++)
                for (int64_t o = 0; o < out; o += 1 + o / 50) {
                    double sum = kind ? (double)base[t * out + o] : 0, magnitude = fabs(sum);
                    for (int64_t k = 0; k < in; k++) {
                        double term = (double)x[t * in + k] * (double)w[o * in + k];
                        sum += term;
                        magnitude += fabs(term);
                    }
                    check("y", i, in, sum, magnitude, (double)y[t * out + o]);
                }
            alloc_free(x);
            alloc_free(w);
            alloc_free(base);
            alloc_free(y);
        }
}

static void test_backward_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        int64_t n = shapes[i].n, in = shapes[i].in, out = shapes[i].out;
        float *dy = vector(n * out, 1), *w = vector(in * out, 2), *dx = vector(n * in, 3);
        cpu_linear_backward_input(dx, dy, w, n, in, out);
        for (int64_t t = 0; t < n; t++)
            for (int64_t k = 0; k < in; k += 1 + k / 50) {
                double sum = 0, magnitude = 0;
                for (int64_t o = 0; o < out; o++) {
                    double term = (double)dy[t * out + o] * (double)w[o * in + k];
                    sum += term;
                    magnitude += fabs(term);
                }
                check("dx", i, out, sum, magnitude, (double)dx[t * in + k]);
            }
        alloc_free(dy);
        alloc_free(w);
        alloc_free(dx);
    }
}

static void test_backward_weight(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int add = 0; add < 2; add++) {
            int64_t n = shapes[i].n, in = shapes[i].in, out = shapes[i].out;
            float *dy = vector(n * out, 1), *x = vector(n * in, 2), *start = vector(in * out, 3),
                  *dw = vector(in * out, 3);
            cpu_linear_backward_weight(dw, dy, x, n, in, out, add);
            for (int64_t o = 0; o < out; o++)
                for (int64_t k = 0; k < in; k += 1 + k / 50) {
                    double sum = add ? (double)start[o * in + k] : 0, magnitude = fabs(sum);
                    for (int64_t t = 0; t < n; t++) {
                        double term = (double)dy[t * out + o] * (double)x[t * in + k];
                        sum += term;
                        magnitude += fabs(term);
                    }
                    check("dw", i, n, sum, magnitude, (double)dw[o * in + k]);
                }
            alloc_free(dy);
            alloc_free(x);
            alloc_free(start);
            alloc_free(dw);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward_input),
                                       cmocka_unit_test(test_backward_weight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
