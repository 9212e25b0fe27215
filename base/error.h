/* Status codes and the one error record that travels from where a fault is seen to the command line.
 *
 * Every function that can fail for reasons outside the program returns `enum status` and fills a `struct error`
 * once; callers pass both up with TRY() and add nothing. Only cli/ prints. Bugs of our own are asserts instead,
 * and a diverging training run is a recorded outcome, not an error.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum status {
#define STATUS(name, exit_status, text) STATUS_##name,
#include "status.def"
#undef STATUS
    STATUS_COUNT
};

#define NODISCARD                                  __attribute__((warn_unused_result))
#define PRINTF_LIKE(text_position, first_position) __attribute__((format(printf, text_position, first_position)))

struct error {
    enum status status;
    int32_t line;      /* of the user's file, from 1; 0 = unknown */
    int32_t column;    /* from 1; 0 = unknown */
    char file[256];    /* "" = no file concerned; a longer path keeps its end */
    char message[512]; /* cause 'subject'; what would be right. Lower case, no full stop, no newline */
};

/* Clears to STATUS_OK. */
void error_clear(struct error *error);

/* Fill error (NULL is allowed: only the code is returned) and return status, so that `return error_set(...)` reads
 * well. */
enum status error_set(struct error *error, enum status status, const char *format, ...) PRINTF_LIKE(3, 4);
enum status error_at(struct error *error, enum status status, const char *file, int32_t line, int32_t column,
                     const char *format, ...) PRINTF_LIKE(6, 7);

/* "file:line:column: error: message" (parts that are unknown are left out), truncated to size, always terminated.
 * Returns buffer. */
char *error_format(const struct error *error, char *buffer, size_t size);

const char *status_name(enum status status); /* "INPUT" */
const char *status_text(enum status status); /* "bad input" */
int status_exit(enum status status);         /* exit status of the program: 0, 1 or 2 */

/* Hands a failure to the caller. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        enum status try_status_ = (call);                                                                              \
        if (try_status_ != STATUS_OK) return try_status_;                                                              \
    } while (0)

#endif
