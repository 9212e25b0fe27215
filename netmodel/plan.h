/* Who sends what to whom in which step of a collective: pure functions of (kind, M, bytes), nothing is stored per
 * message. A member's step is over when all its messages of that step have been delivered and it has received those
 * due to it; then it goes on by itself, without waiting for the others.
 */
#ifndef PLAN_H
#define PLAN_H

#include "netmodel/netmodel.h"

struct plan {
    enum collective_kind kind;
    bool fluid; /* one message per member, to its next neighbour, with all its bytes */
    int32_t members;
    int64_t bytes;
    int32_t steps;
    int32_t latencies; /* steps whose latency one message stands for; 1 unless fluid */
};

struct message {
    int32_t to; /* member */
    int64_t bytes;
};

/* Fluid is for kinds with many messages per member (ring, halving-doubling, all-gather); others keep their steps. */
struct plan plan_make(enum collective_kind kind, bool fluid, int32_t members, int64_t bytes);

int32_t plan_sends(const struct plan *plan, int32_t member, int32_t step); /* how many messages */
struct message plan_message(const struct plan *plan, int32_t member, int32_t step, int32_t index);

/* Whether a member has all that its steps up to `step` need: `received` messages so far, those of the steps whose bits
 * are set in received_steps (steps beyond 63 have none). */
bool plan_has_received(const struct plan *plan, int32_t member, int32_t step, int32_t received,
                       uint64_t received_steps);

int32_t plan_log2(int32_t members); /* floor */

#endif
