/* Chunks: S bytes are cut into parts of S / parts bytes, the first S mod parts one byte longer, so that sums are exact.
 * Sources: ring and halving-doubling: Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication
 * operations in MPICH", sections 4.1 and 4.4 (other M than powers of two: the members beyond the power add their
 * bytes to a partner before and get the mean from it afterwards).
 */
#include "plan.h"

#include <assert.h>

/* Bytes of the parts before `part`. */
static int64_t bytes_before(const struct plan *plan, int32_t parts, int32_t part) {
    int64_t longer = plan->bytes % parts;
    return plan->bytes / parts * part + (part < longer ? part : longer);
}

static int64_t bytes_of(const struct plan *plan, int32_t parts, int32_t first, int32_t count) {
    return bytes_before(plan, parts, first + count) - bytes_before(plan, parts, first);
}

int32_t plan_log2(int32_t members) {
    int32_t log2 = 0;
    while (members >> (log2 + 1) > 0) log2++;
    return log2;
}

static int32_t log2_rounded_up(int32_t members) {
    return members > 1 ? plan_log2(members - 1) + 1 : 0;
}

/* ---- ring ---- */

/* Reduce-scatter: in step s member m passes part m - s on; all-gather: part m + 1 - (s - (M - 1)). */
static struct message ring_message(const struct plan *plan, int32_t member, int32_t step) {
    int32_t members = plan->members, turn = step < members - 1 ? step : step - members;
    int32_t part = (member - turn % members + members) % members;
    return (struct message){(member + 1) % members, bytes_of(plan, members, part, 1)};
}

/* ---- recursive halving, then doubling ---- */

struct stage {
    enum { STAGE_FOLD, STAGE_HALVE, STAGE_DOUBLE, STAGE_UNFOLD } kind;
    int32_t half; /* parts exchanged, and distance of the partner */
};

static struct stage stage_of(const struct plan *plan, int32_t step) {
    int32_t log2 = plan_log2(plan->members);
    bool folds = plan->members != 1 << log2;
    if (folds && step == 0) return (struct stage){STAGE_FOLD, 0};
    step -= folds;
    if (step < log2) return (struct stage){STAGE_HALVE, 1 << (log2 - 1 - step)};
    if (step < 2 * log2) return (struct stage){STAGE_DOUBLE, 1 << (step - log2)};
    return (struct stage){STAGE_UNFOLD, 0};
}

static bool sends_in_stage(const struct plan *plan, struct stage stage, int32_t member) {
    int32_t power = 1 << plan_log2(plan->members);
    if (stage.kind == STAGE_FOLD) return member >= power;
    if (stage.kind == STAGE_UNFOLD) return member + power < plan->members;
    return member < power;
}

static bool receives_in_stage(const struct plan *plan, struct stage stage, int32_t member) {
    int32_t power = 1 << plan_log2(plan->members);
    if (stage.kind == STAGE_FOLD) return member + power < plan->members;
    if (stage.kind == STAGE_UNFOLD) return member >= power;
    return member < power;
}

/* Halving: the half of the present range in which the partner lies; doubling: all of one's own range. */
static struct message halving_message(const struct plan *plan, int32_t member, int32_t step) {
    struct stage stage = stage_of(plan, step);
    int32_t power = 1 << plan_log2(plan->members), partner = member ^ stage.half;
    if (stage.kind == STAGE_FOLD) return (struct message){member - power, plan->bytes};
    if (stage.kind == STAGE_UNFOLD) return (struct message){member + power, plan->bytes};
    int32_t whose = stage.kind == STAGE_HALVE ? partner : member;
    return (struct message){partner, bytes_of(plan, power, whose & ~(stage.half - 1), stage.half)};
}

/* ---- tree ---- */

/* Distance of the partner: 1, 2, 4 ... towards the root, then back. */
static int32_t tree_distance(const struct plan *plan, int32_t step) {
    int32_t levels = plan->steps / 2;
    return 1 << (step < levels ? step : plan->steps - 1 - step);
}

static bool is_child(int32_t member, int32_t distance) {
    return member % (2 * distance) == distance;
}

static bool is_parent(const struct plan *plan, int32_t member, int32_t distance) {
    return member % (2 * distance) == 0 && member + distance < plan->members;
}

static bool sends_in_tree(const struct plan *plan, int32_t member, int32_t step) {
    int32_t distance = tree_distance(plan, step);
    return step < plan->steps / 2 ? is_child(member, distance) : is_parent(plan, member, distance);
}

static bool receives_in_tree(const struct plan *plan, int32_t member, int32_t step) {
    int32_t distance = tree_distance(plan, step);
    return step < plan->steps / 2 ? is_parent(plan, member, distance) : is_child(member, distance);
}

/* ---- all in one message ---- */

static int64_t all_bytes(const struct plan *plan, int32_t member) {
    struct plan steps = plan_make(plan->kind, false, plan->members, plan->bytes);
    int32_t members = plan->members;
    int64_t bytes = 0;
    if (plan->kind == COLLECTIVE_ALL_GATHER) return (members - 1) * plan->bytes;
    if (plan->kind == COLLECTIVE_RING) /* each phase passes on all parts but one: m + 1, then m + 2 */
        return 2 * plan->bytes - bytes_of(plan, members, (member + 1) % members, 1) -
               bytes_of(plan, members, (member + 2) % members, 1);
    for (int32_t step = 0; step < steps.steps; step++)
        if (plan_sends(&steps, member, step) > 0) bytes += plan_message(&steps, member, step, 0).bytes;
    return bytes;
}

/* ---- all kinds ---- */

static int32_t count_steps(enum collective_kind kind, int32_t members) {
    if (members == 1) return 0;
    int32_t log2 = plan_log2(members);
    switch (kind) {
    case COLLECTIVE_RING:
        return 2 * (members - 1);
    case COLLECTIVE_HALVING_DOUBLING:
        return 2 * log2 + (members != 1 << log2 ? 2 : 0);
    case COLLECTIVE_TREE:
        return 2 * log2_rounded_up(members);
    case COLLECTIVE_PARAMETER_SERVER:
        return 2;
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_PAIR:
        return 1;
    case COLLECTIVE_COUNT:
        break;
    }
    assert(false);
    return 0;
}

static bool can_be_fluid(enum collective_kind kind) {
    return kind == COLLECTIVE_RING || kind == COLLECTIVE_HALVING_DOUBLING || kind == COLLECTIVE_ALL_GATHER;
}

struct plan plan_make(enum collective_kind kind, bool fluid, int32_t members, int64_t bytes) {
    int32_t steps = count_steps(kind, members);
    bool joins = fluid && can_be_fluid(kind) && steps > 0;
    return (struct plan){.kind = kind,
                         .fluid = joins,
                         .members = members,
                         .bytes = bytes,
                         .steps = joins ? 1 : steps,
                         .latencies = joins ? steps : 1};
}

int32_t plan_sends(const struct plan *plan, int32_t member, int32_t step) {
    if (plan->fluid) return 1;
    switch (plan->kind) {
    case COLLECTIVE_RING:
        return 1;
    case COLLECTIVE_HALVING_DOUBLING:
        return sends_in_stage(plan, stage_of(plan, step), member);
    case COLLECTIVE_TREE:
        return sends_in_tree(plan, member, step);
    case COLLECTIVE_ALL_GATHER:
        return plan->members - 1;
    case COLLECTIVE_PARAMETER_SERVER:
        if (step == 0) return member != 0;
        return member == 0 ? plan->members - 1 : 0;
    case COLLECTIVE_PAIR:
        return (member ^ 1) < plan->members;
    case COLLECTIVE_COUNT:
        break;
    }
    assert(false);
    return 0;
}

struct message plan_message(const struct plan *plan, int32_t member, int32_t step, int32_t index) {
    int32_t members = plan->members;
    if (plan->fluid) return (struct message){(member + 1) % members, all_bytes(plan, member)};
    switch (plan->kind) {
    case COLLECTIVE_RING:
        return ring_message(plan, member, step);
    case COLLECTIVE_HALVING_DOUBLING:
        return halving_message(plan, member, step);
    case COLLECTIVE_TREE: {
        int32_t distance = tree_distance(plan, step);
        return (struct message){is_child(member, distance) ? member - distance : member + distance, plan->bytes};
    }
    case COLLECTIVE_ALL_GATHER:
        return (struct message){(member + 1 + index) % members, plan->bytes};
    case COLLECTIVE_PARAMETER_SERVER:
        return (struct message){member == 0 ? index + 1 : 0, plan->bytes};
    case COLLECTIVE_PAIR:
        return (struct message){member ^ 1, plan->bytes};
    case COLLECTIVE_COUNT:
        break;
    }
    assert(false);
    return (struct message){0};
}

/* Where partners differ from step to step a message may overtake an earlier one, so steps are told apart; elsewhere
 * the number of messages says enough. */
bool plan_has_received(const struct plan *plan, int32_t member, int32_t step, int32_t received,
                       uint64_t received_steps) {
    if (plan->fluid) return received >= 1;
    switch (plan->kind) {
    case COLLECTIVE_RING:
        return received > step; /* from one neighbour, in order */
    case COLLECTIVE_HALVING_DOUBLING:
        return !receives_in_stage(plan, stage_of(plan, step), member) || received_steps >> step & 1;
    case COLLECTIVE_TREE:
        return !receives_in_tree(plan, member, step) || received_steps >> step & 1;
    case COLLECTIVE_ALL_GATHER:
        return received >= plan->members - 1;
    case COLLECTIVE_PARAMETER_SERVER:
        return member == 0 ? received >= plan->members - 1 : step == 0 || received >= 1;
    case COLLECTIVE_PAIR:
        return (member ^ 1) >= plan->members || received >= 1;
    case COLLECTIVE_COUNT:
        break;
    }
    assert(false);
    return true;
}
