/* The synthetic language and its exact entropy floor. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "synthetic.h"

enum { COUNT = 400000 };

/* A text and its prefix agree, and another seed writes another language. */
static void test_same_seed(void **state) {
    static uint8_t a[2000], b[1000];
    struct error error;
    struct synthetic *one = synthetic_create(1, &error), *two = synthetic_create(2, &error);
    (void)state;
    synthetic_write(one, a, 2000);
    synthetic_write(one, b, 1000);
    assert_memory_equal(a, b, 1000);
    synthetic_write(two, b, 1000);
    assert_true(memcmp(a, b, 1000) != 0);
    synthetic_free(one);
    synthetic_free(two);
}

/* p(next | past) over all 256 bytes sums to 1 at every place: each is got from the surprise of the text with that byte.
 */
static void test_filter_is_a_distribution(void **state) {
    static uint8_t text[40];
    struct error error;
    struct synthetic *source = synthetic_create(3, &error);
    (void)state;
    synthetic_write(source, text, sizeof text);
    for (int at = 1; at < 30; at += 4) {
        double before = synthetic_surprise(source, text, at), sum = 0;
        uint8_t kept = text[at];
        for (int letter = 0; letter < 256; letter++) {
            text[at] = (uint8_t)letter;
            double surprise = synthetic_surprise(source, text, at + 1) - before;
            if (isfinite(surprise)) sum += exp(-surprise);
        }
        text[at] = kept;
        assert_true(fabs(sum - 1) < 1e-9);
    }
    synthetic_free(source);
}

/* The floor is a mean of exact log probabilities, so over long texts it approaches the entropy rate from above, and no
 * n-gram model fitted to the same text may be better: bigrams and trigrams are clearly worse. Counting a text with
 * itself flatters the n-gram by about parameters / tokens nats; at 27^3 possible trigrams and 4e5 tokens that is under
 * 0.03. */
static void test_floor_is_below_ngrams(void **state) {
    static double trigram[27][27][27], bigram[27][27];
    struct error error;
    uint8_t *text = alloc_zero(COUNT, 1, "test", &error);
    struct synthetic *source = synthetic_create(1, &error);
    (void)state;
    synthetic_write(source, text, COUNT);
    double floor = 0;
    for (int64_t at = 0; at + 65 <= 65 * 400; at += 65) floor += synthetic_surprise(source, text + at, 65);
    floor /= 64 * 400;
    for (int64_t i = 2; i < COUNT; i++) {
        int a = text[i - 2] == ' ' ? 26 : text[i - 2] - 'a', b = text[i - 1] == ' ' ? 26 : text[i - 1] - 'a',
            c = text[i] == ' ' ? 26 : text[i] - 'a';
        trigram[a][b][c]++;
        bigram[b][c]++;
    }
    double two = 0, three = 0;
    for (int a = 0; a < 27; a++)
        for (int b = 0; b < 27; b++) {
            double rows[2] = {0};
            for (int c = 0; c < 27; c++) rows[0] += trigram[a][b][c], rows[1] += bigram[b][c];
            for (int c = 0; c < 27; c++) {
                if (trigram[a][b][c] > 0) three -= trigram[a][b][c] / COUNT * log(trigram[a][b][c] / rows[0]);
                if (a == 0 && bigram[b][c] > 0) two -= bigram[b][c] / COUNT * log(bigram[b][c] / rows[1]);
            }
        }
    assert_true(floor > 0.5);
    assert_true(three > floor + 0.3); /* words, topics and classes are worth more than a trigram sees */
    assert_true(two > three + 0.3);
    synthetic_free(source);
    alloc_free(text);
}

/* More context never makes the ideal predictor worse on average. */
static void test_context_helps(void **state) {
    static uint8_t text[64 * 300];
    struct error error;
    struct synthetic *source = synthetic_create(1, &error);
    double by_place[64] = {0};
    (void)state;
    synthetic_write(source, text, sizeof text);
    for (int w = 0; w < 300; w++) {
        double before = 0;
        for (int t = 2; t <= 64; t += 31) {
            double now = synthetic_surprise(source, text + 64 * w, t);
            by_place[t - 1] += now - before;
            before = now;
        }
    }
    /* mean surprise of letter 1, letters 2-32, letters 33-63 */
    double first = by_place[1] / 300, early = by_place[32] / (300 * 31), late = by_place[63] / (300 * 31);
    assert_true(first > early && early > late);
    synthetic_free(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed), cmocka_unit_test(test_filter_is_a_distribution),
        cmocka_unit_test(test_floor_is_below_ngrams), cmocka_unit_test(test_context_helps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
