/* Windows of a corpus: which are held out, whose are the others, in which order.
 *
 * The corpus is cut into windows of length + 1 tokens, piece by piece. Every period-th window is held out. The others
 * are dealt in turn (or, non-IID, by region), so no two workers share one. Orders are keyed permutations computed on
 * the fly: a batch needs no state.
 */
#include "data.h"

#include "synthetic.h"
#include "tokens.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REGIONS = 64 };

struct data {
    struct data_def def;
    int32_t workers, length, vocab;
    uint64_t seed;
    struct tokens tokens;
    struct synthetic *source; /* NULL where the language is unknown */
    int64_t windows;
    int64_t *first_window; /* [pieces + 1] window number at which each piece starts */
    int64_t period;        /* window i is held out when i % period == period - 1 */
    int64_t held_out, training;
    int64_t per_worker;   /* IID: windows of each */
    int64_t *dealt;       /* non-IID: training windows sorted by worker; NULL otherwise */
    int64_t *dealt_first; /* [workers + 1] */
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
    if (!(def->validation > 0 && def->validation <= 0.5))
        return error_set(error, STATUS_INPUT, "data.validation is %g; over 0 and at most 0.5 is needed",
                         def->validation);
    if (!(def->non_iid_alpha >= 0 && def->non_iid_alpha <= 1e6))
        return error_set(error, STATUS_INPUT, "data.non_iid is %g; 0 (alike) or a positive concentration is needed",
                         def->non_iid_alpha);
    return STATUS_OK;
}

int32_t data_vocab(const struct data_def *def) {
    return def->corpus == CORPUS_SHARDS ? 0 : 256;
}

/* ---- keyed permutations ---- */

static uint64_t scramble(uint64_t x) { /* Stafford's mix 13 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* A permutation of 0 .. count - 1 by a balanced Feistel network of four rounds, walking past what lies outside. */
static int64_t permute(uint64_t key, int64_t count, int64_t index) {
    int half = 1;
    while ((INT64_C(1) << (2 * half)) < count) half++;
    uint64_t mask = (UINT64_C(1) << half) - 1, x = (uint64_t)index;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t mixed = left ^ (scramble(right ^ scramble(key + round)) & mask);
            left = right;
            right = mixed;
        }
        x = left << half | right;
    } while (x >= (uint64_t)count);
    return (int64_t)x;
}

static uint64_t order_key(uint64_t seed, uint32_t epoch, uint32_t worker) {
    struct rng rng = rng_stream(seed, RNG_DATA_ORDER, epoch, worker);
    return rng_u64(&rng);
}

/* ---- windows ---- */

/* The number of the index-th training (or held-out) window. */
static int64_t training_window(const struct data *data, int64_t index) {
    return index / (data->period - 1) * data->period + index % (data->period - 1);
}
static int64_t held_out_window(const struct data *data, int64_t index) {
    return (index + 1) * data->period - 1;
}

/* Window `window`: tokens [length] and targets [length], the same shifted by one. */
static void read_window(const struct data *data, int64_t window, int32_t *tokens, int32_t *targets) {
    int32_t piece = 0;
    while (data->first_window[piece + 1] <= window) piece++;
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
    data->windows = data->first_window[data->tokens.piece_count];
    data->period = (int64_t)llround(1 / data->def.validation);
    data->held_out = data->windows / data->period;
    data->training = data->windows - data->held_out;
    data->per_worker = data->training / data->workers;
    const char *name = data->def.corpus == CORPUS_SYNTHETIC ? "synthetic corpus" : data->def.path;
    if (data->held_out < 1 || data->per_worker < 1)
        return error_at(error, STATUS_INPUT, name, 0, 0,
                        "%lld windows of %d tokens are too few for %d workers and a held-out share of %g; more text or "
                        "a shorter context is needed",
                        (long long)data->windows, data->length + 1, data->workers, data->def.validation);
    return STATUS_OK;
}

/* ---- dealing by region: Dirichlet shares ---- */

/* share[worker][region], each region's column summing to 1. */
static void draw_shares(const struct data *data, double (*share)[REGIONS]) {
    for (int32_t m = 0; m < data->workers; m++) {
        struct rng rng = rng_stream(data->seed, RNG_DATA_SPLIT, 0, (uint32_t)m);
        for (int r = 0; r < REGIONS; r++) share[m][r] = rng_gamma(&rng, data->def.non_iid_alpha) + 1e-9;
    }
    for (int r = 0; r < REGIONS; r++) {
        double sum = 0;
        for (int32_t m = 0; m < data->workers; m++) sum += share[m][r];
        for (int32_t m = 0; m < data->workers; m++) share[m][r] /= sum;
    }
}

/* Region r is a stretch of the corpus; worker m gets the piece of it between the running sums of shares. */
static void region_stretch(const struct data *data, double (*share)[REGIONS], int r, int32_t worker, int64_t *first,
                           int64_t *end) {
    int64_t low = data->training * r / REGIONS, high = data->training * (r + 1) / REGIONS;
    double before = 0;
    for (int32_t m = 0; m < worker; m++) before += share[m][r];
    *first = low + (int64_t)floor(before * (double)(high - low));
    *end =
        worker + 1 == data->workers ? high : low + (int64_t)floor((before + share[worker][r]) * (double)(high - low));
}

static enum status deal_by_region(struct data *data, struct error *error) {
    double(*share)[REGIONS] = alloc_zero((size_t)data->workers, sizeof *share, "data shares", error);
    data->dealt = alloc_zero((size_t)data->training, sizeof *data->dealt, "data shares", error);
    data->dealt_first = alloc_zero((size_t)data->workers + 1, sizeof *data->dealt_first, "data shares", error);
    if (!share || !data->dealt || !data->dealt_first) {
        alloc_free(share);
        return STATUS_MEMORY;
    }
    draw_shares(data, share);
    int64_t next = 0;
    int32_t starving = -1;
    for (int32_t m = 0; m < data->workers; m++) {
        data->dealt_first[m] = next;
        for (int r = 0; r < REGIONS; r++) {
            int64_t first, end;
            region_stretch(data, share, r, m, &first, &end);
            for (int64_t i = first; i < end; i++) data->dealt[next++] = i;
        }
        if (next == data->dealt_first[m]) starving = m;
    }
    data->dealt_first[data->workers] = next;
    alloc_free(share);
    if (starving < 0) return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "data.non_iid %g leaves worker %d without a window; a larger value or more text is needed",
                     data->def.non_iid_alpha, starving);
}

int64_t data_worker_windows(const struct data *data, int32_t worker) {
    return data->dealt ? data->dealt_first[worker + 1] - data->dealt_first[worker] : data->per_worker;
}

int64_t data_unused_windows(const struct data *data) {
    return data->dealt ? data->training - data->dealt_first[data->workers]
                       : data->training - data->per_worker * data->workers;
}

int64_t data_validation_windows(const struct data *data) {
    return data->held_out;
}

int64_t data_window_id(const struct data *data, int32_t worker, int64_t sequence) {
    int64_t count = data_worker_windows(data, worker), epoch = sequence / count;
    int64_t index = permute(order_key(data->seed, (uint32_t)epoch, (uint32_t)worker), count, sequence % count);
    return training_window(data, data->dealt ? data->dealt[data->dealt_first[worker] + index]
                                             : index * data->workers + worker);
}

/* The same for every seed and number of workers. */
int64_t data_validation_window_id(const struct data *data, int64_t index) {
    return held_out_window(data, permute(0, data->held_out, index % data->held_out));
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
        sum += synthetic_surprise(data->source, text + data_validation_window_id(data, i) * (data->length + 1),
                                  data->length + 1);
    return sum / ((double)windows * data->length);
}

/* ---- opening ---- */

static enum status write_synthetic(struct data *data, struct error *error) {
    data->source = synthetic_create(data->def.source_seed, error);
    uint8_t *text = data->source ? alloc_zero((size_t)data->def.tokens, 1, "synthetic corpus", error) : NULL;
    if (!text) return STATUS_MEMORY;
    synthetic_write(data->source, text, data->def.tokens);
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

/* Content and division. Of large files a sample: the first MiB, the last, and one every 64 MiB. */
static enum status identify(struct data *data, struct error *error) {
    enum { SAMPLE = 1 << 20 };
    struct hash *hash = hash_create(error);
    if (!hash) return STATUS_MEMORY;
    hash_i64(hash, data->length);
    hash_i64(hash, data->period);
    hash_f64(hash, data->def.non_iid_alpha);
    for (int32_t i = 0; i < data->tokens.piece_count; i++) {
        const char *bytes = data->tokens.pieces[i].first;
        size_t size = (size_t)data->tokens.pieces[i].count * (size_t)data->tokens.width;
        hash_i64(hash, (int64_t)size);
        for (size_t at = 0; at < size; at += size <= (64u << 20) ? SAMPLE : 64u << 20)
            hash_bytes(hash, bytes + at, size - at < SAMPLE ? size - at : SAMPLE);
        if (size > SAMPLE) hash_bytes(hash, bytes + size - SAMPLE, SAMPLE);
    }
    hash_hex(hash, data->identity);
    hash_free(hash);
    return STATUS_OK;
}

struct data *data_create(const struct data_def *def, int32_t workers, int32_t length, int32_t vocab, uint64_t seed,
                         struct error *error) {
    if (data_check(def, error) != STATUS_OK) return NULL;
    struct data *data = alloc_zero(1, sizeof *data, "data", error);
    if (!data) return NULL;
    data->def = *def;
    data->workers = workers;
    data->length = length;
    data->vocab = vocab;
    data->seed = seed;
    enum status status = open_tokens(data, error);
    if (status == STATUS_OK) status = cut_windows(data, error);
    if (status == STATUS_OK && def->non_iid_alpha > 0) status = deal_by_region(data, error);
    if (status == STATUS_OK) status = identify(data, error);
    if (status == STATUS_OK) return data;
    data_free(data);
    return NULL;
}

void data_free(struct data *data) {
    if (!data) return;
    tokens_close(&data->tokens);
    synthetic_free(data->source);
    alloc_free(data->first_window);
    alloc_free(data->dealt);
    alloc_free(data->dealt_first);
    alloc_free(data);
}

const char *data_identity(const struct data *data) {
    return data->identity;
}
