#include "schedule.h"

#include "cursor.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>

static const struct program *program_of(const struct schedule *schedule) {
    return &schedule->strategy.program;
}

/* Mixes of a round of H inner steps, repeats unrolled; pairs only, or all. */
static int64_t count_mixes(const struct program *program, int32_t inner_steps, bool pairs_only) {
    int64_t count = 0, times = 1;
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_REPEAT) times = op_times(op, inner_steps);
        if (op->kind == OP_END) times = 1;
        if (op_mixes(op) && (!pairs_only || op->group == GROUP_PAIRS)) count += times;
    }
    return count;
}

/* Operation numbers: mix1 is 0, mix2 1, the n-th other mix 2 + n; each repetition takes a fresh set of them. */
static void number_operations(struct schedule *schedule) {
    schedule->operation_stride = 2;
    for (int32_t i = 0; i < program_of(schedule)->count; i++) {
        if (!op_mixes(&program_of(schedule)->ops[i])) continue;
        schedule->operation[i] = program_operation(program_of(schedule), i);
        if (schedule->operation[i] >= schedule->operation_stride)
            schedule->operation_stride = schedule->operation[i] + 1;
    }
}

enum status schedule_init(struct schedule *schedule, const struct sim_def *def, struct error *error) {
    int64_t steps = def_steps(def);
    *schedule = (struct schedule){.strategy = def->strategy, .workers = def->cluster.workers, .seed = def->seed};
    schedule->rounds = train_rounds(steps, &def->strategy);
    if (schedule->rounds < 1) return error_set(error, STATUS_INPUT, "train.tokens must buy at least one inner step");
    schedule->last_inner_steps = train_round_inner_steps(steps, &def->strategy, schedule->rounds - 1);
    schedule->mixes_per_round = count_mixes(program_of(schedule), def->strategy.inner_steps, false);
    number_operations(schedule);
    return STATUS_OK;
}

void schedule_clear(struct schedule *schedule) {
    array_clear(&schedule->skips);
    alloc_free(schedule->mixings);
    alloc_free(schedule->members);
    schedule->mixings = NULL;
    schedule->members = NULL;
}

int32_t schedule_inner_steps(const struct schedule *schedule, int32_t round) {
    return round + 1 < schedule->rounds ? schedule->strategy.inner_steps : schedule->last_inner_steps;
}

int32_t schedule_operation(const struct schedule *schedule, int32_t op, int32_t repetition) {
    int64_t number = schedule->operation[op] + (int64_t)repetition * schedule->operation_stride;
    return (int32_t)(number & INT32_MAX);
}

enum status schedule_skip(struct schedule *schedule, int64_t mix, int32_t worker, struct error *error) {
    TRY(array_reserve(&schedule->skips, schedule->skips.count + 1, error));
    schedule->skips.items[schedule->skips.count++] = (struct skip){mix, worker};
    return STATUS_OK;
}

static int compare_skips(const void *left, const void *right) {
    const struct skip *a = left, *b = right;
    if (a->mix != b->mix) return a->mix < b->mix ? -1 : 1;
    return (a->worker > b->worker) - (a->worker < b->worker);
}

void schedule_finish(struct schedule *schedule) {
    if (schedule->skips.count > 0)
        qsort(schedule->skips.items, (size_t)schedule->skips.count, sizeof *schedule->skips.items, compare_skips);
}

/* First skip of a mix that is not before `mix`. */
static int64_t find_skip(const struct schedule *schedule, int64_t mix) {
    int64_t low = 0, high = schedule->skips.count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (schedule->skips.items[middle].mix < mix)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum status reserve_records(struct schedule *schedule, struct error *error) {
    if (schedule->mixings) return STATUS_OK;
    int32_t inner_steps = schedule->strategy.inner_steps;
    size_t pairs = (size_t)count_mixes(program_of(schedule), inner_steps, true), numbers;
    if (schedule->mixes_per_round > INT32_MAX || !size_mul(pairs, (size_t)schedule->workers, &numbers))
        return error_set(error, STATUS_INPUT, "strategy.program has too many mixes in a round");
    if (!schedule->members)
        schedule->members = alloc_zero(numbers, sizeof *schedule->members, "partners of a round", error);
    if (!schedule->members) return STATUS_MEMORY;
    schedule->mixings =
        alloc_zero((size_t)schedule->mixes_per_round, sizeof *schedule->mixings, "mixes of a round", error);
    return schedule->mixings ? STATUS_OK : STATUS_MEMORY;
}

/* The mix as planned, with the pairs drawn into member[workers]. */
static struct mixing planned(const struct schedule *schedule, int32_t round, const struct cursor *cursor,
                             int32_t *member) {
    struct mixing mixing = {.kind = MIXING_MEAN, .op = cursor->op};
    if (program_of(schedule)->ops[cursor->op].group == GROUP_PAIRS) {
        mixing.kind = MIXING_PAIRS;
        mixing.member = member;
        int32_t operation = schedule_operation(schedule, cursor->op, cursor->repetition);
        mixing_draw_pairs(schedule->seed, round, operation, schedule->workers, member);
    }
    return mixing;
}

static void apply_skip(struct mixing *mixing, int32_t worker) {
    if (worker < 0) {
        mixing->kind = MIXING_NONE;
        return;
    }
    assert(mixing->kind == MIXING_PAIRS);
    int32_t partner = mixing->member[worker];
    mixing->member[worker] = worker;
    mixing->member[partner] = partner;
}

enum status schedule_round(struct schedule *schedule, int32_t round, struct realised_round *realised,
                           struct error *error) {
    int32_t inner_steps = schedule_inner_steps(schedule, round), count = 0;
    struct cursor cursor = {0};
    int64_t mix = round * schedule->mixes_per_round, skip = find_skip(schedule, mix);
    TRY(reserve_records(schedule, error));
    int32_t *member = schedule->members;
    while (cursor_advance(&cursor, program_of(schedule), inner_steps)) {
        if (!op_mixes(&program_of(schedule)->ops[cursor.op])) continue;
        struct mixing *mixing = &schedule->mixings[count++];
        *mixing = planned(schedule, round, &cursor, member);
        if (mixing->kind == MIXING_PAIRS) member += schedule->workers;
        for (; skip < schedule->skips.count && schedule->skips.items[skip].mix == mix; skip++)
            apply_skip(mixing, schedule->skips.items[skip].worker);
        mix++;
    }
    *realised = (struct realised_round){
        .round = round, .inner_steps = inner_steps, .mixings = schedule->mixings, .mixing_count = count};
    return STATUS_OK;
}

/* Workers whose value reached somebody or, in a mean, everybody. The odd one out of a matching counts as mixed. */
static int32_t contributors_of(const struct mixing *mixing, int32_t workers) {
    int32_t alone = 0;
    switch (mixing->kind) {
    case MIXING_NONE:
        return 0;
    case MIXING_MEAN:
        return workers;
    case MIXING_PAIRS:
        for (int32_t m = 0; m < workers; m++) alone += mixing->member[m] == m;
        return workers - alone + (workers % 2);
    }
    return 0;
}

int32_t schedule_contributors(const struct realised_round *realised, int32_t workers) {
    int32_t fewest = workers;
    for (int32_t i = 0; i < realised->mixing_count; i++) {
        int32_t count = contributors_of(&realised->mixings[i], workers);
        if (count < fewest) fewest = count;
    }
    return fewest;
}

enum status schedule_hash(struct schedule *schedule, int32_t rounds, struct hash *hash, struct error *error) {
    struct realised_round realised;
    hash_i64(hash, rounds);
    for (int32_t round = 0; round < rounds; round++) {
        TRY(schedule_round(schedule, round, &realised, error));
        hash_i64(hash, realised.inner_steps);
        hash_i64(hash, realised.mixing_count);
        for (int32_t i = 0; i < realised.mixing_count; i++) {
            const struct mixing *mixing = &realised.mixings[i];
            hash_i64(hash, mixing->kind);
            hash_i64(hash, mixing->op);
            for (int32_t m = 0; mixing->member && m < schedule->workers; m++) hash_i64(hash, mixing->member[m]);
        }
    }
    return STATUS_OK;
}
