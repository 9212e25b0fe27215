/* The back end that is easy to believe: plain loops in single precision, one sequence at a time. */
#include "../backend.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define real    float
#define F(name) name##_f32
#include "decoder.inc"

static bool probe(char *why, size_t size) {
    snprintf(why, size, "plain loops");
    return true;
}

static size_t activation_bytes(const struct llama *model, int32_t sequences, int32_t length,
                               enum compute_purpose purpose) {
    (void)sequences;
    (void)purpose;
    return activation_count_f32(model, length) * sizeof(float);
}

static void *create(const struct llama *model, int32_t sequences, int32_t length, enum compute_purpose purpose,
                    struct error *error) {
    (void)sequences;
    (void)purpose;
    return activations_create_f32(model, length, error);
}

static void release(void *activations) {
    activations_free_f32(activations);
}

static void gradient(void *activations, const float *parameters, const int32_t *tokens, const int32_t *targets,
                     int32_t sequences, double normalizer, bool accumulate, float *gradient, double *loss_sum) {
    struct activations_f32 *a = activations;
    if (!accumulate) zero_f32(gradient, llama_parameters(a->model));
    *loss_sum = 0;
    for (int32_t i = 0; i < sequences; i++)
        *loss_sum += backward_f32(a, parameters, tokens + (int64_t)i * a->length, targets + (int64_t)i * a->length,
                                  normalizer, gradient);
}

static void loss(void *activations, const float *parameters, const int32_t *tokens, const int32_t *targets,
                 int32_t sequences, double *loss_sum) {
    struct activations_f32 *a = activations;
    *loss_sum = 0;
    for (int32_t i = 0; i < sequences; i++)
        *loss_sum += forward_f32(a, parameters, tokens + (int64_t)i * a->length, targets + (int64_t)i * a->length);
}

static void probabilities(void *activations, const float *parameters, const int32_t *tokens, int32_t sequences,
                          float *to) {
    struct activations_f32 *a = activations;
    int64_t size = (int64_t)a->length * llama_get_def(a->model)->vocab;
    for (int32_t i = 0; i < sequences; i++) {
        forward_f32(a, parameters, tokens + (int64_t)i * a->length, NULL);
        memcpy(to + i * size, a->logits, (size_t)size * sizeof *to);
    }
}

/* ---- vectors ---- */

static void combine(float *to, int32_t terms, const float *const *inputs, const double *weights, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int32_t k = 0; k < terms; k++)
            if (weights[k] != 0) sum += weights[k] * (double)inputs[k][i];
        to[i] = (float)sum;
    }
}

static double square_norm(const float *vector, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)vector[i] * (double)vector[i];
    return sum;
}

static double square_distance(const float *a, const float *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

static void adamw(float *parameters, const float *gradient, float *first, float *second, int64_t count,
                  const struct adamw_step *step) {
    double correct_first = 1 - pow(step->beta1, (double)step->step),
           correct_second = 1 - pow(step->beta2, (double)step->step);
    for (int64_t i = 0; i < count; i++) {
        double g = step->gradient_scale * (double)gradient[i];
        double m = step->beta1 * (double)first[i] + (1 - step->beta1) * g;
        double v = step->beta2 * (double)second[i] + (1 - step->beta2) * g * g;
        first[i] = (float)m;
        second[i] = (float)v;
        double update = m / correct_first / (sqrt(v / correct_second) + step->epsilon);
        parameters[i] = (float)((double)parameters[i] -
                                step->learning_rate * (update + step->weight_decay * (double)parameters[i]));
    }
}

static void outer_momentum(float *to, const float *base, const float *outer_gradient, float *velocity, int64_t count,
                           double rate, double momentum, bool nesterov) {
    for (int64_t i = 0; i < count; i++) {
        double delta = (double)outer_gradient[i];
        float v = (float)(momentum * (double)velocity[i] + delta);
        velocity[i] = v;
        double direction = nesterov ? delta + momentum * (double)v : (double)v;
        to[i] = (float)((double)base[i] - rate * direction);
    }
}

static double js_distance(const float *p, const float *q, int64_t rows, int32_t columns) {
    double total = 0;
    for (int64_t r = 0; r < rows; r++) {
        double divergence = 0;
        for (int64_t c = r * columns; c < (r + 1) * columns; c++) {
            double a = (double)p[c], b = (double)q[c], middle = (a + b) / 2;
            if (isnan(middle)) return NAN;
            if (a > 0) divergence += 0.5 * a * log(a / middle);
            if (b > 0) divergence += 0.5 * b * log(b / middle);
        }
        total += sqrt(divergence > 0 ? divergence : 0);
    }
    return total;
}

const struct backend backend_reference = {
    .name = "reference",
    .help = "plain loops in single precision; slow, the measure of the others",
    .probe = probe,
    .activation_bytes = activation_bytes,
    .create = create,
    .free = release,
    .gradient = gradient,
    .loss = loss,
    .probabilities = probabilities,
    .combine = combine,
    .square_norm = square_norm,
    .square_distance = square_distance,
    .adamw = adamw,
    .outer_momentum = outer_momentum,
    .js_distance = js_distance,
};
