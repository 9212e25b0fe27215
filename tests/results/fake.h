/* Records made by hand, shaped like those of real runs: what the tests of results/ store and draw. */
#ifndef TESTS_RESULTS_FAKE_H
#define TESTS_RESULTS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "results/results.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

/* One cell's run. Curves fall from 120 to `perplexity`; `utilization` decides the waits. */
struct fake {
    const char *scenario, *strategy, *label;
    int32_t workers, inner_steps, rounds;
    int64_t mbps;
    uint64_t seed;
    double utilization, perplexity, js, l2;
    int64_t bytes_per_round;
    enum run_status status;
    const char *reason;
    bool timing_only, keep_transfers;
    double floor;       /* 0 = unknown */
    int32_t stop_after; /* rounds really stored; 0 = all */
};

static inline struct fake fake_default(const char *strategy) {
    return (struct fake){.scenario = "quickstart",
                         .strategy = strategy,
                         .label = "",
                         .workers = 8,
                         .inner_steps = 50,
                         .rounds = 20,
                         .mbps = 100,
                         .seed = 1,
                         .utilization = 0.5,
                         .perplexity = 6,
                         .js = 0.07,
                         .l2 = 1.5,
                         .bytes_per_round = INT64_C(5250000000) * 8,
                         .status = RUN_DONE,
                         .floor = 4.3};
}

/* The strategies of the quickstart with the proxy's figures. */
static inline struct fake fake_strategy(int index) {
    static const struct {
        const char *name;
        double utilization, perplexity, js, l2;
        int64_t bytes;
    } rows[] = {{"DDP", 0.011, 5.52, 0, 0, INT64_C(2100000000000)},
                {"LocalSGD", 0.36, 5.71, 0, 0, INT64_C(42000000000)},
                {"DiLoCo", 0.36, 5.575, 0, 0, INT64_C(42000000000)},
                {"GlobalM1", 0.562, 6.268, 0.17, 2.75, INT64_C(42000000000)},
                {"GlobalM1LocalM2", 0.358, 5.645, 0.064, 1.13, INT64_C(66000000000)},
                {"GlobalM1LocalM2-subset", 0.451, 5.630, 0.072, 1.65, INT64_C(52300000000)},
                {"LocalM1M2", 0.492, 5.804, 0.091, 3.11, INT64_C(48000000000)},
                {"NoMixing", 1.0, 5.959, 0.187, 73.2, 0}};
    struct fake fake = fake_default(rows[index].name);
    fake.utilization = rows[index].utilization;
    fake.perplexity = rows[index].perplexity;
    fake.js = rows[index].js;
    fake.l2 = rows[index].l2;
    fake.bytes_per_round = rows[index].bytes;
    return fake;
}
enum { FAKE_STRATEGIES = 8 };

static inline struct sim_def fake_def(const struct fake *fake) {
    struct sim_def def = {.seed = fake->seed};
    snprintf(def.strategy.name, sizeof def.strategy.name, "%s", fake->strategy);
    def.strategy.inner_steps = fake->inner_steps;
    def.cluster.workers = fake->workers;
    def.cluster.up_bps = def.cluster.down_bps = fake->mbps ? fake->mbps * 1000000 : INT64_MAX;
    def.cluster.latency_ns = 20000000;
    return def;
}

/* Times of one worker in one round: what is not computing is waiting, mostly for mix1. */
static inline struct worker_times fake_times(const struct fake *fake) {
    struct worker_times times = {.compute_ns = fake->inner_steps * INT64_C(2360000000)};
    int64_t waits = (int64_t)((double)times.compute_ns * (1 / fake->utilization - 1));
    times.wait_mix1_ns = waits * 3 / 5;
    times.wait_mix2_ns = waits - times.wait_mix1_ns;
    return times;
}

static inline int64_t fake_duration(const struct worker_times *times) {
    return times->compute_ns + times->wait_mix1_ns + times->wait_mix2_ns + times->wait_other_ns + times->wasted_ns +
           times->down_ns;
}

struct fake_round {
    struct sim_round round;
    struct worker_round workers[64];
    struct transfer transfers[64];
};

static inline void fake_metrics(const struct fake *fake, int32_t r, struct round_metrics *metrics) {
    double progress = (double)(r + 1) / fake->rounds, wobble = 1 + 0.01 * sin(12.9 * r + (double)fake->seed);
    double perplexity = (fake->perplexity + (120 - fake->perplexity) * exp(-9 * progress) * (1 - progress)) * wobble;
    if (r + 1 == fake->rounds) perplexity = fake->perplexity;
    *metrics = (struct round_metrics){.round = r,
                                      .steps = (r + 1) * fake->inner_steps,
                                      .tokens = INT64_C(512) * (r + 1) * fake->inner_steps * fake->workers,
                                      .loss = log(perplexity) - 0.05,
                                      .gradient_norm = 0.8,
                                      .learning_rate = 3e-3,
                                      .contributors = fake->workers,
                                      .evaluated = true,
                                      .perplexity = perplexity,
                                      .perplexity_worst = perplexity * 1.02,
                                      .perplexity_average_model = perplexity * 0.99,
                                      .js_distance = fake->js * (0.4 + 0.6 * progress) * wobble,
                                      .js_distance_inner = (fake->js + 0.05) * wobble,
                                      .l2_consensus = fake->l2 * progress * wobble,
                                      .l2_consensus_inner = fake->l2 + 0.9,
                                      .outer_updated = 133000};
    if (!fake->timing_only) return;
    metrics->loss = metrics->gradient_norm = metrics->learning_rate = NAN;
    metrics->perplexity = metrics->perplexity_worst = metrics->perplexity_average_model = NAN;
    metrics->js_distance = metrics->js_distance_inner = metrics->l2_consensus = metrics->l2_consensus_inner = NAN;
    metrics->evaluated = false;
}

static inline void fake_fill(const struct fake *fake, int32_t r, struct fake_round *out) {
    struct worker_times times = fake_times(fake);
    int64_t duration = fake_duration(&times);
    memset(out, 0, sizeof *out);
    struct sim_round *round = &out->round;
    *round = (struct sim_round){.round = r,
                                .start_ns = r * duration,
                                .end_ns = (r + 1) * duration,
                                .workers = out->workers,
                                .worker_count = fake->workers,
                                .transfers = out->transfers};
    fake_metrics(fake, r, &round->metrics);
    for (int32_t m = 0; m < fake->workers; m++) {
        struct worker_round *worker = &out->workers[m];
        *worker = (struct worker_round){.start_ns = round->start_ns,
                                        .end_ns = round->end_ns,
                                        .times = times,
                                        .bytes_sent = fake->bytes_per_round / fake->workers,
                                        .bytes_lost = m};
        double loss = round->metrics.loss + 0.01 * m;
        worker->metrics = (struct worker_metrics){loss, round->metrics.perplexity, round->metrics.js_distance};
        round->times.compute_ns += times.compute_ns;
        round->times.wait_mix1_ns += times.wait_mix1_ns;
        round->times.wait_mix2_ns += times.wait_mix2_ns;
        round->bytes_sent += worker->bytes_sent;
        round->bytes_lost += worker->bytes_lost;
    }
    if (!fake->keep_transfers) return;
    round->transfer_count = fake->workers;
    for (int32_t m = 0; m < fake->workers; m++)
        out->transfers[m] = (struct transfer){.op = 0,
                                              .label = LABEL_MIX1,
                                              .attempt = m % 2,
                                              .source = m,
                                              .destination = (m + 1) % fake->workers,
                                              .bytes = 1000 + m,
                                              .start_ns = round->start_ns + m,
                                              .end_ns = round->end_ns - m,
                                              .ok = m != 3};
}

/* Appends a JSON string, in plain C so that a test of failing allocations meets none here. */
static inline void fake_json(char *json, size_t size, const char *value) {
    size_t used = strlen(json);
    for (json[used++] = '"'; *value && used + 8 < size; value++) {
        unsigned char byte = (unsigned char)*value;
        if (byte == '"' || byte == '\\' || byte < 0x20 || byte > 0x7E)
            used += (size_t)snprintf(json + used, size - used, "\\u%04x", byte);
        else
            json[used++] = *value;
    }
    json[used++] = '"';
    json[used] = '\0';
}

static inline void fake_config(const struct fake *fake, char *json, size_t size, char *hash, size_t hash_size) {
    char varied[256];
    snprintf(json, size, "{\"seed\": %llu, \"workers\": %d, \"inner_steps\": %d, \"mbps\": %lld, \"strategy\": ",
             (unsigned long long)fake->seed, fake->workers, fake->inner_steps, (long long)fake->mbps);
    fake_json(json, size, fake->strategy);
    /* What a grid varies is in the configuration too; the seed has its own key. */
    snprintf(varied, sizeof varied, "%s", fake->label);
    char *seed = strstr(varied, "seed=");
    if (seed) *seed = '\0';
    snprintf(json + strlen(json), size - strlen(json), ", \"varied\": ");
    fake_json(json, size, varied);
    snprintf(json + strlen(json), size - strlen(json), "}");
    uint64_t mixed = 1469598103934665603u;
    for (const char *at = json; *at; at++) mixed = (mixed ^ (unsigned char)*at) * 1099511628211u;
    for (const char *at = fake->scenario; *at; at++) mixed = (mixed ^ (unsigned char)*at) * 1099511628211u;
    snprintf(hash, hash_size, "%016llx", (unsigned long long)mixed);
}

static inline void fake_expect(enum status status, const struct error *error) {
    char line[900];
    if (status != STATUS_OK) fail_msg("%s", error_format(error, line, sizeof line));
}

static inline enum status fake_begin(struct store *store, const struct fake *fake, int64_t *run_id,
                                     struct error *error) {
    char json[2048], hash[33];
    struct sim_def def = fake_def(fake);
    fake_config(fake, json, sizeof json, hash, sizeof hash);
    struct run_info info = {.scenario = fake->scenario,
                            .label = fake->label,
                            .config_json = json,
                            .config_hash = hash,
                            .backend = "openblas",
                            .build = "0.1.0 gcc",
                            .timing_only = fake->timing_only};
    return store_begin_run(store, &def, &info, run_id, error);
}

static inline struct sim_summary fake_summary(const struct fake *fake, int32_t rounds) {
    struct worker_times times = fake_times(fake);
    struct sim_summary summary = {.rounds = rounds,
                                  .rounds_planned = fake->rounds,
                                  .virtual_ns = rounds * fake_duration(&times),
                                  .utilization = fake->utilization,
                                  .bytes_sent = rounds * (fake->bytes_per_round / fake->workers) * fake->workers,
                                  .optimizer_bytes = 8 * 133000,
                                  .perplexity_floor = fake->floor > 0 ? fake->floor : NAN,
                                  .diverged_worker = -1,
                                  .diverged_step = -1};
    summary.times.compute_ns = times.compute_ns * rounds * fake->workers;
    summary.times.wait_mix1_ns = times.wait_mix1_ns * rounds * fake->workers;
    summary.times.wait_mix2_ns = times.wait_mix2_ns * rounds * fake->workers;
    if (!fake->timing_only) snprintf(summary.trajectory_hash, sizeof summary.trajectory_hash, "%032d", 7);
    return summary;
}

/* Plays the whole run into the store. */
static inline enum status fake_play(struct store *store, const struct fake *fake, int64_t *run_id,
                                    struct error *error) {
    struct fake_round round;
    int32_t rounds = fake->stop_after ? fake->stop_after : fake->rounds;
    TRY(fake_begin(store, fake, run_id, error));
    for (int32_t r = 0; r < rounds; r++) {
        fake_fill(fake, r, &round);
        TRY(store_put_round(store, *run_id, &round.round, error));
    }
    if (fake->status == RUN_RUNNING) return STATUS_OK;
    struct sim_summary summary = fake_summary(fake, rounds);
    if (fake->status == RUN_DIVERGED) summary.diverged_worker = 2, summary.diverged_step = 17;
    return store_finish_run(store, *run_id, fake->status, fake->reason ? fake->reason : "", &summary, 1.25, error);
}

static inline int64_t fake_store(struct store *store, const struct fake *fake) {
    struct error error = {0};
    int64_t run_id = 0;
    fake_expect(fake_play(store, fake, &run_id, &error), &error);
    return run_id;
}

/* A fresh folder; path: [64]. */
static inline void fake_folder(char *path) {
    snprintf(path, 64, "/tmp/thinwire-results-XXXXXX");
    if (!mkdtemp(path)) fail_msg("no folder for the test");
}

static inline void fake_remove(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -rf %s", folder, folder);
    if (system(command) != 0) fail_msg("cannot remove %s", folder);
}

#endif
