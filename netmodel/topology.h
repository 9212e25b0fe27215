/* What does not change while a network plays: hosts, links, routes and the list of link changes, copied from a def.
 *
 * Routes are kept by source host (memory: hosts + routes, no host x host table); looking one up is a binary search
 * among the routes of the source.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "netmodel/netmodel.h"

struct topology_route {
    int32_t destination;
    int32_t first_link; /* into route_links */
    int32_t link_count;
    int64_t latency_ns; /* of its links */
};

struct topology_change {
    struct link_change change;
    int32_t link;
    int32_t order; /* of the def, for changes at one instant */
};

struct topology {
    struct host_def *hosts;
    struct link_def *links;        /* `changes` is NULL, `change_count` kept */
    struct topology_route *routes; /* by source, then destination */
    int32_t *first_route;          /* [host_count + 1] */
    int32_t *route_links;
    struct topology_change *changes; /* ascending in time, equal times in the order of the def */
    int32_t host_count, link_count, change_count;
};

struct path {
    const int32_t *links; /* the route's, without the hosts' own */
    int32_t link_count;
    int64_t latency_ns; /* of the source's up-link and the links */
};

/* Starts from {0} and a def that network_check() accepts. On failure *topology is cleared. */
NODISCARD enum status topology_init(struct topology *topology, const struct network_def *def, struct error *error);
void topology_clear(struct topology *topology);

/* STATUS_INPUT when nothing leads from source to destination. */
NODISCARD enum status topology_find_path(const struct topology *topology, int32_t source, int32_t destination,
                                         struct path *path, struct error *error);

/* Whether a route of its own leads from this host anywhere. */
bool topology_has_routes(const struct topology *topology, int32_t source);

/* a + b for a, b >= 0; TIME_NEVER instead of an overflow. */
static inline int64_t time_sum(int64_t a, int64_t b) {
    return a > TIME_NEVER - b ? TIME_NEVER : a + b;
}

#endif
