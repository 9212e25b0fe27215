/* Explicit transfers over a network, without training. */
#include "sim/sim.h"

#include "id_map.h"

#include "base/alloc.h"

#include <stdlib.h>

struct start {
    int64_t start_ns;
    int64_t flow;
};

/* By time, equal times in the order given. */
static int compare_starts(const void *left, const void *right) {
    const struct start *a = left, *b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->flow > b->flow) - (a->flow < b->flow);
}

static enum status order_starts(const int64_t *start_ns, int64_t count, struct start *starts, struct error *error) {
    for (int64_t i = 0; i < count; i++) {
        if (start_ns[i] < 0) return error_set(error, STATUS_INPUT, "a flow starts before time 0");
        starts[i] = (struct start){start_ns[i], i};
    }
    if (count > 0) qsort(starts, (size_t)count, sizeof *starts, compare_starts);
    return STATUS_OK;
}

static enum status start_due(struct network *network, const struct flow_def *flows, const struct start *starts,
                             int64_t count, int64_t *started, struct id_map *flow_of, struct error *error) {
    int64_t now_ns = starts[*started].start_ns, id;
    for (; *started < count && starts[*started].start_ns == now_ns; ++*started) {
        int64_t flow = starts[*started].flow;
        TRY(network_start_flow(network, now_ns, &flows[flow], &id, error));
        TRY(id_map_put(flow_of, id, flow, error));
    }
    return STATUS_OK;
}

static void take_events(struct network *network, struct id_map *flow_of, struct flow_record *records) {
    struct network_event event;
    while (network_next_event(network, &event)) {
        int64_t flow = id_map_get(flow_of, event.id);
        if (event.kind != NETWORK_TRANSFER || flow < 0) continue;
        records[flow].end_ns = event.time_ns;
        records[flow].ok = event.ok;
        records[flow].tries = event.tries;
        id_map_remove(flow_of, event.id);
    }
}

/* Plays until nothing moves and nothing is left to start. A start falls after all else of its instant. */
static enum status play(struct network *network, const struct flow_def *flows, const struct start *starts,
                        int64_t count, struct id_map *flow_of, struct flow_record *records, struct error *error) {
    int64_t started = 0;
    for (;;) {
        take_events(network, flow_of, records); /* those of a start that ended at once, too */
        int64_t network_ns = network_next_ns(network);
        int64_t start_ns = started < count ? starts[started].start_ns : TIME_NEVER;
        if (network_ns == TIME_NEVER && started == count) return STATUS_OK;
        int64_t now_ns = network_ns < start_ns ? network_ns : start_ns;
        TRY(network_advance(network, now_ns, error));
        if (now_ns == start_ns) TRY(start_due(network, flows, starts, count, &started, flow_of, error));
    }
}

enum status sim_play_flows(const struct network_def *def, const struct flow_def *flows, const int64_t *start_ns,
                           int64_t count, struct flow_record *records, struct error *error) {
    struct id_map flow_of = {0};
    struct network *network = network_create(def, error);
    struct start *starts = network ? alloc_zero((size_t)count, sizeof *starts, "starts of flows", error) : NULL;
    enum status status = starts ? order_starts(start_ns, count, starts, error) : error ? error->status : STATUS_MEMORY;
    for (int64_t i = 0; i < count; i++)
        records[i] = (struct flow_record){.start_ns = start_ns[i], .end_ns = TIME_NEVER, .ok = false, .tries = 1};
    if (status == STATUS_OK) status = play(network, flows, starts, count, &flow_of, records, error);
    id_map_clear(&flow_of);
    alloc_free(starts);
    network_free(network);
    return status;
}
