/* Matrix products on OpenBLAS. q|k|v and gate|up lie together in the parameter vector, so each is one call. */
#include "operators.h"

#include <cblas.h>

void cpu_linear_forward(float *y, const float *x, const float *w, int64_t n, int64_t in, int64_t out, int add) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1, x, (int)in, w, (int)in,
                add ? 1 : 0, y, (int)out);
}

void cpu_linear_backward_input(float *dx, const float *dy, const float *w, int64_t n, int64_t in, int64_t out) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in, (int)out, 1, dy, (int)out, w, (int)in, 0,
                dx, (int)in);
}

void cpu_linear_backward_weight(float *dw, const float *dy, const float *x, int64_t n, int64_t in, int64_t out,
                                int add) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1, dy, (int)out, x, (int)in,
                add ? 1 : 0, dw, (int)in);
}
