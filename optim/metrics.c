/* Work is split into (model, window) items whose results are kept apart and summed in order, so that nothing depends on
 * the number of threads. */
#include "metrics.h"

#include "base/alloc.h"

#include <math.h>

struct metrics {
    const struct llama *model;
    const struct backend *backend;
    const struct data *data;
    int32_t workers, threads, length, vocab;
    int64_t windows, js_windows;
    float *average;
    int32_t *same_as;         /* [workers] the first worker with equal parameters */
    int32_t average_same;     /* a worker that equals the average, or -1 */
    double *losses;           /* [workers + 1, max(windows, js_windows)] per window */
    double *squares;          /* [workers] */
    struct compute **compute; /* [threads] */
    int32_t *tokens;          /* [threads, 2 length] */
    float **probabilities;    /* [threads] two windows of them: the average's and a worker's */
    float *const *parameters; /* of the call in progress */
};

static int64_t window_count(int64_t tokens, int32_t length) {
    return (tokens + length - 1) / length;
}

size_t metrics_bytes(const struct evaluate_def *def, const struct llama *model, const struct backend *backend,
                     int32_t workers, int32_t threads) {
    const struct llama_def *d = llama_get_def(model);
    int64_t windows = window_count(def->tokens > def->js_tokens ? def->tokens : def->js_tokens, d->context);
    size_t per_thread = compute_bytes(model, backend, 1, d->context, COMPUTE_EVALUATION) +
                        2 * (size_t)d->context * sizeof(int32_t) +
                        (def->js_tokens > 0 ? 2 * (size_t)d->context * (size_t)d->vocab * sizeof(float) : 0);
    return (size_t)llama_parameters(model) * sizeof(float) + (size_t)threads * per_thread +
           (size_t)(workers + 1) * (size_t)windows * sizeof(double);
}

static enum status make_threads(struct metrics *m, bool js, struct error *error) {
    for (int32_t t = 0; t < m->threads; t++) {
        m->compute[t] = compute_create(m->model, m->backend, 1, m->length, COMPUTE_EVALUATION, error);
        if (!m->compute[t]) return error->status;
        if (!js) continue;
        m->probabilities[t] = backend_alloc(m->backend, 2 * (int64_t)m->length * m->vocab, "probabilities", error);
        if (!m->probabilities[t]) return STATUS_MEMORY;
    }
    return STATUS_OK;
}

static enum status make(struct metrics *m, bool js, struct error *error) {
    size_t workers = (size_t)m->workers, threads = (size_t)m->threads;
    int64_t windows = m->windows > m->js_windows ? m->windows : m->js_windows;
    m->average = backend_alloc(m->backend, llama_parameters(m->model), "averaged model", error);
    m->same_as = alloc_zero(workers, sizeof *m->same_as, "metrics", error);
    m->losses = alloc_zero((workers + 1) * (size_t)windows, sizeof *m->losses, "metrics", error);
    m->squares = alloc_zero(workers, sizeof *m->squares, "metrics", error);
    m->compute = alloc_zero(threads, sizeof(struct compute *), "metrics", error);
    m->tokens = alloc_zero(threads * 2 * (size_t)m->length, sizeof *m->tokens, "metrics", error);
    m->probabilities = alloc_zero(threads, sizeof *m->probabilities, "metrics", error);
    if (!m->average || !m->same_as || !m->losses || !m->squares || !m->compute || !m->tokens || !m->probabilities)
        return STATUS_MEMORY;
    return make_threads(m, js, error);
}

struct metrics *metrics_create(const struct evaluate_def *def, const struct llama *model, const struct backend *backend,
                               const struct data *data, int32_t workers, int32_t threads, struct error *error) {
    struct metrics *m = alloc_zero(1, sizeof *m, "metrics", error);
    if (!m) return NULL;
    m->model = model;
    m->backend = backend;
    m->data = data;
    m->workers = workers;
    m->threads = threads;
    m->length = llama_get_def(model)->context;
    m->vocab = llama_get_def(model)->vocab;
    int64_t available = data_validation_windows(data);
    m->windows = window_count(def->tokens, m->length);
    m->js_windows = window_count(def->js_tokens, m->length);
    if (m->windows > available) m->windows = available;
    if (m->js_windows > available) m->js_windows = available;
    if (make(m, def->js_tokens > 0, error) == STATUS_OK) return m;
    metrics_free(m);
    return NULL;
}

void metrics_free(struct metrics *m) {
    if (!m) return;
    for (int32_t t = 0; t < m->threads; t++) {
        if (m->compute) compute_free(m->compute[t]);
        if (m->probabilities) backend_release(m->backend, m->probabilities[t]);
    }
    backend_release(m->backend, m->average);
    alloc_free(m->same_as);
    alloc_free(m->losses);
    alloc_free(m->squares);
    alloc_free(m->compute);
    alloc_free(m->tokens);
    alloc_free(m->probabilities);
    alloc_free(m);
}

int64_t metrics_windows(const struct metrics *metrics) {
    return metrics->windows;
}

/* ---- L2 ---- */

static void average_piece(void *context, int64_t index, int32_t thread) {
    enum { PIECE = 1 << 16 };
    const struct metrics *m = context;
    const float *inputs[4096];
    double weights[4096];
    (void)thread;
    int64_t at = index * PIECE, left = llama_parameters(m->model) - at;
    for (int32_t w = 0; w < m->workers; w++) {
        inputs[w] = m->parameters[w] + at;
        weights[w] = 1.0 / m->workers;
    }
    vector_combine(m->backend, m->average + at, m->workers, inputs, weights, left < PIECE ? left : PIECE);
}

static void distance_of(void *context, int64_t worker, int32_t thread) {
    const struct metrics *m = context;
    (void)thread;
    m->squares[worker] =
        vector_square_distance(m->backend, m->parameters[worker], m->average, llama_parameters(m->model));
}

/* Who has the same parameters, bit for bit. */
static void find_equal(struct metrics *m) {
    int64_t count = llama_parameters(m->model);
    bool exact = m->squares[0] == 0 && vector_equal(m->backend, m->average, m->parameters[0], count);
    m->average_same = exact ? 0 : -1;
    for (int32_t w = 0; w < m->workers; w++) {
        m->same_as[w] = w;
        for (int32_t earlier = 0; earlier < w; earlier++) {
            if (m->same_as[earlier] != earlier || m->squares[earlier] != m->squares[w]) continue;
            if (!vector_equal(m->backend, m->parameters[earlier], m->parameters[w], count)) continue;
            m->same_as[w] = earlier;
            break;
        }
    }
}

double metrics_consensus(struct metrics *m, float *const *parameters, struct pool *pool) {
    m->parameters = parameters;
    pool_run(pool, (llama_parameters(m->model) + (1 << 16) - 1) >> 16, average_piece, m);
    pool_run(pool, m->workers, distance_of, m);
    find_equal(m);
    double sum = 0;
    for (int32_t w = 0; w < m->workers; w++) sum += m->squares[w];
    return sqrt(sum / m->workers);
}

/* ---- JS ---- */

/* One held-out window: the average's probabilities against each distinct worker's. */
static void js_window(void *context, int64_t window, int32_t thread) {
    const struct metrics *m = context;
    int32_t *tokens = m->tokens + (int64_t)thread * 2 * m->length;
    float *average = m->probabilities[thread], *own = average + (int64_t)m->length * m->vocab;
    data_validation_batch(m->data, window, 1, tokens, tokens + m->length);
    compute_probabilities(m->compute[thread], m->average, tokens, 1, average);
    for (int32_t w = 0; w < m->workers; w++) {
        if (m->same_as[w] != w) continue;
        if (w == m->average_same) {
            m->losses[w * m->js_windows + window] = 0;
            continue;
        }
        compute_probabilities(m->compute[thread], m->parameters[w], tokens, 1, own);
        m->losses[w * m->js_windows + window] =
            probabilities_js_distance(m->backend, average, own, m->length, m->vocab);
    }
}

static double sum_windows(const struct metrics *m, int32_t model, int64_t windows) {
    double sum = 0;
    for (int64_t i = 0; i < windows; i++) sum += m->losses[model * windows + i];
    return sum;
}

double metrics_js(struct metrics *m, float *const *parameters, double *js, struct pool *pool) {
    m->parameters = parameters;
    pool_run(pool, m->js_windows, js_window, m);
    double mean = 0;
    for (int32_t w = 0; w < m->workers; w++) {
        int32_t same = m->same_as[w];
        js[w] = same == w ? sum_windows(m, w, m->js_windows) / ((double)m->js_windows * m->length) : js[same];
        mean += js[w] / m->workers;
    }
    return mean;
}

/* ---- perplexity ---- */

static void loss_window(void *context, int64_t index, int32_t thread) {
    const struct metrics *m = context;
    int32_t model = (int32_t)(index / m->windows);
    int64_t window = index % m->windows;
    int32_t *tokens = m->tokens + (int64_t)thread * 2 * m->length;
    if (model < m->workers ? m->same_as[model] != model : m->average_same >= 0) return;
    data_validation_batch(m->data, window, 1, tokens, tokens + m->length);
    compute_loss(m->compute[thread], model < m->workers ? m->parameters[model] : m->average, tokens, tokens + m->length,
                 1, &m->losses[index]);
}

double metrics_perplexity(struct metrics *m, float *const *parameters, double *perplexity, struct pool *pool) {
    m->parameters = parameters;
    double tokens = (double)m->windows * m->length;
    pool_run(pool, (m->workers + 1) * m->windows, loss_window, m);
    for (int32_t w = 0; w < m->workers; w++) {
        int32_t same = m->same_as[w];
        perplexity[w] = same == w ? exp(sum_windows(m, w, m->windows) / tokens) : perplexity[same];
    }
    return m->average_same >= 0 ? perplexity[m->average_same] : exp(sum_windows(m, m->workers, m->windows) / tokens);
}

struct round_metrics round_metrics_none(void) {
    return (struct round_metrics){.loss = NAN,
                                  .gradient_norm = NAN,
                                  .learning_rate = NAN,
                                  .perplexity = NAN,
                                  .perplexity_worst = NAN,
                                  .perplexity_average_model = NAN,
                                  .js_distance = NAN,
                                  .js_distance_inner = NAN,
                                  .l2_consensus = NAN,
                                  .l2_consensus_inner = NAN,
                                  .diverged_worker = -1,
                                  .diverged_step = -1};
}
