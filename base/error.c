#include "error.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_status;
    const char *text;
} statuses[STATUS_COUNT] = {
#define STATUS(name, exit_status, text) {#name, exit_status, text},
#include "status.def"
#undef STATUS
};

const char *status_name(enum status status) {
    return statuses[status].name;
}
const char *status_text(enum status status) {
    return statuses[status].text;
}
int status_exit(enum status status) {
    return statuses[status].exit_status;
}

void error_clear(struct error *error) {
    memset(error, 0, sizeof *error);
}

/* Builds the record aside, so that the arguments may point into *error itself. */
static enum status fill(struct error *error, enum status status, const char *file, int32_t line, int32_t column,
                        const char *format, va_list arguments) {
    if (!error) return status;
    struct error filled = {.status = status, .line = line, .column = column};
    size_t length = strlen(file), room = sizeof filled.file - 1;
    snprintf(filled.file, sizeof filled.file, "%s", length > room ? file + (length - room) : file);
    vsnprintf(filled.message, sizeof filled.message, format, arguments);
    for (char *at = filled.message; *at; at++)
        if (*at == '\n' || *at == '\r') *at = ' ';
    *error = filled;
    return status;
}

enum status error_set(struct error *error, enum status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, "", 0, 0, format, arguments);
    va_end(arguments);
    return status;
}

enum status error_at(struct error *error, enum status status, const char *file, int32_t line, int32_t column,
                     const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, file ? file : "", line, column, format, arguments);
    va_end(arguments);
    return status;
}

char *error_format(const struct error *error, char *buffer, size_t size) {
    char place[sizeof error->file + 40] = "";
    if (error->file[0] && error->line > 0 && error->column > 0)
        snprintf(place, sizeof place, "%s:%d:%d: ", error->file, error->line, error->column);
    else if (error->file[0] && error->line > 0)
        snprintf(place, sizeof place, "%s:%d: ", error->file, error->line);
    else if (error->file[0])
        snprintf(place, sizeof place, "%s: ", error->file);
    snprintf(buffer, size, "%serror: %s", place, error->message[0] ? error->message : status_text(error->status));
    return buffer;
}
