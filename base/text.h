/* Text that grows, and the nearest known word to a misspelt one. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "error.h"

#include <stdbool.h>

/* A growing string. Start with {0}. After a failed allocation it stays valid and `failed` is set, so that many
 * appends need one check at the end. */
struct text {
    char *bytes; /* terminated; NULL while empty */
    size_t length;
    size_t capacity;
    bool failed;
};

void text_clear(struct text *text); /* frees */
void text_reset(struct text *text); /* length 0, memory kept */
void text_append(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_append_bytes(struct text *text, const char *bytes, size_t length);
const char *text_get(const struct text *text); /* "" while empty */

/* JSON string contents with its quotes, escaped; invalid UTF-8 becomes U+FFFD. */
void text_append_json(struct text *text, const char *value);

/* The candidate nearest to word by Damerau-Levenshtein distance, if near enough to be a misspelling (at most a third
 * of its length, at least 1; case does not count); else NULL. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);

/* Whole file into *contents (terminated, alloc_free it) and *length. STATUS_INPUT when it does not exist or is no
 * regular file, STATUS_IO when reading fails, STATUS_INPUT when larger than limit bytes. */
NODISCARD enum status text_read_file(const char *path, size_t limit, char **contents, size_t *length,
                                     struct error *error);

/* Writes path so that others see the old file or the whole new one: temporary file beside it, fsync, rename. What
 * exists and is no regular file (/dev/null, a pipe) is written to instead. STATUS_INPUT when the place is wrong (no
 * such directory, no permission), STATUS_IO when writing fails. */
NODISCARD enum status text_write_file(const char *path, const char *bytes, size_t length, struct error *error);

#endif
