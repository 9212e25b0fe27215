/* A round by formula: what `explain` prints, and what the timeline must equal on links that are all alike. */
#include "sim.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>

static double bytes_per_second(int64_t bps) {
    return bps == INT64_MAX ? INFINITY : (double)bps / 8;
}

/* Seconds and bytes per worker of one mix, and the formula with its numbers. false where no formula is known. */
static bool cost_mix(const struct sim_def *def, const struct op *op, struct op_cost *cost) {
    const struct cluster_def *cluster = &def->cluster;
    double slower_Bps = bytes_per_second(cluster->up_bps < cluster->down_bps ? cluster->up_bps : cluster->down_bps);
    double latency_s = ns_to_s(cluster->latency_ns), bytes = (double)sim_payload_bytes(def, op->subset);
    bool pairs = op->group == GROUP_PAIRS;
    enum collective_kind kind = pairs ? COLLECTIVE_PAIR : cluster->collective;
    int32_t members = pairs && cluster->workers > 1 ? 2 : cluster->workers;
    cost->seconds = collective_closed_form_s(kind, members, bytes, slower_Bps, latency_s);
    cost->bytes = members > 1 ? collective_closed_form_bytes(kind, members, bytes) / members : 0;
    snprintf(cost->formula, sizeof cost->formula, "%s of %d, S = %.6g bytes, B = %.6g bytes/s, a = %g s",
             collective_name(kind), members, bytes, slower_Bps, latency_s);
    /* the odd worker out of a matching goes ahead of the others: then rounds have no common length */
    return !isnan(cost->seconds) && !(pairs && cluster->workers % 2 == 1 && cluster->workers > 1);
}

static void cost_steps(const struct sim_def *def, int64_t steps, struct op_cost *cost) {
    double step_s = ns_to_s(sim_step_ns(def));
    cost->seconds = (double)steps * step_s;
    snprintf(cost->formula, sizeof cost->formula, "%lld x %g s", (long long)steps, step_s);
}

bool sim_closed_form(const struct sim_def *def, struct round_cost *round) {
    const struct program *program = &def->strategy.program;
    double arrives_s[MIX_LABELS] = {0}, now_s = 0, repeat_start_s = 0;
    int64_t times = 1;
    bool known = true;
    *round = (struct round_cost){.op_count = program->count};
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i];
        struct op_cost *cost = &round->ops[i];
        int64_t count = op->count > 0 ? op->count : def->strategy.inner_steps;
        cost->times = times;
        switch (op->kind) {
        case OP_REPEAT:
            times = count;
            repeat_start_s = now_s;
            break;
        case OP_END:
            now_s = repeat_start_s + (double)times * (now_s - repeat_start_s);
            times = 1;
            break;
        case OP_INNER:
            cost_steps(def, count, cost);
            round->compute_s += (double)times * cost->seconds;
            now_s += cost->seconds;
            break;
        case OP_GRADIENT:
            cost_steps(def, 1, cost);
            round->compute_s += (double)times * cost->seconds;
            now_s += cost->seconds;
            break;
        case OP_BEGIN:
            known &= cost_mix(def, op, cost);
            arrives_s[op->label] = now_s + cost->seconds;
            break;
        case OP_AWAIT: {
            double wait_s = arrives_s[op->label] - now_s;
            cost->seconds = wait_s > 0 ? wait_s : 0;
            snprintf(cost->formula, sizeof cost->formula, "%s",
                     wait_s > 0 ? "what the steps did not hide" : "hidden behind the steps");
            now_s += cost->seconds;
            break;
        }
        case OP_MIX:
            known &= cost_mix(def, op, cost);
            now_s += cost->seconds;
            break;
        case OP_STEP:
        case OP_OUTER:
        case OP_KINDS:
            break;
        }
        round->bytes += (double)cost->times * cost->bytes;
    }
    round->seconds = now_s;
    round->utilization = now_s > 0 ? round->compute_s / now_s : NAN;
    return known;
}
