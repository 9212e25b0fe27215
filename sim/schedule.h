/* The realised schedule: for every mix of every round, who was really averaged with whom.
 *
 * Stored as what went otherwise than planned; the rest follows from the program and the seed (pairs are drawn again),
 * so memory is proportional to failures, not to rounds x mixes x workers. A round's records are made on demand.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "def.h"

#include "base/array.h"

struct hash;

/* A mix that was skipped: wholly, or between one pair. */
struct skip {
    int64_t mix;    /* of the run, from 0: mixes in the order of the program, round after round */
    int32_t worker; /* the pair's lower worker; -1 = all */
};

struct schedule {
    struct strategy_def strategy;
    int32_t workers;
    uint64_t seed;
    int32_t rounds;
    int32_t last_inner_steps;           /* H of the last round */
    int64_t mixes_per_round;            /* of a full one */
    int32_t operation[PROGRAM_MAX_OPS]; /* of each op, in its first repetition */
    int32_t operation_stride;           /* added by each further repetition */
    ARRAY(struct skip) skips;           /* ascending once schedule_finish() was called */
    struct mixing *mixings;             /* room for the records of one round */
    int32_t *members;
};

NODISCARD enum status schedule_init(struct schedule *schedule, const struct sim_def *def, struct error *error);
void schedule_clear(struct schedule *schedule);
int32_t schedule_inner_steps(const struct schedule *schedule, int32_t round); /* H of the round */
/* The operation number under which pairs and failures of an op are drawn: program_operation(), and in later repetitions
 * of a repeat further numbers that no other op has. */
int32_t schedule_operation(const struct schedule *schedule, int32_t op, int32_t repetition);
NODISCARD enum status schedule_skip(struct schedule *schedule, int64_t mix, int32_t worker, struct error *error);
void schedule_finish(struct schedule *schedule);
/* What happened in a round; valid until the next call. */
NODISCARD enum status schedule_round(struct schedule *schedule, int32_t round, struct realised_round *realised,
                                     struct error *error);
/* Fewest workers whose value entered any mix of the round; a skipped mix has none. M without mixes. */
int32_t schedule_contributors(const struct realised_round *realised, int32_t workers);
/* Feeds rounds 0 .. rounds - 1 into hash. */
NODISCARD enum status schedule_hash(struct schedule *schedule, int32_t rounds, struct hash *hash, struct error *error);

#endif
