/* Rotary positions: x[i] and x[i + half] of each head turn by an angle that depends on the token's place. Written as
 * y[i] = x[i] cosine[i] + x[the other of the pair] sine[i] over the whole head, with the sign in the sine. */
#include "operators.h"
#include "vector_math.h"

void cpu_rope_table(float *table, int64_t length, int64_t head_dim, double theta) {
    int64_t half = head_dim / 2;
    for (int64_t t = 0; t < length; t++)
        for (int64_t i = 0; i < half; i++) {
            double angle = (double)t * pow(theta, -2.0 * (double)i / (double)head_dim);
            float *cosine = table + t * 2 * head_dim, *sine = cosine + head_dim;
            cosine[i] = cosine[half + i] = (float)cos(angle);
            sine[half + i] = (float)sin(angle);
            sine[i] = -sine[half + i];
        }
}

/* One head of exactly LANES. */
static inline void rotate_lanes(float *x, const float *cosine, const float *sine, float direction) {
    lanes v = lanes_load(x);
    lanes_store(x, v * lanes_load(cosine) + lanes_swap_halves(v) * (direction * lanes_load(sine)));
}

static inline void rotate(float *restrict a, const float *restrict cosine, const float *restrict sine, int64_t half,
                          float direction) {
    float *restrict b = a + half;
    for (int64_t i = 0; i < half; i++) {
        float turned = a[i] * cosine[i] + b[i] * (direction * sine[i]);
        b[i] = b[i] * cosine[i] + a[i] * (direction * sine[half + i]);
        a[i] = turned;
    }
}

void cpu_rope(float *x, const float *table, int64_t sequences, int64_t length, int64_t heads, int64_t head_dim,
              int64_t stride, int inverse) {
    float direction = inverse ? -1.0f : 1.0f;
    for (int64_t row = 0; row < sequences * length; row++) {
        const float *cosine = table + row % length * 2 * head_dim, *sine = cosine + head_dim;
        float *head = x + row * stride;
        for (int64_t h = 0; h < heads; h++, head += head_dim) {
            if (head_dim == LANES)
                rotate_lanes(head, cosine, sine, direction);
            else
                rotate(head, cosine, sine, head_dim / 2, direction);
        }
    }
}
