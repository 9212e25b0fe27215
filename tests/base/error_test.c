/* The error record: what is kept, what is cut, how it reads on the command line. */
#include "expect.h"

#include "base/error.h"

#include <string.h>

static void formats_known_parts_only(void **state) {
    (void)state;
    static const struct {
        const char *file;
        int32_t line, column;
        const char *message, *expected;
    } rows[] = {
        {"a.yaml", 3, 7, "unknown key 'x'", "a.yaml:3:7: error: unknown key 'x'"},
        {"a.yaml", 3, 0, "unknown key 'x'", "a.yaml:3: error: unknown key 'x'"},
        {"a.yaml", 0, 7, "cannot be read", "a.yaml: error: cannot be read"},
        {NULL, 3, 7, "no such run", "error: no such run"},
        {"", 0, 0, "no such run", "error: no such run"},
        {"a", 1, 1, "", "a:1:1: error: bad input"},
        {"a", 1, 1, "two\nlines\r\n", "a:1:1: error: two lines  "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error;
        char line[600];
        enum status status =
            error_at(&error, STATUS_INPUT, rows[i].file, rows[i].line, rows[i].column, "%s", rows[i].message);
        assert_int_equal(status, STATUS_INPUT);
        assert_int_equal(error.status, STATUS_INPUT);
        EXPECT(strcmp(error_format(&error, line, sizeof line), rows[i].expected) == 0, "row %zu: '%s'", i, line);
    }
    assert_no_faults();
}

static void forgets_the_former_place(void **state) {
    (void)state;
    struct error error;
    error_at(&error, STATUS_IO, "file", 1, 2, "first");
    assert_int_equal(error_set(&error, STATUS_MEMORY, "second"), STATUS_MEMORY);
    assert_string_equal(error.file, "");
    assert_int_equal(error.line + error.column, 0);
    error_clear(&error);
    assert_int_equal(error.status, STATUS_OK);
    assert_string_equal(error.message, "");
}

static void keeps_the_end_of_a_long_path(void **state) {
    (void)state;
    char path[1000];
    memset(path, 'd', sizeof path);
    memcpy(path + sizeof path - 8, "/x.yaml", 8);
    struct error error;
    error_at(&error, STATUS_INPUT, path, 1, 1, "m");
    assert_int_equal(strlen(error.file), sizeof error.file - 1);
    assert_string_equal(error.file + strlen(error.file) - 7, "/x.yaml");
}

static void cuts_long_messages_and_small_buffers(void **state) {
    (void)state;
    char message[2000];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    struct error error;
    error_set(&error, STATUS_INPUT, "%s", message);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    for (size_t size = 1; size < 20; size++) {
        char buffer[20];
        memset(buffer, '#', sizeof buffer);
        error_format(&error, buffer, size);
        assert_int_equal(strlen(buffer), size - 1);
        assert_int_equal(buffer[size], '#');
    }
}

static void may_quote_itself(void **state) {
    (void)state;
    struct error error;
    error_at(&error, STATUS_INPUT, "inner.yaml", 4, 5, "unknown unit");
    error_at(&error, STATUS_INPUT, error.file, error.line, error.column, "%s in 'up'", error.message);
    char line[600];
    assert_string_equal(error_format(&error, line, sizeof line), "inner.yaml:4:5: error: unknown unit in 'up'");
}

static void may_be_absent(void **state) {
    (void)state;
    assert_int_equal(error_set(NULL, STATUS_NUMERIC, "%d", 1), STATUS_NUMERIC);
    assert_int_equal(error_at(NULL, STATUS_IO, "f", 1, 1, "m"), STATUS_IO);
}

static void every_status_has_name_text_and_exit(void **state) {
    (void)state;
    assert_int_equal(status_exit(STATUS_OK), 0);
    for (int status = 0; status < STATUS_COUNT; status++) {
        EXPECT(status_name(status)[0] >= 'A' && status_name(status)[0] <= 'Z', "status %d", status);
        EXPECT(status_text(status)[0] >= 'a' && status_text(status)[0] <= 'z', "status %d", status);
        int expected = status == STATUS_OK ? 0 : status == STATUS_INPUT ? 2 : 1;
        EXPECT(status_exit(status) == expected, "%s: %d", status_name(status), status_exit(status));
    }
    assert_no_faults();
}

static enum status pass_up(enum status status, int *reached) {
    TRY(status);
    ++*reached;
    return STATUS_OK;
}

static void try_stops_at_the_first_failure(void **state) {
    (void)state;
    int reached = 0;
    assert_int_equal(pass_up(STATUS_IO, &reached), STATUS_IO);
    assert_int_equal(reached, 0);
    assert_int_equal(pass_up(STATUS_OK, &reached), STATUS_OK);
    assert_int_equal(reached, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_known_parts_only),
        cmocka_unit_test(forgets_the_former_place),
        cmocka_unit_test(keeps_the_end_of_a_long_path),
        cmocka_unit_test(cuts_long_messages_and_small_buffers),
        cmocka_unit_test(may_quote_itself),
        cmocka_unit_test(may_be_absent),
        cmocka_unit_test(every_status_has_name_text_and_exit),
        cmocka_unit_test(try_stops_at_the_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
