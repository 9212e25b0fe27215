/* Collectives: each member goes through the steps of its schedule; every message is a flow.
 *
 * A member's next step begins when its own messages have been delivered and those due to it have come, as two-sided
 * calls (send and receive together) do: steps of one member do not overlap, and a slow neighbour delays only those
 * that wait for it. A message that is cut ends the whole collective.
 */
#include "network.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

static const char *const names[] = {
#define COLLECTIVE(name, text, help) text,
#include "collectives.def"
#undef COLLECTIVE
};

static const char *const helps[] = {
#define COLLECTIVE(name, text, help) help,
#include "collectives.def"
#undef COLLECTIVE
};

const char *collective_name(enum collective_kind kind) {
    return names[kind];
}
const char *collective_help(enum collective_kind kind) {
    return helps[kind];
}

enum status collective_parse(const char *text, enum collective_kind *kind, struct error *error) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *kind = (enum collective_kind)i;
        return STATUS_OK;
    }
    const char *nearest = text_nearest(text, names, COLLECTIVE_COUNT);
    if (nearest) return error_set(error, STATUS_INPUT, "unknown collective '%.60s'; did you mean '%s'?", text, nearest);
    return error_set(error, STATUS_INPUT,
                     "unknown collective '%.60s'; one of ring, halving-doubling, tree, all-gather, "
                     "parameter-server, pair",
                     text);
}

/* ---- checking ---- */

static enum status check_members(struct network *network, const struct collective_def *def, struct error *error) {
    if (def->member_count < 1) return error_set(error, STATUS_INPUT, "collective without members; at least one");
    if (network->mark == UINT32_MAX) {
        memset(network->marks, 0, (size_t)network->topology.host_count * sizeof *network->marks);
        network->mark = 0;
    }
    network->mark++;
    for (int32_t i = 0; i < def->member_count; i++) {
        int32_t host = def->members[i];
        if (host < 0 || host >= network->topology.host_count)
            return error_set(error, STATUS_INPUT, "member %d of a collective is host %d; there are %d hosts", i, host,
                             network->topology.host_count);
        if (network->marks[host] == network->mark)
            return error_set(error, STATUS_INPUT, "host '%s' is a member of a collective twice; once at most",
                             network->topology.hosts[host].name);
        network->marks[host] = network->mark;
    }
    return STATUS_OK;
}

static enum status check_path(const struct network *network, const struct collective_def *def, int32_t from, int32_t to,
                              struct error *error) {
    struct path path;
    return topology_find_path(&network->topology, def->members[from], def->members[to], &path, error);
}

/* In a ring all steps have the same partner. */
static enum status check_paths_of(const struct network *network, const struct collective_def *def,
                                  const struct plan *plan, int32_t member, struct error *error) {
    int32_t steps = plan->kind == COLLECTIVE_RING && plan->steps > 0 ? 1 : plan->steps;
    for (int32_t step = 0; step < steps; step++) {
        int32_t sends = plan_sends(plan, member, step);
        for (int32_t i = 0; i < sends; i++)
            TRY(check_path(network, def, member, plan_message(plan, member, step, i).to, error));
    }
    return plan->members > 1 && def->fidelity != FIDELITY_STEP
               ? check_path(network, def, member, (member + 1) % plan->members, error)
               : STATUS_OK;
}

/* Hosts with links of their own reach each other; only with others among the members is there anything to look up. */
static enum status check_paths(const struct network *network, const struct collective_def *def, struct error *error) {
    int32_t with_links = 0;
    for (int32_t i = 0; i < def->member_count; i++) with_links += network->topology.hosts[def->members[i]].has_links;
    if (with_links == def->member_count) return STATUS_OK;
    struct plan plan = plan_make(def->kind, false, def->member_count, def->bytes);
    for (int32_t i = 0; i < def->member_count; i++) TRY(check_paths_of(network, def, &plan, i, error));
    return STATUS_OK;
}

static enum status check_collective(struct network *network, const struct collective_def *def, struct error *error) {
    if (def->bytes < 0) return error_set(error, STATUS_INPUT, "collective of negative bytes; 0 or more");
    TRY(check_members(network, def, error));
    int64_t copies = 2 * (int64_t)def->member_count; /* no collective sends more than these, but for all-gather */
    if (def->kind == COLLECTIVE_ALL_GATHER) copies *= def->member_count;
    if (def->bytes > INT64_MAX / copies)
        return error_set(error, STATUS_INPUT, "a %s among %d members of that many bytes overflows; fewer bytes",
                         collective_name(def->kind), def->member_count);
    return check_paths(network, def, error);
}

/* ---- fluid or step ---- */

/* Beyond this many members the messages of a ring are too many to play one by one. */
enum { MAX_STEP_MEMBERS = 2048 };

static bool is_equal_and_quiet(const struct network *network, const struct member *members, int32_t count) {
    const struct topology *topology = &network->topology;
    const struct host_def *first = &topology->hosts[members[0].host];
    for (int32_t i = 0; i < count; i++) {
        const struct host_def *host = &topology->hosts[members[i].host];
        if (!host->has_links || host->up_Bps != first->up_Bps || host->down_Bps != first->down_Bps ||
            host->latency_ns != first->latency_ns || topology_has_routes(topology, members[i].host) ||
            network->busy[members[i].host] > 0)
            return false;
    }
    return true;
}

/* Of other numbers than powers of two halving-doubling has members with more to send than others. */
static bool is_exact_when_fluid(const struct network *network, const struct collective *collective) {
    int32_t count = collective->plan.members;
    if (collective->plan.kind == COLLECTIVE_HALVING_DOUBLING && count != 1 << plan_log2(count)) return false;
    return is_equal_and_quiet(network, collective->members, count);
}

static bool is_fluid(const struct network *network, const struct collective *collective) {
    switch (collective->fidelity) {
    case FIDELITY_STEP:
        return false;
    case FIDELITY_FLUID:
        return true;
    case FIDELITY_AUTO:
        break;
    }
    return collective->plan.members > MAX_STEP_MEMBERS || is_exact_when_fluid(network, collective);
}

/* ---- members ---- */

static enum status send(struct network *network, int32_t index, int32_t member, int32_t nth, struct error *error) {
    const struct collective *collective = &network->collectives.items[index];
    const struct plan *plan = &collective->plan;
    int32_t step = collective->members[member].step;
    struct message message = plan_message(plan, member, step, nth);
    struct flow_def def = {.source = collective->members[member].host,
                           .destination = collective->members[message.to].host,
                           .bytes = message.bytes};
    if (plan->latencies > 1) {
        struct path path;
        TRY(topology_find_path(&network->topology, def.source, def.destination, &path, error));
        int32_t more = plan->latencies - 1;
        def.delay_ns = path.latency_ns > TIME_NEVER / more ? TIME_NEVER : path.latency_ns * more;
    }
    struct flow_origin origin = {.collective = index, .sender = member, .receiver = message.to, .step = step};
    int32_t flow;
    TRY(flow_create(network, &def, network->now_ns, origin, &flow, error));
    return network_change_is_due(network) ? flow_schedule_start(network, flow, network->now_ns, error)
                                          : flow_begin(network, flow, error);
}

static enum status finish_member(struct network *network, int32_t index, int32_t which, struct error *error) {
    struct collective *collective = &network->collectives.items[index];
    struct member *member = &collective->members[which];
    member->done = true;
    collective->members_done++;
    struct network_event event = {.kind = NETWORK_MEMBER_DONE,
                                  .id = network_id(index, collective->serial, true),
                                  .time_ns = network->now_ns,
                                  .start_ns = collective->start_ns,
                                  .source = member->host,
                                  .destination = NONE,
                                  .ok = true};
    return network_emit(network, &event, error);
}

static bool is_step_over(const struct plan *plan, const struct member *member, int32_t which) {
    if (member->step == NONE) return true;
    return member->sends_left == 0 &&
           plan_has_received(plan, which, member->step, member->received, member->received_steps);
}

/* Lets a member do all it can at this instant. Its flows end by events of their own, so nothing comes back here. */
static enum status proceed(struct network *network, int32_t index, int32_t which, struct error *error) {
    const struct plan *plan = &network->collectives.items[index].plan;
    struct member *member = &network->collectives.items[index].members[which];
    while (!member->done && is_step_over(plan, member, which)) {
        if (++member->step >= plan->steps) return finish_member(network, index, which, error);
        int32_t sends = plan_sends(plan, which, member->step);
        member->sends_left = sends;
        for (int32_t i = 0; i < sends; i++) TRY(send(network, index, which, i, error));
    }
    return STATUS_OK;
}

/* ---- beginning and ending ---- */

static void free_collective(struct network *network, int32_t index) {
    struct collective *collective = &network->collectives.items[index];
    alloc_free(collective->members);
    collective->members = NULL;
    collective->used = false;
    collective->serial++;
    collective->next_free = network->free_collective;
    network->free_collective = index;
    network->live_collectives--;
}

static enum status end(struct network *network, int32_t index, bool ok, struct error *error) {
    const struct collective *collective = &network->collectives.items[index];
    struct network_event event = {.kind = NETWORK_DONE,
                                  .id = network_id(index, collective->serial, true),
                                  .time_ns = network->now_ns,
                                  .start_ns = collective->start_ns,
                                  .source = NONE,
                                  .destination = NONE,
                                  .bytes = collective->bytes_sent,
                                  .bytes_lost = collective->bytes_lost,
                                  .ok = ok,
                                  .tries = 1};
    free_collective(network, index);
    return network_emit(network, &event, error);
}

static enum status end_if_all_done(struct network *network, int32_t index, struct error *error) {
    const struct collective *collective = &network->collectives.items[index];
    return collective->members_done == collective->plan.members ? end(network, index, true, error) : STATUS_OK;
}

enum status collective_begin(struct network *network, int32_t index, struct error *error) {
    struct collective *collective = &network->collectives.items[index];
    const struct plan plain = collective->plan;
    collective->plan = plan_make(plain.kind, is_fluid(network, collective), plain.members, plain.bytes);
    for (int32_t i = 0; i < plain.members; i++) TRY(proceed(network, index, i, error));
    return end_if_all_done(network, index, error);
}

enum status collective_delivered(struct network *network, int32_t flow_index, struct error *error) {
    const struct flow flow = network->flows.items[flow_index];
    struct collective *collective = &network->collectives.items[flow.collective];
    struct network_event event = flow_transfer(network, flow_index, true);
    flow_free(network, flow_index);
    collective->bytes_sent += flow.bytes;
    collective->members[flow.sender].sends_left--;
    collective->members[flow.receiver].received++;
    if (flow.step < 64) collective->members[flow.receiver].received_steps |= UINT64_C(1) << flow.step;
    TRY(network_emit(network, &event, error));
    TRY(proceed(network, flow.collective, flow.sender, error));
    TRY(proceed(network, flow.collective, flow.receiver, error));
    return end_if_all_done(network, flow.collective, error);
}

enum status collective_abort(struct network *network, int32_t index, struct error *error) {
    struct collective *collective = &network->collectives.items[index];
    while (collective->first_flow != NONE) {
        int32_t flow = collective->first_flow;
        flow_stop(network, flow);
        struct network_event event = flow_transfer(network, flow, false);
        flow_free(network, flow);
        collective->bytes_sent += event.bytes_lost;
        collective->bytes_lost += event.bytes_lost;
        TRY(network_emit(network, &event, error));
    }
    return end(network, index, false, error);
}

void collective_cancel(struct network *network, int32_t index) {
    const struct collective *collective = &network->collectives.items[index];
    while (collective->first_flow != NONE) {
        int32_t flow = collective->first_flow;
        flow_stop(network, flow);
        flow_free(network, flow);
    }
    free_collective(network, index);
}

/* ---- the door ---- */

static enum status take_collective(struct network *network, int32_t *index, struct error *error) {
    *index = network->free_collective;
    if (*index != NONE) {
        network->free_collective = network->collectives.items[*index].next_free;
        return STATUS_OK;
    }
    TRY(array_reserve(&network->collectives, network->collectives.count + 1, error));
    *index = (int32_t)network->collectives.count++;
    return STATUS_OK;
}

static struct member *make_members(const struct collective_def *def, struct error *error) {
    struct member *members = alloc_zero((size_t)def->member_count, sizeof *members, "members of a collective", error);
    for (int32_t i = 0; members && i < def->member_count; i++)
        members[i] = (struct member){.host = def->members[i], .step = NONE};
    return members;
}

enum status network_start_collective(struct network *network, int64_t now_ns, const struct collective_def *def,
                                     int64_t *id, struct error *error) {
    assert(now_ns >= network->now_ns && now_ns >= 0);
    TRY(check_collective(network, def, error));
    struct member *members = make_members(def, error);
    if (!members) return STATUS_MEMORY;
    int32_t index;
    enum status status = take_collective(network, &index, error);
    if (status != STATUS_OK) {
        alloc_free(members);
        return status;
    }
    struct collective *collective = &network->collectives.items[index];
    *collective = (struct collective){.used = true,
                                      .fidelity = def->fidelity,
                                      .plan = plan_make(def->kind, false, def->member_count, def->bytes),
                                      .members = members,
                                      .first_flow = NONE,
                                      .start_ns = now_ns,
                                      .serial = collective->serial};
    network->live_collectives++;
    status = network_schedule(network, now_ns, PHASE_START, EVENT_COLLECTIVE, index, collective->serial, error);
    if (status != STATUS_OK) {
        free_collective(network, index);
        return status;
    }
    *id = network_id(index, collective->serial, true);
    return STATUS_OK;
}
