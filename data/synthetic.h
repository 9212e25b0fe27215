/* A language with structure to learn and an entropy that can be computed.
 *
 * Words of lower-case letters end with a space. The next word is drawn from p(word | topic, class of the last word);
 * after each word the topic stays with probability STAY, else it is drawn afresh. So there is spelling to learn
 * (letters within a word), vocabulary (Zipf's law), grammar (classes) and context (topics). Given the letters so far, a
 * forward filter over (topic, word, position) yields the exact probability of the next letter.
 */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "base/error.h"

struct synthetic;

NODISCARD struct synthetic *synthetic_create(uint64_t seed, struct error *error);
void synthetic_free(struct synthetic *source); /* NULL is fine */

/* count bytes of text: a pure function of (seed, count prefix). */
void synthetic_write(const struct synthetic *source, uint8_t *text, int64_t count);

/* Sum over t = 1 .. count - 1 of -ln p(text[t] | text[0 .. t-1]) when text[0] may lie anywhere in the language's
 * stationary stream. */
double synthetic_surprise(struct synthetic *source, const uint8_t *text, int64_t count);

#endif
