/* Progress, Ctrl-C and storage all sit in play_rounds(): the simulator is pulled round by round. */
#include "play.h"

#include "cli.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "DiLoCo, cluster.link.bandwidth=100 Mbps seed=1": the strategy, then what else tells the cell apart. */
static void cell_title(const struct scenario *scenario, int64_t cell, char *title, size_t size) {
    const char *label = scenario_cell_label(scenario, cell), *strategy = scenario_cell(scenario, cell)->strategy.name;
    char known[80];
    snprintf(known, sizeof known, "strategy.name=%s", strategy);
    size_t length = strlen(known);
    if (strncmp(label, known, length) == 0 && (label[length] == ' ' || label[length] == '\0'))
        label += length + (label[length] == ' ');
    snprintf(title, size, label[0] ? "%s, %s" : "%s", strategy, label);
}

static void backend_text(const struct sim_def *def, bool timing_only, char *buffer, size_t size) {
    const struct backend *backend = NULL;
    struct error ignored = {0};
    char found[160] = "";
    if (timing_only) {
        snprintf(buffer, size, "none (timing only)");
    } else if (backend_find(def->backend, &backend, &ignored) == STATUS_OK &&
               backend_probe(backend, found, sizeof found)) {
        snprintf(buffer, size, "%s (%s)", backend_name(backend), found);
    } else {
        snprintf(buffer, size, "%s", def->backend);
    }
}

static enum status begin_run(struct play *play, const struct scenario *scenario, int64_t cell, int64_t *run_id,
                             struct error *error) {
    const struct sim_def *def = scenario_cell(scenario, cell);
    char hash[33], backend[256];
    struct text json = {0};
    backend_text(def, play->timing_only, backend, sizeof backend);
    enum status status = scenario_print_json(def, &json);
    if (status == STATUS_OK) status = scenario_hash(def, hash, error);
    if (status == STATUS_OK) {
        struct run_info info = {.scenario = scenario_name(scenario),
                                .label = scenario_cell_label(scenario, cell),
                                .config_json = text_get(&json),
                                .config_hash = hash,
                                .backend = backend,
                                .build = build_description(),
                                .timing_only = play->timing_only};
        status = store_begin_run(play->store, def, &info, run_id, error);
    } else {
        error_set(error, STATUS_MEMORY, "out of memory for the configuration");
    }
    text_clear(&json);
    if (status != STATUS_OK) return status;
    TRY(array_reserve(&play->run_ids, play->run_ids.count + 1, error));
    play->run_ids.items[play->run_ids.count++] = *run_id;
    return STATUS_OK;
}

/* How a run ended, in words. */
struct outcome {
    enum run_status status;
    char reason[sizeof(((struct error *)0)->message)];
};

/* Rounds of one run until it ends or a signal comes. A fault of the simulator is the run's outcome; only a fault of the
 * store is returned. */
static enum status play_rounds(struct play *play, struct sim *sim, int64_t run_id, struct outcome *outcome,
                               struct error *error) {
    struct sim_round round;
    struct error fault = {0};
    for (;;) {
        if (interrupt_signal()) {
            outcome->status = RUN_INTERRUPTED;
            snprintf(outcome->reason, sizeof outcome->reason, "interrupted by signal %d", interrupt_signal());
            return STATUS_OK;
        }
        enum sim_result result = sim_next_round(sim, &round, &fault);
        switch (result) {
        case SIM_DONE:
            outcome->status = RUN_DONE;
            return STATUS_OK;
        case SIM_FAILED:
            outcome->status = RUN_FAILED;
            snprintf(outcome->reason, sizeof outcome->reason, "%s", fault.message);
            return STATUS_OK;
        case SIM_ROUND:
        case SIM_DIVERGED:
            TRY(store_put_round(play->store, run_id, &round, error));
            progress_round(&play->progress, &round);
            break;
        }
        if (result == SIM_DIVERGED) {
            outcome->status = RUN_DIVERGED;
            snprintf(outcome->reason, sizeof outcome->reason, "worker %d diverged at inner step %lld",
                     round.metrics.diverged_worker, (long long)round.metrics.diverged_step);
            return STATUS_OK;
        }
    }
}

static enum status play_run(struct play *play, struct sim *sim, int64_t run_id, struct error *error) {
    struct outcome outcome = {.status = RUN_RUNNING};
    struct sim_summary summary;
    double start_s = progress_wall_s();
    TRY(play_rounds(play, sim, run_id, &outcome, error));
    sim_get_summary(sim, &summary);
    TRY(store_finish_run(play->store, run_id, outcome.status, outcome.reason, &summary, progress_wall_s() - start_s,
                         error));
    play->diverged += outcome.status == RUN_DIVERGED;
    play->failed += outcome.status == RUN_FAILED;
    char text[sizeof outcome.reason + 32];
    snprintf(text, sizeof text, outcome.reason[0] ? "%s: %s" : "%s", run_status_name(outcome.status), outcome.reason);
    progress_end_cell(&play->progress, text, &summary);
    return STATUS_OK;
}

/* A cell that could not even start, after others did: a row that says why. */
static enum status record_failure(struct play *play, const struct scenario *scenario, int64_t cell,
                                  const struct error *fault, struct error *error) {
    int64_t run_id;
    char text[sizeof fault->message + 16];
    TRY(begin_run(play, scenario, cell, &run_id, error));
    struct sim_summary nothing = {.perplexity_floor = NAN, .diverged_worker = -1, .last = round_metrics_none()};
    TRY(store_finish_run(play->store, run_id, RUN_FAILED, fault->message, &nothing, 0, error));
    play->failed++;
    snprintf(text, sizeof text, "failed: %s", fault->message);
    progress_end_cell(&play->progress, text, &nothing);
    return STATUS_OK;
}

static void show_warnings(struct play *play, const struct sim_def *def, const char *title) {
    char warning[400], line[600];
    for (int32_t i = 0; sim_warning(def, i, warning, sizeof warning); i++) {
        snprintf(line, sizeof line, "%s: %s", title, warning);
        progress_warning(&play->progress, line);
    }
}

static enum status play_cell(struct play *play, const struct scenario *scenario, int64_t cell, int64_t number,
                             struct error *error) {
    const struct sim_def *def = scenario_cell(scenario, cell);
    struct sim_options options = {
        .timing_only = play->timing_only, .keep_transfers = play->keep_transfers, .jobs = play->jobs};
    char title[160];
    cell_title(scenario, cell, title, sizeof title);

    struct error fault = {0};
    struct sim *sim = sim_create(def, &options, &fault);
    if (!sim && !play->store) {
        *error = fault;
        return fault.status;
    }
    if (!play->store) {
        play->store = store_open(play->database, error);
        if (!play->store) {
            sim_free(sim);
            return error->status;
        }
    }
    progress_begin_cell(&play->progress, number, title, sim ? sim_rounds(sim) : 0);
    show_warnings(play, def, title);
    if (!sim) return record_failure(play, scenario, cell, &fault, error);

    int64_t run_id;
    enum status status = begin_run(play, scenario, cell, &run_id, error);
    if (status == STATUS_OK) status = play_run(play, sim, run_id, error);
    sim_free(sim);
    return status;
}

enum status play_scenarios(struct play *play, struct scenario *const *scenarios, int32_t count, struct error *error) {
    int64_t number = 0;
    for (int32_t s = 0; s < count; s++) {
        for (int64_t cell = 0; cell < scenario_cell_count(scenarios[s]); cell++) {
            TRY(play_cell(play, scenarios[s], cell, number++, error));
            if (interrupt_signal())
                return error_set(error, STATUS_INTERRUPTED, "interrupted; rounds played so far are in %s",
                                 play->database);
        }
    }
    return STATUS_OK;
}
