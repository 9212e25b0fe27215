/* Every key of the table, set to something else than its default, shows in the printed configuration and changes its
 * hash; the table itself is sound. A key that is added without a row here fails. */
#include "support.h"

#include "keys.h"
#include "value.h"

struct key_case {
    const char *path;
    const char *value;    /* as a file would say it */
    const char *shown;    /* in the JSON, behind the key's last name */
    const char *override; /* that makes the key count; NULL = none needed */
};

static const struct key_case cases[] = {
    {"name", "elsewhere", "\"elsewhere\"", NULL},
    {"cluster.workers", "6", "6", NULL},
    {"cluster.link.up", "3 Mbps", "\"3 Mbps\"", NULL},
    {"cluster.link.down", "inf", "\"inf\"", NULL},
    {"cluster.link.latency", "1.5 ms", "\"1.5 ms\"", NULL},
    {"cluster.compute.step", "4.7 s", "\"4.7 s\"", NULL},
    {"cluster.compute.peak", "312 TFLOP/s", "\"312000000000000 FLOP/s\"", NULL},
    {"cluster.compute.mfu", "55%", "0.55", "cluster.compute.peak=1 PFLOP/s"},
    {"cluster.compute.tokens", "4096", "4096", "cluster.compute.peak=1 PFLOP/s"},
    {"cluster.failures.exchange", "5%", "0.05", NULL},
    {"cluster.failures.per", "synchronisation", "\"synchronisation\"", NULL},
    {"cluster.failures.detect", "0.25", "0.25", NULL},
    {"cluster.failures.overlapped", "skip", "\"skip\"", NULL},
    {"cluster.failures.max_attempts", "7", "7", NULL},
    {"cluster.collective", "parameter-server", "\"parameter-server\"", NULL},
    {"cluster.fidelity", "fluid", "\"fluid\"", NULL},
    {"payload.parameters", "1.5B", "1500000000", NULL},
    {"payload.dtype", "int8", "\"int8\"", NULL},
    {"payload.subset", "43%", "0.43", "strategy.name=GlobalM1LocalM2-subset"},
    {"model.dim", "128", "128", NULL},
    {"model.layers", "5", "5", NULL},
    {"model.heads", "8", "8", NULL},
    {"model.kv_heads", "1", "1", NULL},
    {"model.ffn", "99", "99", NULL},
    {"model.vocab", "300", "300", NULL},
    {"model.context", "48", "48", NULL},
    {"model.rope_theta", "5e5", "500000", NULL},
    {"model.norm_epsilon", "1e-6", "1e-06", NULL},
    {"model.tied", "true", "true", NULL},
    {"data.corpus", "shards", "\"shards\"", "data.shards=/x/*.bin"},
    {"data.text", "/x/a.txt", "\"/x/a.txt\"", NULL},
    {"data.shards", "/x/*.bin", "\"/x/*.bin\"", NULL},
    {"data.tokens", "2M", "2000000", NULL},
    {"data.source_seed", "44", "44", NULL},
    {"data.validation", "12.5%", "0.125", NULL},
    {"data.non_iid", "0.5", "0.5", NULL},
    {"train.tokens", "3M", "3000000", NULL},
    {"train.rounds", "11", "11", NULL},
    {"train.batch", "5", "5", NULL},
    {"train.accumulation", "3", "3", NULL},
    {"train.optimizer.name", "sgd", "\"sgd\"", NULL},
    {"train.optimizer.lr", "0.00123", "0.00123", NULL},
    {"train.optimizer.betas", "[0.8, 0.99]", "[0.8, 0.99]", NULL},
    {"train.optimizer.epsilon", "1e-5", "1e-05", NULL},
    {"train.optimizer.weight_decay", "0.01", "0.01", NULL},
    {"train.schedule", "constant", "\"constant\"", NULL},
    {"train.warmup", "123", "123", NULL},
    {"train.minimum", "0.3", "0.3", NULL},
    {"train.decay", "40%", "0.4", "train.schedule=wsd"},
    {"train.clip", "off", "\"off\"", NULL},
    {"strategy.name", "NoMixing", "\"NoMixing\"", NULL},
    {"strategy.program", "[inner 3, outer]", "[\"inner 3\", \"outer\"]", NULL},
    {"strategy.inner_steps", "17", "17", NULL},
    {"strategy.subset", "[norms, head]", "[\"norms\", \"head\"]", "strategy.name=GlobalM1LocalM2-subset"},
    {"outer.name", "sgd", "\"sgd\"", NULL},
    {"outer.lr", "0.35", "0.35", NULL},
    {"outer.momentum", "0.55", "0.55", NULL},
    {"evaluate.every", "last", "\"last\"", NULL},
    {"evaluate.tokens", "5000", "5000", NULL},
    {"evaluate.js_tokens", "off", "\"off\"", NULL},
    {"seed", "123456789012", "123456789012", NULL},
    {"backend", "openblas", "\"openblas\"", NULL},
};

static const struct key_case *find_case(const char *path) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].path, path) == 0) return &cases[i];
    return NULL;
}

/* {a: {b: value}} */
static struct text nest(const char *path, const char *value) {
    struct text text = {0};
    int32_t depth = 1;
    text_append(&text, "{");
    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1, depth++)
        text_append(&text, "%.*s: {", (int)(dot - path), path);
    text_append(&text, "%s: %s", path, value);
    for (; depth > 0; depth--) text_append(&text, "}");
    return text;
}

static int try_case(const struct key_case *c) {
    const char *overrides[] = {"name=x", "strategy.name=DiLoCo", c->override, NULL};
    if (strncmp(c->path, "strategy.", 9) == 0 && !c->override) overrides[1] = NULL;
    if (strcmp(c->path, "name") == 0) overrides[0] = "seed=1";
    struct sim_def plain = must_resolve("seed: 1\n", overrides);
    struct text text = nest(c->path, c->value);
    struct sim_def changed = must_resolve(text_get(&text), overrides);
    char *json = json_of(&changed), expected[128], before[33], after[33];
    struct error error;
    assert_int_equal(scenario_hash(&plain, before, &error), STATUS_OK);
    assert_int_equal(scenario_hash(&changed, after, &error), STATUS_OK);
    const char *name = strrchr(c->path, '.') ? strrchr(c->path, '.') + 1 : c->path;
    snprintf(expected, sizeof expected, "\"%s\": %s", name, c->shown);
    int failures = 0;
    if (!strstr(json, expected)) failures++, print_error("%s: %s is not in %s\n", c->path, expected, json);
    if (strcmp(c->path, "data.corpus") != 0 && strcmp(before, after) == 0)
        failures++, print_error("%s = %s: the hash stays %s\n", c->path, c->value, before);
    alloc_free(json);
    text_clear(&text);
    return failures;
}

static void every_key_counts(void **state) {
    (void)state;
    int failures = 0;
    for (int32_t row = 0; row < key_count(); row++) {
        const struct key *key = key_at(row);
        if (key->alias || key->kind == KEY_UNSUPPORTED) continue;
        const struct key_case *c = find_case(key->path);
        if (!c) failures++, print_error("%s has no case\n", key->path);
        if (c) failures += try_case(c);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (key_find(cases[i].path) < 0) failures++, print_error("%s is no key\n", cases[i].path);
    assert_int_equal(failures, 0);
}

static void aliases_set_what_they_stand_for(void **state) {
    (void)state;
    static const struct {
        const char *alias, *value, *shown;
    } aliases[] = {{"cluster.link.bandwidth", "9 Mbps", "\"up\": \"9 Mbps\", \"down\": \"9 Mbps\""},
                   {"model.preset", "1M", "\"layers\": "},
                   {"data.split", "0.3", "\"validation\": 0.3"},
                   {"seeds", "1", "\"seed\": 1"}};
    int32_t count = 0;
    for (int32_t row = 0; row < key_count(); row++) count += key_at(row)->alias;
    assert_int_equal(count, sizeof aliases / sizeof aliases[0]);
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        assert_true(key_at(key_find(aliases[i].alias))->alias);
        struct text text = nest(aliases[i].alias, aliases[i].value);
        struct sim_def def = must_resolve(text_get(&text), NULL);
        char *json = json_of(&def);
        if (!strstr(json, aliases[i].shown)) fail_msg("%s: no %s in %s", aliases[i].alias, aliases[i].shown, json);
        alloc_free(json);
        text_clear(&text);
    }
}

static void the_table_is_sound(void **state) {
    (void)state;
    assert_true(key_count() <= 128); /* SETTINGS_MAX */
    for (int32_t row = 0; row < key_count(); row++) {
        const struct key *key = key_at(row);
        assert_int_equal(key_find(key->path), row); /* no path twice */
        assert_true(strlen(key->path) < KEY_MAX_PATH);
        assert_false(key_is_section(key->path)); /* never key and section at once */
        if (key->kind == KEY_UNSUPPORTED) continue;
        if (!key->help || strlen(key->help) < 10 || strchr(key->help, '|')) fail_msg("%s: help", key->path);
        if (key->applies && !key->needs) fail_msg("%s: needs", key->path);
        assert_true(key->offset < sizeof(struct sim_def));
        for (const char *list = key->replaces; list && *list; list += strspn(list, " ")) {
            char path[KEY_MAX_PATH];
            snprintf(path, sizeof path, "%.*s", (int)strcspn(list, " "), list);
            if (key_find(path) < 0) fail_msg("%s replaces '%s', which is no key", key->path, path);
            list += strcspn(list, " ");
        }
    }
    assert_int_equal(key_find("cluster"), -1);
    assert_true(key_is_section("cluster") && key_is_section("cluster.link") && key_is_section(""));
    assert_false(key_is_section("clust") || key_is_section("cluster.lin"));
}

static void ranges_are_told(void **state) {
    (void)state;
    static const struct {
        const char *path, *range;
    } ranges[] = {{"cluster.workers", "1 to 1000000"},
                  {"train.clip", "0 to 1000000000, or off"},
                  {"data.validation", "above 0 to 1"},
                  {"cluster.link.latency", "0 s or more"},
                  {"cluster.compute.step", "above 0 s, or derived"},
                  {"payload.dtype", "fp32, bf16, fp16, int8"},
                  {"model.tied", ""}};
    char buffer[256];
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        assert_string_equal(key_describe_range(key_at(key_find(ranges[i].path)), buffer, sizeof buffer),
                            ranges[i].range);
}

/* The reference page has a row for every key, and the defaults as a file would write them. */
static void the_reference_page_is_whole(void **state) {
    (void)state;
    struct text page = {0};
    assert_int_equal(scenario_print_reference(&page), STATUS_OK);
    for (int32_t row = 0; row < key_count(); row++) {
        char name[KEY_MAX_PATH + 2];
        snprintf(name, sizeof name, "`%s`", key_at(row)->path);
        if (!strstr(text_get(&page), name)) fail_msg("%s is not on the page", name);
    }
    assert_non_null(strstr(text_get(&page), "| `cluster.compute.step` | a duration, such as 20 ms | `2.36 s` | "
                                            "above 0 s, or derived | "));
    text_clear(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_counts),
        cmocka_unit_test(aliases_set_what_they_stand_for),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(ranges_are_told),
        cmocka_unit_test(the_reference_page_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
