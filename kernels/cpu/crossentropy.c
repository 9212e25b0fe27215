/* Softmax, cross-entropy and its gradient, in place on the logits. */
#include "operators.h"
#include "vector_math.h"

/* Multiplies a row by `factor`. */
static void scale_row(float *row, float factor, int64_t count) {
    for (int64_t i = 0; i < count; i++) row[i] *= factor;
}

double cpu_softmax(float *logits, const int32_t *targets, int64_t n, int64_t vocab) {
    double loss = 0;
    for (int64_t t = 0; t < n; t++) {
        float *row = logits + t * vocab, top = max_of(row, vocab);
        double target = targets ? (double)(row[targets[t]] - top) : 0;
        float sum = exp_and_sum(row, top, vocab);
        scale_row(row, 1 / sum, vocab);
        if (targets) loss += log((double)sum) - target;
    }
    return loss;
}

double cpu_softmax_gradient(float *logits, const int32_t *targets, int64_t n, int64_t vocab, float scale) {
    double loss = 0;
    for (int64_t t = 0; t < n; t++) {
        float *row = logits + t * vocab, top = max_of(row, vocab);
        double target = (double)(row[targets[t]] - top);
        float sum = exp_and_sum(row, top, vocab);
        scale_row(row, scale / sum, vocab);
        row[targets[t]] -= scale;
        loss += log((double)sum) - target;
    }
    return loss;
}
