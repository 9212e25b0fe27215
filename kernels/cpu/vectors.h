/* Vector entries of the openblas back end; see struct backend. */
#ifndef CPU_VECTORS_H
#define CPU_VECTORS_H

#include "kernels.h"

void cpu_combine(float *to, int32_t terms, const float *const *inputs, const double *weights, int64_t count);
double cpu_square_norm(const float *vector, int64_t count);
double cpu_square_distance(const float *a, const float *b, int64_t count);
void cpu_adamw(float *restrict parameters, const float *restrict gradient, float *restrict first,
               float *restrict second, int64_t count, const struct adamw_step *step);
void cpu_outer_momentum(float *to, const float *base, const float *outer_gradient, float *velocity, int64_t count,
                        double rate, double momentum, bool nesterov);
double cpu_js_distance(const float *p, const float *q, int64_t rows, int32_t columns);

#endif
