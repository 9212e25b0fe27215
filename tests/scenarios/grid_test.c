/* Which cells a grid has, in which order, each once; and what overrides do to it. */
#include "support.h"

static void expect_cells(const char *text, const char *const *overrides, const char *expected) {
    struct scenario *scenario = must_read(text, overrides);
    struct text labels = {0};
    for (int64_t i = 0; i < scenario_cell_count(scenario); i++)
        text_append(&labels, "%s|", scenario_cell_label(scenario, i));
    if (strcmp(text_get(&labels), expected) != 0)
        fail_msg("expected %s\ngot      %s\nfrom %s", expected, text_get(&labels), text);
    text_clear(&labels);
    scenario_free(scenario);
}

#define GRID "strategy: {name: DiLoCo}\ngrid:\n  strategy.name: [DDP, LocalSGD]\n  cluster.workers: [2, 4]\n"

static void order_of_cells(void **state) {
    (void)state;
    expect_cells("name: x\n", NULL, "|");
    expect_cells("seeds: 2\n", NULL, "seed=1|seed=2|");
    expect_cells("seeds: 2\n" GRID, NULL,
                 "strategy.name=DDP cluster.workers=2 seed=1|strategy.name=DDP cluster.workers=2 seed=2|"
                 "strategy.name=DDP cluster.workers=4 seed=1|strategy.name=DDP cluster.workers=4 seed=2|"
                 "strategy.name=LocalSGD cluster.workers=2 seed=1|strategy.name=LocalSGD cluster.workers=2 seed=2|"
                 "strategy.name=LocalSGD cluster.workers=4 seed=1|strategy.name=LocalSGD cluster.workers=4 seed=2|");
    expect_cells("grid: {seed: [5, 3]}\n", NULL, "seed=5|seed=3|");
}

static void cells_have_their_values(void **state) {
    (void)state;
    struct scenario *scenario = must_read("seed: 10\nseeds: 2\n" GRID, NULL);
    for (int64_t i = 0; i < 8; i++) {
        const struct sim_def *def = scenario_cell(scenario, i);
        assert_string_equal(def->strategy.name, i < 4 ? "DDP" : "LocalSGD");
        assert_int_equal(def->cluster.workers, i / 2 % 2 ? 4 : 2);
        assert_int_equal(def->seed, 10 + i % 2);
    }
    scenario_free(scenario);
}

static void overrides_of_axes(void **state) {
    (void)state;
    expect_cells(GRID, (const char *const[]){"grid=null", NULL}, "|");
    expect_cells(GRID, (const char *const[]){"strategy.name=NoMixing", NULL}, "cluster.workers=2|cluster.workers=4|");
    expect_cells(GRID, (const char *const[]){"strategy.program=[inner H, outer]", NULL},
                 "cluster.workers=2|cluster.workers=4|");
    expect_cells(GRID, (const char *const[]){"cluster={workers: 3}", "strategy.name=DDP", NULL}, "|");
    expect_cells(GRID, (const char *const[]){"grid.cluster.workers=null", NULL},
                 "strategy.name=DDP|strategy.name=LocalSGD|");
    expect_cells(GRID, (const char *const[]){"grid.cluster.workers=[7]", NULL},
                 "strategy.name=DDP cluster.workers=7|strategy.name=LocalSGD cluster.workers=7|");
    expect_cells(GRID, (const char *const[]){"grid={train.batch: [1, 2]}", NULL}, "train.batch=1|train.batch=2|");
    expect_cells("grid: {cluster.link.up: [1 Mbps, 2 Mbps]}\n",
                 (const char *const[]){"cluster.link.bandwidth=5 Mbps", NULL}, "|");
    expect_cells("seeds: 4\ngrid: {cluster.workers: [2]}\n", (const char *const[]){"seeds=1", NULL},
                 "cluster.workers=2|");
}

/* Whole sections, lists and maps as values. */
static void axes_of_sections(void **state) {
    (void)state;
    static const char text[] = "grid:\n"
                               "  train.optimizer: [{name: adamw, lr: 1e-3}, {name: sgd, lr: 0.1}]\n"
                               "  strategy.program: [[inner H, outer], [inner H, mix parameters global]]\n";
    expect_cells(text, NULL,
                 "train.optimizer={name: adamw, lr: 1e-3} strategy.program=[inner H, outer]|"
                 "train.optimizer={name: adamw, lr: 1e-3} strategy.program=[inner H, mix parameters global]|"
                 "train.optimizer={name: sgd, lr: 0.1} strategy.program=[inner H, outer]|"
                 "train.optimizer={name: sgd, lr: 0.1} strategy.program=[inner H, mix parameters global]|");
    struct scenario *scenario = must_read(text, NULL);
    assert_string_equal(scenario_cell(scenario, 2)->train.optimizer.name, "sgd");
    assert_true(scenario_cell(scenario, 2)->train.optimizer.learning_rate == 0.1);
    assert_int_equal(scenario_cell(scenario, 1)->strategy.program.count, 2);
    scenario_free(scenario);
    expect_cells("cluster: {workers: 8}\ngrid: {cluster.workers: [null, 2]}\n", NULL,
                 "cluster.workers=null|cluster.workers=2|"); /* null: the default, 8 */
}

/* Equal cells are kept once, the first of them; keys without effect in a cell do not tell cells apart. */
static void equal_cells_are_one(void **state) {
    (void)state;
    expect_cells("grid: {cluster.workers: [2, 4, 2, 2]}\n", NULL, "cluster.workers=2|cluster.workers=4|");
    expect_cells("grid: {cluster.link.latency: [1 s, 1000 ms]}\n", NULL, "cluster.link.latency=1 s|");
    expect_cells("grid: {strategy.name: [DDP, DiLoCo], outer.lr: [0.5, 0.7]}\n", NULL,
                 "strategy.name=DDP outer.lr=0.5|strategy.name=DiLoCo outer.lr=0.5|strategy.name=DiLoCo outer.lr=0.7|");
}

/* train.rounds on an axis stands in for the file's train.tokens. */
static void an_axis_replaces_what_it_excludes(void **state) {
    (void)state;
    struct scenario *scenario = must_read("train: {tokens: 4M}\ngrid: {train.rounds: [2, 3]}\n", NULL);
    assert_int_equal(scenario_cell(scenario, 1)->train.rounds, 3);
    assert_int_equal(scenario_cell(scenario, 1)->train.tokens, 0);
    scenario_free(scenario);
}

static void too_many_cells(void **state) {
    (void)state;
    struct text text = {0};
    struct error error;
    text_append(&text, "seeds: 1000\ngrid:\n  cluster.workers: [1");
    for (int32_t i = 2; i <= 1001; i++) text_append(&text, ", %d", i);
    text_append(&text, "]\n");
    assert_null(read_text(text_get(&text), NULL, &error));
    assert_string_equal(error.message, "grid: 1001000 cells or more with the seeds; at most 1000000");
    assert_int_equal(error.line, 3);
    text_clear(&text);
    assert_null(read_text("name: x\n", (const char *const[]){"seeds=2000000", NULL}, &error));
    assert_string_equal(error.message, "--set seeds: '2000000' is out of range; write 1 to 1000000");
}

/* More cells than are held: each can be asked for again, and 64 neighbours hold together. */
static void cells_are_held(void **state) {
    (void)state;
    struct scenario *scenario = must_read("seeds: 200\n", NULL);
    const struct sim_def *held[64];
    assert_int_equal(scenario_cell_count(scenario), 200);
    for (int32_t from = 0; from + 64 <= 200; from += 17) {
        for (int32_t i = 0; i < 64; i++) held[i] = scenario_cell(scenario, from + i);
        for (int32_t i = 0; i < 64; i++) assert_int_equal(held[i]->seed, 1 + from + i);
    }
    assert_int_equal(scenario_cell(scenario, 0)->seed, 1);
    assert_string_equal(scenario_cell_label(scenario, 199), "seed=200");
    scenario_free(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_cells),      cmocka_unit_test(cells_have_their_values),
        cmocka_unit_test(overrides_of_axes),   cmocka_unit_test(axes_of_sections),
        cmocka_unit_test(equal_cells_are_one), cmocka_unit_test(an_axis_replaces_what_it_excludes),
        cmocka_unit_test(too_many_cells),      cmocka_unit_test(cells_are_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
