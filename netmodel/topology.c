/* Hosts, links and routes: checked, copied, and turned into constraints. */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- checking ---- */

static bool bandwidth_ok(double bandwidth_Bps) { return bandwidth_Bps >= 0; } /* NaN is not */

static enum status check_host(const struct host_def *host, struct error *error) {
    if (host->has_links && (!bandwidth_ok(host->up_Bps) || !bandwidth_ok(host->down_Bps)))
        return error_set(error, STATUS_INPUT, "bandwidth of host '%s' is negative; 0 or more is needed", host->name);
    if (host->latency_ns < 0)
        return error_set(error, STATUS_INPUT, "latency of host '%s' is negative; 0 or more is needed", host->name);
    return STATUS_OK;
}

static enum status check_link(const struct link_def *link, struct error *error) {
    if (!bandwidth_ok(link->bandwidth_Bps))
        return error_set(error, STATUS_INPUT, "bandwidth of link '%s' is negative; 0 or more is needed", link->name);
    if (link->latency_ns < 0)
        return error_set(error, STATUS_INPUT, "latency of link '%s' is negative; 0 or more is needed", link->name);
    for (int32_t i = 0; i < link->change_count; i++) {
        const struct link_change *change = &link->changes[i];
        if (change->at_ns < 0 || (i > 0 && change->at_ns < link->changes[i - 1].at_ns))
            return error_set(error, STATUS_INPUT, "changes of link '%s' are out of order; ascending times are needed", link->name);
        if (isnan(change->bandwidth_Bps))
            return error_set(error, STATUS_INPUT, "a change of link '%s' has no bandwidth", link->name);
    }
    return STATUS_OK;
}

static enum status check_route(const struct network_def *def, const struct route_def *route, struct error *error) {
    if (route->source < 0 || route->source >= def->host_count || route->destination < 0 ||
        route->destination >= def->host_count)
        return error_set(error, STATUS_INPUT, "a route names a host that does not exist");
    if (route->source == route->destination)
        return error_set(error, STATUS_INPUT, "route from host '%s' to itself; two hosts are needed", def->hosts[route->source].name);
    for (int32_t i = 0; i < route->link_count; i++)
        if (route->links[i] < 0 || route->links[i] >= def->link_count)
            return error_set(error, STATUS_INPUT, "route from '%s' to '%s' names a link that does not exist",
                             def->hosts[route->source].name, def->hosts[route->destination].name);
    return STATUS_OK;
}

enum status network_check(const struct network_def *def, struct error *error) {
    if (def->host_count < 1) return error_set(error, STATUS_INPUT, "the network has no hosts; at least one is needed");
    for (int32_t i = 0; i < def->host_count; i++) TRY(check_host(&def->hosts[i], error));
    for (int32_t i = 0; i < def->link_count; i++) TRY(check_link(&def->links[i], error));
    for (int32_t i = 0; i < def->route_count; i++) TRY(check_route(def, &def->routes[i], error));
    return STATUS_OK;
}

/* ---- copying ---- */

static int32_t constrain(struct network *network, double bandwidth_Bps, bool *failed, struct error *error) {
    int32_t index = maxmin_add_constraint(network->maxmin, bandwidth_Bps, error);
    *failed |= index < 0;
    return index;
}

static enum status copy_hosts(struct network *network, const struct network_def *def, struct error *error) {
    network->hosts = alloc_zero((size_t)def->host_count, sizeof *network->hosts, "hosts", error);
    if (!network->hosts) return STATUS_MEMORY;
    network->host_count = def->host_count;
    bool failed = false;
    for (int32_t i = 0; i < def->host_count && !failed; i++) {
        struct host *host = &network->hosts[i];
        host->def = def->hosts[i];
        host->up = host->down = -1;
        if (!host->def.has_links) continue;
        if (!isinf(host->def.up_Bps)) host->up = constrain(network, host->def.up_Bps, &failed, error);
        if (!isinf(host->def.down_Bps)) host->down = constrain(network, host->def.down_Bps, &failed, error);
    }
    return failed ? STATUS_MEMORY : STATUS_OK;
}

static enum status copy_links(struct network *network, const struct network_def *def, struct error *error) {
    int64_t changes = 0;
    for (int32_t i = 0; i < def->link_count; i++) changes += def->links[i].change_count;
    network->links = alloc_zero((size_t)def->link_count, sizeof *network->links, "links", error);
    network->changes = alloc_zero((size_t)changes, sizeof *network->changes, "link changes", error);
    if (!network->links || !network->changes) return STATUS_MEMORY;
    network->link_count = def->link_count;
    network->plain = changes == 0;
    struct link_change *next = network->changes;
    bool failed = false;
    for (int32_t i = 0; i < def->link_count && !failed; i++) {
        struct link *link = &network->links[i];
        link->def = def->links[i];
        link->bandwidth_Bps = link->def.bandwidth_Bps;
        link->up = true;
        link->constraint = link->def.shared ? constrain(network, link->bandwidth_Bps, &failed, error) : -1;
        if (link->def.change_count > 0)
            memcpy(next, link->def.changes, (size_t)link->def.change_count * sizeof *next);
        link->def.changes = next;
        next += link->def.change_count;
        if (link->def.change_count > 0 && !failed)
            TRY(heap_push(&network->queue, link->def.changes[0].at_ns, 1, 0, -1 - (int64_t)i, error));
    }
    return failed ? STATUS_MEMORY : STATUS_OK;
}

static int compare_routes(const void *a, const void *b) {
    const struct route *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static struct route *add_route(struct network *network, int32_t source, int32_t destination, int32_t first, int32_t count) {
    struct route *route = &network->routes[network->route_count++];
    *route = (struct route){(int64_t)source * network->host_count + destination, first, count};
    return route;
}

/* A route both ways is two; the way back uses the links in reverse order. */
static enum status copy_routes(struct network *network, const struct network_def *def, struct error *error) {
    int64_t links = 0;
    for (int32_t i = 0; i < def->route_count; i++) links += 2 * (int64_t)def->routes[i].link_count;
    network->routes = alloc_zero(2 * (size_t)def->route_count, sizeof *network->routes, "routes", error);
    network->route_links = alloc_zero((size_t)links, sizeof *network->route_links, "routes", error);
    if (!network->routes || !network->route_links) return STATUS_MEMORY;
    int32_t next = 0;
    for (int32_t i = 0; i < def->route_count; i++) {
        const struct route_def *route = &def->routes[i];
        add_route(network, route->source, route->destination, next, route->link_count);
        for (int32_t l = 0; l < route->link_count; l++) network->route_links[next++] = route->links[l];
        if (!route->both_ways) continue;
        add_route(network, route->destination, route->source, next, route->link_count);
        for (int32_t l = route->link_count; l > 0; l--) network->route_links[next++] = route->links[l - 1];
    }
    if (network->route_count > 1)
        qsort(network->routes, (size_t)network->route_count, sizeof *network->routes, compare_routes);
    for (int32_t i = 1; i < network->route_count; i++)
        if (network->routes[i].key == network->routes[i - 1].key)
            return error_set(error, STATUS_INPUT, "two routes from '%s' to '%s'; one is needed",
                             network->hosts[network->routes[i].key / network->host_count].def.name,
                             network->hosts[network->routes[i].key % network->host_count].def.name);
    return STATUS_OK;
}

struct network *network_create(const struct network_def *def, struct error *error) {
    if (network_check(def, error) != STATUS_OK) return NULL;
    struct network *network = alloc_zero(1, sizeof *network, "network", error);
    if (!network) return NULL;
    network->free_flow = network->free_exchange = -1;
    network->maxmin = maxmin_create(error);
    if (!network->maxmin || copy_hosts(network, def, error) != STATUS_OK ||
        copy_links(network, def, error) != STATUS_OK || copy_routes(network, def, error) != STATUS_OK) {
        network_free(network);
        return NULL;
    }
    return network;
}

void network_free(struct network *network) {
    if (!network) return;
    for (int64_t i = 0; i < network->exchanges.count; i++) collective_free(network->exchanges.items[i].collective);
    maxmin_free(network->maxmin);
    heap_clear(&network->queue);
    array_clear(&network->flows);
    array_clear(&network->active);
    array_clear(&network->exchanges);
    array_clear(&network->events);
    array_clear(&network->scratch);
    alloc_free(network->hosts);
    alloc_free(network->links);
    alloc_free(network->changes);
    alloc_free(network->routes);
    alloc_free(network->route_links);
    alloc_free(network);
}

/* ---- ways ---- */

static const struct route *find_route(const struct network *network, int32_t source, int32_t destination) {
    int64_t key = (int64_t)source * network->host_count + destination;
    int32_t low = 0, high = network->route_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (network->routes[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < network->route_count && network->routes[low].key == key ? &network->routes[low] : NULL;
}

enum status topology_way(struct network *network, int32_t source, int32_t destination, struct way *way,
                         struct error *error) {
    const struct route *route = find_route(network, source, destination);
    const struct host *from = &network->hosts[source], *to = &network->hosts[destination];
    int32_t count = route ? route->count : 0;
    TRY(array_reserve(&network->scratch, count + 2, error));
    network->scratch.count = 0;
    *way = (struct way){.latency_ns = from->def.has_links ? from->def.latency_ns : 0, .bound_Bps = INFINITY};
    if (from->up >= 0) network->scratch.items[network->scratch.count++] = from->up;
    for (int32_t i = 0; i < count; i++) {
        const struct link *link = &network->links[network->route_links[route->first + i]];
        way->latency_ns += link->def.latency_ns;
        way->cut |= !link->up && link->def.cut_when_down;
        if (link->constraint >= 0) {
            network->scratch.items[network->scratch.count++] = link->constraint;
            continue;
        }
        double bandwidth_Bps = link->up ? link->bandwidth_Bps : 0;
        if (bandwidth_Bps < way->bound_Bps) way->bound_Bps = bandwidth_Bps;
        way->stalled |= bandwidth_Bps == 0;
    }
    if (to->down >= 0) network->scratch.items[network->scratch.count++] = to->down;
    return STATUS_OK;
}

bool topology_uses(const struct network *network, int32_t source, int32_t destination, int32_t link) {
    const struct route *route = find_route(network, source, destination);
    for (int32_t i = 0; route && i < route->count; i++)
        if (network->route_links[route->first + i] == link) return true;
    return false;
}

int64_t topology_latency(const struct network *network, int32_t source, int32_t destination) {
    const struct route *route = find_route(network, source, destination);
    const struct host *from = &network->hosts[source];
    int64_t latency_ns = from->def.has_links ? from->def.latency_ns : 0;
    for (int32_t i = 0; route && i < route->count; i++)
        latency_ns += network->links[network->route_links[route->first + i]].def.latency_ns;
    return latency_ns;
}

/* Two hosts without links of their own need a route: nothing says what joins them. */
bool topology_has_route(const struct network *network, int32_t source, int32_t destination) {
    return (network->hosts[source].def.has_links && network->hosts[destination].def.has_links) ||
           find_route(network, source, destination);
}

bool topology_homogeneous(const struct network *network, const int32_t *hosts, int32_t count) {
    if (network->route_count > 0 || !network->plain) return false;
    const struct host_def *first = &network->hosts[hosts[0]].def;
    for (int32_t i = 0; i < count; i++) {
        const struct host_def *host = &network->hosts[hosts[i]].def;
        if (!host->has_links || host->up_Bps != first->up_Bps || host->down_Bps != first->down_Bps ||
            host->latency_ns != first->latency_ns)
            return false;
    }
    return true;
}
