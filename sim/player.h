/* The state while a timeline is played, shared by timeline.c (workers) and exchange.c (what goes on between them).
 *
 * A worker computes ahead: its clock runs on until it stands at a mix it must wait for, so only exchanges are events.
 * An arrival may therefore lie in the future of the engine's clock, never in its past.
 */
#ifndef SIM_PLAYER_H
#define SIM_PLAYER_H

#include "cost.h"
#include "cursor.h"
#include "engine.h"
#include "id_map.h"
#include "timeline.h"

#define NO_MIX      (-1)
#define NOT_RUNNING (-1)

struct worker {
    int64_t time_ns; /* up to where its time is accounted for */
    struct cursor cursor;
    int32_t round;
    int64_t next_mix;          /* number of the mix it comes to next */
    int32_t waiting;           /* mix (slot) it is blocked in, or NO_MIX */
    int32_t begun[MIX_LABELS]; /* mixes (slots) that run meanwhile */
};

/* One exchange among the members of a mix that depend on each other: all, or a pair. */
struct exchange {
    int32_t arrived;
    int32_t attempt;
    int64_t ready_ns;    /* the latest arrival so far */
    int64_t started_ns;  /* of the attempt */
    int64_t network_id;  /* of the attempt, or NOT_RUNNING */
    uint32_t generation; /* of its timers */
    bool fails;          /* the attempt will */
};

/* One execution of a mix op, open from the first arrival until the last worker has passed. Slots are used again. */
struct mix {
    int64_t index; /* of the run */
    int32_t op, round, operation;
    int32_t users; /* workers yet to pass */
    bool overlapped;
    const struct cost *cost;
    bool *done;                 /* [M] its part is over */
    int32_t *partner;           /* [M]; NULL where the program has no pairs */
    struct exchange *exchanges; /* [M], a pair's at its lower worker; [1] where the program has no pairs */
};

struct kept_transfer {
    struct transfer transfer;
    int32_t round;
};

struct player {
    const struct sim_def *def;
    const struct program *program;
    struct timeline *timeline; /* the result */
    int32_t workers;
    int64_t step_ns;
    bool direct; /* exchanges have the network to themselves: costs are known, no flows are played */
    bool keep_transfers;
    bool has_pairs;
    struct cost costs[MIX_GROUPS][2]; /* by group and subset */
    struct engine engine;
    struct network *network;   /* NULL when direct */
    struct id_map exchange_of; /* network id to exchange */
    struct worker *states;     /* [M] */
    int32_t finished;          /* workers at the end of the run */
    ARRAY(struct mix) mixes;   /* slots */
    ARRAY(int32_t) free_slots;
    ARRAY(int32_t) window; /* slot of each mix from window_first on; NO_MIX where all have passed */
    int64_t window_first;
    int64_t window_head; /* entries at the start of window that are gone */
    ARRAY(struct kept_transfer) transfers;
    int32_t *members; /* [M] 0, 1, ...: a global mix's */
};

struct worker_result *player_result(const struct player *player, int32_t worker, int32_t round);
/* Adds to a clock; STATUS_INPUT past the end of virtual time. */
NODISCARD enum status player_add_time(int64_t *time_ns, int64_t ns, struct error *error);

/* exchange.c: worker `m` arrives at the mix op under its cursor. *slot: the mix. */
NODISCARD enum status mix_arrive(struct player *player, int32_t m, int32_t *slot, struct error *error);
/* The worker needs the mix no more. */
void mix_pass(struct player *player, int32_t slot);
NODISCARD enum status exchange_event(struct player *player, const struct engine_event *event, struct error *error);
void mixes_clear(struct player *player);

/* timeline.c: its part of the mix is over at `when_ns`. */
NODISCARD enum status worker_release(struct player *player, int32_t m, int32_t slot, int64_t when_ns,
                                     struct error *error);
/* An attempt from `from_ns` to `to_ns` was lost. */
void worker_waste(struct player *player, int32_t m, int32_t slot, int64_t from_ns, int64_t to_ns);
/* Whether the worker will still compute for `ns` from `now_ns` on before it needs the mix. */
bool worker_hides(const struct player *player, int32_t m, int32_t slot, int64_t now_ns, int64_t ns);

#endif
