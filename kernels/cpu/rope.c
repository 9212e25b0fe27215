#include "operators.h"

#include <math.h>

void cpu_rope_table(float *table, int64_t length, int64_t head_dim, double theta) {
    int64_t half = head_dim / 2;
    for (int64_t t = 0; t < length; t++)
        for (int64_t i = 0; i < half; i++) {
            double angle = (double)t * pow(theta, -2.0 * (double)i / (double)head_dim);
            table[t * head_dim + i] = (float)cos(angle);
            table[t * head_dim + half + i] = (float)sin(angle);
        }
}

void cpu_rope(float *x, const float *table, int64_t sequences, int64_t length, int64_t heads, int64_t head_dim,
              int64_t stride, int inverse) {
    int64_t half = head_dim / 2;
    float direction = inverse ? -1.0f : 1.0f;
    for (int64_t row = 0; row < sequences * length; row++) {
        const float *cosine = table + row % length * head_dim, *sine = cosine + half;
        for (int64_t h = 0; h < heads; h++) {
            float *restrict a = x + row * stride + h * head_dim, *restrict b = a + half;
            for (int64_t i = 0; i < half; i++) {
                float s = direction * sine[i], rotated = a[i] * cosine[i] - b[i] * s;
                b[i] = a[i] * s + b[i] * cosine[i];
                a[i] = rotated;
            }
        }
    }
}
