/* Exchange failures: draws that depend on nothing but what they are for. */
#include "netmodel.h"

#include "base/rng.h"

static const char *const unit_names[FAILURE_UNITS] = {"worker", "transfer", "synchronisation"};

const char *failure_unit_name(enum failure_unit unit) { return unit_names[unit]; }

bool exchange_fails(double probability, uint64_t seed, int32_t round, int32_t operation, int32_t worker,
                    int32_t attempt) {
    if (probability <= 0) return false;
    uint64_t index = (uint64_t)(uint32_t)operation << 32 | (uint32_t)attempt;
    return rng_uniform_at(seed, RNG_EXCHANGE_FAILURE, (uint32_t)round, (uint32_t)worker, index) < probability;
}
