/* Links: their capacity over time, and the flows on those whose changes concern each flow by itself (links that cut
 * their flows, and fat links, which limit each flow instead of their sum).
 *
 * A host's own links and the links of the def are one row of constraints: up-link of host h at 2h, down-link at 2h + 1,
 * link l behind them.
 */
#include "network.h"

#include <math.h>

double link_capacity(const struct network *network, int32_t link) {
    return network->links[link].up ? network->links[link].bandwidth_Bps : 0;
}

int32_t link_constraint(const struct network *network, int32_t link) {
    return 2 * network->topology.host_count + link;
}

enum status link_init_all(struct network *network, struct error *error) {
    const struct topology *topology = &network->topology;
    network->links = alloc_zero((size_t)topology->link_count, sizeof *network->links, "links", error);
    if (!network->links) return STATUS_MEMORY;
    for (int32_t i = 0; i < topology->link_count; i++) {
        const struct link_def *def = &topology->links[i];
        network->links[i] = (struct link){.bandwidth_Bps = def->bandwidth_Bps,
                                          .up = true,
                                          .limits = def->bandwidth_Bps < INFINITY || def->change_count > 0,
                                          .watched = def->change_count > 0 && (def->cut_when_down || !def->shared),
                                          .first_passage = NONE,
                                          .last_passage = NONE};
        if (def->shared) maxmin_set_capacity(network->rates, link_constraint(network, i), def->bandwidth_Bps);
    }
    for (int32_t i = 0; i < topology->host_count; i++) {
        if (!topology->hosts[i].has_links) continue;
        maxmin_set_capacity(network->rates, 2 * i, topology->hosts[i].up_Bps);
        maxmin_set_capacity(network->rates, 2 * i + 1, topology->hosts[i].down_Bps);
    }
    return STATUS_OK;
}

/* ---- the flows on watched links ---- */

static int32_t take_passage(struct network *network) {
    int32_t index = network->free_passage;
    if (index == NONE) return (int32_t)network->passages.count++;
    network->free_passage = network->passages.items[index].next_of_flow;
    return index;
}

enum status link_enter(struct network *network, int32_t link_index, int32_t flow_index, struct error *error) {
    struct link *link = &network->links[link_index];
    struct flow *flow = &network->flows.items[flow_index];
    TRY(array_reserve(&network->passages, network->passages.count + 1, error));
    int32_t index = take_passage(network);
    struct passage *passages = network->passages.items;
    passages[index] = (struct passage){.flow = flow_index,
                                       .link = link_index,
                                       .next_of_flow = flow->first_passage,
                                       .before = link->last_passage,
                                       .after = NONE};
    if (link->last_passage != NONE)
        passages[link->last_passage].after = index;
    else
        link->first_passage = index;
    link->last_passage = index;
    flow->first_passage = index;
    return STATUS_OK;
}

static void leave(struct network *network, int32_t index) {
    struct passage *passages = network->passages.items, *passage = &passages[index];
    struct link *link = &network->links[passage->link];
    if (passage->before != NONE)
        passages[passage->before].after = passage->after;
    else
        link->first_passage = passage->after;
    if (passage->after != NONE)
        passages[passage->after].before = passage->before;
    else
        link->last_passage = passage->before;
    passage->next_of_flow = network->free_passage;
    network->free_passage = index;
}

void link_leave_all(struct network *network, int32_t flow_index) {
    struct flow *flow = &network->flows.items[flow_index];
    for (int32_t index = flow->first_passage, next; index != NONE; index = next) {
        next = network->passages.items[index].next_of_flow;
        leave(network, index);
    }
    flow->first_passage = NONE;
}

/* ---- changes ---- */

/* A cut flow leaves the link at once, whatever becomes of it, so the list empties. */
static enum status cut_all(struct network *network, int32_t link, struct error *error) {
    while (network->links[link].first_passage != NONE)
        TRY(flow_cut(network, network->passages.items[network->links[link].first_passage].flow, error));
    return STATUS_OK;
}

static void limit_each(struct network *network, int32_t link) {
    for (int32_t p = network->links[link].first_passage; p != NONE; p = network->passages.items[p].after)
        flow_update_cap(network, network->passages.items[p].flow);
}

enum status link_apply_change(struct network *network, const struct topology_change *change, struct error *error) {
    struct link *link = &network->links[change->link];
    const struct link_def *def = &network->topology.links[change->link];
    link->up = change->change.up;
    if (change->change.bandwidth_Bps >= 0) link->bandwidth_Bps = change->change.bandwidth_Bps;
    if (!link->up && def->cut_when_down) TRY(cut_all(network, change->link, error));
    if (def->shared)
        maxmin_set_capacity(network->rates, link_constraint(network, change->link),
                            link_capacity(network, change->link));
    else
        limit_each(network, change->link);
    return STATUS_OK;
}
