/* Vector operations: exact properties, and the fast ones against the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "kernels/kernels.h"

enum { COUNT = 1037 };

static const struct backend *backends[2];

static int setup(void **state) {
    struct error error;
    (void)state;
    return backend_find("reference", &backends[0], &error) != STATUS_OK ||
           backend_find("openblas", &backends[1], &error) != STATUS_OK;
}

static void fill(float *values, uint32_t stream) {
    struct rng rng = rng_stream(11, RNG_TEST, stream, 0);
    for (int i = 0; i < COUNT; i++) values[i] = (float)rng_normal(&rng);
}

/* The mean of equal vectors is that vector, to the bit, however many there are. */
static void test_mean_of_equals(void **state) {
    float value[COUNT], mean[COUNT];
    (void)state;
    fill(value, 1);
    for (int b = 0; b < 2; b++)
        for (int32_t terms = 1; terms <= 33; terms++) {
            const float *inputs[33];
            double weights[33];
            for (int k = 0; k < terms; k++) inputs[k] = value, weights[k] = 1.0 / terms;
            vector_combine(backends[b], mean, terms, inputs, weights, COUNT);
            assert_memory_equal(mean, value, sizeof value);
        }
}

/* Weights 0, 1/2 and 1 give one input, the exact midpoint, the other; what has weight 0 may be NaN. */
static void test_mixing_weights(void **state) {
    float a[COUNT], b[COUNT], out[COUNT];
    (void)state;
    for (int k = 0; k < 2; k++) {
        fill(a, 1);
        fill(b, 2);
        const float *inputs[] = {a, b};
        vector_combine(backends[k], out, 2, inputs, (double[]){0.5, 0.5}, COUNT);
        for (int i = 0; i < COUNT; i++) assert_true(out[i] == (float)(((double)a[i] + (double)b[i]) / 2));
        b[5] = NAN;
        vector_combine(backends[k], out, 2, inputs, (double[]){1, 0}, COUNT);
        assert_memory_equal(out, a, sizeof a);
        vector_combine(backends[k], out, 2, inputs, (double[]){0.25, 0}, COUNT);
        for (int i = 0; i < COUNT; i++) assert_true(out[i] == 0.25f * a[i]); /* NaN of weight 0 stays out */
        fill(b, 2);
        vector_combine(backends[k], a, 2, inputs, (double[]){0, 1}, COUNT); /* onto an input */
        assert_memory_equal(a, b, sizeof a);
    }
}

/* Both conventions, by the factors a constant outer gradient of 1 is multiplied with at momentum 0.9. */
static void test_momentum_conventions(void **state) {
    static const double nesterov[] = {1.9, 2.71, 3.439}, heavy_ball[] = {1, 1.9, 2.71};
    (void)state;
    for (int b = 0; b < 2; b++)
        for (int kind = 0; kind < 2; kind++) {
            float parameter = 0, velocity = 0, one = 1;
            for (int i = 0; i < 3; i++) {
                float before = parameter;
                vector_outer_momentum(backends[b], &parameter, &parameter, &one, &velocity, 1, 1, 0.9, kind == 0);
                double moved = (double)before - (double)parameter;
                assert_true(fabs(moved - (kind == 0 ? nesterov[i] : heavy_ball[i])) < 1e-6);
            }
        }
}

/* The fast AdamW computes in single precision: each step rounds a few times at 6e-8, relative to the update. */
static void test_adamw_agrees(void **state) {
    float parameters[2][COUNT], first[2][COUNT], second[2][COUNT], gradient[COUNT];
    (void)state;
    for (int b = 0; b < 2; b++) {
        fill(parameters[b], 1);
        memset(first[b], 0, sizeof first[b]);
        memset(second[b], 0, sizeof second[b]);
        for (int step = 1; step <= 5; step++) {
            fill(gradient, 10 + (uint32_t)step);
            struct adamw_step adamw = {1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, step};
            vector_adamw(backends[b], parameters[b], gradient, first[b], second[b], COUNT, &adamw);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        assert_true(fabsf(parameters[0][i] - parameters[1][i]) <= 5e-7f * (1 + fabsf(parameters[0][i])));
        assert_true(fabsf(first[0][i] - first[1][i]) <= 1e-6f);
    }
}

static void test_norms_agree(void **state) {
    float a[COUNT], b[COUNT];
    (void)state;
    fill(a, 1);
    fill(b, 2);
    double norm = vector_square_norm(backends[0], a, COUNT),
           distance = vector_square_distance(backends[0], a, b, COUNT);
    assert_true(fabs(vector_square_norm(backends[1], a, COUNT) - norm) <= 1e-12 * norm);
    assert_true(fabs(vector_square_distance(backends[1], a, b, COUNT) - distance) <= 1e-12 * distance);
    assert_true(vector_square_distance(backends[1], a, a, COUNT) == 0);
}

static void test_js_distance(void **state) {
    static const float p[] = {0.5f, 0.5f, 0, 0}, q[] = {0, 0, 0.25f, 0.75f}, r[] = {0.4f, 0.4f, 0.1f, 0.1f};
    (void)state;
    for (int b = 0; b < 2; b++) {
        assert_true(probabilities_js_distance(backends[b], p, p, 1, 4) == 0);
        assert_true(fabs(probabilities_js_distance(backends[b], p, q, 1, 4) - sqrt(log(2))) <
                    1e-7); /* no overlap: the most */
        double one = probabilities_js_distance(backends[b], p, r, 1, 4),
               other = probabilities_js_distance(backends[b], r, p, 1, 4);
        assert_true(fabs(one - other) < 1e-12);
        assert_true(fabs(probabilities_js_distance(backends[b], p, p, 2, 2) + one - one) < 1e-12);
        const float bad[] = {0.5f, NAN, 0, 0};
        assert_true(isnan(probabilities_js_distance(backends[b], p, bad, 1, 4)));
    }
    /* near each other: JSD = sum d^2 / 8p to second order */
    float near_p[] = {0.5f, 0.5f}, near_q[] = {0.5f + 0x1p-12f, 0.5f - 0x1p-12f};
    double expected = 0x1p-12 * sqrt(2.0 / 8 / 0.5);
    for (int b = 0; b < 2; b++)
        assert_true(fabs(probabilities_js_distance(backends[b], near_p, near_q, 1, 2) / expected - 1) <
                    (b ? 1e-6 : 1e-3));
}

/* Random distributions from far apart to close. The terms are never negative and each is within a few 2^-24: 1e-6 of
 * the sum. The reference subtracts logarithms in double, which leaves 1e-15 / JSD. */
static void test_js_distance_agrees(void **state) {
    enum { ROWS = 5, COLUMNS = 207 };
    (void)state;
    for (double apart = 8; apart > 1e-3; apart /= 4) {
        float p[ROWS * COLUMNS], q[ROWS * COLUMNS];
        struct rng rng = rng_stream(3, RNG_TEST, 0, 0);
        for (int r = 0; r < ROWS; r++) {
            double p_sum = 0, q_sum = 0, x[COLUMNS], y[COLUMNS];
            for (int c = 0; c < COLUMNS; c++) {
                double u = 2 * rng_normal(&rng);
                p_sum += x[c] = exp(u);
                q_sum += y[c] = exp(u + apart * rng_normal(&rng));
            }
            for (int c = 0; c < COLUMNS; c++) {
                p[r * COLUMNS + c] = (float)(x[c] / p_sum);
                q[r * COLUMNS + c] = (float)(y[c] / q_sum);
            }
        }
        double expected = probabilities_js_distance(backends[0], p, q, ROWS, COLUMNS);
        double got = probabilities_js_distance(backends[1], p, q, ROWS, COLUMNS);
        assert_true(fabs(got - expected) <= 1e-6 * expected);
    }
}

/* Both round the velocity to a float and compute the rest in double. */
static void test_outer_momentum_agrees(void **state) {
    float to[2][COUNT], base[COUNT], velocity[2][COUNT], outer[COUNT];
    (void)state;
    fill(base, 1);
    fill(outer, 2);
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        for (int b = 0; b < 2; b++) {
            fill(velocity[b], 3);
            vector_outer_momentum(backends[b], to[b], base, outer, velocity[b], COUNT, 0.7, 0.9, nesterov);
        }
        for (int i = 0; i < COUNT; i++) {
            assert_true(fabsf(to[0][i] - to[1][i]) <= 0x1p-22f * (1 + fabsf(to[0][i])));
            assert_true(fabsf(velocity[0][i] - velocity[1][i]) <= 0x1p-23f * (1 + fabsf(velocity[0][i])));
        }
    }
}

static void test_finite(void **state) {
    float a[COUNT];
    (void)state;
    for (int b = 0; b < 2; b++) {
        fill(a, 1);
        assert_true(vector_finite(backends[b], a, COUNT));
        static const int places[] = {0, COUNT / 2, COUNT - 1};
        static const float values[] = {INFINITY, -INFINITY, NAN};
        for (int place = 0; place < 3; place++)
            for (int value = 0; value < 3; value++) {
                float kept = a[places[place]];
                a[places[place]] = values[value];
                assert_false(vector_finite(backends[b], a, COUNT));
                a[places[place]] = kept;
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mean_of_equals),
                                       cmocka_unit_test(test_mixing_weights),
                                       cmocka_unit_test(test_momentum_conventions),
                                       cmocka_unit_test(test_adamw_agrees),
                                       cmocka_unit_test(test_norms_agree),
                                       cmocka_unit_test(test_js_distance),
                                       cmocka_unit_test(test_finite),
                                       cmocka_unit_test(test_js_distance_agrees),
                                       cmocka_unit_test(test_outer_momentum_agrees)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
