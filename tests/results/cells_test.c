/* Runs gathered into cells, and the words that tell cells apart. */
#include "fake.h"

#include "cells.h"
#include "store.h"

#include "base/alloc.h"

static char folder[64];
static struct store *store;

static int open_new(void **state) {
    (void)state;
    char path[96];
    struct error error = {0};
    fake_folder(folder);
    snprintf(path, sizeof path, "%s/x.db", folder);
    store = store_open(path, &error);
    return store ? 0 : -1;
}

static int close_and_remove(void **state) {
    (void)state;
    store_close(store);
    fake_remove(folder);
    return 0;
}

static struct cells read_cells(bool trained) {
    struct cells cells;
    struct error error = {0};
    fake_expect(cells_read(&store->database, NULL, trained, &cells, &error), &error);
    return cells;
}

static void seeds_are_one_cell(void **state) {
    (void)state;
    for (int i = 2; i < 4; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct fake fake = fake_strategy(i);
            fake.seed = seed;
            fake.perplexity = (double)seed;
            if (i == 3 && seed == 2) fake.status = RUN_DIVERGED;
            fake_store(store, &fake);
        }
    struct cells cells = read_cells(true);
    assert_int_equal(cells.count, 2);
    assert_int_equal(cells.items[0].done, 3);
    assert_true(cells.items[0].perplexity.mean == 2);
    assert_int_equal(cells.items[1].done, 2);
    assert_true(cells.items[1].perplexity.mean == 2); /* of seeds 1 and 3 */
    assert_true(cells.items[1].perplexity_floor == 4.3);
    struct text list = {0};
    cells_run_list(&cells, 1, &list);
    assert_string_equal(text_get(&list), "[4,6]");
    text_clear(&list);
    cells_clear(&cells);
}

static void cells_are_told_apart_by_what_varies(void **state) {
    (void)state;
    static const struct {
        int strategy, mbps, inner_steps;
        const char *label, *wanted;
    } rows[] = {
        {2, 100, 50, "strategy.name=DiLoCo cluster.link.bandwidth=100 Mbps seed=1", "DiLoCo, 100 Mbps, H = 50"},
        {2, 200, 50, "strategy.name=DiLoCo cluster.link.bandwidth=200 Mbps seed=1", "DiLoCo, 200 Mbps, H = 50"},
        {3, 1000, 500, "strategy.inner_steps=500", "GlobalM1, 1 Gbps, H = 500"},
        {3, 100, 50, "train.optimizer.lr=3e-3 data.text=a = b c=d",
         "GlobalM1, 100 Mbps, H = 50, lr = 3e-3, text = a = b, c = d"},
        {3, 100, 50, "train.optimizer.lr=1e-3 seed=4", "GlobalM1, 100 Mbps, H = 50, lr = 1e-3"},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    char label[256], text[96];
    for (int i = 0; i < ROWS; i++) {
        struct fake fake = fake_strategy(rows[i].strategy);
        fake.mbps = rows[i].mbps;
        fake.inner_steps = rows[i].inner_steps;
        fake.label = rows[i].label;
        fake_store(store, &fake);
    }
    struct cells cells = read_cells(true);
    assert_int_equal(cells.count, ROWS);
    for (int i = 0; i < ROWS; i++) assert_string_equal(cells_label(&cells, i, label, sizeof label), rows[i].wanted);
    assert_string_equal(cells_common(&cells, label, sizeof label), "8 workers, latency 20 ms");
    int64_t values[ROWS];
    assert_int_equal(cells_axis_values(&cells, AXIS_BANDWIDTH, values), 3);
    assert_int_equal(values[2], 2); /* 1 Gbps is the largest */
    assert_int_equal(cells.items[1].rank[AXIS_BANDWIDTH], 1);
    assert_string_equal(cells_axis_name(&cells, AXIS_OTHER), "lr");
    assert_int_equal(cells_axis_values(&cells, AXIS_OTHER, values), 3);
    assert_string_equal(cells_axis_text(&cells, 0, AXIS_OTHER, text, sizeof text), "default lr");
    assert_string_equal(cells_tic_text(&cells, 3, AXIS_OTHER, text, sizeof text), "3e-3");
    assert_string_equal(cells_tic_text(&cells, 2, AXIS_INNER_STEPS, text, sizeof text), "500");
    for (int i = 0; i < ROWS; i++) assert_int_equal(cells.items[i].first, i == 0 || i == 2);
    cells_clear(&cells);
}

/* Two configurations that agree in all we know still have different names. */
static void twins_are_named_by_their_run(void **state) {
    (void)state;
    char label[64];
    static const char *const scenarios[] = {"same", "same"};
    for (int i = 0; i < 2; i++) {
        struct fake fake = fake_strategy(2);
        fake.scenario = scenarios[i];
        fake.label = i ? "strategy.name=DiLoCo" : ""; /* another configuration, nothing that is an axis */
        fake_store(store, &fake);
    }
    struct cells cells = read_cells(true);
    assert_int_equal(cells.count, 2);
    assert_string_equal(cells_label(&cells, 0, label, sizeof label), "DiLoCo, run 1");
    assert_string_equal(cells_label(&cells, 1, label, sizeof label), "DiLoCo, run 2");
    cells_clear(&cells);
}

static void timing_only_runs_are_apart(void **state) {
    (void)state;
    struct fake fake = fake_strategy(2);
    struct cells cells;
    struct error error = {0};
    fake.timing_only = true;
    fake_store(store, &fake);
    assert_int_equal(cells_read(&store->database, NULL, true, &cells, &error), STATUS_INPUT);
    cells = read_cells(false);
    assert_int_equal(cells.count, 1);
    assert_int_equal(cells.items[0].perplexity.count, 0);
    assert_true(cells.items[0].utilization.mean == fake.utilization);
    cells_clear(&cells);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(seeds_are_one_cell, open_new, close_and_remove),
        cmocka_unit_test_setup_teardown(cells_are_told_apart_by_what_varies, open_new, close_and_remove),
        cmocka_unit_test_setup_teardown(twins_are_named_by_their_run, open_new, close_and_remove),
        cmocka_unit_test_setup_teardown(timing_only_runs_are_apart, open_new, close_and_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
