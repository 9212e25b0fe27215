/* Loss, gradient and three clipped AdamW steps of both back ends against PyTorch in double precision. Each tensor is
 * compared as a whole: the norm of the difference against the norm of the expected values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "golden.h"

#include "base/alloc.h"

/* Single precision sums of at most a few hundred products: rounding of 6e-8 grows to below 1e-6 of a tensor's norm;
 * 1e-5 is the promise of the project. */
static const double TOLERANCE = 1e-5;

static void check_tensors(const char *name, const char *what, const struct llama *model, const float *got,
                          const double *expected) {
    for (int32_t i = 0; i < llama_tensor_count(model); i++) {
        const struct llama_tensor *tensor = llama_tensor(model, i);
        double error = 0, norm = 0;
        for (int64_t j = tensor->offset; j < tensor->offset + tensor->rows * tensor->columns; j++) {
            error += pow((double)got[j] - expected[j], 2);
            norm += pow(expected[j], 2);
        }
        if (sqrt(error) <= TOLERANCE * sqrt(norm)) continue;
        print_error("%s, %s of %s: relative error %g, at most %g\n", name, what, tensor->name, sqrt(error / norm),
                    TOLERANCE);
        fail();
    }
}

/* The settings of make_golden.py. */
static void adamw(const struct llama *model, const struct backend *backend, float *parameters, const float *gradient,
                  float *first, float *second, int64_t step) {
    double norm = sqrt(vector_square_norm(backend, gradient, llama_parameters(model)));
    for (int32_t i = 0; i < llama_tensor_count(model); i++) {
        const struct llama_tensor *tensor = llama_tensor(model, i);
        struct adamw_step with = {1e-2, 0.9, 0.95, 1e-8, tensor->decay ? 0.1 : 0, norm > 1 ? 1 / (norm + 1e-6) : 1,
                                  step};
        int64_t at = tensor->offset;
        vector_adamw(backend, parameters + at, gradient + at, first + at, second + at, tensor->rows * tensor->columns,
                     &with);
    }
}

static void compare(const char *case_name, const char *backend_name_text) {
    struct golden golden;
    struct error error = {0};
    const struct backend *backend;
    assert_true(golden_read(case_name, &golden));
    assert_int_equal(backend_find(backend_name_text, &backend, &error), STATUS_OK);
    struct llama *model = llama_create(&golden.def, &error);
    assert_non_null(model);
    assert_int_equal(llama_parameters(model), golden.parameters);
    float *parameters = backend_alloc(backend, golden.parameters, "test", &error);
    float *gradient = backend_alloc(backend, golden.parameters, "test", &error);
    float *first = backend_alloc(backend, golden.parameters, "test", &error);
    float *second = backend_alloc(backend, golden.parameters, "test", &error);
    for (int64_t i = 0; i < golden.parameters; i++) parameters[i] = (float)golden.initial[i];
    int32_t length = golden.def.context;
    struct compute *compute = compute_create(model, backend, golden.batch, length, COMPUTE_TRAINING, &error);
    assert_non_null(compute);
    double loss, tokens = golden.batch * length;
    for (int32_t step = 0; step < golden.steps; step++) {
        int64_t at = (int64_t)step * golden.batch * length;
        compute_gradient(compute, parameters, golden.tokens + at, golden.targets + at, golden.batch, tokens, false,
                         gradient, &loss);
        assert_true(fabs(loss / tokens - golden.losses[step]) <= TOLERANCE * golden.losses[step]);
        if (step == 0) check_tensors(case_name, "gradient", model, gradient, golden.gradient);
        adamw(model, backend, parameters, gradient, first, second, step + 1);
    }
    check_tensors(case_name, "parameters", model, parameters, golden.final);
    compute_free(compute);
    backend_release(backend, parameters);
    backend_release(backend, gradient);
    backend_release(backend, first);
    backend_release(backend, second);
    llama_free(model);
    alloc_free(golden.bytes);
}

static void test_reference(void **state) {
    (void)state;
    compare("grouped", "reference");
    compare("tied", "reference");
}

static void test_openblas(void **state) {
    (void)state;
    compare("grouped", "openblas");
    compare("tied", "openblas");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_openblas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
