/* Canonical JSON is read back to the same def, whatever the def holds. */
#include "support.h"

#include "keys.h"
#include "value.h"

#include "base/rng.h"

#include <math.h>

/* Reads the JSON as a scenario; its own JSON must be the same text. */
static void expect_round_trip(const struct sim_def *def) {
    char *json = json_of(def), hash[33], again_hash[33];
    struct error error;
    struct scenario *scenario = read_text(json, NULL, &error);
    if (!scenario) fail_msg("column %d: %s\nin %s", error.column, error.message, json);
    assert_int_equal(scenario_cell_count(scenario), 1);
    char *again = json_of(scenario_cell(scenario, 0));
    assert_string_equal(again, json);
    assert_int_equal(scenario_hash(def, hash, &error), STATUS_OK);
    assert_int_equal(scenario_hash(scenario_cell(scenario, 0), again_hash, &error), STATUS_OK);
    assert_string_equal(hash, again_hash);
    assert_int_equal(strlen(hash), 32);
    scenario_free(scenario);
    alloc_free(again);
    alloc_free(json);
}

static void texts_come_back(void **state) {
    (void)state;
    static const char *const texts[] = {
        "name: x\n",
        "name: 'null'\n",
        "name: '~'\n",
        "name: \"a \\\"quoted\\\" \\\\ name: {x} [y] # no comment\"\n",
        "name: caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n",
        "name: '  blanks  '\n",
        "name: '100 Mbps'\ncluster: {link: {up: inf, down: 1 B/s, latency: 1 ns}}\n",
        "cluster: {compute: {peak: 312.5 TFLOP/s, mfu: 33.3%, tokens: 123}}\n",
        "train: {tokens: 123456789}\n",
        "train: {rounds: 3, clip: off}\n",
        "strategy: {name: DDP}\n",
        "strategy: {name: GlobalM1LocalM2-subset, subset: [head, layer0.attention]}\npayload: {subset: 43%}\n",
        "strategy: {name: mine, program: [repeat 3, gradient, mix gradient pairs, step, end, mix parameters global]}\n",
        "strategy: {program: [begin mix1 parameters pairs, inner 7, await mix1, mix2 outer_gradient pairs subset, "
        "outer],"
        " subset: [norms]}\n",
        "outer: {name: sgd}\n",
        "data: {text: /somewhere/a 'text'.txt}\n",
        "data: {shards: '/x/*.bin', non_iid: 0.1}\n",
        "seed: 8999999999999999999\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sim_def def = must_resolve(texts[i], NULL);
        expect_round_trip(&def);
    }
}

/* Random values in every number of the table, through the whole of its range. */
static double draw_in(struct rng *rng, double low, double high) {
    double u = rng_uniform(rng);
    if (low > 0) return low * pow(high / low, u); /* every order of magnitude alike */
    return rng_below(rng, 2) ? low + (high - low) * u : low + fmin(high - low, pow(10, -9 * u));
}

static void draw_value(const struct key *key, struct rng *rng, struct sim_def *def) {
    void *at = (char *)def + key->offset;
    bool small = strncmp(key->path, "model.", 6) == 0 || strcmp(key->path, "train.warmup") == 0;
    double value = draw_in(rng, key->minimum, key->maximum);
    int32_t choices = 0, chosen;
    switch (key->kind) {
    case KEY_DURATION:
        *(int64_t *)at = (int64_t)draw_in(rng, 1, 3e18);
        break;
    case KEY_RATE:
        *(int64_t *)at = (int64_t)draw_in(rng, 1, 9e18);
        break;
    case KEY_COUNT:
        if (!small) *(int64_t *)at = (int64_t)fmin(value, 1e9);
        break;
    case KEY_SEED:
        *(uint64_t *)at = (uint64_t)value;
        break;
    case KEY_NUMBER:
    case KEY_FRACTION:
        if (!small) *(double *)at = fmin(value, 99);
        break;
    case KEY_ENUM:
        if (strncmp(key->path, "data.", 5) == 0 || strcmp(key->path, "cluster.collective") == 0) break;
        while (key->choice(choices)) choices++;
        chosen = (int32_t)rng_below(rng, (uint32_t)choices);
        memcpy(at, &chosen, sizeof chosen);
        break;
    case KEY_BETAS:
        def->train.optimizer.beta1 = rng_uniform(rng) * 0.999;
        def->train.optimizer.beta2 = rng_uniform(rng) * 0.999;
        break;
    case KEY_INTEGER:
    case KEY_FLOPS:
    case KEY_BOOLEAN:
    case KEY_NAME:
    case KEY_TEXT:
    case KEY_BANDWIDTH:
    case KEY_FILE:
    case KEY_PRESET:
    case KEY_STRATEGY:
    case KEY_PROGRAM:
    case KEY_SUBSET:
    case KEY_SEEDS:
    case KEY_UNSUPPORTED:
        break;
    }
}

static void random_numbers_come_back(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        struct rng rng = rng_stream(1, RNG_TEST, i, 0);
        struct sim_def def =
            must_resolve("name: x\ntrain: {rounds: 2}\nstrategy: {name: GlobalM1LocalM2-subset}\n", NULL);
        const struct sim_def defaults = sim_default();
        for (int32_t row = 0; row < key_count(); row++) draw_value(key_at(row), &rng, &def);
        def.train.tokens = 0;
        if (rng_below(&rng, 2)) {
            def.cluster.compute.step_ns = 0;
            def.cluster.compute.peak_flops = draw_in(&rng, 1e12, 1e21);
            def.cluster.compute.mfu = 0.1 + 0.9 * rng_uniform(&rng);
        }
        for (int32_t row = 0; row < key_count(); row++) /* as resolved defs are */
            if (key_at(row)->applies && !key_at(row)->applies(&def)) value_copy(key_at(row), &defaults, &def);
        def.outer.momentum = fmin(def.outer.momentum, 0.9999);
        def.data.validation = fmin(def.data.validation, 0.9999);
        def.data.tokens = def.data.corpus == CORPUS_SYNTHETIC && def.data.tokens < 100000 ? 100000 : def.data.tokens;
        expect_round_trip(&def);
    }
}

static void the_text_itself(void **state) {
    (void)state;
    struct sim_def def = must_resolve("name: x\ntrain: {rounds: 6}\ncluster: {link: {latency: 20 ms}}\n", NULL);
    char *json = json_of(&def);
    static const char beginning[] = "{\"name\": \"x\", \"cluster\": {\"workers\": 8, \"link\": {\"up\": \"100 Mbps\", "
                                    "\"down\": \"100 Mbps\", \"latency\": \"20 ms\"}, \"compute\": {\"step\": ";
    if (strncmp(json, beginning, strlen(beginning)) != 0) fail_msg("expected %s\ngot %s", beginning, json);
    int32_t open = 0, lowest = 1;
    for (const char *c = json; *c; c++) {
        open += (*c == '{') - (*c == '}');
        if (c[1] && open < lowest) lowest = open;
    }
    assert_int_equal(open, 0);
    assert_int_equal(lowest, 1);
    alloc_free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(random_numbers_come_back),
        cmocka_unit_test(the_text_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
