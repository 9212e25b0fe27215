/* Text of users inside gnuplot scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quote.h"

#include <string.h>

static void everything_is_quoted(void **state) {
    (void)state;
    static const struct {
        const char *value, *label, *tic;
    } rows[] = {
        {"", "\"\"", "\"\""},
        {"DiLoCo", "\"DiLoCo\"", "\"DiLoCo\""},
        {"a_b, c = 1/2 (x)", "\"a_b, c = 1/2 (x)\"", "\"a_b, c = 1/2 (x)\""},
        {"it's", "\"it\\047s\"", "\"it\\047s\""},
        {"50% %g", "\"50% %g\"", "\"50%% %%g\""},
        {"\"\\n`$@;#{}1", "\"\\042\\134n\\140\\044\\100\\073\\043\\173\\1751\"",
         "\"\\042\\134n\\140\\044\\100\\073\\043\\173\\1751\""},
        {"two\nlines\r\t\x7f.", "\"two lines   .\"", "\"two lines   .\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
         "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff_\xc3_\xe2\x82", "\"?_?_?\?\"", "\"?_?_?\?\""},       /* not UTF-8 */
        {"\xc0\x80\xed\xa0\x80", "\"?\?\?\?\?\"", "\"?\?\?\?\?\""}, /* overlong; a surrogate */
        {"\xf4\x90\x80\x80", "\"?\?\?\?\"", "\"?\?\?\?\""},         /* beyond the last code point */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text label = {0}, tic = {0};
        quote_append(&label, rows[i].value);
        quote_append_tic(&tic, rows[i].value);
        assert_string_equal(text_get(&label), rows[i].label);
        assert_string_equal(text_get(&tic), rows[i].tic);
        text_clear(&label);
        text_clear(&tic);
    }
}

static void long_text_is_cut(void **state) {
    (void)state;
    char buffer[64], tiny[8];
    assert_string_equal(quote_shorten(buffer, sizeof buffer, "short", 7.5, 100), "short");
    quote_shorten(buffer, sizeof buffer, "a strategy with a rather long name", 7.5, 60);
    assert_true(quote_width(buffer, 7.5) <= 60);
    assert_true(strlen(buffer) > 8 && strcmp(buffer + strlen(buffer) - 3, "...") == 0);
    /* A buffer smaller than the text, and never half a character. */
    assert_string_equal(quote_shorten(tiny, sizeof tiny, "abcdefghij", 7.5, 1000), "abcd...");
    assert_string_equal(quote_shorten(tiny, sizeof tiny, "abc\xc3\xa9\xc3\xa9\xc3\xa9", 7.5, 1000), "abc...");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_is_quoted), cmocka_unit_test(long_text_is_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
