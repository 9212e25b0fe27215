/* As many floats at a time as a register of the processor holds, and the functions that the loops need on them. Sums of
 * lanes have a fixed order; it depends on the width, so bits may differ between processors with AVX-512 and without.
 */
#ifndef CPU_VECTOR_MATH_H
#define CPU_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX512F__
enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t lanes_int __attribute__((vector_size(64)));
typedef uint32_t lanes_bits __attribute__((vector_size(64)));
#else /* wider vectors than registers make gcc go through memory */
enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t lanes_int __attribute__((vector_size(32)));
typedef uint32_t lanes_bits __attribute__((vector_size(32)));
#endif

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
    for (int width = LANES / 2; width >= 1; width /= 2)
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

/* a where the mask is set, else 0. */
static inline lanes lanes_keep(lanes_int mask, lanes a) {
    lanes_int bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= mask;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* What differs with the width: 0, 1, 2, ...; a's and b's first (last) halves interleaved; the halves of a exchanged. */
#ifdef __AVX512F__
static inline lanes_int lanes_index(void) {
    return (lanes_int){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}
static inline lanes lanes_zip_first(lanes a, lanes b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
static inline lanes lanes_zip_last(lanes a, lanes b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
static inline lanes lanes_swap_halves(lanes a) {
    return __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
static inline lanes_int lanes_index(void) {
    return (lanes_int){0, 1, 2, 3, 4, 5, 6, 7};
}
static inline lanes lanes_zip_first(lanes a, lanes b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
static inline lanes lanes_zip_last(lanes a, lanes b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
static inline lanes lanes_swap_halves(lanes a) {
    return __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3);
}
#endif

static inline lanes lanes_max(lanes a, lanes b) {
    return lanes_pick(a > b, a, b);
}
static inline lanes lanes_min(lanes a, lanes b) {
    return lanes_pick(a < b, a, b);
}

/* e^x for x <= 88; below -87 the result is 0; NaN gives NaN. Cody-Waite reduction and a degree-6 polynomial: within
 * 2 ulp. */
static inline lanes lanes_exp(lanes x) {
    lanes given = x, low = lanes_of(-87.0f);
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
    lanes_bits bits, exponent; /* unsigned: what lies beyond the range wraps */
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23; /* the low bits of shifted hold the whole number; higher ones fall off */
    bits &= (lanes_bits)alive;
    lanes result;
    memcpy(&result, &bits, sizeof result);
    return lanes_pick(given == given, result, given);
}

/* ln x for normal positive x, and near -inf at 0 (a finite -88). x = m 2^e with m in [sqrt(1/2), sqrt(2)); a polynomial
 * in m - 1 (Cephes logf): within 2 ulp. */
static inline lanes lanes_log(lanes x) {
    lanes_bits bits; /* unsigned: what is no positive number wraps */
    memcpy(&bits, &x, sizeof bits);
    lanes_int exponent = (lanes_int)(bits - 0x3f3504f3u) >> 23; /* 0x3f3504f3: sqrt(1/2) */
    bits -= (lanes_bits)exponent << 23;
    lanes m, e = __builtin_convertvector(exponent, lanes);
    memcpy(&m, &bits, sizeof m);
    lanes r = m - 1.0f, square = r * r;
    lanes p = 7.0376836292e-2f * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    lanes low = p * r * square - 2.12194440e-4f * e - 0.5f * square;
    return r + low + 0.693359375f * e;
}

/* to = from transposed, [LANES, LANES] each, rows to_row and from_row apart. Each round interleaves row i with the row
 * half of all further on: that rotates the bits of (row, lane) by one, so that as many rounds as a row number has bits
 * swap them. */
static inline void lanes_transpose(float *to, int64_t to_row, const float *from, int64_t from_row) {
    lanes rows[LANES], next[LANES];
    for (int i = 0; i < LANES; i++) rows[i] = lanes_load(from + i * from_row);
    for (int done = 1; done < LANES; done *= 2) {
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = lanes_zip_first(rows[i], rows[i + LANES / 2]);
            next[2 * i + 1] = lanes_zip_last(rows[i], rows[i + LANES / 2]);
        }
        for (int i = 0; i < LANES; i++) rows[i] = next[i];
    }
    for (int i = 0; i < LANES; i++) lanes_store(to + i * to_row, rows[i]);
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
