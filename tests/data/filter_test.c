/* The forward filter against the definition, against every n-gram, and as a distribution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "filter.h"

enum { WINDOW = 65, TRAINING = 2000000, TESTED = 400, COUNT = TRAINING + TESTED * WINDOW };

static struct synthetic *source;
static struct filter *filter;
static uint8_t *text;

static int setup(void **state) {
    struct error error;
    (void)state;
    source = synthetic_create(1, &error);
    filter = source ? filter_create(source, &error) : NULL;
    text = alloc_zero(COUNT, 1, "test", &error);
    if (!filter || !text) return 1;
    synthetic_write(source, text, COUNT, NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    alloc_free(text);
    filter_free(filter);
    synthetic_free(source);
    return 0;
}

/* ---- the probability of a text is the sum over all ways to write it ---- */

/* known[context][left] = p(the last `left` letters of the window | context at the start of a word), negative when not
 * yet summed: each remainder is summed over all its ways once for each context. */
static double known[SYNTHETIC_CONTEXTS][WINDOW];

static double all_ways(int context, const uint8_t *rest, int64_t left);

/* p(what follows the word | its context), `fits` letters of the word being in the window. */
static double ways_after(int context, int class_index, const uint8_t *rest, int64_t fits, int64_t left) {
    double sum = 0;
    if (fits == left) return 1;
    for (int to = 0; to < SYNTHETIC_TOPICS; to++)
        sum += synthetic_topic_step(context / SYNTHETIC_CLASSES, to) *
               all_ways(to * SYNTHETIC_CLASSES + class_index, rest + fits, left - fits);
    return sum;
}

static double all_ways(int context, const uint8_t *rest, int64_t left) {
    double sum = 0;
    if (known[context][left] >= 0) return known[context][left];
    for (int w = 0; w < SYNTHETIC_WORDS; w++) {
        const struct synthetic_word *word = &source->words[w];
        int64_t fits = word->length < left ? word->length : left;
        if (memcmp(word->letters, rest, (size_t)fits) != 0) continue;
        sum += source->probability[context][w] * ways_after(context, word->class_index, rest, fits, left);
    }
    return known[context][left] = sum;
}

/* p(the text | it begins anywhere): the first word may have begun `skipped` letters before the text. Without the
 * constant that all texts share. */
static double probability_of(const uint8_t *window, int64_t count) {
    double sum = 0;
    for (int context = 0; context < SYNTHETIC_CONTEXTS; context++)
        for (int left = 0; left < WINDOW; left++) known[context][left] = -1;
    for (int context = 0; context < SYNTHETIC_CONTEXTS; context++)
        for (int w = 0; w < SYNTHETIC_WORDS; w++)
            for (int32_t skipped = 0; skipped < source->words[w].length; skipped++) {
                const struct synthetic_word *word = &source->words[w];
                int64_t seen = word->length - skipped, fits = seen < count ? seen : count;
                if (memcmp(word->letters + skipped, window, (size_t)fits) != 0) continue;
                sum += source->stationary[context] * source->probability[context][w] *
                       ways_after(context, word->class_index, window, fits, count);
            }
    return sum;
}

/* -ln of p(window) / p(first letter). Both sides add and multiply positive numbers only, some 1e5 times, so they agree
 * to 1e5 * 1e-16. */
static void test_against_all_ways(void **state) {
    static const int64_t counts[] = {2, 3, 9, 30, WINDOW};
    (void)state;
    for (int64_t at = 0; at < 40; at++) {
        int64_t count = counts[at % 5];
        double expected = log(probability_of(text + at, 1)) - log(probability_of(text + at, count));
        double got = filter_surprise(filter, text + at, count);
        if (fabs(got - expected) > 1e-11 * (1 + expected))
            fail_msg("letters %d to %d: %.15g, expected %.15g", (int)at, (int)(at + count), got, expected);
    }
}

/* p(next | past) over all 256 bytes sums to 1 at every place: each is got from the surprise of the text with that byte.
 */
static void test_is_a_distribution(void **state) {
    uint8_t window[40];
    (void)state;
    memcpy(window, text + 100, sizeof window);
    for (int at = 1; at < 40; at += 3) {
        double before = filter_surprise(filter, window, at), sum = 0;
        uint8_t kept = window[at];
        for (int letter = 0; letter < 256; letter++) {
            window[at] = (uint8_t)letter;
            double surprise = filter_surprise(filter, window, at + 1) - before;
            if (isfinite(surprise)) sum += exp(-surprise);
        }
        window[at] = kept;
        assert_true(fabs(sum - 1) < 1e-12);
    }
}

/* ---- n-grams: counted on other text, smoothed, seeing no more of the window than the filter does ---- */

enum { ORDERS = 7, SLOTS = 1 << 22 };

static int32_t *find(int32_t *counts, const uint8_t *letters, int length) {
    uint64_t hash = (uint64_t)length;
    for (int i = 0; i < length; i++) hash = (hash ^ letters[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return &counts[hash >> 42]; /* collisions only make the n-gram a little worse */
}

/* Witten-Bell-like interpolation: p_n = (count(context, x) + strength p_{n-1}) / (count(context) + strength). */
static double ngram_probability(int32_t *counts, const uint8_t *at, int context, double strength) {
    double p = 1.0 / 27;
    for (int n = 0; n <= context; n++) {
        double whole = n == 0 ? TRAINING : *find(counts, at - n, n);
        p = (*find(counts, at - n, n + 1) + strength * p) / (whole + strength);
    }
    return p;
}

/* By Gibbs' inequality no predictor that knows no more of the window is better on average than the filter. Windows lie
 * far enough apart to be nearly independent, so the mean difference is known to its standard error over windows, and
 * has to be positive by five of these. */
static void test_floor_is_below_ngrams(void **state) {
    static double surprise[TESTED];
    struct error error;
    int32_t *counts = alloc_zero(SLOTS, sizeof *counts, "test", &error);
    (void)state;
    for (int64_t i = ORDERS; i < TRAINING; i++)
        for (int n = 1; n <= ORDERS; n++) ++*find(counts, text + i - n + 1, n);
    for (int w = 0; w < TESTED; w++) surprise[w] = filter_surprise(filter, text + TRAINING + w * WINDOW, WINDOW);
    for (int order = 1; order <= ORDERS; order++) {
        double sum = 0, squares = 0;
        for (int w = 0; w < TESTED; w++) {
            double difference = -surprise[w];
            for (int t = 1; t < WINDOW; t++)
                difference -=
                    log(ngram_probability(counts, text + TRAINING + w * WINDOW + t, order - 1 < t ? order - 1 : t, 5));
            sum += difference;
            squares += difference * difference;
        }
        double mean = sum / TESTED, standard_error = sqrt((squares / TESTED - mean * mean) / TESTED);
        if (!(mean > 5 * standard_error))
            fail_msg("order %d: %g nats above the floor, standard error %g", order, mean / (WINDOW - 1),
                     standard_error / (WINDOW - 1));
        if (order == 1) assert_true(mean / (WINDOW - 1) > 1); /* letter frequencies leave room to learn */
    }
    alloc_free(counts);
}

/* More context never makes the ideal predictor worse on average: letter 1, letters 2 to 31, letters 32 to 64. */
static void test_context_helps(void **state) {
    double first = 0, early = 0, late = 0;
    (void)state;
    for (int w = 0; w < TESTED; w++) {
        const uint8_t *window = text + TRAINING + w * WINDOW;
        double two = filter_surprise(filter, window, 2), half = filter_surprise(filter, window, 32);
        first += two / TESTED;
        early += (half - two) / (30.0 * TESTED);
        late += (filter_surprise(filter, window, WINDOW) - half) / (33.0 * TESTED);
    }
    assert_true(first > early && early > late);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all_ways), cmocka_unit_test(test_is_a_distribution),
        cmocka_unit_test(test_floor_is_below_ngrams), cmocka_unit_test(test_context_helps)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
