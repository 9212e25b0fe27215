/* How windows are dealt: nobody shares a token, nothing held out leaks, batches are functions of their arguments.
 *
 * Token ids of the shards written here are positions in the corpus, so a batch tells what was read.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "base/text.h"
#include "data/data.h"
#include "filter.h"

enum { LENGTH = 16, POSITIONS = 40000 };

static char folder[] = "/tmp/data_test.XXXXXX";

static void write_shard(const char *name, int32_t first, int32_t count) {
    static int32_t bytes[256 + POSITIONS];
    char path[128];
    struct error error = {0};
    memset(bytes, 0, 1024);
    bytes[0] = 20240801;
    bytes[1] = 7;
    bytes[2] = count;
    for (int32_t i = 0; i < count; i++) bytes[256 + i] = first + i;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(text_write_file(path, (const char *)bytes, 1024 + 4 * (size_t)count, &error), STATUS_OK);
}

/* Three uneven shards, one shorter than a window and one of no whole number of them, made in two orders. */
static int setup(void **state) {
    char path[128];
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/again", folder);
    if (mkdir(path, 0700) != 0) return 1;
    write_shard("a.bin", 0, 21003);
    write_shard("b.bin", 21003, 9);
    write_shard("c.bin", 21012, POSITIONS - 21012);
    write_shard("again/c.bin", 21012, POSITIONS - 21012);
    write_shard("again/b.bin", 21003, 9);
    write_shard("again/a.bin", 0, 21003);
    return 0;
}

static int teardown(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static struct data *open_def(const struct data_def *def, int32_t workers, int32_t vocab, uint64_t seed) {
    struct error error = {0};
    struct data *data = data_create(def, workers, LENGTH, vocab, seed, &error);
    if (!data) print_error("%s\n", error.message);
    assert_non_null(data);
    return data;
}

static struct data *open_synthetic(int64_t tokens, int32_t workers, double validation, double alpha, uint64_t seed) {
    struct data_def def = data_default();
    def.tokens = tokens;
    def.validation = validation;
    def.non_iid_alpha = alpha;
    return open_def(&def, workers, 256, seed);
}

static struct data *open_positions(const char *pattern, int32_t workers, double validation, double alpha,
                                   uint64_t seed) {
    struct data_def def = data_default();
    def.corpus = CORPUS_SHARDS;
    def.validation = validation;
    def.non_iid_alpha = alpha;
    snprintf(def.path, sizeof def.path, "%s/%s", folder, pattern);
    return open_def(&def, workers, POSITIONS, seed);
}

/* ---- nobody shares ---- */

static const struct division {
    int32_t workers;
    double validation, alpha;
} divisions[] = {{1, 0.05, 0},  {3, 0.05, 0}, {8, 0.1, 0},   {7, 0.5, 0},     {7, 0.4, 0},   {2, 0.9, 0},
                 {64, 0.05, 0}, {4, 0.05, 1}, {8, 0.3, 0.1}, {5, 0.05, 0.01}, {3, 0.05, 1e6}};

/* Marks the tokens of a window, its last target included; none may have been marked before, and targets are the tokens
 * that follow. */
static void mark(uint8_t *marked, const int32_t *tokens, const int32_t *targets) {
    for (int32_t t = 0; t < LENGTH; t++) {
        assert_int_equal(targets[t], tokens[t] + 1);
        assert_int_equal(marked[tokens[t]]++, 0);
        if (t > 0) assert_int_equal(tokens[t], targets[t - 1]);
    }
    assert_int_equal(marked[targets[LENGTH - 1]]++, 0);
}

static void test_no_token_is_read_twice(void **state) {
    const int64_t windows = 21003 / (LENGTH + 1) + (POSITIONS - 21012) / (LENGTH + 1);
    (void)state;
    for (size_t i = 0; i < sizeof divisions / sizeof divisions[0]; i++) {
        static uint8_t marked[POSITIONS];
        int32_t tokens[LENGTH], targets[LENGTH];
        struct data *data =
            open_positions("*.bin", divisions[i].workers, divisions[i].validation, divisions[i].alpha, 9);
        int64_t read = data_validation_windows(data);
        memset(marked, 0, sizeof marked);
        for (int32_t m = 0; m < divisions[i].workers; m++) {
            read += data_worker_windows(data, m);
            for (int64_t s = 0; s < data_worker_windows(data, m); s++) {
                data_batch(data, m, s, 1, 0, 1, tokens, targets);
                mark(marked, tokens, targets);
            }
        }
        for (int64_t s = 0; s < data_validation_windows(data); s++) {
            data_validation_batch(data, s, 1, tokens, targets);
            mark(marked, tokens, targets);
        }
        assert_int_equal(read + data_unused_windows(data), windows);
        assert_true(data_unused_windows(data) < divisions[i].workers);
        assert_true(fabs((double)data_validation_windows(data) - (double)windows * divisions[i].validation) <= 1);
        data_free(data);
    }
}

/* The order in which files are found or were made does not matter. */
static void test_files_in_another_order(void **state) {
    struct data *a = open_positions("?.bin", 3, 0.05, 0.5, 1), *b = open_positions("again/[a-c].bin", 3, 0.05, 0.5, 1);
    (void)state;
    assert_string_equal(data_identity(a), data_identity(b));
    for (int32_t m = 0; m < 3; m++)
        for (int64_t s = 0; s < 100; s++) {
            int32_t one[2 * LENGTH], other[2 * LENGTH];
            data_batch(a, m, s, 1, 0, 1, one, one + LENGTH);
            data_batch(b, m, s, 1, 0, 1, other, other + LENGTH);
            assert_memory_equal(one, other, sizeof one);
        }
    data_free(a);
    data_free(b);
}

/* The held-out set is one and the same, in one order, for every seed, number of workers and mixture. */
static void test_validation_is_fixed(void **state) {
    static const struct division others[] = {{1, 0.05, 0}, {5, 0.05, 0.5}, {16, 0.05, 0}};
    struct data *a = open_positions("*.bin", 2, 0.05, 0, 1);
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct data *b = open_positions("*.bin", others[i].workers, 0.05, others[i].alpha, 77 + i);
        assert_int_equal(data_validation_windows(a), data_validation_windows(b));
        for (int64_t w = 0; w < data_validation_windows(a); w++) {
            int32_t one[2 * LENGTH], other[2 * LENGTH];
            data_validation_batch(a, w, 1, one, one + LENGTH);
            data_validation_batch(b, w, 1, other, other + LENGTH);
            assert_memory_equal(one, other, sizeof one);
            assert_int_equal(data_validation_window_id(a, w), data_validation_window_id(b, w));
        }
        data_free(b);
    }
    data_free(a);
}

/* ---- order ---- */

/* Every epoch has the same windows, in another order. */
static void test_epochs(void **state) {
    struct data *data = open_synthetic(50000, 2, 0.05, 0, 1);
    int64_t count = data_worker_windows(data, 0), windows = 50000 / (LENGTH + 1), same = 0;
    (void)state;
    for (int64_t epoch = 0; epoch < 4; epoch++) {
        static uint8_t seen[50000];
        memset(seen, 0, sizeof seen);
        for (int64_t i = 0; i < count; i++) {
            int64_t id = data_window_id(data, 0, epoch * count + i);
            assert_in_range(id, 0, windows - 1);
            assert_int_equal(seen[id]++, 0);
            assert_int_equal(id, data_window_id(data, 0, epoch * count + i));
            same += epoch > 0 && id == data_window_id(data, 0, i);
        }
    }
    assert_true(same < 20); /* of three epochs about one window each stays in place */
    data_free(data);
}

/* A batch is its sequences, however they are asked for. */
static void test_batches(void **state) {
    int32_t whole[4 * LENGTH], whole_targets[4 * LENGTH], one[LENGTH], one_targets[LENGTH];
    struct data *data = open_synthetic(50000, 3, 0.05, 0, 1);
    (void)state;
    for (int64_t step = 0; step < 1000; step += 37) {
        data_batch(data, 2, step, 4, 0, 4, whole, whole_targets);
        for (int32_t i = 0; i < 4; i++) {
            data_batch(data, 2, step, 4, i, 1, one, one_targets);
            assert_memory_equal(one, whole + i * LENGTH, sizeof one);
            assert_memory_equal(one_targets, whole_targets + i * LENGTH, sizeof one);
            data_batch(data, 2, step * 4 + i, 1, 0, 1, one, one_targets);
            assert_memory_equal(one, whole + i * LENGTH, sizeof one);
        }
    }
    data_free(data);
}

/* Seeds give other orders and change nothing else. */
static void test_seeds(void **state) {
    struct data *a = open_synthetic(50000, 3, 0.05, 0, 1), *b = open_synthetic(50000, 3, 0.05, 0, 2),
                *again = open_synthetic(50000, 3, 0.05, 0, 1);
    int64_t count = data_worker_windows(a, 1), same = 0, sums[2] = {0};
    (void)state;
    for (int64_t i = 0; i < count; i++) {
        int64_t ids[] = {data_window_id(a, 1, i), data_window_id(b, 1, i)};
        same += ids[0] == ids[1];
        sums[0] += ids[0] * ids[0];
        sums[1] += ids[1] * ids[1];
        assert_int_equal(ids[0], data_window_id(again, 1, i));
    }
    assert_true(same < 20);
    assert_int_equal(sums[0], sums[1]); /* the same windows */
    assert_string_equal(data_identity(a), data_identity(b));
    data_free(a);
    data_free(b);
    data_free(again);
}

enum { ASKED = 240 };
struct asking {
    struct data *data;
    int32_t batches[ASKED][4 * LENGTH];
};

static void ask(void *context, int64_t index, int32_t thread) {
    struct asking *asking = context;
    int32_t *to = asking->batches[index];
    (void)thread;
    data_batch(asking->data, (int32_t)(index % 3), index / 3 * 71, 2, 0, 2, to, to + 2 * LENGTH);
}

/* What a worker gets does not depend on threads, nor on who asked before. */
static void test_threads(void **state) {
    static struct asking alone, together;
    struct error error = {0};
    struct pool *pool = pool_create(4, &error);
    (void)state;
    alone.data = together.data = open_synthetic(50000, 3, 0.05, 0.5, 1);
    for (int64_t i = ASKED; i > 0; i--) ask(&alone, i - 1, 0);
    pool_run(pool, ASKED, ask, &together);
    assert_memory_equal(alone.batches, together.batches, sizeof alone.batches);
    pool_free(pool);
    data_free(alone.data);
}

/* ---- mixtures ---- */

/* Largest share over workers of the windows for which in_group says yes. */
static double largest_share(struct data *data, int32_t workers, const uint8_t *in_group) {
    double most = 0;
    for (int32_t m = 0; m < workers; m++) {
        int64_t count = data_worker_windows(data, m), hits = 0;
        for (int64_t i = 0; i < count; i++) hits += in_group[data_window_id(data, m, i)];
        most = fmax(most, (double)hits / (double)count);
    }
    return most;
}

static void test_non_iid_topics(void **state) {
    enum { TOKENS = 200000, WINDOWS = TOKENS / (LENGTH + 1) };
    static uint8_t text[TOKENS], topics[WINDOWS];
    struct error error;
    struct synthetic *source = synthetic_create(data_default().source_seed, &error);
    struct data *even = open_synthetic(TOKENS, 8, 0.05, 1e5, 1), *skewed = open_synthetic(TOKENS, 8, 0.05, 0.05, 1);
    (void)state;
    synthetic_write(source, text, TOKENS, topics, LENGTH + 1);
    for (int64_t i = 0; i < WINDOWS; i++) topics[i] = topics[i] == 0;
    assert_true(largest_share(even, 8, topics) < 0.35); /* a quarter of the corpus, give or take its topics' lengths */
    assert_true(largest_share(skewed, 8, topics) > 0.8);
    synthetic_free(source);
    data_free(even);
    data_free(skewed);
}

static void test_non_iid_stretches(void **state) {
    static uint8_t in_stretch[POSITIONS];
    int64_t windows = POSITIONS / (LENGTH + 1);
    struct data *even = open_positions("*.bin", 4, 0.05, 1e5, 1), *skewed = open_positions("*.bin", 4, 0.05, 0.05, 1);
    (void)state;
    for (int64_t i = 0; i < windows; i++) in_stretch[i] = i < windows / 64;
    assert_true(largest_share(skewed, 4, in_stretch) > 2 * largest_share(even, 4, in_stretch));
    data_free(even);
    data_free(skewed);
}

/* ---- the floor ---- */

/* The mean surprise of exactly the targets that a model is scored on. */
static void test_floor(void **state) {
    struct error error;
    struct data *data = open_synthetic(100000, 4, 0.05, 0, 1);
    struct synthetic *source = synthetic_create(data_default().source_seed, &error);
    struct filter *filter = filter_create(source, &error);
    double sum = 0;
    (void)state;
    for (int64_t w = 0; w < 20; w++) {
        int32_t tokens[LENGTH], targets[LENGTH];
        uint8_t window[LENGTH + 1];
        data_validation_batch(data, w, 1, tokens, targets);
        for (int32_t t = 0; t < LENGTH; t++) window[t] = (uint8_t)tokens[t];
        window[LENGTH] = (uint8_t)targets[LENGTH - 1];
        sum += filter_surprise(filter, window, LENGTH + 1);
        assert_true(fabs(data_entropy_floor(data, w + 1) - sum / (double)(LENGTH * (w + 1))) < 1e-12);
    }
    filter_free(filter);
    synthetic_free(source);
    data_free(data);
    data = open_positions("*.bin", 1, 0.05, 0, 1);
    assert_true(isnan(data_entropy_floor(data, 1)));
    data_free(data);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    static const struct {
        int64_t tokens;
        int32_t workers;
        double validation, alpha;
        int32_t vocab;
        const char *expected;
    } cases[] = {
        {1000, 64, 0.05, 0, 256, "too few"},     {1000, 1, 0.01, 0, 256, "too few"},
        {1000, 2, 0.99, 0, 256, "too few"},      {1000, 1, 1e-9, 0, 256, "too few"},
        {1000, 1, 1 - 1e-9, 0, 256, "too few"},  {999, 1, 0.05, 0, 256, "data.tokens"},
        {50000, 2, 0, 0, 256, "validation"},     {50000, 2, 1, 0, 256, "validation"},
        {50000, 2, NAN, 0, 256, "validation"},   {50000, 2, 0.05, -1, 256, "non_iid"},
        {50000, 2, 0.05, NAN, 256, "non_iid"},   {50000, 2, 0.05, 0, 255, "model.vocab"},
        {1000, 54, 0.05, 0.001, 256, "non_iid"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct data_def def = data_default();
        struct error error = {0};
        def.tokens = cases[i].tokens;
        def.validation = cases[i].validation;
        def.non_iid_alpha = cases[i].alpha;
        int64_t before = alloc_live_blocks();
        struct data *data = data_create(&def, cases[i].workers, LENGTH, cases[i].vocab, 1, &error);
        if (data || error.status != STATUS_INPUT || !strstr(error.message, cases[i].expected))
            fail_msg("case %zu: expected '%s', got: %s", i, cases[i].expected, data ? "data" : error.message);
        assert_int_equal(alloc_live_blocks(), before);
    }
}

static void test_paths(void **state) {
    struct data_def def = data_default();
    struct error error = {0};
    (void)state;
    def.corpus = CORPUS_TEXT;
    assert_null(data_create(&def, 1, LENGTH, 256, 1, &error));
    assert_non_null(strstr(error.message, "data.text is empty"));
    snprintf(def.path, sizeof def.path, "%s/nowhere.txt", folder);
    assert_null(data_create(&def, 1, LENGTH, 256, 1, &error));
    assert_non_null(strstr(error.file, "nowhere.txt"));
    def.corpus = CORPUS_SHARDS;
    snprintf(def.path, sizeof def.path, "%s/*.bin", folder);
    assert_null(data_create(&def, 1, LENGTH, POSITIONS - 1, 1, &error)); /* one id too many, the very last */
    assert_non_null(strstr(error.file, "c.bin"));
    assert_non_null(strstr(error.message, "token 39999 at offset"));
}

static void test_no_memory(void **state) {
    (void)state;
    for (enum corpus_kind kind = 0; kind < CORPUS_KINDS; kind++) {
        bool made = false;
        for (int n = 1; !made && n < 60; n++) {
            struct data_def def = data_default();
            struct error error = {0};
            def.corpus = kind;
            def.tokens = 20000;
            def.non_iid_alpha = 1;
            snprintf(def.path, sizeof def.path, "%s/%s", folder, kind == CORPUS_TEXT ? "a.bin" : "*.bin");
            int64_t before = alloc_live_blocks();
            alloc_fail_at(n, false);
            struct data *data = data_create(&def, 2, LENGTH, POSITIONS, 1, &error);
            alloc_fail_at(0, false);
            made = data != NULL;
            if (!made) assert_int_equal(error.status, STATUS_MEMORY);
            data_free(data);
            assert_int_equal(alloc_live_blocks(), before);
        }
        assert_true(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_token_is_read_twice),
                                       cmocka_unit_test(test_files_in_another_order),
                                       cmocka_unit_test(test_validation_is_fixed),
                                       cmocka_unit_test(test_epochs),
                                       cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_seeds),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_non_iid_topics),
                                       cmocka_unit_test(test_non_iid_stretches),
                                       cmocka_unit_test(test_floor),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_paths),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
