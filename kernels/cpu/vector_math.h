/* Sixteen floats at a time, and the functions that the loops need on them. GCC's vector types compile to whatever the
 * processor has (AVX-512, two AVX registers, ...), so the order of every sum is the same everywhere. */
#ifndef CPU_VECTOR_MATH_H
#define CPU_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t lanes_int __attribute__((vector_size(64)));

static inline lanes lanes_load(const float *at) {
    return *(const lanes *)at;
}
static inline void lanes_store(float *at, lanes value) {
    *(lanes *)at = value;
}
static inline lanes lanes_of(float value) {
    return value - (lanes){0};
}

/* Sum of the lanes, pairwise. */
static inline float lanes_sum(lanes v) {
    float s[LANES];
    memcpy(s, &v, sizeof s);
    for (int width = 8; width >= 1; width /= 2)
        for (int i = 0; i < width; i++) s[i] += s[i + width];
    return s[0];
}

/* a where the mask is set, else b. */
static inline lanes lanes_pick(lanes_int mask, lanes a, lanes b) {
    lanes_int x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = (mask & x) | (~mask & y);
    memcpy(&a, &x, sizeof a);
    return a;
}

static inline lanes lanes_max(lanes a, lanes b) {
    return lanes_pick(a > b, a, b);
}
static inline lanes lanes_min(lanes a, lanes b) {
    return lanes_pick(a < b, a, b);
}

/* e^x for x <= 88; below -87 the result is 0. Cody-Waite reduction and a degree-6 polynomial: within 2 ulp. */
static inline lanes lanes_exp(lanes x) {
    lanes low = lanes_of(-87.0f);
    lanes_int alive = x >= low;
    x = lanes_pick(alive, x, low);
    lanes shifted = x * 1.44269504f + 12582912.0f; /* rounds to a whole number in the low bits */
    lanes whole = shifted - 12582912.0f;
    lanes r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    lanes p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    lanes_int exponent;
    memcpy(&exponent, &shifted, sizeof exponent);
    exponent = exponent << 23; /* the low bits of shifted hold the whole number; higher ones fall off */
    lanes_int bits;
    memcpy(&bits, &p, sizeof bits);
    bits += exponent;
    bits &= alive;
    lanes result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* The same for fewer than LANES values: loads `count` of them, the rest filled. */
static inline lanes lanes_load_part(const float *at, int64_t count, float fill) {
    float part[LANES];
    for (int i = 0; i < LANES; i++) part[i] = i < count ? at[i] : fill;
    return lanes_load(part);
}

static inline void lanes_store_part(float *at, lanes value, int64_t count) {
    float part[LANES];
    lanes_store(part, value);
    memcpy(at, part, (size_t)count * sizeof *at);
}

static inline float sum_of_products(const float *a, const float *b, int64_t count) {
    lanes sum = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) sum += lanes_load(a + i) * lanes_load(b + i);
    if (i < count) sum += lanes_load_part(a + i, count - i, 0) * lanes_load_part(b + i, count - i, 0);
    return lanes_sum(sum);
}

static inline float max_of(const float *a, int64_t count) {
    lanes top = lanes_of(-INFINITY);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) top = lanes_max(top, lanes_load(a + i));
    if (i < count) top = lanes_max(top, lanes_load_part(a + i, count - i, -INFINITY));
    float s[LANES], best = -INFINITY;
    lanes_store(s, top);
    for (int l = 0; l < LANES; l++) best = s[l] > best ? s[l] : best;
    return best;
}

/* a[i] = exp(a[i] - shift); returns their sum. */
static inline float exp_and_sum(float *a, float shift, int64_t count) {
    lanes sum = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes e = lanes_exp(lanes_load(a + i) - shift);
        lanes_store(a + i, e);
        sum += e;
    }
    if (i < count) {
        lanes e = lanes_exp(lanes_load_part(a + i, count - i, -INFINITY) - shift);
        lanes_store_part(a + i, e, count - i);
        sum += e;
    }
    return lanes_sum(sum);
}

#endif
