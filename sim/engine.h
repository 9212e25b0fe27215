/* The clock: timers on a heap, joined with what happens in a network.
 *
 *     TRY(engine_schedule(&engine, when_ns, payload, generation, error));
 *     while (engine_next(&engine, &event, error) == STATUS_OK && event.kind != ENGINE_END) ...handle event...
 *
 * A value; two of them know nothing of each other. Within one instant the network's events come first, then timers in
 * the order in which they were scheduled. Time never goes back. O(log timers) per event.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "netmodel/netmodel.h"

#include "base/heap.h"

struct engine { /* start with {0}, or with a network (borrowed) */
    int64_t now_ns;
    struct network *network; /* NULL: timers only */
    struct heap timers;
};

enum engine_event_kind {
    ENGINE_END, /* nothing is left to happen */
    ENGINE_TIMER,
    ENGINE_NETWORK
};
struct engine_event {
    enum engine_event_kind kind;
    int64_t payload;              /* TIMER */
    uint32_t generation;          /* TIMER */
    struct network_event network; /* NETWORK */
};

void engine_clear(struct engine *engine); /* frees the timers, not the network */

/* A timer at when_ns >= now. `generation` lets the holder recognise one that no longer counts. */
NODISCARD enum status engine_schedule(struct engine *engine, int64_t when_ns, int64_t payload, uint32_t generation,
                                      struct error *error);
/* Moves the clock to the next event and takes it. */
NODISCARD enum status engine_next(struct engine *engine, struct engine_event *event, struct error *error);

#endif
