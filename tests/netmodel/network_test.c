/* The clock and its records: order within an instant, flows started ahead, cancelling, stalls, endless loops, failing
 * memory, and what holds for any traffic: bytes are conserved and the order of starting does not matter. */
#include "play.h"

#include "base/rng.h"

static struct network *create_star(int32_t hosts, double up, double down, int64_t latency_ns) {
    struct star star;
    star_init(&star, hosts, up, down, latency_ns);
    return create_network(&star.def);
}

/* A network of one link between two hosts, with the given changes. */
static struct network *create_line(bool cut_when_down, const struct link_change *changes, int32_t change_count) {
    struct host_def hosts[2] = {{.name = "A"}, {.name = "B"}};
    struct link_def link = {.name = "L",
                            .bandwidth_Bps = 10e6,
                            .shared = true,
                            .cut_when_down = cut_when_down,
                            .changes = changes,
                            .change_count = change_count};
    struct route_def route = {0, 1, true, &(int32_t){0}, 1};
    return create_network(&(struct network_def){hosts, 2, &link, 1, &route, 1});
}

/* ---- records ---- */

static void test_records_of_a_flow(void **state) {
    (void)state;
    struct network *network = create_star(2, 10e6, 10e6, 50 * MS);
    int64_t id = start_flow(network, 2 * SECOND, &(struct flow_def){.source = 1, .destination = 0, .bytes = 10000000});
    struct network_event events[4];
    assert_int_equal(play(network, events, COUNT(events)), 2);
    assert_int_equal(events[0].kind, NETWORK_TRANSFER);
    assert_int_equal(events[1].kind, NETWORK_DONE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(events[i].id, id);
        assert_int_equal(events[i].time_ns, 3050 * MS);
        assert_int_equal(events[i].start_ns, 2 * SECOND);
        assert_int_equal(events[i].source, 1);
        assert_int_equal(events[i].destination, 0);
        assert_int_equal(events[i].bytes, 10000000);
        assert_int_equal(events[i].bytes_lost, 0);
        assert_true(events[i].ok);
        assert_int_equal(events[i].tries, 1);
    }
    assert_int_equal(network_flows_started(network), 1);
    assert_int_equal(network_rate_computations(network), 1);
    assert_int_equal(network_bytes_delivered(network), 10000000);
    network_free(network);
}

static void test_bad_flows(void **state) {
    (void)state;
    static const struct {
        struct flow_def def;
        const char *message;
    } rows[] = {
        {{.source = 0, .destination = 2}, "there are 2 hosts"},
        {{.source = -1, .destination = 0}, "there are 2 hosts"},
        {{.source = 1, .destination = 1}, "'W1' to itself"},
        {{.source = 0, .destination = 1, .bytes = -1}, "negative bytes"},
        {{.source = 0, .destination = 1, .rate_cap_Bps = -1}, "impossible rate"},
        {{.source = 0, .destination = 1, .rate_cap_Bps = NAN}, "impossible rate"},
        {{.source = 0, .destination = 1, .delay_ns = -1}, "negative delay"},
        {{.source = 0, .destination = 1, .retries = -1}, "retries"},
        {{.source = 0, .destination = 1, .backoff_ns = -1}, "backoff"},
    };
    struct network *network = create_star(2, 1, 1, 0);
    for (int i = 0; i < COUNT(rows); i++) {
        struct error error;
        error_clear(&error);
        int64_t id;
        enum status status = network_start_flow(network, 0, &rows[i].def, &id, &error);
        if (status != STATUS_INPUT || !strstr(error.message, rows[i].message))
            fail_msg("expected '%s', got '%s'", rows[i].message, error.message);
    }
    assert_int_equal(network_next_ns(network), TIME_NEVER);
    network_free(network);
}

/* At one instant: completions, link changes, then starts, whatever the order in which they were asked for. */
static void test_order_within_an_instant(void **state) {
    (void)state;
    static const struct link_change changes[] = {{10 * SECOND, false, -1}, {20 * SECOND, true, -1}};
    struct network *network = create_line(true, changes, 2);
    struct flow_def def = {.source = 0, .destination = 1, .bytes = 100000000};
    int64_t late = start_flow(network, 10 * SECOND, &def), early = start_flow(network, 0, &def);
    int64_t after = start_flow(network, 20 * SECOND, &def);
    struct network_event events[6];
    assert_int_equal(play(network, events, 6), 6);
    assert_true(events[0].id == early && events[0].ok && events[0].time_ns == 10 * SECOND);
    assert_true(events[2].id == late && !events[2].ok && events[2].time_ns == 10 * SECOND);
    assert_true(events[4].id == after && events[4].ok && events[4].time_ns == 30 * SECOND);
    network_free(network);
}

/* Flows that end at one instant do so in the order in which they were started. */
static void test_equal_ends_keep_their_order(void **state) {
    (void)state;
    struct network *network = create_star(9, 1e6, 1e6, 0);
    int64_t ids[8];
    for (int32_t i = 0; i < 8; i++)
        ids[i] = start_flow(network, 0, &(struct flow_def){.source = i + 1, .destination = 0, .bytes = 1000});
    struct network_event events[16];
    assert_int_equal(play(network, events, 16), 16);
    for (int32_t i = 0; i < 8; i++) assert_int_equal(events[2 * i].id, ids[i]);
    network_free(network);
}

static void test_advance_without_events(void **state) {
    (void)state;
    struct network *network = create_star(2, 10e6, 10e6, 0);
    advance(network, 5 * SECOND);
    int64_t id = start_flow(network, 5 * SECOND, &(struct flow_def){.source = 0, .destination = 1, .bytes = 10000000});
    advance(network, 5500 * MS); /* half-way, nothing happens */
    assert_int_equal(network_next_ns(network), 6 * SECOND);
    struct network_event event;
    assert_false(network_next_event(network, &event));
    assert_int_equal(play_to_done(network, id).time_ns, 6 * SECOND);
    advance(network, TIME_NEVER);
    network_free(network);
}

/* ---- cancelling ---- */

static void test_cancel_frees_the_links(void **state) {
    (void)state;
    struct network *network = create_star(3, 10e6, 10e6, 0);
    struct flow_def to_zero = {.source = 1, .destination = 0, .bytes = 100000000};
    int64_t first = start_flow(network, 0, &to_zero);
    to_zero.source = 2;
    int64_t second = start_flow(network, 0, &to_zero);
    advance(network, 4 * SECOND); /* 20 MB each */
    network_cancel(network, first);
    network_cancel(network, first); /* an id that has ended is nothing to cancel */
    network_cancel(network, 123456789);
    network_cancel(network, -1);
    assert_int_equal(network_bytes_lost(network), 20000000);
    struct network_event done = play_to_done(network, second);
    assert_int_equal(done.time_ns, 12 * SECOND);
    assert_int_equal(network_bytes_delivered(network), 100000000);
    network_free(network);
}

static void test_cancelled_collective_is_silent(void **state) {
    (void)state;
    struct network *network = create_star(4, 10e6, 10e6, 1 * MS);
    int32_t members[] = {0, 1, 2, 3};
    struct collective_def ring = {COLLECTIVE_RING, FIDELITY_STEP, 40000000, members, 4};
    int64_t id = start_collective(network, 0, &ring);
    advance(network, 501 * MS); /* 5 MB of each chunk of 10 MB */
    network_cancel(network, id);
    assert_int_equal(network_bytes_lost(network), 4 * 5000000);
    struct network_event events[1];
    assert_int_equal(play(network, events, 1), 0);
    id = start_collective(network, 501 * MS, &ring);
    assert_int_equal(play_to_done(network, id).time_ns, 501 * MS + 6 * 1001 * MS);
    network_free(network);
}

/* ---- what does not end ---- */

static void expect_stall(struct network *network, const char *expected) {
    char text[200];
    assert_int_equal(network_next_ns(network), TIME_NEVER);
    assert_string_equal(network_describe_stall(network, text, sizeof text), expected);
    network_free(network);
}

static void test_stalls_are_described(void **state) {
    (void)state;
    static const struct link_change off[] = {{1 * SECOND, false, -1}}, zero[] = {{1 * SECOND, true, 0}};
    struct flow_def def = {.source = 0, .destination = 1, .bytes = 100000000};
    struct network *network = create_line(false, off, 1);
    start_flow(network, 0, &def);
    advance(network, 2 * SECOND);
    expect_stall(network, "flow 'A' to 'B' has no rate: link 'L' is down");
    network = create_line(true, zero, 1);
    start_flow(network, 0, &def);
    start_flow(network, 0, &def);
    advance(network, 2 * SECOND);
    expect_stall(network, "flow 'A' to 'B' has no rate: link 'L' has no bandwidth; 1 more");
    network = create_star(2, 0, 5, 0);
    start_flow(network, 0, &def);
    advance(network, 0);
    expect_stall(network, "flow 'W0' to 'W1' has no rate: up-link of 'W0' has no bandwidth");
    network = create_star(2, 5, 0, 0);
    start_flow(network, 0, &def);
    advance(network, 0);
    expect_stall(network, "flow 'W0' to 'W1' has no rate: down-link of 'W1' has no bandwidth");
    expect_stall(create_star(2, 5, 5, 0), "no flow is stuck");
}

static void test_fat_link_stall_is_described(void **state) {
    (void)state;
    struct host_def hosts[2] = {{.name = "A"}, {.name = "B"}};
    struct link_def link = {.name = "fat", .bandwidth_Bps = 0};
    struct route_def route = {0, 1, true, &(int32_t){0}, 1};
    struct network *network = create_network(&(struct network_def){hosts, 2, &link, 1, &route, 1});
    start_flow(network, 0, &(struct flow_def){.source = 0, .destination = 1, .bytes = 1});
    advance(network, 0);
    expect_stall(network, "flow 'A' to 'B' has no rate: link 'fat' has no bandwidth");
}

/* Retries without backoff on a link that stays down would go on for ever within one instant. */
static void test_endless_instant_is_noticed(void **state) {
    (void)state;
    static const struct link_change off[] = {{1 * SECOND, false, -1}};
    struct network *network = create_line(true, off, 1);
    struct error error;
    error_clear(&error);
    start_flow(network, 0, &(struct flow_def){.source = 0, .destination = 1, .bytes = 100000000, .retries = INT32_MAX});
    assert_int_equal(network_advance(network, 2 * SECOND, &error), STATUS_NUMERIC);
    assert_non_null(strstr(error.message, "more than 1000000 network events at 1.000000000 s"));
    assert_int_equal(network_advance(network, 2 * SECOND, &error), STATUS_NUMERIC);
    network_free(network);
}

/* ---- memory ---- */

static enum status play_something(struct error *error) {
    struct star star;
    star_init(&star, 4, 10e6, 10e6, 1 * MS);
    static const struct link_change changes[] = {{1 * SECOND, false, -1}, {2 * SECOND, true, -1}};
    struct link_def link = {.name = "L",
                            .bandwidth_Bps = 10e6,
                            .shared = true,
                            .cut_when_down = true,
                            .changes = changes,
                            .change_count = 2};
    struct route_def route = {0, 1, true, &(int32_t){0}, 1};
    struct network_def def = {star.hosts, 4, &link, 1, &route, 1};
    struct network *network = network_create(&def, error);
    if (!network) return error->status;
    int64_t id;
    enum status status = STATUS_OK;
    for (int32_t i = 0; i < 20 && status == STATUS_OK; i++)
        status = network_start_flow(
            network, i * 100 * MS,
            &(struct flow_def){
                .source = i % 2, .destination = (i + 1) % 2, .bytes = 9000000, .retries = 3, .backoff_ns = 1},
            &id, error);
    struct collective_def ring = {COLLECTIVE_RING, FIDELITY_STEP, 40000000, star.members, 4};
    if (status == STATUS_OK) status = network_start_collective(network, 3 * SECOND, &ring, &id, error);
    for (int64_t now; status == STATUS_OK && (now = network_next_ns(network)) != TIME_NEVER;)
        status = network_advance(network, now, error);
    network_free(network);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        int64_t n = 1;
        for (enum status status = STATUS_MEMORY; status != STATUS_OK; n++) {
            int64_t before = alloc_live_blocks();
            struct error error;
            error_clear(&error);
            alloc_fail_at(n, persistent);
            status = play_something(&error);
            alloc_fail_at(0, false);
            if (status != STATUS_OK && status != STATUS_MEMORY)
                fail_msg("allocation %" PRId64 ": %s", n, error.message);
            assert_int_equal(error.status, status);
            assert_int_equal(alloc_live_blocks(), before);
        }
        assert_true(n > 15);
    }
}

/* ---- any traffic ---- */

enum { FLOWS = 200, HOSTS = 8, LINKS = 3 };

struct traffic {
    struct star star;
    struct link_def links[LINKS];
    struct link_change changes[LINKS][4];
    int32_t over[HOSTS][2];
    struct route_def routes[HOSTS];
    struct flow_def flows[FLOWS];
    int64_t start_ns[FLOWS];
};

static void make_link(struct traffic *traffic, struct rng *rng, int32_t index) {
    struct link_change *changes = traffic->changes[index];
    for (int32_t i = 0; i < 4; i++)
        changes[i] = (struct link_change){.at_ns = (i * 5 + rng_below(rng, 5)) * SECOND,
                                          .up = i % 2 == 1,
                                          .bandwidth_Bps = rng_below(rng, 2) ? -1 : 1e6 * (1 + rng_below(rng, 9))};
    traffic->links[index] = (struct link_def){.bandwidth_Bps = 1e6 * (1 + rng_below(rng, 9)),
                                              .latency_ns = rng_below(rng, 3) * MS,
                                              .shared = index != 1,
                                              .cut_when_down = rng_below(rng, 2),
                                              .changes = changes,
                                              .change_count = 4};
}

static void make_traffic(struct traffic *traffic, struct rng *rng) {
    star_init(&traffic->star, HOSTS, 5e6, 4e6, 1 * MS);
    for (int32_t i = 0; i < LINKS; i++) make_link(traffic, rng, i);
    for (int32_t i = 0; i < HOSTS; i++) { /* each host reaches the next over two links, the others directly */
        for (int k = 0; k < 2; k++) traffic->over[i][k] = (int32_t)rng_below(rng, LINKS);
        traffic->routes[i] = (struct route_def){i, (i + 1) % HOSTS, false, traffic->over[i], 2};
    }
    for (int32_t i = 0; i < FLOWS; i++) {
        int32_t source = (int32_t)rng_below(rng, HOSTS), further = 1 + (int32_t)rng_below(rng, 3);
        traffic->flows[i] = (struct flow_def){.source = source,
                                              .destination = (source + further) % HOSTS,
                                              .bytes = rng_below(rng, 10) ? rng_below(rng, 4000000) : 0,
                                              .rate_cap_Bps = rng_below(rng, 4) ? 0 : 3e5,
                                              .delay_ns = rng_below(rng, 2) * MS,
                                              .retries = (int32_t)rng_below(rng, 4),
                                              .backoff_ns = rng_below(rng, 2000) * MS};
        traffic->start_ns[i] = rng_below(rng, 20000) * MS;
    }
    traffic->star.def.links = traffic->links;
    traffic->star.def.link_count = LINKS;
    traffic->star.def.routes = traffic->routes;
    traffic->star.def.route_count = HOSTS;
}

/* Plays the flows in the given order of starting; ends[i] is the transfer of flow i. */
static void play_traffic(const struct traffic *traffic, const int32_t *order, struct network_event *ends, int seed) {
    struct network *network = create_network(&traffic->star.def);
    static struct network_event events[2 * FLOWS];
    int64_t ids[FLOWS], delivered = 0, lost = 0;
    for (int32_t i = 0; i < FLOWS; i++)
        ids[order[i]] = start_flow(network, traffic->start_ns[order[i]], &traffic->flows[order[i]]);
    if (play(network, events, COUNT(events)) != 2 * FLOWS) fail_msg("seed %d: not every flow has ended", seed);
    for (int32_t i = 0; i < FLOWS; i++)
        for (int32_t k = 0; k < 2 * FLOWS; k += 2)
            if (events[k].id == ids[i]) ends[i] = events[k];
    for (int32_t i = 0; i < FLOWS; i++) {
        delivered += ends[i].bytes;
        lost += ends[i].bytes_lost;
    }
    if (delivered != network_bytes_delivered(network) || lost != network_bytes_lost(network))
        fail_msg("seed %d: records do not add up to what was moved", seed);
    network_free(network);
}

static void check_end(const struct traffic *traffic, int32_t i, const struct network_event *end, int seed) {
    const struct flow_def *flow = &traffic->flows[i];
    bool right = end->bytes == (end->ok ? flow->bytes : 0) && end->bytes_lost >= 0 && end->tries <= flow->retries + 1 &&
                 end->bytes_lost <= flow->bytes * (end->tries - end->ok) && end->start_ns == traffic->start_ns[i];
    /* Not faster than its cap and its hosts' links allow. */
    double least_s = (double)flow->bytes / (flow->rate_cap_Bps > 0 ? flow->rate_cap_Bps : 4e6);
    if (end->ok) right = right && end->time_ns - end->start_ns >= (int64_t)(least_s * 1e9) + flow->delay_ns + 1 * MS;
    if (!right) fail_msg("seed %d: flow %d has an impossible record", seed, i);
}

/* Rates are sums in another order then, so an end may be rounded up to the next nanosecond, and what shares the link
 * afterwards moves by as much: 50 ns for 200 flows (measured: 0). */
static void test_random_traffic(void **state) {
    (void)state;
    for (int seed = 1; seed <= 60; seed++) {
        struct rng rng = rng_stream((uint64_t)seed, RNG_TEST, 3, 0);
        static struct traffic traffic;
        static struct network_event ends[2][FLOWS];
        int32_t order[FLOWS];
        make_traffic(&traffic, &rng);
        for (int32_t i = 0; i < FLOWS; i++) order[i] = i;
        play_traffic(&traffic, order, ends[0], seed);
        rng_shuffle(&rng, order, FLOWS);
        play_traffic(&traffic, order, ends[1], seed);
        for (int32_t i = 0; i < FLOWS; i++) {
            check_end(&traffic, i, &ends[0][i], seed);
            int64_t apart = ends[0][i].time_ns - ends[1][i].time_ns;
            if (apart < -50 || apart > 50 || ends[0][i].ok != ends[1][i].ok || ends[0][i].tries != ends[1][i].tries)
                fail_msg("seed %d: flow %d ends %" PRId64 " ns apart in another order of starting", seed, i, apart);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_of_a_flow),
        cmocka_unit_test(test_bad_flows),
        cmocka_unit_test(test_order_within_an_instant),
        cmocka_unit_test(test_equal_ends_keep_their_order),
        cmocka_unit_test(test_advance_without_events),
        cmocka_unit_test(test_cancel_frees_the_links),
        cmocka_unit_test(test_cancelled_collective_is_silent),
        cmocka_unit_test(test_stalls_are_described),
        cmocka_unit_test(test_fat_link_stall_is_described),
        cmocka_unit_test(test_endless_instant_is_noticed),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_random_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
