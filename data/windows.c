#include "windows.h"

#include <math.h>

enum { WHOLE = 1000000 };

struct windows windows_divide(int64_t count, double held_out_fraction) {
    int64_t share = (int64_t)llround(held_out_fraction * WHOLE);
    int64_t rest = count % WHOLE, held_out = count / WHOLE * share + rest * share / WHOLE;
    return (struct windows){.count = count, .held_out = held_out, .training = count - held_out, .share = share};
}

/* Of the first n windows floor(n share / WHOLE) are held out; this is the n - 1 at which that grows to index + 1. */
int64_t windows_held_out(const struct windows *windows, int64_t index) {
    return ((index + 1) * WHOLE + windows->share - 1) / windows->share - 1;
}

/* Of the first n windows ceil(n (WHOLE - share) / WHOLE) are for training; this is the n - 1 at which that grows to
 * index + 1. */
int64_t windows_training(const struct windows *windows, int64_t index) {
    return index * WHOLE / (WHOLE - windows->share);
}

static uint64_t scramble(uint64_t x) { /* Stafford's mix 13 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A balanced Feistel network of four rounds over the next power of four; results outside are sent through again, which
 * takes fewer than four turns on average and keeps it a bijection. */
int64_t windows_permute(uint64_t key, int64_t count, int64_t index) {
    int half = 1;
    while ((INT64_C(1) << (2 * half)) < count) half++;
    uint64_t mask = (UINT64_C(1) << half) - 1, x = (uint64_t)index;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t mixed = left ^ (scramble(right ^ scramble(key + round)) & mask);
            left = right;
            right = mixed;
        }
        x = left << half | right;
    } while (x >= (uint64_t)count);
    return (int64_t)x;
}
