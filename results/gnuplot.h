/* gnuplot as a process: found in PATH, run in a folder, its complaint caught. Private to results/. */
#ifndef GNUPLOT_H
#define GNUPLOT_H

#include "base/error.h"

/* Runs `gnuplot -d -e definitions script` in `directory` (script is a name within it) and waits. STATUS_UNSUPPORTED
 * when there is no gnuplot (says how to install it) or when it fails (says what it wrote to stderr). */
NODISCARD enum status gnuplot_run(const char *directory, const char *script, const char *definitions,
                                  struct error *error);

#endif
