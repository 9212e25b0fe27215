/* The round program played in virtual time: one small state machine per worker (a place in the program, a clock, what
 * it waits for), no training, no data, nothing per parameter.
 *
 * - `inner N` takes N steps of time, `gradient` one, `step` and `outer` none.
 * - A global mix starts when the last worker has arrived; each goes on when its own part is over. A pair starts when
 *   both have; an odd one out passes. `begin` does not block and shares the links with whatever else moves.
 * - Rounds follow each other per worker, with no barrier except what the mixes imply.
 * - A failed attempt of a blocking global mix is noticed after `detect` of its duration and played again; a failed pair
 *   is skipped; an overlapped one is played again, skipped or waited for as the def says.
 * - A worker's time while it does not compute counts as wasted where a failed attempt was under way, else as waiting
 *   under the mix's label. At the end of the run those who are early wait (other) for the last.
 *
 * Cost: a few steps per worker and mix where exchanges cannot overlap each other (all named strategies), since then
 * each takes what it takes alone (cost.h); else the flows are played. Memory: rounds * workers * 64 bytes.
 */
#ifndef SIM_TIMELINE_H
#define SIM_TIMELINE_H

#include "schedule.h"

struct worker_result { /* of one round */
    int64_t end_ns;
    int64_t compute_ns, wait_mix1_ns, wait_mix2_ns, wait_other_ns, wasted_ns;
    int64_t bytes_sent, bytes_lost;
};

struct timeline {
    int32_t workers;
    int32_t rounds;                /* played by all workers; fewer than schedule.rounds if the run failed */
    struct worker_result *results; /* [rounds][workers] */
    struct schedule schedule;
    struct transfer *transfers; /* by round, within a round in order of their end; NULL unless kept */
    int64_t *first_transfer;    /* [rounds + 1] */
    struct error failure;       /* why the run failed; STATUS_OK otherwise */
};

struct timeline_options {
    bool keep_transfers;
    bool play_everything; /* every exchange on the network, even where its cost is known: the oracle of the fast way */
};

/* Plays the whole run. On error the timeline is empty. */
NODISCARD enum status timeline_play(const struct sim_def *def, const struct timeline_options *options,
                                    struct timeline *timeline, struct error *error);
void timeline_clear(struct timeline *timeline);
/* A round's times and bytes into workers[M] and the sums into *round; training metrics stay as they are. */
void timeline_get_round(const struct timeline *timeline, int32_t round, struct worker_round *workers,
                        struct sim_round *sums);

void worker_times_add(struct worker_times *sum, const struct worker_times *times);

#endif
