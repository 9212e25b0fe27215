/* netmodel: what transfers cost on given links. Hosts with up- and down-links, shared links, routes and latencies;
 * flows at max-min fair rates; collectives as schedules of flows; faults.
 *
 * Fluid model: a flow first spends its route's latency without using bandwidth, then moves at its max-min fair rate,
 * recomputed whenever a flow starts or ends or a capacity changes. Times are integer nanoseconds; a completion is
 * rounded up to the next nanosecond. Within one instant: completions, then link changes in the order of the def, then
 * what the caller starts, then one new computation of rates. The caller owns the clock and pulls:
 *
 *     while ((now = network_next_ns(network)) != TIME_NEVER) {
 *         TRY(network_advance(network, now, error));
 *         while (network_next_event(network, &event)) ...start more...
 *     }
 *
 * Knows nothing of training. Not modelled: TCP's slow start, queues, packets.
 */
#ifndef NETMODEL_NETMODEL_H
#define NETMODEL_NETMODEL_H

#include "base/error.h"

#include <stdbool.h>

#define TIME_NEVER INT64_MAX

/* ---- the network ---- */

struct host_def {
    char name[48];
    bool has_links; /* false: no links of its own, only its routes' */
    double up_Bps;  /* bytes per second; INFINITY = no limit */
    double down_Bps;
    int64_t latency_ns; /* of its up-link: paid once by every flow that leaves it */
};

struct link_change { /* from at_ns on */
    int64_t at_ns;
    bool up;              /* false: the link is down */
    double bandwidth_Bps; /* negative: as before */
};

struct link_def {
    char name[48];
    double bandwidth_Bps;
    int64_t latency_ns;
    bool shared;        /* false: each flow may use the whole bandwidth */
    bool cut_when_down; /* a link going down fails its flows, those in their latency too; else they stall */
    const struct link_change *changes; /* ascending at_ns; equal times in order; owned by the caller, copied */
    int32_t change_count;
};

struct route_def {
    int32_t source, destination; /* host indices */
    bool both_ways;
    const int32_t *links; /* link indices in order; a link named twice is used twice */
    int32_t link_count;
};

struct network_def {
    const struct host_def *hosts;
    int32_t host_count;
    const struct link_def *links;
    int32_t link_count;
    const struct route_def *routes; /* pairs without one use the two hosts' own links alone */
    int32_t route_count;
};

/* STATUS_INPUT naming the host, link or route at fault. */
NODISCARD enum status network_check(const struct network_def *def, struct error *error);

struct network;

NODISCARD struct network *network_create(const struct network_def *def, struct error *error); /* def is copied */
void network_free(struct network *network);                                                   /* NULL is fine */

/* ---- flows and collectives ---- */

struct flow_def {
    int32_t source, destination;
    int64_t bytes;       /* 0 takes its latency alone */
    double rate_cap_Bps; /* 0 or INFINITY = none */
    int64_t delay_ns;    /* spent before the latency, with no use of bandwidth */
    int32_t retries;     /* how often a cut flow starts again from zero bytes */
    int64_t backoff_ns;  /* waited before each retry */
};

enum collective_kind {
#define COLLECTIVE(name, text, help) COLLECTIVE_##name,
#include "collectives.def"
#undef COLLECTIVE
    COLLECTIVE_COUNT
};
const char *collective_name(enum collective_kind kind);
const char *collective_help(enum collective_kind kind);
NODISCARD enum status collective_parse(const char *text, enum collective_kind *kind, struct error *error);

/* step: every message is a flow. fluid: one flow per worker with its whole volume after the latency of all steps.
 * auto: fluid where both agree but for rounding (members with equal links of their own, no routes over others, nothing
 * else under way on them) and beyond 2048 members, else step. Tree, parameter server and pair have few messages per
 * member and are always played by steps. */
enum fidelity { FIDELITY_AUTO, FIDELITY_STEP, FIDELITY_FLUID };

struct collective_def {
    enum collective_kind kind;
    enum fidelity fidelity;
    int64_t bytes;          /* S: what one worker holds and wants averaged */
    const int32_t *members; /* host indices in ring order; copied */
    int32_t member_count;   /* M >= 1; M = 1 ends at once */
};

/* Both start at `now_ns`, which must not lie before the last advance. *id names it in events until it has ended.
 * A collective is over, not ok, when one of its messages is cut.
 * STATUS_INPUT: no route, a flow to itself, a member twice, negative bytes. */
NODISCARD enum status network_start_flow(struct network *network, int64_t now_ns, const struct flow_def *def,
                                         int64_t *id, struct error *error);
NODISCARD enum status network_start_collective(struct network *network, int64_t now_ns,
                                               const struct collective_def *def, int64_t *id, struct error *error);
/* Stops a flow or collective at the current instant: no further events of it. What it had moved stays counted. */
void network_cancel(struct network *network, int64_t id);

enum network_event_kind {
    NETWORK_TRANSFER,    /* one flow ended (a flow's own, or one message of a collective) */
    NETWORK_MEMBER_DONE, /* a collective has ended for one member: it has sent and received all its messages */
    NETWORK_DONE         /* a flow or collective has ended for all */
};

struct network_event {
    enum network_event_kind kind;
    int64_t id;                  /* of the flow or collective */
    int64_t time_ns;             /* when */
    int64_t start_ns;            /* TRANSFER, DONE: when it started (first try) */
    int32_t source, destination; /* TRANSFER: hosts. MEMBER_DONE: source = the member's host */
    int64_t bytes;               /* TRANSFER: delivered. DONE: sent over all messages */
    int64_t bytes_lost;          /* TRANSFER: moved by tries that were cut */
    bool ok;                     /* false: cut and out of retries */
    int32_t tries;               /* TRANSFER: 1 + retries used */
};

/* Earliest time at which something happens in the network; TIME_NEVER when nothing will. */
int64_t network_next_ns(struct network *network);
/* Plays up to and including to_ns (not before the last). STATUS_NUMERIC if more than 1e6 events share one instant,
 * apart from those of flows that were there before it. After a failure the network can only be freed. */
NODISCARD enum status network_advance(struct network *network, int64_t to_ns, struct error *error);
/* Takes the next event since the last advance, in order; false when there is none. */
bool network_next_event(struct network *network, struct network_event *event);
/* A line that says what is stuck: flows that have no rate, and on which link. For the watchdog's message. */
char *network_describe_stall(struct network *network, char *buffer, size_t size);
int64_t network_flows_started(const struct network *network);
int64_t network_rate_computations(const struct network *network);
/* Totals over all flows that have ended, been cut or been cancelled; what was sent is their sum. */
int64_t network_bytes_delivered(const struct network *network);
int64_t network_bytes_lost(const struct network *network);

/* ---- closed forms (homogeneous links, no faults) ---- */

/* Seconds of a collective among M members with `bandwidth_Bps` up and down and `latency_s` per message.
 *   ring 2(M-1)(a + S/(M B)); halving-doubling (power of two) 2 log2(M) a + 2(M-1)/M S/B; tree 2 ceil(log2 M)(a + S/B);
 *   all-gather a + (M-1) S/B; parameter server (a member serves) 2(a + (M-1) S/B); pair a + S/B. 0 for M = 1.
 * NAN where there is no closed form (halving-doubling for other M). For other M than powers of two the tree's is an
 * upper bound: a member without children sends at once, so levels overlap. */
double collective_closed_form_s(enum collective_kind kind, int32_t members, double bytes, double bandwidth_Bps,
                                double latency_s);
/* Bytes sent by all members together, failures apart. */
double collective_closed_form_bytes(enum collective_kind kind, int32_t members, double bytes);

/* ---- exchange failures ---- */

enum failure_unit { FAILURE_PER_WORKER, FAILURE_PER_TRANSFER, FAILURE_PER_SYNCHRONISATION, FAILURE_UNITS };
const char *failure_unit_name(enum failure_unit unit); /* "worker", "transfer", "synchronisation" */

/* Whether `worker`'s part in attempt `attempt` of communication `operation` of round `round` fails with probability
 * `probability`: a pure function of its arguments, so that the same faults meet every strategy and bandwidth.
 * `operation` is 0 for mix1, 1 for mix2, 2 + n for the n-th of other communications. */
bool exchange_fails(double probability, uint64_t seed, int32_t round, int32_t operation, int32_t worker,
                    int32_t attempt);

#endif
