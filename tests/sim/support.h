/* Defs that several tests of sim/ start from. */
#ifndef TESTS_SIM_SUPPORT_H
#define TESTS_SIM_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

/* The published setting: 1.5e9 parameters in bf16, 2.36 s per step, links of `mbps` both ways, no latency. */
static inline struct sim_def paper_def(const char *strategy, int32_t workers, int32_t inner_steps, int32_t rounds,
                                       int64_t mbps) {
    struct sim_def def = sim_default();
    struct error error = {0};
    if (strategy_find(strategy, &def.strategy, &error) != STATUS_OK) fail_msg("%s", error.message);
    def.strategy.inner_steps = inner_steps;
    def.cluster.workers = workers;
    def.cluster.up_bps = def.cluster.down_bps = mbps * 1000000;
    def.cluster.latency_ns = 0;
    def.cluster.compute.step_ns = 2360000000;
    def.payload = (struct payload_def){.parameters = 1500000000, .dtype = DTYPE_BF16, .subset = 0.43};
    def.train.rounds = rounds;
    def.train.tokens = 0;
    return def;
}

/* The strategy's program replaced by these lines. */
static inline void set_program(struct sim_def *def, const char *const *lines, int32_t count) {
    struct error error = {0};
    def->strategy.program.count = count;
    snprintf(def->strategy.name, sizeof def->strategy.name, "custom");
    for (int32_t i = 0; i < count; i++)
        if (op_parse(lines[i], &def->strategy.program.ops[i], &error) != STATUS_OK)
            fail_msg("%s: %s", lines[i], error.message);
}

/* Plays a def without training to its end. */
static inline struct sim_summary play_timing(const struct sim_def *def) {
    struct error error = {0};
    struct sim_round round;
    struct sim_summary summary;
    struct sim *sim = sim_create(def, &(struct sim_options){.timing_only = true, .jobs = 1}, &error);
    if (!sim) fail_msg("%s", error.message);
    enum sim_result result;
    while ((result = sim_next_round(sim, &round, &error)) == SIM_ROUND) continue;
    if (result != SIM_DONE) fail_msg("%s", error.message);
    sim_get_summary(sim, &summary);
    sim_free(sim);
    return summary;
}

static inline int64_t times_sum(const struct worker_times *times) {
    return times->compute_ns + times->wait_mix1_ns + times->wait_mix2_ns + times->wait_other_ns + times->wasted_ns +
           times->down_ns;
}

#endif
