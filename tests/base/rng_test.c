/* Random numbers: Random123's known answers, streams that never meet, moments within five standard errors.
 *
 * The draws are fixed by the seed, so a statistical check here either always passes or always fails; five standard
 * errors leave one seed in two million that would be refused though nothing is wrong.
 */
#include "expect.h"

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* philox 4x32 10 of tests/kat_vectors in Random123 1.09. */
static void gives_the_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rng rng = {.used = 4};
        memcpy(rng.counter, rows[i].counter, sizeof rng.counter);
        memcpy(rng.key, rows[i].key, sizeof rng.key);
        for (int j = 0; j < 4; j++) {
            uint32_t got = rng_u32(&rng);
            EXPECT(got == rows[i].expected[j], "row %zu, word %d: %08x", i, j, got);
        }
    }
    assert_no_faults();
}

/* Where each part of the name goes. Stored results depend on it. */
static void puts_the_name_where_it_belongs(void **state) {
    (void)state;
    struct rng rng = rng_stream(UINT64_C(0x299f31d0a4093822), RNG_PROJECTION, 0x13198a2e, 0x03707344);
    assert_int_equal(rng.key[0], 0xa4093822);
    assert_int_equal(rng.key[1], 0x299f31d0);
    assert_int_equal(rng.counter[0], 0);
    assert_int_equal(rng.counter[1], (uint32_t)RNG_PROJECTION << 16);
    assert_int_equal(rng.counter[2], 0x13198a2e);
    assert_int_equal(rng.counter[3], 0x03707344);
}

static int by_value(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* First numbers of neighbouring streams and the numbers that follow. 2^20 values of 64 bits are all different but for
 * a chance of 2^40 / 2^65. */
static void streams_never_meet(void **state) {
    (void)state;
    static const uint64_t seeds[] = {0, 1, 2, UINT64_C(1) << 32, UINT64_MAX};
    static const uint32_t numbers[] = {0, 1, 2, 3, 0x10000, 0x80000000, UINT32_MAX};
    enum { SEEDS = 5, NUMBERS = 7, DRAWS = 40, TOTAL = SEEDS * RNG_SUBSET * NUMBERS * NUMBERS * DRAWS };
    static uint64_t values[TOTAL];
    size_t count = 0;
    for (int seed = 0; seed < SEEDS; seed++)
        for (int purpose = 1; purpose <= RNG_SUBSET; purpose++)
            for (int name = 0; name < NUMBERS * NUMBERS; name++) {
                struct rng rng = rng_stream(seeds[seed], (enum rng_purpose)purpose, numbers[name / NUMBERS],
                                            numbers[name % NUMBERS]);
                for (int draw = 0; draw < DRAWS; draw++) values[count++] = rng_u64(&rng);
            }
    assert_int_equal(count, TOTAL);
    qsort(values, count, sizeof values[0], by_value);
    for (size_t i = 1; i < count; i++) EXPECT(values[i] != values[i - 1], "%llx twice", (unsigned long long)values[i]);
    assert_no_faults();
}

static void a_copy_keeps_the_position(void **state) {
    (void)state;
    struct rng rng = rng_stream(3, RNG_TEST, 0, 0);
    for (int i = 0; i < 7; i++) rng_u32(&rng);
    struct rng copy = rng;
    for (int i = 0; i < 20; i++) assert_int_equal(rng_u32(&rng), rng_u32(&copy));
}

static void any_uniform_is_found_without_walking(void **state) {
    (void)state;
    struct rng rng = rng_stream(7, RNG_OUTAGE, 5, 6);
    for (uint64_t i = 0; i < 101; i++) {
        double walked = rng_uniform(&rng), found = rng_uniform_at(7, RNG_OUTAGE, 5, 6, i);
        EXPECT(walked == found, "index %d: %.17g and %.17g", (int)i, walked, found);
    }
    /* Over the carry of the 32-bit block number: index 2^33 - 1 is the last of block 2^32 - 1. */
    rng = rng_stream(7, RNG_OUTAGE, 5, 6);
    rng.counter[0] = UINT32_MAX;
    for (int i = -2; i < 2; i++) {
        double walked = rng_uniform(&rng);
        double found = rng_uniform_at(7, RNG_OUTAGE, 5, 6, (uint64_t)((INT64_C(1) << 33) + i));
        EXPECT(walked == found, "index 2^33%+d", i);
    }
    assert_no_faults();
}

/* Sum of (got - expected)^2 / expected over equally likely bins. Mean bins - 1, variance 2 (bins - 1). */
static void expect_even(const int32_t *counts, int bins, int draws, const char *what) {
    double expected = (double)draws / bins, sum = 0, degrees = bins - 1;
    for (int i = 0; i < bins; i++) sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    EXPECT(fabs(sum - degrees) < 5 * sqrt(2 * degrees), "%s: %.1f, about %.0f expected", what, sum, degrees);
}

enum { DRAWS = 200000 };

static void uniforms_are_even(void **state) {
    (void)state;
    struct rng rng = rng_stream(11, RNG_TEST, 0, 0);
    static int32_t counts[256];
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < DRAWS; i++) {
        double value = rng_uniform(&rng);
        assert_true(value >= 0 && value < 1);
        counts[(int)(value * 256)]++;
    }
    expect_even(counts, 256, DRAWS, "uniform");
    rng = (struct rng){.used = 0, .block = {UINT32_MAX, UINT32_MAX, 0, 0}};
    assert_true(rng_uniform(&rng) == 1 - 0x1p-53);
    assert_true(rng_uniform(&rng) == 0);
    assert_no_faults();
}

static void bounded_numbers_have_no_bias(void **state) {
    (void)state;
    static const uint32_t bounds[] = {1, 2, 3, 7, 10, 1000, 0x80000000, 3u << 30, UINT32_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        uint32_t bound = bounds[i];
        struct rng rng = rng_stream(12, RNG_TEST, (uint32_t)i, 0);
        /* Neighbouring values tell: 2^32 / (3 * 2^30) is 4/3, so without rejection each third value comes twice. */
        int bins = bound < 3 ? (int)bound : bound % 3 == 0 || bound > 1000 ? 3 : bound < 100 ? (int)bound : 0;
        int32_t counts[100] = {0};
        for (int draw = 0; draw < DRAWS; draw++) {
            uint32_t value = rng_below(&rng, bound);
            if (value >= bound) faults++;
            if (bins) counts[value % (uint32_t)bins]++;
        }
        if (bins > 1) expect_even(counts, bins, DRAWS, "bounded");
    }
    assert_no_faults();
}

struct moments {
    double mean, variance;
};

static struct moments moments_of(double (*draw)(struct rng *rng, double shape), double shape, uint32_t worker) {
    struct rng rng = rng_stream(13, RNG_TEST, 0, worker);
    double sum = 0, squares = 0;
    for (int i = 0; i < DRAWS; i++) {
        double value = draw(&rng, shape);
        sum += value;
        squares += value * value;
    }
    double mean = sum / DRAWS;
    return (struct moments){mean, squares / DRAWS - mean * mean};
}

static double draw_normal(struct rng *rng, double shape) {
    (void)shape;
    return rng_normal(rng);
}
static double draw_exponential(struct rng *rng, double shape) {
    (void)shape;
    return rng_exponential(rng);
}

/* The variance of the sample variance is (mu4 - variance^2) / n, with mu4 the fourth central moment: 3 for the normal,
 * 9 for the exponential, 3 k^2 + 6 k for the gamma of shape k. */
static void moments_are_right(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double (*draw)(struct rng *rng, double shape);
        double shape, mean, variance, fourth;
    } rows[] = {
        {"normal", draw_normal, 0, 0, 1, 3},
        {"exponential", draw_exponential, 0, 1, 1, 9},
        {"gamma 0.1", rng_gamma, 0.1, 0.1, 0.1, 0.63},
        {"gamma 0.5", rng_gamma, 0.5, 0.5, 0.5, 3.75},
        {"gamma 1", rng_gamma, 1, 1, 1, 9},
        {"gamma 2.5", rng_gamma, 2.5, 2.5, 2.5, 33.75},
        {"gamma 100", rng_gamma, 100, 100, 100, 30600},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct moments got = moments_of(rows[i].draw, rows[i].shape, i);
        double variance = rows[i].variance, spread = sqrt((rows[i].fourth - variance * variance) / DRAWS);
        EXPECT(fabs(got.mean - rows[i].mean) < 5 * sqrt(variance / DRAWS), "%s: mean %.4f", rows[i].name, got.mean);
        EXPECT(fabs(got.variance - variance) < 5 * spread, "%s: variance %.4f", rows[i].name, got.variance);
    }
    assert_no_faults();
}

/* Equally likely bins by the distribution function. */
static void normals_and_exponentials_follow_their_law(void **state) {
    (void)state;
    struct rng rng = rng_stream(14, RNG_TEST, 0, 0);
    int32_t normal[64] = {0}, exponential[64] = {0};
    for (int i = 0; i < DRAWS; i++) {
        normal[(int)(64 * 0.5 * erfc(-rng_normal(&rng) / sqrt(2)))]++;
        exponential[(int)(64 * exp(-rng_exponential(&rng)) * (1 - 1e-15))]++;
    }
    expect_even(normal, 64, DRAWS, "normal");
    expect_even(exponential, 64, DRAWS, "exponential");
    assert_no_faults();
}

static void extreme_uniforms_stay_finite(void **state) {
    (void)state;
    for (uint32_t word = 0;; word = UINT32_MAX) {
        struct rng rng = {.used = 0, .block = {word, word, word, word}};
        assert_true(isfinite(rng_normal(&rng)));
        rng.used = 0;
        double value = rng_exponential(&rng);
        assert_true(isfinite(value) && value >= 0);
        if (word == UINT32_MAX) break;
    }
}

static void shuffles_are_even_permutations_of_all_kinds(void **state) {
    (void)state;
    enum { TURNS = 48000 };
    struct rng rng = rng_stream(15, RNG_TEST, 0, 0);
    int32_t counts[24] = {0};
    for (int turn = 0; turn < TURNS; turn++) {
        int32_t items[4] = {0, 1, 2, 3};
        rng_shuffle(&rng, items, 4);
        assert_int_equal((1 << items[0]) | (1 << items[1]) | (1 << items[2]) | (1 << items[3]), 15);
        int rank = 0; /* Lehmer code */
        for (int i = 0; i < 4; i++) {
            int smaller = 0;
            for (int j = i + 1; j < 4; j++) smaller += items[j] < items[i];
            rank = rank * (4 - i) + smaller;
        }
        counts[rank]++;
    }
    expect_even(counts, 24, TURNS, "shuffle");
    int32_t one = 5;
    rng_shuffle(&rng, &one, 1);
    rng_shuffle(&rng, NULL, 0);
    assert_int_equal(one, 5);
    assert_no_faults();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_known_answers),
        cmocka_unit_test(puts_the_name_where_it_belongs),
        cmocka_unit_test(streams_never_meet),
        cmocka_unit_test(a_copy_keeps_the_position),
        cmocka_unit_test(any_uniform_is_found_without_walking),
        cmocka_unit_test(uniforms_are_even),
        cmocka_unit_test(bounded_numbers_have_no_bias),
        cmocka_unit_test(moments_are_right),
        cmocka_unit_test(normals_and_exponentials_follow_their_law),
        cmocka_unit_test(extreme_uniforms_stay_finite),
        cmocka_unit_test(shuffles_are_even_permutations_of_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
