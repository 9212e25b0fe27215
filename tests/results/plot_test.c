/* Figures of every kind and format, from good data and bad; gnuplot missing or failing. */
#include "fake.h"

#include "base/alloc.h"

#include <sys/stat.h>
#include <sys/wait.h>

static char folder[64];
static bool have_gnuplot;

static int make_folder(void **state) {
    (void)state;
    fake_folder(folder);
    have_gnuplot = system("gnuplot --version >/dev/null 2>&1") == 0;
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    fake_remove(folder);
    return 0;
}

static char *name_of(char *buffer, const char *directory, const char *name) {
    snprintf(buffer, 200, "%s/%s/%s", folder, directory, name);
    return buffer;
}

static struct store *open_new(const char *name) {
    char path[200];
    struct error error = {0};
    snprintf(path, sizeof path, "%s/%s.db", folder, name);
    struct store *store = store_open(path, &error);
    if (!store) fail_msg("%s", error.message);
    return store;
}

static char *read_figure(const char *path) {
    struct error error = {0};
    char *contents;
    size_t length;
    fake_expect(text_read_file(path, 1 << 24, &contents, &length, &error), &error);
    assert_true(length > 0);
    return contents;
}

static enum status draw(struct store *store, enum plot_kind kind, enum plot_format format, const char *directory,
                        struct text *text, struct error *error) {
    char path[1024], into[200];
    snprintf(into, sizeof into, "%s/%s", folder, directory);
    struct plot_def def = {.kind = kind, .format = format, .directory = into, .columns = 80};
    enum status status = plot_draw(store, &def, path, sizeof path, text, error);
    char wanted[200], name[64];
    snprintf(name, sizeof name, "%s.%s", plot_kind_name(kind), plot_format_name(format));
    if (status == STATUS_OK) assert_string_equal(path, name_of(wanted, directory, name));
    return status;
}

static void expect_drawn(struct store *store, enum plot_kind kind, enum plot_format format, const char *directory) {
    struct error error = {0};
    enum status status = draw(store, kind, format, directory, NULL, &error);
    if (status != STATUS_OK)
        fail_msg("%s/%s.%s: %s", directory, plot_kind_name(kind), plot_format_name(format), error.message);
}

/* The figure is what its format says; nothing else is left in the folder than the script. */
static void check_file(enum plot_kind kind, enum plot_format format, const char *directory) {
    static const char *const beginnings[PLOT_FORMATS] = {"<?xml", "\x89PNG", "%PDF-", ""};
    char path[200], name[64];
    struct stat info;
    snprintf(name, sizeof name, "%s.%s", plot_kind_name(kind), plot_format_name(format));
    char *figure = read_figure(name_of(path, directory, name));
    if (strncmp(figure, beginnings[format], strlen(beginnings[format])) != 0) fail_msg("%s is not what it says", path);
    if (format == PLOT_SVG && !strstr(figure, "</svg>")) fail_msg("%s is not whole", path);
    alloc_free(figure);
    snprintf(name, sizeof name, "%s.%s.part", plot_kind_name(kind), plot_format_name(format));
    assert_true(stat(name_of(path, directory, name), &info) != 0);
    snprintf(name, sizeof name, format == PLOT_TXT ? "%s.txt.gp" : "%s.gp", plot_kind_name(kind));
    assert_int_equal(stat(name_of(path, directory, name), &info), 0);
}

static void fill(struct store *store, int seeds) {
    for (int i = 0; i < FAKE_STRATEGIES; i++)
        for (int seed = 1; seed <= seeds; seed++) {
            struct fake fake = fake_strategy(i);
            fake.seed = (uint64_t)seed;
            fake.perplexity += 0.02 * seed;
            fake_store(store, &fake);
        }
}

static void every_kind_in_every_format(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    struct store *store = open_new("all");
    fill(store, 2);
    for (int kind = 0; kind < PLOT_KINDS; kind++)
        for (int format = 0; format < PLOT_FORMATS; format++) {
            expect_drawn(store, (enum plot_kind)kind, (enum plot_format)format, "all/deeper");
            check_file((enum plot_kind)kind, (enum plot_format)format, "all/deeper");
        }
    store_close(store);
}

/* The script alone, in another place, draws the same picture. */
static void scripts_stand_alone(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    char command[600], path[200], other[200];
    struct store *store = open_new("alone");
    fill(store, 1);
    for (int kind = 0; kind < PLOT_KINDS; kind++) {
        expect_drawn(store, (enum plot_kind)kind, PLOT_SVG, "alone");
        snprintf(command, sizeof command,
                 "mkdir -p %s/moved && cp %s/alone/%s.gp %s/moved && cd %s/moved && gnuplot %s.gp && "
                 "gnuplot -e \"format='pdf'\" %s.gp",
                 folder, folder, plot_kind_name((enum plot_kind)kind), folder, folder,
                 plot_kind_name((enum plot_kind)kind), plot_kind_name((enum plot_kind)kind));
        assert_int_equal(system(command), 0);
        char name[64];
        snprintf(name, sizeof name, "%s.svg", plot_kind_name((enum plot_kind)kind));
        char *first = read_figure(name_of(path, "alone", name)), *second = read_figure(name_of(other, "moved", name));
        assert_string_equal(first, second);
        alloc_free(first);
        alloc_free(second);
        snprintf(name, sizeof name, "%s.pdf", plot_kind_name((enum plot_kind)kind));
        alloc_free(read_figure(name_of(other, "moved", name)));
    }
    store_close(store);
}

static void hostile_labels_are_drawn_as_they_are(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    static const char *const names[] = {"a_b \"c\" 50%d \\n {x}^2;'q'",
                                        "`touch PWNED` $HOME @m",
                                        "' ; set output 'X'",
                                        "<b>&amp;",
                                        "\xff\xfe\x01\xc3(",
                                        "line\nbreak",
                                        "%",
                                        "EOD",
                                        ""};
    struct store *store = open_new("hostile");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct fake fake = fake_default(names[i]);
        fake.scenario = i == 4 ? "plain" : names[i];
        fake.label = i == 4 ? "" : names[i];
        fake.perplexity += 0.1 * (double)i;
        if (i == 4) fake.status = RUN_DIVERGED, fake.reason = names[i];
        fake_store(store, &fake);
    }
    for (int kind = 0; kind < PLOT_KINDS; kind++)
        for (int format = 0; format < PLOT_FORMATS; format += PLOT_TXT - PLOT_SVG)
            expect_drawn(store, (enum plot_kind)kind, (enum plot_format)format, "hostile");
    store_close(store);
    char path[200], other[200];
    struct stat info;
    char *svg = read_figure(name_of(path, "hostile", "frontier.svg"));
    if (!strstr(svg, "&lt;b>&amp;amp;")) fail_msg("a label in %s is not as it was", path);
    if (!strstr(svg, "50%d \\n {x}^2;'q'")) fail_msg("a label in %s is not as it was", path);
    alloc_free(svg);
    assert_true(stat(name_of(path, "hostile", "PWNED"), &info) != 0 && stat("PWNED", &info) != 0);
    assert_true(stat(name_of(other, "hostile", "X"), &info) != 0 && stat("X", &info) != 0);
    snprintf(path, sizeof path, "cd %s/hostile && ! command -v xmllint >/dev/null || xmllint --noout *.svg", folder);
    assert_int_equal(system(path), 0);
}

/* ---- bad series ---- */

static void few_points(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    for (int count = 1; count <= 2; count++) {
        char name[16];
        snprintf(name, sizeof name, "few%d", count);
        struct store *store = open_new(name);
        for (int i = 0; i < count; i++) {
            struct fake fake = fake_strategy(2 + i);
            fake.rounds = count; /* and curves of one or two points */
            fake_store(store, &fake);
        }
        for (int kind = 0; kind < PLOT_KINDS; kind++)
            expect_drawn(store, (enum plot_kind)kind, count == 1 ? PLOT_SVG : PLOT_TXT, name);
        store_close(store);
    }
}

static void broken_runs_are_listed_not_drawn(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    struct error error = {0};
    struct text text = {0};
    struct store *store = open_new("broken");
    for (int i = 0; i < FAKE_STRATEGIES; i++) {
        struct fake fake = fake_strategy(i);
        if (i == 2) fake.perplexity = 1e30;
        if (i == 3) fake.perplexity = NAN;
        if (i == 4) fake.perplexity = INFINITY;
        if (i == 5) fake.status = RUN_DIVERGED, fake.stop_after = 3, fake.reason = "worker 2 diverged at inner step 17";
        if (i == 6) fake.status = RUN_FAILED, fake.stop_after = 2, fake.reason = "mix2 failed 1000 times";
        if (i == 7) fake.status = RUN_RUNNING, fake.stop_after = 1;
        fake_store(store, &fake);
    }
    for (int kind = 0; kind < PLOT_KINDS; kind++) {
        expect_drawn(store, (enum plot_kind)kind, PLOT_SVG, "broken");
        expect_drawn(store, (enum plot_kind)kind, PLOT_TXT, "broken");
    }
    fake_expect(draw(store, PLOT_FRONTIER, PLOT_TXT, "broken", &text, &error), &error);
    static const char *const wanted[] = {"1.10 %        5.52  DDP",
                                         "36.00 %        5.71  LocalSGD",
                                         "DiLoCo: perplexity 1e+30, off the scale",
                                         "GlobalM1: no perplexity",
                                         "GlobalM1LocalM2: no perplexity",
                                         "GlobalM1LocalM2-subset: diverged; worker 2 diverged at inner step 17",
                                         "LocalM1M2: failed; mix2 failed 1000 times",
                                         "NoMixing: running"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!strstr(text_get(&text), wanted[i])) fail_msg("no '%s' in\n%s", wanted[i], text_get(&text));
    text_clear(&text);
    store_close(store);
}

static void no_finished_run_is_a_figure_that_says_so(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    struct error error = {0};
    struct text text = {0};
    struct store *store = open_new("unfinished");
    struct fake fake = fake_strategy(2);
    fake.status = RUN_DIVERGED;
    fake.stop_after = 1;
    fake_store(store, &fake);
    expect_drawn(store, PLOT_FRONTIER, PLOT_SVG, "unfinished");
    char path[200];
    char *svg = read_figure(name_of(path, "unfinished", "frontier.svg"));
    assert_non_null(strstr(svg, "no run is done"));
    alloc_free(svg);
    fake_expect(draw(store, PLOT_FRONTIER, PLOT_TXT, "unfinished", &text, &error), &error);
    assert_non_null(strstr(text_get(&text), "DiLoCo: diverged"));
    text_clear(&text);
    store_close(store);
}

static void nothing_to_draw_is_said(void **state) {
    (void)state;
    struct store *store = open_new("nothing");
    char path[1024];
    for (int kind = 0; kind < PLOT_KINDS; kind++) {
        struct error error = {0};
        assert_int_equal(draw(store, (enum plot_kind)kind, PLOT_SVG, "nothing", NULL, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, "in the database"));
    }
    struct fake fake = fake_strategy(2);
    fake_store(store, &fake);
    struct plot_def def = {.kind = PLOT_FRONTIER, .format = PLOT_SVG, .directory = folder, .scenario = "no'such"};
    struct error error = {0};
    assert_int_equal(plot_draw(store, &def, path, sizeof path, NULL, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "no'such"));
    store_close(store);
}

/* ---- what figures show ---- */

/* Seeds are averaged; scenarios can be chosen; timing-only runs give utilization alone. */
static void frontier_groups_and_filters(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    char path[1024];
    struct error error = {0};
    struct text text = {0};
    struct store *store = open_new("groups");
    for (int i = 0; i < 6; i++) {
        struct fake fake = fake_strategy(2);
        fake.scenario = i < 3 ? "first" : "second";
        fake.seed = (uint64_t)(1 + i % 3);
        fake.perplexity = 5 + i % 3; /* mean 6, half width 4.303 / sqrt(3) */
        fake_store(store, &fake);
    }
    struct plot_def def = {
        .kind = PLOT_FRONTIER, .format = PLOT_TXT, .directory = folder, .scenario = "second", .columns = 90};
    fake_expect(plot_draw(store, &def, path, sizeof path, &text, &error), &error);
    assert_non_null(strstr(text_get(&text), "36.00 %           6 +- 2.5"));
    assert_null(strstr(text_get(&text), "  B  "));
    text_reset(&text);
    def.scenario = NULL;
    fake_expect(plot_draw(store, &def, path, sizeof path, &text, &error), &error);
    assert_non_null(strstr(text_get(&text), "DiLoCo, first"));
    assert_non_null(strstr(text_get(&text), "DiLoCo, second"));
    text_clear(&text);
    store_close(store);
}

static void timing_only_runs_show_utilization(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    struct error error = {0};
    struct text text = {0};
    struct store *store = open_new("timing");
    for (int i = 2; i < 6; i++)
        for (int mbps = 100; mbps <= 200; mbps += 100) {
            struct fake fake = fake_strategy(i);
            fake.timing_only = true;
            fake.mbps = mbps;
            fake.rounds = 3;
            fake_store(store, &fake);
        }
    for (int format = 0; format < PLOT_FORMATS; format++)
        expect_drawn(store, PLOT_FRONTIER, (enum plot_format)format, "timing");
    fake_expect(draw(store, PLOT_FRONTIER, PLOT_TXT, "timing", &text, &error), &error);
    assert_non_null(strstr(text_get(&text), "A  100 Mbps"));
    assert_null(strstr(text_get(&text), "perplexity"));
    text_clear(&text);
    expect_drawn(store, PLOT_HEATMAP, PLOT_TXT, "timing");
    expect_drawn(store, PLOT_TIMELINE, PLOT_TXT, "timing");
    assert_int_equal(draw(store, PLOT_LOSS, PLOT_SVG, "timing", NULL, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "--timing-only"));
    store_close(store);
}

/* 600 cells: the key is shortened, the figures are there. */
static void many_cells(void **state) {
    (void)state;
    if (!have_gnuplot) skip();
    struct store *store = open_new("many");
    for (int i = 2; i < 8; i++)
        for (int k = 0; k < 100; k++) {
            struct fake fake = fake_strategy(i);
            char label[64];
            snprintf(label, sizeof label, "train.optimizer.lr=%g seed=1", 1e-3 * (1 + k / 10));
            fake.label = label;
            fake.inner_steps = 10 * (1 + k % 10);
            fake.rounds = 2;
            fake_store(store, &fake);
        }
    for (int kind = 0; kind < PLOT_KINDS; kind++)
        expect_drawn(store, (enum plot_kind)kind, kind % 2 ? PLOT_TXT : PLOT_SVG, "many");
    store_close(store);
}

/* ---- gnuplot and the file system ---- */

/* With this PATH, in a child because it changes the environment. */
static int with_path(const char *value, int (*task)(void)) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        setenv("PATH", value, 1);
        _exit(task());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int draw_without_gnuplot(void) {
    char path[200];
    struct stat info;
    struct error error = {0};
    struct store *store = open_new("without");
    if (draw(store, PLOT_FRONTIER, PLOT_SVG, "without", NULL, &error) != STATUS_UNSUPPORTED) return 10;
    if (!strstr(error.message, "gnuplot is not installed") || !strstr(error.message, "apt-get install gnuplot-nox"))
        return 11;
    if (!strstr(error.message, "/without/frontier.gp")) return 12;
    if (stat(name_of(path, "without", "frontier.gp"), &info) != 0) return 13;
    if (stat(name_of(path, "without", "frontier.svg"), &info) == 0) return 14;
    store_close(store);
    return 0;
}

static int draw_with_failing_gnuplot(void) {
    char path[200];
    struct stat info;
    struct error error = {0};
    struct store *store = open_new("without");
    if (draw(store, PLOT_FRONTIER, PLOT_SVG, "failing", NULL, &error) != STATUS_UNSUPPORTED) return 10;
    if (!strstr(error.message, "line 3: no such terminal") || strchr(error.message, '\n')) return 11;
    if (stat(name_of(path, "failing", "frontier.gp"), &info) != 0) return 12;
    if (stat(name_of(path, "failing", "frontier.svg"), &info) == 0) return 13;
    if (stat(name_of(path, "failing", "frontier.svg.part"), &info) == 0) return 14;
    store_close(store);
    return 0;
}

static void gnuplot_missing_or_failing(void **state) {
    (void)state;
    char command[500], path[200];
    struct store *store = open_new("without");
    fill(store, 1);
    store_close(store);
    assert_int_equal(with_path("/nowhere", draw_without_gnuplot), 0);
    snprintf(command, sizeof command,
             "mkdir %s/bin && printf '#!/bin/sh\\necho half >frontier.svg.part\\nyes | head -c 200000 >&2\\nprintf "
             "\"\\\\n  ^\\\\n"
             "line 3: no such terminal\\\\n\\\\n\" >&2\\nexit 1\\n' >%s/bin/gnuplot && chmod +x %s/bin/gnuplot",
             folder, folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", folder);
    assert_int_equal(with_path(path, draw_with_failing_gnuplot), 0);
}

static void places_that_cannot_be_written(void **state) {
    (void)state;
    struct store *store = open_new("places");
    char path[1024], file[200];
    static const char *const directories[] = {"/proc/figures", "/dev/null/figures"};
    struct fake fake = fake_strategy(2);
    fake_store(store, &fake);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        struct error error = {0};
        struct plot_def def = {.kind = PLOT_FRONTIER, .format = PLOT_SVG, .directory = directories[i]};
        assert_int_equal(plot_draw(store, &def, path, sizeof path, NULL, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, directories[i]));
    }
    snprintf(file, sizeof file, "%s/places.db", folder);
    struct error error = {0};
    struct plot_def def = {.kind = PLOT_FRONTIER, .format = PLOT_SVG, .directory = file};
    assert_int_equal(plot_draw(store, &def, path, sizeof path, NULL, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "is no folder"));
    store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_in_every_format),
        cmocka_unit_test(scripts_stand_alone),
        cmocka_unit_test(hostile_labels_are_drawn_as_they_are),
        cmocka_unit_test(few_points),
        cmocka_unit_test(broken_runs_are_listed_not_drawn),
        cmocka_unit_test(no_finished_run_is_a_figure_that_says_so),
        cmocka_unit_test(nothing_to_draw_is_said),
        cmocka_unit_test(frontier_groups_and_filters),
        cmocka_unit_test(timing_only_runs_show_utilization),
        cmocka_unit_test(many_cells),
        cmocka_unit_test(gnuplot_missing_or_failing),
        cmocka_unit_test(places_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
