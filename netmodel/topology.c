#include "topology.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- checking ---- */

static bool is_rate(double value) {
    return value >= 0;
} /* false for NaN, too */

static bool is_terminated(const char *name, size_t size) {
    return memchr(name, 0, size) != NULL;
}

static enum status check_host(const struct host_def *host, int32_t index, struct error *error) {
    if (!is_terminated(host->name, sizeof host->name))
        return error_set(error, STATUS_INPUT, "name of host %d is too long; at most 47 characters", index);
    if (host->latency_ns < 0)
        return error_set(error, STATUS_INPUT, "negative latency of host '%s'; 0 or more", host->name);
    if (host->has_links && (!is_rate(host->up_Bps) || !is_rate(host->down_Bps)))
        return error_set(error, STATUS_INPUT, "impossible bandwidth of host '%s'; 0 or more bytes per second",
                         host->name);
    return STATUS_OK;
}

static enum status check_changes(const struct link_def *link, struct error *error) {
    for (int32_t i = 0; i < link->change_count; i++) {
        const struct link_change *change = &link->changes[i];
        if (change->at_ns < (i > 0 ? change[-1].at_ns : 0))
            return error_set(error, STATUS_INPUT,
                             "change %d of link '%s' comes before the one before it; ascending times", i + 1,
                             link->name);
        if (isnan(change->bandwidth_Bps))
            return error_set(error, STATUS_INPUT, "impossible bandwidth in change %d of link '%s'; 0 or more", i + 1,
                             link->name);
    }
    return STATUS_OK;
}

static enum status check_link(const struct link_def *link, int32_t index, struct error *error) {
    if (!is_terminated(link->name, sizeof link->name))
        return error_set(error, STATUS_INPUT, "name of link %d is too long; at most 47 characters", index);
    if (!is_rate(link->bandwidth_Bps))
        return error_set(error, STATUS_INPUT, "impossible bandwidth of link '%s'; 0 or more bytes per second",
                         link->name);
    if (link->latency_ns < 0)
        return error_set(error, STATUS_INPUT, "negative latency of link '%s'; 0 or more", link->name);
    if (link->change_count < 0)
        return error_set(error, STATUS_INPUT, "negative number of changes of link '%s'; 0 or more", link->name);
    return check_changes(link, error);
}

static enum status check_route(const struct network_def *def, int32_t index, struct error *error) {
    const struct route_def *route = &def->routes[index];
    if (route->source < 0 || route->source >= def->host_count || route->destination < 0 ||
        route->destination >= def->host_count)
        return error_set(error, STATUS_INPUT, "route %d names host %d; there are %d hosts", index,
                         route->source < 0 || route->source >= def->host_count ? route->source : route->destination,
                         def->host_count);
    const char *source = def->hosts[route->source].name, *destination = def->hosts[route->destination].name;
    if (route->source == route->destination)
        return error_set(error, STATUS_INPUT, "route from host '%s' to itself; two different hosts", source);
    if (route->link_count < 0)
        return error_set(error, STATUS_INPUT, "negative number of links from '%s' to '%s'; 0 or more", source,
                         destination);
    for (int32_t i = 0; i < route->link_count; i++)
        if (route->links[i] < 0 || route->links[i] >= def->link_count)
            return error_set(error, STATUS_INPUT, "route from '%s' to '%s' names link %d; there are %d links", source,
                             destination, route->links[i], def->link_count);
    return STATUS_OK;
}

/* A route in one direction. */
struct leg {
    int32_t source, destination;
    int32_t route;
};

static int compare_legs(const void *left, const void *right) {
    const struct leg *a = left, *b = right;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->destination != b->destination) return a->destination < b->destination ? -1 : 1;
    return (a->route > b->route) - (a->route < b->route);
}

static int64_t count_legs(const struct network_def *def) {
    int64_t count = 0;
    for (int32_t i = 0; i < def->route_count; i++) count += def->routes[i].both_ways ? 2 : 1;
    return count;
}

/* All routes by source, then destination; NULL on lack of memory. */
static struct leg *sorted_legs(const struct network_def *def, struct error *error) {
    size_t count = (size_t)count_legs(def);
    struct leg *legs = alloc_zero(count, sizeof *legs, "routes", error);
    if (!legs) return NULL;
    struct leg *next = legs;
    for (int32_t i = 0; i < def->route_count; i++) {
        const struct route_def *route = &def->routes[i];
        *next++ = (struct leg){route->source, route->destination, i};
        if (route->both_ways) *next++ = (struct leg){route->destination, route->source, i};
    }
    if (count > 1) qsort(legs, count, sizeof *legs, compare_legs);
    return legs;
}

static enum status check_doubles(const struct network_def *def, struct error *error) {
    struct leg *legs = sorted_legs(def, error);
    if (!legs) return STATUS_MEMORY;
    enum status status = STATUS_OK;
    int64_t count = count_legs(def);
    for (int64_t i = 1; i < count && status == STATUS_OK; i++)
        if (legs[i].source == legs[i - 1].source && legs[i].destination == legs[i - 1].destination)
            status = error_set(error, STATUS_INPUT, "two routes from '%s' to '%s'; one at most",
                               def->hosts[legs[i].source].name, def->hosts[legs[i].destination].name);
    alloc_free(legs);
    return status;
}

/* Constraints are indexed by int32: two per host and one per link. */
static enum status check_sizes(const struct network_def *def, struct error *error) {
    if (def->host_count < 1) return error_set(error, STATUS_INPUT, "network without hosts; at least one");
    if (def->link_count < 0 || def->route_count < 0)
        return error_set(error, STATUS_INPUT, "negative number of links or routes; 0 or more");
    if (2 * (int64_t)def->host_count + def->link_count > INT32_MAX / 2)
        return error_set(error, STATUS_INPUT, "network of %d hosts and %d links is too large; 5e8 at most",
                         def->host_count, def->link_count);
    int64_t changes = 0, links = 0;
    for (int32_t i = 0; i < def->link_count; i++) changes += def->links[i].change_count;
    for (int32_t i = 0; i < def->route_count; i++) links += def->routes[i].link_count;
    if (changes > INT32_MAX || links > INT32_MAX || def->route_count > INT32_MAX / 2)
        return error_set(error, STATUS_INPUT, "too many link changes or links on routes; 2e9 at most");
    return STATUS_OK;
}

enum status network_check(const struct network_def *def, struct error *error) {
    TRY(check_sizes(def, error));
    for (int32_t i = 0; i < def->host_count; i++) TRY(check_host(&def->hosts[i], i, error));
    for (int32_t i = 0; i < def->link_count; i++) TRY(check_link(&def->links[i], i, error));
    for (int32_t i = 0; i < def->route_count; i++) TRY(check_route(def, i, error));
    return check_doubles(def, error);
}

/* ---- copying ---- */

static enum status copy_hosts_and_links(struct topology *topology, const struct network_def *def, struct error *error) {
    topology->hosts = alloc_zero((size_t)def->host_count, sizeof *topology->hosts, "hosts", error);
    if (!topology->hosts) return STATUS_MEMORY;
    topology->links = alloc_zero((size_t)def->link_count, sizeof *topology->links, "links", error);
    if (!topology->links) return STATUS_MEMORY;
    topology->host_count = def->host_count;
    topology->link_count = def->link_count;
    for (int32_t i = 0; i < def->host_count; i++) topology->hosts[i] = def->hosts[i];
    for (int32_t i = 0; i < def->link_count; i++) {
        topology->links[i] = def->links[i];
        topology->links[i].changes = NULL;
        topology->change_count += def->links[i].change_count;
    }
    return STATUS_OK;
}

static int compare_changes(const void *left, const void *right) {
    const struct topology_change *a = left, *b = right;
    if (a->change.at_ns != b->change.at_ns) return a->change.at_ns < b->change.at_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static enum status copy_changes(struct topology *topology, const struct network_def *def, struct error *error) {
    size_t count = (size_t)topology->change_count;
    topology->changes = alloc_zero(count, sizeof *topology->changes, "link changes", error);
    if (!topology->changes) return STATUS_MEMORY;
    int32_t next = 0;
    for (int32_t i = 0; i < def->link_count; i++)
        for (int32_t k = 0; k < def->links[i].change_count; k++, next++)
            topology->changes[next] =
                (struct topology_change){.change = def->links[i].changes[k], .link = i, .order = next};
    if (count > 1) qsort(topology->changes, count, sizeof *topology->changes, compare_changes);
    return STATUS_OK;
}

/* Where each route's links start in route_links; both directions of a route share them. */
static enum status copy_route_links(struct topology *topology, const struct network_def *def, int32_t *first_link,
                                    struct error *error) {
    int32_t count = 0;
    for (int32_t i = 0; i < def->route_count; i++) {
        first_link[i] = count;
        count += def->routes[i].link_count;
    }
    topology->route_links = alloc_zero((size_t)count, sizeof *topology->route_links, "routes", error);
    if (!topology->route_links) return STATUS_MEMORY;
    for (int32_t i = 0; i < def->route_count; i++)
        for (int32_t k = 0; k < def->routes[i].link_count; k++)
            topology->route_links[first_link[i] + k] = def->routes[i].links[k];
    return STATUS_OK;
}

static void place_routes(struct topology *topology, const struct network_def *def, const struct leg *legs,
                         const int32_t *first_link) {
    int64_t count = count_legs(def), next = 0;
    for (int32_t host = 0; host < def->host_count; host++) {
        topology->first_route[host] = (int32_t)next;
        for (; next < count && legs[next].source == host; next++) {
            const struct route_def *route = &def->routes[legs[next].route];
            int64_t latency_ns = 0;
            for (int32_t i = 0; i < route->link_count; i++)
                latency_ns = time_sum(latency_ns, def->links[route->links[i]].latency_ns);
            topology->routes[next] = (struct topology_route){.destination = legs[next].destination,
                                                             .first_link = first_link[legs[next].route],
                                                             .link_count = route->link_count,
                                                             .latency_ns = latency_ns};
        }
    }
    topology->first_route[def->host_count] = (int32_t)count;
}

static enum status copy_routes(struct topology *topology, const struct network_def *def, struct error *error) {
    topology->routes = alloc_zero((size_t)count_legs(def), sizeof *topology->routes, "routes", error);
    if (!topology->routes) return STATUS_MEMORY;
    topology->first_route = alloc_zero((size_t)def->host_count + 1, sizeof *topology->first_route, "routes", error);
    if (!topology->first_route) return STATUS_MEMORY;
    int32_t *first_link = alloc_zero((size_t)def->route_count, sizeof *first_link, "routes", error);
    struct leg *legs = first_link ? sorted_legs(def, error) : NULL;
    enum status status = legs ? copy_route_links(topology, def, first_link, error) : STATUS_MEMORY;
    if (status == STATUS_OK) place_routes(topology, def, legs, first_link);
    alloc_free(legs);
    alloc_free(first_link);
    return status;
}

enum status topology_init(struct topology *topology, const struct network_def *def, struct error *error) {
    enum status status = copy_hosts_and_links(topology, def, error);
    if (status == STATUS_OK) status = copy_changes(topology, def, error);
    if (status == STATUS_OK) status = copy_routes(topology, def, error);
    if (status != STATUS_OK) topology_clear(topology);
    return status;
}

void topology_clear(struct topology *topology) {
    alloc_free(topology->hosts);
    alloc_free(topology->links);
    alloc_free(topology->routes);
    alloc_free(topology->first_route);
    alloc_free(topology->route_links);
    alloc_free(topology->changes);
    *topology = (struct topology){0};
}

/* ---- routes ---- */

bool topology_has_routes(const struct topology *topology, int32_t source) {
    return topology->first_route[source + 1] > topology->first_route[source];
}

static const struct topology_route *find_route(const struct topology *topology, int32_t source, int32_t destination) {
    int32_t low = topology->first_route[source], high = topology->first_route[source + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (topology->routes[middle].destination < destination)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < topology->first_route[source + 1] && topology->routes[low].destination == destination;
    return found ? &topology->routes[low] : NULL;
}

enum status topology_find_path(const struct topology *topology, int32_t source, int32_t destination, struct path *path,
                               struct error *error) {
    const struct host_def *from = &topology->hosts[source], *to = &topology->hosts[destination];
    const struct topology_route *route = find_route(topology, source, destination);
    if (!route && !(from->has_links && to->has_links))
        return error_set(error, STATUS_INPUT, "no route from '%s' to '%s'; give both links of their own, or a route",
                         from->name, to->name);
    *path = (struct path){.latency_ns = from->has_links ? from->latency_ns : 0};
    if (!route) return STATUS_OK;
    path->links = topology->route_links + route->first_link;
    path->link_count = route->link_count;
    path->latency_ns = time_sum(path->latency_ns, route->latency_ns);
    return STATUS_OK;
}
