/* What is derived from a def, what is refused and in which words, and what is warned of. */
#include "support.h"

#include <math.h>

static void defaults_pass(void **state) {
    (void)state;
    struct sim_def def = sim_default();
    struct error error = {0};
    if (sim_check(&def, &error) != STATUS_OK) fail_msg("%s", error.message);
    for (int32_t i = 0; i < DTYPES; i++) assert_non_null(dtype_name((enum payload_dtype)i));
    for (int32_t i = 0; i < OVERLAPPED_FAILURES; i++)
        assert_non_null(overlapped_failure_name((enum overlapped_failure)i));
    for (int32_t i = 0; i < strategy_count(); i++) {
        def = paper_def(strategy_name(i), 8, 100, 2, 100);
        if (sim_check(&def, &error) != STATUS_OK) fail_msg("%s: %s", strategy_name(i), error.message);
    }
}

static void payload_is_counted(void **state) {
    (void)state;
    struct sim_def def = paper_def("GlobalM1LocalM2-subset", 8, 100, 2, 100);
    int64_t model = llama_count_parameters(&def.model);
    assert_int_equal(sim_payload_bytes(&def, false), 3000000000);
    assert_int_equal(sim_payload_bytes(&def, true), 1290000000);
    def.payload.dtype = DTYPE_INT8;
    assert_int_equal(sim_payload_bytes(&def, false), 1500000000);
    def.payload = (struct payload_def){.parameters = 0, .dtype = DTYPE_FP32, .subset = -1};
    assert_int_equal(sim_payload_bytes(&def, false), 4 * model);
    int64_t subset = sim_payload_bytes(&def, true);
    assert_true(subset > 0 && subset < 4 * model && subset % 4 == 0);
    def.payload.parameters = 10 * model; /* the model's fraction, at the payload's size */
    assert_int_equal(sim_payload_bytes(&def, true), 10 * subset);
}

/* Llama-3.2-1B's shapes with an untied head: embedding, head and two layers are 43.18 %. */
static void published_subset(void **state) {
    (void)state;
    struct sim_def def = paper_def("GlobalM1LocalM2-subset", 8, 100, 2, 100);
    assert_true(llama_preset("1.5B", &def.model));
    def.payload = (struct payload_def){.parameters = 0, .dtype = DTYPE_BF16, .subset = -1};
    def.strategy.subset_count = 4;
    snprintf(def.strategy.subset[0], sizeof def.strategy.subset[0], "embedding");
    snprintf(def.strategy.subset[1], sizeof def.strategy.subset[1], "head");
    snprintf(def.strategy.subset[2], sizeof def.strategy.subset[2], "layer0");
    snprintf(def.strategy.subset[3], sizeof def.strategy.subset[3], "layer1");
    assert_int_equal(sim_payload_bytes(&def, false), 2 * INT64_C(1498482688));
    double fraction = (double)sim_payload_bytes(&def, true) / (double)sim_payload_bytes(&def, false);
    assert_true(fabs(fraction - 0.4318) < 0.00005);
}

/* 6 x 1.5e9 parameters x 4096 tokens / (312e12 x 0.4) = 0.2953846154 s */
static void step_is_derived(void **state) {
    (void)state;
    struct sim_def def = paper_def("DiLoCo", 8, 100, 2, 100);
    assert_int_equal(sim_step_ns(&def), 2360000000);
    def.cluster.compute = (struct compute_def){.step_ns = 0, .peak_flops = 312e12, .mfu = 0.4, .tokens = 4096};
    assert_int_equal(sim_step_ns(&def), 295384615);
    def.cluster.compute.tokens = 0;
    def.train.batch = 8;
    def.train.accumulation = 4;
    def.model.context = 128;
    assert_int_equal(sim_step_ns(&def), 295384615);
    def.cluster.compute.peak_flops = 1e30;
    assert_int_equal(sim_step_ns(&def), 1);
}

/* ---- refused ---- */

#define CASE(name, words, change)                                                                                      \
    static void break_##name(struct sim_def *def) {                                                                    \
        change;                                                                                                        \
    }
#include "def_cases.def"
#undef CASE

static const struct {
    const char *words;
    void (*breaks)(struct sim_def *def);
} broken[] = {
#define CASE(name, words, change) {words, break_##name},
#include "def_cases.def"
#undef CASE
};

static void impossible_values_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct sim_def def = paper_def("DiLoCo", 8, 100, 2, 100);
        struct error error = {0};
        broken[i].breaks(&def);
        if (sim_check(&def, &error) != STATUS_INPUT || strncmp(error.message, broken[i].words, strlen(broken[i].words)))
            fail_msg("expected '%s...', got %s '%s'", broken[i].words, status_name(error.status), error.message);
        assert_null(strchr(error.message, '\n'));
    }
}

/* ---- warned of ---- */

static void expect_warnings(const struct sim_def *def, const char *first, const char *second) {
    const char *expected[2] = {first, second};
    char text[400];
    int32_t i = 0;
    for (; sim_warning(def, i, text, sizeof text); i++) {
        if (i == 2 || !expected[i] || !strstr(text, expected[i]))
            fail_msg("warning %d: '%s', expected '%s'", i, text, i < 2 && expected[i] ? expected[i] : "none");
    }
    assert_true(i == 2 || !expected[i]);
}

static void vacuous_runs_are_told(void **state) {
    (void)state;
    struct sim_def def = paper_def("DiLoCo", 8, 10, 2, 100);
    int64_t step_tokens = (int64_t)8 * def.train.batch * def.train.accumulation * def.model.context;
    expect_warnings(&def, NULL, NULL);
    def.train.rounds = 0;
    def.train.tokens = 25 * step_tokens + 1;
    expect_warnings(&def, "tail of 5", NULL);
    def.train.tokens = 9 * step_tokens;
    expect_warnings(&def, "longer than the whole run of 9", NULL);
    def.train.tokens = 10 * step_tokens;
    expect_warnings(&def, NULL, NULL);
    def.cluster.workers = 1;
    def.train.rounds = 2;
    expect_warnings(&def, "one worker", NULL);
    def = paper_def("NoMixing", 8, 10, 2, 100);
    expect_warnings(&def, "mixes nothing", NULL);
    def.train.rounds = 0;
    def.train.tokens = 25 * step_tokens;
    expect_warnings(&def, "tail of 5", "mixes nothing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_pass),
        cmocka_unit_test(payload_is_counted),
        cmocka_unit_test(published_subset),
        cmocka_unit_test(step_is_derived),
        cmocka_unit_test(impossible_values_are_named),
        cmocka_unit_test(vacuous_runs_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
