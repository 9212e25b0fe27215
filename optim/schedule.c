/* Learning rates, how many steps and rounds a run has, and the defaults of training. */
#include "optim.h"

#include <math.h>

static const char *const schedule_names[SCHEDULE_KINDS] = {"constant", "cosine", "wsd"};
static const char *const outer_names[OUTER_KINDS] = {"nesterov", "heavy_ball", "sgd"};

const char *schedule_name(enum schedule_kind kind) {
    return schedule_names[kind];
}
const char *outer_name(enum outer_kind kind) {
    return outer_names[kind];
}

struct train_def train_default(void) {
    return (struct train_def){.tokens = 1000000,
                              .batch = 8,
                              .accumulation = 1,
                              .optimizer = {"adamw", 3e-3, 0.9, 0.95, 1e-8, 0.1},
                              .schedule = SCHEDULE_COSINE,
                              .warmup = 50,
                              .minimum = 0.1,
                              .decay = 0.2,
                              .clip = 1};
}

struct outer_def outer_default(void) {
    return (struct outer_def){OUTER_NESTEROV, 0.7, 0.9};
}
struct evaluate_def evaluate_default(void) {
    return (struct evaluate_def){1, 16384, 1024};
}

double schedule_rate(const struct train_def *def, int64_t step, int64_t steps) {
    double peak = def->optimizer.learning_rate, low = def->minimum * peak;
    int64_t warmup = def->warmup < steps ? def->warmup : steps - 1;
    if (step < warmup) return peak * (double)(step + 1) / (double)(warmup + 1);
    double span = (double)(steps - 1 - warmup), progress = span > 0 ? (double)(step - warmup) / span : 1;
    switch (def->schedule) {
    case SCHEDULE_CONSTANT:
        return peak;
    case SCHEDULE_COSINE:
        return low + (peak - low) * 0.5 * (1 + cos(M_PI * progress));
    case SCHEDULE_WSD: {
        double start = 1 - def->decay;
        if (progress <= start || !(def->decay > 0)) return progress >= 1 && def->decay > 0 ? low : peak;
        return peak - (peak - low) * (progress - start) / def->decay;
    }
    case SCHEDULE_KINDS:
        break;
    }
    return peak;
}

int64_t train_steps(const struct train_def *def, int32_t workers, int32_t context,
                    const struct strategy_def *strategy) {
    int64_t steps, per_round = program_inner_steps(&strategy->program, strategy->inner_steps);
    if (def->rounds > 0) return __builtin_mul_overflow(def->rounds, per_round, &steps) ? INT64_MAX : steps;
    return def->tokens / workers / def->batch / def->accumulation / context; /* the product might not fit */
}

int32_t train_rounds(int64_t steps, const struct strategy_def *strategy) {
    int64_t per_round = program_inner_steps(&strategy->program, strategy->inner_steps);
    int64_t rounds = steps / per_round + (steps % per_round != 0);
    return rounds < INT32_MAX ? (int32_t)rounds : INT32_MAX;
}

/* The tail takes the largest H whose round is not longer than what is left, and 1 if even that is. */
int32_t train_round_inner_steps(int64_t steps, const struct strategy_def *strategy, int32_t round) {
    const struct program *program = &strategy->program;
    int64_t left = steps - round * program_inner_steps(program, strategy->inner_steps);
    int32_t low = 1, high = strategy->inner_steps;
    while (low < high) {
        int32_t middle = high - (high - low) / 2;
        if (program_inner_steps(program, middle) <= left)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
