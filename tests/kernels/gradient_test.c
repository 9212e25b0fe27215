/* Gradients in double precision against finite differences, for every kind of parameter. The reference operators are
 * compiled here once more with `real` = double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "kernels/kernels.h"

#define real    double
#define F(name) name##_f64
#include "reference/decoder.inc"

struct shape {
    const char *name;
    struct llama_def def;
};

static const struct shape shapes[] = {
    {"grouped-query", {12, 2, 6, 2, 10, 11, 7, 10000, 1e-5, false}},
    {"tied", {8, 1, 2, 2, 6, 9, 5, 10000, 1e-5, true}},
    {"one token", {8, 1, 2, 1, 6, 9, 1, 10000, 1e-5, false}},
    {"one head, other constants", {6, 2, 1, 1, 7, 5, 4, 500, 1e-3, false}},
};

struct setting {
    struct llama *model;
    struct activations_f64 *activations;
    double *parameters, *gradient;
    int32_t *tokens, *targets;
    int32_t length;
};

static double loss_at(struct setting *s) {
    return forward_f64(s->activations, s->parameters, s->tokens, s->targets);
}

/* Fourth-order central difference. With h = 1e-3 its truncation error is about h^4 f''''' / 30 = 3e-14 f''''' and its
 * rounding error 1e-16 loss / h = 1e-12: 1e-8 of the largest derivatives leaves a wide margin. */
static double difference(struct setting *s, int64_t index) {
    const double h = 1e-3, kept = s->parameters[index];
    double f[4];
    const double at[] = {-2 * h, -h, h, 2 * h};
    for (int i = 0; i < 4; i++) {
        s->parameters[index] = kept + at[i];
        f[i] = loss_at(s);
    }
    s->parameters[index] = kept;
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

static void check_tensor(struct setting *s, const char *shape, const struct llama_tensor *tensor) {
    for (int64_t i = tensor->offset; i < tensor->offset + tensor->rows * tensor->columns; i++) {
        double expected = difference(s, i), got = s->gradient[i];
        if (fabs(expected - got) <= 1e-9 + 1e-7 * fabs(expected)) continue;
        print_error("%s, %s[%lld]: expected %.12g, got %.12g\n", shape, tensor->name, (long long)(i - tensor->offset),
                    expected, got);
        fail();
    }
}

static void check_shape(const struct shape *shape) {
    struct error error;
    struct setting s = {.model = llama_create(&shape->def, &error), .length = shape->def.context};
    assert_non_null(s.model);
    size_t count = (size_t)llama_parameters(s.model), length = (size_t)s.length;
    s.activations = activations_create_f64(s.model, s.length, &error);
    s.parameters = alloc_zero(count, sizeof(double), "test", &error);
    s.gradient = alloc_zero(count, sizeof(double), "test", &error);
    s.tokens = alloc_zero(length, sizeof(int32_t), "test", &error);
    s.targets = alloc_zero(length, sizeof(int32_t), "test", &error);
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (size_t i = 0; i < count; i++) s.parameters[i] = 0.3 * rng_normal(&rng);
    for (size_t i = 0; i < length; i++) {
        s.tokens[i] = (int32_t)rng_below(&rng, (uint32_t)shape->def.vocab);
        s.targets[i] = (int32_t)rng_below(&rng, (uint32_t)shape->def.vocab);
    }
    backward_f64(s.activations, s.parameters, s.tokens, s.targets, 1, s.gradient);
    for (int32_t i = 0; i < llama_tensor_count(s.model); i++) check_tensor(&s, shape->name, llama_tensor(s.model, i));
    activations_free_f64(s.activations);
    alloc_free(s.parameters);
    alloc_free(s.gradient);
    alloc_free(s.tokens);
    alloc_free(s.targets);
    llama_free(s.model);
}

static void test_every_parameter(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) check_shape(&shapes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_parameter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
