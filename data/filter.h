/* The best possible predictor of the synthetic language: its exact forward filter (Rabiner 1989, section III.A).
 *
 * A hypothesis (z, w, i) says: the topic is z and the next letter is letter i of word w. Its weight a_t(z, w, i) is its
 * probability given the letters before t.
 *
 *     start       a_1(z, w, i) = c sum over k of pi(z, k) p(w | z, k) for every i < length(w): the window may begin
 *                 anywhere in the stationary stream, so a word counts once for each of its letters
 *     predict     p(x_t | x_1 .. x_{t-1}) = sum of a_t(z, w, i) over the hypotheses with letter(w, i) = x_t
 *     within      a_{t+1}(z, w, i + 1) = a_t(z, w, i) [letter(w, i) = x_t] / p(x_t)
 *     word's end  e(z', class(w)) = sum of a_t(z, w, length(w) - 1) p(z' | z) / p(x_t)
 *                 a_{t+1}(z', w', 0) = sum over k of e(z', k) p(w' | z', k)
 *
 * Exact up to rounding: nothing is pruned, and only words that still fit are kept. Cost: TOPICS * WORDS * CLASSES
 * products a word, about 5 us a letter.
 */
#ifndef FILTER_H
#define FILTER_H

#include "synthetic.h"

struct filter; /* the hypotheses: one thread at a time */

/* Keeps a pointer to source. */
NODISCARD struct filter *filter_create(const struct synthetic *source, struct error *error);
void filter_free(struct filter *filter); /* NULL is fine */

/* Sum over t = 1 .. count - 1 of -ln p(text[t] | text[0 .. t-1]), text[0] lying anywhere in the stationary stream.
 * Infinite, or not a number, for text that the language cannot write. */
double filter_surprise(struct filter *filter, const uint8_t *text, int64_t count);

#endif
