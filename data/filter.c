#include "filter.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum {
    TOPICS = SYNTHETIC_TOPICS,
    CLASSES = SYNTHETIC_CLASSES,
    WORDS = SYNTHETIC_WORDS,
    MOST = TOPICS * WORDS * SYNTHETIC_LONGEST,
};

struct filter {
    const struct synthetic *source;
    double step[TOPICS][TOPICS]; /* synthetic_topic_step */
    int32_t count;
    struct hypothesis {
        int16_t topic, word, position;
        double weight;
    } hypotheses[MOST];
};

struct filter *filter_create(const struct synthetic *source, struct error *error) {
    struct filter *filter = alloc_zero(1, sizeof *filter, "filter of the synthetic language", error);
    if (!filter) return NULL;
    filter->source = source;
    for (int32_t from = 0; from < TOPICS; from++)
        for (int32_t to = 0; to < TOPICS; to++) filter->step[from][to] = synthetic_topic_step(from, to);
    return filter;
}

void filter_free(struct filter *filter) {
    alloc_free(filter);
}

static void suppose(struct filter *filter, int topic, int32_t word, int32_t position, double weight) {
    filter->hypotheses[filter->count++] = (struct hypothesis){(int16_t)topic, (int16_t)word, (int16_t)position, weight};
}

/* p(topic, word) for contexts with the given probabilities at the start of a word. */
static double word_probability(const struct synthetic *source, const double *contexts, int topic, int32_t word) {
    double sum = 0;
    for (int k = 0; k < CLASSES; k++)
        sum += contexts[topic * CLASSES + k] * source->probability[topic * CLASSES + k][word];
    return sum;
}

static void begin_anywhere(struct filter *filter) {
    const struct synthetic *source = filter->source;
    filter->count = 0;
    for (int topic = 0; topic < TOPICS; topic++)
        for (int32_t w = 0; w < WORDS; w++) {
            double weight = word_probability(source, source->stationary, topic, w);
            for (int32_t i = 0; i < source->words[w].length; i++) suppose(filter, topic, w, i, weight);
        }
}

static void begin_words(struct filter *filter, const double *contexts) {
    for (int topic = 0; topic < TOPICS; topic++)
        for (int32_t w = 0; w < WORDS; w++)
            suppose(filter, topic, w, 0, word_probability(filter->source, contexts, topic, w));
}

/* Keeps the hypotheses whose next letter is `letter`, one letter further on; words that end start new ones. Returns
 * p(letter); weights sum to 1 afterwards. */
static double observe(struct filter *filter, uint8_t letter) {
    double total = 0, matching = 0, ended[SYNTHETIC_CONTEXTS] = {0};
    int32_t count = filter->count;
    filter->count = 0;
    for (int32_t i = 0; i < count; i++) {
        struct hypothesis h = filter->hypotheses[i];
        const struct synthetic_word *word = &filter->source->words[h.word];
        total += h.weight;
        if (word->letters[h.position] != letter) continue;
        matching += h.weight;
        if (h.position + 1 < word->length) {
            suppose(filter, h.topic, h.word, h.position + 1, h.weight);
            continue;
        }
        for (int topic = 0; topic < TOPICS; topic++)
            ended[topic * CLASSES + word->class_index] += h.weight * filter->step[h.topic][topic];
    }
    if (letter == ' ') begin_words(filter, ended); /* only whole words end with it, so nothing was kept */
    for (int32_t i = 0; i < filter->count; i++) filter->hypotheses[i].weight /= matching;
    return matching / total;
}

double filter_surprise(struct filter *filter, const uint8_t *text, int64_t count) {
    double sum = 0;
    begin_anywhere(filter);
    for (int64_t t = 0; t < count; t++) {
        double p = observe(filter, text[t]);
        if (t > 0) sum -= log(p);
    }
    return sum;
}
