/* Small networks for the tests of this folder, and the loop that plays them. */
#ifndef TESTS_NETMODEL_PLAY_H
#define TESTS_NETMODEL_PLAY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "netmodel/netmodel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof *(array)))
#define MS           INT64_C(1000000)
#define SECOND       INT64_C(1000000000)
#define MBPS_100     12.5e6 /* bytes per second */

#define assert_near(got, expected, tolerance)                                                                          \
    do {                                                                                                               \
        double got_ = (got), expected_ = (expected);                                                                   \
        if (!(fabs(got_ - expected_) <= (tolerance))) fail_msg("%.17g, expected %.17g", got_, expected_);              \
    } while (0)

enum { MAX_HOSTS = 64 };

struct star { /* hosts with links of their own */
    struct host_def hosts[MAX_HOSTS];
    int32_t members[MAX_HOSTS]; /* 0, 1, 2 ... */
    struct network_def def;
};

static inline void star_init(struct star *star, int32_t hosts, double up, double down, int64_t latency_ns) {
    memset(star, 0, sizeof *star);
    for (int32_t i = 0; i < hosts; i++) {
        star->hosts[i] = (struct host_def){.has_links = true, .up_Bps = up, .down_Bps = down, .latency_ns = latency_ns};
        snprintf(star->hosts[i].name, sizeof star->hosts[i].name, "W%d", i);
        star->members[i] = i;
    }
    star->def = (struct network_def){.hosts = star->hosts, .host_count = hosts};
}

static inline struct network *create_network(const struct network_def *def) {
    struct error error;
    error_clear(&error);
    struct network *network = network_create(def, &error);
    if (!network) fail_msg("network_create: %s", error.message);
    return network;
}

static inline int64_t start_flow(struct network *network, int64_t at_ns, const struct flow_def *def) {
    struct error error;
    error_clear(&error);
    int64_t id = 0;
    if (network_start_flow(network, at_ns, def, &id, &error) != STATUS_OK) fail_msg("start_flow: %s", error.message);
    return id;
}

static inline int64_t start_collective(struct network *network, int64_t at_ns, const struct collective_def *def) {
    struct error error;
    error_clear(&error);
    int64_t id = 0;
    if (network_start_collective(network, at_ns, def, &id, &error) != STATUS_OK)
        fail_msg("start_collective: %s", error.message);
    return id;
}

static inline void advance(struct network *network, int64_t to_ns) {
    struct error error;
    error_clear(&error);
    if (network_advance(network, to_ns, &error) != STATUS_OK) fail_msg("advance: %s", error.message);
}

/* Plays until nothing more happens; keeps the records of at most `room` events and returns how many there were. */
static inline int64_t play(struct network *network, struct network_event *events, int64_t room) {
    int64_t count = 0;
    for (int64_t now; (now = network_next_ns(network)) != TIME_NEVER;) {
        advance(network, now);
        for (struct network_event event; network_next_event(network, &event); count++)
            if (count < room) events[count] = event;
    }
    return count;
}

/* The DONE record of what is played to its end. */
static inline struct network_event play_to_done(struct network *network, int64_t id) {
    struct network_event done = {.time_ns = -1};
    for (int64_t now; (now = network_next_ns(network)) != TIME_NEVER;) {
        advance(network, now);
        for (struct network_event event; network_next_event(network, &event);)
            if (event.kind == NETWORK_DONE && event.id == id) done = event;
    }
    if (done.time_ns < 0) fail_msg("no end");
    return done;
}

#endif
