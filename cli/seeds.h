/* The second summary of a run with several seeds: means, intervals, and differences from DiLoCo seed by seed. */
#ifndef CLI_SEEDS_H
#define CLI_SEEDS_H

#include "results/results.h"

/* Whether some cell was played with more than one seed. */
bool seeds_repeated(const struct run_row *rows, int64_t count);

/* One line per cell: mean over its done seeds and the 95 % interval of that mean (Student's t); where the same cell
 * under DiLoCo was played too, the perplexity's ratio to it, paired by seed (same data order, initial weights and
 * faults). */
void seeds_print(const struct run_row *rows, int64_t count);

#endif
