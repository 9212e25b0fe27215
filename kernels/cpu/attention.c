/* Causal grouped-query attention, a tile of TILE query rows at a time against the keys they may see. The scores of a
 * tile are all that is ever in memory; the way back computes them again from the saved log-sum-exps (Dao et al. 2022).
 */
#include "operators.h"
#include "vector_math.h"

#include <cblas.h>

enum { TILE = 64 };

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Two score tiles, and one row of per-query sums. */
int64_t cpu_attention_scratch(int64_t length, int64_t head_dim) {
    (void)head_dim;
    return 2 * least(TILE, length) * length + TILE;
}

/* scores[rows, keys] = q k^T */
static void score(float *scores, const float *q, const float *k, int64_t rows, int64_t keys, int64_t head_dim,
                  int64_t stride, float scale) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)keys, (int)head_dim, scale, q, (int)stride, k,
                (int)stride, 0, scores, (int)keys);
}

void cpu_attention_forward(float *y, float *log_sums, const float *qkv, int64_t length, int64_t heads, int64_t kv_heads,
                           int64_t head_dim, float *scratch) {
    int64_t stride = (heads + 2 * kv_heads) * head_dim, width = heads * head_dim, group = heads / kv_heads;
    float scale = 1 / sqrtf((float)head_dim);
    for (int64_t h = 0; h < heads; h++) {
        const float *q = qkv + h * head_dim, *k = qkv + (heads + h / group) * head_dim, *v = k + kv_heads * head_dim;
        for (int64_t first = 0; first < length; first += TILE) {
            int64_t rows = least(TILE, length - first), keys = first + rows;
            score(scratch, q + first * stride, k, rows, keys, head_dim, stride, scale);
            for (int64_t r = 0; r < rows; r++) {
                float *row = scratch + r * keys;
                int64_t seen = first + r + 1;
                float top = max_of(row, seen), sum = exp_and_sum(row, top, seen), inverse = 1 / sum;
                for (int64_t s = 0; s < seen; s++) row[s] *= inverse;
                memset(row + seen, 0, (size_t)(keys - seen) * sizeof *row);
                log_sums[h * length + first + r] = top + logf(sum);
            }
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)head_dim, (int)keys, 1, scratch,
                        (int)keys, v, (int)stride, 0, y + first * width + h * head_dim, (int)width);
        }
    }
}

/* One head's part of the gradient; dk and dv are added to, dq is written. */
static void backward_head(float *dq, float *dk, float *dv, const float *dy, const float *y, const float *log_sums,
                          const float *q, const float *k, const float *v, int64_t length, int64_t stride, int64_t width,
                          int64_t head_dim, float *scratch) {
    float scale = 1 / sqrtf((float)head_dim);
    float *p = scratch, *dp = scratch + least(TILE, length) * length;
    for (int64_t first = 0; first < length; first += TILE) {
        int64_t rows = least(TILE, length - first), keys = first + rows;
        const float *dy_tile = dy + first * width;
        score(p, q + first * stride, k, rows, keys, head_dim, stride, scale);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)keys, (int)head_dim, 1, dy_tile,
                    (int)width, v, (int)stride, 0, dp, (int)keys);
        for (int64_t r = 0; r < rows; r++) {
            float *row = p + r * keys, *drow = dp + r * keys;
            int64_t seen = first + r + 1;
            exp_and_sum(row, log_sums[first + r], seen);
            /* sum_s p_s dp_s = dy . y */
            float shared = sum_of_products(dy_tile + r * width, y + (first + r) * width, head_dim);
            for (int64_t s = 0; s < seen; s++) drow[s] = row[s] * (drow[s] - shared) * scale;
            memset(row + seen, 0, (size_t)(keys - seen) * sizeof *row);
            memset(drow + seen, 0, (size_t)(keys - seen) * sizeof *drow);
        }
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)keys, (int)head_dim, (int)rows, 1, p, (int)keys,
                    dy_tile, (int)width, 1, dv, (int)stride);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)head_dim, (int)keys, 1, dp, (int)keys, k,
                    (int)stride, 0, dq + first * stride, (int)stride);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)keys, (int)head_dim, (int)rows, 1, dp, (int)keys,
                    q + first * stride, (int)stride, 1, dk, (int)stride);
    }
}

void cpu_attention_backward(float *dqkv, const float *dy, const float *y, const float *log_sums, const float *qkv,
                            int64_t length, int64_t heads, int64_t kv_heads, int64_t head_dim, float *scratch) {
    int64_t stride = (heads + 2 * kv_heads) * head_dim, width = heads * head_dim, group = heads / kv_heads;
    memset(dqkv, 0, (size_t)(length * stride) * sizeof *dqkv);
    for (int64_t h = 0; h < heads; h++) {
        int64_t key = (heads + h / group) * head_dim, value = key + kv_heads * head_dim, at = h * head_dim;
        backward_head(dqkv + at, dqkv + key, dqkv + value, dy + at, y + at, log_sums + h * length, qkv + at, qkv + key,
                      qkv + value, length, stride, width, head_dim, scratch);
    }
}
