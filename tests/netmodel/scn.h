/* Reads small platforms with flows and expected ends, a line each (times in seconds, a link that goes off cuts its
 * flows unless it is marked `stall`):
 *   case NAME
 *   link NAME BYTES_PER_S LATENCY_S [fat|stall]   host NAME      starhost NAME UP DOWN LATENCY_S
 *   route A B LINK...                           event T LINK off|on | bw VALUE
 *   flow NAME START_S SRC DST BYTES [rate=CAP] [prelat=S] [retry=N] [backoff=S]
 *   expect FLOW FINISH_S ok|linkfail TRIES
 * A starhost's links are its own, or, where an event names one, links X.up and X.down with a route per flow.
 */
#ifndef TESTS_NETMODEL_SCN_H
#define TESTS_NETMODEL_SCN_H

#include "play.h"

#include <stdlib.h>

enum { SCN_HOSTS = 64, SCN_LINKS = 160, SCN_ROUTES = 256, SCN_FLOWS = 128, SCN_CHANGES = 16, SCN_HOPS = 8 };

struct scn_flow {
    char name[16], expected_text[32];
    struct flow_def def;
    int64_t start_ns;
    bool expected, ok;
    double finish_s;
    int32_t tries;
};

struct scn {
    char name[64];
    struct host_def hosts[SCN_HOSTS];
    struct link_def links[SCN_LINKS];
    struct link_change changes[SCN_LINKS][SCN_CHANGES];
    struct route_def routes[SCN_ROUTES];
    int32_t hops[SCN_ROUTES][SCN_HOPS];
    struct scn_flow flows[SCN_FLOWS];
    int32_t host_count, link_count, route_count, flow_count;
    struct network_def def;
};

static inline int64_t scn_ns(const char *text) {
    return llround(strtod(text, NULL) * 1e9);
}

static inline int32_t scn_host(const struct scn *scn, const char *name) {
    for (int32_t i = 0; i < scn->host_count; i++)
        if (strcmp(scn->hosts[i].name, name) == 0) return i;
    fail_msg("%s: no host %s", scn->name, name);
    return -1;
}

static inline int32_t scn_find_link(const struct scn *scn, const char *name) {
    for (int32_t i = 0; i < scn->link_count; i++)
        if (strcmp(scn->links[i].name, name) == 0) return i;
    return -1;
}

static inline void scn_add_link(struct scn *scn, const char *name, double bandwidth, int64_t latency_ns, bool shared) {
    assert_true(scn->link_count < SCN_LINKS);
    struct link_def *link = &scn->links[scn->link_count];
    *link = (struct link_def){.bandwidth_Bps = bandwidth,
                              .latency_ns = latency_ns,
                              .shared = shared,
                              .cut_when_down = true,
                              .changes = scn->changes[scn->link_count]};
    snprintf(link->name, sizeof link->name, "%.47s", name);
    scn->link_count++;
}

static inline struct route_def *scn_add_route(struct scn *scn, int32_t source, int32_t destination) {
    assert_true(scn->route_count < SCN_ROUTES);
    struct route_def *route = &scn->routes[scn->route_count];
    *route = (struct route_def){.source = source, .destination = destination, .links = scn->hops[scn->route_count++]};
    return route;
}

static inline void scn_add_hop(struct scn *scn, struct route_def *route, const char *link) {
    int32_t index = scn_find_link(scn, link);
    if (index < 0 || route->link_count >= SCN_HOPS) fail_msg("%s: bad link %s on a route", scn->name, link);
    scn->hops[route - scn->routes][route->link_count++] = index;
}

/* Own links become links of the network, so that they can change. */
static inline void scn_split_hosts(struct scn *scn) {
    for (int32_t i = 0; i < scn->host_count; i++) {
        struct host_def *host = &scn->hosts[i];
        if (!host->has_links) continue;
        char name[64];
        snprintf(name, sizeof name, "%.40s.up", host->name);
        scn_add_link(scn, name, host->up_Bps, host->latency_ns, true);
        snprintf(name, sizeof name, "%.40s.down", host->name);
        scn_add_link(scn, name, host->down_Bps, 0, true);
        host->has_links = false;
    }
    for (int32_t i = 0; i < scn->flow_count; i++) {
        const struct flow_def *flow = &scn->flows[i].def;
        struct route_def *route = scn_add_route(scn, flow->source, flow->destination);
        char name[64];
        snprintf(name, sizeof name, "%.40s.up", scn->hosts[flow->source].name);
        scn_add_hop(scn, route, name);
        snprintf(name, sizeof name, "%.40s.down", scn->hosts[flow->destination].name);
        scn_add_hop(scn, route, name);
    }
}

static inline void scn_add_event(struct scn *scn, char *const *words, int32_t count) {
    if (scn_find_link(scn, words[2]) < 0) scn_split_hosts(scn);
    int32_t index = scn_find_link(scn, words[2]);
    if (index < 0) fail_msg("%s: no link %s", scn->name, words[2]);
    struct link_def *link = &scn->links[index];
    struct link_change *change = &scn->changes[index][link->change_count++];
    bool sets_bandwidth = strcmp(words[3], "bw") == 0;
    if (sets_bandwidth && count < 5) fail_msg("%s: bw needs a value", scn->name);
    *change = (struct link_change){.at_ns = scn_ns(words[1]),
                                   .up = sets_bandwidth || strcmp(words[3], "on") == 0,
                                   .bandwidth_Bps = sets_bandwidth ? strtod(words[4], NULL) : -1};
}

static inline void scn_add_flow(struct scn *scn, char *const *words, int32_t count) {
    assert_true(scn->flow_count < SCN_FLOWS && count >= 6);
    struct scn_flow *flow = &scn->flows[scn->flow_count++];
    snprintf(flow->name, sizeof flow->name, "%s", words[1]);
    flow->start_ns = scn_ns(words[2]);
    flow->def = (struct flow_def){.source = scn_host(scn, words[3]),
                                  .destination = scn_host(scn, words[4]),
                                  .bytes = strtoll(words[5], NULL, 10)};
    for (int32_t i = 6; i < count; i++) {
        const char *value = strchr(words[i], '=');
        if (!value) fail_msg("%s: bad option %s", scn->name, words[i]);
        if (strncmp(words[i], "rate", 4) == 0) flow->def.rate_cap_Bps = strtod(value + 1, NULL);
        if (strncmp(words[i], "prelat", 6) == 0) flow->def.delay_ns = scn_ns(value + 1);
        if (strncmp(words[i], "retry", 5) == 0) flow->def.retries = (int32_t)strtol(value + 1, NULL, 10);
        if (strncmp(words[i], "backoff", 7) == 0) flow->def.backoff_ns = scn_ns(value + 1);
    }
}

static inline void scn_expect(struct scn *scn, const char *flow, const char *finish, const char *outcome,
                              const char *tries) {
    for (int32_t i = 0; i < scn->flow_count; i++) {
        struct scn_flow *at = &scn->flows[i];
        if (strcmp(at->name, flow) != 0) continue;
        at->expected = true;
        at->finish_s = strtod(finish, NULL);
        snprintf(at->expected_text, sizeof at->expected_text, "%s", finish);
        at->ok = strcmp(outcome, "ok") == 0;
        at->tries = (int32_t)strtol(tries, NULL, 10);
        return;
    }
    fail_msg("%s: no flow %s", scn->name, flow);
}

static inline void scn_take_line(struct scn *scn, char *line) {
    char *words[16], *rest = NULL;
    int32_t count = 0;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word && count < 16; word = strtok_r(NULL, " \t\r\n", &rest))
        words[count++] = word;
    if (count == 0 || words[0][0] == '#') return;
    if (strcmp(words[0], "link") == 0) {
        scn_add_link(scn, words[1], strtod(words[2], NULL), scn_ns(words[3]),
                     count < 5 || strcmp(words[4], "fat") != 0);
        scn->links[scn->link_count - 1].cut_when_down = count < 5 || strcmp(words[4], "stall") != 0;
    } else if (strcmp(words[0], "host") == 0 || strcmp(words[0], "starhost") == 0) {
        struct host_def *host = &scn->hosts[scn->host_count++];
        snprintf(host->name, sizeof host->name, "%s", words[1]);
        host->has_links = count == 5;
        if (host->has_links) {
            host->up_Bps = strtod(words[2], NULL);
            host->down_Bps = strtod(words[3], NULL);
            host->latency_ns = scn_ns(words[4]);
        }
    } else if (strcmp(words[0], "route") == 0) {
        struct route_def *route = scn_add_route(scn, scn_host(scn, words[1]), scn_host(scn, words[2]));
        for (int32_t i = 3; i < count; i++) scn_add_hop(scn, route, words[i]);
    } else if (strcmp(words[0], "event") == 0 && count >= 4) {
        scn_add_event(scn, words, count);
    } else if (strcmp(words[0], "flow") == 0) {
        scn_add_flow(scn, words, count);
    } else if (strcmp(words[0], "expect") == 0 && count == 5) {
        scn_expect(scn, words[1], words[2], words[3], words[4]);
    } else {
        fail_msg("%s: bad line %s", scn->name, words[0]);
    }
}

static inline const struct network_def *scn_def(struct scn *scn) {
    scn->def =
        (struct network_def){scn->hosts, scn->host_count, scn->links, scn->link_count, scn->routes, scn->route_count};
    return &scn->def;
}

#endif
