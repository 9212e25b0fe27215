/* Loss and gradient of both back ends against PyTorch in double precision. */
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

static void check_gradient(const char *name, const struct llama *model, const float *gradient, const double *expected) {
    for (int32_t i = 0; i < llama_tensor_count(model); i++) {
        const struct llama_tensor *tensor = llama_tensor(model, i);
        double error = 0, norm = 0;
        for (int64_t j = tensor->offset; j < tensor->offset + tensor->rows * tensor->columns; j++) {
            error += pow((double)gradient[j] - expected[j], 2);
            norm += pow(expected[j], 2);
        }
        if (!(sqrt(error) <= TOLERANCE * sqrt(norm))) {
            print_error("%s, gradient of %s: relative error %g, at most %g\n", name, tensor->name, sqrt(error / norm),
                        TOLERANCE);
            fail();
        }
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
    for (int64_t i = 0; i < golden.parameters; i++) parameters[i] = (float)golden.initial[i];
    int32_t length = golden.def.context;
    struct compute *compute = compute_create(model, backend, golden.batch, length, COMPUTE_TRAINING, &error);
    assert_non_null(compute);
    double loss, tokens = golden.batch * length;
    compute_gradient(compute, parameters, golden.tokens, golden.targets, golden.batch, tokens, false, gradient, &loss);
    assert_true(fabs(loss / tokens - golden.losses[0]) <= TOLERANCE * golden.losses[0]);
    check_gradient(case_name, model, gradient, golden.gradient);
    compute_free(compute);
    backend_release(backend, parameters);
    backend_release(backend, gradient);
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
