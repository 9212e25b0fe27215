/* The summary table of runs on stdout, as text that fits the terminal or as JSON. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "results/results.h"

/* One line per run; columns that are empty or the same for all runs and of no use are left out, and on a terminal those
 * of least weight until the rest fits. */
void table_print(const struct run_row *rows, int64_t count, int width);
/* An array with one object per run, field names as in v_run; null where there is no value. */
void table_print_json(const struct run_row *rows, int64_t count);

#endif
