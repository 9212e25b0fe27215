#include "cost.h"

#include "engine.h"

#include "base/array.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>

static double bytes_per_second(int64_t bps) {
    return bps == INT64_MAX ? INFINITY : (double)bps / 8;
}

struct network *cluster_network(const struct cluster_def *cluster, int32_t hosts, struct error *error) {
    struct host_def *defs = alloc_zero((size_t)hosts, sizeof *defs, "hosts", error);
    if (!defs) return NULL;
    for (int32_t i = 0; i < hosts; i++) {
        defs[i] = (struct host_def){.has_links = true,
                                    .up_Bps = bytes_per_second(cluster->up_bps),
                                    .down_Bps = bytes_per_second(cluster->down_bps),
                                    .latency_ns = cluster->latency_ns};
        snprintf(defs[i].name, sizeof defs[i].name, "worker %d", i);
    }
    struct network *network = network_create(&(struct network_def){.hosts = defs, .host_count = hosts}, error);
    alloc_free(defs);
    return network;
}

enum status exchange_start(struct network *network, const struct cluster_def *cluster, enum mix_group group,
                           int64_t bytes, const int32_t *members, int32_t member_count, int64_t now_ns, int64_t *id,
                           struct error *error) {
    struct collective_def def = {.kind = group == GROUP_PAIRS ? COLLECTIVE_PAIR : cluster->collective,
                                 .fidelity = cluster->fidelity,
                                 .bytes = bytes,
                                 .members = members,
                                 .member_count = member_count};
    return network_start_collective(network, now_ns, &def, id, error);
}

int64_t message_moved(const struct message *message, int64_t elapsed_ns) {
    if (elapsed_ns >= message->end_ns) return message->bytes;
    if (elapsed_ns <= message->start_ns) return 0;
    double share = (double)(elapsed_ns - message->start_ns) / (double)(message->end_ns - message->start_ns);
    return (int64_t)(share * (double)message->bytes);
}

void cost_clear(struct cost *cost) {
    alloc_free(cost->done_ns);
    alloc_free(cost->sent);
    alloc_free(cost->lost);
    alloc_free(cost->messages);
    *cost = (struct cost){0};
}

typedef ARRAY(struct message) messages;

static enum status take_event(struct cost *cost, messages *kept, bool keep, const struct network_event *event,
                              struct error *error) {
    switch (event->kind) {
    case NETWORK_TRANSFER:
        cost->sent[event->source] += event->bytes;
        if (!keep) return STATUS_OK;
        TRY(array_reserve(kept, kept->count + 1, error));
        kept->items[kept->count++] =
            (struct message){event->source, event->destination, event->bytes, event->start_ns, event->time_ns};
        return STATUS_OK;
    case NETWORK_MEMBER_DONE:
        cost->done_ns[event->source] = event->time_ns;
        return STATUS_OK;
    case NETWORK_DONE:
        cost->duration_ns = event->time_ns;
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* Plays the exchange from 0 to its end. */
static enum status play(struct network *network, struct cost *cost, messages *kept, bool keep, struct error *error) {
    struct engine engine = {.network = network};
    struct engine_event event;
    for (;;) {
        TRY(engine_next(&engine, &event, error));
        if (event.kind == ENGINE_END) {
            char size[32];
            return error_set(error, STATUS_INPUT,
                             "one exchange of %s among %d workers takes longer than virtual time can express (292 "
                             "years); the links must be faster or the payload smaller",
                             units_show_bytes((double)cost->bytes, size, sizeof size), cost->members);
        }
        TRY(take_event(cost, kept, keep, &event.network, error));
        if (event.network.kind == NETWORK_DONE) return STATUS_OK;
    }
}

static enum status play_alone(const struct cluster_def *cluster, enum mix_group group, struct cost *cost, bool keep,
                              struct error *error) {
    messages kept = {0};
    struct network *network = cluster_network(cluster, cost->members, error);
    int32_t *members = alloc_zero((size_t)cost->members, sizeof *members, "members of an exchange", error);
    enum status status = network && members ? STATUS_OK : STATUS_MEMORY;
    int64_t id;
    for (int32_t i = 0; status == STATUS_OK && i < cost->members; i++) members[i] = i;
    if (status == STATUS_OK)
        status = exchange_start(network, cluster, group, cost->bytes, members, cost->members, 0, &id, error);
    if (status == STATUS_OK) status = play(network, cost, &kept, keep, error);
    cost->messages = kept.items;
    cost->message_count = kept.count;
    alloc_free(members);
    network_free(network);
    return status;
}

static void count_lost(struct cost *cost) {
    for (int32_t m = 0; m < cost->members; m++) cost->lost[m] = cost->messages ? 0 : cost->sent[m];
    for (int64_t i = 0; i < cost->message_count; i++)
        cost->lost[cost->messages[i].source] += message_moved(&cost->messages[i], cost->notice_ns);
}

enum status cost_measure(const struct cluster_def *cluster, enum mix_group group, int64_t bytes, bool keep_messages,
                         struct cost *cost, struct error *error) {
    double detect = cluster->failures.exchange > 0 ? cluster->failures.detect : 1;
    *cost = (struct cost){.members = group == GROUP_PAIRS ? 2 : cluster->workers, .bytes = bytes};
    size_t count = (size_t)cost->members;
    cost->done_ns = alloc_zero(count, sizeof *cost->done_ns, "times of an exchange", error);
    cost->sent = alloc_zero(count, sizeof *cost->sent, "bytes of an exchange", error);
    cost->lost = alloc_zero(count, sizeof *cost->lost, "bytes of an exchange", error);
    if (!cost->done_ns || !cost->sent || !cost->lost) return STATUS_MEMORY;
    if (cluster->workers == 1) return STATUS_OK; /* nobody to exchange with */
    TRY(play_alone(cluster, group, cost, keep_messages || detect < 1, error));
    cost->notice_ns = detect < 1 ? llround(detect * (double)cost->duration_ns) : cost->duration_ns;
    count_lost(cost);
    return STATUS_OK;
}
