#include "text.h"

#include "alloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- growing text ---- */

void text_clear(struct text *text) {
    alloc_free(text->bytes);
    memset(text, 0, sizeof *text);
}

void text_reset(struct text *text) {
    text->length = 0;
    if (text->bytes) text->bytes[0] = '\0';
}

const char *text_get(const struct text *text) {
    return text->bytes ? text->bytes : "";
}

/* Room for `more` bytes and the terminator. */
static bool make_room(struct text *text, size_t more) {
    size_t wanted;
    if (__builtin_add_overflow(text->length + 1, more, &wanted)) text->failed = true;
    if (text->failed) return false;
    if (wanted <= text->capacity) return true;
    size_t capacity = 2 * text->capacity > wanted ? 2 * text->capacity : wanted < 64 ? 64 : wanted;
    char *grown = alloc_grow(text->bytes, text->capacity, capacity, 1, "text", NULL);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

void text_append_bytes(struct text *text, const char *bytes, size_t length) {
    if (length == 0 || !make_room(text, length)) return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_append(struct text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) text->failed = true;
    if (length > 0 && make_room(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

/* ---- JSON ---- */

/* Length of the valid UTF-8 sequence at `at`, or 0. */
static size_t utf8_length(const unsigned char *at) {
    size_t length = at[0] < 0x80                    ? 1
                    : at[0] >= 0xC2 && at[0] < 0xE0 ? 2
                    : (at[0] & 0xF0) == 0xE0        ? 3
                    : at[0] >= 0xF0 && at[0] < 0xF5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] >= 0xA0, beyond = at[0] == 0xF4 && at[1] >= 0x90;
    return length > 2 && (overlong || surrogate || beyond) ? 0 : length;
}

void text_append_json(struct text *text, const char *value) {
    text_append_bytes(text, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)value; *at;) {
        size_t length = utf8_length(at);
        if (length == 0) {
            text_append_bytes(text, "\xEF\xBF\xBD", 3);
            at++;
            continue;
        }
        if (*at == '"' || *at == '\\')
            text_append(text, "\\%c", *at);
        else if (*at == '\n')
            text_append_bytes(text, "\\n", 2);
        else if (*at == '\t')
            text_append_bytes(text, "\\t", 2);
        else if (*at < 0x20 || *at == 0x7F)
            text_append(text, "\\u%04x", *at);
        else
            text_append_bytes(text, (const char *)at, length);
        at += length;
    }
    text_append_bytes(text, "\"", 1);
}

/* ---- nearest word ---- */

enum { WORD_MAX = 64 };

/* Damerau-Levenshtein distance (adjacent swaps count one), case ignored; both shorter than WORD_MAX. */
static size_t distance(const char *a, size_t length_a, const char *b, size_t length_b) {
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];
    for (size_t j = 0; j <= length_b; j++) previous[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        current[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            size_t best = previous[j - 1] + (x != y);
            if (previous[j] + 1 < best) best = previous[j] + 1;
            if (current[j - 1] + 1 < best) best = current[j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && tolower((unsigned char)a[i - 2]) == y &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            current[j] = best;
        }
        size_t *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return previous[length_b];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count) {
    size_t length = strlen(word), limit = length / 3 > 1 ? length / 3 : 1, best = limit + 1;
    const char *nearest = NULL;
    if (length == 0 || length >= WORD_MAX) return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t candidate_length = strlen(candidates[i]);
        if (candidate_length >= WORD_MAX) continue;
        size_t d = distance(word, length, candidates[i], candidate_length);
        if (d < best) {
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}

/* ---- files ---- */

/* "cannot be read: no such file or directory"; a place the user named wrongly is INPUT, a failing disk IO. */
static enum status refuse_file(const char *path, const char *what, int reason, struct error *error) {
    enum status status = STATUS_IO;
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
        status = STATUS_INPUT;
    }
    const char *why = strerror(reason);
    return error_at(error, status, path, 0, 0, "%s: %c%s", what, tolower((unsigned char)why[0]), why + 1);
}

/* Reads up to size bytes; fewer when the file shrank meanwhile. -1 and errno on failure. */
static ssize_t read_all(int descriptor, char *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(descriptor, bytes + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static enum status read_open(int descriptor, const char *path, size_t limit, char **contents, size_t *length,
                             struct error *error) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return refuse_file(path, "cannot be read", errno, error);
    if (S_ISDIR(info.st_mode)) return refuse_file(path, "cannot be read", EISDIR, error);
    if (!S_ISREG(info.st_mode)) return error_at(error, STATUS_INPUT, path, 0, 0, "cannot be read: not a regular file");
    size_t size = (size_t)info.st_size;
    if (size > limit)
        return error_at(error, STATUS_INPUT, path, 0, 0, "too large: %zu bytes; at most %zu are read", size, limit);
    char *bytes = alloc_zero(size + 1, 1, path, error);
    if (!bytes) return STATUS_MEMORY;
    ssize_t got = read_all(descriptor, bytes, size);
    if (got < 0) {
        enum status status = refuse_file(path, "cannot be read", errno, error);
        alloc_free(bytes);
        return status;
    }
    *contents = bytes;
    *length = (size_t)got;
    return STATUS_OK;
}

enum status text_read_file(const char *path, size_t limit, char **contents, size_t *length, struct error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */
    if (descriptor < 0) return refuse_file(path, "cannot be read", errno, error);
    enum status status = read_open(descriptor, path, limit, contents, length, error);
    close(descriptor);
    return status;
}

static bool write_all(int descriptor, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t put = write(descriptor, bytes, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* Makes a new file "path.<number>.part"; its descriptor, or -1 and errno. */
static int create_aside(const char *path, char *aside, size_t size) {
    int descriptor = -1;
    errno = EEXIST;
    for (int i = 0; i < 100 && descriptor < 0 && errno == EEXIST; i++) {
        snprintf(aside, size, "%s.%ld.part", path, (long)getpid() + i);
        descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return descriptor;
}

/* 0 or the reason of the failure. */
static int write_and_close(int descriptor, const char *bytes, size_t length, bool settle) {
    int reason = write_all(descriptor, bytes, length) && (!settle || fsync(descriptor) == 0) ? 0 : errno;
    if (close(descriptor) != 0 && !reason) reason = errno;
    return reason;
}

static int replace_file(const char *path, const char *bytes, size_t length) {
    char aside[PATH_MAX + 32];
    int descriptor = create_aside(path, aside, sizeof aside);
    if (descriptor < 0) return errno;
    int reason = write_and_close(descriptor, bytes, length, true);
    if (!reason && rename(aside, path) != 0) reason = errno;
    if (reason) unlink(aside);
    return reason;
}

/* /dev/null, /dev/stdout or a pipe is written, never replaced. */
static int write_special(const char *path, const char *bytes, size_t length) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? errno : write_and_close(descriptor, bytes, length, false);
}

static int write_file(const char *path, const char *bytes, size_t length) {
    char target[PATH_MAX]; /* behind a symbolic link the file is replaced, not the link */
    struct stat info;
    if (stat(path, &info) != 0) return errno == ENOENT ? replace_file(path, bytes, length) : errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (!S_ISREG(info.st_mode)) return write_special(path, bytes, length);
    return realpath(path, target) ? replace_file(target, bytes, length) : errno;
}

enum status text_write_file(const char *path, const char *bytes, size_t length, struct error *error) {
    int reason = write_file(path, bytes, length);
    return reason ? refuse_file(path, "cannot be written", reason, error) : STATUS_OK;
}
