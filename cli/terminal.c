/* Errors, build description and the size of the terminal. */
#include "cli.h"

#include "build_info.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int report_error(const struct error *error) {
    char line[1024];
    fflush(stdout);
    fprintf(stderr, "%s%s\n", error->file[0] ? "" : "thinwire: ", error_format(error, line, sizeof line));
    return status_exit(error->status);
}

int usage_error(const char *format, ...) {
    struct error error = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    error.status = STATUS_INPUT;
    return report_error(&error);
}

int finish_output(int exit_status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return exit_status;
    fputs("thinwire: error: standard output could not be written\n", stderr);
    return exit_status ? exit_status : 1;
}

int terminal_columns(FILE *stream, int otherwise) {
    struct winsize size;
    if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return otherwise;
}

const char *build_description(void) {
    if (BUILD_COMMIT[0]) return BUILD_VERSION " (" BUILD_COMMIT ", " BUILD_COMPILER ", " BUILD_TYPE ")";
    return BUILD_VERSION " (" BUILD_COMPILER ", " BUILD_TYPE ")";
}
