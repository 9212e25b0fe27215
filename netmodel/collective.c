/* Collectives as schedules of flows.
 *
 * A schedule is a function of (collective, members, member, round): what the member sends in that round and how many
 * messages it receives. A member enters its next round when all it sent has arrived and all it awaited has come, so
 * members run ahead of each other where the network lets them. Messages that arrive early are counted for their round.
 *
 * Ring in `fluid`: one flow per member to its neighbour with the whole volume, after the latency of all steps.
 */
#include "network.h"

#include <string.h>

struct collective {
    enum collective_kind kind;
    bool fluid;
    int64_t bytes;
    int32_t members;
    int32_t rounds;
    int32_t done;        /* members that have ended */
    bool failed;
    int64_t sent;
    int32_t *round;      /* [members] the round each is in; rounds = ended */
    int32_t *sending;    /* [members] messages of its round not yet arrived */
    int32_t *received;   /* [members, rounds] */
    int32_t hosts[];     /* [members] */
};

/* ---- the table ---- */

static const struct {
    const char *name, *help;
} collectives[COLLECTIVE_COUNT] = {
#define COLLECTIVE(name, text, help) {text, help},
#include "collectives.def"
#undef COLLECTIVE
};

const char *collective_name(enum collective_kind kind) { return collectives[kind].name; }
const char *collective_help(enum collective_kind kind) { return collectives[kind].help; }

enum status collective_parse(const char *text, enum collective_kind *kind, struct error *error) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        if (strcmp(collectives[i].name, text) != 0) continue;
        *kind = (enum collective_kind)i;
        return STATUS_OK;
    }
    return error_set(error, STATUS_INPUT, "unknown collective '%.40s'; 'thinwire list collectives' names them", text);
}

/* ---- schedules ---- */

/* What a member does in one round: it sends `sends` messages, the k-th to peer(k), and awaits `receives`. */
struct step {
    int32_t sends, receives;
    int32_t first_peer; /* the k-th message goes to member first_peer + k, the member itself left out */
    int64_t bytes;      /* each */
};

static int32_t floor_log2(int32_t value) { return 31 - __builtin_clz((uint32_t)value); }
static int32_t ceil_log2(int32_t value) { return value <= 1 ? 0 : floor_log2(value - 1) + 1; }

/* Bytes of part `part` of S cut into `parts`: the remainder goes to the first ones. */
static int64_t part_bytes(int64_t bytes, int32_t parts, int32_t part) {
    return bytes / parts + (part < bytes % parts);
}

static int32_t modulo(int32_t value, int32_t members) { return ((value % members) + members) % members; }

static struct step ring_step(const struct collective *c, int32_t member, int32_t round) {
    int32_t half = c->members - 1;
    int32_t chunk = round < half ? member - round : member + 1 - (round - half);
    return (struct step){1, 1, modulo(member + 1, c->members), part_bytes(c->bytes, c->members, modulo(chunk, c->members))};
}

/* Recursive halving and doubling among the largest power of two `core`; the `extra` others hand their values to a
 * neighbour first and get the mean back last. Members 1, 3, ... 2 extra - 1 are the others. */
static struct step halving_doubling_step(const struct collective *c, int32_t member, int32_t round) {
    int32_t levels = floor_log2(c->members), core = 1 << levels, extra = c->members - core;
    bool paired = member < 2 * extra, outside = paired && member % 2 == 1;
    if (extra > 0 && round == 0)
        return outside ? (struct step){1, 0, member - 1, c->bytes} : (struct step){0, paired, 0, 0};
    if (extra > 0 && round == c->rounds - 1)
        return outside ? (struct step){0, 1, 0, 0} : paired ? (struct step){1, 0, member + 1, c->bytes} : (struct step){0};
    if (outside) return (struct step){0};
    int32_t position = paired ? member / 2 : member - extra;
    int32_t level = extra > 0 ? round - 1 : round;
    int32_t depth = level < levels ? level : 2 * levels - 1 - level; /* how often the vector has been halved */
    int32_t partner = position ^ (core >> (depth + 1));
    int32_t peer = partner < extra ? 2 * partner : partner + extra;
    return (struct step){1, 1, peer, c->bytes >> (depth + 1)};
}

/* Binomial tree to member 0, then back. */
static struct step tree_step(const struct collective *c, int32_t member, int32_t round) {
    int32_t levels = c->rounds / 2;
    bool up = round < levels;
    int32_t bit = 1 << (up ? round : 2 * levels - 1 - round);
    if (member & (bit - 1)) return (struct step){0};
    if (member & bit) {
        struct step to_parent = {1, 0, member - bit, c->bytes}, from_parent = {0, 1, 0, 0};
        return up ? to_parent : from_parent;
    }
    if (member + bit >= c->members) return (struct step){0};
    struct step from_child = {0, 1, 0, 0}, to_child = {1, 0, member + bit, c->bytes};
    return up ? from_child : to_child;
}

static struct step server_step(const struct collective *c, int32_t member, int32_t round) {
    int32_t others = c->members - 1;
    if (member == 0) return round == 0 ? (struct step){0, others, 0, 0} : (struct step){others, 0, 0, c->bytes};
    return round == 0 ? (struct step){1, 0, 0, c->bytes} : (struct step){0, 1, 0, 0};
}

static struct step step_of(const struct collective *c, int32_t member, int32_t round) {
    switch (c->kind) {
    case COLLECTIVE_RING: return ring_step(c, member, round);
    case COLLECTIVE_HALVING_DOUBLING: return halving_doubling_step(c, member, round);
    case COLLECTIVE_TREE: return tree_step(c, member, round);
    case COLLECTIVE_ALL_GATHER: return (struct step){c->members - 1, c->members - 1, 0, c->bytes};
    case COLLECTIVE_PARAMETER_SERVER: return server_step(c, member, round);
    case COLLECTIVE_PAIR: return (struct step){1, 1, 1 - member, c->bytes};
    case COLLECTIVE_COUNT: break;
    }
    return (struct step){0};
}

static int32_t round_count(enum collective_kind kind, int32_t members) {
    switch (kind) {
    case COLLECTIVE_RING: return 2 * (members - 1);
    case COLLECTIVE_HALVING_DOUBLING:
        return 2 * floor_log2(members) + (members & (members - 1) ? 2 : 0);
    case COLLECTIVE_TREE: return 2 * ceil_log2(members);
    case COLLECTIVE_ALL_GATHER: return 1;
    case COLLECTIVE_PARAMETER_SERVER: return 2;
    case COLLECTIVE_PAIR: return 1;
    case COLLECTIVE_COUNT: break;
    }
    return 0;
}

/* ---- playing ---- */

static enum status send(struct network *network, int32_t slot, int32_t member, int32_t round, int32_t peer,
                        int64_t bytes, int64_t delay_ns, struct error *error) {
    const struct collective *c = network->exchanges.items[slot].collective;
    struct flow_def def = {.source = c->hosts[member], .destination = c->hosts[peer], .bytes = bytes, .delay_ns = delay_ns};
    /* the message says who sends and which round it is of */
    return flow_begin(network, slot, member + round * c->members, &def, error);
}

static enum status member_done(struct network *network, int32_t slot, int32_t member, struct error *error) {
    struct exchange *exchange = &network->exchanges.items[slot];
    exchange->collective->done++;
    struct network_event event = {.kind = NETWORK_MEMBER_DONE,
                                  .id = exchange_id(network, slot),
                                  .time_ns = network->now_ns,
                                  .start_ns = exchange->start_ns,
                                  .source = exchange->collective->hosts[member],
                                  .destination = -1,
                                  .ok = true,
                                  .tries = 1};
    return network_emit(network, &event, error);
}

/* Starts the sends of the member's round; a round without any business is passed at once. */
static enum status enter_rounds(struct network *network, int32_t slot, int32_t member, struct error *error) {
    struct collective *c = network->exchanges.items[slot].collective;
    while (c->round[member] < c->rounds) {
        int32_t round = c->round[member];
        struct step step = step_of(c, member, round);
        c->sending[member] = step.sends;
        for (int32_t k = 0, peer = step.first_peer; k < step.sends; k++, peer++) {
            if (peer == member) peer++;
            TRY(send(network, slot, member, round, peer, step.bytes, 0, error));
        }
        if (step.sends > 0 || c->received[(int64_t)member * c->rounds + round] < step.receives) return STATUS_OK;
        c->round[member]++;
    }
    return member_done(network, slot, member, error);
}

/* Moves the member on if its round is complete. */
static enum status advance(struct network *network, int32_t slot, int32_t member, struct error *error) {
    struct collective *c = network->exchanges.items[slot].collective;
    int32_t round = c->round[member];
    if (round >= c->rounds || c->sending[member] > 0) return STATUS_OK;
    if (c->received[(int64_t)member * c->rounds + round] < step_of(c, member, round).receives) return STATUS_OK;
    c->round[member]++;
    return enter_rounds(network, slot, member, error);
}

static int32_t member_of(const struct collective *c, int32_t host, int32_t sender, int32_t round) {
    /* a ring's receiver is its neighbour; elsewhere it is looked for among the sender's peers */
    if (c->kind == COLLECTIVE_RING) return modulo(sender + 1, c->members);
    struct step step = step_of(c, sender, round);
    for (int32_t k = 0, peer = step.first_peer; k < step.sends; k++, peer++) {
        if (peer == sender) peer++;
        if (c->hosts[peer] == host) return peer;
    }
    return -1;
}

enum status collective_take(struct network *network, int32_t slot, const struct flow *flow, bool ok,
                            struct error *error) {
    struct collective *c = network->exchanges.items[slot].collective;
    int32_t sender = flow->message % c->members, round = flow->message / c->members;
    int32_t receiver = member_of(c, flow->def.destination, sender, round);
    if (!ok) {
        c->failed = true;
        return STATUS_OK;
    }
    c->sent += flow->def.bytes;
    c->sending[sender]--;
    c->received[(int64_t)receiver * c->rounds + round]++;
    TRY(advance(network, slot, sender, error));
    return receiver == sender ? STATUS_OK : advance(network, slot, receiver, error);
}

/* A message that is cut for good ends the whole. */
bool collective_ended(const struct collective *c) { return c->failed || c->done == c->members; }
bool collective_failed(const struct collective *c) { return c->failed; }
int64_t collective_sent(const struct collective *c) { return c->sent; }

void collective_free(struct collective *c) {
    if (!c) return;
    alloc_free(c->round);
    alloc_free(c->sending);
    alloc_free(c->received);
    alloc_free(c);
}

/* One flow per member with all its chunks, after the latency of the other steps. */
static enum status start_fluid(struct network *network, int32_t slot, struct error *error) {
    struct collective *c = network->exchanges.items[slot].collective;
    int32_t steps = 2 * (c->members - 1);
    for (int32_t member = 0; member < c->members; member++) {
        int32_t peer = modulo(member + 1, c->members);
        int64_t volume = 2 * c->bytes - part_bytes(c->bytes, c->members, peer) -
                         part_bytes(c->bytes, c->members, modulo(member + 2, c->members));
        int64_t delay_ns = (steps - 1) * topology_latency(network, c->hosts[member], c->hosts[peer]);
        c->sending[member] = 1;
        TRY(send(network, slot, member, 0, peer, volume, delay_ns, error));
    }
    return STATUS_OK;
}

static enum status start_steps(struct network *network, int32_t slot, struct error *error) {
    struct collective *c = network->exchanges.items[slot].collective;
    for (int32_t member = 0; member < c->members; member++) TRY(enter_rounds(network, slot, member, error));
    return STATUS_OK;
}

static bool play_fluid(const struct network *network, const struct collective_def *def) {
    if (def->kind != COLLECTIVE_RING || def->member_count < 2) return false;
    switch (def->fidelity) {
    case FIDELITY_STEP: return false;
    case FIDELITY_FLUID: return true;
    case FIDELITY_AUTO:
        return network->active.count == 0 && topology_homogeneous(network, def->members, def->member_count);
    }
    return false;
}

static enum status check(const struct network *network, const struct collective_def *def, struct error *error) {
    if (def->member_count < 1 || def->bytes < 0)
        return error_set(error, STATUS_INPUT, "a collective needs members and a size of 0 or more");
    if (def->kind == COLLECTIVE_PAIR && def->member_count != 2)
        return error_set(error, STATUS_INPUT, "a pair has 2 members, not %d", def->member_count);
    for (int32_t i = 0; i < def->member_count; i++)
        if (def->members[i] < 0 || def->members[i] >= network->host_count)
            return error_set(error, STATUS_INPUT, "a collective names a host that does not exist");
    for (int32_t i = 1; i < def->member_count; i++)
        if (!topology_has_route(network, def->members[i - 1], def->members[i]) || def->members[i - 1] == def->members[i])
            return error_set(error, STATUS_INPUT, "no route from '%s' to '%s'; a collective needs one",
                             network->hosts[def->members[i - 1]].def.name, network->hosts[def->members[i]].def.name);
    bool by_steps = !play_fluid(network, def);
    if (by_steps && (int64_t)def->member_count * round_count(def->kind, def->member_count) > INT32_MAX / 4)
        return error_set(error, STATUS_INPUT, "a collective of %d members by steps; that many need fidelity fluid",
                         def->member_count);
    return STATUS_OK;
}

static struct collective *make(const struct network *network, const struct collective_def *def, struct error *error) {
    size_t members = (size_t)def->member_count;
    struct collective *c = alloc_zero(1, sizeof *c + members * sizeof c->hosts[0], "collective", error);
    if (!c) return NULL;
    c->kind = def->kind;
    c->fluid = play_fluid(network, def);
    c->bytes = def->bytes;
    c->members = def->member_count;
    c->rounds = c->fluid ? 1 : round_count(def->kind, def->member_count);
    memcpy(c->hosts, def->members, members * sizeof c->hosts[0]);
    c->round = alloc_zero(members, sizeof *c->round, "collective", error);
    c->sending = alloc_zero(members, sizeof *c->sending, "collective", error);
    c->received = alloc_zero(members * (size_t)c->rounds, sizeof *c->received, "collective", error);
    if (c->round && c->sending && c->received) return c;
    collective_free(c);
    return NULL;
}

enum status network_start_collective(struct network *network, int64_t now_ns, const struct collective_def *def,
                                     int64_t *id, struct error *error) {
    TRY(check(network, def, error));
    if (now_ns > network->now_ns) TRY(network_advance(network, now_ns, error));
    struct collective *c = make(network, def, error);
    if (!c) return STATUS_MEMORY;
    int32_t slot = exchange_open(network, c, error);
    if (slot < 0) {
        collective_free(c);
        return STATUS_MEMORY;
    }
    *id = exchange_id(network, slot);
    TRY(c->fluid ? start_fluid(network, slot, error) : start_steps(network, slot, error));
    return exchange_close_if_done(network, slot, error); /* a lone member is done at once */
}
