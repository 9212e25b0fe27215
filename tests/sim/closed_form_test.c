/* The timeline equals the closed form of every strategy, collective and number of workers where there is one. */
#include "support.h"

#include <math.h>

static double play(const struct sim_def *def, double *bytes) {
    struct sim_options options = {.timing_only = true, .jobs = 1};
    struct error error = {0};
    struct sim_round round;
    struct sim_summary summary;
    struct sim *sim = sim_create(def, &options, &error);
    if (!sim) fail_msg("%s", error.message);
    while (sim_next_round(sim, &round, &error) == SIM_ROUND) continue;
    sim_get_summary(sim, &summary);
    sim_free(sim);
    *bytes = (double)summary.bytes_sent;
    return summary.utilization;
}

/* Times are rounded up to the nanosecond: in a round of a second and more, a few hundred messages by steps add under
 * 1e-6 s to virtual time; utilization agrees to the promised 1e-9 where the payload divides evenly, as here. */
static void compare(const struct sim_def *def) {
    struct round_cost cost;
    double bytes;
    assert_true(sim_closed_form(def, &cost)); /* even numbers of workers, powers of two */
    double utilization = play(def, &bytes);
    if (fabs(utilization - cost.utilization) <= 1e-9 &&
        fabs(bytes - cost.bytes * def->cluster.workers * def->train.rounds) <= 1e-9 * bytes)
        return;
    fail_msg("%s, %s of %d: utilization %.12g, by formula %.12g; bytes %.12g, by formula %.12g", def->strategy.name,
             collective_name(def->cluster.collective), def->cluster.workers, utilization, cost.utilization, bytes,
             cost.bytes * def->cluster.workers * def->train.rounds);
}

static void test_all_strategies(void **state) {
    static const enum collective_kind kinds[] = {COLLECTIVE_RING, COLLECTIVE_HALVING_DOUBLING, COLLECTIVE_TREE,
                                                 COLLECTIVE_ALL_GATHER, COLLECTIVE_PARAMETER_SERVER};
    static const int32_t workers[] = {2, 4, 8, 16};
    (void)state;
    for (int32_t s = 0; s < strategy_count(); s++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++)
                for (int latency = 0; latency < 2; latency++) {
                    struct sim_def def = sim_default();
                    struct error error;
                    def.cluster.workers = workers[w];
                    def.cluster.collective = kinds[k];
                    def.cluster.up_bps = def.cluster.down_bps = 100000000;
                    def.cluster.latency_ns = latency * 20000000;
                    def.payload.parameters = 1500000000;
                    def.payload.subset = 0.5;
                    def.train.rounds = 3;
                    def.strategy.inner_steps = 20;
                    assert_int_equal(strategy_find(strategy_name(s), &def.strategy, &error), STATUS_OK);
                    compare(&def);
                }
}

/* Where there is none it says so. */
static void test_no_closed_form(void **state) {
    struct sim_def def = sim_default();
    struct round_cost cost;
    struct error error;
    (void)state;
    def.cluster.workers = 6;
    def.cluster.collective = COLLECTIVE_HALVING_DOUBLING;
    assert_int_equal(strategy_find("DiLoCo", &def.strategy, &error), STATUS_OK);
    assert_false(sim_closed_form(&def, &cost));
    def.cluster.workers = 5;
    def.cluster.collective = COLLECTIVE_RING;
    assert_true(sim_closed_form(&def, &cost));
    assert_int_equal(strategy_find("LocalM1M2", &def.strategy, &error), STATUS_OK);
    assert_false(sim_closed_form(&def, &cost));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_strategies), cmocka_unit_test(test_no_closed_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
