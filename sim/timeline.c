#include "player.h"

#include <assert.h>
#include <stdlib.h>

static int32_t inner_steps_of(const struct player *player, int32_t round) {
    return schedule_inner_steps(&player->timeline->schedule, round);
}

static bool is_finished(const struct player *player, const struct worker *worker) {
    return worker->round == player->timeline->schedule.rounds;
}

struct worker_result *player_result(const struct player *player, int32_t worker, int32_t round) {
    return &player->timeline->results[(int64_t)round * player->workers + worker];
}

enum status player_add_time(int64_t *time_ns, int64_t ns, struct error *error) {
    if (!__builtin_add_overflow(*time_ns, ns, time_ns) && *time_ns != TIME_NEVER) return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "the run lasts longer than virtual time can express (292 years); it must have fewer steps or "
                     "faster links");
}

/* ---- accounting ---- */

static int64_t *waits(struct worker_result *result, enum mix_label label) {
    switch (label) {
    case LABEL_MIX1:
        return &result->wait_mix1_ns;
    case LABEL_MIX2:
        return &result->wait_mix2_ns;
    case LABEL_OTHER:
    case MIX_LABELS:
        break;
    }
    return &result->wait_other_ns;
}

/* Moves a clock on to when_ns, the time counted in *bucket; a clock that is ahead stays. */
static void spend_until(struct worker *worker, int64_t when_ns, int64_t *bucket) {
    if (when_ns <= worker->time_ns) return;
    *bucket += when_ns - worker->time_ns;
    worker->time_ns = when_ns;
}

static enum mix_label label_of(const struct player *player, int32_t slot) {
    return player->program->ops[player->mixes.items[slot].op].label;
}

void worker_waste(struct player *player, int32_t m, int32_t slot, int64_t from_ns, int64_t to_ns) {
    struct worker *worker = &player->states[m];
    if (worker->waiting != slot) return;
    struct worker_result *result = player_result(player, m, worker->round);
    spend_until(worker, from_ns, waits(result, label_of(player, slot)));
    spend_until(worker, to_ns, &result->wasted_ns);
}

/* ---- a worker's program ---- */

static enum status compute(struct player *player, int32_t m, int64_t steps, struct error *error) {
    struct worker *worker = &player->states[m];
    int64_t ns = 0;
    if (__builtin_mul_overflow(steps, player->step_ns, &ns)) ns = INT64_MAX;
    TRY(player_add_time(&worker->time_ns, ns, error));
    player_result(player, m, worker->round)->compute_ns += ns;
    return STATUS_OK;
}

/* Passes a mix whose part is over, or is blocked in it. */
static void need(struct player *player, int32_t m, int32_t slot) {
    if (player->mixes.items[slot].done[m])
        mix_pass(player, slot);
    else
        player->states[m].waiting = slot;
}

static enum status play_op(struct player *player, int32_t m, struct error *error) {
    struct worker *worker = &player->states[m];
    const struct op *op = &player->program->ops[worker->cursor.op];
    int32_t slot;
    switch (op->kind) {
    case OP_INNER:
    case OP_GRADIENT:
        return compute(player, m, op_computes(op, inner_steps_of(player, worker->round)), error);
    case OP_BEGIN:
        return mix_arrive(player, m, &worker->begun[op->label], error);
    case OP_AWAIT:
        need(player, m, worker->begun[op->label]);
        return STATUS_OK;
    case OP_MIX:
        TRY(mix_arrive(player, m, &slot, error));
        need(player, m, slot);
        return STATUS_OK;
    case OP_STEP:
    case OP_OUTER:
    case OP_REPEAT:
    case OP_END:
    case OP_KINDS:
        break;
    }
    return STATUS_OK;
}

/* Plays on until the worker is blocked or at the end of the run. */
static enum status worker_run(struct player *player, int32_t m, struct error *error) {
    struct worker *worker = &player->states[m];
    while (worker->waiting == NO_MIX && !is_finished(player, worker)) {
        if (cursor_advance(&worker->cursor, player->program, inner_steps_of(player, worker->round))) {
            TRY(play_op(player, m, error));
            continue;
        }
        player_result(player, m, worker->round)->end_ns = worker->time_ns;
        worker->cursor = (struct cursor){0};
        worker->round++;
    }
    return STATUS_OK;
}

enum status worker_release(struct player *player, int32_t m, int32_t slot, int64_t when_ns, struct error *error) {
    struct worker *worker = &player->states[m];
    player->mixes.items[slot].done[m] = true;
    if (worker->waiting != slot) return STATUS_OK;
    spend_until(worker, when_ns, waits(player_result(player, m, worker->round), label_of(player, slot)));
    worker->waiting = NO_MIX;
    mix_pass(player, slot);
    return worker_run(player, m, error);
}

bool worker_hides(const struct player *player, int32_t m, int32_t slot, int64_t now_ns, int64_t ns) {
    const struct worker *worker = &player->states[m];
    struct cursor cursor = worker->cursor;
    int32_t inner_steps = inner_steps_of(player, worker->round);
    int64_t left_ns = worker->time_ns > now_ns ? worker->time_ns - now_ns : 0;
    if (worker->waiting == slot) return left_ns >= ns;
    while (left_ns < ns && cursor_advance(&cursor, player->program, inner_steps)) {
        const struct op *op = &player->program->ops[cursor.op];
        if (op->kind == OP_AWAIT && worker->begun[op->label] == slot) break;
        int64_t step_ns;
        if (__builtin_mul_overflow(op_computes(op, inner_steps), player->step_ns, &step_ns)) return true;
        if (__builtin_add_overflow(left_ns, step_ns, &left_ns)) return true;
    }
    return left_ns >= ns;
}

/* ---- making a player ---- */

/* Whether a worker never has more than one exchange under way: nothing is begun or mixed between a begin and its await.
 * Links are each worker's own, so exchanges then never share one. */
static bool is_exclusive(const struct program *program) {
    bool open = false;
    for (int32_t i = 0; i < program->count; i++) {
        const struct op *op = &program->ops[i];
        if (op_mixes(op) && open) return false;
        if (op->kind == OP_BEGIN) open = true;
        if (op->kind == OP_AWAIT) open = false;
    }
    return true;
}

static enum status measure_costs(struct player *player, struct error *error) {
    bool measured[MIX_GROUPS][2] = {0};
    for (int32_t i = 0; i < player->program->count; i++) {
        const struct op *op = &player->program->ops[i];
        if (!op_mixes(op) || measured[op->group][op->subset]) continue;
        measured[op->group][op->subset] = true;
        if (op->group == GROUP_PAIRS) player->has_pairs = true;
        int64_t bytes;
        TRY(payload_measure(player->def, op->subset, &bytes, error));
        TRY(cost_measure(&player->def->cluster, op->group, bytes, player->keep_transfers,
                         &player->costs[op->group][op->subset], error));
    }
    return STATUS_OK;
}

static enum status make_states(struct player *player, struct error *error) {
    size_t workers = (size_t)player->workers, results;
    if (!size_mul((size_t)player->timeline->schedule.rounds, workers, &results)) results = SIZE_MAX;
    player->timeline->results = alloc_zero(results, sizeof *player->timeline->results, "rounds x workers", error);
    player->states = alloc_zero(workers, sizeof *player->states, "workers", error);
    player->members = alloc_zero(workers, sizeof *player->members, "workers", error);
    if (!player->timeline->results || !player->states || !player->members) return STATUS_MEMORY;
    for (int32_t m = 0; m < player->workers; m++) {
        player->states[m].waiting = NO_MIX;
        player->members[m] = m;
    }
    return STATUS_OK;
}

static enum status player_init(struct player *player, const struct sim_def *def, const struct timeline_options *options,
                               struct timeline *timeline, struct error *error) {
    *player = (struct player){.def = def,
                              .program = &timeline->schedule.strategy.program,
                              .timeline = timeline,
                              .workers = def->cluster.workers,
                              .step_ns = sim_step_ns(def),
                              .keep_transfers = options->keep_transfers};
    player->direct = is_exclusive(player->program) && !options->keep_transfers && !options->play_everything;
    TRY(measure_costs(player, error));
    TRY(make_states(player, error));
    if (player->direct) return STATUS_OK;
    player->network = cluster_network(&def->cluster, player->workers, error);
    player->engine.network = player->network;
    return player->network ? STATUS_OK : STATUS_MEMORY;
}

static void player_clear(struct player *player) {
    for (int32_t i = 0; i < MIX_GROUPS; i++)
        for (int32_t subset = 0; subset < 2; subset++) cost_clear(&player->costs[i][subset]);
    engine_clear(&player->engine);
    network_free(player->network);
    id_map_clear(&player->exchange_of);
    mixes_clear(player);
    array_clear(&player->transfers);
    alloc_free(player->states);
    alloc_free(player->members);
}

/* ---- the run ---- */

static enum status play(struct player *player, struct error *error) {
    struct engine_event event;
    for (int32_t m = 0; m < player->workers; m++) TRY(worker_run(player, m, error));
    do {
        TRY(engine_next(&player->engine, &event, error));
        if (event.kind != ENGINE_END) TRY(exchange_event(player, &event, error));
    } while (event.kind != ENGINE_END && player->timeline->failure.status == STATUS_OK);
    return STATUS_OK;
}

/* Rounds that every worker has played. */
static int32_t rounds_played(const struct player *player) {
    int32_t rounds = player->timeline->schedule.rounds;
    for (int32_t m = 0; m < player->workers; m++)
        if (player->states[m].round < rounds) rounds = player->states[m].round;
    return rounds;
}

/* Those who are early wait for the last one. */
static void meet_at_the_end(struct player *player) {
    int64_t end_ns = 0;
    int32_t last = player->timeline->schedule.rounds - 1;
    for (int32_t m = 0; m < player->workers; m++)
        if (player->states[m].time_ns > end_ns) end_ns = player->states[m].time_ns;
    for (int32_t m = 0; m < player->workers; m++) {
        struct worker_result *result = player_result(player, m, last);
        spend_until(&player->states[m], end_ns, &result->wait_other_ns);
        result->end_ns = end_ns;
    }
}

static enum status finish(struct player *player, struct error *error) {
    struct timeline *timeline = player->timeline;
    timeline->rounds = rounds_played(player);
    schedule_finish(&timeline->schedule);
    if (timeline->rounds == timeline->schedule.rounds) {
        meet_at_the_end(player);
        return STATUS_OK;
    }
    if (timeline->failure.status != STATUS_OK) return STATUS_OK;
    char stall[256] = "";
    return error_set(error, STATUS_INPUT, "round %d never ends: %s", timeline->rounds,
                     player->network ? network_describe_stall(player->network, stall, sizeof stall) : "a worker waits");
}

/* Sorts transfers by round; within a round their order stays. */
static enum status sort_transfers(struct player *player, struct error *error) {
    struct timeline *timeline = player->timeline;
    size_t rounds = (size_t)timeline->schedule.rounds;
    int64_t count = player->transfers.count;
    if (!player->keep_transfers) return STATUS_OK;
    timeline->transfers = alloc_zero((size_t)count, sizeof *timeline->transfers, "transfers", error);
    int64_t *first = timeline->first_transfer = alloc_zero(rounds + 2, sizeof *first, "transfers", error);
    if (!timeline->transfers || !first) return STATUS_MEMORY;
    for (int64_t i = 0; i < count; i++) first[player->transfers.items[i].round + 2]++;
    for (size_t r = 0; r < rounds; r++) first[r + 2] += first[r + 1];
    for (int64_t i = 0; i < count; i++) {
        const struct kept_transfer *kept = &player->transfers.items[i];
        timeline->transfers[first[kept->round + 1]++] = kept->transfer;
    }
    return STATUS_OK;
}

enum status timeline_play(const struct sim_def *def, const struct timeline_options *options, struct timeline *timeline,
                          struct error *error) {
    struct player player = {0};
    *timeline = (struct timeline){.workers = def->cluster.workers};
    enum status status = schedule_init(&timeline->schedule, def, error);
    if (status != STATUS_OK) return status;
    status = player_init(&player, def, options, timeline, error);
    if (status == STATUS_OK) status = play(&player, error);
    if (status == STATUS_OK) status = finish(&player, error);
    if (status == STATUS_OK) status = sort_transfers(&player, error);
    player_clear(&player);
    if (status != STATUS_OK) timeline_clear(timeline);
    return status;
}

void timeline_clear(struct timeline *timeline) {
    alloc_free(timeline->results);
    alloc_free(timeline->transfers);
    alloc_free(timeline->first_transfer);
    schedule_clear(&timeline->schedule);
    *timeline = (struct timeline){0};
}

/* ---- reading ---- */

void worker_times_add(struct worker_times *sum, const struct worker_times *times) {
    sum->compute_ns += times->compute_ns;
    sum->wait_mix1_ns += times->wait_mix1_ns;
    sum->wait_mix2_ns += times->wait_mix2_ns;
    sum->wait_other_ns += times->wait_other_ns;
    sum->wasted_ns += times->wasted_ns;
    sum->down_ns += times->down_ns;
}

static void read_result(const struct timeline *timeline, int32_t round, int32_t m, struct worker_round *worker) {
    const struct worker_result *result = &timeline->results[(int64_t)round * timeline->workers + m];
    worker->start_ns = round > 0 ? result[-timeline->workers].end_ns : 0;
    worker->end_ns = result->end_ns;
    worker->times = (struct worker_times){.compute_ns = result->compute_ns,
                                          .wait_mix1_ns = result->wait_mix1_ns,
                                          .wait_mix2_ns = result->wait_mix2_ns,
                                          .wait_other_ns = result->wait_other_ns,
                                          .wasted_ns = result->wasted_ns};
    worker->bytes_sent = result->bytes_sent;
    worker->bytes_lost = result->bytes_lost;
}

void timeline_get_round(const struct timeline *timeline, int32_t round, struct worker_round *workers,
                        struct sim_round *sums) {
    assert(round >= 0 && round < timeline->rounds);
    sums->round = round;
    sums->start_ns = INT64_MAX;
    sums->end_ns = sums->bytes_sent = sums->bytes_lost = 0;
    sums->times = (struct worker_times){0};
    for (int32_t m = 0; m < timeline->workers; m++) {
        struct worker_round *worker = &workers[m];
        read_result(timeline, round, m, worker);
        if (worker->start_ns < sums->start_ns) sums->start_ns = worker->start_ns;
        if (worker->end_ns > sums->end_ns) sums->end_ns = worker->end_ns;
        worker_times_add(&sums->times, &worker->times);
        sums->bytes_sent += worker->bytes_sent;
        sums->bytes_lost += worker->bytes_lost;
    }
    sums->workers = workers;
    sums->worker_count = timeline->workers;
    sums->transfers = timeline->transfers ? timeline->transfers + timeline->first_transfer[round] : NULL;
    sums->transfer_count =
        timeline->transfers ? timeline->first_transfer[round + 1] - timeline->first_transfer[round] : 0;
}
