/* Content hashes: the documented encoding, fields kept apart. */
#include "expect.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct field {
    char kind; /* t: text, i: integer, f: real, 0: end */
    const char *text;
    int64_t integer;
    double real;
};

static void hash_fields(const struct field *fields, char hex[HASH_HEX_SIZE]) {
    struct error error = {0};
    struct hash *hash = hash_create(&error);
    assert_non_null(hash);
    for (; fields->kind; fields++) {
        if (fields->kind == 't') hash_text(hash, fields->text);
        if (fields->kind == 'i') hash_i64(hash, fields->integer);
        if (fields->kind == 'f') hash_f64(hash, fields->real);
        hash_hex(hash, hex); /* looking does not change what follows */
    }
    hash_hex(hash, hex);
    hash_free(hash);
}

/* The documented bytes, put together by hand. */
static void is_xxh3_of_the_encoding(void **state) {
    (void)state;
    static const struct field fields[] = {
        {.kind = 't', .text = "abc"}, {.kind = 'i', .integer = -2}, {.kind = 'f', .real = 1.0}, {0}};
    static const unsigned char encoded[] = {3,    0,    0,    0,    0,    0, 0, 0, 'a', 'b', 'c', 0xFE, 0xFF, 0xFF,
                                            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0,   0,   0,   0xF0, 0x3F};
    XXH128_hash_t digest = XXH3_128bits(encoded, sizeof encoded);
    char expected[HASH_HEX_SIZE], got[HASH_HEX_SIZE];
    snprintf(expected, sizeof expected, "%016llx%016llx", (unsigned long long)digest.high64,
             (unsigned long long)digest.low64);
    hash_fields(fields, got);
    assert_string_equal(got, expected);
    hash_fields(fields + 3, got);
    assert_string_equal(got, "99aa06d3014798d86001c324468d497f"); /* XXH3 128 of nothing, xxhash 0.8 sanity table */
}

static void different_fields_differ(void **state) {
    (void)state;
    static const struct field rows[][3] = {
        {{0}},
        {{.kind = 't', .text = ""}},
        {{.kind = 't', .text = "abc"}},
        {{.kind = 't', .text = "ab"}, {.kind = 't', .text = "c"}},
        {{.kind = 't', .text = "a"}, {.kind = 't', .text = "bc"}},
        {{.kind = 't', .text = "abc"}, {.kind = 't', .text = ""}},
        {{.kind = 't', .text = ""}, {.kind = 't', .text = "abc"}},
        {{.kind = 'i', .integer = 1}},
        {{.kind = 'i', .integer = INT64_MIN}},
        {{.kind = 'i', .integer = 1}, {.kind = 'i', .integer = 2}},
        {{.kind = 'i', .integer = 2}, {.kind = 'i', .integer = 1}},
        {{.kind = 'f', .real = 1}},
        {{.kind = 'f', .real = 1}, {.kind = 'f', .real = 0.0}},
        {{.kind = 'f', .real = 1}, {.kind = 'f', .real = -0.0}},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    char hex[ROWS][HASH_HEX_SIZE];
    for (int i = 0; i < ROWS; i++) {
        hash_fields(rows[i], hex[i]);
        EXPECT(strspn(hex[i], "0123456789abcdef") == 32, "row %d: %s", i, hex[i]);
        for (int j = 0; j < i; j++) EXPECT(strcmp(hex[i], hex[j]) != 0, "rows %d and %d: %s", i, j, hex[i]);
    }
    assert_no_faults();
}

static void bytes_may_hold_zeroes(void **state) {
    (void)state;
    char hex[2][HASH_HEX_SIZE];
    for (int i = 0; i < 2; i++) {
        struct hash *hash = hash_create(NULL);
        assert_non_null(hash);
        hash_bytes(hash, i ? "a\0b" : "a\0c", 3);
        hash_bytes(hash, NULL, 0);
        hash_hex(hash, hex[i]);
        hash_free(hash);
    }
    assert_string_not_equal(hex[0], hex[1]);
}

static void lack_of_memory_is_reported(void **state) {
    (void)state;
    struct error error = {0};
    alloc_fail_at(1, false);
    assert_null(hash_create(&error));
    assert_int_equal(error.status, STATUS_MEMORY);
    hash_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_xxh3_of_the_encoding),
        cmocka_unit_test(different_fields_differ),
        cmocka_unit_test(bytes_may_hold_zeroes),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
