/* The pull loop: cells of scenarios to rows of a database. */
#ifndef CLI_PLAY_H
#define CLI_PLAY_H

#include "base/array.h"
#include "progress.h"
#include "results/results.h"
#include "scenarios/scenarios.h"

struct play {
    /* in */
    const char *database;
    bool timing_only;
    bool keep_transfers;
    int32_t jobs;
    /* out */
    struct store *store; /* opened when the first cell is known to play; caller closes */
    ARRAY(int64_t) run_ids;
    int64_t diverged, failed;
    struct progress progress;
};

/* Plays every cell of the scenarios in order. A cell that diverges or fails is a row with its reason, and the next one
 * plays. Stops early on a signal (STATUS_INTERRUPTED), on a database that cannot be written, and when the very first
 * cell cannot start (nothing is written then). */
NODISCARD enum status play_scenarios(struct play *play, struct scenario *const *scenarios, int32_t count,
                                     struct error *error);

#endif
