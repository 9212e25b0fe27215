/* Vector operations that run at the speed of memory. Sums are in double, in lanes of fixed order. */
#include "vectors.h"

#include <math.h>

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

/* Per entry (p + q)/2 f(x) with x = (p - q)/(p + q) and f(x) = ((1+x) ln(1+x) + (1-x) ln(1-x))/2, which keeps its
 * accuracy when the distributions are close. */
static double js_term(double p, double q) {
    double sum = p + q;
    if (!(sum > 0)) return isnan(sum) ? NAN : 0;
    double x = (p - q) / sum, s = x * x;
    if (s < 0.09) /* sum_k x^2k / (2k (2k-1)), the tail below 1e-13 of it */
        return sum / 2 * s *
               (1.0 / 2 +
                s * (1.0 / 12 +
                     s * (1.0 / 30 +
                          s * (1.0 / 56 +
                               s * (1.0 / 90 +
                                    s * (1.0 / 132 +
                                         s * (1.0 / 182 +
                                              s * (1.0 / 240 + s * (1.0 / 306 + s * (1.0 / 380 + s / 462))))))))));
    double f = (x > -1 ? (1 + x) * log1p(x) : 0) + (x < 1 ? (1 - x) * log1p(-x) : 0);
    return sum / 2 * f / 2;
}

double cpu_js_distance(const float *p, const float *q, int64_t rows, int32_t columns) {
    double all = 0;
    for (int64_t r = 0; r < rows; r++) {
        double divergence = 0;
        for (int64_t c = r * columns; c < (r + 1) * columns; c++) divergence += js_term((double)p[c], (double)q[c]);
        if (isnan(divergence)) return NAN;
        all += sqrt(divergence > 0 ? divergence : 0);
    }
    return all;
}
