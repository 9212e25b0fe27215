/* Collectives against their closed forms and the reference values; fluid against step; members' own ends; aborts. */
#include "play.h"

#include "plan.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_values_to_the_nanosecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
