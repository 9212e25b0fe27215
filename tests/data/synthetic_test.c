/* The synthetic language: the same for a seed, its text what its formulas say. */
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

enum { COUNT = 1000000 };

static struct synthetic *source;
static uint8_t *text;

static int setup(void **state) {
    struct error error;
    (void)state;
    source = synthetic_create(1, &error);
    text = alloc_zero(COUNT, 1, "test", &error);
    if (!source || !text) return 1;
    synthetic_write(source, text, COUNT, NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    alloc_free(text);
    synthetic_free(source);
    return 0;
}

/* A text and its prefix agree, and another seed writes another language. */
static void test_same_seed(void **state) {
    static uint8_t prefix[1003];
    struct error error;
    struct synthetic *same = synthetic_create(1, &error), *other = synthetic_create(2, &error);
    (void)state;
    synthetic_write(same, prefix, sizeof prefix, NULL, 0);
    assert_memory_equal(text, prefix, sizeof prefix);
    synthetic_write(other, prefix, sizeof prefix, NULL, 0);
    assert_true(memcmp(text, prefix, sizeof prefix) != 0);
    synthetic_free(same);
    synthetic_free(other);
}

static void test_probabilities_sum_to_one(void **state) {
    double stationary = 0, step = 0;
    (void)state;
    for (int c = 0; c < SYNTHETIC_CONTEXTS; c++) {
        double sum = 0;
        for (int w = 0; w < SYNTHETIC_WORDS; w++) sum += source->probability[c][w];
        assert_true(fabs(sum - 1) < 1e-12);
        stationary += source->stationary[c];
    }
    for (int to = 0; to < SYNTHETIC_TOPICS; to++) step += synthetic_topic_step(2, to);
    assert_true(fabs(stationary - 1) < 1e-12);
    assert_true(fabs(step - 1) < 1e-12);
}

/* One more word leaves pi as it is; written from the definition, not from the code that found it. */
static void test_stationary(void **state) {
    (void)state;
    for (int to = 0; to < SYNTHETIC_CONTEXTS; to++) {
        double sum = 0;
        for (int from = 0; from < SYNTHETIC_CONTEXTS; from++)
            for (int w = 0; w < SYNTHETIC_WORDS; w++)
                if (source->words[w].class_index == to % SYNTHETIC_CLASSES)
                    sum += source->stationary[from] * source->probability[from][w] *
                           synthetic_topic_step(from / SYNTHETIC_CLASSES, to / SYNTHETIC_CLASSES);
        assert_true(fabs(sum - source->stationary[to]) < 1e-13);
    }
}

/* No two words share a spelling, and only the last letter of one is a space: the filter relies on both. */
static void test_lexicon(void **state) {
    (void)state;
    for (int a = 0; a < SYNTHETIC_WORDS; a++) {
        const struct synthetic_word *word = &source->words[a];
        assert_in_range(word->length, 3, SYNTHETIC_LONGEST);
        assert_ptr_equal(memchr(word->letters, ' ', (size_t)word->length), word->letters + word->length - 1);
        for (int b = 0; b < a; b++) assert_true(memcmp(word, &source->words[b], SYNTHETIC_LONGEST) != 0);
    }
}

/* Words are as frequent as pi and p say. For a word of probability p among n the count has variance n p (1 - p), times
 * a factor for topics that persist: a word of one topic alone has p / TOPICS outside its topic, and the topic's share
 * has 1 / (1 - STAY) = 20 times 2 the variance of free draws. 6 standard deviations with the factor 40. */
static void test_frequencies(void **state) {
    static double times[SYNTHETIC_WORDS];
    double words = 0;
    (void)state;
    for (int64_t at = 0; at < COUNT;) {
        const uint8_t *end = memchr(text + at, ' ', (size_t)(COUNT - at));
        if (!end) break;
        int64_t length = end - (text + at) + 1;
        int w = 0;
        while (w < SYNTHETIC_WORDS &&
               (source->words[w].length != length || memcmp(source->words[w].letters, text + at, (size_t)length) != 0))
            w++;
        assert_in_range(w, 0, SYNTHETIC_WORDS - 1); /* nothing but words of the lexicon */
        times[w]++;
        words++;
        at += length;
    }
    for (int w = 0; w < SYNTHETIC_WORDS; w++) {
        double p = 0;
        for (int c = 0; c < SYNTHETIC_CONTEXTS; c++) p += source->stationary[c] * source->probability[c][w];
        double deviation = sqrt(40 * words * p * (1 - p));
        if (fabs(times[w] - words * p) > 6 * deviation + 3)
            fail_msg("word %d: %g times, expected %g, deviation %g", w, times[w], words * p, deviation);
    }
}

/* ln of p(word | topic) over the stationary contexts of the topic. */
static double log_probability(int topic, int w) {
    double p = 0, sum = 0;
    for (int c = topic * SYNTHETIC_CLASSES; c < (topic + 1) * SYNTHETIC_CLASSES; c++) {
        p += source->stationary[c] * source->probability[c][w];
        sum += source->stationary[c];
    }
    return log(p / sum);
}

/* By how much w is likelier under the topic than, on average, under the others, in nats. */
static double evidence(int topic, int w) {
    double others = 0;
    for (int other = 0; other < SYNTHETIC_TOPICS; other++) others += other == topic ? 0 : log_probability(other, w);
    return log_probability(topic, w) - others / (SYNTHETIC_TOPICS - 1);
}

/* The word around a byte of the text. */
static int word_at(int64_t at) {
    int64_t first = at, end = at;
    int w = 0;
    while (first > 0 && text[first - 1] != ' ') first--;
    while (text[end] != ' ') end++;
    size_t length = (size_t)(end - first + 1);
    while (memcmp(source->words[w].letters, text + first, length) != 0) w++;
    return w;
}

/* The topic told for a stretch is that of its middle: the words there speak for it as much as the tables say (a byte
 * lies in a word in proportion to its length). 15384 stretches know the mean to about 0.01. */
static void test_topics(void **state) {
    enum { STRIDE = 65, STRETCHES = COUNT / STRIDE };
    static uint8_t topics[STRETCHES], again[COUNT];
    int64_t times[SYNTHETIC_TOPICS] = {0};
    double got = 0, expected = 0, letters = 0;
    (void)state;
    synthetic_write(source, again, COUNT, topics, STRIDE);
    assert_memory_equal(again, text, COUNT); /* asking changes nothing */
    for (int64_t i = 0; i < STRETCHES; i++) {
        got += evidence(topics[i], word_at(i * STRIDE + STRIDE / 2)) / STRETCHES;
        times[topics[i]]++;
    }
    for (int topic = 0; topic < SYNTHETIC_TOPICS; topic++)
        for (int w = 0; w < SYNTHETIC_WORDS; w++) {
            double weight = exp(log_probability(topic, w)) * source->words[w].length;
            expected += weight * evidence(topic, w);
            letters += weight;
        }
    expected /= letters;
    assert_true(expected > 0.2);
    assert_true(fabs(got - expected) < 0.05);
    for (int topic = 0; topic < SYNTHETIC_TOPICS; topic++) assert_in_range(times[topic], STRETCHES / 5, STRETCHES / 3);
}

/* Given the hidden chain, words follow p(w | z, k) and topics p(z' | z). The mean of -ln p(w | z, k) over some 1.8e5
 * words is its expectation, the entropy, to about 0.01 (topics persist, so fewer than 1.8e5 are independent); topics
 * stay with their probability to 6 standard deviations of a free draw. */
static void test_hidden_chain(void **state) {
    static uint8_t topics[COUNT], again[COUNT];
    double words = 0, stays = 0, surprise = 0, entropy = 0, p = synthetic_topic_step(0, 0);
    int64_t at = 0;
    (void)state;
    synthetic_write(source, again, COUNT, topics, 1);
    for (int before = word_at(0); (at += source->words[before].length) < COUNT - SYNTHETIC_LONGEST;) {
        int next = word_at(at), context = topics[at] * SYNTHETIC_CLASSES + source->words[before].class_index;
        surprise -= log(source->probability[context][next]);
        stays += topics[at] == topics[at - 1];
        words++;
        before = next;
    }
    for (int c = 0; c < SYNTHETIC_CONTEXTS; c++)
        for (int w = 0; w < SYNTHETIC_WORDS; w++)
            entropy -= source->stationary[c] * source->probability[c][w] * log(source->probability[c][w]);
    assert_true(fabs(surprise / words - entropy) < 0.05);
    assert_true(fabs(stays / words - p) < 6 * sqrt(p * (1 - p) / words));
    assert_true(p > 0.9); /* topics last longer than a few words */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed),   cmocka_unit_test(test_probabilities_sum_to_one),
        cmocka_unit_test(test_stationary),  cmocka_unit_test(test_lexicon),
        cmocka_unit_test(test_frequencies), cmocka_unit_test(test_topics),
        cmocka_unit_test(test_hidden_chain)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
