#include "engine.h"

#include <assert.h>

void engine_clear(struct engine *engine) {
    heap_clear(&engine->timers);
}

enum status engine_schedule(struct engine *engine, int64_t when_ns, int64_t payload, uint32_t generation,
                            struct error *error) {
    assert(when_ns >= engine->now_ns);
    return heap_push(&engine->timers, when_ns, 0, generation, payload, error);
}

/* Moves network and clock to the earliest thing that happens. *timer: it is the first timer. */
static enum status advance(struct engine *engine, bool *timer, bool *end, struct error *error) {
    struct heap_entry first;
    int64_t timer_ns = heap_peek(&engine->timers, &first) ? first.time_ns : TIME_NEVER;
    int64_t network_ns = engine->network ? network_next_ns(engine->network) : TIME_NEVER;
    int64_t next_ns = timer_ns < network_ns ? timer_ns : network_ns;
    *end = next_ns == TIME_NEVER;
    *timer = timer_ns < network_ns;
    if (*end) return STATUS_OK;
    assert(next_ns >= engine->now_ns);
    engine->now_ns = next_ns;
    /* An idle network needs no advancing; a busy one must stand at this instant before something in it is cancelled. */
    if (network_ns != TIME_NEVER) TRY(network_advance(engine->network, next_ns, error));
    return STATUS_OK;
}

enum status engine_next(struct engine *engine, struct engine_event *event, struct error *error) {
    for (;;) {
        bool timer = false, end = false;
        event->kind = ENGINE_NETWORK;
        if (engine->network && network_next_event(engine->network, &event->network)) return STATUS_OK;
        TRY(advance(engine, &timer, &end, error));
        event->kind = end ? ENGINE_END : ENGINE_TIMER;
        if (!end && !timer) continue;
        struct heap_entry entry = {0};
        if (timer) heap_pop(&engine->timers, &entry);
        event->payload = entry.payload;
        event->generation = entry.generation;
        return STATUS_OK;
    }
}
