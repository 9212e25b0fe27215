/* Collectives against their closed forms and the reference values; fluid against step; members' own ends; aborts. */
#include "play.h"

#include "plan.h"

#include "base/rng.h"
#include "base/units.h"

static struct network_event play_collective(const struct star *star, const struct collective_def *def) {
    struct network *network = create_network(&star->def);
    struct network_event done = play_to_done(network, start_collective(network, 0, def));
    network_free(network);
    return done;
}

/* ---- reference values ---- */

struct reference {
    const char *name;
    enum collective_kind kind;
    int32_t members;
    int64_t bytes;
    double up, down;
    int64_t latency_ns;
    int64_t expected_ns;
};

/* Exact to the nanosecond: every time is a whole number of nanoseconds and S is a multiple of the number of parts. */
static const struct reference references[] = {
    {"pair, full duplex, 20 ms", COLLECTIVE_PAIR, 2, 3000000000, MBPS_100, MBPS_100, 20 * MS, 240020 * MS},
    {"ring of 8", COLLECTIVE_RING, 8, 3000000000, MBPS_100, MBPS_100, 0, 420 * SECOND},
    {"ring of 16", COLLECTIVE_RING, 16, 3000000000, MBPS_100, MBPS_100, 0, 450 * SECOND},
    {"ring of 8, 20 ms", COLLECTIVE_RING, 8, 3000000000, MBPS_100, MBPS_100, 20 * MS, 420280 * MS},
    {"halving-doubling of 8, 20 ms", COLLECTIVE_HALVING_DOUBLING, 8, 3000000000, MBPS_100, MBPS_100, 20 * MS,
     420120 * MS},
    {"tree of 8", COLLECTIVE_TREE, 8, 3000000000, MBPS_100, MBPS_100, 0, 1440 * SECOND},
    {"parameter server with 8 clients", COLLECTIVE_PARAMETER_SERVER, 9, 3000000000, MBPS_100, MBPS_100, 0,
     3840 * SECOND},
    {"all-gather of 8", COLLECTIVE_ALL_GATHER, 8, 3000000000, MBPS_100, MBPS_100, 0, 1680 * SECOND},
    {"ring of 2, asymmetric", COLLECTIVE_RING, 2, 6000000000, 12.5e6, 25e6, 50 * MS, 480100 * MS},
    {"ring of 4, asymmetric", COLLECTIVE_RING, 4, 6000000000, 12.5e6, 25e6, 50 * MS, 720300 * MS},
    {"ring of 8, asymmetric", COLLECTIVE_RING, 8, 6000000000, 12.5e6, 25e6, 50 * MS, 840700 * MS},
    {"ring of 16, asymmetric", COLLECTIVE_RING, 16, 6000000000, 12.5e6, 25e6, 50 * MS, 901500 * MS},
    {"halving-doubling of 8, asymmetric", COLLECTIVE_HALVING_DOUBLING, 8, 6000000000, 12.5e6, 25e6, 50 * MS,
     840300 * MS},
    {"tree of 8, asymmetric", COLLECTIVE_TREE, 8, 6000000000, 12.5e6, 25e6, 50 * MS, 2880300 * MS},
    {"parameter server, one of 8", COLLECTIVE_PARAMETER_SERVER, 8, 6000000000, 12.5e6, 25e6, 50 * MS, 5040100 * MS},
    {"pair, asymmetric", COLLECTIVE_PAIR, 2, 6000000000, 12.5e6, 25e6, 50 * MS, 480050 * MS},
};

static void test_reference_values_to_the_nanosecond(void **state) {
    (void)state;
    for (int i = 0; i < COUNT(references); i++) {
        const struct reference *row = &references[i];
        struct star star;
        star_init(&star, row->members, row->up, row->down, row->latency_ns);
        for (enum fidelity fidelity = FIDELITY_AUTO; fidelity <= FIDELITY_FLUID; fidelity++) {
            struct network_event done = play_collective(
                &star, &(struct collective_def){row->kind, fidelity, row->bytes, star.members, row->members});
            double bytes = collective_closed_form_bytes(row->kind, row->members, (double)row->bytes);
            if (done.time_ns != row->expected_ns || !done.ok || (double)done.bytes != bytes)
                fail_msg("%s, fidelity %d: ends at %" PRId64 ", expected %" PRId64 "; bytes %" PRId64 ", expected %.0f",
                         row->name, fidelity, done.time_ns, row->expected_ns, done.bytes, bytes);
        }
    }
}

/* ---- other links than equal ones ---- */

/* Two-sided steps: the slow member sends its 14 chunks one after the other, 120.05 s each, and nobody waits longer. */
static void test_ring_with_one_slow_uplink(void **state) {
    (void)state;
    struct star star;
    star_init(&star, 8, 12.5e6, 25e6, 50 * MS);
    star.hosts[3].up_Bps /= 2;
    struct collective_def def = {COLLECTIVE_RING, FIDELITY_AUTO, 6000000000, star.members, 8};
    assert_int_equal(play_collective(&star, &def).time_ns, 1680700 * MS);
}

/* Recursive doubling, as three rounds of pairs. */
static void test_pairs_of_three_rounds(void **state) {
    (void)state;
    static const int32_t rounds[3][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 2, 1, 3, 4, 6, 5, 7}, {0, 4, 1, 5, 2, 6, 3, 7}};
    struct star star;
    star_init(&star, 8, 12.5e6, 25e6, 50 * MS);
    struct network *network = create_network(&star.def);
    int64_t now_ns = 0;
    for (int i = 0; i < 3; i++) {
        struct collective_def def = {COLLECTIVE_PAIR, FIDELITY_AUTO, 6000000000, rounds[i], 8};
        now_ns = play_to_done(network, start_collective(network, now_ns, &def)).time_ns;
    }
    assert_int_equal(now_ns, 1440150 * MS);
    network_free(network);
}

/* A slow member delays only those that wait for it: in a ring by steps the others go on until they need its part. */
static void test_members_proceed_on_their_own(void **state) {
    (void)state;
    struct star star;
    star_init(&star, 4, 10e6, 10e6, 0);
    star.hosts[0].up_Bps = 5e6;
    struct network *network = create_network(&star.def);
    int64_t id = start_collective(network, 0,
                                  &(struct collective_def){COLLECTIVE_RING, FIDELITY_STEP, 40000000, star.members, 4});
    struct network_event events[64];
    int64_t count = play(network, events, COUNT(events)), done[4] = {0}, first[4] = {0};
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(events[i].id, id);
        if (events[i].kind == NETWORK_MEMBER_DONE) done[events[i].source] = events[i].time_ns;
        if (events[i].kind == NETWORK_TRANSFER && events[i].start_ns == 0) first[events[i].source] = events[i].time_ns;
    }
    for (int32_t i = 0; i < 4; i++) assert_int_equal(first[i], i == 0 ? 2 * SECOND : 1 * SECOND);
    for (int32_t i = 0; i < 4; i++) assert_true(done[i] > 0 && done[i] <= 12 * SECOND);
    assert_int_equal(done[0], 12 * SECOND); /* its own six chunks of 2 s */
    assert_true(done[3] < done[1]);
    network_free(network);
}

/* Fluid is never later than step, and step never later than all steps at the slowest link: every member has to send its
 * volume either way, and a step takes a chunk's time at most once all before it are over. */
static void test_fluid_and_step_on_unequal_links(void **state) {
    (void)state;
    struct rng rng = rng_stream(11, RNG_TEST, 4, 0);
    for (int turn = 0; turn < 100; turn++) {
        int32_t members = 2 + (int32_t)rng_below(&rng, 10);
        struct star star;
        star_init(&star, members, 0, 20e6, 1 * MS);
        double slowest = INFINITY;
        for (int32_t i = 0; i < members; i++) {
            star.hosts[i].up_Bps = 1e6 * (1 + rng_below(&rng, 20));
            slowest = fmin(slowest, star.hosts[i].up_Bps);
        }
        struct collective_def def = {COLLECTIVE_RING, FIDELITY_STEP, 1000000 * (int64_t)members, star.members, members};
        int64_t step_ns = play_collective(&star, &def).time_ns;
        def.fidelity = FIDELITY_FLUID;
        int64_t fluid_ns = play_collective(&star, &def).time_ns, steps = 2 * (members - 1);
        double most_ns = (double)steps * (1e6 + ceil(1e15 / slowest));
        if (fluid_ns > step_ns || (double)step_ns > most_ns)
            fail_msg("%d members: fluid %" PRId64 ", step %" PRId64 ", at most %.0f", members, fluid_ns, step_ns,
                     most_ns);
    }
}

/* Where S does not divide by M the steps wait for the longer chunks: a byte and a nanosecond per step, no more. */
static void test_fluid_and_step_on_equal_links(void **state) {
    (void)state;
    for (int32_t members = 2; members <= 17; members++) {
        struct star star;
        star_init(&star, members, MBPS_100, MBPS_100, 3 * MS);
        struct collective_def def = {COLLECTIVE_RING, FIDELITY_STEP, 1000000007, star.members, members};
        struct network_event step = play_collective(&star, &def);
        def.fidelity = FIDELITY_AUTO;
        struct network_event fluid = play_collective(&star, &def);
        int64_t allowed_ns = 2 * (members - 1) * (80 + 1); /* a byte takes 80 ns */
        assert_int_equal(step.bytes, fluid.bytes);
        assert_true(fluid.time_ns <= step.time_ns && step.time_ns - fluid.time_ns <= allowed_ns);
    }
}

/* ---- which fidelity ---- */

static int64_t count_flows(const struct network_def *network_def, const struct collective_def *def, bool busy) {
    struct network *network = create_network(network_def);
    if (busy) start_flow(network, 0, &(struct flow_def){.source = 1, .destination = 2, .bytes = 1000000000});
    play_to_done(network, start_collective(network, 0, def));
    int64_t flows = network_flows_started(network) - busy;
    network_free(network);
    return flows;
}

static void test_auto_is_fluid_where_it_is_exact(void **state) {
    (void)state;
    struct star star;
    star_init(&star, 6, MBPS_100, MBPS_100, 0);
    struct link_def link = {.name = "L", .bandwidth_Bps = 1e9, .shared = true};
    struct route_def route = {4, 5, false, &(int32_t){0}, 1};
    struct collective_def def = {COLLECTIVE_RING, FIDELITY_AUTO, 1000, star.members, 4};
    assert_int_equal(count_flows(&star.def, &def, false), 4);
    assert_int_equal(count_flows(&star.def, &def, true), 24);
    star.def.links = &link;
    star.def.link_count = 1;
    star.def.routes = &route;
    star.def.route_count = 1;
    assert_int_equal(count_flows(&star.def, &def, false), 4); /* a route elsewhere */
    route.source = 0;
    assert_int_equal(count_flows(&star.def, &def, false), 24);
    star.def.route_count = 0;
    star.hosts[2].latency_ns = 1;
    assert_int_equal(count_flows(&star.def, &def, false), 24);
    star.hosts[2].latency_ns = 0;
    star.hosts[2].down_Bps *= 2;
    assert_int_equal(count_flows(&star.def, &def, false), 24);
    star.hosts[2].down_Bps = MBPS_100;
    def.kind = COLLECTIVE_HALVING_DOUBLING;
    assert_int_equal(count_flows(&star.def, &def, false), 4);
    def.member_count = 6; /* four exchange in 2 x 2 steps, two fold in and out */
    assert_int_equal(count_flows(&star.def, &def, false), 16 + 4);
}

/* ---- plans ---- */

/* Every kind ends for every M and S, all members once, and the bytes are those of the closed form to the last one. */
static void test_all_kinds_all_sizes(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 5, 1000003};
    struct star star;
    star_init(&star, 33, MBPS_100, MBPS_100, 0);
    for (enum collective_kind kind = 0; kind < COLLECTIVE_COUNT; kind++)
        for (int32_t members = 1; members <= 33; members++)
            for (int size = 0; size < COUNT(sizes); size++)
                for (enum fidelity fidelity = FIDELITY_STEP; fidelity <= FIDELITY_FLUID; fidelity++) {
                    struct network *network = create_network(&star.def);
                    start_collective(network, 0,
                                     &(struct collective_def){kind, fidelity, sizes[size], star.members, members});
                    static struct network_event events[4096];
                    int64_t count = play(network, events, COUNT(events)), bytes = 0, ends = 0;
                    assert_in_range(count, 2, COUNT(events));
                    for (int64_t i = 0; i < count; i++) {
                        if (events[i].kind == NETWORK_TRANSFER) bytes += events[i].bytes;
                        if (events[i].kind == NETWORK_MEMBER_DONE) ends++;
                    }
                    double expected = collective_closed_form_bytes(kind, members, (double)sizes[size]);
                    const struct network_event *done = &events[count - 1];
                    if (done->kind != NETWORK_DONE || ends != members || done->bytes != bytes ||
                        (double)bytes != expected)
                        fail_msg("%s of %d, %" PRId64 " bytes, fidelity %d: %" PRId64 " ends, %" PRId64
                                 " bytes, expected %.0f",
                                 collective_name(kind), members, sizes[size], fidelity, ends, bytes, expected);
                    network_free(network);
                }
}

/* Played by steps on equal links, every kind takes what its closed form says, rounded up once per step; the tree of
 * other numbers than powers of two at most that. */
static void test_closed_forms(void **state) {
    (void)state;
    struct star star;
    star_init(&star, 32, MBPS_100, MBPS_100, 7 * MS);
    for (enum collective_kind kind = 0; kind < COLLECTIVE_COUNT; kind++)
        for (int32_t members = 1; members <= 32; members++) {
            if (kind == COLLECTIVE_PAIR && members > 2) continue; /* pairs at once: the form is that of one */
            double form_s = collective_closed_form_s(kind, members, 96e6, MBPS_100, 7e-3);
            if (isnan(form_s)) continue;
            struct collective_def def = {kind, FIDELITY_STEP, 96000000, star.members, members};
            double played_s = ns_to_s(play_collective(&star, &def).time_ns);
            double allowed_s = 2 * members * 81e-9; /* steps x (a byte and a nanosecond) */
            bool is_bound = kind == COLLECTIVE_TREE && (members & (members - 1)) != 0;
            if (!(played_s - form_s <= allowed_s && form_s - played_s <= (is_bound ? form_s / 2 : allowed_s)))
                fail_msg("%s of %d: %.12f s, closed form %.12f s", collective_name(kind), members, played_s, form_s);
        }
    assert_true(isnan(collective_closed_form_s(COLLECTIVE_HALVING_DOUBLING, 6, 1, 1, 0)));
}

/* Halving-doubling as what it is for: following the parts shows that everyone ends with everything. `has` holds the
 * members whose data is in a member's sum, per part. */
static void test_halving_doubling_reaches_all(void **state) {
    (void)state;
    for (int32_t members = 1; members <= 20; members++) {
        struct plan plan = plan_make(COLLECTIVE_HALVING_DOUBLING, false, members, 1 << 20);
        uint32_t known[20];
        for (int32_t i = 0; i < members; i++) known[i] = 1u << i;
        for (int32_t step = 0; step < plan.steps; step++) {
            uint32_t next[20];
            memcpy(next, known, sizeof next);
            for (int32_t i = 0; i < members; i++)
                if (plan_sends(&plan, i, step)) next[plan_message(&plan, i, step, 0).to] |= known[i];
            memcpy(known, next, sizeof known);
        }
        for (int32_t i = 0; i < members; i++) assert_int_equal(known[i], (1u << members) - 1);
    }
}

/* ---- bad input, cuts ---- */

static void test_bad_collectives(void **state) {
    (void)state;
    struct host_def hosts[3] = {{.name = "A", .has_links = true}, {.name = "B", .has_links = true}, {.name = "C"}};
    int32_t good[] = {0, 1, 2}, twice[] = {0, 1, 0}, far[] = {0, 3};
    const struct {
        struct collective_def def;
        const char *message;
    } rows[] = {
        {{COLLECTIVE_RING, FIDELITY_AUTO, 1, good, 0}, "without members"},
        {{COLLECTIVE_RING, FIDELITY_AUTO, -1, good, 2}, "negative bytes"},
        {{COLLECTIVE_RING, FIDELITY_AUTO, INT64_MAX / 2, good, 2}, "overflows"},
        {{COLLECTIVE_RING, FIDELITY_AUTO, 1, twice, 3}, "'A' is a member of a collective twice"},
        {{COLLECTIVE_RING, FIDELITY_AUTO, 1, far, 2}, "is host 3; there are 3 hosts"},
        {{COLLECTIVE_RING, FIDELITY_STEP, 1, good, 3}, "no route from 'B' to 'C'"},
        {{COLLECTIVE_TREE, FIDELITY_STEP, 1, good, 3}, "no route from 'A' to 'C'"},
        {{COLLECTIVE_ALL_GATHER, FIDELITY_FLUID, 1, good, 3}, "no route from 'A' to 'C'"},
    };
    struct network *network = create_network(&(struct network_def){.hosts = hosts, .host_count = 3});
    for (int i = 0; i < COUNT(rows); i++) {
        struct error error;
        error_clear(&error);
        int64_t id;
        enum status status = network_start_collective(network, 0, &rows[i].def, &id, &error);
        if (status != STATUS_INPUT || !strstr(error.message, rows[i].message))
            fail_msg("row %d: expected '%s', got '%s'", i, rows[i].message, error.message);
    }
    network_free(network);
}

static void test_parse_and_names(void **state) {
    (void)state;
    struct error error;
    error_clear(&error);
    for (enum collective_kind kind = 0; kind < COLLECTIVE_COUNT; kind++) {
        enum collective_kind parsed = COLLECTIVE_COUNT;
        assert_int_equal(collective_parse(collective_name(kind), &parsed, &error), STATUS_OK);
        assert_int_equal(parsed, kind);
        assert_true(strlen(collective_help(kind)) > 10);
    }
    enum collective_kind kind;
    assert_int_equal(collective_parse("rign", &kind, &error), STATUS_INPUT);
    assert_string_equal(error.message, "unknown collective 'rign'; did you mean 'ring'?");
    assert_int_equal(collective_parse("something", &kind, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "parameter-server"));
}

/* A cut message ends the collective: one record says so, and what was under way counts as sent and lost. */
static void test_a_cut_ends_the_collective(void **state) {
    (void)state;
    struct star star;
    star_init(&star, 4, 10e6, 10e6, 0);
    struct link_change changes[] = {{1500 * MS, false, -1}, {1500 * MS, true, -1}};
    struct link_def link = {.name = "L",
                            .bandwidth_Bps = 20e6,
                            .shared = true,
                            .cut_when_down = true,
                            .changes = changes,
                            .change_count = 2};
    struct route_def route = {1, 2, false, &(int32_t){0}, 1};
    star.def.links = &link;
    star.def.link_count = 1;
    star.def.routes = &route;
    star.def.route_count = 1;
    struct network *network = create_network(&star.def);
    int64_t id = start_collective(network, 0,
                                  &(struct collective_def){COLLECTIVE_RING, FIDELITY_AUTO, 40000000, star.members, 4});
    struct network_event events[32];
    int64_t count = play(network, events, COUNT(events));
    assert_int_equal(count, 4 + 4 + 1);
    for (int i = 0; i < 4; i++) assert_true(events[i].ok && events[i].bytes == 10000000);
    for (int i = 4; i < 8; i++) assert_true(!events[i].ok && events[i].bytes == 0 && events[i].bytes_lost == 5000000);
    assert_true(events[8].kind == NETWORK_DONE && !events[8].ok && events[8].id == id);
    assert_int_equal(events[8].time_ns, 1500 * MS);
    assert_int_equal(events[8].bytes, 60000000);
    assert_int_equal(events[8].bytes_lost, 20000000);
    assert_int_equal(network_bytes_delivered(network) + network_bytes_lost(network), events[8].bytes);
    network_free(network);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_values_to_the_nanosecond),
        cmocka_unit_test(test_ring_with_one_slow_uplink),
        cmocka_unit_test(test_pairs_of_three_rounds),
        cmocka_unit_test(test_members_proceed_on_their_own),
        cmocka_unit_test(test_fluid_and_step_on_unequal_links),
        cmocka_unit_test(test_fluid_and_step_on_equal_links),
        cmocka_unit_test(test_auto_is_fluid_where_it_is_exact),
        cmocka_unit_test(test_all_kinds_all_sizes),
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_halving_doubling_reaches_all),
        cmocka_unit_test(test_bad_collectives),
        cmocka_unit_test(test_parse_and_names),
        cmocka_unit_test(test_a_cut_ends_the_collective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
