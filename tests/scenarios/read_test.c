/* What a file and its overrides become: values in their fields, presets before single sizes, paths from the right
 * folder, the later of two overrides. */
#include "support.h"

#include <limits.h>
#include <math.h>
#include <sys/stat.h>

static void every_section_is_read(void **state) {
    (void)state;
    struct sim_def def = must_resolve(
        "name: all\n"
        "cluster:\n"
        "  workers: 12\n"
        "  link: {up: 40 Mbps, down: 25 MB/s, latency: 20 ms}\n"
        "  compute: {step: 2.36 s}\n"
        "  failures: {exchange: 5%, per: transfer, detect: 0.5, overlapped: wait, max_attempts: 9}\n"
        "  collective: tree\n"
        "  fidelity: step\n"
        "payload: {parameters: 1.5B, dtype: fp32, subset: 43%}\n"
        "model: {preset: tiny, layers: 3, tied: true}\n"
        "data: {corpus: synthetic, tokens: 2M, source_seed: 9, validation: 10%, non_iid: 0.3}\n"
        "train: {tokens: 4M, batch: 8, accumulation: 2, schedule: wsd, warmup: 50, minimum: 0.05,\n"
        "        decay: 30%, clip: 1.0,\n"
        "        optimizer: {name: adamw, lr: 3e-3, betas: [0.8, 0.99], epsilon: 1e-7, weight_decay: 0.2}}\n"
        "outer: {name: heavy_ball, lr: 0.5, momentum: 0.3}\n"
        "strategy: {name: GlobalM1LocalM2-subset, inner_steps: 25, subset: [head, layer1.mlp]}\n"
        "evaluate: {every: 3, tokens: 16k, js_tokens: 2048}\n"
        "seed: 77\n",
        NULL);
    assert_string_equal(def.name, "all");
    assert_int_equal(def.cluster.workers, 12);
    assert_int_equal(def.cluster.up_bps, 40000000);
    assert_int_equal(def.cluster.down_bps, 200000000);
    assert_int_equal(def.cluster.latency_ns, 20000000);
    assert_int_equal(def.cluster.compute.step_ns, 2360000000);
    assert_true(def.cluster.failures.exchange == 0.05);
    assert_int_equal(def.cluster.failures.per, FAILURE_PER_TRANSFER);
    assert_true(def.cluster.failures.detect == 0.5);
    assert_int_equal(def.cluster.failures.overlapped, OVERLAPPED_WAIT);
    assert_int_equal(def.cluster.failures.max_attempts, 9);
    assert_int_equal(def.cluster.collective, COLLECTIVE_TREE);
    assert_int_equal(def.cluster.fidelity, FIDELITY_STEP);
    assert_int_equal(def.payload.parameters, 1500000000);
    assert_int_equal(def.payload.dtype, DTYPE_FP32);
    assert_true(def.payload.subset == 0.43);
    assert_int_equal(def.model.dim, 64);
    assert_int_equal(def.model.layers, 3);
    assert_true(def.model.tied);
    assert_int_equal(def.data.corpus, CORPUS_SYNTHETIC);
    assert_int_equal(def.data.tokens, 2000000);
    assert_int_equal(def.data.source_seed, 9);
    assert_true(def.data.validation == 0.1 && def.data.non_iid_alpha == 0.3);
    assert_int_equal(def.train.tokens, 4000000);
    assert_int_equal(def.train.rounds, 0);
    assert_int_equal(def.train.batch, 8);
    assert_int_equal(def.train.accumulation, 2);
    assert_string_equal(def.train.optimizer.name, "adamw");
    assert_true(def.train.optimizer.learning_rate == 3e-3 && def.train.optimizer.epsilon == 1e-7);
    assert_true(def.train.optimizer.beta1 == 0.8 && def.train.optimizer.beta2 == 0.99);
    assert_true(def.train.optimizer.weight_decay == 0.2);
    assert_int_equal(def.train.schedule, SCHEDULE_WSD);
    assert_int_equal(def.train.warmup, 50);
    assert_true(def.train.minimum == 0.05 && def.train.decay == 0.3 && def.train.clip == 1);
    assert_int_equal(def.outer.kind, OUTER_HEAVY_BALL);
    assert_true(def.outer.learning_rate == 0.5 && def.outer.momentum == 0.3);
    assert_string_equal(def.strategy.name, "GlobalM1LocalM2-subset");
    assert_int_equal(def.strategy.inner_steps, 25);
    assert_int_equal(def.strategy.subset_count, 2);
    assert_string_equal(def.strategy.subset[1], "layer1.mlp");
    assert_int_equal(def.evaluate.every, 3);
    assert_int_equal(def.evaluate.tokens, 16000);
    assert_int_equal(def.evaluate.js_tokens, 2048);
    assert_int_equal(def.seed, 77);
}

static void an_absent_key_has_its_default(void **state) {
    (void)state;
    struct sim_def def = must_resolve("name: x\ntrain: {rounds: 3}\n", NULL), expected = sim_default();
    snprintf(expected.name, sizeof expected.name, "x");
    expected.train.rounds = 3;
    expected.train.tokens = 0;
    char *got = json_of(&def), *wanted = json_of(&expected);
    assert_string_equal(got, wanted);
    alloc_free(got);
    alloc_free(wanted);
}

/* The order in the file does not matter: the preset fills in first. */
static void presets_and_names_come_first(void **state) {
    (void)state;
    struct sim_def def = must_resolve("model: {context: 32, preset: 1M}\n"
                                      "strategy: {subset: {blocks: [head]}, name: GlobalM1LocalM2-subset}\n",
                                      NULL);
    struct llama_def preset;
    assert_true(llama_preset("1M", &preset));
    assert_int_equal(def.model.dim, preset.dim);
    assert_int_equal(def.model.context, 32);
    assert_int_equal(def.strategy.subset_count, 1);
    assert_string_equal(def.strategy.subset[0], "head");
    def = must_resolve("strategy: {name: GlobalM1LocalM2-subset}\n", NULL);
    assert_int_equal(def.strategy.subset_count, 3); /* embedding, head, layer0 */
}

static void words_stand_for_values(void **state) {
    (void)state;
    struct sim_def def = must_resolve("cluster: {compute: {peak: 312 TFLOP/s, mfu: 40%, tokens: batch}}\n"
                                      "payload: {parameters: model}\n"
                                      "data: {non_iid: off}\n"
                                      "train: {rounds: 2, tokens: rounds, clip: off}\n"
                                      "evaluate: {every: last, js_tokens: off}\n",
                                      NULL);
    assert_int_equal(def.cluster.compute.step_ns, 0);
    assert_true(def.cluster.compute.peak_flops == 312e12 && def.cluster.compute.mfu == 0.4);
    assert_int_equal(def.cluster.compute.tokens, 0);
    assert_int_equal(def.payload.parameters, 0);
    assert_true(def.data.non_iid_alpha == 0 && def.train.clip == 0);
    assert_int_equal(def.train.tokens, 0);
    assert_int_equal(def.evaluate.every, 0);
    assert_int_equal(def.evaluate.js_tokens, 0);
}

static void a_program_may_be_written_out(void **state) {
    (void)state;
    struct sim_def def = must_resolve("strategy:\n"
                                      "  program:\n"
                                      "    - begin mix1 parameters pairs\n"
                                      "    - inner H\n"
                                      "    - await mix1\n"
                                      "    - outer\n",
                                      NULL);
    assert_string_equal(def.strategy.name, "custom");
    assert_int_equal(def.strategy.program.count, 4);
    assert_int_equal(def.strategy.program.ops[0].kind, OP_BEGIN);
    assert_int_equal(def.strategy.program.ops[0].group, GROUP_PAIRS);
    def = must_resolve(
        "strategy: {name: LocalM1, program: [begin mix1 parameters pairs, inner H, await mix1, outer]}\n", NULL);
    assert_string_equal(def.strategy.name, "LocalM1");
}

static void overrides_win_in_order(void **state) {
    (void)state;
    static const char text[] = "cluster: {workers: 8, link: {bandwidth: 100 Mbps}, compute: {step: 1 s}}\n"
                               "train: {tokens: 4M}\nstrategy: {name: DDP}\n";
    struct sim_def def =
        must_resolve(text, (const char *const[]){"cluster.workers=3", "cluster.workers=4", "cluster.link.up=5 Mbps",
                                                 "train.rounds=7", "strategy.name=LocalSGD",
                                                 "cluster.compute.peak=1 PFLOP/s", NULL});
    assert_int_equal(def.cluster.workers, 4);
    assert_int_equal(def.cluster.up_bps, 5000000);
    assert_int_equal(def.cluster.down_bps, sim_default().cluster.down_bps); /* up replaced bandwidth as a whole */
    assert_int_equal(def.train.rounds, 7);
    assert_int_equal(def.train.tokens, 0);
    assert_string_equal(def.strategy.name, "LocalSGD");
    assert_int_equal(def.cluster.compute.step_ns, 0);
    def = must_resolve(text, (const char *const[]){"cluster={workers: 2, link: {latency: 1 s}}", "cluster.compute=null",
                                                   "train.tokens=null", "train.rounds=1", NULL});
    assert_int_equal(def.cluster.workers, 2);
    assert_int_equal(def.cluster.up_bps, 100000000); /* what a section leaves out stays */
    assert_int_equal(def.cluster.latency_ns, NS_PER_S);
    assert_int_equal(def.cluster.compute.step_ns, sim_default().cluster.compute.step_ns);
}

/* A key of the file that an override has made idle is no fault, and counts as its default. */
static void overrides_may_make_keys_idle(void **state) {
    (void)state;
    static const char text[] = "strategy: {name: GlobalM1LocalM2-subset, subset: [head]}\nouter: {lr: 0.5}\n";
    struct sim_def def = must_resolve(text, (const char *const[]){"strategy.name=DDP", NULL});
    assert_int_equal(def.strategy.subset_count, 0);
    assert_true(def.outer.learning_rate == sim_default().outer.learning_rate);
}

static void names_and_seeds(void **state) {
    (void)state;
    char path[32];
    struct error error;
    write_file(path, "seeds: 3\nseed: 5\n");
    struct scenario *scenario = scenario_read(path, NULL, 0, 0, &error);
    assert_non_null(scenario);
    assert_string_equal(scenario_name(scenario), path + strlen("/tmp/"));
    assert_int_equal(scenario_cell_count(scenario), 3);
    assert_int_equal(scenario_cell(scenario, 0)->seed, 5);
    assert_int_equal(scenario_cell(scenario, 2)->seed, 7);
    assert_string_equal(scenario_cell_label(scenario, 2), "seed=7");
    scenario_free(scenario);
    scenario = scenario_read(path, NULL, 0, 2, &error); /* --seeds 2 */
    assert_int_equal(scenario_cell_count(scenario), 2);
    scenario_free(scenario);
    unlink(path);
    write_file(path, "grid: {seed: [5, 6, 7], cluster.workers: [2]}\n"); /* --seeds in place of an axis */
    scenario = scenario_read(path, NULL, 0, 2, &error);
    assert_int_equal(scenario_cell_count(scenario), 2);
    assert_int_equal(scenario_cell(scenario, 1)->seed, 2);
    scenario_free(scenario);
    unlink(path);
}

/* A minus before a zero, and spellings of one quantity, are the same scenario. */
static void spellings_do_not_matter(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"train: {optimizer: {weight_decay: -0}}\n", "train: {optimizer: {weight_decay: 0.0}}\n"},
        {"cluster: {link: {bandwidth: 12.5 MB/s}}\n", "cluster: {link: {up: 100 Mbps, down: 0.1 Gbps}}\n"},
        {"{\"cluster\": {\"workers\": 8}}", "# by default\n---\ncluster:\n    workers: '8'\n...\n"},
        {"payload: {parameters: 1.5B}\n", "payload:\r\n  parameters: 1500000000\r\n"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct sim_def a = must_resolve(pairs[i][0], (const char *const[]){"name=x", NULL}),
                       b = must_resolve(pairs[i][1], (const char *const[]){"name=x", NULL});
        char *left = json_of(&a), *right = json_of(&b);
        assert_string_equal(left, right);
        alloc_free(left);
        alloc_free(right);
    }
}

static void paths_start_at_the_scenario(void **state) {
    (void)state;
    char folder[] = "/tmp/scenarios-XXXXXX", file[64], real[PATH_MAX], expected[PATH_MAX + 64];
    struct error error;
    assert_non_null(mkdtemp(folder));
    assert_non_null(realpath(folder, real));
    snprintf(file, sizeof file, "%s/s.yaml", folder);
    static const struct {
        const char *text, *corpus_path;
    } cases[] = {{"data: {text: a.txt}\n", "%s/a.txt"},
                 {"data: {text: ./b/a.txt}\n", "%s/b/a.txt"},
                 {"data: {shards: 'x/*.bin'}\n", "%s/x/*.bin"},
                 {"data: {text: ../../top.txt}\n", "/top.txt"},
                 {"data: {text: /abs/../a.txt}\n", "/abs/../a.txt"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_write_file(file, cases[i].text, strlen(cases[i].text), &error), STATUS_OK);
        struct scenario *scenario = scenario_read(file, NULL, 0, 0, &error);
        if (!scenario) fail_msg("%s", error.message);
        if (strchr(cases[i].corpus_path, '%'))
            snprintf(expected, sizeof expected, "%s%s", real, cases[i].corpus_path + 2);
        else
            snprintf(expected, sizeof expected, "%s", cases[i].corpus_path);
        assert_string_equal(scenario_cell(scenario, 0)->data.path, expected);
        scenario_free(scenario);
    }
    assert_non_null(getcwd(real, sizeof real));
    struct scenario *scenario = scenario_read(file, (const char *const[]){"data.text=c.txt"}, 1, 0, &error);
    snprintf(expected, sizeof expected, "%s/c.txt", real); /* an override's starts where the command is given */
    assert_string_equal(scenario_cell(scenario, 0)->data.path, expected);
    scenario_free(scenario);
    assert_int_equal(chdir("/"), 0);
    scenario = scenario_read(file, (const char *const[]){"data.text=c.txt"}, 1, 0, &error);
    assert_string_equal(scenario_cell(scenario, 0)->data.path, "/c.txt");
    scenario_free(scenario);
    assert_int_equal(chdir(real), 0);
    unlink(file);
    rmdir(folder);
}

static void standard_input_is_a_file_too(void **state) {
    (void)state;
    char path[32];
    struct error error;
    int32_t saved = dup(0);
    write_file(path, "cluster: {workers: 5}\n");
    assert_non_null(freopen(path, "r", stdin));
    struct scenario *scenario = scenario_read("-", NULL, 0, 0, &error);
    if (!scenario) fail_msg("%s", error.message);
    assert_int_equal(scenario_cell(scenario, 0)->cluster.workers, 5);
    assert_string_equal(scenario_name(scenario), "stdin");
    scenario_free(scenario);
    dup2(saved, 0);
    close(saved);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_section_is_read),        cmocka_unit_test(an_absent_key_has_its_default),
        cmocka_unit_test(presets_and_names_come_first), cmocka_unit_test(words_stand_for_values),
        cmocka_unit_test(a_program_may_be_written_out), cmocka_unit_test(overrides_win_in_order),
        cmocka_unit_test(overrides_may_make_keys_idle), cmocka_unit_test(names_and_seeds),
        cmocka_unit_test(spellings_do_not_matter),      cmocka_unit_test(paths_start_at_the_scenario),
        cmocka_unit_test(standard_input_is_a_file_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
