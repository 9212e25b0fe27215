/* The realised schedule: in the order of the program with repeats unrolled, what was skipped is skipped, and its hash
 * changes only with what happened. */
#include "support.h"

#include "cursor.h"
#include "timeline.h"

#include "base/alloc.h"
#include "base/hash.h"

/* ---- the cursor ---- */

static const struct {
    const char *const lines[8];
    int32_t count, inner_steps;
    const char *expected; /* op indices and repetitions */
} walks[] = {
    {{"inner H", "mix2 outer_gradient global", "outer"}, 3, 5, "0/0 1/0 2/0 "},
    {{"repeat H", "gradient", "step", "end"}, 4, 3, "1/0 2/0 1/1 2/1 1/2 2/2 "},
    {{"repeat 2", "gradient", "step", "end", "repeat H", "inner 3", "end", "outer"},
     8,
     2,
     "1/0 2/0 1/1 2/1 5/0 5/1 7/0 "},
    {{"repeat H", "gradient", "step", "end", "outer"}, 5, 0, "4/0 "},
};

static void cursor_unrolls(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof walks / sizeof walks[0]; i++) {
        struct sim_def def = sim_default();
        struct cursor cursor = {0};
        char text[256] = "", step[32];
        set_program(&def, walks[i].lines, walks[i].count);
        while (cursor_advance(&cursor, &def.strategy.program, walks[i].inner_steps)) {
            snprintf(step, sizeof step, "%d/%d ", cursor.op, cursor.repetition);
            strncat(text, step, sizeof text - strlen(text) - 1);
        }
        assert_string_equal(text, walks[i].expected);
    }
}

/* ---- records ---- */

static struct timeline play(const struct sim_def *def) {
    struct timeline timeline;
    struct error error = {0};
    if (timeline_play(def, &(struct timeline_options){0}, &timeline, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return timeline;
}

static void mixes_follow_the_program(void **state) {
    (void)state;
    static const char *const lines[] = {
        "begin mix1 parameters pairs", "repeat H", "gradient", "mix gradient pairs", "step", "end", "await mix1",
        "mix2 outer_gradient global"};
    static const int32_t ops[] = {0, 3, 3, 3, 7};
    struct sim_def def = paper_def("DiLoCo", 6, 3, 4, 100);
    struct realised_round realised;
    struct error error;
    set_program(&def, lines, 8);
    struct timeline timeline = play(&def);
    bool differ = false;
    for (int32_t r = 0; r < 4; r++) {
        assert_int_equal(schedule_round(&timeline.schedule, r, &realised, &error), STATUS_OK);
        assert_int_equal(realised.round, r);
        assert_int_equal(realised.inner_steps, 3);
        assert_int_equal(realised.mixing_count, 5);
        for (int32_t i = 0; i < 5; i++) {
            const struct mixing *mixing = &realised.mixings[i];
            assert_int_equal(mixing->op, ops[i]);
            assert_int_equal(mixing->kind, i == 4 ? MIXING_MEAN : MIXING_PAIRS);
            if (i == 4) assert_null(mixing->member);
            for (int32_t m = 0; i < 4 && m < 6; m++) assert_int_equal(mixing->member[mixing->member[m]], m);
        }
        differ |= memcmp(realised.mixings[1].member, realised.mixings[2].member, 6 * sizeof(int32_t)) != 0;
        assert_int_equal(schedule_contributors(&realised, 6), 6);
    }
    assert_true(differ); /* repetitions draw pairs of their own: all equal has probability 15^-4 */
    timeline_clear(&timeline);
}

/* Whose value entered: the odd one out is no failure, a skipped pair is. */
static void contributors_are_counted(void **state) {
    (void)state;
    int32_t nobody[] = {0, 1, 2, 3, 4}, matched[] = {1, 0, 3, 2, 4}, one_skipped[] = {0, 1, 3, 2, 4};
    struct mixing mixings[] = {{MIXING_MEAN, 0, NULL},
                               {MIXING_PAIRS, 1, matched},
                               {MIXING_PAIRS, 1, one_skipped},
                               {MIXING_PAIRS, 1, nobody},
                               {MIXING_NONE, 0, NULL}};
    static const int32_t fewest[] = {5, 5, 5, 3, 1, 0};
    for (int32_t count = 0; count <= 5; count++) {
        struct realised_round realised = {.mixings = mixings, .mixing_count = count};
        assert_int_equal(schedule_contributors(&realised, 5), fewest[count]);
    }
}

/* Operation numbers of a program are distinct over ops and repetitions, and those of mix1 and mix2 are 0 and 1. */
static void operations_are_distinct(void **state) {
    (void)state;
    static const char *const lines[] = {"mix parameters global", "begin mix1 parameters pairs", "repeat H", "gradient",
                                        "mix gradient pairs",    "mix2 outer_gradient pairs",   "step",     "end"};
    struct sim_def def = paper_def("DiLoCo", 4, 50, 1, 100);
    struct schedule schedule;
    struct error error;
    bool seen[256] = {0};
    static const int32_t ops[] = {0, 1, 4, 5};
    set_program(&def, lines, 8);
    assert_int_equal(schedule_init(&schedule, &def, &error), STATUS_OK);
    assert_int_equal(schedule_operation(&schedule, 1, 0), 0);
    assert_int_equal(schedule_operation(&schedule, 5, 0), 1);
    for (int32_t repetition = 0; repetition < 50; repetition++)
        for (int32_t i = repetition > 0 ? 2 : 0; i < 4; i++) {
            int32_t operation = schedule_operation(&schedule, ops[i], repetition);
            assert_in_range(operation, 0, 255);
            assert_false(seen[operation]);
            seen[operation] = true;
        }
    schedule_clear(&schedule);
}

/* ---- hashes ---- */

static void hash_of(const struct sim_def *def, char hex[HASH_HEX_SIZE]) {
    struct error error = {0};
    struct timeline timeline = play(def);
    struct hash *hash = hash_create(&error);
    assert_non_null(hash);
    assert_int_equal(schedule_hash(&timeline.schedule, timeline.rounds, hash, &error), STATUS_OK);
    hash_hex(hash, hex);
    hash_free(hash);
    timeline_clear(&timeline);
}

/* Every stored trajectory is named by such a hash: a change here orphans them all. To change it on purpose, run this
 * test and put the value it prints as "now" in place of the old one, in the commit that explains why. */
static const struct {
    const char *strategy;
    int32_t workers;
    int64_t mbps;
    double failures;
    const char *hash;
} golden[] = {
    {"DDP", 8, 100, 0, "64a642cf47ca92b6c81e01d210912e25"},
    {"DiLoCo", 8, 100, 0.05, "c12e23c9ec6470e0aa05cef4d5bd54f1"},
    {"GlobalM1", 8, 100, 0.05, "ed934a36ce947a9276ae33bc0efb7f17"},
    {"GlobalM1LocalM2", 5, 100, 0, "6e611a745af2a1c6fdcd2a8c8c37c4b8"},
    {"GlobalM1", 8, 400, 0.2, "468bf9b7a1218136cfed7e014a4a44d4"}, /* retried while hidden */
    {"LocalM1M2", 8, 100, 0.05, "7d4c9a2ae7ab9b25c94f98ab7461b0a8"},
    {"NoMixing", 3, 100, 0, "156d2bf3063b3e026025ff5a46a91cfb"},
};

static void schedules_are_golden(void **state) {
    (void)state;
    int32_t faults = 0;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        char now[HASH_HEX_SIZE];
        struct sim_def def = paper_def(golden[i].strategy, golden[i].workers, 100, 20, golden[i].mbps);
        def.cluster.failures.exchange = golden[i].failures;
        hash_of(&def, now);
        if (strcmp(now, golden[i].hash) == 0) continue;
        print_error("%s at %lld Mbps: expected %s, now %s\n", golden[i].strategy, (long long)golden[i].mbps,
                    golden[i].hash, now);
        faults++;
    }
    assert_int_equal(faults, 0);
}

static void hash_ignores_speed(void **state) {
    (void)state;
    for (int32_t i = 0; i < strategy_count(); i++) {
        char first[HASH_HEX_SIZE], second[HASH_HEX_SIZE];
        struct sim_def def = paper_def(strategy_name(i), 7, 10, 5, 100);
        hash_of(&def, first);
        def.cluster.up_bps = 3000000;
        def.cluster.latency_ns = 70000000;
        def.cluster.compute.step_ns = 1;
        def.payload.parameters = 12345;
        def.cluster.collective = COLLECTIVE_TREE;
        hash_of(&def, second);
        assert_string_equal(first, second);
    }
}

static void hash_tells_schedules_apart(void **state) {
    (void)state;
    char hex[6][HASH_HEX_SIZE];
    struct sim_def def = paper_def("LocalM1M2", 8, 10, 5, 100);
    hash_of(&def, hex[0]);
    def.seed++; /* other pairs */
    hash_of(&def, hex[1]);
    def.cluster.failures.exchange = 0.1;
    hash_of(&def, hex[2]);
    def.train.rounds++;
    hash_of(&def, hex[3]);
    def.strategy.inner_steps++;
    hash_of(&def, hex[4]);
    def.cluster.workers++;
    hash_of(&def, hex[5]);
    for (int32_t i = 0; i < 6; i++)
        for (int32_t j = 0; j < i; j++) assert_string_not_equal(hex[i], hex[j]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_unrolls),
        cmocka_unit_test(mixes_follow_the_program),
        cmocka_unit_test(contributors_are_counted),
        cmocka_unit_test(operations_are_distinct),
        cmocka_unit_test(schedules_are_golden),
        cmocka_unit_test(hash_ignores_speed),
        cmocka_unit_test(hash_tells_schedules_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
