/* Bad defs name what is at fault; routes and their latencies; copies. */
#include "play.h"

#include "topology.h"

static struct host_def hosts[3];
static struct link_def links[2];
static struct link_change changes[2];
static int32_t over[2];
static struct route_def routes[2];
static struct network_def def;

static void set_good(void) {
    hosts[0] = (struct host_def){.name = "A", .has_links = true, .up_Bps = 1e6, .down_Bps = INFINITY, .latency_ns = 5};
    hosts[1] = (struct host_def){.name = "B", .has_links = true, .up_Bps = 0, .down_Bps = 2e6};
    hosts[2] = (struct host_def){.name = "C"};
    changes[0] = (struct link_change){.at_ns = 3, .up = false, .bandwidth_Bps = -1};
    changes[1] = (struct link_change){.at_ns = 3, .up = true, .bandwidth_Bps = 5};
    links[0] = (struct link_def){
        .name = "L", .bandwidth_Bps = 1e6, .latency_ns = 7, .shared = true, .changes = changes, .change_count = 2};
    links[1] = (struct link_def){.name = "M", .bandwidth_Bps = INFINITY, .latency_ns = 11};
    over[0] = 0;
    over[1] = 1;
    routes[0] = (struct route_def){0, 2, true, over, 2};
    routes[1] = (struct route_def){1, 2, false, over, 1};
    def = (struct network_def){hosts, 3, links, 2, routes, 2};
}

static void expect_bad(const char *message) {
    struct error error;
    error_clear(&error);
    if (network_check(&def, &error) != STATUS_INPUT || error.status != STATUS_INPUT || !strstr(error.message, message))
        fail_msg("expected '%s', got '%s'", message, error.message);
    assert_null(network_create(&def, &error));
    set_good();
}

static void test_bad_defs(void **state) {
    (void)state;
    struct error error;
    set_good();
    assert_int_equal(network_check(&def, &error), STATUS_OK);
#define BAD(change, message) (change, expect_bad(message))
    BAD(def.host_count = 0, "without hosts");
    BAD(def.link_count = -1, "negative number of links");
    BAD(def.route_count = -1, "negative number of links or routes");
    BAD(def.host_count = INT32_MAX, "too large");
    BAD(memset(hosts[1].name, 'x', sizeof hosts[1].name), "name of host 1");
    BAD(hosts[1].up_Bps = -1, "bandwidth of host 'B'");
    BAD(hosts[1].down_Bps = NAN, "bandwidth of host 'B'");
    BAD(hosts[0].latency_ns = -1, "latency of host 'A'");
    BAD(memset(links[1].name, 'x', sizeof links[1].name), "name of link 1");
    BAD(links[0].bandwidth_Bps = NAN, "bandwidth of link 'L'");
    BAD(links[0].bandwidth_Bps = -5, "bandwidth of link 'L'");
    BAD(links[1].latency_ns = -1, "latency of link 'M'");
    BAD(links[1].change_count = -1, "changes of link 'M'");
    BAD(changes[0].at_ns = 4, "change 2 of link 'L'");
    BAD(changes[0].at_ns = -1, "change 1 of link 'L'");
    BAD(changes[1].bandwidth_Bps = NAN, "change 2 of link 'L'");
    BAD(routes[0].source = 3, "names host 3");
    BAD(routes[0].destination = -1, "names host -1");
    BAD(routes[0].destination = 0, "host 'A' to itself");
    BAD(routes[0].link_count = -1, "links from 'A' to 'C'");
    BAD(over[1] = 2, "names link 2");
    BAD(over[1] = -1, "names link -1");
    BAD((routes[1].source = 2, routes[1].destination = 0), "two routes from 'C' to 'A'");
    BAD(routes[1].source = 0, "two routes from 'A' to 'C'");
#undef BAD
}

struct row {
    int32_t source, destination;
    int32_t links; /* of the route; -1: none leads there */
    int64_t latency_ns;
};

static void test_paths(void **state) {
    (void)state;
    static const struct row rows[] = {
        {0, 1, 0, 5}, {1, 0, 0, 0}, {0, 2, 2, 23}, {2, 0, 2, 18}, {1, 2, 1, 7}, {2, 1, -1, 0},
    };
    struct topology topology = {0};
    struct error error;
    set_good();
    assert_int_equal(topology_init(&topology, &def, &error), STATUS_OK);
    memset(hosts, 0xff, sizeof hosts); /* all was copied */
    memset(links, 0xff, sizeof links);
    memset(changes, 0xff, sizeof changes);
    memset(over, 0xff, sizeof over);
    for (int i = 0; i < COUNT(rows); i++) {
        struct path path = {0};
        enum status status = topology_find_path(&topology, rows[i].source, rows[i].destination, &path, &error);
        if (rows[i].links < 0) {
            assert_int_equal(status, STATUS_INPUT);
            assert_non_null(strstr(error.message, "no route from 'C' to 'B'"));
            continue;
        }
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(path.link_count, rows[i].links);
        assert_int_equal(path.latency_ns, rows[i].latency_ns);
    }
    assert_int_equal(topology.change_count, 2);
    assert_false(topology.changes[0].change.up); /* equal times keep their order */
    assert_true(topology.changes[1].change.up);
    assert_true(topology_has_routes(&topology, 2));
    topology_clear(&topology);
}

/* Memory is hosts + routes, so a large star is made at once; a table of all pairs would take 40 GB. */
static void test_many_hosts(void **state) {
    (void)state;
    enum { MANY = 100000 };
    struct error error;
    struct host_def *many = alloc_zero(MANY, sizeof *many, "hosts", &error);
    assert_non_null(many);
    for (int32_t i = 0; i < MANY; i++) many[i] = (struct host_def){.has_links = true, .up_Bps = 1e6, .down_Bps = 1e6};
    struct network *network = create_network(&(struct network_def){.hosts = many, .host_count = MANY});
    int64_t id = start_flow(network, 0, &(struct flow_def){.source = MANY - 1, .destination = 0, .bytes = 1000000});
    assert_int_equal(play_to_done(network, id).time_ns, SECOND);
    network_free(network);
    alloc_free(many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_defs),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_many_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
