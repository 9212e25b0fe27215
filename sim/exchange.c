/* Mixes in virtual time: who has arrived, when an exchange starts, which attempts fail and what that costs. */
#include "player.h"

#include <assert.h>
#include <stdio.h>

/* ---- open mixes ---- */

static struct mix *mix_at(const struct player *player, int32_t slot) {
    return &player->mixes.items[slot];
}

static const struct op *op_of(const struct player *player, const struct mix *mix) {
    return &player->program->ops[mix->op];
}

static bool is_pairs(const struct player *player, const struct mix *mix) {
    return op_of(player, mix)->group == GROUP_PAIRS;
}

void mixes_clear(struct player *player) {
    for (int64_t i = 0; i < player->mixes.count; i++) {
        alloc_free(player->mixes.items[i].done);
        alloc_free(player->mixes.items[i].partner);
        alloc_free(player->mixes.items[i].exchanges);
    }
    array_clear(&player->mixes);
    array_clear(&player->free_slots);
    array_clear(&player->window);
}

/* A fresh slot at the end of player->mixes. */
static enum status add_slot(struct player *player, struct error *error) {
    size_t workers = (size_t)player->workers, exchanges = player->has_pairs ? workers : 1;
    TRY(array_reserve(&player->mixes, player->mixes.count + 1, error));
    TRY(array_reserve(&player->free_slots, player->mixes.count + 1, error)); /* so that freeing a slot cannot fail */
    struct mix *mix = &player->mixes.items[player->mixes.count];
    *mix = (struct mix){0};
    player->mixes.count++; /* from here on mixes_clear() frees it */
    mix->done = alloc_zero(workers, sizeof *mix->done, "workers of a mix", error);
    mix->exchanges = alloc_zero(exchanges, sizeof *mix->exchanges, "exchanges of a mix", error);
    if (!mix->done || !mix->exchanges) return STATUS_MEMORY;
    if (!player->has_pairs) return STATUS_OK;
    mix->partner = alloc_zero(workers, sizeof *mix->partner, "partners of a mix", error);
    return mix->partner ? STATUS_OK : STATUS_MEMORY;
}

static enum status take_slot(struct player *player, int32_t *slot, struct error *error) {
    if (player->free_slots.count > 0) {
        *slot = player->free_slots.items[--player->free_slots.count];
        return STATUS_OK;
    }
    TRY(add_slot(player, error));
    *slot = (int32_t)(player->mixes.count - 1);
    return STATUS_OK;
}

static void reset_exchanges(const struct player *player, struct mix *mix) {
    int32_t count = player->has_pairs ? player->workers : 1;
    for (int32_t i = 0; i < count; i++)
        mix->exchanges[i] =
            (struct exchange){.network_id = NOT_RUNNING, .generation = mix->exchanges[i].generation + 1};
    for (int32_t m = 0; m < player->workers; m++) mix->done[m] = false;
}

/* Opens the mix under the cursor of worker m, the first to come to it. */
static enum status mix_open(struct player *player, int32_t m, int32_t *slot, struct error *error) {
    const struct worker *worker = &player->states[m];
    const struct schedule *schedule = &player->timeline->schedule;
    TRY(array_reserve(&player->window, player->window.count + 1, error));
    TRY(take_slot(player, slot, error));
    player->window.items[player->window.count++] = *slot;
    struct mix *mix = mix_at(player, *slot);
    reset_exchanges(player, mix);
    mix->index = worker->next_mix;
    mix->op = worker->cursor.op;
    mix->round = worker->round;
    mix->operation = schedule_operation(schedule, mix->op, worker->cursor.repetition);
    mix->users = player->workers;
    const struct op *op = op_of(player, mix);
    mix->overlapped = op->kind == OP_BEGIN;
    mix->cost = &player->costs[op->group][op->subset];
    if (is_pairs(player, mix))
        mixing_draw_pairs(schedule->seed, mix->round, mix->operation, player->workers, mix->partner);
    return STATUS_OK;
}

/* Workers come to mixes in the same order, so an unknown one is always the next of the window. */
static enum status mix_find(struct player *player, int32_t m, int32_t *slot, struct error *error) {
    int64_t entry = player->states[m].next_mix - player->window_first + player->window_head;
    assert(entry >= player->window_head && entry <= player->window.count);
    if (entry == player->window.count) return mix_open(player, m, slot, error);
    *slot = player->window.items[entry];
    assert(*slot != NO_MIX);
    return STATUS_OK;
}

/* Drops the entries at the window's start through which all have passed; moves the rest down now and then. */
static void trim_window(struct player *player) {
    int32_t *items = player->window.items;
    while (player->window_head < player->window.count && items[player->window_head] == NO_MIX) {
        player->window_head++;
        player->window_first++;
    }
    if (2 * player->window_head < player->window.count || player->window_head < 64) return;
    int64_t left = player->window.count - player->window_head;
    for (int64_t i = 0; i < left; i++) items[i] = items[i + player->window_head];
    player->window.count = left;
    player->window_head = 0;
}

void mix_pass(struct player *player, int32_t slot) {
    struct mix *mix = mix_at(player, slot);
    if (--mix->users > 0) return;
    player->window.items[mix->index - player->window_first + player->window_head] = NO_MIX;
    trim_window(player);
    player->free_slots.items[player->free_slots.count++] = slot;
}

/* ---- exchanges: named by slot and leader (the lower worker of a pair, 0 for all) ---- */

static int64_t exchange_id(const struct player *player, int32_t slot, int32_t leader) {
    return (int64_t)slot * player->workers + leader;
}

static int32_t leader_of(const struct player *player, const struct mix *mix, int32_t m) {
    if (!is_pairs(player, mix)) return 0;
    return m < mix->partner[m] ? m : mix->partner[m];
}

/* The i-th member; member 0 of a pair is its lower worker. */
static int32_t member_at(const struct player *player, const struct mix *mix, int32_t leader, int32_t i) {
    if (!is_pairs(player, mix)) return i;
    return i == 0 ? leader : mix->partner[leader];
}

enum status mix_arrive(struct player *player, int32_t m, int32_t *slot, struct error *error) {
    TRY(mix_find(player, m, slot, error));
    struct worker *worker = &player->states[m];
    struct mix *mix = mix_at(player, *slot);
    worker->next_mix++;
    if (player->workers == 1 || (is_pairs(player, mix) && mix->partner[m] == m)) {
        mix->done[m] = true; /* nobody to exchange with */
        return STATUS_OK;
    }
    int32_t leader = leader_of(player, mix, m);
    struct exchange *exchange = &mix->exchanges[leader];
    if (worker->time_ns > exchange->ready_ns) exchange->ready_ns = worker->time_ns;
    if (++exchange->arrived < mix->cost->members) return STATUS_OK;
    return engine_schedule(&player->engine, exchange->ready_ns, exchange_id(player, *slot, leader),
                           exchange->generation, error);
}

/* ---- failures ---- */

/* Messages that an exchange among M workers counts with `per: transfer`: those of its step-by-step schedule, whatever
 * the fidelity. */
static int64_t message_count(enum collective_kind kind, int64_t members) {
    int64_t levels = 0; /* floor(log2(members)) */
    while ((INT64_C(2) << levels) <= members) levels++;
    int64_t core = INT64_C(1) << levels;
    switch (kind) {
    case COLLECTIVE_RING:
        return 2 * members * (members - 1);
    case COLLECTIVE_HALVING_DOUBLING:
        return 2 * core * levels + 2 * (members - core);
    case COLLECTIVE_TREE:
    case COLLECTIVE_PARAMETER_SERVER:
        return 2 * (members - 1);
    case COLLECTIVE_ALL_GATHER:
        return members * (members - 1);
    case COLLECTIVE_PAIR:
        return members;
    case COLLECTIVE_COUNT:
        break;
    }
    return members;
}

static bool draw(const struct player *player, const struct mix *mix, int32_t index, int32_t attempt) {
    return exchange_fails(player->def->cluster.failures.exchange, player->def->seed, mix->round, mix->operation, index,
                          attempt);
}

static bool any_message_fails(const struct player *player, const struct mix *mix, int32_t attempt) {
    int64_t count = message_count(player->def->cluster.collective, player->workers);
    for (int64_t i = 0; i < count; i++)
        if (draw(player, mix, (int32_t)(i & INT32_MAX), attempt)) return true;
    return false;
}

static bool any_member_fails(const struct player *player, const struct mix *mix, int32_t leader, int32_t attempt) {
    for (int32_t i = 0; i < mix->cost->members; i++)
        if (draw(player, mix, member_at(player, mix, leader, i), attempt)) return true;
    return false;
}

/* A pair has one message per member, so that counting workers or transfers is the same there. */
static bool attempt_fails(const struct player *player, const struct mix *mix, int32_t leader, int32_t attempt) {
    if (player->def->cluster.failures.exchange <= 0) return false;
    switch (player->def->cluster.failures.per) {
    case FAILURE_PER_TRANSFER:
        if (!is_pairs(player, mix)) return any_message_fails(player, mix, attempt);
        return any_member_fails(player, mix, leader, attempt);
    case FAILURE_PER_WORKER:
        return any_member_fails(player, mix, leader, attempt);
    case FAILURE_PER_SYNCHRONISATION:
        return draw(player, mix, leader, attempt);
    case FAILURE_UNITS:
        break;
    }
    return false;
}

/* Whether an overlapped mix that failed at now_ns is worth another attempt. */
static bool hidden_from_all(const struct player *player, int32_t slot, int32_t leader, int64_t now_ns) {
    const struct mix *mix = mix_at(player, slot);
    for (int32_t i = 0; i < mix->cost->members; i++)
        if (!worker_hides(player, member_at(player, mix, leader, i), slot, now_ns, mix->cost->duration_ns))
            return false;
    return true;
}

enum verdict { AGAIN, SKIP, GIVE_UP };

static enum verdict judge(const struct player *player, int32_t slot, int32_t leader, int64_t now_ns) {
    const struct mix *mix = mix_at(player, slot);
    const struct failures_def *failures = &player->def->cluster.failures;
    bool spent = mix->exchanges[leader].attempt + 1 >= failures->max_attempts;
    if (!mix->overlapped) return is_pairs(player, mix) ? SKIP : spent ? GIVE_UP : AGAIN;
    switch (failures->overlapped) {
    case OVERLAPPED_SKIP:
        return SKIP;
    case OVERLAPPED_WAIT:
        return spent ? GIVE_UP : AGAIN;
    case OVERLAPPED_RETRY:
        return !spent && hidden_from_all(player, slot, leader, now_ns) ? AGAIN : SKIP;
    case OVERLAPPED_FAILURES:
        break;
    }
    return SKIP;
}

static void give_up(struct player *player, const struct mix *mix) {
    char text[96];
    error_set(&player->timeline->failure, STATUS_INPUT,
              "'%s' of round %d failed %d times in a row; cluster.failures.exchange must be lower or "
              "cluster.failures.max_attempts higher",
              op_print(op_of(player, mix), text, sizeof text), mix->round, player->def->cluster.failures.max_attempts);
}

/* ---- ends of attempts ---- */

static void keep_transfer(struct player *player, const struct mix *mix, const struct transfer *transfer) {
    player->transfers.items[player->transfers.count++] = (struct kept_transfer){*transfer, mix->round};
}

static struct transfer transfer_of(const struct player *player, const struct mix *mix,
                                   const struct exchange *exchange) {
    return (struct transfer){
        .op = mix->op, .label = op_of(player, mix)->label, .attempt = exchange->attempt, .ok = !exchange->fails};
}

/* The messages of an attempt that was broken off, as far as they had come: taken from the known cost. */
static enum status keep_broken(struct player *player, const struct mix *mix, int32_t leader, struct error *error) {
    const struct exchange *exchange = &mix->exchanges[leader];
    const struct cost *cost = mix->cost;
    TRY(array_reserve(&player->transfers, player->transfers.count + cost->message_count, error));
    for (int64_t i = 0; i < cost->message_count; i++) {
        const struct message *message = &cost->messages[i];
        if (message->start_ns >= cost->notice_ns) continue;
        int64_t end_ns = message->end_ns < cost->notice_ns ? message->end_ns : cost->notice_ns;
        struct transfer transfer = transfer_of(player, mix, exchange);
        transfer.source = member_at(player, mix, leader, message->source);
        transfer.destination = member_at(player, mix, leader, message->destination);
        transfer.bytes = message_moved(message, cost->notice_ns);
        transfer.start_ns = exchange->started_ns + message->start_ns;
        transfer.end_ns = exchange->started_ns + end_ns;
        keep_transfer(player, mix, &transfer);
    }
    return STATUS_OK;
}

/* Whether a failing attempt is broken off before its flows have ended. */
static bool breaks_off(const struct mix *mix) {
    return mix->cost->notice_ns < mix->cost->duration_ns;
}

static enum status skip_exchange(struct player *player, int32_t slot, int32_t leader, int64_t now_ns,
                                 struct error *error) {
    const struct mix *mix = mix_at(player, slot);
    int32_t members = mix->cost->members;
    TRY(schedule_skip(&player->timeline->schedule, mix->index, is_pairs(player, mix) ? leader : -1, error));
    for (int32_t i = 0; i < members; i++) /* mix may move and be passed meanwhile: nothing of it is kept here */
        TRY(worker_release(player, member_at(player, mix_at(player, slot), leader, i), slot, now_ns, error));
    return STATUS_OK;
}

/* The attempt is known to be lost. *again: another one starts. */
static enum status attempt_lost(struct player *player, int32_t slot, int32_t leader, int64_t now_ns, bool *again,
                                struct error *error) {
    struct mix *mix = mix_at(player, slot);
    struct exchange *exchange = &mix->exchanges[leader];
    for (int32_t i = 0; i < mix->cost->members; i++) {
        int32_t m = member_at(player, mix, leader, i);
        worker_waste(player, m, slot, exchange->started_ns, now_ns);
        player_result(player, m, mix->round)->bytes_lost += mix->cost->lost[i];
    }
    if (player->keep_transfers && breaks_off(mix)) TRY(keep_broken(player, mix, leader, error));
    enum verdict verdict = judge(player, slot, leader, now_ns);
    *again = verdict == AGAIN;
    exchange->attempt++;
    if (verdict == GIVE_UP) give_up(player, mix);
    return verdict == SKIP ? skip_exchange(player, slot, leader, now_ns, error) : STATUS_OK;
}

/* Member i of the exchange has all it wants. */
static enum status member_done(struct player *player, int32_t slot, int32_t leader, int32_t i, int64_t when_ns,
                               struct error *error) {
    const struct mix *mix = mix_at(player, slot);
    int32_t m = member_at(player, mix, leader, i);
    player_result(player, m, mix->round)->bytes_sent += mix->cost->sent[i];
    return worker_release(player, m, slot, when_ns, error);
}

/* ---- attempts whose cost is known ---- */

static enum status play_directly(struct player *player, int32_t slot, int32_t leader, int64_t now_ns,
                                 struct error *error) {
    const struct cost *cost = mix_at(player, slot)->cost;
    for (bool again = true; again;) {
        const struct mix *mix = mix_at(player, slot);
        struct exchange *exchange = &mix->exchanges[leader];
        exchange->started_ns = now_ns;
        if (!attempt_fails(player, mix, leader, exchange->attempt)) break;
        TRY(player_add_time(&now_ns, cost->notice_ns, error));
        TRY(attempt_lost(player, slot, leader, now_ns, &again, error));
        if (!again) return STATUS_OK;
    }
    for (int32_t i = 0; i < cost->members; i++) {
        int64_t when_ns = now_ns;
        TRY(player_add_time(&when_ns, cost->done_ns[i], error));
        TRY(member_done(player, slot, leader, i, when_ns, error));
    }
    return STATUS_OK;
}

/* ---- attempts on the network ---- */

static enum status play_attempt(struct player *player, int32_t slot, int32_t leader, struct error *error) {
    struct mix *mix = mix_at(player, slot);
    struct exchange *exchange = &mix->exchanges[leader];
    const struct cost *cost = mix->cost;
    int64_t now_ns = player->engine.now_ns, id = exchange_id(player, slot, leader), notice_ns = now_ns;
    int32_t pair[2] = {leader, is_pairs(player, mix) ? mix->partner[leader] : 0};
    exchange->started_ns = now_ns;
    exchange->fails = attempt_fails(player, mix, leader, exchange->attempt);
    TRY(exchange_start(player->network, &player->def->cluster, op_of(player, mix)->group, cost->bytes,
                       is_pairs(player, mix) ? pair : player->members, cost->members, now_ns, &exchange->network_id,
                       error));
    TRY(id_map_put(&player->exchange_of, exchange->network_id, id, error));
    if (!exchange->fails || !breaks_off(mix)) return STATUS_OK;
    TRY(player_add_time(&notice_ns, cost->notice_ns, error));
    return engine_schedule(&player->engine, notice_ns, id, exchange->generation, error);
}

static enum status attempt_over(struct player *player, int32_t slot, int32_t leader, struct error *error) {
    bool again;
    struct exchange *exchange = &mix_at(player, slot)->exchanges[leader];
    exchange->generation++; /* beside others it may end before the timer that would have broken it off */
    id_map_remove(&player->exchange_of, exchange->network_id);
    exchange->network_id = NOT_RUNNING;
    if (!exchange->fails) return STATUS_OK;
    TRY(attempt_lost(player, slot, leader, player->engine.now_ns, &again, error));
    return again ? play_attempt(player, slot, leader, error) : STATUS_OK;
}

/* A timer starts an exchange, or breaks off an attempt. */
static enum status timer_event(struct player *player, const struct engine_event *event, struct error *error) {
    int32_t slot = (int32_t)(event->payload / player->workers), leader = (int32_t)(event->payload % player->workers);
    struct exchange *exchange = &mix_at(player, slot)->exchanges[leader];
    if (event->generation != exchange->generation) return STATUS_OK;
    if (player->direct) return play_directly(player, slot, leader, player->engine.now_ns, error);
    if (exchange->network_id == NOT_RUNNING) return play_attempt(player, slot, leader, error);
    network_cancel(player->network, exchange->network_id);
    return attempt_over(player, slot, leader, error);
}

static enum status take_message(struct player *player, const struct mix *mix, int32_t leader,
                                const struct network_event *event, struct error *error) {
    const struct exchange *exchange = &mix->exchanges[leader];
    if (!player->keep_transfers || (exchange->fails && breaks_off(mix))) return STATUS_OK;
    TRY(array_reserve(&player->transfers, player->transfers.count + 1, error));
    struct transfer transfer = transfer_of(player, mix, exchange);
    transfer.source = event->source;
    transfer.destination = event->destination;
    transfer.bytes = event->bytes;
    transfer.start_ns = event->start_ns;
    transfer.end_ns = event->time_ns;
    keep_transfer(player, mix, &transfer);
    return STATUS_OK;
}

static enum status network_event(struct player *player, const struct network_event *event, struct error *error) {
    int64_t id = id_map_get(&player->exchange_of, event->id);
    if (id < 0) return STATUS_OK;
    int32_t slot = (int32_t)(id / player->workers), leader = (int32_t)(id % player->workers);
    const struct mix *mix = mix_at(player, slot);
    /* All its members may have gone on and the slot be in use again before the whole is told to be over. */
    if (mix->exchanges[leader].network_id != event->id) {
        if (event->kind == NETWORK_DONE) id_map_remove(&player->exchange_of, event->id);
        return STATUS_OK;
    }
    switch (event->kind) {
    case NETWORK_TRANSFER:
        return take_message(player, mix, leader, event, error);
    case NETWORK_MEMBER_DONE: {
        if (mix->exchanges[leader].fails) return STATUS_OK;
        int32_t i = is_pairs(player, mix) ? event->source != leader : event->source;
        return member_done(player, slot, leader, i, event->time_ns, error);
    }
    case NETWORK_DONE:
        return attempt_over(player, slot, leader, error);
    }
    return STATUS_OK;
}

enum status exchange_event(struct player *player, const struct engine_event *event, struct error *error) {
    if (event->kind == ENGINE_TIMER) return timer_event(player, event, error);
    return network_event(player, &event->network, error);
}
