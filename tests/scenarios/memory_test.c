/* Every allocation fails once: reading says so, leaves nothing behind, and works again. libfyaml's own memory is not
 * ours to fail. */
#include "support.h"

static const char text[] = "seeds: 2\n"
                           "strategy: {name: GlobalM1LocalM2-subset, subset: [embedding, head]}\n"
                           "grid:\n"
                           "  strategy.name: [DiLoCo, GlobalM1LocalM2-subset]\n"
                           "  cluster.workers: [2, 4]\n";

/* Runs once with the n-th allocation failing; false when it got through without reaching the n-th. */
static bool fails_cleanly(int64_t n, bool persistent) {
    static const char *const overrides[] = {"cluster.link.bandwidth=5 Mbps", "grid.train.batch=[1, 2]", NULL};
    char path[32];
    struct error error;
    write_file(path, text);
    int64_t blocks = alloc_live_blocks();
    alloc_fail_at(n, persistent);
    struct scenario *scenario = scenario_read(path, overrides, 2, 0, &error);
    alloc_fail_at(0, false);
    unlink(path);
    if (scenario) {
        assert_int_equal(scenario_cell_count(scenario), 16);
        scenario_free(scenario);
        return false;
    }
    if (error.status != STATUS_MEMORY) fail_msg("allocation %lld: %s", (long long)n, error.message);
    assert_true(error.message[0] != '\0');
    assert_int_equal(alloc_live_blocks(), blocks);
    return true;
}

static void every_allocation_of_a_scenario(void **state) {
    (void)state;
    int64_t n = 1;
    while (fails_cleanly(n, true)) n++;
    assert_true(n > 20); /* the file, nodes, cells, JSON: it did fail in many places */
    for (int64_t i = 1; i < n; i++) assert_true(fails_cleanly(i, false));
}

/* Once read, cells are resolved without allocating. */
static void cells_need_no_memory(void **state) {
    (void)state;
    struct scenario *scenario = must_read("seeds: 100\nstrategy: {name: GlobalM1LocalM2-subset}\n", NULL);
    alloc_fail_at(1, true);
    for (int64_t i = 0; i < 100; i++) assert_int_equal(scenario_cell(scenario, i)->seed, i + 1);
    alloc_fail_at(0, false);
    scenario_free(scenario);
}

static void every_allocation_of_json(void **state) {
    (void)state;
    struct sim_def def = sim_default();
    char hex[33];
    struct error error;
    int64_t n = 1, blocks = alloc_live_blocks();
    for (enum status status = STATUS_MEMORY; status != STATUS_OK; n++) {
        alloc_fail_at(n, true);
        status = scenario_hash(&def, hex, &error);
        alloc_fail_at(0, false);
        if (status != STATUS_OK) assert_int_equal(status, STATUS_MEMORY);
        assert_int_equal(alloc_live_blocks(), blocks);
    }
    assert_true(n > 2);
    struct text page = {0};
    alloc_fail_at(1, true);
    assert_int_equal(scenario_print_reference(&page), STATUS_MEMORY);
    alloc_fail_at(0, false);
    text_clear(&page);
}

static void every_allocation_of_flows(void **state) {
    (void)state;
    static const char flows[] = "hosts: {A: {up: 1 Mbps}, B: {}}\n"
                                "links: {l: {bandwidth: 1 MB/s, down: [{from: 1 s}]}, k: {bandwidth: 1 MB/s}}\n"
                                "routes: [{between: [A, B], over: [l]}]\n"
                                "flows: [{from: A, to: B, bytes: 1 B}]\n";
    char path[32];
    write_file(path, flows);
    int64_t n = 1;
    for (enum status status = STATUS_MEMORY; status != STATUS_OK; n++) {
        struct flows_file file;
        struct error error;
        int64_t blocks = alloc_live_blocks();
        alloc_fail_at(n, false);
        status = flows_read(path, &file, &error);
        alloc_fail_at(0, false);
        if (status != STATUS_OK && status != STATUS_MEMORY)
            fail_msg("allocation %lld: %s", (long long)n, error.message);
        flows_clear(&file);
        assert_int_equal(alloc_live_blocks(), blocks);
    }
    assert_true(n > 10);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_scenario),
        cmocka_unit_test(cells_need_no_memory),
        cmocka_unit_test(every_allocation_of_json),
        cmocka_unit_test(every_allocation_of_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
