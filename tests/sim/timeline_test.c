/* Where every worker's time goes: sums are exact, the clock never goes back, and known costs give what flows give. */
#include "support.h"

#include "timeline.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

#define SEEDS 300 /* from $SEED, or 1 */

/* ---- random defs ---- */

static const char *const overlapping[] = {
    "begin mix1 parameters global", "begin mix2 outer_gradient pairs", "inner H", "await mix2", "await mix1", "outer"};
static const char *const between[] = {"begin mix1 parameters pairs",
                                      "inner H",
                                      "mix gradient global",
                                      "inner 2",
                                      "mix2 outer_gradient pairs subset",
                                      "await mix1",
                                      "outer"};
static const char *const repeated[] = {"repeat H", "gradient", "mix gradient pairs", "mix gradient global",
                                       "step",     "end"};

static int64_t pick(struct rng *rng, int64_t low, int64_t high) {
    return low + (int64_t)rng_below(rng, (uint32_t)(high - low + 1));
}

static void random_program(struct rng *rng, struct sim_def *def) {
    struct error error;
    uint32_t choice = rng_below(rng, (uint32_t)strategy_count() + 3);
    int32_t named = (int32_t)choice;
    if (named < strategy_count())
        assert_int_equal(strategy_find(strategy_name(named), &def->strategy, &error), STATUS_OK);
    else if (named == strategy_count())
        set_program(def, overlapping, 6);
    else if (named == strategy_count() + 1)
        set_program(def, between, 7);
    else
        set_program(def, repeated, 6);
}

static struct sim_def random_def(uint64_t seed) {
    static const int32_t workers[] = {1, 2, 3, 5, 8, 9};
    struct rng rng = rng_stream(seed, RNG_TEST, 0, 0);
    struct sim_def def = sim_default();
    random_program(&rng, &def);
    def.seed = seed;
    def.strategy.inner_steps = (int32_t)pick(&rng, 1, 9);
    def.cluster.workers = workers[rng_below(&rng, 6)];
    def.cluster.up_bps = pick(&rng, 1, 40) * 10000000;
    def.cluster.down_bps = rng_below(&rng, 2) ? def.cluster.up_bps : pick(&rng, 1, 40) * 10000000;
    def.cluster.latency_ns = pick(&rng, 0, 2) * 17000003;
    def.cluster.compute.step_ns = pick(&rng, 1, 2000) * 1000003;
    def.cluster.collective = (enum collective_kind)rng_below(&rng, COLLECTIVE_PAIR);
    def.cluster.fidelity = (enum fidelity)rng_below(&rng, 3);
    def.cluster.failures = (struct failures_def){.exchange = 0.1 * (double)pick(&rng, 0, 3),
                                                 .per = (enum failure_unit)rng_below(&rng, FAILURE_UNITS),
                                                 .detect = 0.25 * (double)pick(&rng, 0, 4),
                                                 .overlapped = (enum overlapped_failure)rng_below(&rng, 3),
                                                 .max_attempts = 100000};
    if (def.cluster.failures.per == FAILURE_PER_TRANSFER) def.cluster.failures.exchange *= 0.05;
    def.payload = (struct payload_def){.parameters = pick(&rng, 1, 5000) * 1000, .dtype = DTYPE_BF16, .subset = 0.3};
    int64_t steps = pick(&rng, 1, 40);
    def.train.rounds = 0;
    def.train.tokens = steps * def.cluster.workers * def.train.batch * def.train.accumulation * def.model.context;
    return def;
}

static struct timeline play(const struct sim_def *def, bool keep_transfers, bool play_everything) {
    struct timeline timeline;
    struct error error = {0};
    struct timeline_options options = {.keep_transfers = keep_transfers, .play_everything = play_everything};
    if (timeline_play(def, &options, &timeline, &error) != STATUS_OK)
        fail_msg("seed %llu: %s", (unsigned long long)def->seed, error.message);
    return timeline;
}

static const struct worker_result *result_of(const struct timeline *timeline, int32_t round, int32_t worker) {
    return &timeline->results[(int64_t)round * timeline->workers + worker];
}

/* ---- properties ---- */

static void check_worker(const struct sim_def *def, const struct worker_round *worker, int64_t start_ns,
                         int64_t compute_ns) {
    const struct worker_times *times = &worker->times;
    if (worker->start_ns != start_ns || worker->end_ns < worker->start_ns ||
        times_sum(times) != worker->end_ns - worker->start_ns || times->compute_ns != compute_ns ||
        times->wait_mix1_ns < 0 || times->wait_mix2_ns < 0 || times->wait_other_ns < 0 || times->wasted_ns < 0)
        fail_msg("seed %llu: from %lld (expected %lld) to %lld: compute %lld (expected %lld) mix1 %lld mix2 %lld other "
                 "%lld wasted %lld",
                 (unsigned long long)def->seed, (long long)worker->start_ns, (long long)start_ns,
                 (long long)worker->end_ns, (long long)times->compute_ns, (long long)compute_ns,
                 (long long)times->wait_mix1_ns, (long long)times->wait_mix2_ns, (long long)times->wait_other_ns,
                 (long long)times->wasted_ns);
}

/* Transfers by their sender are the bytes counted for it. */
static void check_transfers(const struct sim_def *def, const struct sim_round *round) {
    int64_t sent[16] = {0}, lost[16] = {0};
    for (int64_t i = 0; i < round->transfer_count; i++) {
        const struct transfer *transfer = &round->transfers[i];
        (transfer->ok ? sent : lost)[transfer->source] += transfer->bytes;
        assert_true(transfer->start_ns <= transfer->end_ns && transfer->source != transfer->destination);
    }
    for (int32_t m = 0; m < round->worker_count; m++) {
        const struct worker_round *worker = &round->workers[m];
        if (sent[m] != worker->bytes_sent || lost[m] != worker->bytes_lost)
            fail_msg("seed %llu round %d worker %d: transfers of %lld and %lld lost bytes, counted %lld and %lld",
                     (unsigned long long)def->seed, round->round, m, (long long)sent[m], (long long)lost[m],
                     (long long)worker->bytes_sent, (long long)worker->bytes_lost);
    }
}

/* For every worker the parts sum to its elapsed time, rounds follow without a gap, and all end together. */
static void check_timeline(const struct sim_def *def, const struct timeline *timeline) {
    struct worker_round workers[16];
    int64_t at_ns[16] = {0};
    assert_int_equal(timeline->failure.status, STATUS_OK);
    assert_int_equal(timeline->rounds, timeline->schedule.rounds);
    for (int32_t r = 0; r < timeline->rounds; r++) {
        struct sim_round round = {0};
        timeline_get_round(timeline, r, workers, &round);
        int64_t steps = program_inner_steps(&def->strategy.program, schedule_inner_steps(&timeline->schedule, r));
        for (int32_t m = 0; m < timeline->workers; m++) {
            check_worker(def, &workers[m], at_ns[m], steps * sim_step_ns(def));
            at_ns[m] = workers[m].end_ns;
        }
        if (timeline->transfers) check_transfers(def, &round);
    }
    for (int32_t m = 1; m < timeline->workers; m++) assert_int_equal(at_ns[m], at_ns[0]);
}

static uint64_t first_seed(void) {
    const char *given = getenv("SEED");
    return given ? strtoull(given, NULL, 10) : 1;
}

static void times_sum_exactly(void **state) {
    (void)state;
    for (uint64_t seed = first_seed(); seed < first_seed() + SEEDS; seed++) {
        struct sim_def def = random_def(seed);
        struct timeline timeline = play(&def, false, false), kept = play(&def, true, false);
        check_timeline(&def, &timeline);
        check_timeline(&def, &kept);
        timeline_clear(&timeline);
        timeline_clear(&kept);
    }
}

/* Known costs are the oracle's flows to the nanosecond: so durations do not depend on when an exchange starts, nor on
 * what goes on elsewhere. */
static void known_costs_are_those_of_flows(void **state) {
    (void)state;
    for (uint64_t seed = first_seed(); seed < first_seed() + SEEDS; seed++) {
        struct sim_def def = random_def(seed);
        struct timeline fast = play(&def, false, false), oracle = play(&def, false, true);
        assert_int_equal(fast.rounds, oracle.rounds);
        for (int32_t r = 0; r < fast.rounds; r++)
            for (int32_t m = 0; m < fast.workers; m++)
                if (memcmp(result_of(&fast, r, m), result_of(&oracle, r, m), sizeof(struct worker_result)) != 0)
                    fail_msg("seed %llu round %d worker %d: end %lld, by flows %lld", (unsigned long long)seed, r, m,
                             (long long)result_of(&fast, r, m)->end_ns, (long long)result_of(&oracle, r, m)->end_ns);
        assert_int_equal(fast.schedule.skips.count, oracle.schedule.skips.count);
        timeline_clear(&fast);
        timeline_clear(&oracle);
    }
}

/* ---- single cases ---- */

/* M, H and rounds that no divisor of anything helps. */
static void alone(void **state) {
    (void)state;
    for (int32_t i = 0; i < strategy_count(); i++) {
        struct sim_def def = paper_def(strategy_name(i), 1, 7, 3, 100);
        def.cluster.failures.exchange = 1;
        struct sim_summary summary = play_timing(&def);
        assert_int_equal(summary.virtual_ns, 21 * def.cluster.compute.step_ns);
        assert_true(summary.utilization == 1.0);
        assert_int_equal(summary.bytes_sent + summary.bytes_lost, 0);
    }
}

static const struct {
    const char *name, *strategy;
    int32_t workers;
    int64_t up_mbps, down_mbps, latency_ms;
    double round_s; /* of H = 100 */
} links[] = {
    /* ring: 2(M-1)(latency + S/(M min(up, down))); pair: latency + S/min(up, down); compute 236 s */
    {"latency", "DiLoCo", 8, 100, 100, 20, 236 + 420.28},
    {"slow up-link", "DiLoCo", 8, 100, 1000, 0, 236 + 420},
    {"slow down-link", "DiLoCo", 8, 1000, 100, 0, 236 + 420},
    {"latency of a pair", "LocalM1M2", 8, 100, 100, 20, 240.02 + 240.02},
    {"slow down-link of a pair", "LocalM1M2", 8, 1000, 100, 0, 480},
    {"two workers", "DiLoCo", 2, 100, 100, 0, 236 + 240},
    {"three workers", "DiLoCo", 3, 100, 100, 0, 236 + 320},
    {"averaging parameters", "LocalSGD", 8, 100, 100, 0, 236 + 420},
    {"no mixing", "NoMixing", 8, 100, 100, 20, 236},
};

static void links_decide_round_time(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        struct sim_def def = paper_def(links[i].strategy, links[i].workers, 100, 3, 100);
        def.cluster.up_bps = links[i].up_mbps * 1000000;
        def.cluster.down_bps = links[i].down_mbps * 1000000;
        def.cluster.latency_ns = links[i].latency_ms * 1000000;
        struct sim_summary summary = play_timing(&def);
        if (summary.virtual_ns != 3 * llround(links[i].round_s * 1e9))
            fail_msg("%s: %.9f s, expected %.9f", links[i].name, (double)summary.virtual_ns / 1e9,
                     3 * links[i].round_s);
    }
}

/* Every collective takes its closed form (S = 3e9 B, 100 Mbps, 20 ms) and moves the bytes of its closed form. */
static void collectives_take_their_closed_form(void **state) {
    (void)state;
    for (int32_t kind = 0; kind < COLLECTIVE_PAIR; kind++) {
        struct sim_def def = paper_def("DiLoCo", 8, 100, 2, 100);
        def.cluster.collective = (enum collective_kind)kind;
        def.cluster.latency_ns = 20000000;
        struct sim_summary summary = play_timing(&def);
        double seconds = collective_closed_form_s((enum collective_kind)kind, 8, 3e9, 12.5e6, 0.02);
        double bytes = collective_closed_form_bytes((enum collective_kind)kind, 8, 3e9);
        assert_true(summary.times.wait_mix2_ns > 0);
        /* each flow's end is rounded up by less than 1 ns, and at most 2(M-1) of them follow each other */
        double measured = (double)summary.virtual_ns / 1e9 / 2 - 236;
        if (fabs(measured - seconds) > 14e-9)
            fail_msg("%s: %.9f s, expected %.9f", collective_name(def.cluster.collective), measured, seconds);
        assert_true((double)summary.bytes_sent == 2 * bytes);
    }
}

/* With an odd number one worker sits out of each matching: its time is its own, whatever others do. */
static void odd_one_out_waits_for_nobody(void **state) {
    (void)state;
    struct sim_def def = paper_def("LocalM1M2", 5, 100, 20, 100);
    struct timeline timeline = play(&def, false, false);
    int32_t sat_out = 0, m1_op = 0;
    for (int32_t r = 0; r < timeline.rounds - 1; r++) { /* in the last round all wait for the last worker */
        struct realised_round realised;
        struct error error;
        assert_int_equal(schedule_round(&timeline.schedule, r, &realised, &error), STATUS_OK);
        assert_int_equal(realised.mixings[0].op, m1_op);
        for (int32_t m = 0; m < 5; m++) {
            bool alone1 = realised.mixings[0].member[m] == m, alone2 = realised.mixings[1].member[m] == m;
            const struct worker_result *result = result_of(&timeline, r, m);
            int64_t bytes = (!alone1 + !alone2) * INT64_C(3000000000);
            assert_int_equal(result->bytes_sent, bytes);
            if (alone1) assert_int_equal(result->wait_mix1_ns, 0);
            if (alone2)
                assert_int_equal(result->wait_mix2_ns, 0);
            else
                assert_true(result->wait_mix2_ns >= 240 * SECOND);
            sat_out += alone1 + alone2;
        }
    }
    assert_int_equal(sat_out, 2 * 19);
    timeline_clear(&timeline);
}

/* Two overlapped mixes on one link share it: with H = 1 both pairs of a worker move at once, at half the rate each. */
static void overlapping_exchanges_share_links(void **state) {
    (void)state;
    static const char *const both[] = {
        "begin mix1 parameters pairs", "begin mix2 parameters pairs", "inner H", "await mix1", "await mix2", "outer"};
    struct sim_def def = paper_def("DiLoCo", 2, 1, 2, 100);
    set_program(&def, both, 6);
    struct timeline timeline = play(&def, false, false);
    for (int32_t r = 0; r < 2; r++)
        for (int32_t m = 0; m < 2; m++) {
            const struct worker_result *result = result_of(&timeline, r, m);
            assert_int_equal(result->end_ns, (r + 1) * 480 * SECOND);
            assert_int_equal(result->wait_mix1_ns, 480 * SECOND - 2360000000);
            assert_int_equal(result->wait_mix2_ns, 0);
            assert_int_equal(result->bytes_sent, 6000000000);
        }
    timeline_clear(&timeline);
}

/* 10 steps at H = 4: rounds of 4, 4 and 2. */
static void tail_is_short_and_synchronises(void **state) {
    (void)state;
    struct sim_def def = paper_def("DiLoCo", 8, 4, 0, 100);
    struct error error = {0};
    def.train.tokens = INT64_C(10) * 8 * def.train.batch * def.train.accumulation * def.model.context;
    struct sim *sim = sim_create(&def, &(struct sim_options){.timing_only = true, .jobs = 1}, &error);
    if (!sim) fail_msg("%s", error.message);
    static const int64_t steps[] = {4, 4, 2};
    struct sim_round round;
    for (int32_t r = 0; r < 3; r++) {
        assert_int_equal(sim_next_round(sim, &round, &error), SIM_ROUND);
        assert_int_equal(round.times.compute_ns, 8 * steps[r] * 2360000000);
        assert_int_equal(round.end_ns - round.start_ns, steps[r] * 2360000000 + 420 * SECOND);
        assert_int_equal(round.metrics.steps, r == 2 ? 10 : 4 * (r + 1));
        assert_true(isnan(round.metrics.perplexity) && isnan(round.workers[0].metrics.loss));
    }
    assert_int_equal(sim_next_round(sim, &round, &error), SIM_DONE);
    assert_int_equal(sim_next_round(sim, &round, &error), SIM_DONE);
    sim_free(sim);
}

static void many_workers(void **state) {
    (void)state;
    struct sim_def def = paper_def("GlobalM1LocalM2", 1000, 100, 10, 200);
    struct sim_summary summary = play_timing(&def);
    /* ring 2 * 999/1000 * 120 s = 239.76 s > 236 s of compute; pair 120 s */
    assert_int_equal(summary.virtual_ns, 10 * (239760000000 + 120 * SECOND));
}

static void too_long_for_the_clock(void **state) {
    (void)state;
    struct error error = {0};
    struct sim_options options = {.timing_only = true, .jobs = 1};
    struct sim_def def = paper_def("DiLoCo", 8, 100, 1000, 100);
    def.cluster.compute.step_ns = INT64_C(1000000000000000000);
    assert_null(sim_create(&def, &options, &error));
    assert_int_equal(error.status, STATUS_INPUT);
    assert_non_null(strstr(error.message, "292 years"));
    def = paper_def("DiLoCo", 8, 100, 1, 100);
    def.cluster.up_bps = 1;
    assert_null(sim_create(&def, &options, &error));
    assert_int_equal(error.status, STATUS_INPUT);
    assert_non_null(strstr(error.message, "292 years"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_sum_exactly),
        cmocka_unit_test(known_costs_are_those_of_flows),
        cmocka_unit_test(alone),
        cmocka_unit_test(links_decide_round_time),
        cmocka_unit_test(collectives_take_their_closed_form),
        cmocka_unit_test(odd_one_out_waits_for_nobody),
        cmocka_unit_test(overlapping_exchanges_share_links),
        cmocka_unit_test(tail_is_short_and_synchronises),
        cmocka_unit_test(many_workers),
        cmocka_unit_test(too_long_for_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
