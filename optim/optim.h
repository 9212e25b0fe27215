/* optim: how a model is trained by many workers. Round programs and the named strategies, inner and outer optimisers,
 * learning-rate schedules, mixing, metrics, and the trainer, which executes a realised schedule on real parameters.
 *
 * A strategy is data: a list of operations that every worker performs each round. The timeline (sim) plays the same
 * list in virtual time and says which mixes really happened (struct realised_round); the trainer obeys. No time here.
 */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H

#include "data/data.h"
#include "kernels/kernels.h"

/* ---- the round program ---- */

enum op_kind {
#define PROGRAM_OP(name, text, help) OP_##name,
#include "program_ops.def"
#undef PROGRAM_OP
    OP_KINDS
};
enum mix_label {
#define MIX_LABEL(name, text) LABEL_##name,
#include "mix.def"
#undef MIX_LABEL
    MIX_LABELS
};
enum mix_quantity {
#define MIX_QUANTITY(name, text, help) QUANTITY_##name,
#include "mix.def"
#undef MIX_QUANTITY
    MIX_QUANTITIES
};
enum mix_group {
#define MIX_GROUP(name, text, help) GROUP_##name,
#include "mix.def"
#undef MIX_GROUP
    MIX_GROUPS
};
const char *mix_label_name(enum mix_label label); /* "mix1" */

struct op {
    enum op_kind kind;
    int32_t count;              /* REPEAT, INNER: how often; 0 = H, the strategy's inner steps */
    enum mix_label label;       /* BEGIN, AWAIT, MIX */
    enum mix_quantity quantity; /* BEGIN, MIX */
    enum mix_group group;       /* BEGIN, MIX */
    bool subset;                /* BEGIN, MIX: only the strategy's subset of blocks is mixed (and sent) */
};

#define PROGRAM_MAX_OPS 32
struct program {
    struct op ops[PROGRAM_MAX_OPS];
    int32_t count;
};

/* One op per line of text, as op_print writes it: "begin mix1 parameters global", "inner H", "await mix1",
 * "mix2 outer_gradient pairs subset", "repeat H", "mix gradient global", "outer". STATUS_INPUT with the nearest word.
 */
NODISCARD enum status op_parse(const char *text, struct op *op, struct error *error);
char *op_print(const struct op *op, char *buffer, size_t size);
/* Balanced repeats, no nesting; every begin awaited once before the round ends and no label begun twice; a gradient
 * before step and before mixing it, and every gradient applied; parameters are mixed by begin only before the first
 * inner step and the first blocking mix of them, so that the mixed start of the round is what outer builds on; from the
 * first mix of outer gradients to outer neither steps nor parameter mixes; at least one inner step a round.
 * op_at_fault (may be NULL) gets the op at fault, from 0. */
NODISCARD enum status program_check(const struct program *program, int32_t *op_at_fault, struct error *error);
/* Inner steps (gradients) of one round with H = inner_steps. */
int64_t program_inner_steps(const struct program *program, int32_t inner_steps);
bool program_uses(const struct program *program, enum op_kind kind);
bool program_mixes(const struct program *program, enum mix_quantity quantity);
bool program_uses_subset(const struct program *program);
/* For op OP_MIX or OP_BEGIN: 0 for mix1, 1 for mix2, 2 + n for the n-th other mix of the program. */
int32_t program_operation(const struct program *program, int32_t op);

/* ---- strategies: the table of named programs ---- */

#define SUBSET_MAX 64
struct strategy_def {
    char name[48]; /* of the table, or the scenario's own */
    struct program program;
    int32_t inner_steps;         /* H */
    char subset[SUBSET_MAX][48]; /* block selectors for llama_select_blocks */
    int32_t subset_count;
};
struct strategy_def strategy_default(void); /* DiLoCo, H = 50 */
int32_t strategy_count(void);
const char *strategy_name(int32_t index); /* "DDP", "LocalSGD", "DiLoCo", "GlobalM1", "GlobalM1LocalM2",
                                             "GlobalM1LocalM2-subset", "LocalM1M2", "NoMixing" */
const char *strategy_help(int32_t index);
/* Sets name and program (and the default subset: embedding, head, layer0, where the program uses one and none is
 * given); inner_steps stays. STATUS_INPUT with the nearest name. */
NODISCARD enum status strategy_find(const char *name, struct strategy_def *def, struct error *error);

/* ---- what really happened: the realised schedule ---- */

enum mixing_kind {
    MIXING_NONE, /* everybody keeps its own */
    MIXING_MEAN, /* everybody gets the mean over workers with member[m] = 1; nobody contributing = NONE */
    MIXING_PAIRS /* member[m] = partner, or m itself */
};
struct mixing {
    enum mixing_kind kind;
    int32_t op;      /* index in the program */
    int32_t *member; /* [workers]; NULL for NONE, and for a MEAN to which all contribute */
};
/* All mixes of one round in the order in which the program executes them (repeats unrolled). */
struct realised_round {
    int32_t round;       /* from 0 */
    int32_t inner_steps; /* H of this round: smaller in a tail */
    struct mixing *mixings;
    int32_t mixing_count;
};
/* A random perfect matching of `workers` for the given program operation: partner[m], partner[m] = m for the odd one
 * out. Pure function of its arguments. */
void mixing_draw_pairs(uint64_t seed, int32_t round, int32_t operation, int32_t workers, int32_t *partner);
/* Worker m's row of the mixing matrix W: sources ascending and their weights (sum 1). Arrays hold `workers` entries.
 * Returns the number of entries. Doubly stochastic for NONE, PAIRS, and MEAN with all contributing. */
int32_t mixing_row(const struct mixing *mixing, int32_t workers, int32_t worker, int32_t *sources, double *weights);

/* ---- optimisers and schedules ---- */

struct optimizer_def {
    char name[16]; /* of the optimizer table: "adamw", "sgd" */
    double learning_rate;
    double beta1, beta2;
    double epsilon;
    double weight_decay;
};
int32_t optimizer_count(void);
const char *optimizer_name(int32_t index);
const char *optimizer_help(int32_t index);

enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_WSD, SCHEDULE_KINDS };
const char *schedule_name(enum schedule_kind kind); /* "constant", "cosine", "wsd" (warm-up, stable, decay) */

struct train_def {
    int64_t tokens;       /* training tokens over all workers together; ignored when rounds > 0 */
    int32_t rounds;       /* 0 = as many as the tokens give */
    int32_t batch;        /* sequences per worker and micro-batch */
    int32_t accumulation; /* micro-batches per inner step */
    struct optimizer_def optimizer;
    enum schedule_kind schedule;
    int64_t warmup; /* inner steps of linear warm-up */
    double minimum; /* final learning rate / peak, cosine and wsd: 0.1 */
    double decay;   /* wsd: fraction of all steps in the final linear decay */
    double clip;    /* global gradient norm; 0 = off */
};
struct train_def train_default(void);
/* Learning rate of inner step `step` (from 0) of `steps`; at step = steps - 1 it is the minimum (cosine, wsd). */
double schedule_rate(const struct train_def *def, int64_t step, int64_t steps);
/* Inner steps per worker that `tokens` buy: floor(tokens / (workers * batch * accumulation * context)); with rounds,
 * rounds * steps per round. */
int64_t train_steps(const struct train_def *def, int32_t workers, int32_t context, const struct strategy_def *strategy);
/* Rounds for that many steps: ceil(steps / steps per round); the last may be a shorter tail that still synchronises. At
 * most INT32_MAX. */
int32_t train_rounds(int64_t steps, const struct strategy_def *strategy);
/* H of `round`, the tail taken into account. Tails shorten INNER and REPEAT ops of count 0 (H) only: the tail's H is
 * the largest that fits, at least 1, so the steps played may be a few fewer than asked for, or more where a round's
 * fixed counts are longer than what is left. */
int32_t train_round_inner_steps(int64_t steps, const struct strategy_def *strategy, int32_t round);

enum outer_kind { OUTER_NESTEROV, OUTER_HEAVY_BALL, OUTER_SGD, OUTER_KINDS };
const char *outer_name(enum outer_kind kind); /* "nesterov", "heavy_ball", "sgd" */
struct outer_def {
    enum outer_kind kind;
    double learning_rate; /* alpha */
    double momentum;      /* beta; ignored by sgd */
};
struct outer_def outer_default(void); /* nesterov, 0.7, 0.9 */

struct evaluate_def {
    int32_t every;     /* rounds between evaluations; the last round is always evaluated; 0 = only the last */
    int64_t tokens;    /* validation tokens for the perplexities */
    int64_t js_tokens; /* of one fixed held-out batch for the JS distance; 0 = off */
};
struct evaluate_def evaluate_default(void);

/* ---- the trainer ---- */

struct trainer_def {
    struct llama_def model;
    struct data_def data;
    struct train_def train;
    struct outer_def outer;
    struct evaluate_def evaluate;
    struct strategy_def strategy;
    int32_t workers; /* M */
    uint64_t seed;
    char backend[16];
    int32_t jobs; /* threads over workers; changes no result */
};
/* STATUS_INPUT naming the field in the words of the scenario file ("train.batch"). */
NODISCARD enum status trainer_check(const struct trainer_def *def, struct error *error);
/* Everything that decides the trajectory apart from the realised schedule, fed into hash in a fixed order. */
struct hash;
void trainer_hash(const struct trainer_def *def, struct hash *hash);
/* Bytes a trainer will hold: per worker parameters, optimiser and outer state as the program needs them, and one
 * activation workspace per thread; the corpus apart. */
size_t trainer_bytes(const struct trainer_def *def);
size_t trainer_optimizer_bytes(const struct trainer_def *def); /* of that, optimiser state over all workers */

struct worker_metrics {
    double loss;        /* mean training loss of its inner steps in the round */
    double perplexity;  /* held-out, on the parameters after the round; NAN when not evaluated */
    double js_distance; /* to the averaged model; NAN when not measured */
};

struct round_metrics {
    int32_t round;
    int64_t steps;        /* inner steps per worker so far */
    int64_t tokens;       /* training tokens so far, all workers */
    double loss;          /* token-weighted mean training loss of the round, over workers */
    double gradient_norm; /* mean over steps and workers, before clipping */
    double learning_rate; /* of the round's last inner step */
    int32_t contributors; /* fewest workers whose value entered any mix of the round; M where none failed */
    bool evaluated;       /* the next group is NAN otherwise */
    double perplexity;    /* mean over workers of exp(held-out loss): the headline */
    double perplexity_worst;
    double perplexity_average_model; /* of the averaged parameters */
    double js_distance;              /* mean over workers and tokens, on the parameters after the round */
    double js_distance_inner;        /* on the parameters at the end of the inner steps, before any mix of them */
    double l2_consensus;             /* sqrt(mean_m |z_m - mean z|^2), after the round; measured every round */
    double l2_consensus_inner;       /* at the end of the inner steps */
    int64_t outer_updated; /* parameters that the outer step changed the velocity of or moved; 0 when there is none */
    bool diverged;         /* a loss, gradient norm or parameter is not finite; the trainer stops here */
    int32_t diverged_worker;
    int64_t diverged_step;
    const struct worker_metrics *workers; /* [M], valid until the next call */
};

/* Nothing measured: every value NAN or -1, counts 0. */
struct round_metrics round_metrics_none(void);

struct trainer;

NODISCARD struct trainer *trainer_create(const struct trainer_def *def, struct error *error);
void trainer_free(struct trainer *trainer);           /* NULL is fine */
int64_t trainer_steps(const struct trainer *trainer); /* inner steps per worker in all */
int32_t trainer_rounds(const struct trainer *trainer);
const char *trainer_data_identity(const struct trainer *trainer);
double trainer_perplexity_floor(
    const struct trainer *trainer); /* exp(entropy floor) of the tokens evaluated; NAN if unknown */
/* Plays the next round by its realised schedule (rounds in order). Divergence is in the metrics, not a failure. */
NODISCARD enum status trainer_play_round(struct trainer *trainer, const struct realised_round *realised,
                                         struct round_metrics *metrics, struct error *error);
/* A worker's parameters, downloaded: [llama_parameters]. For tests, checkpoints and comparison. */
void trainer_get_parameters(const struct trainer *trainer, int32_t worker, float *parameters);
const struct llama *trainer_model(const struct trainer *trainer);

#endif
