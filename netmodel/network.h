/* The state that the files of this room share: clock, events, flows, links, collectives.
 *
 * network.c keeps time: it pops events, orders them within an instant and has rates computed once per instant.
 * flow.c, link.c and collective.c are what the events do. Flows and collectives live in slots that are used again; a
 * heap entry names a slot and the number of the slot's latest event, so an entry that was overtaken is recognised.
 * After a failure (STATUS_MEMORY, STATUS_NUMERIC) of network_advance() a network can only be freed.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include "maxmin.h"
#include "plan.h"
#include "topology.h"

#include "base/array.h"
#include "base/heap.h"

enum { NONE = -1 };

/* Within one instant. */
enum phase { PHASE_COMPLETION, PHASE_LINK, PHASE_START };

enum event_kind {
    EVENT_END,        /* of a flow: its last byte has arrived */
    EVENT_MOVE,       /* of a flow: its latency is over */
    EVENT_START,      /* of a flow: a try begins */
    EVENT_CUT,        /* of a flow: it began on a link that is down */
    EVENT_COLLECTIVE, /* a collective starts */
    EVENT_LINK,       /* the next link change */
    EVENT_KINDS
};

enum flow_state { FLOW_FREE, FLOW_WAITING, FLOW_LATENCY, FLOW_MOVING };

struct flow {
    enum flow_state state;
    int32_t source, destination;
    const int32_t *links; /* of its route, in the topology */
    int32_t link_count;
    int64_t bytes;
    int64_t wait_ns; /* delay and latency of each try */
    int64_t backoff_ns;
    double rate_cap_Bps;
    int32_t retries_left, tries;
    int64_t start_ns;
    int64_t bytes_lost;

    double remaining, remaining_low; /* their sum is what is left to move, as of moved_ns */
    double rate_Bps;
    int64_t moved_ns;
    int32_t variable; /* of the rates, while moving */
    int32_t first_passage;

    int32_t collective; /* NONE: on its own */
    int32_t sender, receiver, step;
    int32_t sibling_before, sibling_after; /* flows of the same collective; `after` is also the list of free slots */
    uint32_t event;                        /* number of its latest event */
    uint32_t serial;                       /* of the slot's user, part of the id */
};

/* A flow's try on a watched link. */
struct passage {
    int32_t flow, link;
    int32_t next_of_flow;  /* also the list of free passages */
    int32_t before, after; /* on the link */
};

struct link {
    double bandwidth_Bps; /* as if it were up */
    bool up;
    bool limits;  /* false: infinite for good */
    bool watched; /* its changes concern each flow: the flows on it are listed */
    int32_t first_passage, last_passage;
};

struct member {
    int32_t host;
    int32_t step;       /* NONE before the first */
    int32_t sends_left; /* of this step */
    int32_t received;
    uint64_t received_steps; /* bit s: the message of step s */
    bool done;
};

struct collective {
    bool used;
    enum fidelity fidelity; /* as asked for */
    struct plan plan;
    struct member *members; /* owned */
    int32_t members_done;
    int32_t first_flow;
    int64_t start_ns;
    int64_t bytes_sent, bytes_lost;
    uint32_t serial;
    int32_t next_free;
};

struct network {
    struct topology topology;
    struct maxmin *rates;
    struct link *links;
    int32_t *busy;   /* [host]: flows under way from or to it */
    uint32_t *marks; /* [host]: the last list of members it was seen in */
    uint32_t mark;
    int32_t *path; /* workspace for the constraints of a flow */
    struct heap heap;
    int64_t now_ns; /* -1 before the first advance, so that changes at 0 come before flows that start at 0 */
    int32_t next_change;
    ARRAY(struct flow) flows;
    ARRAY(struct passage) passages;
    ARRAY(struct collective) collectives;
    int32_t free_flow, free_passage, free_collective;
    int64_t live_flows, live_collectives;
    ARRAY(struct network_event) events;
    int64_t next_event;
    int64_t instant_events, instant_limit; /* the watchdog's */
    int64_t flows_started;
    int64_t bytes_delivered, bytes_lost;
    struct error failure; /* met where it could not be returned */
};

/* network.c */
NODISCARD enum status network_schedule(struct network *network, int64_t time_ns, enum phase phase, enum event_kind kind,
                                       int32_t index, uint32_t number, struct error *error);
NODISCARD enum status network_emit(struct network *network, const struct network_event *event, struct error *error);
bool network_change_is_due(const struct network *network); /* a link change of this instant is still to come */
int64_t network_id(int32_t index, uint32_t serial, bool is_collective);

/* flow.c */
struct flow_origin { /* which message of which collective a flow is */
    int32_t collective, sender, receiver, step;
};
NODISCARD enum status flow_check(const struct network *network, const struct flow_def *def, struct error *error);
NODISCARD enum status flow_create(struct network *network, const struct flow_def *def, int64_t start_ns,
                                  struct flow_origin origin, int32_t *index, struct error *error);
NODISCARD enum status flow_schedule_start(struct network *network, int32_t index, int64_t at_ns, struct error *error);
NODISCARD enum status flow_begin(struct network *network, int32_t index, struct error *error);
NODISCARD enum status flow_move(struct network *network, int32_t index, struct error *error);
NODISCARD enum status flow_end(struct network *network, int32_t index, struct error *error);
NODISCARD enum status flow_cut(struct network *network, int32_t index, struct error *error);
void flow_update_cap(struct network *network, int32_t index); /* a fat link on its way has changed */
NODISCARD enum status flow_take_rates(struct network *network, struct error *error);       /* after maxmin_solve() */
struct network_event flow_transfer(const struct network *network, int32_t index, bool ok); /* its record */
void flow_stop(struct network *network, int32_t index); /* what its try has moved counts as lost */
void flow_free(struct network *network, int32_t index);

/* link.c */
NODISCARD enum status link_init_all(struct network *network, struct error *error);
NODISCARD enum status link_apply_change(struct network *network, const struct topology_change *change,
                                        struct error *error);
double link_capacity(const struct network *network, int32_t link); /* 0 while down */
int32_t link_constraint(const struct network *network, int32_t link);
NODISCARD enum status link_enter(struct network *network, int32_t link, int32_t flow, struct error *error);
void link_leave_all(struct network *network, int32_t flow);

/* collective.c */
NODISCARD enum status collective_begin(struct network *network, int32_t index, struct error *error);
NODISCARD enum status collective_delivered(struct network *network, int32_t flow, struct error *error);
NODISCARD enum status collective_abort(struct network *network, int32_t index, struct error *error);
void collective_cancel(struct network *network, int32_t index);

#endif
