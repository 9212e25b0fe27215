/* data: tokens for training and validation. Three sources (a seeded synthetic language with a known entropy floor, a
 * UTF-8 file read as bytes, token shards in .bin files), cut into windows and dealt to workers.
 *
 * A batch is a pure function of (worker, step): there is no position to lose, workers never share a training window,
 * and no validation window (its targets included) overlaps training. Knows nothing of models or time.
 */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include "base/error.h"

#include <stdbool.h>

enum corpus_kind { CORPUS_SYNTHETIC, CORPUS_TEXT, CORPUS_SHARDS, CORPUS_KINDS };
const char *corpus_kind_name(enum corpus_kind kind); /* "synthetic", "text", "shards" */

struct data_def {
    enum corpus_kind corpus;
    char path[1024];      /* text: a file; shards: a glob pattern */
    int64_t tokens;       /* synthetic: length of the corpus */
    uint64_t source_seed; /* synthetic: the language and its text. Apart from the run's seed, so that seeds vary
                             the training, not the task */
    double validation;    /* fraction of windows held out, spread over the corpus; 0 < validation < 1 */
    double non_iid_alpha; /* 0 = workers draw alike; else Dirichlet(alpha) shares of topics or regions of the corpus */
};

struct data_def data_default(void);
NODISCARD enum status data_check(const struct data_def *def, struct error *error);

struct data;

/* Opens or makes the corpus and deals windows of `length` + 1 tokens (the last is the last target) to `workers`
 * workers. Windows that do not divide are left out (data_unused_windows). `seed` decides the order of windows per
 * worker and epoch and the non-IID shares. Errors: a missing or corrupt file (with file, offset and id), a token
 * >= vocab, fewer windows than workers. vocab = what the model offers. */
NODISCARD struct data *data_create(const struct data_def *def, int32_t workers, int32_t length, int32_t vocab,
                                   uint64_t seed, struct error *error);
void data_free(struct data *data); /* NULL is fine */

int32_t data_vocab(const struct data_def *def); /* smallest vocabulary that fits: 256 for bytes and the synthetic
                                                   language; 0 = only the shards know */
int64_t data_worker_windows(const struct data *data, int32_t worker); /* training windows per epoch */
int64_t data_unused_windows(const struct data *data);
int64_t data_validation_windows(const struct data *data);

/* The batch of optimiser step `step` (from 0), sequence `first` + 0 .. sequences - 1 of the step's `per_step`
 * sequences, of worker `worker`: tokens, targets [sequences, length]. Epochs are permutations of the worker's windows;
 * sequence number step * per_step + first + i walks through them without end. */
void data_batch(const struct data *data, int32_t worker, int64_t step, int32_t per_step, int32_t first,
                int32_t sequences, int32_t *tokens, int32_t *targets);

/* Validation windows first .. first + sequences - 1, in one fixed scattered order. */
void data_validation_batch(const struct data *data, int64_t first, int32_t sequences, int32_t *tokens,
                           int32_t *targets);

/* Mean nats per token that the best predictor knowing the source would reach on the first `windows` validation windows
 * (each window read alone, from its first token): the synthetic language's forward filter, exact. NAN where the source
 * is not known. Of all functions here only this one is for one thread at a time: the filter is part of `data`. */
double data_entropy_floor(const struct data *data, int64_t windows);

/* Which file, which window (for tests and `data inspect`): an identifier of the window behind a training sequence. */
int64_t data_window_id(const struct data *data, int32_t worker, int64_t sequence);
int64_t data_validation_window_id(const struct data *data, int64_t index);

/* 32 hexadecimal digits over corpus content and division: part of a trajectory's identity. Holds until data_free. */
const char *data_identity(const struct data *data);

#endif
