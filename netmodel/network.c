/* The clock: plays events in order, has rates computed once per instant, hands out records. */
#include "network.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- making ---- */

static int32_t longest_route(const struct network_def *def) {
    int32_t longest = 0;
    for (int32_t i = 0; i < def->route_count; i++)
        if (def->routes[i].link_count > longest) longest = def->routes[i].link_count;
    return longest;
}

static enum status schedule_next_change(struct network *network, struct error *error) {
    if (network->next_change >= network->topology.change_count) return STATUS_OK;
    int64_t at_ns = network->topology.changes[network->next_change].change.at_ns;
    return network_schedule(network, at_ns, PHASE_LINK, EVENT_LINK, 0, 0, error);
}

static enum status network_init(struct network *network, const struct network_def *def, struct error *error) {
    network->now_ns = -1;
    network->free_flow = network->free_passage = network->free_collective = NONE;
    TRY(topology_init(&network->topology, def, error));
    network->rates = maxmin_create(2 * def->host_count + def->link_count, error);
    if (!network->rates) return STATUS_MEMORY;
    network->busy = alloc_zero((size_t)def->host_count, sizeof *network->busy, "hosts", error);
    if (!network->busy) return STATUS_MEMORY;
    network->marks = alloc_zero((size_t)def->host_count, sizeof *network->marks, "hosts", error);
    if (!network->marks) return STATUS_MEMORY;
    network->path = alloc_zero((size_t)longest_route(def) + 2, sizeof *network->path, "routes", error);
    if (!network->path) return STATUS_MEMORY;
    TRY(link_init_all(network, error));
    return schedule_next_change(network, error);
}

struct network *network_create(const struct network_def *def, struct error *error) {
    if (network_check(def, error) != STATUS_OK) return NULL;
    struct network *network = alloc_zero(1, sizeof *network, "network", error);
    if (!network) return NULL;
    if (network_init(network, def, error) == STATUS_OK) return network;
    network_free(network);
    return NULL;
}

void network_free(struct network *network) {
    if (!network) return;
    for (int64_t i = 0; i < network->collectives.count; i++) alloc_free(network->collectives.items[i].members);
    topology_clear(&network->topology);
    maxmin_free(network->rates);
    alloc_free(network->links);
    alloc_free(network->busy);
    alloc_free(network->marks);
    alloc_free(network->path);
    heap_clear(&network->heap);
    array_clear(&network->flows);
    array_clear(&network->passages);
    array_clear(&network->collectives);
    array_clear(&network->events);
    alloc_free(network);
}

/* ---- ids ---- */

/* Slot, user of the slot, and which kind. An id is positive and does not come again for 2^31 users of its slot. */
int64_t network_id(int32_t index, uint32_t serial, bool is_collective) {
    return (int64_t)((uint64_t)(serial & INT32_MAX) << 32 | (uint64_t)(uint32_t)index << 1 | is_collective) + 2;
}

/* The slot of an id whose flow or collective is alive, or NONE. */
static int32_t find_slot(const struct network *network, int64_t id, bool *is_collective) {
    int64_t plain = id - 2, index = (plain & UINT32_MAX) >> 1;
    *is_collective = plain & 1;
    if (plain < 0) return NONE;
    if (*is_collective) {
        if (index >= network->collectives.count || !network->collectives.items[index].used) return NONE;
        return network_id((int32_t)index, network->collectives.items[index].serial, true) == id ? (int32_t)index : NONE;
    }
    if (index >= network->flows.count || network->flows.items[index].state == FLOW_FREE) return NONE;
    const struct flow *flow = &network->flows.items[index];
    return flow->collective == NONE && network_id((int32_t)index, flow->serial, false) == id ? (int32_t)index : NONE;
}

/* ---- events ---- */

enum status network_schedule(struct network *network, int64_t time_ns, enum phase phase, enum event_kind kind,
                             int32_t index, uint32_t number, struct error *error) {
    if (time_ns == TIME_NEVER) return STATUS_OK;
    return heap_push(&network->heap, time_ns, phase, number, (int64_t)index * EVENT_KINDS + kind, error);
}

static bool is_stale(const struct network *network, const struct heap_entry *entry) {
    int64_t index = entry->payload / EVENT_KINDS;
    switch ((enum event_kind)(entry->payload % EVENT_KINDS)) {
    case EVENT_END:
    case EVENT_MOVE:
    case EVENT_START:
    case EVENT_CUT:
        return network->flows.items[index].event != entry->generation;
    case EVENT_COLLECTIVE:
        return network->collectives.items[index].serial != entry->generation;
    case EVENT_LINK:
    case EVENT_KINDS:
        break;
    }
    return false;
}

static int compare_entries(const void *left, const void *right) {
    const struct heap_entry *a = left, *b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* Each change of a rate leaves an entry behind. When most entries are such, they go; a sorted array is a heap. */
static void drop_stale(struct network *network) {
    int64_t kept = 0, count = network->heap.entries.count;
    if (count < 64 + 4 * (network->live_flows + network->live_collectives)) return;
    struct heap_entry *items = network->heap.entries.items;
    for (int64_t i = 0; i < count; i++)
        if (!is_stale(network, &items[i])) items[kept++] = items[i];
    network->heap.entries.count = kept;
    if (kept > 1) qsort(items, (size_t)kept, sizeof *items, compare_entries);
}

/* Brings rates up to date, for all that has changed in this instant. */
static enum status settle(struct network *network, struct error *error) {
    if (!maxmin_is_dirty(network->rates)) return STATUS_OK;
    maxmin_solve(network->rates);
    TRY(flow_take_rates(network, error));
    drop_stale(network);
    return STATUS_OK;
}

static int64_t next_time(struct network *network) {
    struct heap_entry entry;
    while (heap_peek(&network->heap, &entry)) {
        if (!is_stale(network, &entry)) return entry.time_ns;
        heap_pop(&network->heap, &entry);
    }
    return TIME_NEVER;
}

bool network_change_is_due(const struct network *network) {
    return network->next_change < network->topology.change_count &&
           network->topology.changes[network->next_change].change.at_ns == network->now_ns;
}

static enum status play_change(struct network *network, struct error *error) {
    const struct topology_change *change = &network->topology.changes[network->next_change++];
    TRY(schedule_next_change(network, error));
    return link_apply_change(network, change, error);
}

static enum status play_event(struct network *network, const struct heap_entry *entry, struct error *error) {
    int32_t index = (int32_t)(entry->payload / EVENT_KINDS);
    switch ((enum event_kind)(entry->payload % EVENT_KINDS)) {
    case EVENT_END:
        return flow_end(network, index, error);
    case EVENT_MOVE:
        return flow_move(network, index, error);
    case EVENT_START:
        return flow_begin(network, index, error);
    case EVENT_CUT:
        return flow_cut(network, index, error);
    case EVENT_COLLECTIVE:
        return collective_begin(network, index, error);
    case EVENT_LINK:
        return play_change(network, error);
    case EVENT_KINDS:
        break;
    }
    assert(false);
    return STATUS_OK;
}

/* ---- the clock ---- */

enum { MAX_INSTANT_EVENTS = 1000000 };

static enum status count_event(struct network *network, struct error *error) {
    if (++network->instant_events <= network->instant_limit) return STATUS_OK;
    return error_set(error, STATUS_NUMERIC,
                     "more than %d network events at %.9f s; a retry without backoff on a link that is down?",
                     MAX_INSTANT_EVENTS, (double)network->now_ns / 1e9);
}

/* Flows that were there before may all end at once; that is no endless loop. */
static void set_clock(struct network *network, int64_t now_ns) {
    if (now_ns == network->now_ns) return;
    network->now_ns = now_ns;
    network->instant_events = 0;
    network->instant_limit = MAX_INSTANT_EVENTS + network->live_flows;
}

static enum status play_instant(struct network *network, int64_t now_ns, struct error *error) {
    set_clock(network, now_ns);
    struct heap_entry entry;
    while (heap_peek(&network->heap, &entry) && entry.time_ns <= now_ns) {
        heap_pop(&network->heap, &entry);
        if (is_stale(network, &entry)) continue;
        TRY(count_event(network, error));
        TRY(play_event(network, &entry, error));
    }
    return STATUS_OK;
}

int64_t network_next_ns(struct network *network) {
    if (network->failure.status == STATUS_OK) (void)!settle(network, &network->failure);
    return network->failure.status == STATUS_OK ? next_time(network) : network->now_ns; /* advance will tell */
}

static enum status return_failure(const struct network *network, struct error *error) {
    return error_set(error, network->failure.status, "%s", network->failure.message);
}

enum status network_advance(struct network *network, int64_t to_ns, struct error *error) {
    assert(to_ns >= network->now_ns);
    for (int64_t next_ns; (next_ns = network_next_ns(network)) <= to_ns && next_ns != TIME_NEVER;) {
        if (network->failure.status != STATUS_OK) return return_failure(network, error);
        enum status status = play_instant(network, next_ns, &network->failure);
        if (status != STATUS_OK) return return_failure(network, error);
    }
    set_clock(network, to_ns);
    return STATUS_OK;
}

/* ---- records ---- */

enum status network_emit(struct network *network, const struct network_event *event, struct error *error) {
    TRY(array_reserve(&network->events, network->events.count + 1, error));
    network->events.items[network->events.count++] = *event;
    return STATUS_OK;
}

bool network_next_event(struct network *network, struct network_event *event) {
    if (network->next_event < network->events.count) {
        *event = network->events.items[network->next_event++];
        return true;
    }
    network->events.count = network->next_event = 0;
    return false;
}

int64_t network_flows_started(const struct network *network) {
    return network->flows_started;
}
int64_t network_rate_computations(const struct network *network) {
    return maxmin_computations(network->rates);
}
int64_t network_bytes_delivered(const struct network *network) {
    return network->bytes_delivered;
}
int64_t network_bytes_lost(const struct network *network) {
    return network->bytes_lost;
}

/* ---- what the caller starts and stops ---- */

enum status network_start_flow(struct network *network, int64_t now_ns, const struct flow_def *def, int64_t *id,
                               struct error *error) {
    assert(now_ns >= network->now_ns && now_ns >= 0);
    TRY(flow_check(network, def, error));
    int32_t index;
    TRY(flow_create(network, def, now_ns, (struct flow_origin){.collective = NONE}, &index, error));
    enum status status = now_ns == network->now_ns ? flow_begin(network, index, error)
                                                   : flow_schedule_start(network, index, now_ns, error);
    if (status != STATUS_OK) {
        flow_stop(network, index);
        flow_free(network, index);
        return status;
    }
    *id = network_id(index, network->flows.items[index].serial, false);
    return STATUS_OK;
}

void network_cancel(struct network *network, int64_t id) {
    bool is_collective;
    int32_t index = find_slot(network, id, &is_collective);
    if (index == NONE) return;
    if (is_collective) {
        collective_cancel(network, index);
    } else {
        flow_stop(network, index);
        flow_free(network, index);
    }
}

/* ---- what is stuck ---- */

/* "link 'x' (down)" for whatever keeps a flow at rate 0. */
static void describe_cause(const struct network *network, const struct flow *flow, char *buffer, size_t size) {
    const struct topology *topology = &network->topology;
    int32_t constraint = maxmin_bottleneck(network->rates, flow->variable),
            link = constraint - 2 * topology->host_count;
    if (constraint >= 0 && link < 0) {
        const char *side = constraint % 2 ? "down" : "up";
        snprintf(buffer, size, "%s-link of '%s' has no bandwidth", side, topology->hosts[constraint / 2].name);
        return;
    }
    for (int32_t i = 0; i < flow->link_count && constraint < 0; i++)
        if (link_capacity(network, flow->links[i]) == 0) link = flow->links[i];
    if (link < 0)
        snprintf(buffer, size, "its rate is too low to end");
    else
        snprintf(buffer, size, "link '%s' %s", topology->links[link].name,
                 network->links[link].up ? "has no bandwidth" : "is down");
}

char *network_describe_stall(struct network *network, char *buffer, size_t size) {
    if (size == 0) return buffer;
    if (network_next_ns(network) != TIME_NEVER && network->failure.status != STATUS_OK) {
        snprintf(buffer, size, "%s", network->failure.message);
        return buffer;
    }
    int64_t stalled = 0;
    char cause[160], first[320];
    for (int64_t i = 0; i < network->flows.count; i++) {
        const struct flow *flow = &network->flows.items[i];
        if (flow->state != FLOW_MOVING || flow->rate_Bps > 0 || stalled++ > 0) continue;
        describe_cause(network, flow, cause, sizeof cause);
        snprintf(first, sizeof first, "flow '%s' to '%s' has no rate: %s", network->topology.hosts[flow->source].name,
                 network->topology.hosts[flow->destination].name, cause);
    }
    if (stalled == 0)
        snprintf(buffer, size, "no flow is stuck");
    else if (stalled == 1)
        snprintf(buffer, size, "%s", first);
    else
        snprintf(buffer, size, "%s; %" PRId64 " more", first, stalled - 1);
    return buffer;
}
