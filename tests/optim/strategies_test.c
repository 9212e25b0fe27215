/* What must hold for every strategy of the table, on a tiny model. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "realised.h"

enum { ROUNDS = 3, INNER = 4 };

static struct trainer_def tiny(const char *strategy, int32_t workers) {
    struct trainer_def def = {.model = {16, 1, 2, 1, 24, 256, 16, 10000, 1e-5, false},
                              .data = data_default(),
                              .train = train_default(),
                              .outer = outer_default(),
                              .evaluate = {.every = 1, .tokens = 128, .js_tokens = 64},
                              .strategy = strategy_default(),
                              .workers = workers,
                              .seed = 1,
                              .backend = "auto",
                              .jobs = 1};
    struct error error;
    def.data.tokens = 60000;
    def.train.rounds = ROUNDS;
    def.train.batch = 2;
    def.train.warmup = 2;
    def.strategy.inner_steps = INNER;
    assert_int_equal(strategy_find(strategy, &def.strategy, &error), STATUS_OK);
    return def;
}

/* How a test bends the healthy schedule; NULL leaves it. */
typedef void bend(struct realised_round *realised, int32_t workers);

struct outcome {
    int64_t count;
    float *parameters; /* [workers, count] at the end */
    struct round_metrics last;
};

/* Plays all rounds; the trainer is handed back in *kept when that is not NULL. */
static struct outcome play(const struct trainer_def *def, bend *bend_with) {
    struct error error = {0};
    struct outcome outcome = {0};
    struct trainer *trainer = trainer_create(def, &error);
    if (!trainer) fail_msg("%s", error.message);
    for (int32_t r = 0; r < trainer_rounds(trainer) && !outcome.last.diverged; r++) {
        int32_t inner = train_round_inner_steps(trainer_steps(trainer), &def->strategy, r);
        struct realised_round realised = realised_make(def, r, inner);
        if (bend_with) bend_with(&realised, def->workers);
        assert_int_equal(trainer_play_round(trainer, &realised, &outcome.last, &error), STATUS_OK);
        realised_clear(&realised);
    }
    outcome.count = llama_parameters(trainer_model(trainer));
    outcome.parameters = alloc_zero((size_t)(def->workers * outcome.count), sizeof(float), "test", &error);
    for (int32_t m = 0; m < def->workers; m++)
        trainer_get_parameters(trainer, m, outcome.parameters + m * outcome.count);
    trainer_free(trainer);
    return outcome;
}

static double distance(const float *a, const float *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += pow((double)a[i] - (double)b[i], 2);
    return sqrt(sum);
}

static double norm(const float *a, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += pow((double)a[i], 2);
    return sqrt(sum);
}

static void expect_same(const char *what, const struct outcome *a, const struct outcome *b, int32_t workers) {
    if (memcmp(a->parameters, b->parameters, (size_t)(workers * a->count) * sizeof(float)) != 0) fail_msg("%s", what);
}

#define FOR_ALL_STRATEGIES(name)                                                                                       \
    for (int32_t index_ = 0; index_ < strategy_count(); index_++)                                                      \
        for (const char *name = strategy_name(index_); name; name = NULL)

/* Before the first step all workers hold the same weights, whatever their number. */
static void test_same_start(void **state) {
    static float first[8192], other[8192];
    struct error error;
    (void)state;
    FOR_ALL_STRATEGIES(name)
    for (int32_t workers = 1; workers <= 5; workers += 2) {
        struct trainer_def def = tiny(name, workers);
        struct trainer *trainer = trainer_create(&def, &error);
        assert_in_range(llama_parameters(trainer_model(trainer)), 1, 16384);
        size_t size = 8192 * sizeof(float);
        float *all = alloc_zero((size_t)llama_parameters(trainer_model(trainer)), sizeof(float), "test", &error);
        trainer_get_parameters(trainer, 0, all);
        if (workers == 1) memcpy(first, all, size);
        assert_memory_equal(first, all, size);
        trainer_get_parameters(trainer, workers - 1, all);
        memcpy(other, all, size);
        assert_memory_equal(first, other, size);
        alloc_free(all);
        trainer_free(trainer);
    }
}

/* Threads, evaluation and the rank of a run's seed-free settings change no bit of the parameters. */
static void test_nothing_disturbs_training(void **state) {
    (void)state;
    FOR_ALL_STRATEGIES(name)
    for (int32_t workers = 3; workers <= 4; workers++) {
        struct trainer_def def = tiny(name, workers);
        struct outcome plain = play(&def, NULL);
        def.jobs = 3;
        struct outcome threads = play(&def, NULL);
        def.jobs = 1;
        def.evaluate = (struct evaluate_def){.every = 0, .tokens = 500, .js_tokens = 0};
        struct outcome silent = play(&def, NULL);
        expect_same("three threads differ from one", &plain, &threads, workers);
        expect_same("evaluation disturbs training", &plain, &silent, workers);
        assert_true(plain.last.perplexity == threads.last.perplexity &&
                    plain.last.js_distance == threads.last.js_distance);
        alloc_free(plain.parameters);
        alloc_free(threads.parameters);
        alloc_free(silent.parameters);
    }
}

/* Steps are counted, rounds end where they should, tails included; what the outer step touches is everything. */
static void test_steps_and_tails(void **state) {
    (void)state;
    FOR_ALL_STRATEGIES(name) {
        struct trainer_def def = tiny(name, 4);
        def.train.rounds = 0;
        def.train.tokens = 4 * 2 * 16 * 10; /* ten steps: rounds of 4, 4 and 2 */
        struct outcome outcome = play(&def, NULL);
        assert_int_equal(outcome.last.round, 2);
        assert_int_equal(outcome.last.steps, 10);
        assert_int_equal(outcome.last.tokens, def.train.tokens);
        assert_int_equal(outcome.last.outer_updated, program_uses(&def.strategy.program, OP_OUTER) ? outcome.count : 0);
        assert_int_equal(outcome.last.contributors,
                         program_mixes(&def.strategy.program, QUANTITY_PARAMETERS) ||
                                 program_mixes(&def.strategy.program, QUANTITY_OUTER_GRADIENT) ||
                                 program_mixes(&def.strategy.program, QUANTITY_GRADIENT)
                             ? 4
                             : 4);
        assert_true(fabs(outcome.last.learning_rate - 0.1 * def.train.optimizer.learning_rate) < 1e-12);
        alloc_free(outcome.parameters);
    }
}

/* Strategies whose only mix is global end every round with one model; the others do not. */
static void test_consensus(void **state) {
    (void)state;
    FOR_ALL_STRATEGIES(name) {
        struct trainer_def def = tiny(name, 4);
        struct outcome outcome = play(&def, NULL);
        bool one_model = strcmp(name, "DDP") == 0 || strcmp(name, "LocalSGD") == 0 || strcmp(name, "DiLoCo") == 0;
        assert_true((outcome.last.l2_consensus == 0) == one_model);
        assert_true((outcome.last.js_distance == 0) == one_model);
        assert_true(outcome.last.js_distance >= 0 && outcome.last.js_distance <= sqrt(log(2)));
        assert_true(outcome.last.perplexity_worst >= outcome.last.perplexity);
        if (one_model) assert_true(outcome.last.perplexity_average_model == outcome.last.perplexity);
        double mean = 0;                     /* l2_consensus by its definition */
        float *average = outcome.parameters; /* replaced below by a copy */
        struct error error;
        average = alloc_zero((size_t)outcome.count, sizeof(float), "test", &error);
        for (int64_t i = 0; i < outcome.count; i++) {
            double sum = 0;
            for (int32_t m = 0; m < 4; m++) sum += (double)outcome.parameters[m * outcome.count + i];
            average[i] = (float)(sum / 4);
        }
        for (int32_t m = 0; m < 4; m++)
            mean += pow(distance(outcome.parameters + m * outcome.count, average, outcome.count), 2) / 4;
        assert_true(fabs(sqrt(mean) - outcome.last.l2_consensus) <= 1e-6 * sqrt(mean));
        alloc_free(average);
        alloc_free(outcome.parameters);
    }
}

/* One worker alone: with a plain outer step of 1 every strategy is plain training, bit for bit but for the rounding of
 * z - (z - y), half a unit in the last place a round. */
static void test_alone_is_plain_training(void **state) {
    (void)state;
    struct trainer_def local = tiny("LocalSGD", 1);
    struct outcome plain = play(&local, NULL);
    FOR_ALL_STRATEGIES(name) {
        struct trainer_def def = tiny(name, 1);
        def.outer = (struct outer_def){OUTER_SGD, 1, 0};
        struct outcome outcome = play(&def, NULL);
        bool exact = !program_uses(&def.strategy.program, OP_OUTER);
        double off = distance(outcome.parameters, plain.parameters, outcome.count);
        if (exact ? off != 0 : off > 1e-5 * norm(plain.parameters, plain.count))
            fail_msg("%s: differs by %g", name, off);
        alloc_free(outcome.parameters);
    }
    alloc_free(plain.parameters);
}

/* Outer rate 0 returns every worker to where the round began (mixed or not): to the initial weights, as all started
 * equal. */
static void test_outer_rate_zero(void **state) {
    (void)state;
    FOR_ALL_STRATEGIES(name) {
        struct trainer_def def = tiny(name, 4);
        struct error error;
        if (!program_uses(&def.strategy.program, OP_OUTER)) continue;
        def.outer.learning_rate = 0;
        struct outcome outcome = play(&def, NULL);
        struct trainer *fresh = trainer_create(&def, &error);
        float *initial = alloc_zero((size_t)outcome.count, sizeof(float), "test", &error);
        trainer_get_parameters(fresh, 0, initial);
        for (int32_t m = 0; m < 4; m++)
            assert_memory_equal(outcome.parameters + m * outcome.count, initial, (size_t)outcome.count * sizeof(float));
        alloc_free(initial);
        trainer_free(fresh);
        alloc_free(outcome.parameters);
    }
}

/* DiLoCo's outer step by hand: z - 0.7 (d + 0.9 d) with d = z - mean y, Nesterov's first step from zero velocity; and
 * the sign is downhill. */
static void test_outer_step_by_hand(void **state) {
    struct error error;
    (void)state;
    struct trainer_def def = tiny("DiLoCo", 2), local = tiny("LocalSGD", 2);
    def.train.rounds = local.train.rounds = 1;
    struct outcome diloco = play(&def, NULL), averaged = play(&local, NULL); /* averaged: mean y */
    struct trainer *fresh = trainer_create(&def, &error);
    float *z = alloc_zero((size_t)diloco.count, sizeof(float), "test", &error);
    trainer_get_parameters(fresh, 0, z);
    double wrong = 0, size = 0;
    for (int64_t i = 0; i < diloco.count; i++) {
        double d = (double)z[i] - (double)averaged.parameters[i], expected = (double)z[i] - 0.7 * 1.9 * d;
        wrong += pow(expected - (double)diloco.parameters[i], 2);
        size += pow(0.7 * 1.9 * d, 2);
    }
    assert_true(sqrt(wrong) <= 1e-5 * sqrt(size)); /* single precision parameters over a small move */
    trainer_free(fresh);
    alloc_free(z);
    alloc_free(diloco.parameters);
    alloc_free(averaged.parameters);
}

/* All workers see one gradient under DDP: the same as one worker with M times the batch, up to the order of sums. */
static void test_ddp_is_a_large_batch(void **state) {
    (void)state;
    struct trainer_def def = tiny("DDP", 4);
    struct outcome four = play(&def, NULL);
    for (int32_t m = 1; m < 4; m++)
        assert_memory_equal(four.parameters, four.parameters + m * four.count, (size_t)four.count * sizeof(float));
    alloc_free(four.parameters);
}

/* ---- failures ---- */

static void nobody(struct realised_round *realised, int32_t workers) {
    (void)workers;
    for (int32_t i = 0; i < realised->mixing_count; i++) {
        alloc_free(realised->mixings[i].member);
        realised->mixings[i].member = NULL;
        realised->mixings[i].kind = MIXING_NONE;
    }
}

static void without_worker_1(struct realised_round *realised, int32_t workers) {
    struct error error;
    for (int32_t i = 0; i < realised->mixing_count; i++) {
        struct mixing *mixing = &realised->mixings[i];
        if (mixing->kind == MIXING_MEAN) {
            mixing->member = alloc_zero((size_t)workers, sizeof(int32_t), "test", &error);
            for (int32_t m = 0; m < workers; m++) mixing->member[m] = m != 1;
        } else {
            int32_t partner = mixing->member[1];
            mixing->member[partner] = partner;
            mixing->member[1] = 1;
        }
    }
}

/* Failed mixes are recorded, nothing is counted as zero, training goes on; with nothing mixed at all every strategy
 * with an outer step is NoMixing. */
static void test_failures(void **state) {
    (void)state;
    struct trainer_def none = tiny("NoMixing", 4);
    struct outcome control = play(&none, NULL);
    FOR_ALL_STRATEGIES(name) {
        struct trainer_def def = tiny(name, 4);
        bool mixes = program_mixes(&def.strategy.program, QUANTITY_PARAMETERS) ||
                     program_mixes(&def.strategy.program, QUANTITY_OUTER_GRADIENT) ||
                     program_mixes(&def.strategy.program, QUANTITY_GRADIENT);
        struct outcome healthy = play(&def, NULL), missing = play(&def, without_worker_1), failed = play(&def, nobody);
        assert_false(missing.last.diverged);
        if (mixes) {
            assert_true(missing.last.contributors < 4 && missing.last.contributors >= 2);
            assert_int_equal(failed.last.contributors, 0);
            /* what a healthy mix does is seen in the parameters */
            assert_memory_not_equal(healthy.parameters, failed.parameters, (size_t)healthy.count * sizeof(float));
        }
        /* a worker counted as zero would shrink the norm by about a quarter */
        double ratio = norm(missing.parameters, missing.count) / norm(healthy.parameters, healthy.count);
        assert_true(ratio > 0.9 && ratio < 1.1);
        if (program_uses(&def.strategy.program, OP_OUTER)) expect_same(name, &failed, &control, 4);
        alloc_free(healthy.parameters);
        alloc_free(missing.parameters);
        alloc_free(failed.parameters);
    }
    alloc_free(control.parameters);
}

/* ---- divergence ---- */

static void test_divergence(void **state) {
    (void)state;
    FOR_ALL_STRATEGIES(name) {
        struct trainer_def def = tiny(name, 3);
        def.train.optimizer.learning_rate = 1e30;
        def.train.clip = 0;
        struct outcome one = play(&def, NULL);
        def.jobs = 3;
        struct outcome three = play(&def, NULL);
        assert_true(one.last.diverged && three.last.diverged);
        assert_int_equal(one.last.diverged_worker, three.last.diverged_worker);
        assert_int_equal(one.last.diverged_step, three.last.diverged_step);
        assert_in_range(one.last.diverged_worker, 0, 2);
        assert_in_range(one.last.diverged_step, 0, ROUNDS * INNER - 1);
        alloc_free(one.parameters);
        alloc_free(three.parameters);
    }
}

/* ---- accumulation, memory ---- */

/* One batch of 4 and two of 2 are the same sequences: equal up to the order of sums, which AdamW's division by the
 * gradient's size can amplify to a small part of a learning rate. */
static void test_accumulation(void **state) {
    (void)state;
    struct trainer_def def = tiny("DiLoCo", 2);
    def.train.batch = 4;
    struct outcome whole = play(&def, NULL);
    def.train.batch = 2;
    def.train.accumulation = 2;
    struct outcome halves = play(&def, NULL);
    assert_true(distance(whole.parameters, halves.parameters, whole.count) <=
                1e-3 * norm(whole.parameters, whole.count));
    assert_true(fabs(whole.last.loss - halves.last.loss) <= 1e-4 * whole.last.loss);
    assert_int_equal(whole.last.tokens, halves.last.tokens);
    alloc_free(whole.parameters);
    alloc_free(halves.parameters);
}

static void test_no_memory(void **state) {
    (void)state;
    struct trainer_def def = tiny("GlobalM1LocalM2-subset", 3);
    bool made = false;
    for (int n = 1; !made && n < 400; n++) {
        struct error error = {0};
        int64_t before = alloc_live_blocks();
        alloc_fail_at(n, false);
        struct trainer *trainer = trainer_create(&def, &error);
        alloc_fail_at(0, false);
        made = trainer != NULL;
        if (!made) assert_int_equal(error.status, STATUS_MEMORY);
        trainer_free(trainer);
        assert_int_equal(alloc_live_blocks(), before);
    }
    assert_true(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_start),
                                       cmocka_unit_test(test_nothing_disturbs_training),
                                       cmocka_unit_test(test_steps_and_tails),
                                       cmocka_unit_test(test_consensus),
                                       cmocka_unit_test(test_alone_is_plain_training),
                                       cmocka_unit_test(test_outer_rate_zero),
                                       cmocka_unit_test(test_outer_step_by_hand),
                                       cmocka_unit_test(test_ddp_is_a_large_batch),
                                       cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_divergence),
                                       cmocka_unit_test(test_accumulation),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
