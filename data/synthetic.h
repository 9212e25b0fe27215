/* A language with structure to learn, whose every conditional probability can be computed (filter.h).
 *
 * The text is words of lower-case letters, each ended by a space. Hidden behind it is a Markov chain over contexts
 * (z, k): the topic, and the class of the last word. With rank_z(w) a ranking of the lexicon for each topic, class(w)
 * the class of a word, and A, rank and spelling drawn from the seed:
 *
 *     next word      p(w | z, k) = R(z, w) exp(A[k][class(w)]) / sum over w,    R(z, w) = 1 / (rank_z(w) + 2.7)
 *     next context   (z', class(w)),   p(z' | z) = STAY [z' = z] + (1 - STAY) / TOPICS
 *     letters        those of w, then a space
 *     start          a context from the chain's stationary distribution pi,
 *                    pi(z', k') = sum over z, k of pi(z, k) p(z' | z) sum over w of class k' of p(w | z, k)
 *
 * So there is spelling to learn (no word has two spellings, no two words share one), vocabulary (Zipf-Mandelbrot),
 * grammar (classes) and context beyond the sentence (topics, of 1 / (1 - STAY) words). With the lexicon as large as
 * here, the best predictor reaches a perplexity of about 2.7 per byte, letter frequencies alone 15.5, letter pairs 10.
 * Writing takes about 10 ns a byte.
 */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "base/error.h"

enum {
    SYNTHETIC_TOPICS = 4,
    SYNTHETIC_CLASSES = 8,
    SYNTHETIC_CONTEXTS = SYNTHETIC_TOPICS * SYNTHETIC_CLASSES, /* context = topic * SYNTHETIC_CLASSES + class */
    SYNTHETIC_WORDS = 1024,
    SYNTHETIC_LONGEST = 10 /* letters, the space included */
};

struct synthetic_word {
    uint8_t letters[SYNTHETIC_LONGEST]; /* the space included */
    int32_t length;
    int32_t class_index;
};

/* Never changes after synthetic_create(). */
struct synthetic {
    uint64_t seed;
    struct synthetic_word words[SYNTHETIC_WORDS];
    double probability[SYNTHETIC_CONTEXTS][SYNTHETIC_WORDS]; /* p(w | context) */
    double cumulative[SYNTHETIC_CONTEXTS][SYNTHETIC_WORDS];
    double stationary[SYNTHETIC_CONTEXTS]; /* pi, at the start of a word */
};

NODISCARD struct synthetic *synthetic_create(uint64_t seed, struct error *error);
void synthetic_free(struct synthetic *source); /* NULL is fine */

/* p(topic `to` at the next word | topic `from`). */
double synthetic_topic_step(int32_t from, int32_t to);

/* count bytes of text: a pure function of the seed, and a longer text begins with the shorter. If topics is not NULL,
 * topics[i] (i < count / stride) is the topic of the byte in the middle of bytes i * stride .. (i + 1) * stride - 1. */
void synthetic_write(const struct synthetic *source, uint8_t *text, int64_t count, uint8_t *topics, int64_t stride);

#endif
