/* Exchange failures: one uniform number per (round, operation, worker, attempt) from the counter-based generator. */
#include "netmodel/netmodel.h"

#include "base/rng.h"

#include <assert.h>

const char *failure_unit_name(enum failure_unit unit) {
    switch (unit) {
    case FAILURE_PER_WORKER:
        return "worker";
    case FAILURE_PER_TRANSFER:
        return "transfer";
    case FAILURE_PER_SYNCHRONISATION:
        return "synchronisation";
    case FAILURE_UNITS:
        break;
    }
    assert(false);
    return "";
}

/* Operation and attempt are 32 bits each of the stream's index, so no two draws share a number. */
bool exchange_fails(double probability, uint64_t seed, int32_t round, int32_t operation, int32_t worker,
                    int32_t attempt) {
    uint64_t index = (uint64_t)(uint32_t)operation << 32 | (uint32_t)attempt;
    return rng_uniform_at(seed, RNG_EXCHANGE_FAILURE, (uint32_t)round, (uint32_t)worker, index) < probability;
}
