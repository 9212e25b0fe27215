/* What a back end provides. Entries that are NULL are computed by the reference.
 *
 * A vector is whatever alloc returned; only the back end's own functions look inside. For what each entry computes, see
 * the function of the same name in kernels.h.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include "kernels.h"

struct backend {
    const char *name, *help;
    bool (*probe)(char *why, size_t size);

    /* the model; `activations` is what create made */
    size_t (*activation_bytes)(const struct llama *model, int32_t sequences, int32_t length,
                               enum compute_purpose purpose);
    void *(*create)(const struct llama *model, int32_t sequences, int32_t length, enum compute_purpose purpose,
                    struct error *error);
    void (*free)(void *activations);
    void (*gradient)(void *activations, const float *parameters, const int32_t *tokens, const int32_t *targets,
                     int32_t sequences, double normalizer, bool accumulate, float *gradient, double *loss_sum);
    void (*loss)(void *activations, const float *parameters, const int32_t *tokens, const int32_t *targets,
                 int32_t sequences, double *loss_sum);
    void (*probabilities)(void *activations, const float *parameters, const int32_t *tokens, int32_t sequences,
                          float *probabilities);

    /* vectors */
    void (*combine)(float *to, int32_t terms, const float *const *inputs, const double *weights, int64_t count);
    double (*square_norm)(const float *vector, int64_t count);
    double (*square_distance)(const float *a, const float *b, int64_t count);
    void (*adamw)(float *parameters, const float *gradient, float *first, float *second, int64_t count,
                  const struct adamw_step *step);
    void (*outer_momentum)(float *to, const float *base, const float *outer_gradient, float *velocity, int64_t count,
                           double rate, double momentum, bool nesterov);
    double (*js_distance)(const float *p, const float *q, int64_t rows, int32_t columns);
};

extern const struct backend backend_reference;
extern const struct backend backend_openblas;

#endif
