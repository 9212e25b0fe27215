#include "rng.h"

#include <assert.h>
#include <math.h>
#include <Random123/philox.h>

/* Counter words: block number (48 bits) and purpose (16 bits), round, worker. The seed is the key. */
static void refill(struct rng *rng) {
    philox4x32_ctr_t counter = {{rng->counter[0], rng->counter[1], rng->counter[2], rng->counter[3]}};
    philox4x32_key_t key = {{rng->key[0], rng->key[1]}};
    philox4x32_ctr_t out = philox4x32(counter, key);
    for (int i = 0; i < 4; i++) rng->block[i] = out.v[i];
    rng->used = 0;
    if (++rng->counter[0] == 0) rng->counter[1]++;
}

struct rng rng_stream(uint64_t seed, enum rng_purpose purpose, uint32_t round, uint32_t worker) {
    struct rng rng = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                      .counter = {0, (uint32_t)purpose << 16, round, worker},
                      .used = 4};
    return rng;
}

uint32_t rng_u32(struct rng *rng) {
    if (rng->used == 4) refill(rng);
    return rng->block[rng->used++];
}

uint64_t rng_u64(struct rng *rng) {
    uint64_t low = rng_u32(rng);
    return low | (uint64_t)rng_u32(rng) << 32;
}

double rng_uniform(struct rng *rng) {
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

uint32_t rng_below(struct rng *rng, uint32_t bound) {
    assert(bound > 0);
    /* Lemire 2019 (Fast random integer generation in an interval): multiply and reject the few values that would make
     * some results likelier. */
    uint64_t product = (uint64_t)rng_u32(rng) * bound;
    uint32_t threshold = -bound % bound;
    while ((uint32_t)product < threshold) product = (uint64_t)rng_u32(rng) * bound;
    return (uint32_t)(product >> 32);
}

double rng_normal(struct rng *rng) {
    double radius = sqrt(-2 * log(1 - rng_uniform(rng)));
    return radius * cos(6.283185307179586 * rng_uniform(rng));
}

double rng_exponential(struct rng *rng) {
    return -log(1 - rng_uniform(rng));
}

double rng_gamma(struct rng *rng, double shape) {
    if (shape < 1) {
        double boost = pow(1 - rng_uniform(rng), 1 / shape);
        return rng_gamma(rng, shape + 1) * boost;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = rng_normal(rng), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(1 - rng_uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
    }
}

void rng_shuffle(struct rng *rng, int32_t *items, int32_t count) {
    for (int32_t i = count - 1; i > 0; i--) {
        int32_t j = (int32_t)rng_below(rng, (uint32_t)i + 1), kept = items[i];
        items[i] = items[j];
        items[j] = kept;
    }
}

double rng_uniform_at(uint64_t seed, enum rng_purpose purpose, uint32_t round, uint32_t worker, uint64_t index) {
    struct rng rng = rng_stream(seed, purpose, round, worker);
    uint64_t block = index / 2; /* a uniform takes two of a block's four numbers */
    assert(block >> 48 == 0);   /* more would run into the purpose */
    rng.counter[0] = (uint32_t)block;
    rng.counter[1] |= (uint32_t)(block >> 32);
    refill(&rng);
    rng.used = index % 2 ? 2 : 0;
    return rng_uniform(&rng);
}
