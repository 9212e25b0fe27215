/* Explicit transfers: the cases of the fluid model whose times are known in closed form. */
#include "support.h"

#include <math.h>

#define INF       INFINITY
#define MAX_FLOWS 4

enum { A, B, C, D };

static const struct host_def plain = {.has_links = false};

static struct host_def host(double up_Bps, double down_Bps, int64_t latency_ns) {
    return (struct host_def){
        .name = "host", .has_links = true, .up_Bps = up_Bps, .down_Bps = down_Bps, .latency_ns = latency_ns};
}

static void check(const char *name, const struct network_def *network, const struct flow_def *flows,
                  const double *start_s, int64_t count, const double *end_s) {
    struct error error = {0};
    struct flow_record records[MAX_FLOWS];
    int64_t start_ns[MAX_FLOWS] = {0};
    for (int64_t i = 0; i < count; i++) start_ns[i] = llround(start_s[i] * 1e9);
    if (sim_play_flows(network, flows, start_ns, count, records, &error) != STATUS_OK)
        fail_msg("%s: %s", name, error.message);
    for (int64_t i = 0; i < count; i++) {
        int64_t expected = isinf(end_s[i]) ? TIME_NEVER : llround(end_s[i] * 1e9);
        if (records[i].end_ns != expected || records[i].start_ns != start_ns[i] || records[i].ok != !isinf(end_s[i]) ||
            records[i].tries != 1)
            fail_msg("%s: flow %lld from %lld to %lld (%s, %d tries), expected %lld", name, (long long)i,
                     (long long)records[i].start_ns, (long long)records[i].end_ns, records[i].ok ? "ok" : "failed",
                     records[i].tries, (long long)expected);
    }
}

static struct network_def hosts_only(const struct host_def *hosts, int32_t count) {
    return (struct network_def){.hosts = hosts, .host_count = count};
}

static void own_links(void **state) {
    (void)state;
    struct host_def pair[] = {host(12.5e6, 12.5e6, 0), host(12.5e6, 12.5e6, 0)};
    struct host_def slow[] = {host(12.5e6, 12.5e6, 20000000), host(12.5e6, 12.5e6, 20000000)};
    struct host_def funnel[] = {host(INF, INF, 0), host(INF, INF, 0), host(INF, 12.5e6, 0)};
    struct host_def uneven[] = {host(2.5e6, 12.5e6, 0), host(5e6, 50e6, 0)};
    struct network_def network = hosts_only(pair, 2);
    check("one send", &network, (struct flow_def[]){{A, B, 3000000000, 0, 0, 0, 0}}, (double[]){0}, 1, (double[]){240});
    check("nothing", &network, NULL, NULL, 0, NULL);
    network = hosts_only(slow, 2);
    struct flow_def both[] = {{A, B, 3000000000, 0, 0, 0, 0}, {B, A, 3000000000, 0, 0, 0, 0}};
    check("exchange", &network, both, (double[]){0, 0}, 2, (double[]){240.02, 240.02});
    check("exchange that starts late", &network, both, (double[]){1e6, 1e6}, 2, (double[]){1000240.02, 1000240.02});
    struct flow_def small[] = {{A, B, 0, 0, 0, 0, 0}, {A, B, 1000000, 0, 0, 0, 0}};
    check("zero bytes take their latency", &network, small, (double[]){5, 6}, 2, (double[]){5.02, 6.1});
    network = hosts_only(funnel, 3);
    struct flow_def to_c[] = {{A, C, 1000000000, 0, 0, 0, 0}, {B, C, 2000000000, 0, 0, 0, 0}};
    check("two into one", &network, to_c, (double[]){0, 0}, 2, (double[]){160, 240});
    check("two into one, second later", &network, to_c, (double[]){0, 40}, 2, (double[]){120, 240});
    check("order of the list does not matter", &network, to_c, (double[]){40, 0}, 2, (double[]){200, 240});
    network = hosts_only(uneven, 2);
    struct flow_def hundred[] = {{A, B, 100000000, 0, 0, 0, 0}, {B, A, 100000000, 0, 0, 0, 0}};
    check("asymmetric exchange", &network, hundred, (double[]){0, 0}, 2, (double[]){40, 20});
    struct flow_def capped[] = {{A, B, 100000000, 1e6, 3 * SECOND, 0, 0}};
    check("rate cap and delay", &network, capped, (double[]){1}, 1, (double[]){104});
}

static void shared_links(void **state) {
    (void)state;
    struct host_def hosts[] = {plain, plain, plain, plain};
    struct link_def line[] = {{.name = "one", .bandwidth_Bps = 10e6, .shared = true},
                              {.name = "two", .bandwidth_Bps = 5e6, .shared = true},
                              {.name = "three", .bandwidth_Bps = 10e6, .shared = true}};
    struct route_def first[] = {{A, B, false, (int32_t[]){0, 1, 2}, 3}, {C, D, false, (int32_t[]){0}, 1}};
    struct route_def second[] = {{A, B, false, (int32_t[]){0, 1, 2}, 3}, {C, D, false, (int32_t[]){1}, 1}};
    struct flow_def fifty[] = {{A, B, 50000000, 0, 0, 0, 0}, {C, D, 50000000, 0, 0, 0, 0}};
    struct network_def network = {hosts, 4, line, 3, first, 2};
    check("line, other over the first", &network, fifty, (double[]){0, 0}, 2, (double[]){10, 10});
    network.routes = second;
    check("line, other over the second", &network, fifty, (double[]){0, 0}, 2, (double[]){20, 20});

    struct host_def bells[] = {host(8e6, 8e6, 0), host(8e6, 8e6, 0), host(8e6, 8e6, 0), host(8e6, 8e6, 0)};
    struct route_def trunk[] = {{A, B, true, (int32_t[]){0}, 1}, {C, D, true, (int32_t[]){0}, 1}};
    struct flow_def across[] = {{A, B, 100000000, 0, 0, 0, 0}, {C, D, 50000000, 0, 0, 0, 0}};
    network = (struct network_def){bells, 4, line, 1, trunk, 2};
    check("dumbbell", &network, across, (double[]){0, 0}, 2, (double[]){16.25, 10});
}

static void stalled_for_good(void **state) {
    (void)state;
    struct host_def hosts[] = {plain, plain, plain};
    struct link_def links[] = {{.name = "dead", .bandwidth_Bps = 0, .shared = true},
                               {.name = "alive", .bandwidth_Bps = 10e6, .shared = true}};
    struct route_def routes[] = {{A, B, false, (int32_t[]){0}, 1}, {A, C, false, (int32_t[]){1}, 1}};
    struct network_def network = {hosts, 3, links, 2, routes, 2};
    struct flow_def flows[] = {{A, B, 1000, 0, 0, 0, 0}, {A, C, 10000000, 0, 0, 0, 0}};
    check("one stalls, one ends", &network, flows, (double[]){0, 2}, 2, (double[]){INFINITY, 3});
}

static void refused(void **state) {
    (void)state;
    struct host_def hosts[] = {host(1e6, 1e6, 0), host(1e6, 1e6, 0)};
    struct network_def network = hosts_only(hosts, 2);
    struct flow_record record;
    static const struct {
        const char *name;
        struct flow_def flow;
        int64_t start_ns;
    } bad[] = {{"to itself", {A, A, 1, 0, 0, 0, 0}, 0},
               {"negative size", {A, B, -1, 0, 0, 0, 0}, 0},
               {"negative start", {A, B, 1, 0, 0, 0, 0}, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error error = {0};
        assert_int_equal(sim_play_flows(&network, &bad[i].flow, &bad[i].start_ns, 1, &record, &error), STATUS_INPUT);
        assert_true(strlen(error.message) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_links), cmocka_unit_test(shared_links),
                                       cmocka_unit_test(stalled_for_good), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
