/* Layout, presets, blocks, initial weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "kernels/kernels.h"

static const struct backend *reference(void) {
    const struct backend *backend;
    struct error error;
    assert_int_equal(backend_find("reference", &backend, &error), STATUS_OK);
    return backend;
}

/* Counts worked out by hand from the shapes; "1.5B" is the paper's figure. */
static void test_preset_counts(void **state) {
    static const struct {
        const char *name;
        int64_t parameters;
    } cases[] = {
        {"tiny", 2 * 256 * 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 192) + 64},
        {"1M", 2 * 256 * 128 + 4 * (2 * 128 + 2 * 128 * 128 + 2 * 64 * 128 + 3 * 128 * 352) + 128},
        {"720M", INT64_C(50304) * 2048 + INT64_C(12) * (2 * 2048 + 4 * 2048 * 2048 + 3 * 2048 * 8192) + 2048},
        {"1.5B", 1498482688},
        {"16M", 50304 * 256 + 4 * (2 * 256 + 4 * 256 * 256 + 3 * 256 * 1024) + 256},
        {"125M", INT64_C(50304) * 768 + INT64_C(12) * (2 * 768 + 4 * 768 * 768 + 3 * 768 * 3072) + 768},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct llama_def def;
        assert_true(llama_preset(cases[i].name, &def));
        assert_int_equal(llama_count_parameters(&def), cases[i].parameters);
    }
    struct llama_def def;
    assert_false(llama_preset("2B", &def));
    for (int32_t i = 0; llama_preset_name(i); i++) {
        struct error error;
        assert_true(llama_preset(llama_preset_name(i), &def));
        assert_int_equal(llama_check(&def, &error), STATUS_OK);
    }
}

/* The paper's subset of the 1.5B model: embedding, head and the first two layers are 43.18 %. */
static void test_subset_of_the_paper(void **state) {
    struct llama_def def;
    struct error error;
    bool selected[64] = {false};
    (void)state;
    assert_true(llama_preset("1.5B", &def));
    struct llama *model = llama_create(&def, &error);
    assert_non_null(model);
    static const char *const names[] = {"embedding", "head", "layer0", "layer1"};
    for (int i = 0; i < 4; i++) assert_int_equal(llama_select_blocks(model, names[i], selected, &error), STATUS_OK);
    int64_t sum = 0;
    for (int32_t b = 0; b < llama_block_count(model); b++)
        if (selected[b]) sum += llama_block_parameters(model, b);
    assert_true(fabs((double)sum / (double)llama_parameters(model) - 0.4318) < 0.00005);
    llama_free(model);
}

/* Tensors lie one after the other without gaps, and every one belongs to a block whose size is their sum. */
static void test_layout_is_dense(void **state) {
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        struct llama_def def = llama_default();
        struct error error;
        def.tied = tied;
        struct llama *model = llama_create(&def, &error);
        int64_t next = 0, blocks = 0;
        for (int32_t i = 0; i < llama_tensor_count(model); i++) {
            const struct llama_tensor *tensor = llama_tensor(model, i);
            assert_int_equal(tensor->offset, next);
            next += tensor->rows * tensor->columns;
        }
        assert_int_equal(next, llama_parameters(model));
        for (int32_t b = 0; b < llama_block_count(model); b++) blocks += llama_block_parameters(model, b);
        assert_int_equal(blocks, next);
        struct range ranges[64];
        assert_int_equal(llama_block_ranges(model, NULL, ranges), 1);
        assert_int_equal(ranges[0].count, next);
        llama_free(model);
    }
}

static void test_block_names(void **state) {
    struct llama_def def = llama_default();
    struct error error;
    bool selected[16] = {false};
    struct range ranges[32];
    (void)state;
    struct llama *model = llama_create(&def, &error);
    assert_int_equal(llama_select_blocks(model, "layer1.mlp", selected, &error), STATUS_OK);
    assert_int_equal(llama_block_ranges(model, selected, ranges), 1);
    assert_int_equal(ranges[0].count, 3 * 64 * 192);
    memset(selected, 0, sizeof selected);
    assert_int_equal(llama_select_blocks(model, "norms", selected, &error), STATUS_OK);
    assert_int_equal(llama_block_ranges(model, selected, ranges), 5);
    assert_int_equal(llama_select_blocks(model, "layer2", selected, &error), STATUS_INPUT);
    assert_int_equal(llama_select_blocks(model, "embeding", selected, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "embedding"));
    assert_int_equal(llama_select_blocks(model, "layer", selected, &error), STATUS_INPUT);
    llama_free(model);
}

static void test_bad_shapes(void **state) {
    static const struct llama_def bad[] = {
        {0, 2, 4, 2, 192, 256, 64, 10000, 1e-5, false},   {64, 0, 4, 2, 192, 256, 64, 10000, 1e-5, false},
        {64, 2, 3, 1, 192, 256, 64, 10000, 1e-5, false},  {64, 2, 4, 3, 192, 256, 64, 10000, 1e-5, false},
        {64, 2, 64, 2, 192, 256, 64, 10000, 1e-5, false}, {64, 2, 4, 8, 192, 256, 64, 10000, 1e-5, false},
        {64, 2, 4, 2, 192, 256, 64, NAN, 1e-5, false},    {64, 2, 4, 2, 192, 256, 64, 10000, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error error = {0};
        assert_null(llama_create(&bad[i], &error));
        assert_int_equal(error.status, STATUS_INPUT);
        assert_non_null(strstr(error.message, "model."));
    }
}

/* Deviation 0.02, or 0.02 / sqrt(2 layers) for what writes into the residual stream, within five standard errors. */
static void check_normal(const float *values, const struct llama_tensor *tensor, int32_t layers) {
    bool residual = tensor->kind == LLAMA_OUTPUT || tensor->kind == LLAMA_DOWN;
    double count = (double)(tensor->rows * tensor->columns), expected = residual ? 0.02 / sqrt(2.0 * layers) : 0.02;
    double deviation = sqrt(vector_square_norm(reference(), values, tensor->rows * tensor->columns) / count);
    assert_true(fabs(deviation - expected) < 5 * expected / sqrt(2 * count));
}

/* The same seed gives the same weights, another seed others; gains are 1. */
static void test_initial_weights(void **state) {
    struct llama_def def = llama_default();
    struct error error;
    (void)state;
    struct llama *model = llama_create(&def, &error);
    int64_t count = llama_parameters(model);
    float *a = backend_alloc(reference(), count, "test", &error),
          *b = backend_alloc(reference(), count, "test", &error);
    llama_initialize(model, reference(), 7, a);
    llama_initialize(model, reference(), 7, b);
    assert_true(vector_equal(reference(), a, b, count));
    llama_initialize(model, reference(), 8, b);
    assert_false(vector_equal(reference(), a, b, count));
    const struct llama_tensor *norm = llama_tensor(model, 1);
    for (int64_t i = 0; i < norm->rows; i++) assert_true(a[norm->offset + i] == 1);
    for (int32_t t = 0; t < llama_tensor_count(model); t++) {
        const struct llama_tensor *tensor = llama_tensor(model, t);
        if (tensor->columns > 1) check_normal(a + tensor->offset, tensor, def.layers);
        /* each matrix has numbers of its own */
        if (t > 0 && tensor->columns > 1) assert_true(a[tensor->offset] != a[0] && a[tensor->offset + 1] != a[1]);
    }
    backend_release(reference(), a);
    backend_release(reference(), b);
    llama_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preset_counts),   cmocka_unit_test(test_subset_of_the_paper),
        cmocka_unit_test(test_layout_is_dense), cmocka_unit_test(test_block_names),
        cmocka_unit_test(test_bad_shapes),      cmocka_unit_test(test_initial_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
