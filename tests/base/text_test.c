/* Growing text, JSON escapes, nearest words, and files that are read whole and replaced whole. */
#include "expect.h"

#include "base/alloc.h"
#include "base/text.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- growing text ---- */

static void grows_and_resets(void **state) {
    (void)state;
    int64_t blocks = alloc_live_blocks();
    struct text text = {0};
    assert_string_equal(text_get(&text), "");
    for (int i = 0; i < 1000; i++) text_append(&text, "%03d,", i);
    text_append_bytes(&text, "end\0!", 5);
    text_append_bytes(&text, NULL, 0);
    text_append(&text, "%s", "");
    assert_int_equal(text.length, 4005);
    assert_false(text.failed);
    assert_memory_equal(text.bytes + 3996, "999,end\0!", 10);
    text_reset(&text);
    assert_string_equal(text_get(&text), "");
    text_append(&text, "%s", "again");
    assert_string_equal(text_get(&text), "again");
    text_clear(&text);
    assert_string_equal(text_get(&text), "");
    assert_int_equal(alloc_live_blocks(), blocks);
}

static void failure_is_kept_for_one_check(void **state) {
    (void)state;
    struct text text = {0};
    text_append(&text, "kept");
    alloc_fail_at(1, false);
    for (int i = 0; i < 100; i++) text_append(&text, "0123456789");
    assert_true(text.failed);
    assert_memory_equal(text_get(&text), "kept", 4);
    assert_int_equal(strlen(text_get(&text)), text.length);
    text_append_bytes(&text, "x", 1);
    assert_true(text.failed); /* also after memory is there again */
    text_clear(&text);
    text_append_bytes(&text, "x", SIZE_MAX);
    assert_true(text.failed);
    text_clear(&text);
}

static void json_is_escaped(void **state) {
    (void)state;
    static const struct {
        const char *value, *expected;
    } rows[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"say \"hi\" \\ /", "\"say \\\"hi\\\" \\\\ /\""},
        {"a\nb\tc\rd\x01\x7f", "\"a\\nb\\tc\\u000dd\\u0001\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xc3", "\"\xef\xbf\xbd\""},                                                 /* cut off */
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                                 /* cut off */
        {"\xffz", "\"\xef\xbf\xbdz\""},                                               /* never valid */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                                 /* overlong */
        {"\xe0\x80\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 /* surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* beyond U+10FFFF */
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},                                 /* U+10FFFF */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        text_append_json(&text, rows[i].value);
        EXPECT(strcmp(text_get(&text), rows[i].expected) == 0, "row %zu: %s", i, text_get(&text));
        text_clear(&text);
    }
    assert_no_faults();
}

/* ---- nearest word ---- */

static void finds_misspelt_words(void **state) {
    (void)state;
    static const char *const words[] = {"bandwidth", "latency", "workers", "strategy", "up", "DiLoCo", "step"};
    static const struct {
        const char *word, *expected;
    } rows[] = {
        {"bandwith", "bandwidth"},
        {"bandwidht", "bandwidth"},
        {"banndwidht", "bandwidth"},
        {"latancy", "latency"},
        {"LATENCY", "latency"},
        {"worker", "workers"},
        {"stratgey", "strategy"},
        {"diloco", "DiLoCo"},
        {"Diloko", "DiLoCo"},
        {"upp", "up"},
        {"u", "up"},
        {"", NULL},
        {"throughput", NULL},
        {"bandw", NULL},
        {"xyz", NULL},
        {"workers", "workers"},
        {"setp", "step"},
        {"lxtxxcy", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = text_nearest(rows[i].word, words, 7);
        bool right = rows[i].expected ? got && strcmp(got, rows[i].expected) == 0 : !got;
        EXPECT(right, "'%s': %s", rows[i].word, got ? got : "none");
    }
    assert_null(text_nearest("word", NULL, 0));
    char endless[5000];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    const char *const long_words[] = {endless, "aaa"};
    assert_null(text_nearest(endless, words, 7));
    assert_string_equal(text_nearest("aab", long_words, 2), "aaa");
    assert_no_faults();
}

/* ---- files ---- */

static char folder[200];

static int make_folder(void **state) {
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/thinwire-text-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static const char *in_folder(const char *name) {
    static char paths[4][512];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Files in the folder, so that left-over temporary ones are seen. */
static int count_files(void) {
    int count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static int empty_folder(void **state) {
    (void)state;
    DIR *directory = opendir(folder);
    if (!directory) return -1;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) remove(in_folder(entry->d_name));
    return closedir(directory);
}

static int remove_folder(void **state) {
    empty_folder(state);
    return rmdir(folder);
}

static void write_plain(const char *path, const char *bytes, size_t length) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void expect_contents(const char *path, const char *expected, size_t length) {
    struct error error = {0};
    char *contents = NULL;
    size_t got = 0;
    if (text_read_file(path, 1 << 20, &contents, &got, &error) != STATUS_OK) fail_msg("%s", error.message);
    assert_int_equal(got, length);
    assert_memory_equal(contents, expected, length);
    assert_int_equal(contents[length], '\0');
    alloc_free(contents);
}

static void reads_files_whole(void **state) {
    (void)state;
    const char *path = in_folder("file");
    write_plain(path, "", 0);
    expect_contents(path, "", 0);
    write_plain(path, "a\0b\n", 4);
    expect_contents(path, "a\0b\n", 4);
}

static void refuses_what_is_no_file(void **state) {
    (void)state;
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_int_equal(symlink("nowhere", in_folder("dangling")), 0);
    write_plain(in_folder("large"), "12345", 5);
    static const struct {
        const char *name, *expected;
    } rows[] = {
        {"missing", "cannot be read: no such file or directory"},
        {"missing/below", "cannot be read: no such file or directory"},
        {"large/below", "cannot be read: not a directory"},
        {"dangling", "cannot be read: no such file or directory"},
        {"", "cannot be read: is a directory"},
        {"fifo", "cannot be read: not a regular file"}, /* does not wait for a writer */
        {"large", "too large: 5 bytes; at most 4 are read"},
    };
    int64_t blocks = alloc_live_blocks();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error = {0};
        char *contents = NULL;
        size_t length = 77;
        const char *path = in_folder(rows[i].name);
        enum status status = text_read_file(path, 4, &contents, &length, &error);
        EXPECT(status == STATUS_INPUT && error.status == STATUS_INPUT, "%s: %s", rows[i].name, status_name(status));
        EXPECT(strcmp(error.message, rows[i].expected) == 0, "%s: %s", rows[i].name, error.message);
        EXPECT(strcmp(error.file, path) == 0 && !contents && length == 77, "%s", rows[i].name);
    }
    assert_int_equal(alloc_live_blocks(), blocks);
    assert_no_faults();
}

static void limit_is_inclusive(void **state) {
    (void)state;
    char *contents;
    size_t length;
    write_plain(in_folder("five"), "12345", 5);
    assert_int_equal(text_read_file(in_folder("five"), 5, &contents, &length, NULL), STATUS_OK);
    assert_int_equal(length, 5);
    alloc_free(contents);
}

static void reading_without_memory_leaks_nothing(void **state) {
    (void)state;
    struct error error = {0};
    char *contents = NULL;
    size_t length;
    write_plain(in_folder("file"), "12345", 5);
    int64_t blocks = alloc_live_blocks();
    alloc_fail_at(1, false);
    assert_int_equal(text_read_file(in_folder("file"), 100, &contents, &length, &error), STATUS_MEMORY);
    assert_int_equal(alloc_live_blocks(), blocks);
}

static void writes_and_replaces(void **state) {
    (void)state;
    struct error error = {0};
    const char *path = in_folder("out");
    mode_t mask = umask(027);
    assert_int_equal(text_write_file(path, "first", 5, &error), STATUS_OK);
    expect_contents(path, "first", 5);
    assert_int_equal(text_write_file(path, "", 0, &error), STATUS_OK);
    expect_contents(path, "", 0);
    assert_int_equal(text_write_file(path, "a\0b", 3, &error), STATUS_OK);
    expect_contents(path, "a\0b", 3);
    umask(mask);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(count_files(), 1);
}

static void writes_behind_a_link(void **state) {
    (void)state;
    struct stat info;
    write_plain(in_folder("target"), "old", 3);
    assert_int_equal(symlink("target", in_folder("link")), 0);
    assert_int_equal(text_write_file(in_folder("link"), "new", 3, NULL), STATUS_OK);
    expect_contents(in_folder("target"), "new", 3);
    assert_int_equal(lstat(in_folder("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(count_files(), 2);
}

static void a_stale_part_is_no_obstacle(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "out.%ld.part", (long)getpid());
    write_plain(in_folder(name), "stale", 5);
    assert_int_equal(text_write_file(in_folder("out"), "new", 3, NULL), STATUS_OK);
    expect_contents(in_folder("out"), "new", 3);
    expect_contents(in_folder(name), "stale", 5);
}

static void devices_are_written_not_replaced(void **state) {
    (void)state;
    struct stat info;
    struct error error = {0};
    assert_int_equal(text_write_file("/dev/null", "x", 1, &error), STATUS_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    if (stat("/dev/full", &info) != 0) skip();
    assert_int_equal(text_write_file("/dev/full", "x", 1, &error), STATUS_IO);
    assert_string_equal(error.message, "cannot be written: no space left on device");
}

static void refuses_places_that_cannot_be_written(void **state) {
    (void)state;
    char name[6000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[0] = '/';
    write_plain(in_folder("file"), "kept", 4);
    assert_int_equal(mkdir(in_folder("directory"), 0700), 0);
    const struct {
        const char *path, *expected;
    } rows[] = {
        {in_folder("missing/out"), "cannot be written: no such file or directory"},
        {in_folder("file/out"), "cannot be written: not a directory"},
        {in_folder("directory"), "cannot be written: is a directory"},
        {name, "cannot be written: file name too long"},
        {"", "cannot be written: no such file or directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error error = {0};
        enum status status = text_write_file(rows[i].path, "x", 1, &error);
        EXPECT(status == STATUS_INPUT, "row %zu: %s", i, status_name(status));
        EXPECT(strcmp(error.message, rows[i].expected) == 0, "row %zu: %s", i, error.message);
    }
    expect_contents(in_folder("file"), "kept", 4);
    assert_int_equal(count_files(), 2);
    assert_no_faults();
}

static void a_failing_write_keeps_the_old_file(void **state) {
    (void)state;
    struct error error = {0};
    struct rlimit kept, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    small = (struct rlimit){.rlim_cur = 4, .rlim_max = kept.rlim_max};
    write_plain(in_folder("out"), "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum status status = text_write_file(in_folder("out"), "longer", 6, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, STATUS_IO);
    assert_string_equal(error.message, "cannot be written: file too large");
    expect_contents(in_folder("out"), "old", 3);
    assert_int_equal(count_files(), 1);
}

static void lack_of_permission_is_bad_input(void **state) {
    (void)state;
    enum { NOBODY = 65534 };
    struct error errors[2] = {0};
    char *contents;
    size_t length;
    const char *closed = in_folder("closed"), *out = in_folder("closed/out");
    assert_int_equal(mkdir(closed, 0), 0);
    bool root = geteuid() == 0; /* who may do anything, and who cannot enter our folder as somebody else */
    if (root && seteuid(NOBODY) != 0) skip();
    enum status read = text_read_file(out, 10, &contents, &length, &errors[0]);
    enum status written = text_write_file(out, "x", 1, &errors[1]);
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(read, STATUS_INPUT);
    assert_int_equal(written, STATUS_INPUT);
    assert_string_equal(errors[0].message, "cannot be read: permission denied");
    assert_string_equal(errors[1].message, "cannot be written: permission denied");
}

int main(void) {
#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, NULL, empty_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_resets),
        cmocka_unit_test(failure_is_kept_for_one_check),
        cmocka_unit_test(json_is_escaped),
        cmocka_unit_test(finds_misspelt_words),
        FILE_TEST(reads_files_whole),
        FILE_TEST(refuses_what_is_no_file),
        FILE_TEST(limit_is_inclusive),
        FILE_TEST(reading_without_memory_leaks_nothing),
        FILE_TEST(writes_and_replaces),
        FILE_TEST(writes_behind_a_link),
        FILE_TEST(a_stale_part_is_no_obstacle),
        FILE_TEST(devices_are_written_not_replaced),
        FILE_TEST(refuses_places_that_cannot_be_written),
        FILE_TEST(a_failing_write_keeps_the_old_file),
        FILE_TEST(lack_of_permission_is_bad_input),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
