#include "operators.h"
#include "vector_math.h"

static inline lanes sigmoid(lanes x) {
    return 1.0f / (1.0f + lanes_exp(lanes_min(-x, lanes_of(88.0f))));
}

void cpu_swiglu_forward(float *hidden, const float *gate_up, int64_t n, int64_t ffn) {
    for (int64_t t = 0; t < n; t++) {
        const float *g = gate_up + t * 2 * ffn, *u = g + ffn;
        float *y = hidden + t * ffn;
        int64_t i = 0;
        for (; i + LANES <= ffn; i += LANES) {
            lanes gate = lanes_load(g + i);
            lanes_store(y + i, gate * sigmoid(gate) * lanes_load(u + i));
        }
        if (i < ffn) {
            lanes gate = lanes_load_part(g + i, ffn - i, 0);
            lanes_store_part(y + i, gate * sigmoid(gate) * lanes_load_part(u + i, ffn - i, 0), ffn - i);
        }
    }
}

static inline void backward_lanes(lanes *dg, lanes *du, lanes d, lanes g, lanes u) {
    lanes s = sigmoid(g);
    *dg = d * u * s * (1.0f + g * (1.0f - s));
    *du = d * g * s;
}

void cpu_swiglu_backward(float *dgate_up, const float *dhidden, const float *gate_up, int64_t n, int64_t ffn) {
    for (int64_t t = 0; t < n; t++) {
        const float *g = gate_up + t * 2 * ffn, *u = g + ffn, *d = dhidden + t * ffn;
        float *dg = dgate_up + t * 2 * ffn, *du = dg + ffn;
        lanes gate, up;
        int64_t i = 0, left;
        for (; i + LANES <= ffn; i += LANES) {
            backward_lanes(&gate, &up, lanes_load(d + i), lanes_load(g + i), lanes_load(u + i));
            lanes_store(dg + i, gate);
            lanes_store(du + i, up);
        }
        if ((left = ffn - i) <= 0) continue;
        backward_lanes(&gate, &up, lanes_load_part(d + i, left, 0), lanes_load_part(g + i, left, 0),
                       lanes_load_part(u + i, left, 0));
        lanes_store_part(dg + i, gate, left);
        lanes_store_part(du + i, up, left);
    }
}
