#include "cursor.h"

int32_t op_times(const struct op *op, int32_t inner_steps) {
    return op->count > 0 ? op->count : inner_steps;
}

int32_t op_computes(const struct op *op, int32_t inner_steps) {
    if (op->kind == OP_INNER) return op_times(op, inner_steps);
    return op->kind == OP_GRADIENT ? 1 : 0;
}

bool op_mixes(const struct op *op) {
    return op->kind == OP_MIX || op->kind == OP_BEGIN;
}

static int32_t past_end(const struct program *program, int32_t op) {
    while (op < program->count && program->ops[op].kind != OP_END) op++;
    return op + 1;
}

bool cursor_advance(struct cursor *cursor, const struct program *program, int32_t inner_steps) {
    while (cursor->next < program->count) {
        const struct op *op = &program->ops[cursor->next];
        if (op->kind == OP_REPEAT) {
            cursor->repetition = 0;
            cursor->body = cursor->next + 1;
            cursor->next = op_times(op, inner_steps) > 0 ? cursor->body : past_end(program, cursor->next);
        } else if (op->kind == OP_END) {
            bool again = ++cursor->repetition < op_times(&program->ops[cursor->body - 1], inner_steps);
            cursor->next = again ? cursor->body : cursor->next + 1;
            if (!again) cursor->repetition = 0;
        } else {
            cursor->op = cursor->next++;
            return true;
        }
    }
    return false;
}
