#include "synthetic.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { TOPICS = 4, CLASSES = 8, CONTEXTS = TOPICS * CLASSES, WORDS = 1024, LONGEST = 10 };
static const double STAY = 0.95;

struct word {
    uint8_t letters[LONGEST]; /* the space included */
    int32_t length;
    int32_t class_index;
};

struct synthetic {
    uint64_t seed;
    struct word words[WORDS];
    double probability[CONTEXTS][WORDS];
    double cumulative[CONTEXTS][WORDS];
    double stationary[CONTEXTS]; /* of the contexts at the start of a word */
    /* the filter: (topic, word, letters already seen of it) with the weight of being there */
    struct hypothesis {
        int16_t topic, word, position;
        double weight;
    } hypotheses[TOPICS * WORDS * LONGEST];
    int32_t count;
};

/* ---- making the language ---- */

/* Letters by a fixed first-order speller, so that words look alike without being alike. */
static void spell(struct word *word, struct rng *rng) {
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

static bool spelled_before(const struct synthetic *source, int32_t count, const struct word *word) {
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
            double keep = (1 - STAY) / TOPICS + (topic == c / CLASSES ? STAY : 0);
            for (int k = 0; k < CLASSES; k++) next[topic * CLASSES + k] += keep * to_class[k];
        }
    }
}

/* Power iteration; contraction by at least STAY a step, so 1000 steps leave 1e-22. */
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

void synthetic_write(const struct synthetic *source, uint8_t *text, int64_t count) {
    struct rng rng = rng_stream(source->seed, RNG_DATA_SOURCE, 1, 0);
    double cumulative[CONTEXTS], running = 0;
    for (int c = 0; c < CONTEXTS; c++) cumulative[c] = running += source->stationary[c];
    int32_t context = draw(cumulative, CONTEXTS, rng_uniform(&rng) * running);
    for (int64_t done = 0; done < count;) {
        const struct word *word = &source->words[draw(source->cumulative[context], WORDS, rng_uniform(&rng))];
        int64_t fits = count - done < word->length ? count - done : word->length;
        memcpy(text + done, word->letters, (size_t)fits);
        done += fits;
        int32_t topic = context / CLASSES;
        if (rng_uniform(&rng) >= STAY) topic = (int32_t)rng_below(&rng, TOPICS);
        context = topic * CLASSES + word->class_index;
    }
}

/* ---- the forward filter ---- */

static void suppose(struct synthetic *source, int topic, int32_t word, int32_t position, double weight) {
    source->hypotheses[source->count++] = (struct hypothesis){(int16_t)topic, (int16_t)word, (int16_t)position, weight};
}

/* p(topic, word) for contexts with the given probabilities at the start of a word. */
static double word_probability(const struct synthetic *source, const double *contexts, int topic, int32_t word) {
    double sum = 0;
    for (int k = 0; k < CLASSES; k++)
        sum += contexts[topic * CLASSES + k] * source->probability[topic * CLASSES + k][word];
    return sum;
}

/* The window may begin anywhere: every letter of a word is as likely as the word. */
static void begin_anywhere(struct synthetic *source) {
    source->count = 0;
    for (int topic = 0; topic < TOPICS; topic++)
        for (int32_t w = 0; w < WORDS; w++) {
            double weight = word_probability(source, source->stationary, topic, w);
            for (int32_t i = 0; i < source->words[w].length; i++) suppose(source, topic, w, i, weight);
        }
}

/* Keeps the hypotheses whose next letter is `letter`, one letter further on; words that end start new ones. Returns
 * p(letter); weights sum to 1 afterwards. */
static double observe(struct synthetic *source, uint8_t letter) {
    double total = 0, matching = 0, ended[CONTEXTS] = {0};
    int32_t count = source->count;
    source->count = 0;
    for (int32_t i = 0; i < count; i++) {
        struct hypothesis h = source->hypotheses[i];
        const struct word *word = &source->words[h.word];
        total += h.weight;
        if (word->letters[h.position] != letter) continue;
        matching += h.weight;
        if (h.position + 1 < word->length) {
            suppose(source, h.topic, h.word, h.position + 1, h.weight);
            continue;
        }
        for (int topic = 0; topic < TOPICS; topic++)
            ended[topic * CLASSES + word->class_index] +=
                h.weight * ((1 - STAY) / TOPICS + (topic == h.topic ? STAY : 0));
    }
    if (letter == ' ') /* only whole words end with it, so nothing was kept */
        for (int topic = 0; topic < TOPICS; topic++)
            for (int32_t w = 0; w < WORDS; w++) suppose(source, topic, w, 0, word_probability(source, ended, topic, w));
    for (int32_t i = 0; i < source->count; i++) source->hypotheses[i].weight /= matching;
    return matching / total;
}

double synthetic_surprise(struct synthetic *source, const uint8_t *text, int64_t count) {
    double sum = 0;
    begin_anywhere(source);
    for (int64_t t = 0; t < count; t++) {
        double p = observe(source, text[t]);
        if (t > 0) sum -= log(p);
    }
    return sum;
}
