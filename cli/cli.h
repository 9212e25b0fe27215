/* cli: the command line, the only room that writes to the terminal. One file per command; main.c picks it from
 * commands.def. Results go to stdout, progress and errors to stderr; exit status 0, 1 (failure) or 2 (usage, input).
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/* argv[0] is "thinwire NAME". Each returns the program's exit status. */
#define COMMAND(name, arguments, help) int command_##name(int argc, char **argv);
#include "commands.def"
#undef COMMAND

/* Prints the one line of an error on stderr and returns the exit status that goes with it. */
int report_error(const struct error *error);
/* A usage fault in the same form: "thinwire: error: ...". Returns 2. */
int usage_error(const char *format, ...) PRINTF_LIKE(1, 2);

/* Flushes stdout; exit status 1 with a line on stderr if anything written to it was lost (a full disk). */
int finish_output(int exit_status);

/* Columns of the terminal behind `stream`, else `otherwise`. */
int terminal_columns(FILE *stream, int otherwise);

/* "0.1.0 (1a2b3c4, gcc 12.2.0, RelWithDebInfo)": what made the numbers. */
const char *build_description(void);

/* Runs on after SIGINT or SIGTERM until a good place to stop; the second signal leaves at once. */
void interrupt_install(void);
int interrupt_signal(void); /* 0, or the signal that came */

#endif
