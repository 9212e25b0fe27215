/* kernels: the arithmetic of training. A Llama-3-style decoder (RMSNorm, RoPE, grouped-query attention, SwiGLU), its
 * gradient, and the vector operations that optimisers and mixing are made of, on one of several back ends.
 *
 * A model's parameters are one vector of floats; struct llama says where each tensor lies in it. Nothing here knows of
 * workers, rounds or time. Vectors come from backend_alloc() and are only touched through functions of this door, so
 * that they may live on an accelerator. A call runs on the calling thread alone, with a fixed order of every sum: the
 * same inputs give the same bits whatever other threads do.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "base/error.h"

#include <stdbool.h>

/* ---- the model's shape ---- */

struct llama_def {
    int32_t dim; /* width of the residual stream; divisible by heads, dim / heads even */
    int32_t layers;
    int32_t heads;    /* query heads */
    int32_t kv_heads; /* key and value heads; divides heads */
    int32_t ffn;      /* width of the SwiGLU hidden layer */
    int32_t vocab;
    int32_t context; /* tokens of a training sequence */
    double rope_theta;
    double norm_epsilon;
    bool tied; /* the LM head is the embedding */
};

struct llama_def llama_default(void); /* preset tiny */
/* "tiny" (the proxy: 64 wide, 2 layers, byte vocabulary), "1M", "16M", "125M", "720M", "1.5B" (Llama-3.2-1B shapes with
 * an untied head: 1 498 482 688 parameters). false if there is no such preset. */
bool llama_preset(const char *name, struct llama_def *def);
const char *llama_preset_name(int32_t index); /* NULL past the last */
/* STATUS_INPUT with the field and what would be right. */
NODISCARD enum status llama_check(const struct llama_def *def, struct error *error);

enum llama_tensor_kind {
#define LLAMA_TENSOR(kind, name, hf, rows, columns, initial, decay, block) LLAMA_##kind,
#include "llama_tensors.def"
#undef LLAMA_TENSOR
    LLAMA_TENSOR_KINDS
};

struct llama_tensor {
    char name[48]; /* "layer0.query" */
    char hugging_face_name[64];
    enum llama_tensor_kind kind;
    int32_t layer;         /* -1 outside the layers */
    int32_t block;         /* index of its block */
    int64_t offset;        /* of its first float in the parameter vector, row-major [rows, columns] */
    int64_t rows, columns; /* a norm's gain has columns = 1 */
    bool decay;            /* weight decay applies */
};

struct llama; /* the layout: constant after llama_create, shared by all threads */

NODISCARD struct llama *llama_create(const struct llama_def *def, struct error *error);
void llama_free(struct llama *model); /* NULL is fine */
const struct llama_def *llama_get_def(const struct llama *model);
int64_t llama_parameters(const struct llama *model);         /* floats of the vector */
int64_t llama_count_parameters(const struct llama_def *def); /* the same without making one; no overflow up to 1e15 */
int32_t llama_tensor_count(const struct llama *model);
const struct llama_tensor *llama_tensor(const struct llama *model, int32_t index);

/* Blocks are what a subset names: "embedding", "layer0.attention", "layer0.mlp", "layer0.norms", ..., "final_norm",
 * "head" (absent when tied). Every parameter belongs to exactly one. */
int32_t llama_block_count(const struct llama *model);
const char *llama_block_name(const struct llama *model, int32_t block);
int64_t llama_block_parameters(const struct llama *model, int32_t block);
/* Marks in selected[block_count] what `name` means: a block, "layer3" (its three blocks), "norms" (every norm).
 * STATUS_INPUT with the nearest name otherwise. Marks already set stay. */
NODISCARD enum status llama_select_blocks(const struct llama *model, const char *name, bool *selected,
                                          struct error *error);

/* A stretch of the parameter vector. */
struct range {
    int64_t offset;
    int64_t count;
};
/* The selected blocks (selected = NULL: all) as ascending, maximal ranges; ranges holds up to llama_tensor_count of
 * them. Returns their number. */
int32_t llama_block_ranges(const struct llama *model, const bool *selected, struct range *ranges);

/* ---- back ends ---- */

struct backend; /* one way of computing; constant, shared by all threads */

int32_t backend_count(void);
const struct backend *backend_at(int32_t index);
const char *backend_name(const struct backend *backend);
const char *backend_help(const struct backend *backend);
/* Whether it works on this machine; `why` gets what was found ("OpenBLAS 0.3.21, SkylakeX kernels") or what is missing.
 */
bool backend_probe(const struct backend *backend, char *why, size_t size);
/* By name; "auto" takes the best that works. STATUS_INPUT for an unknown name (with the nearest), STATUS_UNSUPPORTED
 * with the reason when it does not work here. */
NODISCARD enum status backend_find(const char *name, const struct backend **backend, struct error *error);

/* A vector of count zeros where the back end computes. NULL and *error (STATUS_MEMORY) when there is no room. */
NODISCARD float *backend_alloc(const struct backend *backend, int64_t count, const char *what, struct error *error);
void backend_release(const struct backend *backend, float *vector); /* NULL is fine */
void backend_upload(const struct backend *backend, float *to, const float *from_host, int64_t count);
void backend_download(const struct backend *backend, float *to_host, const float *from, int64_t count);

/* ---- the model's function and gradient ---- */

/* Initial weights, the same on every back end: a pure function of (model, seed). parameters: [llama_parameters]. */
void llama_initialize(const struct llama *model, const struct backend *backend, uint64_t seed, float *parameters);

enum compute_purpose { COMPUTE_TRAINING, COMPUTE_EVALUATION };

struct compute; /* one thread's activations on one back end; one thread at a time */

/* Bytes of the activation workspace of a compute for at most `sequences` sequences of `length` tokens. */
size_t compute_bytes(const struct llama *model, const struct backend *backend, int32_t sequences, int32_t length,
                     enum compute_purpose purpose);
NODISCARD struct compute *compute_create(const struct llama *model, const struct backend *backend, int32_t sequences,
                                         int32_t length, enum compute_purpose purpose, struct error *error);
void compute_free(struct compute *compute); /* NULL is fine */

/* Mean next-token cross-entropy and its gradient over one batch.
 *   tokens, targets   [sequences, length] host integers in 0 .. vocab - 1 (asserted); targets are shifted by the caller
 *   gradient          [llama_parameters]; += when accumulate, else =. It is the gradient of loss_sum / normalizer:
 *                     pass sequences * length for the mean, or accumulation * that for gradient accumulation
 *   *loss_sum         sum over tokens, nats; may be non-finite: the caller records divergence */
void compute_gradient(struct compute *compute, const float *parameters, const int32_t *tokens, const int32_t *targets,
                      int32_t sequences, double normalizer, bool accumulate, float *gradient, double *loss_sum);

/* The loss alone, sum over tokens, nats. The value of one sequence does not depend on how many are in the call. */
void compute_loss(struct compute *compute, const float *parameters, const int32_t *tokens, const int32_t *targets,
                  int32_t sequences, double *loss_sum);

/* Next-token probabilities: probabilities [sequences, length, vocab], a vector from backend_alloc(). */
void compute_probabilities(struct compute *compute, const float *parameters, const int32_t *tokens, int32_t sequences,
                           float *probabilities);

/* Sum over rows of the Jensen-Shannon distance sqrt(JSD(p, q)), natural log, range 0 .. sqrt(ln 2) each.
 * p, q: [rows, columns] probabilities. Rounding below zero counts as 0; NaN in gives NaN out. */
double probabilities_js_distance(const struct backend *backend, const float *p, const float *q, int64_t rows,
                                 int32_t columns);

/* ---- vectors (count floats each; results may alias an input only where said) ---- */

void vector_fill(const struct backend *backend, float *to, float value, int64_t count);
void vector_copy(const struct backend *backend, float *to, const float *from, int64_t count);
/* to[i] = sum_k weights[k] * inputs[k][i], summed in double in the order of k, rounded once. `to` may be one of the
 * inputs. A weight of 0 skips its input (a NaN there does not pass); a single weight of 1 copies exactly. terms <=
 * 4096. */
void vector_combine(const struct backend *backend, float *to, int32_t terms, const float *const *inputs,
                    const double *weights, int64_t count);
double vector_square_norm(const struct backend *backend, const float *vector, int64_t count);
double vector_square_distance(const struct backend *backend, const float *a, const float *b, int64_t count);
bool vector_equal(const struct backend *backend, const float *a, const float *b, int64_t count); /* bit for bit */
bool vector_finite(const struct backend *backend, const float *vector, int64_t count);

struct adamw_step {
    double learning_rate, beta1, beta2, epsilon;
    double weight_decay;   /* decoupled: parameter -= learning_rate * weight_decay * parameter */
    double gradient_scale; /* multiplies the gradient first: the clip */
    int64_t step;          /* from 1, for the bias correction */
};
/* One AdamW step in place on parameters, first and second (Loshchilov & Hutter 2019, algorithm 2). */
void vector_adamw(const struct backend *backend, float *parameters, const float *gradient, float *first, float *second,
                  int64_t count, const struct adamw_step *step);

/* Outer momentum (Nesterov: Factored Gossip DiLoCo, arXiv 2606.22768, outer step): velocity = momentum * velocity +
 * outer_gradient, then to = base - rate * (outer_gradient + momentum * velocity) with nesterov, else to = base - rate *
 * velocity. `to` may be `base`. */
void vector_outer_momentum(const struct backend *backend, float *to, const float *base, const float *outer_gradient,
                           float *velocity, int64_t count, double rate, double momentum, bool nesterov);

#endif
