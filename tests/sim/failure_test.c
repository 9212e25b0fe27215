/* What failures cost: expectations with their intervals, the same faults for every bandwidth and strategy, and the
 * exact price of each policy. */
#include "support.h"

#include "timeline.h"

#include <math.h>

static struct timeline play(const struct sim_def *def) {
    struct timeline timeline;
    struct error error = {0};
    if (timeline_play(def, &(struct timeline_options){0}, &timeline, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return timeline;
}

static void play_sums(const struct sim_def *def, struct timeline *timeline, int64_t *end_ns, struct worker_times *times,
                      int64_t *sent, int64_t *lost) {
    struct worker_round workers[16];
    *timeline = play(def);
    *times = (struct worker_times){0};
    *end_ns = *sent = *lost = 0;
    for (int32_t r = 0; r < timeline->rounds; r++) {
        struct sim_round round = {0};
        timeline_get_round(timeline, r, workers, &round);
        worker_times_add(times, &round.times);
        *sent += round.bytes_sent;
        *lost += round.bytes_lost;
        *end_ns = round.end_ns;
    }
}

/* ---- expectations ---- */

static const struct expectation {
    const char *name;
    int64_t mbps;
    double p;
    enum failure_unit per;
    double success;     /* of one attempt */
    double utilization; /* printed in percent; 0 = not printed */
} expectations[] = {
    /* per worker 0.95^8, per synchronisation 0.95, per transfer: 112 messages of a ring of 8 */
    {"per worker, 100 Mbps", 100, 0.05, FAILURE_PER_WORKER, 0.6634204312890625, 27.2},
    {"per worker, 200 Mbps", 200, 0.05, FAILURE_PER_WORKER, 0.6634204312890625, 42.7},
    {"per synchronisation, 100 Mbps", 100, 0.05, FAILURE_PER_SYNCHRONISATION, 0.95, 34.8},
    {"per synchronisation, 200 Mbps", 200, 0.05, FAILURE_PER_SYNCHRONISATION, 0.95, 51.7},
    {"per transfer, 100 Mbps", 100, 0.001, FAILURE_PER_TRANSFER, 0.8940029, 0},
};

/* Attempts of a blocking all-reduce are geometric: mean 1/q, variance (1 - q)/q^2. The mean of R rounds lies within
 * 4.5 sqrt(variance / R) of 1/q but for 7 in a million seeds; utilization C/(C + n ring) follows. */
static void diloco_utilization_is_as_expected(void **state) {
    (void)state;
    const int32_t rounds = 20000;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const struct expectation *e = &expectations[i];
        struct sim_def def = paper_def("DiLoCo", 8, 100, rounds, e->mbps);
        def.cluster.failures.exchange = e->p;
        def.cluster.failures.per = e->per;
        struct sim_summary summary = play_timing(&def);
        double compute_s = 236, ring_s = 420 * 100.0 / (double)e->mbps;
        double attempts = ((double)summary.virtual_ns / 1e9 / rounds - compute_s) / ring_s;
        double reach = 4.5 * sqrt((1 - e->success) / (e->success * e->success) / rounds);
        double low = compute_s / (compute_s + ring_s * (1 / e->success + reach));
        double high = compute_s / (compute_s + ring_s * (1 / e->success - reach));
        if (fabs(attempts - 1 / e->success) > reach || summary.utilization < low || summary.utilization > high)
            fail_msg("%s: %.5f attempts, expected %.5f +- %.5f; utilization %.5f, expected %.5f to %.5f", e->name,
                     attempts, 1 / e->success, reach, summary.utilization, low, high);
        double printed = 100 * compute_s / (compute_s + ring_s / e->success);
        /* printed with one decimal, from a ratio ring / compute that was rounded to four digits before */
        if (e->utilization > 0) assert_true(fabs(printed - e->utilization) <= 0.07);
        /* every failed attempt of 420 s is wasted by all eight, and loses the bytes that the good one delivers */
        assert_int_equal(summary.times.wait_mix2_ns, 8 * rounds * (int64_t)(ring_s * 1e9));
        assert_true((double)summary.bytes_lost == round((attempts - 1) * rounds) * 42e9);
    }
}

/* A pair fails if either part does: 1 - 0.95^2 of M/2 pairs; a binomial's 4.5 standard deviations. */
static void pairs_skip_as_expected(void **state) {
    (void)state;
    const int32_t rounds = 5000, pairs = rounds * 2 * 4;
    struct sim_def def = paper_def("LocalM1M2", 8, 100, rounds, 100);
    def.cluster.failures.exchange = 0.05;
    struct timeline timeline = play(&def);
    double q = 1 - 0.95 * 0.95, deviation = sqrt(pairs * q * (1 - q));
    double skips = (double)timeline.schedule.skips.count;
    if (fabs(skips - pairs * q) > 4.5 * deviation)
        fail_msg("%.0f skipped of %d, expected %.0f", skips, pairs, pairs * q);
    timeline_clear(&timeline);
}

/* ---- the same faults everywhere ---- */

/* Lost attempts of each round's mix2 at any bandwidth, step time, latency and payload. */
static void faults_do_not_depend_on_speed(void **state) {
    (void)state;
    struct sim_def def = paper_def("DiLoCo", 8, 100, 200, 100), other = paper_def("DiLoCo", 8, 10, 200, 900);
    def.cluster.failures.exchange = other.cluster.failures.exchange = 0.05;
    other.cluster.latency_ns = 20000000;
    other.cluster.compute.step_ns = 1;
    struct timeline slow = play(&def), fast = play(&other);
    for (int32_t r = 0; r < 200; r++) assert_int_equal(slow.results[8 * r].bytes_lost, fast.results[8 * r].bytes_lost);
    timeline_clear(&slow);
    timeline_clear(&fast);
}

/* Blocking pairs that fail are the same whether mix1 goes among pairs or all: only (round, operation, worker, attempt)
 * decide. */
static void faults_do_not_depend_on_strategy(void **state) {
    (void)state;
    struct sim_def local = paper_def("LocalM1M2", 8, 100, 100, 100),
                   global = paper_def("GlobalM1LocalM2", 8, 100, 100, 400);
    local.cluster.failures.exchange = global.cluster.failures.exchange = 0.1;
    struct timeline a = play(&local), b = play(&global);
    int32_t skipped = 0;
    for (int32_t r = 0; r < 100; r++) {
        struct realised_round one, two;
        struct error error;
        assert_int_equal(schedule_round(&a.schedule, r, &one, &error), STATUS_OK);
        assert_int_equal(schedule_round(&b.schedule, r, &two, &error), STATUS_OK);
        assert_memory_equal(one.mixings[1].member, two.mixings[1].member, 8 * sizeof(int32_t));
        for (int32_t m = 0; m < 8; m++) skipped += one.mixings[1].member[m] == m;
    }
    assert_true(skipped > 0);
    timeline_clear(&a);
    timeline_clear(&b);
}

/* The 100 all-reduces of one round of DDP have draws of their own: with q = 0.663 between 20 and 90 of them would fail
 * at once (7 standard deviations), never none and never all. */
static void repetitions_draw_afresh(void **state) {
    (void)state;
    struct sim_def def = paper_def("DDP", 8, 100, 1, 100);
    def.cluster.failures.exchange = 0.05;
    struct sim_summary summary = play_timing(&def);
    int64_t attempts = summary.bytes_lost / 42000000000;
    if (attempts < 20 || attempts > 110) fail_msg("%lld attempts lost", (long long)attempts);
}

/* ---- the price of each policy, to the nanosecond ---- */

static const struct policy {
    const char *name, *strategy;
    int64_t mbps;
    enum overlapped_failure overlapped;
    double detect;
    double round_s, wait1_s, wait2_s, wasted_s; /* of every round, each worker */
    int64_t lost_bytes;                         /* of every round, all workers */
    enum mixing_kind first;
} policies[] = {
    /* every attempt fails (p = 1); C = 236 s, ring = 420 s and pair = 240 s at 100 Mbps */
    {"late skip", "GlobalM1", 100, OVERLAPPED_SKIP, 1, 420, 0, 0, 184, 42000000000, MIXING_NONE},
    {"skip when noticed", "GlobalM1", 100, OVERLAPPED_SKIP, 0.5, 236, 0, 0, 0, 21000000000, MIXING_NONE},
    {"nothing left to hide it", "GlobalM1", 100, OVERLAPPED_RETRY, 1, 420, 0, 0, 184, 42000000000, MIXING_NONE},
    /* ring 105 s: attempts at 0 and 105 end by 210; a third would end at 315 */
    {"retry while hidden", "GlobalM1", 400, OVERLAPPED_RETRY, 1, 236, 0, 0, 0, 84000000000, MIXING_NONE},
    /* half a ring of 52.5 s each; the last attempt may start at 131 = 236 - 105: 0, 52.5, 105 */
    {"retry when noticed", "GlobalM1", 400, OVERLAPPED_RETRY, 0.5, 236, 0, 0, 0, 63000000000, MIXING_NONE},
    {"skipped pairs", "LocalM1M2", 100, OVERLAPPED_SKIP, 1, 480, 0, 0, 244, 48000000000, MIXING_PAIRS},
    {"skipped pairs when noticed", "LocalM1M2", 100, OVERLAPPED_SKIP, 0.25, 296, 0, 0, 60, 12000000000, MIXING_PAIRS},
};

static void check_policy(const struct policy *policy) {
    struct sim_def def = paper_def(policy->strategy, 8, 100, 3, policy->mbps);
    def.cluster.failures = (struct failures_def){.exchange = 1,
                                                 .per = FAILURE_PER_WORKER,
                                                 .detect = policy->detect,
                                                 .overlapped = policy->overlapped,
                                                 .max_attempts = 1000};
    struct timeline timeline;
    struct worker_times times;
    int64_t end_ns, sent, lost;
    struct realised_round realised;
    struct error error;
    play_sums(&def, &timeline, &end_ns, &times, &sent, &lost);
    if (end_ns != 3 * llround(policy->round_s * 1e9) || times.wait_mix1_ns != 24 * llround(policy->wait1_s * 1e9) ||
        times.wait_mix2_ns != 24 * llround(policy->wait2_s * 1e9) ||
        times.wasted_ns != 24 * llround(policy->wasted_s * 1e9) || lost != 3 * policy->lost_bytes || sent != 0)
        fail_msg("%s: end %.9f mix1 %.9f mix2 %.9f wasted %.9f lost %lld sent %lld", policy->name, (double)end_ns / 3e9,
                 (double)times.wait_mix1_ns / 24e9, (double)times.wait_mix2_ns / 24e9, (double)times.wasted_ns / 24e9,
                 (long long)lost / 3, (long long)sent);
    for (int32_t r = 0; r < 3; r++) {
        assert_int_equal(schedule_round(&timeline.schedule, r, &realised, &error), STATUS_OK);
        for (int32_t i = 0; i < realised.mixing_count; i++) {
            const struct mixing *mixing = &realised.mixings[i];
            assert_int_equal(mixing->kind, policy->first);
            for (int32_t m = 0; mixing->member && m < 8; m++) assert_int_equal(mixing->member[m], m);
        }
        assert_int_equal(schedule_contributors(&realised, 8), 0);
    }
    timeline_clear(&timeline);
}

static void policies_cost_what_they_say(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) check_policy(&policies[i]);
}

/* `wait` never skips: each round takes max(C, attempts x ring), and all rounds mix. */
static void waiting_never_skips(void **state) {
    (void)state;
    struct sim_def def = paper_def("GlobalM1", 8, 100, 50, 100);
    def.cluster.failures.exchange = 0.05;
    def.cluster.failures.overlapped = OVERLAPPED_WAIT;
    struct timeline timeline;
    struct worker_times times;
    int64_t end_ns, sent, lost;
    play_sums(&def, &timeline, &end_ns, &times, &sent, &lost);
    assert_int_equal(timeline.schedule.skips.count, 0);
    assert_int_equal(sent, 50 * INT64_C(42000000000));
    assert_true(lost > 0);
    assert_int_equal(end_ns, (50 + lost / 42000000000) * 420 * SECOND);
    timeline_clear(&timeline);
}

/* An overlapped exchange that fails while a worker waits in another one wastes none of that worker's time: it is
 * waiting for the other. Both share the link: mix1 alone for 2.36 s, then at half rate, ends at 477.64 s; mix2 at
 * 480 s. */
static void a_fault_elsewhere_wastes_nothing(void **state) {
    (void)state;
    static const char *const lines[] = {"begin mix1 parameters pairs", "inner H", "mix2 outer_gradient pairs",
                                        "await mix1", "outer"};
    struct sim_def def = paper_def("DiLoCo", 2, 1, 1, 100);
    set_program(&def, lines, 5);
    def.cluster.failures.exchange = 0.3;
    def.cluster.failures.overlapped = OVERLAPPED_SKIP;
    for (def.seed = 1; !exchange_fails(0.3, def.seed, 0, 0, 0, 0) || exchange_fails(0.3, def.seed, 0, 1, 0, 0) ||
                       exchange_fails(0.3, def.seed, 0, 1, 1, 0);
         def.seed++)
        continue;
    struct sim_summary summary = play_timing(&def);
    assert_int_equal(summary.virtual_ns, 480 * SECOND);
    assert_int_equal(summary.times.wait_mix2_ns, 2 * (480 * SECOND - 2360000000));
    assert_int_equal(summary.times.wasted_ns, 0);
    assert_int_equal(summary.bytes_lost, 6000000000);
}

/* A lost attempt noticed after a quarter of it costs a quarter: R C + (R + lost / 4) ring, exactly. */
static void detection_shortens_lost_attempts(void **state) {
    (void)state;
    struct sim_def def = paper_def("DiLoCo", 8, 100, 100, 100);
    def.cluster.failures.exchange = 0.05;
    int64_t end_ns, early_end_ns, sent, lost, early_lost;
    struct timeline late, early;
    struct worker_times times, early_times;
    play_sums(&def, &late, &end_ns, &times, &sent, &lost);
    def.cluster.failures.detect = 0.25;
    play_sums(&def, &early, &early_end_ns, &early_times, &sent, &early_lost);
    int64_t attempts = lost / 42000000000;
    assert_true(attempts > 20);
    assert_int_equal(end_ns, 100 * 656 * SECOND + attempts * 420 * SECOND);
    assert_int_equal(early_end_ns, 100 * 656 * SECOND + attempts * 105 * SECOND);
    assert_int_equal(early_lost, lost / 4);
    assert_int_equal(early_times.wasted_ns, 8 * attempts * 105 * SECOND);
    timeline_clear(&late);
    timeline_clear(&early);
}

/* Rounds before the failure are given, then the reason. */
static void too_many_attempts_fail_the_run(void **state) {
    (void)state;
    struct sim_def def = paper_def("DiLoCo", 8, 100, 500, 100);
    struct error error = {0};
    struct sim_round round;
    enum sim_result result;
    def.cluster.failures.exchange = 0.05;
    def.cluster.failures.max_attempts = 3; /* a round fails with 0.3366^3 = 4 % */
    struct sim *sim = sim_create(&def, &(struct sim_options){.timing_only = true, .jobs = 1}, &error);
    if (!sim) fail_msg("%s", error.message);
    int32_t rounds = 0;
    while ((result = sim_next_round(sim, &round, &error)) == SIM_ROUND) rounds++;
    assert_int_equal(result, SIM_FAILED);
    assert_true(rounds > 0 && rounds < 500);
    char expected[64];
    snprintf(expected, sizeof expected, "of round %d failed 3 times in a row", rounds);
    assert_non_null(strstr(error.message, expected));
    assert_non_null(strstr(error.message, "cluster.failures.max_attempts"));
    sim_free(sim);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diloco_utilization_is_as_expected),
        cmocka_unit_test(pairs_skip_as_expected),
        cmocka_unit_test(faults_do_not_depend_on_speed),
        cmocka_unit_test(faults_do_not_depend_on_strategy),
        cmocka_unit_test(repetitions_draw_afresh),
        cmocka_unit_test(policies_cost_what_they_say),
        cmocka_unit_test(waiting_never_skips),
        cmocka_unit_test(a_fault_elsewhere_wastes_nothing),
        cmocka_unit_test(detection_shortens_lost_attempts),
        cmocka_unit_test(too_many_attempts_fail_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
