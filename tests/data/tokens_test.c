/* Readers of foreign bytes: token shards and text files, right and wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "tokens.h"

static char folder[] = "/tmp/shards_test.XXXXXX";

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const char *write_file(const char *name, const void *bytes, size_t length) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A shard with `count` tokens id(i) = i * 7 % vocab, header as told, in `to`; returns its bytes. */
static size_t make_shard(uint8_t *to, int32_t magic, int32_t version, int32_t said, int32_t count, int32_t width,
                         uint32_t vocab) {
    int32_t header[256] = {magic, version, said};
    memcpy(to, header, sizeof header);
    for (int32_t i = 0; i < count; i++) {
        uint32_t id = (uint32_t)i * 7 % vocab;
        uint16_t narrow = (uint16_t)id;
        memcpy(to + sizeof header + (size_t)i * (size_t)width, width == 2 ? (void *)&narrow : (void *)&id,
               (size_t)width);
    }
    return sizeof header + (size_t)count * (size_t)width;
}

static void test_formats(void **state) {
    static uint8_t bytes[1 << 16];
    struct tokens tokens;
    struct error error = {0};
    (void)state;
    size_t size = make_shard(bytes, 20240520, 1, 1000, 1000, 2, 50257);
    assert_int_equal(tokens_open_shards(&tokens, write_file("gpt2.bin", bytes, size), 50257, &error), STATUS_OK);
    assert_int_equal(tokens.pieces[0].count, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(tokens_get(&tokens, &tokens.pieces[0], i), i * 7 % 50257);
    tokens_close(&tokens);

    size = make_shard(bytes, 20240801, 7, 1000, 1000, 4, 128256);
    assert_int_equal(tokens_open_shards(&tokens, write_file("llama.bin", bytes, size), 128256, &error), STATUS_OK);
    assert_int_equal(tokens_get(&tokens, &tokens.pieces[0], 999), 6993);
    tokens_close(&tokens);

    uint16_t plain[] = {5, 6, 7, 32768, 50256};
    assert_int_equal(tokens_open_shards(&tokens, write_file("nano.bin", plain, sizeof plain), 50257, &error),
                     STATUS_OK);
    assert_int_equal(tokens.pieces[0].count, 5);
    assert_int_equal(tokens_get(&tokens, &tokens.pieces[0], 3), 32768);
    tokens_close(&tokens);
}

/* Several shards are taken in the order of their names. */
static void test_order(void **state) {
    struct tokens tokens;
    struct error error;
    char pattern[128];
    (void)state;
    for (uint16_t i = 3; i > 0; i--) {
        char name[16];
        snprintf(name, sizeof name, "part%d.tok", i);
        uint16_t content[] = {i, i};
        write_file(name, content, sizeof content);
    }
    snprintf(pattern, sizeof pattern, "%s/part*.tok", folder);
    assert_int_equal(tokens_open_shards(&tokens, pattern, 10, &error), STATUS_OK);
    assert_int_equal(tokens.piece_count, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(tokens_get(&tokens, &tokens.pieces[i], 0), i + 1);
    tokens_close(&tokens);
}

static void test_broken_shards(void **state) {
    static uint8_t bytes[1 << 16];
    static const struct {
        const char *name;
        int32_t magic, version, said, count, width;
        int cut; /* bytes taken off the end */
        int32_t vocab;
        const char *expected;
    } cases[] = {
        {"count", 20240520, 1, 999, 1000, 2, 0, 50257, "999"},
        {"short", 20240520, 1, 1000, 1000, 2, 2, 50257, "1000"},
        {"odd", 20240520, 1, 1000, 1000, 2, 1, 50257, "1000"},
        {"version", 20240520, 2, 1000, 1000, 2, 0, 50257, "version 2"},
        {"header", 20240520, 1, 10, 10, 2, 900, 50257, "header"},
        {"negative", 20240520, 1, -5, 10, 2, 0, 50257, "-5"},
        {"vocabulary", 20240520, 1, 1000, 1000, 2, 0, 6993, "token 6993 at offset 3022"},
        {"wide count", 20240801, 7, 500, 1000, 4, 0, 50257, "500"},
        {"wide odd", 20240801, 7, 1000, 1000, 4, 2, 50257, "1000"},
        {"wide version", 20240801, 1, 1000, 1000, 4, 0, 50257, "version 1"},
        {"wide as narrow", 20240520, 1, 1000, 1000, 4, 0, 50257, "1000"},
        {"only the magic", 20240520, 1, 10, 10, 2, 1040, 50257, "cut off at 4 of 1024"},
        {"only the header", 20240520, 1, 10, 10, 2, 20, 50257, "10 tokens"},
        {"no tokens", 20240520, 1, 0, 0, 2, 0, 50257, "0 tokens"},
        {"other magic", 20240326, 1, 1000, 1000, 2, 0, 50257, "magic 20240326 at offset 0"},
        {"bytes swapped", (int32_t)0x88d83401, 0x01000000, 0x0e803000, 1000, 2, 0, 65536, "magic"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokens tokens;
        struct error error = {0};
        int64_t before = alloc_live_blocks();
        size_t size =
            make_shard(bytes, cases[i].magic, cases[i].version, cases[i].said, cases[i].count, cases[i].width, 50257);
        const char *path = write_file("broken.bin", bytes, size - (size_t)cases[i].cut);
        assert_int_equal(tokens_open_shards(&tokens, path, cases[i].vocab, &error), STATUS_INPUT);
        assert_string_equal(error.file, path);
        if (!strstr(error.message, cases[i].expected))
            fail_msg("%s: expected '%s' in: %s", cases[i].name, cases[i].expected, error.message);
        assert_int_equal(alloc_live_blocks(), before);
    }
}

static void expect(const char *pattern, int32_t vocab, const char *expected) {
    struct tokens tokens;
    struct error error = {0};
    int64_t before = alloc_live_blocks();
    if (tokens_open_shards(&tokens, pattern, vocab, &error) != STATUS_INPUT || !strstr(error.message, expected))
        fail_msg("%s: expected '%s' in: %s", pattern, expected, error.message);
    assert_int_equal(alloc_live_blocks(), before);
}

/* Bare tokens: nothing but their number and their ids can be wrong. */
static void test_broken_bare_tokens(void **state) {
    uint16_t ids[] = {1, 32767, 32768, 65535};
    struct tokens tokens;
    struct error error;
    (void)state;
    expect(write_file("odd.raw", ids, 7), 65536, "7 bytes are no whole number");
    expect(write_file("one.raw", ids, 1), 65536, "1 bytes are no whole number");
    expect(write_file("range.raw", ids, 8), 65535, "token 65535 at offset 6");
    expect(write_file("range.raw", ids, 8), 32768, "token 32768 at offset 4");
    assert_int_equal(tokens_open_shards(&tokens, write_file("good.raw", ids, 8), 65536, &error), STATUS_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(tokens_get(&tokens, &tokens.pieces[0], i), ids[i]);
    tokens_close(&tokens);
}

/* Ids that do not fit 31 bits are not taken for small or negative ones. */
static void test_large_ids(void **state) {
    static int32_t bytes[256 + 3] = {20240801, 7, 3};
    (void)state;
    bytes[257] = INT32_MIN;
    expect(write_file("large.bin", bytes, sizeof bytes), INT32_MAX, "token 2147483648 at offset 1028");
    bytes[257] = -1;
    expect(write_file("large.bin", bytes, sizeof bytes), INT32_MAX, "token 4294967295 at offset 1028");
    bytes[257] = 128256;
    expect(write_file("large.bin", bytes, sizeof bytes), 128256, "token 128256 at offset 1028");
}

/* What does not go together: widths, and one file by two names. */
static void test_broken_sets(void **state) {
    static uint8_t bytes[1 << 13];
    char pattern[128], second[128];
    const char *path;
    (void)state;
    write_file("mix1.set", bytes, make_shard(bytes, 20240520, 1, 10, 10, 2, 50));
    write_file("mix2.set", bytes, make_shard(bytes, 20240801, 7, 10, 10, 4, 50));
    snprintf(pattern, sizeof pattern, "%s/mix?.set", folder);
    expect(pattern, 50, "tokens of 4 bytes");

    path = write_file("twin1.set", bytes, make_shard(bytes, 20240520, 1, 10, 10, 2, 50));
    snprintf(second, sizeof second, "%s/twin2.set", folder);
    assert_int_equal(symlink(path, second), 0);
    snprintf(pattern, sizeof pattern, "%s/twin?.set", folder);
    expect(pattern, 50, "the same file as");

    snprintf(pattern, sizeof pattern, "%s/none*.set", folder);
    expect(pattern, 50, "no file matches");
    expect("/nonexistent/*.bin", 50, "missing");
}

static void test_broken_files(void **state) {
    struct tokens tokens;
    struct error error = {0};
    (void)state;
    assert_int_equal(tokens_open_text(&tokens, "/nonexistent/file", &error), STATUS_INPUT);
    assert_int_equal(tokens_open_text(&tokens, folder, &error), STATUS_INPUT);
    assert_int_equal(tokens_open_text(&tokens, write_file("empty", "", 0), &error), STATUS_INPUT);
    assert_int_equal(tokens_open_text(&tokens, "/dev/null", &error), STATUS_INPUT);
    assert_int_equal(tokens_open_shards(&tokens, "/nonexistent/*.bin", 10, &error), STATUS_INPUT);
}

/* Random damage: whatever the bytes, the answer is a status, and what is accepted is in range. */
static void test_random_damage(void **state) {
    static uint8_t bytes[4096];
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct tokens tokens;
        struct error error;
        bool wide = i % 2;
        size_t size = make_shard(bytes, wide ? 20240801 : 20240520, wide ? 7 : 1, 500, 500, wide ? 4 : 2, 300);
        for (uint32_t hits = 1 + rng_below(&rng, 6); hits > 0; hits--)
            bytes[rng_below(&rng, rng_below(&rng, 2) ? 16 : (uint32_t)size)] = (uint8_t)rng_u32(&rng);
        size -= rng_below(&rng, 3) ? 0 : rng_below(&rng, (uint32_t)size);
        if (tokens_open_shards(&tokens, write_file("damaged.bin", bytes, size), 300, &error) != STATUS_OK) continue;
        for (int64_t t = 0; t < tokens.pieces[0].count; t++)
            assert_in_range(tokens_get(&tokens, &tokens.pieces[0], t), 0, 299);
        tokens_close(&tokens);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats),       cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_broken_shards), cmocka_unit_test(test_broken_bare_tokens),
                                       cmocka_unit_test(test_large_ids),     cmocka_unit_test(test_broken_sets),
                                       cmocka_unit_test(test_broken_files),  cmocka_unit_test(test_random_damage)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
