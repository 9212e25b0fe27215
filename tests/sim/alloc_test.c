/* Timing only: every allocation fails once; the program says so, and nothing is left behind. */
#include "support.h"

#include "base/alloc.h"

static enum status play(const struct sim_def *def, bool keep_transfers, struct error *error) {
    struct sim_round round;
    struct sim_options options = {.timing_only = true, .keep_transfers = keep_transfers, .jobs = 1};
    struct sim *sim = sim_create(def, &options, error);
    if (!sim) return error->status;
    enum sim_result result;
    while ((result = sim_next_round(sim, &round, error)) == SIM_ROUND) continue;
    sim_free(sim);
    return result == SIM_DONE ? STATUS_OK : error->status;
}

static void fail_each(const struct sim_def *def, bool keep_transfers) {
    int64_t before = alloc_live_blocks();
    for (int64_t n = 1;; n++) {
        struct error error = {0};
        alloc_fail_at(n, false);
        enum status status = play(def, keep_transfers, &error);
        alloc_fail_at(0, false);
        assert_int_equal(alloc_live_blocks(), before);
        if (status == STATUS_OK) {
            assert_true(n > 8);
            return;
        }
        if (status != STATUS_MEMORY || error.message[0] == '\0')
            fail_msg("allocation %lld: %s '%s'", (long long)n, status_name(status), error.message);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const names[] = {"DDP", "GlobalM1LocalM2-subset", "LocalM1M2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sim_def def = paper_def(names[i], 4, 5, 3, 100);
        def.cluster.failures.exchange = 0.2;
        def.payload.subset = -1;
        fail_each(&def, false);
        def.cluster.failures.detect = 0.5;
        fail_each(&def, true);
    }
}

/* A payload of 1.5e9 parameters needs no memory of that order, and no data. */
static void timing_reads_and_holds_nothing(void **state) {
    (void)state;
    struct sim_def def = paper_def("LocalM1M2", 8, 100, 100, 100);
    assert_true(llama_preset("1.5B", &def.model));
    def.data.corpus = CORPUS_TEXT;
    snprintf(def.data.path, sizeof def.data.path, "/nowhere/corpus.txt");
    struct error error = {0};
    struct sim *sim = sim_create(&def, &(struct sim_options){.timing_only = true, .jobs = 1}, &error);
    if (!sim) fail_msg("%s", error.message);
    assert_true(alloc_live_blocks() < 40);
    sim_free(sim);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail),
                                       cmocka_unit_test(timing_reads_and_holds_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
