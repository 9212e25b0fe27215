/* The decoder's operators, fast, in single precision; each is checked against kernels/reference. Shapes as there:
 * n tokens, matrices row-major. Backward functions say whether they add. */
#ifndef CPU_OPERATORS_H
#define CPU_OPERATORS_H

#include <stdint.h>

/* linear.c: y[n, out] = base + x[n, in] w[out, in]^T; base NULL: 0; base may be y */
void cpu_linear_forward(float *y, const float *base, const float *x, const float *w, int64_t n, int64_t in,
                        int64_t out);
/* dx[n, in] = dy w; dw[out, in] (+)= dy^T x */
void cpu_linear_backward_input(float *dx, const float *dy, const float *w, int64_t n, int64_t in, int64_t out);
void cpu_linear_backward_weight(float *dw, const float *dy, const float *x, int64_t n, int64_t in, int64_t out,
                                int add);

/* rmsnorm.c: inverse[n] keeps 1 / rms for the way back. dx += ..., dgain += ... */
void cpu_rmsnorm_forward(float *y, float *inverse, const float *x, const float *gain, int64_t n, int64_t dim,
                         float epsilon);
void cpu_rmsnorm_again(float *restrict y, const float *restrict inverse, const float *restrict x,
                       const float *restrict gain, int64_t n, int64_t dim); /* the same bits from what was kept */
void cpu_rmsnorm_backward(float *dx, float *dgain, const float *dy, const float *x, const float *gain,
                          const float *inverse, int64_t n, int64_t dim);

/* rope.c: table [length, 2 head_dim]: head_dim cosines, then as many sines with their sign */
void cpu_rope_table(float *table, int64_t length, int64_t head_dim, double theta);
void cpu_rope(float *x, const float *table, int64_t sequences, int64_t length, int64_t heads, int64_t head_dim,
              int64_t stride, int inverse);

/* attention.c: one sequence; log_sums [heads, T] keeps log sum exp of each row. scratch: cpu_attention_scratch floats.
 */
int64_t cpu_attention_scratch(int64_t length, int64_t head_dim);
void cpu_attention_forward(float *y, float *log_sums, const float *qkv, int64_t length, int64_t heads, int64_t kv_heads,
                           int64_t head_dim, float *scratch);
/* dqkv is written whole */
void cpu_attention_backward(float *dqkv, const float *dy, const float *log_sums, const float *qkv, int64_t length,
                            int64_t heads, int64_t kv_heads, int64_t head_dim, float *scratch);

/* swiglu.c: the way back writes dgate_up, and the forward's output again */
void cpu_swiglu_forward(float *hidden, const float *gate_up, int64_t n, int64_t ffn);
void cpu_swiglu_backward(float *dgate_up, float *hidden, const float *dhidden, const float *gate_up, int64_t n,
                         int64_t ffn);

/* crossentropy.c: logits [n, vocab] become probabilities / their gradient times scale; the sum of losses is returned */
double cpu_softmax(float *logits, const int32_t *targets, int64_t n, int64_t vocab);
double cpu_softmax_gradient(float *logits, const int32_t *targets, int64_t n, int64_t vocab, float scale);

#endif
