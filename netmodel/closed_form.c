/* What collectives cost by formula, on links that are all alike. `explain` prints these and the tests hold the engine to
 * them. */
#include "netmodel.h"

#include <math.h>

static double steps_of_tree(int32_t members) { return ceil(log2(members)); }

double collective_closed_form_s(enum collective_kind kind, int32_t members, double bytes, double bandwidth_Bps,
                                double latency_s) {
    double M = members, transfer_s = isinf(bandwidth_Bps) ? 0 : bytes / bandwidth_Bps;
    if (members <= 1) return 0;
    switch (kind) {
    case COLLECTIVE_RING: return 2 * (M - 1) * (latency_s + transfer_s / M);
    case COLLECTIVE_HALVING_DOUBLING:
        if (members & (members - 1)) return NAN;
        return 2 * log2(M) * latency_s + 2 * (M - 1) / M * transfer_s;
    case COLLECTIVE_TREE: return 2 * steps_of_tree(members) * (latency_s + transfer_s);
    case COLLECTIVE_ALL_GATHER: return latency_s + (M - 1) * transfer_s;
    case COLLECTIVE_PARAMETER_SERVER: return 2 * (latency_s + (M - 1) * transfer_s);
    case COLLECTIVE_PAIR: return latency_s + transfer_s;
    case COLLECTIVE_COUNT: break;
    }
    return NAN;
}

double collective_closed_form_bytes(enum collective_kind kind, int32_t members, double bytes) {
    double M = members;
    if (members <= 1) return 0;
    switch (kind) {
    case COLLECTIVE_RING: return 2 * (M - 1) * bytes;
    case COLLECTIVE_HALVING_DOUBLING: {
        double core = exp2(floor(log2(M))); /* the others hand their values to a neighbour and get the mean back */
        return 2 * (core - 1) * bytes + 2 * (M - core) * bytes;
    }
    case COLLECTIVE_TREE: return 2 * (M - 1) * bytes;
    case COLLECTIVE_ALL_GATHER: return M * (M - 1) * bytes;
    case COLLECTIVE_PARAMETER_SERVER: return 2 * (M - 1) * bytes;
    case COLLECTIVE_PAIR: return 2 * bytes;
    case COLLECTIVE_COUNT: break;
    }
    return NAN;
}
