/* One run: the timeline first, then, unless it is timing only, the trainer, round by round, along the realised
 * schedule. */
#include "def.h"

#include "timeline.h"

#include "base/hash.h"

#include <math.h>

struct sim {
    struct sim_def def;
    struct sim_options options;
    struct timeline timeline;
    struct trainer *trainer;      /* NULL when timing only */
    struct worker_round *workers; /* [M] of the round given last */
    int32_t next_round;
    bool over;                  /* nothing more to give: diverged */
    struct sim_summary summary; /* of the rounds given so far */
};

static struct worker_metrics no_worker_metrics(void) {
    return (struct worker_metrics){.loss = NAN, .perplexity = NAN, .js_distance = NAN};
}

/* ---- create ---- */

static enum status hash_trajectory(struct sim *sim, const struct trainer_def *trainer, struct error *error) {
    struct hash *hash = hash_create(error);
    if (!hash) return STATUS_MEMORY;
    trainer_hash(trainer, hash);
    hash_text(hash, trainer_data_identity(sim->trainer));
    enum status status = schedule_hash(&sim->timeline.schedule, sim->timeline.rounds, hash, error);
    if (status == STATUS_OK) hash_hex(hash, sim->summary.trajectory_hash);
    hash_free(hash);
    return status;
}

static enum status start_training(struct sim *sim, const struct trainer_def *def, struct error *error) {
    struct error cause = {0};
    sim->trainer = trainer_create(def, &cause);
    if (!sim->trainer) {
        if (error) *error = cause;
        return cause.status;
    }
    sim->summary.perplexity_floor = trainer_perplexity_floor(sim->trainer);
    return hash_trajectory(sim, def, error);
}

static enum status build(struct sim *sim, struct error *error) {
    struct trainer_def trainer = sim_trainer_def(&sim->def, sim->options.jobs > 0 ? sim->options.jobs : 1);
    struct timeline_options options = {.keep_transfers = sim->options.keep_transfers};
    TRY(timeline_play(&sim->def, &options, &sim->timeline, error));
    sim->workers = alloc_zero((size_t)sim->def.cluster.workers, sizeof *sim->workers, "workers of a round", error);
    if (!sim->workers) return STATUS_MEMORY;
    sim->summary.rounds_planned = sim->timeline.schedule.rounds;
    sim->summary.optimizer_bytes = trainer_optimizer_bytes(&trainer);
    return sim->options.timing_only ? STATUS_OK : start_training(sim, &trainer, error);
}

struct sim *sim_create(const struct sim_def *def, const struct sim_options *options, struct error *error) {
    if (sim_check(def, error) != STATUS_OK) return NULL;
    struct sim *sim = alloc_zero(1, sizeof *sim, "simulator", error);
    if (!sim) return NULL;
    sim->def = *def;
    sim->options = *options;
    sim->summary.perplexity_floor = NAN;
    sim->summary.last = round_metrics_none();
    sim->summary.diverged_worker = -1;
    sim->summary.diverged_step = -1;
    if (build(sim, error) == STATUS_OK) return sim;
    sim_free(sim);
    return NULL;
}

void sim_free(struct sim *sim) {
    if (!sim) return;
    trainer_free(sim->trainer);
    timeline_clear(&sim->timeline);
    alloc_free(sim->workers);
    alloc_free(sim);
}

int32_t sim_rounds(const struct sim *sim) {
    return sim->timeline.schedule.rounds;
}

/* ---- rounds ---- */

/* What can be said of a round that is not trained. */
static enum status describe_round(struct sim *sim, struct round_metrics *metrics, struct error *error) {
    struct realised_round realised;
    const struct sim_def *def = &sim->def;
    const struct program *program = &def->strategy.program;
    int64_t before = sim->next_round * program_inner_steps(program, def->strategy.inner_steps);
    int64_t tokens = (int64_t)def->train.batch * def->train.accumulation * def->model.context;
    TRY(schedule_round(&sim->timeline.schedule, sim->next_round, &realised, error));
    *metrics = round_metrics_none();
    metrics->round = sim->next_round;
    metrics->steps = before + program_inner_steps(program, realised.inner_steps);
    metrics->tokens = metrics->steps * tokens * def->cluster.workers;
    metrics->contributors = schedule_contributors(&realised, def->cluster.workers);
    return STATUS_OK;
}

static enum status train_round(struct sim *sim, struct round_metrics *metrics, struct error *error) {
    struct realised_round realised;
    TRY(schedule_round(&sim->timeline.schedule, sim->next_round, &realised, error));
    return trainer_play_round(sim->trainer, &realised, metrics, error);
}

static void add_to_summary(struct sim *sim, const struct sim_round *round) {
    struct sim_summary *summary = &sim->summary;
    summary->rounds++;
    if (round->end_ns > summary->virtual_ns) summary->virtual_ns = round->end_ns;
    worker_times_add(&summary->times, &round->times);
    summary->bytes_sent += round->bytes_sent;
    summary->bytes_lost += round->bytes_lost;
    double elapsed_ns = (double)summary->virtual_ns * sim->def.cluster.workers;
    summary->utilization = elapsed_ns > 0 ? (double)summary->times.compute_ns / elapsed_ns : 0;
    if (round->metrics.evaluated || !sim->trainer) summary->last = round->metrics;
    summary->last.workers = NULL;
    if (!round->metrics.diverged) return;
    summary->diverged_worker = round->metrics.diverged_worker;
    summary->diverged_step = round->metrics.diverged_step;
}

static enum status give_round(struct sim *sim, struct sim_round *round, struct error *error) {
    *round = (struct sim_round){0};
    timeline_get_round(&sim->timeline, sim->next_round, sim->workers, round);
    TRY(sim->trainer ? train_round(sim, &round->metrics, error) : describe_round(sim, &round->metrics, error));
    for (int32_t m = 0; m < round->worker_count; m++)
        sim->workers[m].metrics = round->metrics.workers ? round->metrics.workers[m] : no_worker_metrics();
    add_to_summary(sim, round);
    sim->next_round++;
    return STATUS_OK;
}

enum sim_result sim_next_round(struct sim *sim, struct sim_round *round, struct error *error) {
    if (sim->over || sim->next_round == sim_rounds(sim)) return SIM_DONE;
    if (sim->next_round == sim->timeline.rounds) {
        if (error) *error = sim->timeline.failure;
        return SIM_FAILED;
    }
    if (give_round(sim, round, error) != STATUS_OK) return SIM_FAILED;
    sim->over = round->metrics.diverged;
    return sim->over ? SIM_DIVERGED : SIM_ROUND;
}

void sim_get_summary(const struct sim *sim, struct sim_summary *summary) {
    *summary = sim->summary;
}
