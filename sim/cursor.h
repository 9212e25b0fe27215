/* A place in one round of a program. Walks the operations with repeats unrolled; the timeline, the realised schedule
 * and look-ahead all walk with it. O(1) per operation.
 */
#ifndef SIM_CURSOR_H
#define SIM_CURSOR_H

#include "optim/optim.h"

struct cursor {         /* {0} stands before the first operation */
    int32_t op;         /* the operation given last */
    int32_t repetition; /* of the repeat around it, from 0; 0 outside */
    int32_t next;
    int32_t body; /* first operation of the open repeat */
};

/* How often a repeat or inner op plays in a round of `inner_steps` = H. */
int32_t op_times(const struct op *op, int32_t inner_steps);
/* Moves to the next operation other than repeat and end; false at the round's end. */
bool cursor_advance(struct cursor *cursor, const struct program *program, int32_t inner_steps);
/* Inner steps that the operation computes: those of inner, 1 for gradient, else 0. */
int32_t op_computes(const struct op *op, int32_t inner_steps);
/* Whether it starts a mix. */
bool op_mixes(const struct op *op);

#endif
