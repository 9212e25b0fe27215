/* Causal grouped-query attention of one sequence, one head and LANES queries at a time, with the queries along the
 * lanes: maxima, exponentials and sums over keys then need nothing across lanes, and keys past the last of the queries
 * are never computed. The scores of these queries are all that is ever in memory; the way back computes them again from
 * the saved log-sum-exps (Dao et al. 2022).
 *
 * Heads are packed first, T and head_dim rounded up to LANES with zeros (T', D'): rows [T', D'], or "turned", one
 * [D', LANES] panel per LANES rows. Every product is then block_product() on whole blocks.
 */
#include "operators.h"
#include "vector_math.h"

enum { ROWS = LANES }; /* half of the processor's registers hold sums */

static int64_t round_up(int64_t count) {
    return (count + LANES - 1) / LANES * LANES;
}

/* to[ROWS, LANES] (rows `to_row` apart) = sum over k < count of a[row * a_row + k * a_step] * b[k * b_step + lane],
 * added to what is there with `add`. */
static inline __attribute__((always_inline)) void block_product(float *to, int64_t to_row, const float *a,
                                                                int64_t a_row, int64_t a_step, const float *b,
                                                                int64_t b_step, int64_t count, int add) {
    lanes sum[ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) sum[r] = add ? lanes_load(to + r * to_row) : (lanes){0};
    for (int64_t k = 0; k < count; k++) {
        lanes row = lanes_load(b + k * b_step);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; r++) sum[r] += a[r * a_row + k * a_step] * row;
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) lanes_store(to + r * to_row, sum[r]);
}

/* ---- packing ---- */

/* to[T', D'] = scale * from[T, D] (rows `stride` apart), zeros around. */
static void pack(float *to, const float *from, int64_t stride, int64_t length, int64_t head_dim, float scale) {
    int64_t depth = round_up(head_dim);
    for (int64_t t = 0; t < length; t++, to += depth)
        for (int64_t d = 0; d < head_dim; d += LANES) {
            int64_t left = head_dim - d;
            const float *at = from + t * stride + d;
            lanes_store(to + d, scale * (left >= LANES ? lanes_load(at) : lanes_load_part(at, left, 0)));
        }
    memset(to, 0, (size_t)((round_up(length) - length) * depth) * sizeof *to);
}

/* to: panels [D', LANES] of the rows [T', D']. */
static void turn(float *to, const float *rows, int64_t length, int64_t depth) {
    for (int64_t first = 0; first < length; first += LANES)
        for (int64_t d = 0; d < depth; d += LANES)
            lanes_transpose(to + first * depth + d * LANES, LANES, rows + first * depth + d, depth);
}

/* Rows [count, D] of `to` (`stride` apart) = the packed rows, D' apart. */
static void unpack(float *to, int64_t stride, const float *rows, int64_t count, int64_t head_dim) {
    int64_t depth = round_up(head_dim);
    for (int64_t t = 0; t < count; t++)
        for (int64_t d = 0; d < head_dim; d += LANES) {
            lanes values = lanes_load(rows + t * depth + d);
            if (head_dim - d >= LANES)
                lanes_store(to + t * stride + d, values);
            else
                lanes_store_part(to + t * stride + d, values, head_dim - d);
        }
}

/* Rows [count, D] of `to` = the panel [D', LANES] turned back. `rows`: [LANES, D'] scratch. */
static void unpack_panel(float *to, int64_t stride, const float *panel, float *rows, int64_t count, int64_t head_dim) {
    int64_t depth = round_up(head_dim);
    for (int64_t d = 0; d < depth; d += LANES) lanes_transpose(rows + d, depth, panel + d * LANES, LANES);
    unpack(to, stride, rows, count < LANES ? count : LANES, head_dim);
}

/* ---- pieces of both ways; `first`: the first of LANES queries, `keys` = first + LANES of them are looked at ---- */

/* to[keys, LANES] = rows . panel, for keys and their scores, or values and the gradient of probabilities. */
static void keys_times_panel(float *to, const float *rows, const float *panel, int64_t keys, int64_t depth) {
    for (int64_t s = 0; s < keys; s += ROWS)
        block_product(to + s * LANES, LANES, rows + s * depth, depth, 1, panel, LANES, depth, 0);
}

/* to[D', LANES] = sum over keys of rows[key, d] * weights[key, lane] */
static void weighted_rows(float *to, const float *rows, const float *weights, int64_t keys, int64_t depth) {
    for (int64_t d = 0; d < depth; d += ROWS)
        block_product(to + d * LANES, LANES, rows + d, 1, depth, weights, LANES, keys, 0);
}

/* to[keys, D'] += sum over lanes of weights[key, lane] * rows[lane, D'] */
static void add_to_keys(float *to, const float *weights, const float *rows, int64_t keys, int64_t depth) {
    for (int64_t s = 0; s < keys; s += ROWS)
        for (int64_t d = 0; d < depth; d += LANES)
            block_product(to + s * depth + d, depth, weights + s * LANES, LANES, 1, rows + d, depth, LANES, 1);
}

/* Lanes whose query (first + lane) sees this key: all of them before `first`. */
static inline lanes_int sees(int64_t key, int64_t first) {
    return lanes_index() >= (int32_t)(key - first);
}

/* scores become exp(score - top), 0 for unseen keys; returns their sums. */
static lanes exponentials(float *scores, lanes top, int64_t first) {
    lanes sum = {0};
    for (int64_t s = 0; s < first; s++) {
        lanes e = lanes_exp(lanes_load(scores + s * LANES) - top);
        lanes_store(scores + s * LANES, e);
        sum += e;
    }
    for (int64_t s = first; s < first + LANES; s++) {
        lanes e = lanes_keep(sees(s, first), lanes_exp(lanes_load(scores + s * LANES) - top));
        lanes_store(scores + s * LANES, e);
        sum += e;
    }
    return sum;
}

static lanes maxima(const float *scores, int64_t first) {
    lanes top = lanes_load(scores + first * LANES); /* every one of these queries sees the key `first` */
    for (int64_t s = 0; s < first; s++) top = lanes_max(top, lanes_load(scores + s * LANES));
    for (int64_t s = first + 1; s < first + LANES; s++)
        top = lanes_pick(sees(s, first), lanes_max(top, lanes_load(scores + s * LANES)), top);
    return top;
}

/* ---- forward ---- */

/* Where a head's packed parts lie in the scratch. */
struct packed {
    float *k, *v, *q, *dy, *dk, *dv; /* [T', D'] */
    float *q_turned, *dy_turned;     /* panels */
    float *p, *dp;                   /* [T', LANES] */
    float *panel, *rows;             /* [D', LANES], [LANES, D'] */
};

enum { PACKED_ROWS = 8, PACKED_SCORES = 2, PACKED_PANELS = 2 };

int64_t cpu_attention_scratch(int64_t length, int64_t head_dim) {
    int64_t rows = round_up(length), depth = round_up(head_dim);
    return PACKED_ROWS * rows * depth + PACKED_SCORES * rows * LANES + PACKED_PANELS * depth * LANES;
}

static struct packed lay_out(float *scratch, int64_t length, int64_t head_dim) {
    struct packed at;
    int64_t rows = round_up(length), depth = round_up(head_dim);
    float **const parts[PACKED_ROWS] = {&at.k, &at.v, &at.q, &at.dy, &at.dk, &at.dv, &at.q_turned, &at.dy_turned};
    for (int i = 0; i < PACKED_ROWS; i++, scratch += rows * depth) *parts[i] = scratch;
    at.p = scratch;
    at.dp = at.p + rows * LANES;
    at.panel = at.dp + rows * LANES;
    at.rows = at.panel + depth * LANES;
    return at;
}

/* LANES queries from `first`: their outputs to y, and log_sums. */
static void forward_queries(float *y, int64_t width, float *log_sums, const struct packed *at, int64_t first,
                            int64_t length, int64_t head_dim) {
    int64_t depth = round_up(head_dim), keys = first + LANES, count = length - first;
    keys_times_panel(at->p, at->k, at->q_turned + first * depth, keys, depth);
    lanes top = maxima(at->p, first), sum = exponentials(at->p, top, first), inverse = 1.0f / sum;
    weighted_rows(at->panel, at->v, at->p, keys, depth);
    for (int64_t d = 0; d < depth; d++) lanes_store(at->panel + d * LANES, inverse * lanes_load(at->panel + d * LANES));
    unpack_panel(y + first * width, width, at->panel, at->rows, count, head_dim);
    lanes log_sum = top + lanes_log(sum);
    if (count >= LANES)
        lanes_store(log_sums + first, log_sum);
    else
        lanes_store_part(log_sums + first, log_sum, count);
}

void cpu_attention_forward(float *y, float *log_sums, const float *qkv, int64_t length, int64_t heads, int64_t kv_heads,
                           int64_t head_dim, float *scratch) {
    int64_t stride = (heads + 2 * kv_heads) * head_dim, width = heads * head_dim, group = heads / kv_heads;
    struct packed at = lay_out(scratch, length, head_dim);
    for (int64_t h = 0; h < heads; h++) {
        const float *k = qkv + (heads + h / group) * head_dim;
        if (h % group == 0) {
            pack(at.k, k, stride, length, head_dim, 1);
            pack(at.v, k + kv_heads * head_dim, stride, length, head_dim, 1);
        }
        pack(at.q, qkv + h * head_dim, stride, length, head_dim, 1 / sqrtf((float)head_dim));
        turn(at.q_turned, at.q, length, round_up(head_dim));
        for (int64_t first = 0; first < length; first += LANES)
            forward_queries(y + h * head_dim, width, log_sums + h * length, &at, first, length, head_dim);
    }
}

/* ---- backward ---- */

/* p and dp [keys, LANES] become p and the gradient of the scores: p (dp - sum_s p_s dp_s). */
static void score_gradient(const float *p, float *dp, int64_t keys) {
    lanes shared = {0};
    for (int64_t s = 0; s < keys; s++) shared += lanes_load(p + s * LANES) * lanes_load(dp + s * LANES);
    for (int64_t s = 0; s < keys; s++)
        lanes_store(dp + s * LANES, lanes_load(p + s * LANES) * (lanes_load(dp + s * LANES) - shared));
}

/* LANES queries from `first`: dq is written, at->dk and at->dv are added to. q was packed with the scale of the
 * scores, so dk has it already. */
static void backward_queries(float *dq, int64_t stride, const float *log_sums, const struct packed *at, int64_t first,
                             int64_t length, int64_t head_dim) {
    int64_t depth = round_up(head_dim), keys = first + LANES, count = length - first;
    lanes log_sum = count >= LANES ? lanes_load(log_sums + first) : lanes_load_part(log_sums + first, count, 0);
    keys_times_panel(at->p, at->k, at->q_turned + first * depth, keys, depth);
    exponentials(at->p, log_sum, first);
    keys_times_panel(at->dp, at->v, at->dy_turned + first * depth, keys, depth);
    add_to_keys(at->dv, at->p, at->dy + first * depth, keys, depth);
    score_gradient(at->p, at->dp, keys);
    add_to_keys(at->dk, at->dp, at->q + first * depth, keys, depth);
    weighted_rows(at->panel, at->k, at->dp, keys, depth);
    for (int64_t d = 0; d < depth; d++)
        lanes_store(at->panel + d * LANES, lanes_load(at->panel + d * LANES) / sqrtf((float)head_dim));
    unpack_panel(dq + first * stride, stride, at->panel, at->rows, count, head_dim);
}

void cpu_attention_backward(float *dqkv, const float *dy, const float *log_sums, const float *qkv, int64_t length,
                            int64_t heads, int64_t kv_heads, int64_t head_dim, float *scratch) {
    int64_t stride = (heads + 2 * kv_heads) * head_dim, width = heads * head_dim, group = heads / kv_heads;
    int64_t depth = round_up(head_dim);
    size_t bytes = (size_t)(round_up(length) * depth) * sizeof(float);
    struct packed at = lay_out(scratch, length, head_dim);
    for (int64_t h = 0; h < heads; h++) {
        int64_t key = (heads + h / group) * head_dim, value = key + kv_heads * head_dim;
        if (h % group == 0) {
            pack(at.k, qkv + key, stride, length, head_dim, 1);
            pack(at.v, qkv + value, stride, length, head_dim, 1);
            memset(at.dk, 0, bytes);
            memset(at.dv, 0, bytes);
        }
        pack(at.q, qkv + h * head_dim, stride, length, head_dim, 1 / sqrtf((float)head_dim));
        pack(at.dy, dy + h * head_dim, width, length, head_dim, 1);
        turn(at.q_turned, at.q, length, depth);
        turn(at.dy_turned, at.dy, length, depth);
        for (int64_t first = 0; first < length; first += LANES)
            backward_queries(dqkv + h * head_dim, stride, log_sums + h * length, &at, first, length, head_dim);
        if (h % group == group - 1) {
            unpack(dqkv + key, stride, at.dk, length, head_dim);
            unpack(dqkv + value, stride, at.dv, length, head_dim);
        }
    }
}
