/* The published setting in closed form: for every cell, each round takes exactly the seconds that the formulas give and
 * utilization is compute / round.
 *
 *   ring = 2(M-1)/M S/B, pair = S/B, C = H x step; S = 3e9 bytes, step = 2.36 s, subset = 0.43
 *   DiLoCo C + ring; GlobalM1 max(C, ring); GlobalM1LocalM2 max(C, ring) + pair (x 0.43); LocalM1M2 max(C, pair) + pair
 */
#include "support.h"

#include <math.h>

static const struct cell {
    const char *strategy;
    int32_t mbps, inner_steps, workers;
    double round_s;
    double utilization; /* printed with four digits */
} cells[] = {
    {"DiLoCo", 100, 100, 8, 656.000, 0.3598},
    {"DiLoCo", 200, 100, 8, 446.000, 0.5291},
    {"DiLoCo", 100, 500, 8, 1600.000, 0.7375},
    {"DiLoCo", 200, 500, 8, 1390.000, 0.8489},
    {"DiLoCo", 100, 1000, 8, 2780.000, 0.8489},
    {"DiLoCo", 200, 1000, 8, 2570.000, 0.9183},
    {"DiLoCo", 100, 100, 16, 686.000, 0.3440},
    {"DiLoCo", 200, 100, 16, 461.000, 0.5119},
    {"DiLoCo", 100, 500, 16, 1630.000, 0.7239},
    {"DiLoCo", 200, 500, 16, 1405.000, 0.8399},
    {"DiLoCo", 100, 1000, 16, 2810.000, 0.8399},
    {"DiLoCo", 200, 1000, 16, 2585.000, 0.9130},
    {"GlobalM1", 100, 100, 8, 420.000, 0.5619},
    {"GlobalM1", 200, 100, 8, 236.000, 1.0000},
    {"GlobalM1", 100, 500, 8, 1180.000, 1.0000},
    {"GlobalM1", 200, 500, 8, 1180.000, 1.0000},
    {"GlobalM1", 100, 1000, 8, 2360.000, 1.0000},
    {"GlobalM1", 200, 1000, 8, 2360.000, 1.0000},
    {"GlobalM1", 100, 100, 16, 450.000, 0.5244},
    {"GlobalM1", 200, 100, 16, 236.000, 1.0000},
    {"GlobalM1", 100, 500, 16, 1180.000, 1.0000},
    {"GlobalM1", 200, 500, 16, 1180.000, 1.0000},
    {"GlobalM1", 100, 1000, 16, 2360.000, 1.0000},
    {"GlobalM1", 200, 1000, 16, 2360.000, 1.0000},
    {"GlobalM1LocalM2", 100, 100, 8, 660.000, 0.3576},
    {"GlobalM1LocalM2", 200, 100, 8, 356.000, 0.6629},
    {"GlobalM1LocalM2", 100, 500, 8, 1420.000, 0.8310},
    {"GlobalM1LocalM2", 200, 500, 8, 1300.000, 0.9077},
    {"GlobalM1LocalM2", 100, 1000, 8, 2600.000, 0.9077},
    {"GlobalM1LocalM2", 200, 1000, 8, 2480.000, 0.9516},
    {"GlobalM1LocalM2", 100, 100, 16, 690.000, 0.3420},
    {"GlobalM1LocalM2", 200, 100, 16, 356.000, 0.6629},
    {"GlobalM1LocalM2", 100, 500, 16, 1420.000, 0.8310},
    {"GlobalM1LocalM2", 200, 500, 16, 1300.000, 0.9077},
    {"GlobalM1LocalM2", 100, 1000, 16, 2600.000, 0.9077},
    {"GlobalM1LocalM2", 200, 1000, 16, 2480.000, 0.9516},
    {"GlobalM1LocalM2-subset", 100, 100, 8, 523.200, 0.4511},
    {"GlobalM1LocalM2-subset", 200, 100, 8, 287.600, 0.8206},
    {"GlobalM1LocalM2-subset", 100, 500, 8, 1283.200, 0.9196},
    {"GlobalM1LocalM2-subset", 200, 500, 8, 1231.600, 0.9581},
    {"GlobalM1LocalM2-subset", 100, 1000, 8, 2463.200, 0.9581},
    {"GlobalM1LocalM2-subset", 200, 1000, 8, 2411.600, 0.9786},
    {"GlobalM1LocalM2-subset", 100, 100, 16, 553.200, 0.4266},
    {"GlobalM1LocalM2-subset", 200, 100, 16, 287.600, 0.8206},
    {"GlobalM1LocalM2-subset", 100, 500, 16, 1283.200, 0.9196},
    {"GlobalM1LocalM2-subset", 200, 500, 16, 1231.600, 0.9581},
    {"GlobalM1LocalM2-subset", 100, 1000, 16, 2463.200, 0.9581},
    {"GlobalM1LocalM2-subset", 200, 1000, 16, 2411.600, 0.9786},
    {"LocalM1M2", 100, 100, 8, 480.000, 0.4917},
    {"LocalM1M2", 200, 100, 8, 356.000, 0.6629},
    {"LocalM1M2", 100, 500, 8, 1420.000, 0.8310},
    {"LocalM1M2", 200, 500, 8, 1300.000, 0.9077},
    {"LocalM1M2", 100, 1000, 8, 2600.000, 0.9077},
    {"LocalM1M2", 200, 1000, 8, 2480.000, 0.9516},
    {"LocalM1M2", 100, 100, 16, 480.000, 0.4917},
    {"LocalM1M2", 200, 100, 16, 356.000, 0.6629},
    {"LocalM1M2", 100, 500, 16, 1420.000, 0.8310},
    {"LocalM1M2", 200, 500, 16, 1300.000, 0.9077},
    {"LocalM1M2", 100, 1000, 16, 2600.000, 0.9077},
    {"LocalM1M2", 200, 1000, 16, 2480.000, 0.9516},
};

#define ROUNDS 4

static void check_rounds(const struct cell *cell) {
    struct sim_def def = paper_def(cell->strategy, cell->workers, cell->inner_steps, ROUNDS, cell->mbps);
    struct error error = {0};
    struct sim_round round;
    struct sim_summary summary;
    struct sim *sim = sim_create(&def, &(struct sim_options){.timing_only = true, .jobs = 1}, &error);
    if (!sim) fail_msg("%s: %s", cell->strategy, error.message);
    int64_t round_ns = llround(cell->round_s * 1e9);
    while (sim_next_round(sim, &round, &error) == SIM_ROUND) {
        if (round.end_ns - round.start_ns != round_ns)
            fail_msg("%s %d Mbps H %d M %d round %d: %lld ns, expected %lld", cell->strategy, cell->mbps,
                     cell->inner_steps, cell->workers, round.round, (long long)(round.end_ns - round.start_ns),
                     (long long)round_ns);
    }
    sim_get_summary(sim, &summary);
    assert_int_equal(summary.rounds, ROUNDS);
    assert_int_equal(summary.virtual_ns, ROUNDS * round_ns);
    double expected = cell->inner_steps * 2.36 / cell->round_s;
    if (fabs(summary.utilization - expected) > 1e-9 || fabs(summary.utilization - cell->utilization) > 0.5e-4 + 1e-9)
        fail_msg("%s %d Mbps H %d M %d: utilization %.12f, expected %.12f (%.4f)", cell->strategy, cell->mbps,
                 cell->inner_steps, cell->workers, summary.utilization, expected, cell->utilization);
    sim_free(sim);
}

static void every_cell_is_exact(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) check_rounds(&cells[i]);
}

/* The committed table is the reference's, where that is at hand. */
static void table_is_the_reference(void **state) {
    (void)state;
    FILE *file = fopen(SHARED_DIR "/reference/utilization.csv", "r");
    if (!file) skip();
    char line[256], expected[256];
    assert_non_null(fgets(line, sizeof line, file));
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        const struct cell *cell = &cells[i];
        snprintf(expected, sizeof expected, "%s,%d,%d,%d,%.3f,%.4f,", cell->strategy, cell->mbps, cell->inner_steps,
                 cell->workers, cell->round_s, cell->utilization);
        assert_non_null(fgets(line, sizeof line, file));
        if (strncmp(line, expected, strlen(expected)) != 0) fail_msg("reference '%s', here '%s'", line, expected);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_cell_is_exact), cmocka_unit_test(table_is_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
