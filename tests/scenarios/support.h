/* Scenarios from texts in memory: each is written to a file of its own, since files are what the room reads. */
#ifndef TESTS_SCENARIOS_SUPPORT_H
#define TESTS_SCENARIOS_SUPPORT_H

#include "scenarios/scenarios.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_OVERRIDES 8

/* A temporary file with that text; remove_file() it. */
static inline void write_file(char path[32], const char *text) {
    snprintf(path, 32, "/tmp/scenario-XXXXXX");
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    size_t length = strlen(text);
    assert_int_equal(write(descriptor, text, length), (ssize_t)length);
    close(descriptor);
}

/* overrides: NULL-terminated, or NULL. */
static inline struct scenario *read_text(const char *text, const char *const *overrides, struct error *error) {
    char path[32];
    int32_t count = 0;
    while (overrides && count < MAX_OVERRIDES && overrides[count]) count++;
    write_file(path, text);
    struct scenario *scenario = scenario_read(path, overrides, count, 0, error);
    unlink(path);
    return scenario;
}

/* The same, which must succeed. */
static inline struct scenario *must_read(const char *text, const char *const *overrides) {
    struct error error;
    struct scenario *scenario = read_text(text, overrides, &error);
    if (!scenario) fail_msg("%d:%d: %s\nin: %s", error.line, error.column, error.message, text);
    return scenario;
}

/* The only cell of a text that must have one. */
static inline struct sim_def must_resolve(const char *text, const char *const *overrides) {
    struct scenario *scenario = must_read(text, overrides);
    assert_int_equal(scenario_cell_count(scenario), 1);
    struct sim_def def = *scenario_cell(scenario, 0);
    scenario_free(scenario);
    return def;
}

/* Canonical JSON; free it with alloc_free(). */
static inline char *json_of(const struct sim_def *def) {
    struct text json = {0};
    assert_int_equal(scenario_print_json(def, &json), STATUS_OK);
    return json.bytes;
}

#endif
