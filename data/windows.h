/* Which windows of a corpus are held out, and orders that need no memory.
 *
 * Of the first n windows floor(n * share) are held out, evenly spread like the steps of a drawn line: the division
 * depends on the number of windows and the share alone, never on seed or workers. All functions cost O(1).
 */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "base/error.h"

struct windows {
    int64_t count;    /* of the corpus */
    int64_t held_out; /* for validation */
    int64_t training; /* count - held_out */
    int64_t share;    /* of held-out windows, in millionths */
};

struct windows windows_divide(int64_t count, double held_out_fraction);

/* Number, among all, of the index-th held-out and of the index-th training window. */
int64_t windows_held_out(const struct windows *windows, int64_t index);
int64_t windows_training(const struct windows *windows, int64_t index);

/* Where `index` goes in the permutation of 0 .. count - 1 that `key` names. From a count of 64 on all places are alike;
 * below, keys favour some orders. */
int64_t windows_permute(uint64_t key, int64_t count, int64_t index);

#endif
