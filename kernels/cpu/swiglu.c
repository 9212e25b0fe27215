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

struct swiglu_lanes {
    lanes dgate, dup, hidden;
};

static inline struct swiglu_lanes backward_lanes(lanes d, lanes g, lanes u) {
    lanes s = sigmoid(g), silu = g * s;
    return (struct swiglu_lanes){d * u * (s + silu * (1.0f - s)), d * silu, silu * u};
}

void cpu_swiglu_backward(float *dgate_up, float *hidden, const float *dhidden, const float *gate_up, int64_t n,
                         int64_t ffn) {
    for (int64_t t = 0; t < n; t++) {
        const float *g = gate_up + t * 2 * ffn, *u = g + ffn, *d = dhidden + t * ffn;
        float *dg = dgate_up + t * 2 * ffn, *du = dg + ffn, *y = hidden + t * ffn;
        int64_t i = 0, left;
        for (; i + LANES <= ffn; i += LANES) {
            struct swiglu_lanes result = backward_lanes(lanes_load(d + i), lanes_load(g + i), lanes_load(u + i));
            lanes_store(dg + i, result.dgate);
            lanes_store(du + i, result.dup);
            lanes_store(y + i, result.hidden);
        }
        if ((left = ffn - i) <= 0) continue;
        struct swiglu_lanes result = backward_lanes(lanes_load_part(d + i, left, 0), lanes_load_part(g + i, left, 0),
                                                    lanes_load_part(u + i, left, 0));
        lanes_store_part(dg + i, result.dgate, left);
        lanes_store_part(du + i, result.dup, left);
        lanes_store_part(y + i, result.hidden, left);
    }
}
