/* How long the timeline alone takes: 8 workers, 1000 rounds, every strategy. */
#include "sim/sim.h"

#include <stdio.h>
#include <time.h>

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void) {
    for (int32_t i = 0; i < strategy_count(); i++) {
        struct sim_def def = sim_default();
        struct sim_options options = {.timing_only = true, .jobs = 1};
        struct sim_round round;
        struct error error = {0};
        def.cluster.workers = 8;
        def.payload.parameters = 1500000000;
        def.train.rounds = 1000;
        if (strategy_find(strategy_name(i), &def.strategy, &error) != STATUS_OK) return 1;
        def.strategy.inner_steps = 100;
        double start = now_s();
        struct sim *sim = sim_create(&def, &options, &error);
        if (!sim) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        while (sim_next_round(sim, &round, &error) == SIM_ROUND) continue;
        printf("%-24s %.4f s\n", strategy_name(i), now_s() - start);
        sim_free(sim);
    }
    return 0;
}
