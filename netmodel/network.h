/* The inside of struct network, shared by topology.c (what there is), flow.c (what moves) and collective.c (schedules of
 * flows). */
#ifndef NETWORK_H
#define NETWORK_H

#include "maxmin.h"
#include "netmodel.h"

#include "base/heap.h"

/* ---- what there is ---- */

struct host {
    struct host_def def;
    int32_t up, down; /* constraints; -1 = unlimited or no links */
};

struct link {
    struct link_def def;  /* changes point into network->changes */
    int32_t constraint;   /* -1 for a link that is not shared */
    double bandwidth_Bps; /* now */
    bool up;              /* now */
    int32_t next_change;
};

struct route {
    int64_t key;   /* source * hosts + destination */
    int32_t first; /* in network->route_links */
    int32_t count;
};

/* ---- what moves ---- */

enum flow_state { FLOW_FREE, FLOW_WAITING, FLOW_LATENCY, FLOW_MOVING };

struct flow {
    struct flow_def def;
    enum flow_state state;
    int32_t exchange;      /* slot it belongs to */
    int32_t message;       /* of a collective: round of its sender */
    int32_t variable;      /* while moving */
    uint32_t generation;   /* of its pending event */
    int32_t tries;
    int32_t next_free;
    double remaining;      /* bytes, at updated_ns */
    double rate;           /* bytes per second since then */
    int64_t updated_ns;
    int64_t start_ns;      /* of the first try */
    int64_t lost;          /* by tries that were cut */
    int32_t position;      /* in network->active */
};

struct collective; /* collective.c */

struct exchange {
    bool used;
    uint32_t generation;
    int32_t next_free;
    int64_t start_ns;
    int32_t flows;                 /* in flight */
    struct collective *collective; /* NULL for a plain flow */
};

struct network {
    struct host *hosts;
    int32_t host_count;
    struct link *links;
    int32_t link_count;
    struct link_change *changes;
    struct route *routes; /* sorted by key */
    int32_t route_count;
    int32_t *route_links;
    bool plain;           /* no link ever changes */

    struct maxmin *maxmin;
    struct heap queue;    /* payload: flow slot, or -1 - link */
    int64_t now_ns;
    ARRAY(struct flow) flows;
    ARRAY(int32_t) active; /* slots in use, in no order */
    ARRAY(struct exchange) exchanges;
    ARRAY(struct network_event) events;
    int64_t next_event;    /* of events, to be taken */
    int32_t free_flow, free_exchange;
    ARRAY(int32_t) scratch; /* constraints of one route */
    int64_t started, computations;
};

/* The constraints of a flow's way into network->scratch, its latency, its bound by links that are not shared, and
 * whether all its links are up. */
struct way {
    int64_t latency_ns;
    double bound_Bps;
    bool cut;     /* a link that cuts is down */
    bool stalled; /* a link that is not shared is down or has no bandwidth */
};
NODISCARD enum status topology_way(struct network *network, int32_t source, int32_t destination, struct way *way,
                                   struct error *error);
bool topology_uses(const struct network *network, int32_t source, int32_t destination, int32_t link);
/* One-way latency between two hosts. */
int64_t topology_latency(const struct network *network, int32_t source, int32_t destination);
bool topology_has_route(const struct network *network, int32_t source, int32_t destination);
/* Whether the hosts' own links are alike and no route says otherwise: then a ring by steps and by one fluid flow take
 * the same time. */
bool topology_homogeneous(const struct network *network, const int32_t *hosts, int32_t count);

/* Starts one flow of an exchange at the current instant. */
NODISCARD enum status flow_begin(struct network *network, int32_t exchange, int32_t message, const struct flow_def *def,
                                 struct error *error);
NODISCARD enum status network_emit(struct network *network, const struct network_event *event, struct error *error);
int64_t exchange_id(const struct network *network, int32_t slot);
/* A slot for a collective that starts now; -1 on lack of memory. */
int32_t exchange_open(struct network *network, struct collective *collective, struct error *error);
NODISCARD enum status exchange_close_if_done(struct network *network, int32_t slot, struct error *error);

/* A message of a collective has ended. */
NODISCARD enum status collective_take(struct network *network, int32_t exchange, const struct flow *flow, bool ok,
                                      struct error *error);
void collective_free(struct collective *collective);
/* Sent over all messages so far. */
int64_t collective_sent(const struct collective *collective);
bool collective_ended(const struct collective *collective);
bool collective_failed(const struct collective *collective);

#endif
