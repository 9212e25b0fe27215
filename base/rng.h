/* Random numbers that do not depend on who asks first: counter-based Philox4x32-10 (Random123; Salmon et al. 2011),
 * keyed by (seed, purpose, round, worker) and counted by index.
 *
 * A stream is a value: copying it copies the position. Two purposes, rounds or workers never share a stream, so a
 * draw added in one place changes nothing elsewhere. Not for: cryptography.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* What a draw is for. Values are part of every stored result: add at the end, never renumber. */
enum rng_purpose {
    RNG_INITIAL_WEIGHTS = 1, /* worker = tensor index: the same weights for all workers */
    RNG_DATA_SOURCE = 2,     /* structure and text of the synthetic corpus */
    RNG_DATA_ORDER = 3,      /* order of training windows */
    RNG_DATA_SPLIT = 4,      /* non-IID division over workers */
    RNG_MIX_PAIRS = 5,       /* pairs of a gossip mix; worker = op */
    RNG_EXCHANGE_FAILURE = 6,
    RNG_COMPUTE_JITTER = 7,
    RNG_OUTAGE = 8,
    RNG_METRIC = 9,      /* which held-out tokens a metric uses */
    RNG_PROJECTION = 10, /* randomised subspace iteration */
    RNG_TEST = 11,
    RNG_SUBSET = 12 /* the random control of block choice */
};

struct rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4]; /* the current four numbers */
    uint32_t used;     /* of block, 0..4 */
};

/* The stream of (seed, purpose, round, worker) at index 0. `seed` uses all 64 bits, `round` and `worker` 32 bits each.
 */
struct rng rng_stream(uint64_t seed, enum rng_purpose purpose, uint32_t round, uint32_t worker);

uint32_t rng_u32(struct rng *rng);
uint64_t rng_u64(struct rng *rng);
double rng_uniform(struct rng *rng);                 /* [0, 1), 53 bits */
uint32_t rng_below(struct rng *rng, uint32_t bound); /* 0 .. bound - 1 without bias; bound >= 1 */
double rng_normal(struct rng *rng);                  /* mean 0, variance 1 (Box-Muller, two uniforms a draw) */
double rng_exponential(struct rng *rng);             /* mean 1 */
double rng_gamma(struct rng *rng, double shape);     /* scale 1, shape > 0 (Marsaglia & Tsang 2000) */
void rng_shuffle(struct rng *rng, int32_t *items, int32_t count); /* Fisher-Yates */

/* One number of its own: the uniform at `index` of the stream, without walking there. */
double rng_uniform_at(uint64_t seed, enum rng_purpose purpose, uint32_t round, uint32_t worker, uint64_t index);

#endif
