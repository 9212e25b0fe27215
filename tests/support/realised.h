/* Realised rounds made by hand: what a timeline without failures would hand to the trainer, or one with some. */
#ifndef TESTS_REALISED_H
#define TESTS_REALISED_H

#include "optim/optim.h"

#include "base/alloc.h"

/* The mixes of one round of `def`, all healthy, in the order of execution. Free with realised_clear(). */
static inline struct realised_round realised_make(const struct trainer_def *def, int32_t round, int32_t inner_steps) {
    const struct program *program = &def->strategy.program;
    struct error error;
    struct realised_round realised = {.round = round, .inner_steps = inner_steps};
    realised.mixings = alloc_zero(100000, sizeof *realised.mixings, "test", &error);
    int32_t repeat_at = 0, left = 0;
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_REPEAT) repeat_at = i, left = op->count > 0 ? op->count : inner_steps;
        if (op->kind == OP_END && --left > 0) i = repeat_at;
        if (op->kind != OP_MIX && op->kind != OP_BEGIN) continue;
        struct mixing *mixing = &realised.mixings[realised.mixing_count++];
        mixing->op = i;
        mixing->kind = op->group == GROUP_GLOBAL ? MIXING_MEAN : MIXING_PAIRS;
        if (op->group == GROUP_GLOBAL) continue;
        mixing->member = alloc_zero((size_t)def->workers, sizeof(int32_t), "test", &error);
        mixing_draw_pairs(def->seed, round, program_operation(program, i), def->workers, mixing->member);
    }
    return realised;
}

static inline void realised_clear(struct realised_round *realised) {
    for (int32_t i = 0; i < realised->mixing_count; i++) alloc_free(realised->mixings[i].member);
    alloc_free(realised->mixings);
}

#endif
