/* Flows in time: start, latency, moving at the rate that maxmin gives, completion, cuts and retries; and the network's
 * own events.
 *
 * Phases within an instant: completions, link changes, (re)starts. A change of rate settles what has moved so far and
 * predicts a new completion; stale predictions are recognised by their generation.
 */
#include "network.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum phase { PHASE_COMPLETION, PHASE_CHANGE, PHASE_START };
enum { EVENTS_PER_INSTANT = 1000000 };

int64_t exchange_id(const struct network *network, int32_t slot) {
    return (int64_t)network->exchanges.items[slot].generation << 31 | slot;
}

enum status network_emit(struct network *network, const struct network_event *event, struct error *error) {
    if (network->next_event == network->events.count) network->next_event = network->events.count = 0;
    TRY(array_reserve(&network->events, network->events.count + 1, error));
    network->events.items[network->events.count++] = *event;
    return STATUS_OK;
}

/* ---- slots ---- */

static int32_t take_flow(struct network *network, struct error *error) {
    int32_t slot = network->free_flow;
    if (array_reserve(&network->active, network->active.count + 1, error) != STATUS_OK) return -1;
    if (slot >= 0) {
        network->free_flow = network->flows.items[slot].next_free;
    } else {
        if (array_reserve(&network->flows, network->flows.count + 1, error) != STATUS_OK) return -1;
        slot = (int32_t)network->flows.count++;
        network->flows.items[slot].generation = 0;
    }
    uint32_t generation = network->flows.items[slot].generation + 1;
    network->flows.items[slot] =
        (struct flow){.generation = generation, .variable = -1, .position = (int32_t)network->active.count};
    network->active.items[network->active.count++] = slot;
    return slot;
}

static void release_flow(struct network *network, int32_t slot) {
    struct flow *flow = &network->flows.items[slot];
    if (flow->variable >= 0) maxmin_remove_variable(network->maxmin, flow->variable);
    flow->variable = -1;
    flow->state = FLOW_FREE;
    flow->generation++;
    int32_t last = network->active.items[--network->active.count];
    network->active.items[flow->position] = last;
    network->flows.items[last].position = flow->position;
    flow->next_free = network->free_flow;
    network->free_flow = slot;
}

static int32_t take_exchange(struct network *network, struct error *error) {
    int32_t slot = network->free_exchange;
    if (slot >= 0) {
        network->free_exchange = network->exchanges.items[slot].next_free;
    } else {
        if (array_reserve(&network->exchanges, network->exchanges.count + 1, error) != STATUS_OK) return -1;
        slot = (int32_t)network->exchanges.count++;
        network->exchanges.items[slot].generation = 0;
    }
    uint32_t generation = network->exchanges.items[slot].generation + 1;
    network->exchanges.items[slot] =
        (struct exchange){.used = true, .generation = generation, .start_ns = network->now_ns};
    return slot;
}

int32_t exchange_open(struct network *network, struct collective *collective, struct error *error) {
    int32_t slot = take_exchange(network, error);
    if (slot >= 0) network->exchanges.items[slot].collective = collective;
    return slot;
}

static void release_exchange(struct network *network, int32_t slot) {
    struct exchange *exchange = &network->exchanges.items[slot];
    collective_free(exchange->collective);
    exchange->collective = NULL;
    exchange->used = false;
    exchange->next_free = network->free_exchange;
    network->free_exchange = slot;
}

/* ---- one flow's life ---- */

static enum status schedule(struct network *network, int32_t slot, int64_t after_ns, enum phase phase,
                            struct error *error) {
    struct flow *flow = &network->flows.items[slot];
    int64_t at_ns;
    if (__builtin_add_overflow(network->now_ns, after_ns, &at_ns)) at_ns = TIME_NEVER;
    return heap_push(&network->queue, at_ns, phase, ++flow->generation, slot, error);
}

/* Bytes moved up to now at the rate since the last settling. */
static void settle(struct network *network, struct flow *flow) {
    if (isinf(flow->rate))
        flow->remaining = network->now_ns > flow->updated_ns ? 0 : flow->remaining;
    else
        flow->remaining -= flow->rate * ((double)(network->now_ns - flow->updated_ns) / 1e9);
    if (flow->remaining < 0) flow->remaining = 0;
    flow->updated_ns = network->now_ns;
}

/* Nanoseconds until `remaining` bytes have moved, rounded up; at least 1. What is within rounding of a whole number
 * (1e-4 ns, and 4 ulp of the quotient) counts as whole. TIME_NEVER for rate 0. */
static int64_t time_to_move(double remaining, double rate) {
    if (rate <= 0) return TIME_NEVER;
    if (isinf(rate)) return 1;
    double ns = remaining * 1e9 / rate, nearest = round(ns);
    if (!(fabs(ns - nearest) <= 1e-4 + 4 * 2.3e-16 * ns)) nearest = ceil(ns);
    if (nearest >= 9.2e18) return TIME_NEVER;
    return nearest < 1 ? 1 : (int64_t)nearest;
}

static enum status start_moving(struct network *network, int32_t slot, struct error *error) {
    struct flow *flow = &network->flows.items[slot];
    struct way way;
    if (flow->def.bytes == 0) {
        flow->state = FLOW_MOVING;
        return schedule(network, slot, 0, PHASE_COMPLETION, error);
    }
    TRY(topology_way(network, flow->def.source, flow->def.destination, &way, error));
    double bound = flow->def.rate_cap_Bps > 0 && flow->def.rate_cap_Bps < way.bound_Bps ? flow->def.rate_cap_Bps : way.bound_Bps;
    flow->variable = maxmin_add_variable(network->maxmin, bound, network->scratch.items, (int32_t)network->scratch.count,
                                         slot, error);
    if (flow->variable < 0) return STATUS_MEMORY;
    flow->state = FLOW_MOVING;
    flow->rate = 0;
    flow->updated_ns = network->now_ns;
    return STATUS_OK;
}

static enum status fail_try(struct network *network, int32_t slot, struct error *error);

/* A try begins: its bytes are all to be moved, its latency comes first. */
static enum status start_try(struct network *network, int32_t slot, struct error *error) {
    struct flow *flow = &network->flows.items[slot];
    struct way way;
    flow->tries++;
    flow->remaining = (double)flow->def.bytes;
    TRY(topology_way(network, flow->def.source, flow->def.destination, &way, error));
    if (way.cut) return fail_try(network, slot, error);
    flow->state = FLOW_LATENCY;
    if (way.latency_ns > 0) return schedule(network, slot, way.latency_ns, PHASE_START, error);
    return start_moving(network, slot, error);
}

enum status flow_begin(struct network *network, int32_t exchange, int32_t message, const struct flow_def *def,
                       struct error *error) {
    int32_t slot = take_flow(network, error);
    if (slot < 0) return STATUS_MEMORY;
    struct flow *flow = &network->flows.items[slot];
    flow->def = *def;
    flow->exchange = exchange;
    flow->message = message;
    flow->start_ns = network->now_ns;
    flow->state = FLOW_WAITING;
    network->exchanges.items[exchange].flows++;
    network->started++;
    if (def->delay_ns > 0) return schedule(network, slot, def->delay_ns, PHASE_START, error);
    return start_try(network, slot, error);
}

/* A collective whose members are all done, or one of whose messages was cut for good, ends. */
enum status exchange_close_if_done(struct network *network, int32_t slot, struct error *error) {
    const struct exchange *exchange = &network->exchanges.items[slot];
    if (!collective_ended(exchange->collective)) return STATUS_OK;
    struct network_event event = {.kind = NETWORK_DONE,
                                  .id = exchange_id(network, slot),
                                  .time_ns = network->now_ns,
                                  .start_ns = exchange->start_ns,
                                  .source = -1,
                                  .destination = -1,
                                  .bytes = collective_sent(exchange->collective),
                                  .ok = !collective_failed(exchange->collective),
                                  .tries = 1};
    for (int64_t i = network->active.count - 1; i >= 0; i--)
        if (network->flows.items[network->active.items[i]].exchange == slot)
            release_flow(network, network->active.items[i]);
    release_exchange(network, slot);
    return network_emit(network, &event, error);
}

/* The flow has ended for good: its exchange hears of it. */
static enum status end_flow(struct network *network, int32_t slot, bool ok, struct error *error) {
    struct flow flow = network->flows.items[slot];
    release_flow(network, slot);
    struct exchange *exchange = &network->exchanges.items[flow.exchange];
    exchange->flows--;
    struct network_event event = {.kind = NETWORK_TRANSFER,
                                  .id = exchange_id(network, flow.exchange),
                                  .time_ns = network->now_ns,
                                  .start_ns = flow.start_ns,
                                  .source = flow.def.source,
                                  .destination = flow.def.destination,
                                  .bytes = ok ? flow.def.bytes : 0,
                                  .bytes_lost = flow.lost,
                                  .ok = ok,
                                  .tries = flow.tries};
    TRY(network_emit(network, &event, error));
    if (exchange->collective) {
        TRY(collective_take(network, flow.exchange, &flow, ok, error));
        return exchange_close_if_done(network, flow.exchange, error);
    }
    event.kind = NETWORK_DONE;
    release_exchange(network, flow.exchange);
    return network_emit(network, &event, error);
}

static enum status fail_try(struct network *network, int32_t slot, struct error *error) {
    struct flow *flow = &network->flows.items[slot];
    if (flow->variable >= 0) {
        settle(network, flow);
        maxmin_remove_variable(network->maxmin, flow->variable);
        flow->variable = -1;
    }
    flow->lost += flow->def.bytes - (int64_t)ceil(flow->remaining);
    if (flow->tries > flow->def.retries) return end_flow(network, slot, false, error);
    flow->state = FLOW_WAITING;
    return schedule(network, slot, flow->def.backoff_ns, PHASE_START, error);
}

/* ---- link changes ---- */

/* Flows that use the link now: slots into network->scratch, in slot order so that nothing depends on history. */
static enum status users_of(struct network *network, int32_t link, struct error *error) {
    int64_t count = 0;
    TRY(array_reserve(&network->scratch, network->active.count, error));
    for (int32_t slot = 0; slot < network->flows.count; slot++) {
        const struct flow *flow = &network->flows.items[slot];
        bool on_the_way = flow->state == FLOW_LATENCY || flow->state == FLOW_MOVING;
        if (on_the_way && topology_uses(network, flow->def.source, flow->def.destination, link))
            network->scratch.items[count++] = slot;
    }
    network->scratch.count = count;
    return STATUS_OK;
}

static enum status cut_users(struct network *network, int32_t link, struct error *error) {
    TRY(users_of(network, link, error));
    int64_t count = network->scratch.count;
    int32_t *slots = alloc_zero((size_t)count, sizeof *slots, "flows cut", error);
    if (!slots) return STATUS_MEMORY;
    for (int64_t i = 0; i < count; i++) slots[i] = network->scratch.items[i];
    enum status status = STATUS_OK;
    for (int64_t i = 0; i < count && status == STATUS_OK; i++) {
        /* ends of earlier ones may have started others in this slot; those know that the link is down */
        const struct flow *flow = &network->flows.items[slots[i]];
        if (flow->state == FLOW_LATENCY || flow->state == FLOW_MOVING) status = fail_try(network, slots[i], error);
    }
    alloc_free(slots);
    return status;
}

/* Links that are not shared bound each of their flows. */
static enum status rebound_users(struct network *network, int32_t link, struct error *error) {
    for (int32_t slot = 0; slot < network->flows.count; slot++) {
        const struct flow *flow = &network->flows.items[slot];
        struct way way;
        if (flow->variable < 0 || !topology_uses(network, flow->def.source, flow->def.destination, link)) continue;
        TRY(topology_way(network, flow->def.source, flow->def.destination, &way, error));
        double cap = flow->def.rate_cap_Bps;
        maxmin_set_bound(network->maxmin, flow->variable, cap > 0 && cap < way.bound_Bps ? cap : way.bound_Bps);
    }
    return STATUS_OK;
}

static enum status change_link(struct network *network, int32_t index, struct error *error) {
    struct link *link = &network->links[index];
    const struct link_change *change = &link->def.changes[link->next_change++];
    bool was_up = link->up;
    link->up = change->up;
    if (change->bandwidth_Bps >= 0) link->bandwidth_Bps = change->bandwidth_Bps;
    if (link->next_change < link->def.change_count)
        TRY(heap_push(&network->queue, link->def.changes[link->next_change].at_ns, PHASE_CHANGE, 0, -1 - (int64_t)index, error));
    if (link->constraint >= 0)
        maxmin_set_capacity(network->maxmin, link->constraint, link->up ? link->bandwidth_Bps : 0);
    else
        TRY(rebound_users(network, index, error));
    return was_up && !link->up && link->def.cut_when_down ? cut_users(network, index, error) : STATUS_OK;
}

/* ---- the clock ---- */

/* New rates for what changed, and new predictions. */
static enum status solve(struct network *network, struct error *error) {
    if (!maxmin_dirty(network->maxmin)) return STATUS_OK;
    TRY(maxmin_solve(network->maxmin, error));
    network->computations++;
    const int32_t *changed;
    int64_t count = maxmin_changed(network->maxmin, &changed);
    for (int64_t i = 0; i < count; i++) {
        int32_t slot = (int32_t)maxmin_tag(network->maxmin, changed[i]);
        struct flow *flow = &network->flows.items[slot];
        double rate = maxmin_rate(network->maxmin, changed[i]);
        if (rate == flow->rate) continue;
        settle(network, flow);
        flow->rate = rate;
        int64_t wait_ns = time_to_move(flow->remaining, rate);
        if (wait_ns == TIME_NEVER)
            flow->generation++; /* the old prediction is void */
        else
            TRY(schedule(network, slot, wait_ns, PHASE_COMPLETION, error));
    }
    return STATUS_OK;
}

static bool stale(const struct network *network, const struct heap_entry *entry) {
    return entry->payload >= 0 && (entry->time_ns == TIME_NEVER ||
                                   network->flows.items[entry->payload].generation != entry->generation);
}

static enum status fire(struct network *network, const struct heap_entry *entry, struct error *error) {
    if (entry->payload < 0) return change_link(network, (int32_t)(-1 - entry->payload), error);
    int32_t slot = (int32_t)entry->payload;
    switch (network->flows.items[slot].state) {
    case FLOW_WAITING: return start_try(network, slot, error);
    case FLOW_LATENCY: return start_moving(network, slot, error);
    case FLOW_MOVING: return end_flow(network, slot, true, error);
    case FLOW_FREE: break;
    }
    assert(!"an event of a flow that is free");
    return STATUS_OK;
}

/* Time of the next event that is not stale; without solving. */
static int64_t peek_time(struct network *network) {
    struct heap_entry entry;
    while (heap_peek(&network->queue, &entry)) {
        if (!stale(network, &entry)) return entry.time_ns;
        heap_pop(&network->queue, &entry);
    }
    return TIME_NEVER;
}

int64_t network_next_ns(struct network *network) {
    struct error ignored; /* out of memory shows again, and is told, in the next network_advance */
    if (solve(network, &ignored) != STATUS_OK) return network->now_ns;
    if (network->active.count == 0) return TIME_NEVER; /* link changes alone are nothing to wait for */
    return peek_time(network);
}

static enum status play_instant(struct network *network, struct error *error) {
    struct heap_entry entry;
    for (int32_t count = 0; peek_time(network) == network->now_ns; count++) {
        if (count == EVENTS_PER_INSTANT)
            return error_set(error, STATUS_NUMERIC, "over %d network events at %lld ns; virtual time does not move",
                             EVENTS_PER_INSTANT, (long long)network->now_ns);
        heap_pop(&network->queue, &entry);
        TRY(fire(network, &entry, error));
    }
    return STATUS_OK;
}

enum status network_advance(struct network *network, int64_t to_ns, struct error *error) {
    assert(to_ns >= network->now_ns);
    for (;;) {
        TRY(solve(network, error));
        int64_t next_ns = peek_time(network);
        if (next_ns > to_ns) break;
        network->now_ns = next_ns;
        TRY(play_instant(network, error));
    }
    if (to_ns != TIME_NEVER) network->now_ns = to_ns;
    return STATUS_OK;
}

bool network_next_event(struct network *network, struct network_event *event) {
    if (network->next_event == network->events.count) return false;
    *event = network->events.items[network->next_event++];
    return true;
}

/* ---- starting and stopping ---- */

static enum status check_ends(const struct network *network, int32_t source, int32_t destination, struct error *error) {
    if (source < 0 || source >= network->host_count || destination < 0 || destination >= network->host_count)
        return error_set(error, STATUS_INPUT, "a flow names a host that does not exist");
    if (source == destination)
        return error_set(error, STATUS_INPUT, "a flow from host '%s' to itself; two hosts are needed",
                         network->hosts[source].def.name);
    if (!topology_has_route(network, source, destination))
        return error_set(error, STATUS_INPUT, "no route from '%s' to '%s'; hosts without links of their own need one",
                         network->hosts[source].def.name, network->hosts[destination].def.name);
    return STATUS_OK;
}

enum status network_start_flow(struct network *network, int64_t now_ns, const struct flow_def *def, int64_t *id,
                               struct error *error) {
    TRY(check_ends(network, def->source, def->destination, error));
    if (def->bytes < 0 || def->delay_ns < 0 || def->backoff_ns < 0 || def->retries < 0 || !(def->rate_cap_Bps >= 0))
        return error_set(error, STATUS_INPUT, "a flow with a negative size, rate, delay, backoff or number of retries");
    if (now_ns > network->now_ns) TRY(network_advance(network, now_ns, error));
    int32_t slot = take_exchange(network, error);
    if (slot < 0) return STATUS_MEMORY;
    *id = exchange_id(network, slot);
    return flow_begin(network, slot, 0, def, error);
}

void network_cancel(struct network *network, int64_t id) {
    int32_t slot = (int32_t)(id & INT32_MAX);
    assert(slot < network->exchanges.count);
    struct exchange *exchange = &network->exchanges.items[slot];
    if (!exchange->used || exchange_id(network, slot) != id) return;
    for (int64_t i = network->active.count - 1; i >= 0; i--)
        if (network->flows.items[network->active.items[i]].exchange == slot)
            release_flow(network, network->active.items[i]);
    release_exchange(network, slot);
    int64_t kept = network->next_event;
    for (int64_t i = kept; i < network->events.count; i++)
        if (network->events.items[i].id != id) network->events.items[kept++] = network->events.items[i];
    network->events.count = kept;
}

char *network_describe_stall(struct network *network, char *buffer, size_t size) {
    snprintf(buffer, size, "no flow is waiting");
    for (int64_t i = 0; i < network->active.count; i++) {
        const struct flow *flow = &network->flows.items[network->active.items[i]];
        if (flow->state != FLOW_MOVING || flow->rate > 0) continue;
        const char *link = "a host's own link";
        for (int32_t l = 0; l < network->link_count; l++) {
            bool dead = !network->links[l].up || network->links[l].bandwidth_Bps == 0;
            if (dead && topology_uses(network, flow->def.source, flow->def.destination, l))
                link = network->links[l].def.name;
        }
        snprintf(buffer, size, "%lld bytes from '%s' to '%s' have no bandwidth on '%s'", (long long)flow->def.bytes,
                 network->hosts[flow->def.source].def.name, network->hosts[flow->def.destination].def.name, link);
        break;
    }
    return buffer;
}

int64_t network_flows_started(const struct network *network) { return network->started; }
int64_t network_rate_computations(const struct network *network) { return network->computations; }
