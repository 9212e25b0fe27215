/* Every kind of mistake gives one line at the right place, prints nothing, and leaves no memory behind. */
#include "support.h"

#include <inttypes.h>

struct fault {
    const char *name, *text, *expected; /* a `*` at the end of expected: any rest (libfyaml's own words) */
};
static const struct fault faults[] = {
#define FAULT(name, text, expected) {name, text, expected},
#include "faults.def"
#undef FAULT
};

static bool matches(const char *expected, const char *got) {
    size_t length = strlen(expected);
    if (length && expected[length - 1] == '*') return strncmp(expected, got, length - 1) == 0;
    return strcmp(expected, got) == 0;
}

static int compare(const char *name, const char *expected, const struct error *error) {
    char got[sizeof error->message + 64];
    snprintf(got, sizeof got, "%" PRId32 ":%" PRId32 ": %s", error->line, error->column, error->message);
    if (matches(expected, got) && error->status == STATUS_INPUT) return 0;
    print_error("%s:\n  expected %s\n  got      %s (%s)\n", name, expected, got, status_name(error->status));
    return 1;
}

static void files_at_fault(void **state) {
    (void)state;
    int32_t failures = 0;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct error error;
        int64_t blocks = alloc_live_blocks();
        struct scenario *scenario = read_text(faults[i].text, NULL, &error);
        if (scenario) print_error("%s: read without a word\n", faults[i].name);
        failures += scenario ? 1 : compare(faults[i].name, faults[i].expected, &error);
        scenario_free(scenario);
        if (!scenario && strncmp(error.file, "/tmp/scenario-", 14) != 0)
            failures++, print_error("%s: names the file '%s'\n", faults[i].name, error.file);
        if (alloc_live_blocks() != blocks) failures++, print_error("%s: memory stays allocated\n", faults[i].name);
    }
    assert_int_equal(failures, 0);
}

/* Overrides have no line; the message says which one it is. */
static void overrides_at_fault(void **state) {
    (void)state;
    static const struct {
        const char *override, *expected;
    } cases[] = {
        {"strategy.nmae=x", "0:0: --set strategy.nmae: unknown key 'nmae' in strategy; did you mean 'name'?"},
        {"strateg.name=x", "0:0: --set strateg.name: unknown key 'strateg' in a scenario; did you mean 'strategy'?"},
        {"strategy.name", "0:0: --set 'strategy.name' has no key and value; write --set key=value"},
        {"", "0:0: --set '' has no key and value; write --set key=value"},
        {"=5", "0:0: --set '=5' has no key and value; write --set key=value"},
        {"strategy.name=", "0:0: --set strategy.name: is empty; write a name"},
        {"strategy.inner_steps=[25,50]",
         "0:0: --set strategy.inner_steps: must be a whole number, not a list; several values go into the grid: "
         "{strategy.inner_steps: [...]}"},
        {"cluster.workers=0", "0:0: --set cluster.workers: '0' is out of range; write 1 to 1000000"},
        {"cluster=5", "0:0: --set cluster: must be a map of keys, not one value"},
        {"cluster..workers=3", "0:0: --set cluster..workers: unknown key '' in cluster; docs/scenario.md lists all"},
        {"cluster={workers: 8, wrokers: 9}", "0:0: --set cluster: unknown key 'wrokers' in cluster; did you mean "
                                             "'workers'?"},
        {"name=[", "0:0: --set name: not valid YAML: *"},
        {"name=*x", "0:0: --set name: aliases (*name) are not supported; write the value out"},
        {"grid=5", "0:0: --set grid: must be a map of keys to lists, such as {strategy.name: [DDP, DiLoCo]}"},
        {"grid.x=[3]", "0:0: --set grid.x: unknown key 'x' in a scenario; docs/scenario.md lists all"},
        {"grid.cluster.workers=8",
         "0:0: --set grid.cluster.workers: grid: cluster.workers must be a list of values, such as [a, b]"},
        {"strategy.name=DDP outer", "0:0: --set strategy.name: unknown name 'DDP outer'; *"},
        {"cluster.failures.outages=1",
         "0:0: --set cluster.failures.outages: key 'cluster.failures.outages' is not supported by this version"},
        {"model.heads=7", "0:0: --set model.heads: model.dim is 64; an even multiple of model.heads (7) is needed"},
        {"train.decay=0.5", "0:0: --set train.decay: has no effect here; it needs schedule wsd"},
    };
    int32_t failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error;
        struct scenario *scenario =
            read_text("cluster: {workers: 8}\n", (const char *const[]){cases[i].override, NULL}, &error);
        if (scenario) print_error("%s: read without a word\n", cases[i].override);
        failures += scenario ? 1 : compare(cases[i].override, cases[i].expected, &error);
        scenario_free(scenario);
    }
    assert_int_equal(failures, 0);
}

static void expect_fault(const char *text, const char *expected) {
    struct error error;
    struct scenario *scenario = read_text(text, NULL, &error);
    assert_null(scenario);
    assert_int_equal(compare(expected, expected, &error), 0);
}

static char *repeat(const char *before, const char *unit, int32_t count, const char *after) {
    struct text text = {0};
    text_append(&text, "%s", before);
    for (int32_t i = 0; i < count; i++) text_append(&text, "%s", unit);
    text_append(&text, "%s", after);
    assert_false(text.failed);
    return text.bytes;
}

static void floods_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *before, *unit;
        int32_t count;
        const char *after, *expected;
    } cases[] = {
        {"#", "xxxxxxxxxxxxxxxx", 1 << 18, "\n", "0:0: *"}, /* a byte over 4 MiB */
        {"a: ", "[", 100000, "", "1:19: nested too deeply; at most 16 levels"},
        {"a: ", "{b: ", 100000, "", "1:64: nested too deeply; at most 16 levels"},
        {"", "- ", 60, "", "1:33: nested too deeply; at most 16 levels"},
        {"a: [", "a,", 1000001, "]", "1:2000001: too many values; at most 1000000 in a file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = repeat(cases[i].before, cases[i].unit, cases[i].count, cases[i].after);
        expect_fault(text, cases[i].expected);
        alloc_free(text);
    }
}

static void files_that_are_none(void **state) {
    (void)state;
    static const char *const paths[] = {"/tmp/no such scenario.yaml", "/tmp", "/dev/zero", ""};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct error error;
        assert_null(scenario_read(paths[i], NULL, 0, 0, &error));
        if (error.status != STATUS_INPUT || error.message[0] == '\0')
            fail_msg("'%s': %s %s", paths[i], status_name(error.status), error.message);
    }
    assert_null(scenario_read("/tmp/no such scenario.yaml", NULL, 0, 0, NULL));
}

/* libfyaml's diagnostics go to the error alone. */
static void nothing_is_printed(void **state) {
    (void)state;
    char path[32], *printed = NULL;
    size_t length;
    struct error error;
    write_file(path, "");
    fflush(stderr);
    int32_t saved = dup(2);
    assert_non_null(freopen(path, "w", stderr));
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        scenario_free(read_text(faults[i].text, NULL, &error));
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    assert_int_equal(text_read_file(path, 1 << 20, &printed, &length, &error), STATUS_OK);
    assert_string_equal(printed, "");
    alloc_free(printed);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_at_fault),     cmocka_unit_test(overrides_at_fault),
        cmocka_unit_test(floods_are_refused), cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(nothing_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
