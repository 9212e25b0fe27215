/* Pairs, rows of the mixing matrix, learning rates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mix.h"

#include "base/alloc.h"
#include "base/rng.h"

static void test_perfect_matchings(void **state) {
    int32_t partner[33];
    (void)state;
    for (int32_t workers = 1; workers <= 33; workers++)
        for (int32_t round = 0; round < 50; round++) {
            int32_t alone = 0;
            mixing_draw_pairs(7, round, 1, workers, partner);
            for (int32_t m = 0; m < workers; m++) {
                assert_in_range(partner[m], 0, workers - 1);
                assert_int_equal(partner[partner[m]], m);
                alone += partner[m] == m;
            }
            assert_int_equal(alone, workers % 2);
        }
}

/* Four workers have three matchings, five have five who may sit out: each equally often, within 4.5 standard deviations
 * of a binomial count. Rounds and operations draw independently. */
static void test_uniform(void **state) {
    enum { ROUNDS = 6000 };
    int32_t partner[5], other[5], with[4] = {0}, lone[5] = {0}, same = 0;
    (void)state;
    for (int32_t round = 0; round < ROUNDS; round++) {
        mixing_draw_pairs(3, round, 0, 4, partner);
        with[partner[0]]++;
        mixing_draw_pairs(3, round, 1, 4, other);
        same += partner[0] == other[0];
        mixing_draw_pairs(3, round, 0, 5, partner);
        for (int32_t m = 0; m < 5; m++) lone[m] += partner[m] == m;
    }
    double third = 4.5 * sqrt(ROUNDS / 3.0 * 2 / 3), fifth = 4.5 * sqrt(ROUNDS / 5.0 * 4 / 5);
    for (int32_t m = 1; m < 4; m++) assert_true(fabs(with[m] - ROUNDS / 3.0) < third);
    assert_true(fabs(same - ROUNDS / 3.0) < third);
    for (int32_t m = 0; m < 5; m++) assert_true(fabs(lone[m] - ROUNDS / 5.0) < fifth);
}

/* E |XW - mean|^2 / |X - mean|^2 = (M - 2) / (2 (M - 1)) for a random perfect matching. The relative error of a mean
 * over R rounds is below 1 / sqrt(R) here; 5 of those. */
static void test_contraction(void **state) {
    static const int32_t sizes[] = {2, 8, 16};
    enum { ROUNDS = 4000 };
    int32_t partner[16];
    (void)state;
    for (int s = 0; s < 3; s++) {
        int32_t workers = sizes[s];
        struct rng rng = rng_stream(5, RNG_TEST, (uint32_t)s, 0);
        double before = 0, after = 0;
        for (int32_t round = 0; round < ROUNDS; round++) {
            double x[16], mean = 0;
            for (int32_t m = 0; m < workers; m++) mean += (x[m] = rng_normal(&rng)) / workers;
            mixing_draw_pairs(9, round, 0, workers, partner);
            for (int32_t m = 0; m < workers; m++) {
                before += pow(x[m] - mean, 2);
                after += pow((x[m] + x[partner[m]]) / 2 - mean, 2);
            }
        }
        double expected = (workers - 2) / (2.0 * (workers - 1));
        assert_true(fabs(after / before - expected) < 5 / sqrt(ROUNDS));
    }
}

/* Rows sum to 1; columns too where nobody is missing. */
static void test_rows(void **state) {
    int32_t pairs[] = {2, 1, 0, 4, 3}, present[] = {1, 0, 1, 1, 1}, sources[5];
    double weights[5];
    const struct mixing mixings[] = {
        {MIXING_NONE, 0, NULL}, {MIXING_MEAN, 0, NULL}, {MIXING_PAIRS, 0, pairs}, {MIXING_MEAN, 0, present}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        double column[5] = {0};
        for (int32_t m = 0; m < 5; m++) {
            double row = 0;
            int32_t count = mixing_row(&mixings[i], 5, m, sources, weights);
            for (int32_t k = 0; k < count; k++) {
                row += weights[k];
                column[sources[k]] += weights[k];
                if (k > 0) assert_true(sources[k] > sources[k - 1]);
            }
            assert_true(fabs(row - 1) < 1e-15);
        }
        for (int32_t m = 0; m < 5; m++) assert_true(fabs(column[m] - (i < 3 ? 1 : present[m] ? 1.25 : 0)) < 1e-15);
    }
    assert_int_equal(mixing_contributors(&mixings[0], 5), 0);
    assert_int_equal(mixing_contributors(&mixings[1], 5), 5);
    assert_int_equal(mixing_contributors(&mixings[2], 5), 5); /* the odd one out has not failed */
    assert_int_equal(mixing_contributors(&mixings[3], 5), 4);
}

/* ---- mix_vectors ---- */

enum { WORKERS = 5, COUNT = 3 * MIX_PIECE + 77 };

static float *vectors[WORKERS];
static const struct backend *backend;

static void mix_with(const struct mixing *mixing, const struct range *ranges, int32_t range_count, int32_t threads) {
    static float pieces[3 * MIX_PIECE];
    static const float *sources[3 * WORKERS];
    static double weights[3 * WORKERS];
    struct error error;
    struct pool *pool = pool_create(threads, &error);
    struct mix_task task = {backend, mixing, WORKERS, vectors, ranges, range_count, pieces, sources, weights};
    mix_vectors(&task, pool);
    pool_free(pool);
}

static void fill(int m, bool constant) {
    struct rng rng = rng_stream(1, RNG_TEST, 0, (uint32_t)m);
    for (int i = 0; i < COUNT; i++) vectors[m][i] = constant ? 0.1f : (float)rng_normal(&rng);
}

static void test_vectors(void **state) {
    int32_t pairs[] = {3, 1, 4, 0, 2},
            failed[4][WORKERS] = {{1, 1, 1, 1, 1}, {1, 0, 1, 1, 1}, {0, 0, 0, 1, 0}, {0, 0, 0, 0, 0}};
    const struct range all = {0, COUNT}, some[] = {{10, MIX_PIECE}, {2 * MIX_PIECE + 5, 100}};
    struct error error;
    (void)state;
    assert_int_equal(backend_find("auto", &backend, &error), STATUS_OK);
    for (int m = 0; m < WORKERS; m++) vectors[m] = backend_alloc(backend, COUNT, "test", &error);

    /* equal vectors stay equal to the bit, whoever failed */
    for (int f = 0; f < 4; f++) {
        for (int m = 0; m < WORKERS; m++) fill(m, true);
        mix_with(&(struct mixing){MIXING_MEAN, 0, failed[f]}, &all, 1, 1);
        for (int m = 0; m < WORKERS; m++)
            for (int i = 0; i < COUNT; i++) assert_true(vectors[m][i] == 0.1f);
    }

    /* pairs conserve the mean, ranges leave the rest alone, threads change nothing */
    float *kept = backend_alloc(backend, (int64_t)WORKERS * COUNT, "test", &error);
    for (int32_t threads = 1; threads <= 3; threads++) {
        double before = 0, after = 0, scale = 0;
        for (int m = 0; m < WORKERS; m++) fill(m, false);
        for (int m = 0; m < WORKERS; m++)
            for (int i = 0; i < COUNT; i++) before += (double)vectors[m][i], scale += fabs((double)vectors[m][i]);
        mix_with(&(struct mixing){MIXING_PAIRS, 0, pairs}, some, 2, threads);
        for (int m = 0; m < WORKERS; m++) {
            struct rng rng = rng_stream(1, RNG_TEST, 0, (uint32_t)m);
            for (int i = 0; i < COUNT; i++) {
                float own = (float)rng_normal(&rng);
                bool inside = (i >= 10 && i < 10 + MIX_PIECE) || (i >= 2 * MIX_PIECE + 5 && i < 2 * MIX_PIECE + 105);
                if (!inside || m == 1) assert_true(vectors[m][i] == own);
                if (inside && m != 1) assert_true(vectors[m][i] == vectors[pairs[m]][i]);
                after += (double)vectors[m][i];
            }
            if (threads == 1) memcpy(kept + (int64_t)m * COUNT, vectors[m], COUNT * sizeof(float));
            assert_memory_equal(kept + (int64_t)m * COUNT, vectors[m], COUNT * sizeof(float));
        }
        assert_true(fabs(after - before) < 1e-6 * scale);
    }
    for (int m = 0; m < WORKERS; m++) backend_release(backend, vectors[m]);
    backend_release(backend, kept);
}

/* ---- learning rates ---- */

static void test_schedules(void **state) {
    (void)state;
    for (int kind = 0; kind < SCHEDULE_KINDS; kind++)
        for (int64_t steps = 1; steps < 200; steps += 13) {
            struct train_def def = train_default();
            def.schedule = (enum schedule_kind)kind;
            def.optimizer.learning_rate = 1;
            def.warmup = 10;
            def.minimum = 0.1;
            double last = schedule_rate(&def, steps - 1, steps), first = schedule_rate(&def, 0, steps);
            for (int64_t s = 0; s < steps; s++) {
                double rate = schedule_rate(&def, s, steps);
                assert_true(rate > 0 && rate <= 1);
                if (s > 0 && s < 10 && s < steps - 1) assert_true(rate > schedule_rate(&def, s - 1, steps));
                if (s > 11) assert_true(rate <= schedule_rate(&def, s - 1, steps) + 1e-12);
            }
            if (steps > 11) assert_true(first < 0.2);
            if (kind != SCHEDULE_CONSTANT) assert_true(fabs(last - 0.1) < 1e-12);
            if (kind == SCHEDULE_CONSTANT && steps > 10) assert_true(last == 1);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_perfect_matchings), cmocka_unit_test(test_uniform),
                                       cmocka_unit_test(test_contraction),       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_vectors),           cmocka_unit_test(test_schedules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
