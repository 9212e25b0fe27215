/* Timeline and trainer joined: the network never reaches the numbers, failures reach them only through the realised
 * schedule, and what is trained is what the timeline says. */
#include "support.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS  3
#define WORKERS 4

static struct sim_def small_def(const char *strategy) {
    struct sim_def def = paper_def(strategy, WORKERS, 3, ROUNDS, 100);
    def.model = (struct llama_def){.dim = 16,
                                   .layers = 2,
                                   .heads = 2,
                                   .kv_heads = 1,
                                   .ffn = 32,
                                   .vocab = 256,
                                   .context = 16,
                                   .rope_theta = 10000,
                                   .norm_epsilon = 1e-5};
    def.data.tokens = 20000;
    def.train.batch = 2;
    def.train.warmup = 1;
    def.evaluate.every = 1;
    def.evaluate.tokens = 256;
    def.evaluate.js_tokens = 64;
    return def;
}

struct played {
    struct sim_summary summary;
    enum sim_result result;
    int32_t rounds;
    struct sim_round round[ROUNDS]; /* its pointers no longer hold */
    struct worker_round workers[ROUNDS][WORKERS];
};

static struct played play(const struct sim_def *def, bool timing_only, int32_t jobs) {
    struct played played = {0};
    struct error error = {0};
    struct sim_round round;
    struct sim *sim = sim_create(def, &(struct sim_options){.timing_only = timing_only, .jobs = jobs}, &error);
    if (!sim) fail_msg("%s", error.message);
    assert_int_equal(sim_rounds(sim), ROUNDS);
    while ((played.result = sim_next_round(sim, &round, &error)) == SIM_ROUND || played.result == SIM_DIVERGED) {
        assert_int_equal(round.round, played.rounds);
        assert_int_equal(round.worker_count, WORKERS);
        memcpy(played.workers[played.rounds], round.workers, sizeof played.workers[0]);
        played.round[played.rounds++] = round;
        if (played.result == SIM_DIVERGED) break;
    }
    if (played.result == SIM_FAILED) fail_msg("%s", error.message);
    assert_int_equal(sim_next_round(sim, &round, &error), SIM_DONE);
    sim_get_summary(sim, &played.summary);
    sim_free(sim);
    return played;
}

static void assert_same_bits(const char *what, double a, double b) {
    if (memcmp(&a, &b, sizeof a) != 0) fail_msg("%s: %.17g and %.17g", what, a, b);
}

static void assert_same_training(const struct played *a, const struct played *b) {
    assert_int_equal(a->rounds, b->rounds);
    assert_string_equal(a->summary.trajectory_hash, b->summary.trajectory_hash);
    for (int32_t r = 0; r < a->rounds; r++) {
        const struct round_metrics *one = &a->round[r].metrics, *two = &b->round[r].metrics;
        assert_same_bits("loss", one->loss, two->loss);
        assert_same_bits("perplexity", one->perplexity, two->perplexity);
        assert_same_bits("worst perplexity", one->perplexity_worst, two->perplexity_worst);
        assert_same_bits("perplexity of the average", one->perplexity_average_model, two->perplexity_average_model);
        assert_same_bits("JS distance", one->js_distance, two->js_distance);
        assert_same_bits("L2 consensus", one->l2_consensus, two->l2_consensus);
        assert_same_bits("gradient norm", one->gradient_norm, two->gradient_norm);
        for (int32_t m = 0; m < WORKERS; m++)
            assert_same_bits("a worker's loss", a->workers[r][m].metrics.loss, b->workers[r][m].metrics.loss);
    }
}

/* ---- the network and the numbers ---- */

static void network_never_reaches_the_numbers(void **state) {
    (void)state;
    for (int32_t i = 0; i < strategy_count(); i++) {
        struct sim_def def = small_def(strategy_name(i)), other = small_def(strategy_name(i));
        other.cluster.up_bps = 5000000;
        other.cluster.down_bps = INT64_MAX;
        other.cluster.latency_ns = 123456789;
        other.cluster.compute.step_ns = 77;
        other.cluster.collective = COLLECTIVE_TREE;
        other.cluster.fidelity = FIDELITY_STEP;
        other.payload = (struct payload_def){.parameters = 0, .dtype = DTYPE_INT8, .subset = -1};
        snprintf(other.name, sizeof other.name, "another name");
        struct played one = play(&def, false, 1), two = play(&other, false, 1);
        assert_int_equal(one.result, SIM_DONE);
        assert_int_equal(strlen(one.summary.trajectory_hash), 32);
        assert_same_training(&one, &two);
        assert_true(one.summary.virtual_ns != two.summary.virtual_ns);
    }
}

static void threads_change_nothing(void **state) {
    (void)state;
    struct sim_def def = small_def("GlobalM1LocalM2-subset");
    def.cluster.failures.exchange = 0.2;
    struct played one = play(&def, false, 1), three = play(&def, false, 3);
    assert_same_training(&one, &three);
    assert_int_equal(one.summary.virtual_ns, three.summary.virtual_ns);
}

static void training_does_not_move_the_clock(void **state) {
    (void)state;
    struct sim_def def = small_def("LocalM1M2");
    def.cluster.failures.exchange = 0.2;
    struct played trained = play(&def, false, 1), timed = play(&def, true, 1);
    for (int32_t r = 0; r < ROUNDS; r++) {
        assert_int_equal(trained.round[r].end_ns, timed.round[r].end_ns);
        assert_memory_equal(&trained.round[r].times, &timed.round[r].times, sizeof(struct worker_times));
        assert_int_equal(trained.round[r].metrics.steps, timed.round[r].metrics.steps);
        assert_int_equal(trained.round[r].metrics.tokens, timed.round[r].metrics.tokens);
        assert_int_equal(trained.round[r].metrics.contributors, timed.round[r].metrics.contributors);
        assert_true(isnan(timed.round[r].metrics.loss) && isnan(timed.workers[r][0].metrics.loss));
        assert_false(isnan(trained.workers[r][WORKERS - 1].metrics.loss));
    }
    assert_string_equal(timed.summary.trajectory_hash, "");
    assert_int_equal(timed.summary.optimizer_bytes, trained.summary.optimizer_bytes);
}

/* ---- failures reach the trainer ---- */

/* No exchange succeeds: the same as a program without mixes, and another trajectory than without failures. */
static void failed_exchanges_mix_nothing(void **state) {
    (void)state;
    struct sim_def def = small_def("LocalM1M2"), none = small_def("NoMixing");
    struct played whole = play(&def, false, 1);
    def.cluster.failures.exchange = 1;
    struct played failed = play(&def, false, 1), alone = play(&none, false, 1);
    for (int32_t r = 0; r < ROUNDS; r++) {
        assert_same_bits("perplexity", failed.round[r].metrics.perplexity, alone.round[r].metrics.perplexity);
        assert_same_bits("L2 consensus", failed.round[r].metrics.l2_consensus, alone.round[r].metrics.l2_consensus);
    }
    assert_string_not_equal(failed.summary.trajectory_hash, whole.summary.trajectory_hash);
    assert_true(failed.summary.last.perplexity != whole.summary.last.perplexity);
    assert_int_equal(failed.summary.bytes_sent, 0);
    assert_true(failed.summary.bytes_lost > 0);
}

/* A blocking all-reduce is played again until it succeeds: failures cost time and change no number. */
static void repeated_all_reduces_change_no_number(void **state) {
    (void)state;
    struct sim_def def = small_def("DiLoCo");
    struct played whole = play(&def, false, 1);
    def.cluster.failures.exchange = 0.4;
    struct played failing = play(&def, false, 1);
    assert_same_training(&whole, &failing);
    assert_true(failing.summary.virtual_ns > whole.summary.virtual_ns);
}

/* ---- identity ---- */

static void hash_names_the_trajectory(void **state) {
    (void)state;
    struct sim_def defs[6];
    struct played played[6];
    for (int32_t i = 0; i < 6; i++) defs[i] = small_def("GlobalM1LocalM2");
    defs[1].seed = 2;
    defs[2].train.optimizer.learning_rate *= 2;
    defs[3].data.source_seed++;
    defs[4].outer.momentum = 0.5;
    defs[5].model.ffn = 48;
    for (int32_t i = 0; i < 6; i++) {
        played[i] = play(&defs[i], false, 1);
        for (int32_t j = 0; j < i; j++)
            assert_string_not_equal(played[i].summary.trajectory_hash, played[j].summary.trajectory_hash);
    }
}

static struct played play_text(struct sim_def *def, const char *path, char letter) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int32_t i = 0; i < 5000; i++) fputc(i % 7 == 0 ? letter : 'a' + i % 5, file);
    assert_int_equal(fclose(file), 0);
    return play(def, false, 1);
}

/* The same path with another content is another trajectory. */
static void hash_covers_the_data(void **state) {
    (void)state;
    char path[] = "/tmp/thinwire-run-test-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct sim_def def = small_def("DiLoCo");
    def.data.corpus = CORPUS_TEXT;
    snprintf(def.data.path, sizeof def.data.path, "%s", path);
    struct played one = play_text(&def, path, 'x'), same = play_text(&def, path, 'x'),
                  other = play_text(&def, path, 'y');
    unlink(path);
    assert_same_training(&one, &same);
    assert_string_not_equal(one.summary.trajectory_hash, other.summary.trajectory_hash);
}

/* Even where nothing random is exchanged. */
static void seeds_train_differently(void **state) {
    (void)state;
    struct sim_def def = small_def("NoMixing");
    struct played one = play(&def, false, 1);
    def.seed = 7;
    struct played other = play(&def, false, 1);
    assert_true(one.round[0].metrics.loss != other.round[0].metrics.loss);
    assert_string_not_equal(one.summary.trajectory_hash, other.summary.trajectory_hash);
}

/* ---- ends ---- */

static void divergence_is_an_outcome(void **state) {
    (void)state;
    struct sim_def def = small_def("DiLoCo");
    def.train.optimizer.learning_rate = 1e30;
    struct played played = play(&def, false, 1);
    assert_int_equal(played.result, SIM_DIVERGED);
    assert_in_range(played.summary.diverged_worker, 0, WORKERS - 1);
    assert_true(played.summary.diverged_step >= 0);
    assert_int_equal(played.summary.rounds, played.rounds);
    assert_int_equal(played.summary.rounds_planned, ROUNDS);
    assert_true(played.round[played.rounds - 1].metrics.diverged);
}

static void missing_data_is_bad_input(void **state) {
    (void)state;
    struct sim_def def = small_def("DiLoCo");
    struct error error = {0};
    int64_t before = alloc_live_blocks();
    def.data.corpus = CORPUS_TEXT;
    snprintf(def.data.path, sizeof def.data.path, "/nowhere/corpus.txt");
    assert_null(sim_create(&def, &(struct sim_options){.jobs = 1}, &error));
    assert_int_equal(error.status, STATUS_INPUT);
    assert_int_equal(alloc_live_blocks(), before);
}

/* The summary is that of the rounds pulled so far. */
static void summary_grows_with_the_rounds(void **state) {
    (void)state;
    struct sim_def def = small_def("DiLoCo");
    struct error error = {0};
    struct sim_round round;
    struct sim_summary summary;
    struct sim *sim = sim_create(&def, &(struct sim_options){.jobs = 1}, &error);
    if (!sim) fail_msg("%s", error.message);
    sim_get_summary(sim, &summary);
    assert_int_equal(summary.rounds, 0);
    assert_true(isnan(summary.last.perplexity));
    int64_t compute_ns = 0;
    for (int32_t r = 0; r < ROUNDS; r++) {
        assert_int_equal(sim_next_round(sim, &round, &error), SIM_ROUND);
        sim_get_summary(sim, &summary);
        compute_ns += round.times.compute_ns;
        assert_int_equal(summary.rounds, r + 1);
        assert_int_equal(summary.virtual_ns, round.end_ns);
        assert_same_bits("perplexity", summary.last.perplexity, round.metrics.perplexity);
        assert_null(summary.last.workers);
        assert_same_bits("utilization", summary.utilization, (double)compute_ns / ((double)round.end_ns * WORKERS));
    }
    sim_free(sim);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_never_reaches_the_numbers),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(training_does_not_move_the_clock),
        cmocka_unit_test(failed_exchanges_mix_nothing),
        cmocka_unit_test(repeated_all_reduces_change_no_number),
        cmocka_unit_test(hash_names_the_trajectory),
        cmocka_unit_test(hash_covers_the_data),
        cmocka_unit_test(seeds_train_differently),
        cmocka_unit_test(divergence_is_an_outcome),
        cmocka_unit_test(missing_data_is_bad_input),
        cmocka_unit_test(summary_grows_with_the_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
