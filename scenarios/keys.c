#include "keys.h"

#include <string.h>

/* ---- names of choices ---- */

#define ENUM_CHOICE(name, type, count, name_of)                                                                        \
    static const char *name(int32_t index) {                                                                           \
        return index < (int32_t)(count) ? name_of((type)index) : NULL;                                                 \
    }
#define LIST_CHOICE(name, count, name_of)                                                                              \
    static const char *name(int32_t index) {                                                                           \
        return index < (count) ? name_of(index) : NULL;                                                                \
    }

ENUM_CHOICE(dtype_choice, enum payload_dtype, DTYPES, dtype_name)
ENUM_CHOICE(collective_choice, enum collective_kind, COLLECTIVE_COUNT, collective_name)
ENUM_CHOICE(failure_unit_choice, enum failure_unit, FAILURE_UNITS, failure_unit_name)
ENUM_CHOICE(overlapped_choice, enum overlapped_failure, OVERLAPPED_FAILURES, overlapped_failure_name)
ENUM_CHOICE(corpus_choice, enum corpus_kind, CORPUS_KINDS, corpus_kind_name)
ENUM_CHOICE(schedule_choice, enum schedule_kind, SCHEDULE_KINDS, schedule_name)
ENUM_CHOICE(outer_choice, enum outer_kind, OUTER_KINDS, outer_name)
LIST_CHOICE(optimizer_choice, optimizer_count(), optimizer_name)
LIST_CHOICE(strategy_choice, strategy_count(), strategy_name)

static const char *preset_choice(int32_t index) {
    return llama_preset_name(index);
}

static const char *fidelity_choice(int32_t index) {
    switch ((enum fidelity)index) {
    case FIDELITY_AUTO:
        return "auto";
    case FIDELITY_STEP:
        return "step";
    case FIDELITY_FLUID:
        return "fluid";
    }
    return NULL;
}

static const char *backend_choice(int32_t index) {
    if (index == 0) return "auto";
    return index <= backend_count() ? backend_name(backend_at(index - 1)) : NULL;
}

/* ---- when a key has an effect ---- */

static bool step_is_derived(const struct sim_def *def) {
    return def->cluster.compute.step_ns == 0;
}
static bool is_synthetic(const struct sim_def *def) {
    return def->data.corpus == CORPUS_SYNTHETIC;
}
static bool has_minimum(const struct sim_def *def) {
    return def->train.schedule != SCHEDULE_CONSTANT;
}
static bool is_wsd(const struct sim_def *def) {
    return def->train.schedule == SCHEDULE_WSD;
}
static bool is_adamw(const struct sim_def *def) {
    return strcmp(def->train.optimizer.name, "adamw") == 0;
}
static bool has_outer(const struct sim_def *def) {
    return program_uses(&def->strategy.program, OP_OUTER);
}
static bool has_outer_momentum(const struct sim_def *def) {
    return has_outer(def) && def->outer.kind != OUTER_SGD;
}
static bool has_subset(const struct sim_def *def) {
    return program_uses_subset(&def->strategy.program);
}

/* ---- the table ---- */

#define AT(field)         .offset = offsetof(struct sim_def, field)
#define CHARS(field)      AT(field), .size = sizeof(((struct sim_def *)0)->field)
#define FROM(low, high)   .minimum = (low), .maximum = (high)
#define ABOVE(low, high)  .minimum = (low), .maximum = (high), .above_minimum = true
#define WORD(text, value) .word = (text), .word_value = (value)
#define SEED_MAX          9e18      /* room for seeds counted up from it */
#define CENTURY_NS        3.1536e18 /* a hundred years: sums of times stay far from int64's end */
#define PLANNED(name)                                                                                                  \
    { .path = (name), .kind = KEY_UNSUPPORTED }

/* clang-format off */
static const struct key keys[] = {
    {.path = "name", .kind = KEY_TEXT, CHARS(name),
     .help = "What the scenario is called in tables and figures; the file's name if absent."},

    {.path = "cluster.workers", .kind = KEY_INTEGER, AT(cluster.workers), FROM(1, 1e6),
     .help = "M: how many workers train together."},
    {.path = "cluster.link.bandwidth", .kind = KEY_BANDWIDTH, .alias = true,
     .replaces = "cluster.link.up cluster.link.down",
     .help = "Capacity of each worker's link, both ways (full duplex)."},
    {.path = "cluster.link.up", .kind = KEY_RATE, AT(cluster.up_bps), .replaces = "cluster.link.bandwidth",
     .help = "Capacity from a worker to the network."},
    {.path = "cluster.link.down", .kind = KEY_RATE, AT(cluster.down_bps), .replaces = "cluster.link.bandwidth",
     .help = "Capacity from the network to a worker."},
    {.path = "cluster.link.latency", .kind = KEY_DURATION, AT(cluster.latency_ns), FROM(0, CENTURY_NS),
     .help = "Time every message spends on the way before its first byte arrives."},
    {.path = "cluster.compute.step", .kind = KEY_DURATION, AT(cluster.compute.step_ns), FROM(1, CENTURY_NS),
     WORD("derived", 0), .replaces = "cluster.compute.peak cluster.compute.mfu cluster.compute.tokens",
     .help = "Virtual time of one inner step; `derived` = from peak, mfu and tokens."},
    {.path = "cluster.compute.peak", .kind = KEY_FLOPS, AT(cluster.compute.peak_flops), FROM(1, 1e21), WORD("none", 0),
     .replaces = "cluster.compute.step", .applies = step_is_derived, .needs = "no cluster.compute.step",
     .help = "Peak arithmetic of a worker; a step takes 6 · payload parameters · tokens / (peak · mfu)."},
    {.path = "cluster.compute.mfu", .kind = KEY_FRACTION, AT(cluster.compute.mfu), FROM(0, 1),
     .applies = step_is_derived, .needs = "cluster.compute.peak",
     .help = "Model FLOP utilization: the share of the peak that is reached."},
    {.path = "cluster.compute.tokens", .kind = KEY_COUNT, AT(cluster.compute.tokens), FROM(1, 1e15), WORD("batch", 0),
     .applies = step_is_derived, .needs = "cluster.compute.peak",
     .help = "Tokens per step and worker at the payload's scale; `batch` = those of the trained model."},
    {.path = "cluster.failures.exchange", .kind = KEY_FRACTION, AT(cluster.failures.exchange), FROM(0, 1),
     .help = "Probability that one communication attempt fails."},
    {.path = "cluster.failures.per", .kind = KEY_ENUM, AT(cluster.failures.per), .choice = failure_unit_choice,
     .help = "What that probability counts: each worker's part, each transfer, or each synchronisation."},
    {.path = "cluster.failures.detect", .kind = KEY_FRACTION, AT(cluster.failures.detect), FROM(0, 1),
     .help = "When a failed attempt is noticed, as a fraction of its duration."},
    {.path = "cluster.failures.overlapped", .kind = KEY_ENUM, AT(cluster.failures.overlapped),
     .choice = overlapped_choice,
     .help = "A failed overlapped mix: retry while computation hides it, skip it, or wait for it."},
    {.path = "cluster.failures.max_attempts", .kind = KEY_INTEGER, AT(cluster.failures.max_attempts), FROM(1, 1e9),
     .help = "Attempts of a blocking collective after which the run fails."},
    {.path = "cluster.collective", .kind = KEY_ENUM, AT(cluster.collective), .choice = collective_choice,
     .help = "How a global mean travels."},
    {.path = "cluster.fidelity", .kind = KEY_ENUM, AT(cluster.fidelity), .choice = fidelity_choice,
     .help = "Every message as a flow (step), one flow per worker (fluid), or fluid where both agree (auto)."},

    {.path = "payload.parameters", .kind = KEY_COUNT, AT(payload.parameters), FROM(1, 1e15), WORD("model", 0),
     .help = "Parameters of the model whose size travels; `model` = the trained one."},
    {.path = "payload.dtype", .kind = KEY_ENUM, AT(payload.dtype), .choice = dtype_choice,
     .help = "Number format on the wire."},
    {.path = "payload.subset", .kind = KEY_FRACTION, AT(payload.subset), FROM(0, 1), WORD("model", -1),
     .applies = has_subset, .needs = "a strategy that mixes a subset",
     .help = "Fraction of the payload that a subset carries; `model` = as in the trained model."},

    {.path = "model.preset", .kind = KEY_PRESET, .choice = preset_choice, .alias = true,
     .help = "Sizes of a known model; the other keys of the section change single ones."},
    {.path = "model.dim", .kind = KEY_INTEGER, AT(model.dim), FROM(1, 1e6), .help = "Width of the residual stream."},
    {.path = "model.layers", .kind = KEY_INTEGER, AT(model.layers), FROM(1, 1e4), .help = "Decoder layers."},
    {.path = "model.heads", .kind = KEY_INTEGER, AT(model.heads), FROM(1, 1e5), .help = "Query heads."},
    {.path = "model.kv_heads", .kind = KEY_INTEGER, AT(model.kv_heads), FROM(1, 1e5), .help = "Key and value heads."},
    {.path = "model.ffn", .kind = KEY_INTEGER, AT(model.ffn), FROM(1, 1e7),
     .help = "Width of the SwiGLU hidden layer."},
    {.path = "model.vocab", .kind = KEY_INTEGER, AT(model.vocab), FROM(1, 1e8), .help = "Vocabulary."},
    {.path = "model.context", .kind = KEY_INTEGER, AT(model.context), FROM(1, 1e7),
     .help = "Tokens of a training sequence."},
    {.path = "model.rope_theta", .kind = KEY_NUMBER, AT(model.rope_theta), ABOVE(0, 1e12),
     .help = "Base of the rotary position embedding."},
    {.path = "model.norm_epsilon", .kind = KEY_NUMBER, AT(model.norm_epsilon), FROM(0, 1),
     .help = "Epsilon of RMSNorm."},
    {.path = "model.tied", .kind = KEY_BOOLEAN, AT(model.tied), .help = "The LM head is the embedding."},

    {.path = "data.corpus", .kind = KEY_ENUM, AT(data.corpus), .choice = corpus_choice,
     .replaces = "data.text data.shards", .help = "Where tokens come from; text and shards need their key below."},
    {.path = "data.text", .kind = KEY_FILE, CHARS(data.path), .replaces = "data.corpus data.shards",
     .help = "A UTF-8 file, read as bytes. From the scenario's folder; with --set, from the current one."},
    {.path = "data.shards", .kind = KEY_FILE, CHARS(data.path), .replaces = "data.corpus data.text",
     .help = "Token shards (.bin), as a pattern with * and ?. From the scenario's folder, as above."},
    {.path = "data.tokens", .kind = KEY_COUNT, AT(data.tokens), FROM(1, 1e12), .applies = is_synthetic,
     .needs = "corpus: synthetic", .help = "Length of the synthetic corpus."},
    {.path = "data.source_seed", .kind = KEY_SEED, AT(data.source_seed), FROM(0, SEED_MAX), .applies = is_synthetic,
     .needs = "corpus: synthetic", .help = "Which synthetic language; apart from seed, so that seeds share a task."},
    {.path = "data.validation", .kind = KEY_FRACTION, AT(data.validation), ABOVE(0, 1), .replaces = "data.split",
     .help = "Fraction of the corpus held out."},
    {.path = "data.split", .kind = KEY_FRACTION, AT(data.validation), ABOVE(0, 1), .replaces = "data.validation",
     .alias = true, .help = "Another name for data.validation."},
    {.path = "data.non_iid", .kind = KEY_NUMBER, AT(data.non_iid_alpha), FROM(1e-3, 1e6), WORD("off", 0),
     .help = "Dirichlet alpha of the workers' shares of topics; the smaller, the more different the workers."},

    {.path = "train.tokens", .kind = KEY_COUNT, AT(train.tokens), FROM(1, 1e15), WORD("rounds", 0),
     .replaces = "train.rounds",
     .help = "Training tokens, all workers together; `rounds` = as many as the rounds take."},
    {.path = "train.rounds", .kind = KEY_INTEGER, AT(train.rounds), FROM(1, 1e9), WORD("tokens", 0),
     .replaces = "train.tokens", .help = "Rounds, instead of tokens; `tokens` = as many as the tokens give."},
    {.path = "train.batch", .kind = KEY_INTEGER, AT(train.batch), FROM(1, 1e6),
     .help = "Sequences per worker and micro-batch."},
    {.path = "train.accumulation", .kind = KEY_INTEGER, AT(train.accumulation), FROM(1, 1e6),
     .help = "Micro-batches per inner step."},
    {.path = "train.optimizer.name", .kind = KEY_NAME, CHARS(train.optimizer.name), .choice = optimizer_choice,
     .help = "Inner optimiser."},
    {.path = "train.optimizer.lr", .kind = KEY_NUMBER, AT(train.optimizer.learning_rate), FROM(0, 1e6),
     .help = "Peak learning rate."},
    {.path = "train.optimizer.betas", .kind = KEY_BETAS, AT(train.optimizer.beta1), .applies = is_adamw,
     .needs = "optimizer adamw", .help = "Decay of the two moments."},
    {.path = "train.optimizer.epsilon", .kind = KEY_NUMBER, AT(train.optimizer.epsilon), FROM(0, 1),
     .applies = is_adamw, .needs = "optimizer adamw", .help = "Added to the root of the second moment."},
    {.path = "train.optimizer.weight_decay", .kind = KEY_NUMBER, AT(train.optimizer.weight_decay), FROM(0, 1e3),
     .help = "Decoupled weight decay; not on norms."},
    {.path = "train.schedule", .kind = KEY_ENUM, AT(train.schedule), .choice = schedule_choice,
     .help = "Learning rate over the run; wsd = warm-up, stable, linear decay."},
    {.path = "train.warmup", .kind = KEY_COUNT, AT(train.warmup), FROM(0, 1e15),
     .help = "Inner steps of linear warm-up."},
    {.path = "train.minimum", .kind = KEY_FRACTION, AT(train.minimum), FROM(0, 1), .applies = has_minimum,
     .needs = "schedule cosine or wsd", .help = "Final learning rate as a fraction of the peak."},
    {.path = "train.decay", .kind = KEY_FRACTION, AT(train.decay), FROM(0, 1), .applies = is_wsd,
     .needs = "schedule wsd", .help = "Fraction of all steps in the final decay."},
    {.path = "train.clip", .kind = KEY_NUMBER, AT(train.clip), FROM(0, 1e9), WORD("off", 0),
     .help = "Largest global gradient norm."},

    {.path = "strategy.name", .kind = KEY_STRATEGY, CHARS(strategy.name), .choice = strategy_choice,
     .replaces = "strategy.program", .help = "A named strategy, or with a program, what to call it."},
    {.path = "strategy.program", .kind = KEY_PROGRAM, AT(strategy.program), .replaces = "strategy.name",
     .help = "The operations of one round, written out; see `thinwire list`."},
    {.path = "strategy.inner_steps", .kind = KEY_INTEGER, AT(strategy.inner_steps), FROM(1, 1e9),
     .help = "H: inner steps of a round."},
    {.path = "strategy.subset", .kind = KEY_SUBSET, AT(strategy.subset), .applies = has_subset,
     .needs = "a strategy that mixes a subset",
     .help = "Blocks that a subset mix carries: embedding, head, layer0, layer1.attention, norms, ..."},

    {.path = "outer.name", .kind = KEY_ENUM, AT(outer.kind), .choice = outer_choice, .applies = has_outer,
     .needs = "a strategy with an outer step", .help = "Outer optimiser."},
    {.path = "outer.lr", .kind = KEY_NUMBER, AT(outer.learning_rate), FROM(0, 1e6), .applies = has_outer,
     .needs = "a strategy with an outer step", .help = "Outer learning rate, alpha."},
    {.path = "outer.momentum", .kind = KEY_NUMBER, AT(outer.momentum), FROM(0, 1), .applies = has_outer_momentum,
     .needs = "outer nesterov or heavy_ball, and a strategy with an outer step", .help = "Outer momentum, beta."},

    {.path = "evaluate.every", .kind = KEY_INTEGER, AT(evaluate.every), FROM(1, 1e9), WORD("last", 0),
     .help = "Rounds between evaluations; the last round always is; `last` = only that."},
    {.path = "evaluate.tokens", .kind = KEY_COUNT, AT(evaluate.tokens), FROM(1, 1e12),
     .help = "Validation tokens for the perplexities."},
    {.path = "evaluate.js_tokens", .kind = KEY_COUNT, AT(evaluate.js_tokens), FROM(1, 1e9), WORD("off", 0),
     .help = "Tokens of the held-out batch for the Jensen-Shannon distance."},

    {.path = "seed", .kind = KEY_SEED, AT(seed), FROM(0, SEED_MAX),
     .help = "Seed of everything random; with seeds, the first."},
    {.path = "seeds", .kind = KEY_SEEDS, FROM(1, 1e6), .alias = true,
     .help = "How many seeds to play: seed, seed + 1, ..."},
    {.path = "backend", .kind = KEY_NAME, CHARS(backend), .choice = backend_choice,
     .help = "Which implementation computes; auto = the best that works here."},

    PLANNED("cluster.regions"), PLANNED("cluster.trace"), PLANNED("cluster.jitter"), PLANNED("cluster.stragglers"),
    PLANNED("cluster.outages"), PLANNED("cluster.crashes"), PLANNED("cluster.link.regions"),
    PLANNED("cluster.link.trunk"), PLANNED("cluster.link.trunks"), PLANNED("cluster.link.trace"),
    PLANNED("cluster.link.loss"), PLANNED("cluster.link.efficiency"), PLANNED("cluster.compute.measured"),
    PLANNED("cluster.compute.jitter"), PLANNED("cluster.compute.stragglers"), PLANNED("cluster.failures.outages"),
    PLANNED("cluster.failures.crashes"), PLANNED("train.optimizer.rank"), PLANNED("train.optimizer.omega"),
    PLANNED("train.optimizer.mu"), PLANNED("train.optimizer.projection"), PLANNED("train.optimizer.error_feedback"),
    PLANNED("train.optimizer.rotate"), PLANNED("train.optimizer.lift"), PLANNED("strategy.W1"),
    PLANNED("strategy.W2"), PLANNED("strategy.failures"),
};
/* clang-format on */

#define KEYS ((int32_t)(sizeof keys / sizeof keys[0]))

int32_t key_count(void) {
    return KEYS;
}

const struct key *key_at(int32_t index) {
    return &keys[index];
}

int32_t key_find(const char *path) {
    for (int32_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].path, path) == 0) return i;
    return -1;
}

bool key_lies_in(const char *path, const char *section, size_t length) {
    return length == 0 || (strncmp(path, section, length) == 0 && path[length] == '.');
}

bool key_is_section(const char *path) {
    for (int32_t i = 0; i < KEYS; i++)
        if (key_lies_in(keys[i].path, path, strlen(path))) return true;
    return false;
}

bool key_in_list(const char *path, const char *list) {
    while (list && *list) {
        size_t length = strcspn(list, " ");
        if ((strncmp(path, list, length) == 0 && path[length] == '\0') || key_lies_in(path, list, length)) return true;
        list += length;
        list += strspn(list, " ");
    }
    return false;
}
