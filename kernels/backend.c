/* The list of back ends, and the door's functions: each hands on to the back end, or to the reference. */
#include "backend.h"

#include "base/alloc.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Best first: "auto" takes the first that works. */
static const struct backend *const backends[] = {&backend_openblas, &backend_reference};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

int32_t backend_count(void) {
    return BACKENDS;
}
const struct backend *backend_at(int32_t index) {
    return backends[index];
}
const char *backend_name(const struct backend *backend) {
    return backend->name;
}
const char *backend_help(const struct backend *backend) {
    return backend->help;
}
bool backend_probe(const struct backend *backend, char *why, size_t size) {
    return backend->probe(why, size);
}

enum status backend_find(const char *name, const struct backend **backend, struct error *error) {
    char why[160] = "";
    const char *names[BACKENDS + 1] = {[BACKENDS] = "auto"};
    for (int i = 0; i < BACKENDS; i++) {
        names[i] = backends[i]->name;
        bool wanted = strcmp(name, backends[i]->name) == 0;
        if (!wanted && strcmp(name, "auto") != 0) continue;
        if (backends[i]->probe(why, sizeof why)) {
            *backend = backends[i];
            return STATUS_OK;
        }
        if (wanted) return error_set(error, STATUS_UNSUPPORTED, "back end '%s' does not work here: %s", name, why);
    }
    const char *nearest = text_nearest(name, names, BACKENDS + 1);
    return error_set(error, STATUS_INPUT, "unknown backend '%.40s'; %s", name,
                     nearest ? nearest : "there are auto, openblas and reference");
}

/* ---- vectors in host memory ---- */

float *backend_alloc(const struct backend *backend, int64_t count, const char *what, struct error *error) {
    (void)backend;
    return alloc_zero((size_t)count, sizeof(float), what, error);
}

void backend_release(const struct backend *backend, float *vector) {
    (void)backend;
    alloc_free(vector);
}

void backend_upload(const struct backend *backend, float *to, const float *from_host, int64_t count) {
    (void)backend;
    memcpy(to, from_host, (size_t)count * sizeof *to);
}

void backend_download(const struct backend *backend, float *to_host, const float *from, int64_t count) {
    (void)backend;
    memcpy(to_host, from, (size_t)count * sizeof *to_host);
}

void vector_fill(const struct backend *backend, float *to, float value, int64_t count) {
    (void)backend;
    for (int64_t i = 0; i < count; i++) to[i] = value;
}

void vector_copy(const struct backend *backend, float *to, const float *from, int64_t count) {
    (void)backend;
    memcpy(to, from, (size_t)count * sizeof *to);
}

bool vector_equal(const struct backend *backend, const float *a, const float *b, int64_t count) {
    (void)backend;
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

bool vector_finite(const struct backend *backend, const float *vector, int64_t count) {
    (void)backend;
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &vector[i], sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return bad == 0;
}

#define PICK(backend, entry) ((backend)->entry ? (backend)->entry : backend_reference.entry)

void vector_combine(const struct backend *backend, float *to, int32_t terms, const float *const *inputs,
                    const double *weights, int64_t count) {
    int32_t used = 0, last = 0;
    for (int32_t k = 0; k < terms; k++)
        if (weights[k] != 0) used++, last = k;
    if (used == 1 && weights[last] == 1) {
        if (to != inputs[last]) vector_copy(backend, to, inputs[last], count);
        return;
    }
    PICK(backend, combine)(to, terms, inputs, weights, count);
}

double vector_square_norm(const struct backend *backend, const float *vector, int64_t count) {
    return PICK(backend, square_norm)(vector, count);
}

double vector_square_distance(const struct backend *backend, const float *a, const float *b, int64_t count) {
    return PICK(backend, square_distance)(a, b, count);
}

void vector_adamw(const struct backend *backend, float *parameters, const float *gradient, float *first, float *second,
                  int64_t count, const struct adamw_step *step) {
    PICK(backend, adamw)(parameters, gradient, first, second, count, step);
}

void vector_outer_momentum(const struct backend *backend, float *to, const float *base, const float *outer_gradient,
                           float *velocity, int64_t count, double rate, double momentum, bool nesterov) {
    PICK(backend, outer_momentum)(to, base, outer_gradient, velocity, count, rate, momentum, nesterov);
}

double probabilities_js_distance(const struct backend *backend, const float *p, const float *q, int64_t rows,
                                 int32_t columns) {
    return PICK(backend, js_distance)(p, q, rows, columns);
}

/* ---- computes ---- */

struct compute {
    const struct backend *backend;
    void *activations;
};

size_t compute_bytes(const struct llama *model, const struct backend *backend, int32_t sequences, int32_t length,
                     enum compute_purpose purpose) {
    return backend->activation_bytes(model, sequences, length, purpose);
}

struct compute *compute_create(const struct llama *model, const struct backend *backend, int32_t sequences,
                               int32_t length, enum compute_purpose purpose, struct error *error) {
    struct compute *compute = alloc_zero(1, sizeof *compute, "activations", error);
    if (!compute) return NULL;
    compute->backend = backend;
    compute->activations = backend->create(model, sequences, length, purpose, error);
    if (compute->activations) return compute;
    alloc_free(compute);
    return NULL;
}

void compute_free(struct compute *compute) {
    if (!compute) return;
    compute->backend->free(compute->activations);
    alloc_free(compute);
}

void compute_gradient(struct compute *compute, const float *parameters, const int32_t *tokens, const int32_t *targets,
                      int32_t sequences, double normalizer, bool accumulate, float *gradient, double *loss_sum) {
    compute->backend->gradient(compute->activations, parameters, tokens, targets, sequences, normalizer, accumulate,
                               gradient, loss_sum);
}

void compute_loss(struct compute *compute, const float *parameters, const int32_t *tokens, const int32_t *targets,
                  int32_t sequences, double *loss_sum) {
    compute->backend->loss(compute->activations, parameters, tokens, targets, sequences, loss_sum);
}

void compute_probabilities(struct compute *compute, const float *parameters, const int32_t *tokens, int32_t sequences,
                           float *probabilities) {
    compute->backend->probabilities(compute->activations, parameters, tokens, sequences, probabilities);
}
