/* Flows: a try waits for its delay and latency, moves at its fair rate, and ends, or is cut and tries again.
 *
 * What remains is kept as a sum of two doubles, so that many changes of rate do not add up rounding errors; what is
 * left of these, a few units in the last place of `bytes`, is allowed for where the end is rounded up to a nanosecond.
 * Hence a transfer whose exact end is a whole nanosecond ends there.
 */
#include "network.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* ---- making ---- */

enum status flow_check(const struct network *network, const struct flow_def *def, struct error *error) {
    int32_t hosts = network->topology.host_count;
    if (def->source < 0 || def->source >= hosts || def->destination < 0 || def->destination >= hosts)
        return error_set(error, STATUS_INPUT, "flow from host %d to host %d; there are %d hosts", def->source,
                         def->destination, hosts);
    const char *source = network->topology.hosts[def->source].name;
    const char *destination = network->topology.hosts[def->destination].name;
    if (def->source == def->destination)
        return error_set(error, STATUS_INPUT, "flow from host '%s' to itself; two different hosts", source);
    if (def->bytes < 0)
        return error_set(error, STATUS_INPUT, "flow from '%s' to '%s' of negative bytes; 0 or more", source,
                         destination);
    if (!(def->rate_cap_Bps >= 0))
        return error_set(error, STATUS_INPUT,
                         "impossible rate of flow from '%s' to '%s'; more than 0, or 0 for no limit", source,
                         destination);
    if (def->delay_ns < 0 || def->backoff_ns < 0 || def->retries < 0)
        return error_set(error, STATUS_INPUT, "negative delay, retries or backoff of flow from '%s' to '%s'; 0 or more",
                         source, destination);
    struct path path;
    return topology_find_path(&network->topology, def->source, def->destination, &path, error);
}

static enum status take_flow(struct network *network, int32_t *index, struct error *error) {
    *index = network->free_flow;
    if (*index != NONE) {
        network->free_flow = network->flows.items[*index].sibling_after;
        return STATUS_OK;
    }
    if (network->flows.count >= INT32_MAX / 2)
        return error_set(error, STATUS_INPUT, "too many flows at once; 1e9 at most");
    TRY(array_reserve(&network->flows, network->flows.count + 1, error));
    *index = (int32_t)network->flows.count++;
    return STATUS_OK;
}

/* A collective's flows are listed, so that they can be stopped together. */
static void join_siblings(struct network *network, int32_t index) {
    struct flow *flow = &network->flows.items[index];
    flow->sibling_before = flow->sibling_after = NONE;
    if (flow->collective == NONE) return;
    struct collective *collective = &network->collectives.items[flow->collective];
    flow->sibling_after = collective->first_flow;
    if (flow->sibling_after != NONE) network->flows.items[flow->sibling_after].sibling_before = index;
    collective->first_flow = index;
}

static void leave_siblings(struct network *network, int32_t index) {
    const struct flow *flow = &network->flows.items[index];
    if (flow->collective == NONE) return;
    if (flow->sibling_before != NONE)
        network->flows.items[flow->sibling_before].sibling_after = flow->sibling_after;
    else
        network->collectives.items[flow->collective].first_flow = flow->sibling_after;
    if (flow->sibling_after != NONE) network->flows.items[flow->sibling_after].sibling_before = flow->sibling_before;
}

enum status flow_create(struct network *network, const struct flow_def *def, int64_t start_ns,
                        struct flow_origin origin, int32_t *index, struct error *error) {
    struct path path;
    TRY(topology_find_path(&network->topology, def->source, def->destination, &path, error));
    TRY(take_flow(network, index, error));
    struct flow *flow = &network->flows.items[*index];
    *flow = (struct flow){.state = FLOW_WAITING,
                          .source = def->source,
                          .destination = def->destination,
                          .links = path.links,
                          .link_count = path.link_count,
                          .bytes = def->bytes,
                          .wait_ns = time_sum(def->delay_ns, path.latency_ns),
                          .backoff_ns = def->backoff_ns,
                          .rate_cap_Bps = def->rate_cap_Bps > 0 ? def->rate_cap_Bps : INFINITY,
                          .retries_left = def->retries,
                          .start_ns = start_ns,
                          .variable = NONE,
                          .first_passage = NONE,
                          .collective = origin.collective,
                          .sender = origin.sender,
                          .receiver = origin.receiver,
                          .step = origin.step,
                          .event = flow->event + 1,
                          .serial = flow->serial};
    join_siblings(network, *index);
    network->live_flows++;
    network->flows_started++;
    network->busy[flow->source]++;
    network->busy[flow->destination]++;
    return STATUS_OK;
}

void flow_free(struct network *network, int32_t index) {
    struct flow *flow = &network->flows.items[index];
    assert(flow->state != FLOW_FREE && flow->variable == NONE && flow->first_passage == NONE);
    leave_siblings(network, index);
    network->busy[flow->source]--;
    network->busy[flow->destination]--;
    network->live_flows--;
    flow->state = FLOW_FREE;
    flow->event++;
    flow->serial++;
    flow->sibling_after = network->free_flow;
    network->free_flow = index;
}

/* ---- a try ---- */

static enum status schedule(struct network *network, int32_t index, int64_t at_ns, enum phase phase,
                            enum event_kind kind, struct error *error) {
    struct flow *flow = &network->flows.items[index];
    flow->event++;
    return network_schedule(network, at_ns, phase, kind, index, flow->event, error);
}

enum status flow_schedule_start(struct network *network, int32_t index, int64_t at_ns, struct error *error) {
    return schedule(network, index, at_ns, PHASE_START, EVENT_START, error);
}

static bool is_cut_off(const struct network *network, const struct flow *flow) {
    for (int32_t i = 0; i < flow->link_count; i++)
        if (!network->links[flow->links[i]].up && network->topology.links[flow->links[i]].cut_when_down) return true;
    return false;
}

enum status flow_begin(struct network *network, int32_t index, struct error *error) {
    struct flow *flow = &network->flows.items[index];
    flow->state = FLOW_LATENCY;
    flow->tries++;
    if (is_cut_off(network, flow)) return schedule(network, index, network->now_ns, PHASE_START, EVENT_CUT, error);
    for (int32_t i = 0; i < flow->link_count; i++)
        if (network->links[flow->links[i]].watched) TRY(link_enter(network, flow->links[i], index, error));
    int64_t ready_ns = time_sum(network->now_ns, flow->wait_ns);
    if (flow->bytes == 0) return schedule(network, index, ready_ns, PHASE_COMPLETION, EVENT_END, error);
    if (flow->wait_ns == 0) return flow_move(network, index, error);
    return schedule(network, index, ready_ns, PHASE_START, EVENT_MOVE, error);
}

/* Its own limit and that of the fat links on its way. */
static double cap_of(const struct network *network, const struct flow *flow) {
    double cap = flow->rate_cap_Bps;
    for (int32_t i = 0; i < flow->link_count; i++)
        if (!network->topology.links[flow->links[i]].shared) cap = fmin(cap, link_capacity(network, flow->links[i]));
    return cap;
}

/* The constraints of a flow into network->path; their number. */
static int32_t find_constraints(struct network *network, const struct flow *flow) {
    const struct host_def *from = &network->topology.hosts[flow->source];
    const struct host_def *to = &network->topology.hosts[flow->destination];
    int32_t count = 0;
    if (from->has_links && from->up_Bps < INFINITY) network->path[count++] = 2 * flow->source;
    for (int32_t i = 0; i < flow->link_count; i++)
        if (network->topology.links[flow->links[i]].shared && network->links[flow->links[i]].limits)
            network->path[count++] = link_constraint(network, flow->links[i]);
    if (to->has_links && to->down_Bps < INFINITY) network->path[count++] = 2 * flow->destination + 1;
    return count;
}

enum status flow_move(struct network *network, int32_t index, struct error *error) {
    struct flow *flow = &network->flows.items[index];
    flow->state = FLOW_MOVING;
    flow->remaining = (double)flow->bytes;
    flow->remaining_low = 0;
    flow->rate_Bps = 0;
    flow->moved_ns = network->now_ns;
    int32_t count = find_constraints(network, flow);
    return maxmin_add_variable(network->rates, index, cap_of(network, flow), network->path, count, &flow->variable,
                               error);
}

void flow_update_cap(struct network *network, int32_t index) {
    const struct flow *flow = &network->flows.items[index];
    if (flow->state == FLOW_MOVING) maxmin_set_cap(network->rates, flow->variable, cap_of(network, flow));
}

/* ---- rates ---- */

/* remaining -= moved, with the rounding error of the difference kept (Knuth's two-sum). */
static void subtract(struct flow *flow, double moved) {
    double difference = flow->remaining - moved;
    double taken = flow->remaining - difference;
    double error = (flow->remaining - (difference + taken)) - (moved - taken);
    flow->remaining = difference;
    flow->remaining_low += error;
}

static void update_remaining(struct network *network, struct flow *flow) {
    int64_t elapsed_ns = network->now_ns - flow->moved_ns;
    if (elapsed_ns > 0 && flow->rate_Bps > 0 && flow->rate_Bps < INFINITY)
        subtract(flow, flow->rate_Bps * (double)elapsed_ns / 1e9);
    flow->moved_ns = network->now_ns;
}

/* Until the end at the present rate, rounded up, at least 1 ns; TIME_NEVER for a stalled flow. A rate, its product with
 * a time and the division here are each off by a unit in the last place or two, together below 4 epsilon of `bytes`. */
static int64_t time_left_ns(const struct flow *flow) {
    if (flow->rate_Bps <= 0) return TIME_NEVER;
    double left = flow->remaining + flow->remaining_low - 4 * DBL_EPSILON * (double)flow->bytes;
    double ns = ceil(left * 1e9 / flow->rate_Bps);
    if (ns >= (double)TIME_NEVER) return TIME_NEVER;
    return ns > 1 ? (int64_t)ns : 1;
}

enum status flow_take_rates(struct network *network, struct error *error) {
    for (int32_t variable; maxmin_next_changed(network->rates, &variable);) {
        int32_t index = maxmin_owner(network->rates, variable);
        struct flow *flow = &network->flows.items[index];
        update_remaining(network, flow);
        flow->rate_Bps = maxmin_rate(network->rates, variable);
        TRY(schedule(network, index, time_sum(network->now_ns, time_left_ns(flow)), PHASE_COMPLETION, EVENT_END,
                     error));
    }
    return STATUS_OK;
}

/* ---- the end of a try ---- */

static int64_t moved_bytes(const struct flow *flow) {
    double left = flow->remaining + flow->remaining_low;
    double moved = fmin(fmax((double)flow->bytes - left, 0), (double)flow->bytes);
    int64_t bytes = (int64_t)moved;
    return bytes < flow->bytes ? bytes : flow->bytes;
}

static void leave_links(struct network *network, int32_t index) {
    struct flow *flow = &network->flows.items[index];
    link_leave_all(network, index);
    if (flow->variable != NONE) maxmin_remove_variable(network->rates, flow->variable);
    flow->variable = NONE;
}

void flow_stop(struct network *network, int32_t index) {
    struct flow *flow = &network->flows.items[index];
    if (flow->state == FLOW_MOVING) {
        update_remaining(network, flow);
        int64_t lost = moved_bytes(flow);
        flow->bytes_lost += lost;
        network->bytes_lost += lost;
    }
    leave_links(network, index);
    flow->state = FLOW_WAITING;
    flow->event++;
}

struct network_event flow_transfer(const struct network *network, int32_t index, bool ok) {
    const struct flow *flow = &network->flows.items[index];
    return (struct network_event){
        .kind = NETWORK_TRANSFER,
        .id = flow->collective == NONE
                  ? network_id(index, flow->serial, false)
                  : network_id(flow->collective, network->collectives.items[flow->collective].serial, true),
        .time_ns = network->now_ns,
        .start_ns = flow->start_ns,
        .source = flow->source,
        .destination = flow->destination,
        .bytes = ok ? flow->bytes : 0,
        .bytes_lost = flow->bytes_lost,
        .ok = ok,
        .tries = flow->tries};
}

/* The records of a flow on its own: the transfer, and that all is over. */
static enum status emit_end(struct network *network, int32_t index, bool ok, struct error *error) {
    struct network_event event = flow_transfer(network, index, ok);
    TRY(network_emit(network, &event, error));
    event.kind = NETWORK_DONE;
    event.bytes += event.bytes_lost;
    TRY(network_emit(network, &event, error));
    flow_free(network, index);
    return STATUS_OK;
}

enum status flow_end(struct network *network, int32_t index, struct error *error) {
    struct flow *flow = &network->flows.items[index];
    leave_links(network, index);
    network->bytes_delivered += flow->bytes;
    return flow->collective == NONE ? emit_end(network, index, true, error)
                                    : collective_delivered(network, index, error);
}

enum status flow_cut(struct network *network, int32_t index, struct error *error) {
    flow_stop(network, index);
    struct flow *flow = &network->flows.items[index];
    if (flow->retries_left > 0) {
        flow->retries_left--;
        return flow_schedule_start(network, index, time_sum(network->now_ns, flow->backoff_ns), error);
    }
    return flow->collective == NONE ? emit_end(network, index, false, error)
                                    : collective_abort(network, flow->collective, error);
}
