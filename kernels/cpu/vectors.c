/* Vector operations that run at the speed of memory. Sums are in double, in lanes of fixed order. */
#include "vectors.h"
#include "vector_math.h"

enum { SUMS = 16 };

/* A piece at a time, so that the double sums stay in the first-level cache. */
void cpu_combine(float *to, int32_t terms, const float *const *inputs, const double *weights, int64_t count) {
    enum { PIECE = 1024 };
    double sum[PIECE];
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t size = count - first < PIECE ? count - first : PIECE;
        for (int64_t i = 0; i < size; i++) sum[i] = 0;
        for (int32_t k = 0; k < terms; k++) {
            if (weights[k] == 0) continue;
            const float *input = inputs[k] + first;
            double weight = weights[k];
            for (int64_t i = 0; i < size; i++) sum[i] += weight * (double)input[i];
        }
        for (int64_t i = 0; i < size; i++) to[first + i] = (float)sum[i];
    }
}

static double total(const double *sums) {
    double all = 0;
    for (int l = 0; l < SUMS; l++) all += sums[l];
    return all;
}

double cpu_square_norm(const float *vector, int64_t count) {
    double sums[SUMS] = {0};
    int64_t i = 0;
    for (; i + SUMS <= count; i += SUMS)
        for (int l = 0; l < SUMS; l++) sums[l] += (double)vector[i + l] * (double)vector[i + l];
    for (; i < count; i++) sums[0] += (double)vector[i] * (double)vector[i];
    return total(sums);
}

double cpu_square_distance(const float *a, const float *b, int64_t count) {
    double sums[SUMS] = {0};
    int64_t i = 0;
    for (; i + SUMS <= count; i += SUMS)
        for (int l = 0; l < SUMS; l++) {
            double d = (double)a[i + l] - (double)b[i + l];
            sums[l] += d * d;
        }
    for (; i < count; i++) sums[0] += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return total(sums);
}

void cpu_adamw(float *restrict parameters, const float *restrict gradient, float *restrict first,
               float *restrict second, int64_t count, const struct adamw_step *step) {
    float rate = (float)(step->learning_rate / (1 - pow(step->beta1, (double)step->step)));
    float correct = (float)(1 / (1 - pow(step->beta2, (double)step->step)));
    float keep = (float)(1 - step->learning_rate * step->weight_decay), scale = (float)step->gradient_scale;
    float b1 = (float)step->beta1, c1 = (float)(1 - step->beta1), b2 = (float)step->beta2,
          c2 = (float)(1 - step->beta2);
    float epsilon = (float)step->epsilon;
    for (int64_t i = 0; i < count; i++) {
        float g = scale * gradient[i];
        float m = b1 * first[i] + c1 * g, v = b2 * second[i] + c2 * g * g;
        first[i] = m;
        second[i] = v;
        parameters[i] = keep * parameters[i] - rate * m / (sqrtf(v * correct) + epsilon);
    }
}

void cpu_outer_momentum(float *to, const float *base, const float *outer_gradient, float *velocity, int64_t count,
                        double rate, double momentum, bool nesterov) {
    double ahead = nesterov ? momentum : 1, straight = nesterov ? 1 : 0;
    for (int64_t i = 0; i < count; i++) {
        double delta = (double)outer_gradient[i];
        float v = (float)(momentum * (double)velocity[i] + delta);
        velocity[i] = v;
        to[i] = (float)((double)base[i] - rate * (straight * delta + ahead * (double)v));
    }
}

/* ---- Jensen-Shannon ---- */

/* ((1+x) ln(1+x) + (1-x) ln(1-x)) / 2 for x in [0, 1]: near 0 by its series sum_k x^2k / (2k (2k-1)), in which nothing
 * cancels; from 1/2 on the logarithms cancel to no less than a quarter of the larger. */
static inline lanes divergence_of(lanes x) {
    lanes s = x * x, series = lanes_of(1.0f / 462);
    static const float terms[] = {380, 306, 240, 182, 132, 90, 56, 30, 12, 2};
    for (size_t k = 0; k < sizeof terms / sizeof terms[0]; k++) series = series * s + 1.0f / terms[k];
    lanes above = 1.0f + x, below = 1.0f - x;
    lanes logs = 0.5f * (above * lanes_log(above) + below * lanes_log(below));
    return lanes_pick(s < 0.25f, series * s, logs);
}

/* Per entry (p + q)/2 f(|p - q| / (p + q)): a sum of terms that are never negative, however close p and q are. */
static inline lanes js_terms(lanes p, lanes q) {
    lanes sum = p + q, difference = lanes_max(p, q) - lanes_min(p, q);
    lanes term = 0.5f * sum * divergence_of(difference / sum);
    return lanes_keep(sum != 0.0f, term); /* NaN is not 0: it stays */
}

/* A few entries in single precision at a time, these added in double. */
static double js_divergence(const float *p, const float *q, int64_t count) {
    enum { PIECE = 4 * LANES };
    double all = 0;
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t end = count - first < PIECE ? count : first + PIECE, i = first;
        lanes sum = {0};
        for (; i + LANES <= end; i += LANES) sum += js_terms(lanes_load(p + i), lanes_load(q + i));
        if (i < end) sum += js_terms(lanes_load_part(p + i, end - i, 0), lanes_load_part(q + i, end - i, 0));
        all += (double)lanes_sum(sum);
    }
    return all;
}

double cpu_js_distance(const float *p, const float *q, int64_t rows, int32_t columns) {
    double all = 0;
    for (int64_t r = 0; r < rows; r++) all += sqrt(js_divergence(p + r * columns, q + r * columns, columns));
    return all;
}
