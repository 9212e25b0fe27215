/* From a corpus to batches.
 *
 * The corpus is cut into windows of length + 1 tokens, piece by piece. windows.c says which are held out, and the
 * others are dealt in turn (or, non-IID, by deal.c), so no two workers share one. Orders are keyed permutations
 * computed on the fly: a batch needs no state, and threads may ask for batches of one `struct data` together.
 */
#include "data.h"

#include "deal.h"
#include "filter.h"
#include "synthetic.h"
#include "tokens.h"
#include "windows.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct data {
    struct data_def def;
    int32_t workers, length, vocab;
    uint64_t seed;
    struct tokens tokens;
    struct synthetic *source; /* NULL where the language is unknown */
    struct filter *filter;    /* of the source */
    uint8_t *topics;          /* [windows] topic in the middle of each; NULL unless the source is known and non-IID */
    int64_t *first_window;    /* [pieces + 1] window number at which each piece starts */
    struct windows windows;
    int64_t per_worker; /* IID: windows of each */
    struct deal deal;   /* non-IID: indices of training windows; order is NULL otherwise */
    char identity[HASH_HEX_SIZE];
};

static const char *const kind_names[CORPUS_KINDS] = {"synthetic", "text", "shards"};
const char *corpus_kind_name(enum corpus_kind kind) {
    return kind_names[kind];
}

struct data_def data_default(void) {
    return (struct data_def){.corpus = CORPUS_SYNTHETIC, .tokens = 4000000, .source_seed = 1, .validation = 0.05};
}

enum status data_check(const struct data_def *def, struct error *error) {
    if (def->corpus != CORPUS_SYNTHETIC && def->path[0] == '\0')
        return error_set(error, STATUS_INPUT, "data.%s is empty; a %s is needed", corpus_kind_name(def->corpus),
                         def->corpus == CORPUS_TEXT ? "file" : "glob pattern");
    if (def->corpus == CORPUS_SYNTHETIC && (def->tokens < 1000 || def->tokens > INT64_C(10000000000)))
        return error_set(error, STATUS_INPUT, "data.tokens is %lld; 1k to 10B is needed", (long long)def->tokens);
    if (!(def->validation > 0 && def->validation < 1))
        return error_set(error, STATUS_INPUT, "data.validation is %g; over 0 and below 1 is needed", def->validation);
    if (!(def->non_iid_alpha >= 0 && def->non_iid_alpha <= 1e6))
        return error_set(error, STATUS_INPUT, "data.non_iid is %g; 0 (alike) or a positive concentration is needed",
                         def->non_iid_alpha);
    return STATUS_OK;
}

int32_t data_vocab(const struct data_def *def) {
    return def->corpus == CORPUS_SHARDS ? 0 : 256;
}

/* ---- windows ---- */

/* The piece that holds a window: the last that starts at or before it and is not empty. */
static int32_t piece_of(const struct data *data, int64_t window) {
    int32_t low = 0, high = data->tokens.piece_count - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (data->first_window[middle + 1] > window)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Window `window`: tokens [length] and targets [length], the same shifted by one. */
static void read_window(const struct data *data, int64_t window, int32_t *tokens, int32_t *targets) {
    int32_t piece = piece_of(data, window);
    int64_t at = (window - data->first_window[piece]) * (data->length + 1);
    for (int32_t i = 0; i < data->length; i++) {
        tokens[i] = tokens_get(&data->tokens, &data->tokens.pieces[piece], at + i);
        targets[i] = tokens_get(&data->tokens, &data->tokens.pieces[piece], at + i + 1);
    }
}

static enum status cut_windows(struct data *data, struct error *error) {
    data->first_window = alloc_zero((size_t)data->tokens.piece_count + 1, sizeof *data->first_window, "windows", error);
    if (!data->first_window) return STATUS_MEMORY;
    for (int32_t i = 0; i < data->tokens.piece_count; i++)
        data->first_window[i + 1] = data->first_window[i] + data->tokens.pieces[i].count / (data->length + 1);
    data->windows = windows_divide(data->first_window[data->tokens.piece_count], data->def.validation);
    data->per_worker = data->windows.training / data->workers;
    const char *name = data->def.corpus == CORPUS_SYNTHETIC ? "synthetic corpus" : data->def.path;
    if (data->windows.held_out < 1 || data->per_worker < 1)
        return error_at(error, STATUS_INPUT, name, 0, 0,
                        "%lld windows of %d tokens are too few for %d workers and a held-out share of %g; more text or "
                        "a shorter context is needed",
                        (long long)data->windows.count, data->length + 1, data->workers, data->def.validation);
    return STATUS_OK;
}

/* By topic where there are topics, else by stretches of the corpus. */
static enum status deal_by_group(struct data *data, struct error *error) {
    const struct windows *windows = &data->windows;
    uint8_t *group = alloc_zero((size_t)windows->training, 1, "data shares", error);
    if (!group) return STATUS_MEMORY;
    for (int64_t i = 0; i < windows->training; i++)
        group[i] = data->topics ? data->topics[windows_training(windows, i)]
                                : (uint8_t)(i / ((windows->training - 1) / DEAL_MOST_GROUPS + 1));
    int32_t groups = data->topics ? SYNTHETIC_TOPICS : DEAL_MOST_GROUPS;
    enum status status = deal_out(&data->deal, group, groups, windows->training, data->workers, data->def.non_iid_alpha,
                                  data->seed, error);
    alloc_free(group);
    return status;
}

int64_t data_worker_windows(const struct data *data, int32_t worker) {
    return data->deal.order ? data->deal.first[worker + 1] - data->deal.first[worker] : data->per_worker;
}

int64_t data_unused_windows(const struct data *data) {
    return data->deal.order ? 0 : data->windows.training - data->per_worker * data->workers;
}

int64_t data_validation_windows(const struct data *data) {
    return data->windows.held_out;
}

static uint64_t order_key(uint64_t seed, uint32_t epoch, uint32_t worker) {
    struct rng rng = rng_stream(seed, RNG_DATA_ORDER, epoch, worker);
    return rng_u64(&rng);
}

int64_t data_window_id(const struct data *data, int32_t worker, int64_t sequence) {
    int64_t count = data_worker_windows(data, worker), epoch = sequence / count;
    uint64_t key = order_key(data->seed, (uint32_t)epoch, (uint32_t)worker);
    int64_t index = windows_permute(key, count, sequence % count);
    index = data->deal.order ? data->deal.order[data->deal.first[worker] + index] : index * data->workers + worker;
    return windows_training(&data->windows, index);
}

/* The same for every seed and number of workers. */
int64_t data_validation_window_id(const struct data *data, int64_t index) {
    int64_t count = data->windows.held_out;
    return windows_held_out(&data->windows, windows_permute(0, count, index % count));
}

/* ---- batches ---- */

void data_batch(const struct data *data, int32_t worker, int64_t step, int32_t per_step, int32_t first,
                int32_t sequences, int32_t *tokens, int32_t *targets) {
    assert(worker >= 0 && worker < data->workers);
    for (int32_t i = 0; i < sequences; i++) {
        int64_t window = data_window_id(data, worker, step * per_step + first + i);
        read_window(data, window, tokens + (int64_t)i * data->length, targets + (int64_t)i * data->length);
    }
}

void data_validation_batch(const struct data *data, int64_t first, int32_t sequences, int32_t *tokens,
                           int32_t *targets) {
    for (int32_t i = 0; i < sequences; i++)
        read_window(data, data_validation_window_id(data, first + i), tokens + (int64_t)i * data->length,
                    targets + (int64_t)i * data->length);
}

double data_entropy_floor(const struct data *data, int64_t windows) {
    if (!data->source || windows < 1) return NAN;
    double sum = 0;
    const uint8_t *text = data->tokens.pieces[0].first;
    for (int64_t i = 0; i < windows; i++)
        sum += filter_surprise(data->filter, text + data_validation_window_id(data, i) * (data->length + 1),
                               data->length + 1);
    return sum / ((double)windows * data->length);
}

/* ---- opening ---- */

static enum status write_synthetic(struct data *data, struct error *error) {
    data->source = synthetic_create(data->def.source_seed, error);
    data->filter = data->source ? filter_create(data->source, error) : NULL;
    if (!data->filter) return STATUS_MEMORY;
    int64_t window = data->length + 1;
    if (data->def.non_iid_alpha > 0) {
        data->topics = alloc_zero((size_t)(data->def.tokens / window), 1, "topics", error);
        if (!data->topics) return STATUS_MEMORY;
    }
    uint8_t *text = alloc_zero((size_t)data->def.tokens, 1, "synthetic corpus", error);
    if (!text) return STATUS_MEMORY;
    synthetic_write(data->source, text, data->def.tokens, data->topics, window);
    return tokens_take(&data->tokens, text, data->def.tokens, error);
}

static enum status open_tokens(struct data *data, struct error *error) {
    if (data_vocab(&data->def) > data->vocab)
        return error_set(error, STATUS_INPUT, "model.vocab is %d; the %s corpus needs %d", data->vocab,
                         corpus_kind_name(data->def.corpus), data_vocab(&data->def));
    switch (data->def.corpus) {
    case CORPUS_SYNTHETIC:
        return write_synthetic(data, error);
    case CORPUS_TEXT:
        return tokens_open_text(&data->tokens, data->def.path, error);
    case CORPUS_SHARDS:
        return tokens_open_shards(&data->tokens, data->def.path, data->vocab, error);
    case CORPUS_KINDS:
        break;
    }
    return STATUS_INPUT;
}

/* All of the content (one pass at the speed of reading) and how it is divided. */
static enum status identify(struct data *data, struct error *error) {
    struct hash *hash = hash_create(error);
    if (!hash) return STATUS_MEMORY;
    hash_i64(hash, data->length);
    hash_i64(hash, data->windows.share);
    hash_f64(hash, data->def.non_iid_alpha);
    for (int32_t i = 0; i < data->tokens.piece_count; i++)
        hash_bytes(hash, data->tokens.pieces[i].first,
                   (size_t)data->tokens.pieces[i].count * (size_t)data->tokens.width);
    hash_hex(hash, data->identity);
    hash_free(hash);
    return STATUS_OK;
}

struct data *data_create(const struct data_def *def, int32_t workers, int32_t length, int32_t vocab, uint64_t seed,
                         struct error *error) {
    if (data_check(def, error) != STATUS_OK) return NULL;
    assert(workers >= 1 && length >= 1 && vocab >= 1);
    struct data *data = alloc_zero(1, sizeof *data, "data", error);
    if (!data) return NULL;
    data->def = *def;
    data->workers = workers;
    data->length = length;
    data->vocab = vocab;
    data->seed = seed;
    enum status status = open_tokens(data, error);
    if (status == STATUS_OK) status = cut_windows(data, error);
    if (status == STATUS_OK && def->non_iid_alpha > 0) status = deal_by_group(data, error);
    if (status == STATUS_OK) status = identify(data, error);
    if (status == STATUS_OK) return data;
    data_free(data);
    return NULL;
}

void data_free(struct data *data) {
    if (!data) return;
    tokens_close(&data->tokens);
    filter_free(data->filter);
    synthetic_free(data->source);
    alloc_free(data->topics);
    alloc_free(data->first_window);
    deal_clear(&data->deal);
    alloc_free(data);
}

const char *data_identity(const struct data *data) {
    return data->identity;
}
