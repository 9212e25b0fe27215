#include "operators.h"
#include "vector_math.h"

void cpu_rmsnorm_forward(float *y, float *inverse, const float *x, const float *gain, int64_t n, int64_t dim,
                         float epsilon) {
    for (int64_t t = 0; t < n; t++) {
        const float *xt = x + t * dim;
        float *yt = y + t * dim;
        float scale = 1 / sqrtf(sum_of_products(xt, xt, dim) / (float)dim + epsilon);
        inverse[t] = scale;
        for (int64_t i = 0; i < dim; i++) yt[i] = xt[i] * scale * gain[i];
    }
}

void cpu_rmsnorm_again(float *restrict y, const float *restrict inverse, const float *restrict x,
                       const float *restrict gain, int64_t n, int64_t dim) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < dim; i++) y[t * dim + i] = x[t * dim + i] * inverse[t] * gain[i];
}

void cpu_rmsnorm_backward(float *dx, float *dgain, const float *dy, const float *x, const float *gain,
                          const float *inverse, int64_t n, int64_t dim) {
    for (int64_t t = 0; t < n; t++) {
        const float *xt = x + t * dim, *dyt = dy + t * dim;
        float *dxt = dx + t * dim;
        float scale = inverse[t];
        lanes sum = {0};
        int64_t i = 0;
        for (; i + LANES <= dim; i += LANES) sum += lanes_load(dyt + i) * lanes_load(gain + i) * lanes_load(xt + i);
        if (i < dim)
            sum += lanes_load_part(dyt + i, dim - i, 0) * lanes_load_part(gain + i, dim - i, 0) *
                   lanes_load_part(xt + i, dim - i, 0);
        float shared = lanes_sum(sum) * scale * scale * scale / (float)dim;
        for (int64_t j = 0; j < dim; j++) {
            dgain[j] += dyt[j] * xt[j] * scale;
            dxt[j] += dyt[j] * gain[j] * scale - xt[j] * shared;
        }
    }
}
