/* The back end for processors: the decoder over batches by the loops beside this file, large matrix products by
 * OpenBLAS. Each call runs on its own thread; OpenBLAS is told to use one (its pthread build: the serial build is not
 * safe to call from several threads).
 *
 * Training goes through the batch a few sequences at a time, there and back, so that what the way back needs is still
 * in the cache; gradients add up. Evaluation goes sequence by sequence, so that a value never depends on how many were
 * asked for: OpenBLAS may sum a row differently when there are more rows.
 */
#include "../backend.h"
#include "operators.h"
#include "vectors.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <assert.h>
#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What one layer keeps for the way back. */
struct layer {
    float *x;                     /* [n, dim] at its start */
    float *middle;                /* [n, dim] after attention */
    float *inverse, *inverse_mlp; /* [n] */
    float *qkv;                   /* [n, qkv] with RoPE */
    float *mixed;                 /* [n, dim] attention's output */
    float *log_sums;              /* [sequences][heads, length] */
    float *gate_up;               /* [n, 2 ffn] */
    int64_t offsets[LLAMA_TENSOR_KINDS];
};

struct activations {
    const struct llama *model;
    struct arena *arena;
    enum compute_purpose purpose;
    int32_t length;
    int64_t sequences; /* that go together */
    int64_t dim, layers, head_dim, qkv, ffn, vocab, heads, kv_heads;
    struct layer *layer;                   /* [layers]; evaluation: every one on the same memory */
    float *out;                            /* [n, dim] at the end of the layers */
    float *inverse;                        /* [n] into the head */
    float *normed;                         /* [n, dim] what the product at hand reads: a norm's output */
    float *hidden;                         /* [n, ffn] and SwiGLU's; both are made again on the way back */
    float *logits;                         /* [n, vocab] */
    float *table;                          /* RoPE */
    float *scratch;                        /* attention */
    float *dx, *dwide, *dnarrow, *dnormed; /* [n, dim], [n, max(qkv, 2 ffn)], [n, max(ffn, dim)], [n, dim] */
    int64_t embedding, final_norm, head;   /* offsets */
};

/* ---- probing ---- */

static void use_one_thread(void) {
    openblas_set_num_threads(1);
}

static bool probe(char *why, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_one_thread);
    char version[64] = "OpenBLAS";
    sscanf(openblas_get_config(), "OpenBLAS %40s", version);
    const char *parallel = openblas_get_parallel() == OPENBLAS_THREAD   ? "pthread"
                           : openblas_get_parallel() == OPENBLAS_OPENMP ? "OpenMP"
                                                                        : NULL;
    snprintf(why, size, "OpenBLAS %s, %s kernels, %s build", version, openblas_get_corename(),
             parallel ? parallel : "serial");
    if (parallel) return true;
    snprintf(why, size, "OpenBLAS is the serial build, which is not safe with threads; install libopenblas0-pthread");
    return false;
}

/* ---- memory ---- */

/* Tokens that go there and back together, unless one sequence is longer. */
enum { TOGETHER = 256 };

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void set_sizes(struct activations *a, const struct llama *model, int32_t sequences, int32_t length,
                      enum compute_purpose purpose) {
    const struct llama_def *d = llama_get_def(model);
    a->model = model;
    a->purpose = purpose;
    a->length = length;
    a->sequences = purpose == COMPUTE_TRAINING ? least(sequences, most(1, TOGETHER / length)) : 1;
    a->dim = d->dim;
    a->layers = d->layers;
    a->heads = d->heads;
    a->kv_heads = d->kv_heads;
    a->head_dim = d->dim / d->heads;
    a->qkv = (d->heads + 2 * d->kv_heads) * a->head_dim;
    a->ffn = d->ffn;
    a->vocab = d->vocab;
}

/* Pushes `count` floats, or with no arena yet only adds up what that takes. */
static float *take(struct arena *arena, int64_t count, size_t *bytes) {
    *bytes += arena_block_bytes((size_t)count * sizeof(float));
    return arena ? arena_push(arena, (size_t)count, sizeof(float)) : NULL;
}

static void take_layer(struct layer *layer, const struct activations *a, size_t *bytes) {
    int64_t n = (int64_t)a->sequences * a->length;
    layer->x = take(a->arena, n * a->dim, bytes);
    layer->middle = take(a->arena, n * a->dim, bytes);
    layer->inverse = take(a->arena, n, bytes);
    layer->inverse_mlp = take(a->arena, n, bytes);
    layer->qkv = take(a->arena, n * a->qkv, bytes);
    layer->mixed = take(a->arena, n * a->dim, bytes);
    layer->log_sums = take(a->arena, n * a->heads, bytes);
    layer->gate_up = take(a->arena, n * 2 * a->ffn, bytes);
}

/* Everything from the arena, or only its size when a->arena is NULL. Evaluation needs one layer's memory. */
static size_t take_all(struct activations *a) {
    size_t bytes = 0;
    int64_t n = (int64_t)a->sequences * a->length;
    struct layer ignored;
    for (int64_t l = 0; l < a->layers; l++) {
        bool shared = a->purpose == COMPUTE_EVALUATION && l > 0;
        if (shared && a->layer) a->layer[l] = a->layer[0];
        if (!shared) take_layer(a->layer ? &a->layer[l] : &ignored, a, &bytes);
    }
    a->out = take(a->arena, n * a->dim, &bytes);
    a->normed = take(a->arena, n * a->dim, &bytes);
    a->hidden = take(a->arena, n * a->ffn, &bytes);
    a->inverse = take(a->arena, n, &bytes);
    a->logits = take(a->arena, n * a->vocab, &bytes);
    a->table = take(a->arena, 2 * a->length * a->head_dim, &bytes);
    a->scratch = take(a->arena, cpu_attention_scratch(a->length, a->head_dim), &bytes);
    if (a->purpose == COMPUTE_EVALUATION) return bytes;
    a->dx = take(a->arena, n * a->dim, &bytes);
    a->dwide = take(a->arena, n * most(a->qkv, 2 * a->ffn), &bytes);
    a->dnarrow = take(a->arena, n * most(a->ffn, a->dim), &bytes);
    a->dnormed = take(a->arena, n * a->dim, &bytes);
    return bytes;
}

static size_t activation_bytes(const struct llama *model, int32_t sequences, int32_t length,
                               enum compute_purpose purpose) {
    struct activations a = {0};
    set_sizes(&a, model, sequences, length, purpose);
    return take_all(&a);
}

static void find_tensors(struct activations *a) {
    for (int32_t i = 0; i < llama_tensor_count(a->model); i++) {
        const struct llama_tensor *tensor = llama_tensor(a->model, i);
        if (tensor->layer >= 0)
            a->layer[tensor->layer].offsets[tensor->kind] = tensor->offset;
        else if (tensor->kind == LLAMA_EMBEDDING)
            a->embedding = a->head = tensor->offset; /* the head's own tensor, if any, comes later */
        else if (tensor->kind == LLAMA_FINAL_NORM)
            a->final_norm = tensor->offset;
        else
            a->head = tensor->offset;
    }
}

static void release(void *activations) {
    struct activations *a = activations;
    if (!a) return;
    arena_free(a->arena);
    alloc_free(a->layer);
    alloc_free(a);
}

static void *create(const struct llama *model, int32_t sequences, int32_t length, enum compute_purpose purpose,
                    struct error *error) {
    struct activations *a = alloc_zero(1, sizeof *a, "activations", error);
    if (!a) return NULL;
    set_sizes(a, model, sequences, length, purpose);
    a->layer = alloc_zero((size_t)a->layers, sizeof *a->layer, "activations", error);
    a->arena =
        a->layer ? arena_create(activation_bytes(model, sequences, length, purpose), "activations", error) : NULL;
    if (!a->arena) {
        release(a);
        return NULL;
    }
    take_all(a);
    find_tensors(a);
    cpu_rope_table(a->table, length, a->head_dim, llama_get_def(model)->rope_theta);
    return a;
}

/* ---- forward ---- */

static float epsilon(const struct activations *a) {
    return (float)llama_get_def(a->model)->norm_epsilon;
}

/* The residual stream goes from layer->x to `out`. */
static void layer_forward(const struct activations *a, const struct layer *layer, const float *w, float *out,
                          int32_t sequences) {
    int64_t n = (int64_t)sequences * a->length;
    const int64_t *at = layer->offsets;
    cpu_rmsnorm_forward(a->normed, layer->inverse, layer->x, w + at[LLAMA_ATTENTION_NORM], n, a->dim, epsilon(a));
    cpu_linear_forward(layer->qkv, NULL, a->normed, w + at[LLAMA_QUERY], n, a->dim, a->qkv);
    cpu_rope(layer->qkv, a->table, sequences, a->length, a->heads + a->kv_heads, a->head_dim, a->qkv, 0);
    for (int32_t i = 0; i < sequences; i++) {
        int64_t first = (int64_t)i * a->length;
        cpu_attention_forward(layer->mixed + first * a->dim, layer->log_sums + first * a->heads,
                              layer->qkv + first * a->qkv, a->length, a->heads, a->kv_heads, a->head_dim, a->scratch);
    }
    cpu_linear_forward(layer->middle, layer->x, layer->mixed, w + at[LLAMA_OUTPUT], n, a->dim, a->dim);
    cpu_rmsnorm_forward(a->normed, layer->inverse_mlp, layer->middle, w + at[LLAMA_MLP_NORM], n, a->dim, epsilon(a));
    cpu_linear_forward(layer->gate_up, NULL, a->normed, w + at[LLAMA_GATE], n, a->dim, 2 * a->ffn);
    cpu_swiglu_forward(a->hidden, layer->gate_up, n, a->ffn);
    cpu_linear_forward(out, layer->middle, a->hidden, w + at[LLAMA_DOWN], n, a->ffn, a->dim);
}

/* Leaves the logits in a->logits. */
static void forward(struct activations *a, const float *w, const int32_t *tokens, int32_t sequences) {
    int64_t n = (int64_t)sequences * a->length, vocab = a->vocab;
    assert(sequences <= a->sequences);
    for (int64_t t = 0; t < n; t++) {
        assert(tokens[t] >= 0 && tokens[t] < vocab);
        memcpy(a->layer[0].x + t * a->dim, w + a->embedding + tokens[t] * a->dim, (size_t)a->dim * sizeof(float));
    }
    for (int64_t l = 0; l < a->layers; l++) {
        float *out = l + 1 < a->layers ? a->layer[l + 1].x : a->out;
        layer_forward(a, &a->layer[l], w, out, sequences);
    }
    cpu_rmsnorm_forward(a->normed, a->inverse, a->out, w + a->final_norm, n, a->dim, epsilon(a));
    cpu_linear_forward(a->logits, NULL, a->normed, w + a->head, n, a->dim, vocab);
}

static void loss(void *activations, const float *parameters, const int32_t *tokens, const int32_t *targets,
                 int32_t sequences, double *loss_sum) {
    struct activations *a = activations;
    *loss_sum = 0;
    for (int64_t i = 0; i < sequences; i++) {
        forward(a, parameters, tokens + i * a->length, 1);
        *loss_sum += cpu_softmax(a->logits, targets + i * a->length, a->length, a->vocab);
    }
}

static void probabilities(void *activations, const float *parameters, const int32_t *tokens, int32_t sequences,
                          float *to) {
    struct activations *a = activations;
    int64_t size = a->length * a->vocab;
    for (int64_t i = 0; i < sequences; i++) {
        forward(a, parameters, tokens + i * a->length, 1);
        cpu_softmax(a->logits, NULL, a->length, a->vocab);
        memcpy(to + i * size, a->logits, (size_t)size * sizeof *to);
    }
}

/* ---- backward ---- */

/* a->dx: gradient at the layer's end, becomes that at its start. Gains are added to, matrices as `add` says. */
static void layer_backward(const struct activations *a, const struct layer *layer, const float *w, float *g,
                           int32_t sequences, int add) {
    int64_t n = (int64_t)sequences * a->length;
    const int64_t *at = layer->offsets;
    cpu_linear_backward_input(a->dnarrow, a->dx, w + at[LLAMA_DOWN], n, a->ffn, a->dim);
    cpu_swiglu_backward(a->dwide, a->hidden, a->dnarrow, layer->gate_up, n, a->ffn);
    cpu_linear_backward_weight(g + at[LLAMA_DOWN], a->dx, a->hidden, n, a->ffn, a->dim, add);
    cpu_rmsnorm_again(a->normed, layer->inverse_mlp, layer->middle, w + at[LLAMA_MLP_NORM], n, a->dim);
    cpu_linear_backward_weight(g + at[LLAMA_GATE], a->dwide, a->normed, n, a->dim, 2 * a->ffn, add);
    cpu_linear_backward_input(a->dnormed, a->dwide, w + at[LLAMA_GATE], n, a->dim, 2 * a->ffn);
    cpu_rmsnorm_backward(a->dx, g + at[LLAMA_MLP_NORM], a->dnormed, layer->middle, w + at[LLAMA_MLP_NORM],
                         layer->inverse_mlp, n, a->dim);

    cpu_linear_backward_weight(g + at[LLAMA_OUTPUT], a->dx, layer->mixed, n, a->dim, a->dim, add);
    cpu_linear_backward_input(a->dnarrow, a->dx, w + at[LLAMA_OUTPUT], n, a->dim, a->dim);
    for (int64_t i = 0; i < sequences; i++) {
        int64_t first = i * a->length;
        cpu_attention_backward(a->dwide + first * a->qkv, a->dnarrow + first * a->dim,
                               layer->log_sums + first * a->heads, layer->qkv + first * a->qkv, a->length, a->heads,
                               a->kv_heads, a->head_dim, a->scratch);
    }
    cpu_rope(a->dwide, a->table, sequences, a->length, a->heads + a->kv_heads, a->head_dim, a->qkv, 1);
    cpu_rmsnorm_again(a->normed, layer->inverse, layer->x, w + at[LLAMA_ATTENTION_NORM], n, a->dim);
    cpu_linear_backward_weight(g + at[LLAMA_QUERY], a->dwide, a->normed, n, a->dim, a->qkv, add);
    cpu_linear_backward_input(a->dnormed, a->dwide, w + at[LLAMA_QUERY], n, a->dim, a->qkv);
    cpu_rmsnorm_backward(a->dx, g + at[LLAMA_ATTENTION_NORM], a->dnormed, layer->x, w + at[LLAMA_ATTENTION_NORM],
                         layer->inverse, n, a->dim);
}

/* What is added to rather than written starts from zero: the norms' gains and the embedding. */
static void clear_added(const struct activations *a, float *g) {
    for (int32_t i = 0; i < llama_tensor_count(a->model); i++) {
        const struct llama_tensor *tensor = llama_tensor(a->model, i);
        bool added = tensor->columns == 1 || (tensor->kind == LLAMA_EMBEDDING && a->head != a->embedding);
        if (added) memset(g + tensor->offset, 0, (size_t)(tensor->rows * tensor->columns) * sizeof *g);
    }
}

/* There and back with at most a->sequences; returns the summed loss. */
static double gradient_of_some(struct activations *a, const float *w, const int32_t *tokens, const int32_t *targets,
                               int32_t sequences, float scale, int add, float *g) {
    int64_t n = (int64_t)sequences * a->length;
    forward(a, w, tokens, sequences);
    double loss_sum = cpu_softmax_gradient(a->logits, targets, n, a->vocab, scale);
    cpu_linear_backward_weight(g + a->head, a->logits, a->normed, n, a->dim, a->vocab, add);
    cpu_linear_backward_input(a->dnormed, a->logits, w + a->head, n, a->dim, a->vocab);
    memset(a->dx, 0, (size_t)(n * a->dim) * sizeof(float));
    cpu_rmsnorm_backward(a->dx, g + a->final_norm, a->dnormed, a->out, w + a->final_norm, a->inverse, n, a->dim);
    for (int64_t l = a->layers - 1; l >= 0; l--) layer_backward(a, &a->layer[l], w, g, sequences, add);
    for (int64_t t = 0; t < n; t++) {
        float *row = g + a->embedding + tokens[t] * a->dim;
        const float *from = a->dx + t * a->dim;
        for (int64_t i = 0; i < a->dim; i++) row[i] += from[i];
    }
    return loss_sum;
}

static void gradient(void *activations, const float *parameters, const int32_t *tokens, const int32_t *targets,
                     int32_t sequences, double normalizer, bool accumulate, float *g, double *loss_sum) {
    struct activations *a = activations;
    assert(a->purpose == COMPUTE_TRAINING && sequences >= 1);
    if (!accumulate) clear_added(a, g);
    *loss_sum = 0;
    for (int64_t i = 0; i < sequences; i += a->sequences) {
        int32_t some = (int32_t)least(a->sequences, sequences - i);
        *loss_sum += gradient_of_some(a, parameters, tokens + i * a->length, targets + i * a->length, some,
                                      (float)(1 / normalizer), accumulate || i > 0, g);
    }
}

const struct backend backend_openblas = {
    .name = "openblas",
    .help = "fp32 on the processor: OpenBLAS and vectorised loops",
    .probe = probe,
    .activation_bytes = activation_bytes,
    .create = create,
    .free = release,
    .gradient = gradient,
    .loss = loss,
    .probabilities = probabilities,
    .combine = cpu_combine,
    .square_norm = cpu_square_norm,
    .square_distance = cpu_square_distance,
    .adamw = cpu_adamw,
    .outer_momentum = cpu_outer_momentum,
    .js_distance = cpu_js_distance,
};
