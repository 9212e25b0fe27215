/* Files of transfers: what they become, how link changes and outages merge, a few played to known times, and every kind
 * of mistake at its place. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

static struct flows_file must_read_flows(const char *text) {
    char path[32];
    struct error error;
    struct flows_file file;
    write_file(path, text);
    if (flows_read(path, &file, &error) != STATUS_OK)
        fail_msg("%d:%d: %s\nin: %s", error.line, error.column, error.message, text);
    unlink(path);
    return file;
}

static const char example[] =
    "hosts: {A: {up: 100 Mbps, down: 100 Mbps, latency: 50 ms}, C: {up: inf, down: 12.5 MB/s}, D: {}}\n"
    "links:\n"
    "  trunk: {bandwidth: 10 MB/s, latency: 5 ms, shared: true,\n"
    "          changes: [{at: 4 s, bandwidth: 5 MB/s}], down: [{from: 4 s, to: 9 s}], on_down: cut}\n"
    "  fat: {bandwidth: 1 GB/s, shared: false}\n"
    "routes: [{between: [A, C], over: [trunk]}, {from: A, to: D, over: [fat, trunk]}]\n"
    "flows:\n"
    "  - {name: x, from: A, to: C, bytes: 1 GB, start: 2 s, rate: 5 MB/s, delay: 1 s, retries: 2, backoff: 0.5 s}\n"
    "  - {from: C, to: A, bytes: 10 B}\n";

static void the_example_is_read(void **state) {
    (void)state;
    struct flows_file file = must_read_flows(example);
    const struct network_def *network = &file.network;
    assert_int_equal(network->host_count, 3);
    assert_string_equal(network->hosts[0].name, "A");
    assert_true(network->hosts[0].has_links && network->hosts[0].up_Bps == 12.5e6);
    assert_int_equal(network->hosts[0].latency_ns, 50000000);
    assert_true(isinf(network->hosts[1].up_Bps) && network->hosts[1].down_Bps == 12.5e6);
    assert_false(network->hosts[2].has_links);
    assert_int_equal(network->link_count, 2);
    const struct link_def *trunk = &network->links[0];
    assert_string_equal(trunk->name, "trunk");
    assert_true(trunk->bandwidth_Bps == 10e6 && trunk->shared && trunk->cut_when_down);
    assert_int_equal(trunk->latency_ns, 5000000);
    assert_int_equal(trunk->change_count, 3);
    assert_true(network->links[1].bandwidth_Bps == 1e9 && !network->links[1].shared);
    assert_false(network->links[1].cut_when_down);
    assert_int_equal(network->route_count, 2);
    assert_true(network->routes[0].both_ways && !network->routes[1].both_ways);
    assert_int_equal(network->routes[1].destination, 2);
    assert_int_equal(network->routes[1].link_count, 2);
    assert_int_equal(network->routes[1].links[0], 1);
    assert_int_equal(file.count, 2);
    assert_string_equal(file.names[0], "x");
    assert_string_equal(file.names[1], "flow2");
    assert_int_equal(file.start_ns[0], 2 * NS_PER_S);
    assert_int_equal(file.flows[0].bytes, 1000000000);
    assert_true(file.flows[0].rate_cap_Bps == 5e6);
    assert_int_equal(file.flows[0].delay_ns, NS_PER_S);
    assert_int_equal(file.flows[0].retries, 2);
    assert_int_equal(file.flows[0].backoff_ns, NS_PER_S / 2);
    assert_int_equal(file.flows[1].source, 1);
    flows_clear(&file);
    assert_null(file.flows);
}

/* Changes of bandwidth and outages, in any order in the file, become ascending states; a link is down while any outage
 * lasts. */
static void changes_become_states(void **state) {
    (void)state;
    static const struct {
        const char *of_link, *states; /* "at:up:bandwidth", seconds and byte/s */
    } cases[] = {
        {"changes: [{at: 5 s, bandwidth: 1 MB/s}, {at: 2 s, bandwidth: 0 Mbps}]", "2:1:0 5:1:1000000 "},
        {"down: [{from: 3 s}]", "3:0:-1 "},
        {"down: [{from: 6 s, to: 8 s}, {from: 1 s, to: 2 s}]", "1:0:-1 2:1:-1 6:0:-1 8:1:-1 "},
        {"down: [{from: 1 s, to: 5 s}, {from: 3 s, to: 7 s}]", "1:0:-1 3:0:-1 5:0:-1 7:1:-1 "},
        {"down: [{from: 1 s, to: 3 s}, {from: 3 s, to: 4 s}]", "1:0:-1 3:1:-1 3:0:-1 4:1:-1 "},
        {"changes: [{at: 2 s, bandwidth: 8 Mbps}], down: [{from: 1 s, to: 3 s}]", "1:0:-1 2:0:1000000 3:1:-1 "},
        {"changes: [{at: 1 s, bandwidth: 8 Mbps}], down: [{from: 1 s, to: 3 s}]", "1:1:1000000 1:0:-1 3:1:-1 "},
        {"changes: [], down: []", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = {0}, got = {0};
        text_append(&text, "hosts: {A: {}, B: {}}\nlinks: {l: {bandwidth: 9 MB/s, %s}}\nflows: []\n", cases[i].of_link);
        struct flows_file file = must_read_flows(text_get(&text));
        assert_true(file.network.links[0].shared && !file.network.links[0].cut_when_down); /* unless said otherwise */
        for (int32_t k = 0; k < file.network.links[0].change_count; k++) {
            const struct link_change *change = &file.network.links[0].changes[k];
            text_append(&got, "%g:%d:%.0f ", (double)change->at_ns / 1e9, change->up, change->bandwidth_Bps);
        }
        assert_string_equal(text_get(&got), cases[i].states);
        flows_clear(&file);
        text_clear(&text);
        text_clear(&got);
    }
}

/* Cases of the fluid model with exact times (seconds), played end to end. */
static void known_transfers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double end_s[2];
    } cases[] = {
        {"hosts: {A: {up: inf}, B: {up: inf}, C: {down: 12.5 MB/s}}\n"
         "flows: [{from: A, to: C, bytes: 1 GB}, {from: B, to: C, bytes: 2 GB, start: 40 s}]\n",
         {120, 240}},
        {"hosts: {A: {up: 20 Mbps, down: 100 Mbps}, B: {up: 40 Mbps, down: 400 Mbps}}\n"
         "flows: [{from: A, to: B, bytes: 100 MB}, {from: B, to: A, bytes: 100 MB}]\n",
         {40, 20}},
        {"hosts: {A: {}, B: {}, C: {}, D: {}}\n"
         "links: {l: {bandwidth: 10 MB/s, changes: [{at: 4 s, bandwidth: 5 MB/s}]},\n"
         "        k: {bandwidth: 10 MB/s, down: [{from: 4 s, to: 9 s}]}}\n"
         "routes: [{from: A, to: B, over: [l]}, {from: C, to: D, over: [k]}]\n"
         "flows: [{from: A, to: B, bytes: 100 MB}, {from: C, to: D, bytes: 100 MB}]\n",
         {16, 15}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct flows_file file = must_read_flows(cases[i].text);
        struct flow_record records[2];
        struct error error;
        assert_int_equal(sim_play_flows(&file.network, file.flows, file.start_ns, file.count, records, &error),
                         STATUS_OK);
        for (int32_t k = 0; k < 2; k++) {
            assert_true(records[k].ok);
            assert_int_equal(records[k].end_ns, (int64_t)(cases[i].end_s[k] * 1e9));
        }
        flows_clear(&file);
    }
}

#define HOSTS "hosts: {A: {}, B: {}}\n"

static const struct {
    const char *text, *expected;
} faults[] = {
    {"", "1:1: the file is empty; it needs hosts and flows"},
    {"x\n", "1:1: a file of flows must be a map of keys, not one value"},
    {"flows: []\n", "1:1: a file of flows has no 'hosts'"},
    {HOSTS, "1:1: a file of flows has no 'flows'"},
    {HOSTS "flow: []\n", "2:1: unknown key 'flow' in a file of flows; did you mean 'flows'?"},
    {HOSTS "flows:\n", "2:1: flows: must be a list, not one value"},
    {"hosts: [A]\nflows: []\n", "1:8: hosts: must be a map of hosts, such as {A: {up: 100 Mbps, down: 100 Mbps}}"},
    {"hosts: {A: {up: 100}}\nflows: []\n", "1:17: up: no unit in '100'; a rate like '100 Mbps' is needed"},
    {"hosts: {A: {upp: 1 Mbps}}\nflows: []\n", "1:13: unknown key 'upp' in a host; did you mean 'up'?"},
    {"hosts: {A: 5}\nflows: []\n", "1:12: a host must be a map of keys, not one value"},
    {"hosts: {A: {latency: 5 Mbps}}\nflows: []\n",
     "1:22: latency: unknown unit in '5 Mbps'; a duration like '20 ms' is needed"},
    {"hosts: {A: {up: []}}\nflows: []\n", "1:17: up: must be one value, not a list"},
    {"hosts: {A: {up: ''}}\nflows: []\n", "1:17: up: is empty; write a value or leave the key out"},
    {"hosts: {AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA: {}}\nflows: []\n",
     "1:9: hosts: a name must have 1 to 47 bytes"},
    {"hosts: {A: {}, A: {}}\nflows: []\n", "1:16: key 'A' stands twice; the first is in line 1"},
    {HOSTS "links: {l: {}}\nflows: []\n", "2:12: a link has no 'bandwidth'"},
    {HOSTS "links: {l: {bandwidth: 1 MB/s, shared: yes}}\nflows: []\n",
     "2:40: shared: 'yes' is neither true nor false"},
    {HOSTS "links: {l: {bandwidth: 1 MB/s, on_down: fail}}\nflows: []\n",
     "2:41: on_down: 'fail' is neither cut nor stall"},
    {HOSTS "links: {l: {bandwidth: 1 MB/s, down: 4 s}}\nflows: []\n", "2:38: down: must be a list, not one value"},
    {HOSTS "links: {l: {bandwidth: 1 MB/s, down: [{from: 4 s, to: 4 s}]}}\nflows: []\n",
     "2:39: down: ends at or before it begins; write from: earlier, to: later"},
    {HOSTS "links: {l: {bandwidth: 1 MB/s, changes: [{at: 4 s}]}}\nflows: []\n", "2:42: a change has no 'bandwidth'"},
    {HOSTS "routes: [{between: [A, B]}]\nflows: []\n", "2:10: a route has no 'over'"},
    {HOSTS "routes: [{between: [A], over: []}]\nflows: []\n", "2:20: between: must be a list of two hosts"},
    {HOSTS "routes: [{between: [A, X], over: []}]\nflows: []\n", "2:24: between: unknown host 'X'; *"},
    {HOSTS "routes: [{between: [A, A], over: []}]\nflows: []\n",
     "2:10: a route leads from a host to itself; name two hosts"},
    {HOSTS "routes: [{between: [A, B], from: A, over: []}]\nflows: []\n",
     "2:10: a route has both 'between' and 'from'/'to'; write one"},
    {HOSTS "routes: [{from: A, over: []}]\nflows: []\n", "2:10: a route needs between: [A, B], or from: A and to: B"},
    {HOSTS "links: {trunk: {bandwidth: 1 MB/s}}\nroutes: [{between: [A, B], over: [trunc]}]\nflows: []\n",
     "3:35: over: unknown link 'trunc'; did you mean 'trunk'?"},
    {HOSTS "flows: [{from: A, to: B}]\n", "2:9: a flow has no 'bytes'"},
    {HOSTS "flows: [{from: A, to: B, bytes: 5}]\n", "2:33: bytes: no unit in '5'; a size like '3 GB' is needed"},
    {HOSTS "flows: [{from: A, to: B, bytes: 5 Mb}]\n", "2:33: bytes: unit 'Mb' may mean bits or bytes; *"},
    {HOSTS "flows: [{from: A, to: A, bytes: 5 B}]\n", "2:9: flow 'flow1' goes from a host to itself; name two hosts"},
    {HOSTS "flows: [{from: A, to: B, bytes: 5 B, rate: 0 Mbps}]\n", "2:44: rate: '0 Mbps' is out of range; write more "
                                                                    "than 0"},
    {HOSTS "flows: [{from: A, to: B, bytes: 5 B, retries: -1}]\n",
     "2:47: retries: '-1' is out of range; write 0 to 1000000000"},
    {HOSTS "flows: [{from: [A], to: B, bytes: 5 B}]\n", "2:16: from: must be the name of a host, not a list"},
    {HOSTS "flows: [{name: [], from: A, to: B, bytes: 5 B}]\n", "2:16: name: must be one value, not a list"},
    {HOSTS "flows: [{\n", "*"},
};

static void mistakes(void **state) {
    (void)state;
    int32_t failures = 0;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char path[32], got[600];
        struct error error;
        struct flows_file file;
        int64_t blocks = alloc_live_blocks();
        write_file(path, faults[i].text);
        enum status status = flows_read(path, &file, &error);
        unlink(path);
        snprintf(got, sizeof got, "%" PRId32 ":%" PRId32 ": %s", error.line, error.column, error.message);
        size_t length = strlen(faults[i].expected);
        bool open = faults[i].expected[length - 1] == '*';
        bool same = open ? strncmp(got, faults[i].expected, length - 1) == 0 : strcmp(got, faults[i].expected) == 0;
        if (status != STATUS_INPUT || !same || file.count != 0 || alloc_live_blocks() != blocks) {
            failures++;
            print_error("%s  expected %s\n  got      %s (%s)\n", faults[i].text, faults[i].expected, got,
                        status_name(status));
        }
        if (status == STATUS_OK) flows_clear(&file);
    }
    assert_int_equal(failures, 0);
}

/* A hundred thousand hosts and flows: names are found without looking at all of them. */
static void many_hosts(void **state) {
    (void)state;
    struct text text = {0};
    text_append(&text, "hosts:\n");
    for (int32_t i = 0; i < 50000; i++) text_append(&text, " h%d: {}\n", i);
    text_append(&text, "flows:\n");
    for (int32_t i = 0; i < 50000; i++) text_append(&text, " - {from: h%d, to: h0, bytes: 1 B}\n", i % 49999 + 1);
    struct flows_file file = must_read_flows(text_get(&text));
    assert_int_equal(file.count, 50000);
    assert_int_equal(file.flows[49997].source, 49998);
    flows_clear(&file);
    text_clear(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_read), cmocka_unit_test(changes_become_states),
        cmocka_unit_test(known_transfers),     cmocka_unit_test(mistakes),
        cmocka_unit_test(many_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
