/* sim: virtual time. Plays a round program over a cluster (who computes, who waits, what each transfer costs, what
 * fails), hands the realised schedule to the trainer, and joins both into one record per round.
 *
 *     sim = sim_create(&def, &options, error);
 *     while ((result = sim_next_round(sim, &round, error)) == SIM_ROUND) ...use round...
 *     sim_get_summary(sim, &summary); sim_free(sim);
 *
 * The caller pulls, so progress, interruption and storage live in its one loop. Sizes on the wire come from
 * payload_def, which may name a far larger model than the one that is trained.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "netmodel/netmodel.h"
#include "optim/optim.h"

struct text;

/* ---- the scenario, resolved: one cell of a grid ---- */

enum payload_dtype { DTYPE_FP32, DTYPE_BF16, DTYPE_FP16, DTYPE_INT8, DTYPES };
const char *dtype_name(enum payload_dtype dtype); /* "fp32", "bf16", "fp16", "int8" */
int64_t dtype_bytes(enum payload_dtype dtype);

struct payload_def {
    int64_t parameters; /* 0 = the trained model's */
    enum payload_dtype dtype;
    double subset; /* fraction of the payload that a subset exchange carries; < 0 = as in the trained model */
};

enum overlapped_failure { OVERLAPPED_RETRY, OVERLAPPED_SKIP, OVERLAPPED_WAIT, OVERLAPPED_FAILURES };
/* "retry" (while computation hides the whole attempt, then skip), "skip", "wait" */
const char *overlapped_failure_name(enum overlapped_failure value);

/* A failed blocking collective is played again, a failed blocking pair is skipped, an overlapped mix (global or pairs)
 * does as `overlapped` says. per: each member draws, or each message of the step-by-step schedule (2M(M-1) of a ring,
 * whatever the fidelity; 2 of a pair), or the attempt once (a pair: its lower worker's draw). */
struct failures_def {
    double exchange; /* probability of one failure, per unit and attempt; 0 = none */
    enum failure_unit per;
    double detect; /* when a failed attempt is noticed, as a fraction of the time it takes alone: 1 = at
                                     its end */
    enum overlapped_failure overlapped;
    int32_t max_attempts; /* of a mix that cannot be skipped, after which the run fails; 1000 */
};

struct compute_def {
    int64_t step_ns;   /* time of one inner step; > 0, or 0 = derived from peak */
    double peak_flops; /* with step_ns = 0: step = 6 * payload parameters * tokens / (peak * mfu) */
    double mfu;
    int64_t tokens; /* tokens per step at the payload's scale; 0 = batch * accumulation * context */
};

struct cluster_def {
    int32_t workers; /* M */
    int64_t up_bps, down_bps;
    int64_t latency_ns;
    struct compute_def compute;
    struct failures_def failures;
    enum collective_kind collective;
    enum fidelity fidelity;
};

struct sim_def {
    char name[64];
    struct cluster_def cluster;
    struct payload_def payload;
    struct llama_def model;
    struct data_def data;
    struct train_def train;
    struct outer_def outer;
    struct strategy_def strategy;
    struct evaluate_def evaluate;
    uint64_t seed;
    char backend[16];
};
struct sim_def sim_default(void);
/* The whole def, across rooms. STATUS_INPUT in the words of the scenario file: "cluster.workers must be ...". */
NODISCARD enum status sim_check(const struct sim_def *def, struct error *error);
/* Bytes of one exchange of parameters; -1 when the subset names no block. */
int64_t sim_payload_bytes(const struct sim_def *def, bool subset);
int64_t sim_step_ns(const struct sim_def *def);
/* The trainer's part of the def. */
struct trainer_def sim_trainer_def(const struct sim_def *def, int32_t jobs);
/* One warning per call, from index 0, until it returns false: H > T, M = 1, a tail, ... in words for the user. */
bool sim_warning(const struct sim_def *def, int32_t index, char *buffer, size_t size);

/* ---- a round by formula (no failures) ---- */

struct op_cost {
    int64_t times;     /* a round plays it: more than once inside a repeat */
    double bytes;      /* one worker sends, each time */
    double seconds;    /* each time; of `await`: what is left to wait */
    char formula[160]; /* with the numbers put in */
};
struct round_cost {
    struct op_cost ops[PROGRAM_MAX_OPS];
    int32_t op_count;
    double seconds, compute_s, bytes; /* bytes: one worker sends */
    double utilization;
};
/* The closed forms of netmodel.h put together along the program. false, and the figures a guide only, where there is no
 * closed form: halving-doubling among other than a power of two, pairs among an odd number of workers. */
bool sim_closed_form(const struct sim_def *def, struct round_cost *round);

/* ---- records ---- */

/* Where a worker's time went. The six sum to end - start, exactly. */
struct worker_times {
    int64_t compute_ns; /* inner steps that counted */
    int64_t wait_mix1_ns;
    int64_t wait_mix2_ns;
    int64_t wait_other_ns; /* other mixes, and at the end of the run for the last worker */
    int64_t wasted_ns;     /* communication attempts lost to failures, work thrown away */
    int64_t down_ns;
};
struct worker_round {
    int64_t start_ns, end_ns;
    struct worker_times times;
    int64_t bytes_sent;            /* delivered */
    int64_t bytes_lost;            /* sent in attempts that failed */
    struct worker_metrics metrics; /* NANs when timing only */
};
struct transfer {
    int32_t op; /* of the program */
    enum mix_label label;
    int32_t attempt; /* from 0 */
    int32_t source, destination;
    int64_t bytes;
    int64_t start_ns, end_ns;
    bool ok;
};
struct sim_round {
    int32_t round;
    int64_t start_ns, end_ns;  /* first worker's start, last worker's end */
    struct worker_times times; /* sums over workers */
    int64_t bytes_sent, bytes_lost;
    struct round_metrics metrics;       /* timing only: round, steps, tokens and contributors, else NANs; workers may be
                                      NULL */
    const struct worker_round *workers; /* [M], valid until the next call, like the rest */
    int32_t worker_count;
    const struct transfer *transfers;
    int64_t transfer_count;
};

enum sim_result { SIM_ROUND, SIM_DONE, SIM_DIVERGED, SIM_FAILED };

struct sim_summary {
    int32_t rounds; /* played */
    int32_t rounds_planned;
    int64_t virtual_ns;
    struct worker_times times; /* sums over workers and rounds */
    double utilization;        /* sum of compute / (workers * virtual time) */
    int64_t bytes_sent, bytes_lost;
    size_t optimizer_bytes;
    double perplexity_floor;   /* NAN if unknown */
    char trajectory_hash[33];  /* over the trainer's def, data and realised schedule; "" when timing only */
    struct round_metrics last; /* of the last evaluated round (timing only: the last); workers = NULL */
    int32_t diverged_worker;   /* -1 unless diverged */
    int64_t diverged_step;
};

struct sim_options {
    bool timing_only;    /* no training: no data is read and no model is made */
    bool keep_transfers; /* fill sim_round.transfers */
    int32_t jobs;        /* threads over workers, >= 1 */
};

struct sim;

/* Plays the whole timeline (cheap), then stands ready to train round by round. */
NODISCARD struct sim *sim_create(const struct sim_def *def, const struct sim_options *options, struct error *error);
void sim_free(struct sim *sim); /* NULL is fine */
/* SIM_ROUND fills *round. SIM_DIVERGED fills it too (the round in which it happened; it is the last). SIM_FAILED fills
 * *error: max_attempts was reached in this round, or there is no memory. */
enum sim_result sim_next_round(struct sim *sim, struct sim_round *round, struct error *error);
void sim_get_summary(const struct sim *sim, struct sim_summary *summary); /* of the rounds pulled so far */
int32_t sim_rounds(const struct sim *sim);

/* ---- transfers alone (`thinwire flows`) ---- */

struct flow_record {
    int64_t start_ns, end_ns; /* TIME_NEVER when it stalls for good */
    bool ok;
    int32_t tries;
};
/* Plays explicit flows, flow i starting at start_ns[i], to the end. records: [count]. */
NODISCARD enum status sim_play_flows(const struct network_def *network, const struct flow_def *flows,
                                     const int64_t *start_ns, int64_t count, struct flow_record *records,
                                     struct error *error);

#endif
