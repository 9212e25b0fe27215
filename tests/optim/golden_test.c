/* Three AdamW steps (clip 1, decay 0.1 on matrices only) against PyTorch in double precision, on both back ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "golden.h"
#include "optimizer.h"

#include "base/alloc.h"

/* Relative to a tensor's norm. AdamW divides by the gradient's own size, so an element whose gradient is as small as
 * the rounding of the sums behind it (1e-7 of the tensor's largest) may move by a good part of the learning rate, 1e-2,
 * in the wrong direction; such elements are few, and the promise of the project, 1e-5 of the norm, holds all the same.
 */
static const double TOLERANCE = 1e-5;

static void take_steps(const struct golden *golden, const struct backend *backend, const struct llama *model,
                       float *parameters) {
    struct error error;
    int64_t count = golden->parameters, batch = (int64_t)golden->batch * golden->def.context;
    struct optimizer_def def = {"adamw", 1e-2, 0.9, 0.95, 1e-8, 0.1};
    const struct optimizer *adamw = optimizer_find("adamw");
    float *gradient = backend_alloc(backend, count, "test", &error);
    float *state[2] = {backend_alloc(backend, count, "test", &error), backend_alloc(backend, count, "test", &error)};
    struct compute *compute =
        compute_create(model, backend, golden->batch, golden->def.context, COMPUTE_TRAINING, &error);
    assert_non_null(compute);
    assert_int_equal(adamw->vectors, 2);
    for (int32_t step = 0; step < golden->steps; step++) {
        double loss;
        compute_gradient(compute, parameters, golden->tokens + step * batch, golden->targets + step * batch,
                         golden->batch, (double)batch, false, gradient, &loss);
        assert_true(fabs(loss / (double)batch - golden->losses[step]) <= TOLERANCE * golden->losses[step]);
        double norm = sqrt(vector_square_norm(backend, gradient, count));
        struct optimizer_step s = {backend, model, &def, parameters, gradient, state, 1e-2, norm > 1 ? 1 / norm : 1,
                                   step + 1};
        adamw->step(&s);
    }
    compute_free(compute);
    backend_release(backend, gradient);
    backend_release(backend, state[0]);
    backend_release(backend, state[1]);
}

static void compare(const char *case_name, const char *backend_text) {
    struct golden golden;
    struct error error;
    const struct backend *backend;
    assert_true(golden_read(case_name, &golden));
    assert_int_equal(backend_find(backend_text, &backend, &error), STATUS_OK);
    struct llama *model = llama_create(&golden.def, &error);
    float *parameters = backend_alloc(backend, golden.parameters, "test", &error);
    for (int64_t i = 0; i < golden.parameters; i++) parameters[i] = (float)golden.initial[i];
    take_steps(&golden, backend, model, parameters);
    for (int32_t t = 0; t < llama_tensor_count(model); t++) {
        const struct llama_tensor *tensor = llama_tensor(model, t);
        double wrong = 0, norm = 0;
        for (int64_t i = tensor->offset; i < tensor->offset + tensor->rows * tensor->columns; i++) {
            wrong += pow((double)parameters[i] - golden.final[i], 2);
            norm += pow(golden.final[i], 2);
        }
        if (sqrt(wrong) <= TOLERANCE * sqrt(norm)) continue;
        print_error("%s on %s, %s: relative error %g\n", case_name, backend_text, tensor->name, sqrt(wrong / norm));
        fail();
    }
    backend_release(backend, parameters);
    llama_free(model);
    alloc_free(golden.bytes);
}

static void test_three_steps(void **state) {
    (void)state;
    compare("grouped", "reference");
    compare("tied", "reference");
    compare("grouped", "openblas");
    compare("tied", "openblas");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_three_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
