#include "synthetic.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum {
    TOPICS = SYNTHETIC_TOPICS,
    CLASSES = SYNTHETIC_CLASSES,
    CONTEXTS = SYNTHETIC_CONTEXTS,
    WORDS = SYNTHETIC_WORDS,
};
static const double STAY = 0.95;

double synthetic_topic_step(int32_t from, int32_t to) {
    return (1 - STAY) / TOPICS + (to == from ? STAY : 0);
}

/* ---- making the language ---- */

/* Letters by a fixed first-order speller, so that words look alike without being alike. */
static void spell(struct synthetic_word *word, struct rng *rng) {
    static const char vowels[] = "aeiou", consonants[] = "bcdfghklmnprstvw";
    word->length = 2 + (int32_t)rng_below(rng, 4) + (int32_t)rng_below(rng, 3);
    bool vowel = rng_below(rng, 3) == 0;
    for (int32_t i = 0; i < word->length; i++) {
        uint32_t skewed = rng_below(rng, 16), other = rng_below(rng, 16);
        uint32_t pick = skewed < other ? skewed : other; /* early letters are commoner */
        word->letters[i] = (uint8_t)(vowel ? vowels[pick % 5] : consonants[pick]);
        vowel = rng_below(rng, 8) == 0 ? vowel : !vowel;
    }
    word->letters[word->length++] = ' ';
}

static bool spelled_before(const struct synthetic *source, int32_t count, const struct synthetic_word *word) {
    for (int32_t i = 0; i < count; i++)
        if (source->words[i].length == word->length &&
            memcmp(source->words[i].letters, word->letters, (size_t)word->length) == 0)
            return true;
    return false;
}

static void make_lexicon(struct synthetic *source, struct rng *rng) {
    for (int32_t w = 0; w < WORDS; w++) {
        do spell(&source->words[w], rng);
        while (spelled_before(source, w, &source->words[w]));
        source->words[w].class_index = (int32_t)rng_below(rng, CLASSES);
    }
}

/* Zipf weights over a ranking of its own for every topic, times a liking of the last word's class for the next one's.
 */
static void make_grammar(struct synthetic *source, struct rng *rng) {
    double liking[CLASSES][CLASSES], rank_weight[TOPICS][WORDS];
    int32_t order[WORDS];
    for (int a = 0; a < CLASSES; a++)
        for (int b = 0; b < CLASSES; b++) liking[a][b] = exp(1.5 * rng_normal(rng));
    for (int32_t w = 0; w < WORDS; w++) order[w] = w;
    for (int topic = 0; topic < TOPICS; topic++) {
        rng_shuffle(rng, order + WORDS / 16, WORDS - WORDS / 16); /* the commonest words are common to all */
        for (int32_t r = 0; r < WORDS; r++) rank_weight[topic][order[r]] = 1 / (r + 2.7);
    }
    for (int c = 0; c < CONTEXTS; c++) {
        double sum = 0;
        for (int32_t w = 0; w < WORDS; w++)
            sum += source->probability[c][w] =
                rank_weight[c / CLASSES][w] * liking[c % CLASSES][source->words[w].class_index];
        double running = 0;
        for (int32_t w = 0; w < WORDS; w++) {
            source->probability[c][w] /= sum;
            running += source->probability[c][w];
            source->cumulative[c][w] = running;
        }
        source->cumulative[c][WORDS - 1] = 1;
    }
}

/* next[context] for beliefs over the context at the start of a word. */
static void step_contexts(const struct synthetic *source, const double *now, double *next) {
    memset(next, 0, CONTEXTS * sizeof *next);
    for (int c = 0; c < CONTEXTS; c++) {
        double to_class[CLASSES] = {0};
        for (int32_t w = 0; w < WORDS; w++)
            to_class[source->words[w].class_index] += now[c] * source->probability[c][w];
        for (int topic = 0; topic < TOPICS; topic++) {
            double keep = synthetic_topic_step(c / CLASSES, topic);
            for (int k = 0; k < CLASSES; k++) next[topic * CLASSES + k] += keep * to_class[k];
        }
    }
}

/* Power iteration. Topics start out even, as they are in the end, and classes forget theirs within a few words. */
static void find_stationary(struct synthetic *source) {
    double now[CONTEXTS], next[CONTEXTS];
    for (int c = 0; c < CONTEXTS; c++) now[c] = 1.0 / CONTEXTS;
    for (int i = 0; i < 1000; i++) {
        step_contexts(source, now, next);
        double change = 0;
        for (int c = 0; c < CONTEXTS; c++) change += fabs(next[c] - now[c]);
        memcpy(now, next, sizeof now);
        if (change < 1e-15) break;
    }
    memcpy(source->stationary, now, sizeof now);
}

struct synthetic *synthetic_create(uint64_t seed, struct error *error) {
    struct synthetic *source = alloc_zero(1, sizeof *source, "synthetic language", error);
    if (!source) return NULL;
    struct rng rng = rng_stream(seed, RNG_DATA_SOURCE, 0, 0);
    source->seed = seed;
    make_lexicon(source, &rng);
    make_grammar(source, &rng);
    find_stationary(source);
    return source;
}

void synthetic_free(struct synthetic *source) {
    alloc_free(source);
}

/* ---- writing ---- */

/* The first index whose cumulative probability exceeds u. */
static int32_t draw(const double *cumulative, int32_t count, double u) {
    int32_t low = 0, high = count - 1;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void synthetic_write(const struct synthetic *source, uint8_t *text, int64_t count, uint8_t *topics, int64_t stride) {
    struct rng rng = rng_stream(source->seed, RNG_DATA_SOURCE, 1, 0);
    double cumulative[CONTEXTS], running = 0;
    for (int c = 0; c < CONTEXTS; c++) cumulative[c] = running += source->stationary[c];
    int32_t context = draw(cumulative, CONTEXTS, rng_uniform(&rng) * running);
    int64_t topics_left = topics ? count / stride : 0, next_middle = stride / 2;
    for (int64_t done = 0; done < count;) {
        const struct synthetic_word *word = &source->words[draw(source->cumulative[context], WORDS, rng_uniform(&rng))];
        int64_t fits = count - done < word->length ? count - done : word->length;
        int32_t topic = context / CLASSES;
        memcpy(text + done, word->letters, (size_t)fits);
        done += fits;
        for (; topics_left > 0 && next_middle < done; topics_left--, next_middle += stride) *topics++ = (uint8_t)topic;
        if (rng_uniform(&rng) >= STAY) topic = (int32_t)rng_below(&rng, TOPICS);
        context = topic * CLASSES + word->class_index;
    }
}
