/* What collectives cost on equal links without faults: the formulas of the door, which `explain` prints and the played
 * schedules are tested against. */
#include "plan.h"

#include <assert.h>
#include <math.h>

static bool is_power_of_two(int32_t members) {
    return members == 1 << plan_log2(members);
}

static int32_t ceil_log2(int32_t members) {
    return members > 1 ? plan_log2(members - 1) + 1 : 0;
}

double collective_closed_form_s(enum collective_kind kind, int32_t members, double bytes, double bandwidth_Bps,
                                double latency_s) {
    assert(members >= 1);
    if (members == 1) return 0;
    double whole_s = bytes > 0 ? bytes / bandwidth_Bps : 0, others = members - 1;
    switch (kind) {
    case COLLECTIVE_RING:
        return 2 * others * (latency_s + whole_s / members);
    case COLLECTIVE_HALVING_DOUBLING:
        if (!is_power_of_two(members)) return NAN;
        return 2 * plan_log2(members) * latency_s + 2 * others / members * whole_s;
    case COLLECTIVE_TREE:
        return 2 * ceil_log2(members) * (latency_s + whole_s);
    case COLLECTIVE_ALL_GATHER:
        return latency_s + others * whole_s;
    case COLLECTIVE_PARAMETER_SERVER:
        return 2 * (latency_s + others * whole_s);
    case COLLECTIVE_PAIR:
        return latency_s + whole_s;
    case COLLECTIVE_COUNT:
        break;
    }
    assert(false);
    return NAN;
}

/* Halving-doubling among P members sends 2 (P - 1) S; those beyond the power of two send and get S more each. */
static double halving_doubling_copies(int32_t members) {
    int32_t power = 1 << plan_log2(members);
    return 2.0 * (power - 1) + 2.0 * (members - power);
}

double collective_closed_form_bytes(enum collective_kind kind, int32_t members, double bytes) {
    assert(members >= 1);
    double others = members - 1;
    switch (kind) {
    case COLLECTIVE_RING:
    case COLLECTIVE_TREE:
    case COLLECTIVE_PARAMETER_SERVER:
        return 2 * others * bytes;
    case COLLECTIVE_HALVING_DOUBLING:
        return halving_doubling_copies(members) * bytes;
    case COLLECTIVE_ALL_GATHER:
        return members * others * bytes;
    case COLLECTIVE_PAIR:
        return members / 2 * 2 * bytes; /* an odd one out has no partner */
    case COLLECTIVE_COUNT:
        break;
    }
    assert(false);
    return NAN;
}
