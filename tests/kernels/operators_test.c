/* The openblas back end against the reference over odd shapes, and what must not change a result. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "kernels/kernels.h"

struct shape {
    const char *name;
    struct llama_def def;
    int32_t sequences;
};

static const struct shape shapes[] = {
    {"tiny", {64, 2, 4, 2, 192, 256, 64, 10000, 1e-5, false}, 2},
    {"odd everything", {24, 2, 3, 1, 40, 257, 13, 10000, 1e-5, true}, 3},
    {"one token", {16, 1, 2, 2, 8, 16, 1, 10000, 1e-5, false}, 1},
    {"longer than a tile", {32, 1, 4, 2, 70, 100, 130, 10000, 1e-5, false}, 2},
    {"exactly a tile and one", {8, 1, 1, 1, 17, 31, 65, 10000, 1e-5, false}, 1},
    {"heads of one panel, three to a key", {96, 1, 6, 2, 64, 50, 33, 10000, 1e-5, false}, 2},
    {"heads of two panels", {64, 1, 2, 1, 33, 50, 40, 10000, 1e-5, false}, 2},
    {"heads of two panels and a half", {80, 1, 2, 2, 48, 50, 18, 10000, 1e-5, false}, 1},
    {"more than goes together", {32, 2, 2, 1, 48, 64, 100, 10000, 1e-5, true}, 5},
    {"a head for OpenBLAS", {64, 1, 4, 2, 32, 8200, 9, 10000, 1e-5, true}, 2},
    {"narrow", {2, 3, 1, 1, 1, 2, 3, 10000, 1e-5, false}, 5},
};

struct setting {
    struct llama *model;
    const struct backend *reference, *fast;
    int64_t count;
    int32_t sequences, length;
    float *parameters, *expected, *got;
    int32_t *tokens, *targets;
};

static void make(struct setting *s, const struct shape *shape) {
    struct error error;
    assert_int_equal(backend_find("reference", &s->reference, &error), STATUS_OK);
    assert_int_equal(backend_find("openblas", &s->fast, &error), STATUS_OK);
    s->model = llama_create(&shape->def, &error);
    assert_non_null(s->model);
    s->count = llama_parameters(s->model);
    s->sequences = shape->sequences;
    s->length = shape->def.context;
    s->parameters = backend_alloc(s->fast, s->count, "test", &error);
    s->expected = backend_alloc(s->fast, s->count, "test", &error);
    s->got = backend_alloc(s->fast, s->count, "test", &error);
    size_t tokens = (size_t)s->sequences * (size_t)s->length;
    s->tokens = alloc_zero(tokens, sizeof *s->tokens, "test", &error);
    s->targets = alloc_zero(tokens, sizeof *s->targets, "test", &error);
    llama_initialize(s->model, s->fast, 3, s->parameters);
    struct rng rng = rng_stream(5, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < s->count; i++)
        s->parameters[i] *= 1 + (float)rng_uniform(&rng) * 4; /* away from the flat start */
    for (size_t i = 0; i < tokens; i++) {
        s->tokens[i] = (int32_t)rng_below(&rng, (uint32_t)shape->def.vocab);
        s->targets[i] = (int32_t)rng_below(&rng, (uint32_t)shape->def.vocab);
    }
}

static void drop(struct setting *s) {
    backend_release(s->fast, s->parameters);
    backend_release(s->fast, s->expected);
    backend_release(s->fast, s->got);
    alloc_free(s->tokens);
    alloc_free(s->targets);
    llama_free(s->model);
}

static double gradient(struct setting *s, const struct backend *backend, int32_t sequences, bool accumulate,
                       float *to) {
    struct error error;
    double loss;
    struct compute *compute = compute_create(s->model, backend, s->sequences, s->length, COMPUTE_TRAINING, &error);
    assert_non_null(compute);
    if (!accumulate) vector_fill(backend, to, NAN, s->count); /* what was there must not matter */
    compute_gradient(compute, s->parameters, s->tokens, s->targets, sequences, (double)s->sequences * s->length,
                     accumulate, to, &loss);
    compute_free(compute);
    return loss;
}

/* Both sum in single precision, in different orders: the difference is a few 1e-7 times the square root of the longest
 * sum (a few hundred), so 1e-4 of a tensor's norm is ample; 1e-6 of the whole gradient's norm covers tensors whose
 * gradient is exactly 0 (q and k for a single token), where only the rounding of what cancels is left. */
static void test_gradients_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct setting s;
        make(&s, &shapes[i]);
        double expected = gradient(&s, s.reference, s.sequences, false, s.expected);
        double got = gradient(&s, s.fast, s.sequences, false, s.got);
        assert_true(fabs(expected - got) <= 1e-5 * fabs(expected));
        double whole = sqrt(vector_square_norm(s.reference, s.expected, s.count));
        for (int32_t t = 0; t < llama_tensor_count(s.model); t++) {
            const struct llama_tensor *tensor = llama_tensor(s.model, t);
            int64_t size = tensor->rows * tensor->columns;
            double distance =
                sqrt(vector_square_distance(s.reference, s.expected + tensor->offset, s.got + tensor->offset, size));
            double norm = sqrt(vector_square_norm(s.reference, s.expected + tensor->offset, size));
            if (distance <= 1e-4 * norm + 1e-6 * whole) continue;
            print_error("%s, %s: differ by %g of %g\n", shapes[i].name, tensor->name, distance, norm);
            fail();
        }
        drop(&s);
    }
}

/* Two halves accumulated equal the whole, up to the order of sums. */
static void test_accumulation(void **state) {
    (void)state;
    const char *const names[] = {"reference", "openblas"};
    for (int b = 0; b < 2; b++) {
        struct setting s;
        struct error error;
        make(&s, &shapes[0]);
        const struct backend *backend = b ? s.fast : s.reference;
        double whole = gradient(&s, backend, 2, false, s.expected);
        double first = gradient(&s, backend, 1, false, s.got);
        memmove(s.tokens, s.tokens + s.length, (size_t)s.length * sizeof *s.tokens);
        memmove(s.targets, s.targets + s.length, (size_t)s.length * sizeof *s.targets);
        double second = gradient(&s, backend, 1, true, s.got);
        assert_true(fabs(first + second - whole) <= 1e-6 * whole);
        double distance = sqrt(vector_square_distance(backend, s.expected, s.got, s.count));
        if (distance > 1e-5 * sqrt(vector_square_norm(backend, s.expected, s.count))) {
            print_error("%s: accumulated gradient differs by %g\n", names[b], distance);
            fail();
        }
        (void)error;
        drop(&s);
    }
}

/* A sequence's loss has the same bits alone and among others; probabilities sum to 1 and give the same loss. */
static void test_loss_of_one_sequence(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct setting s;
        struct error error;
        make(&s, &shapes[i]);
        int32_t vocab = shapes[i].def.vocab;
        struct compute *many = compute_create(s.model, s.fast, s.sequences, s.length, COMPUTE_EVALUATION, &error);
        struct compute *one = compute_create(s.model, s.fast, 1, s.length, COMPUTE_EVALUATION, &error);
        float *p = backend_alloc(s.fast, (int64_t)s.length * vocab, "test", &error);
        double all, sum = 0;
        compute_loss(many, s.parameters, s.tokens, s.targets, s.sequences, &all);
        for (int32_t q = 0; q < s.sequences; q++) {
            double loss, from_p = 0;
            compute_loss(one, s.parameters, s.tokens + q * s.length, s.targets + q * s.length, 1, &loss);
            sum += loss;
            compute_probabilities(one, s.parameters, s.tokens + q * s.length, 1, p);
            for (int32_t t = 0; t < s.length; t++) {
                double total = 0;
                for (int32_t v = 0; v < vocab; v++) total += (double)p[t * vocab + v];
                assert_true(fabs(total - 1) < 1e-5);
                from_p -= log((double)p[t * vocab + s.targets[q * s.length + t]]);
            }
            assert_true(fabs(from_p - loss) <= 1e-5 * loss + 1e-5);
        }
        assert_true(sum == all);
        compute_free(many);
        compute_free(one);
        backend_release(s.fast, p);
        drop(&s);
    }
}

static void test_untrained_loss(void **state) {
    struct setting s;
    struct error error;
    double loss;
    (void)state;
    make(&s, &shapes[0]);
    llama_initialize(s.model, s.fast, 1, s.parameters);
    struct compute *compute = compute_create(s.model, s.fast, 2, s.length, COMPUTE_EVALUATION, &error);
    compute_loss(compute, s.parameters, s.tokens, s.targets, 2, &loss);
    assert_true(fabs(loss / (2 * s.length) / log(256) - 1) < 0.01);
    compute_free(compute);
    drop(&s);
}

/* A run that diverges shows in the loss, wherever the number that is none lies. */
static void test_divergence_shows(void **state) {
    static const float values[] = {NAN, INFINITY, -INFINITY, 1e38f};
    (void)state;
    for (int b = 0; b < 2; b++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            struct setting s;
            make(&s, &shapes[0]);
            const struct backend *backend = b ? s.fast : s.reference;
            for (int32_t t = 0; t < llama_tensor_count(s.model); t++) {
                const struct llama_tensor *tensor = llama_tensor(s.model, t);
                int64_t at = tensor->offset + (tensor->kind == LLAMA_EMBEDDING ? s.tokens[0] * tensor->columns : 0);
                float kept = s.parameters[at];
                s.parameters[at] = values[v];
                double loss = gradient(&s, backend, 1, false, s.got);
                s.parameters[at] = kept;
                if (!isfinite(loss) || isfinite(values[v])) continue; /* 1e38 may be normalised away */
                print_error("%s, %s %g: loss %g\n", b ? "openblas" : "reference", tensor->name, (double)values[v],
                            loss);
                fail();
            }
            drop(&s);
        }
}

/* ---- threads ---- */

struct job {
    struct setting *setting;
    float *gradient;
};

static void *run_job(void *argument) {
    struct job *job = argument;
    gradient(job->setting, job->setting->fast, job->setting->sequences, false, job->gradient);
    return NULL;
}

/* The same bits from several threads at once as alone. */
static void test_threads(void **state) {
    enum { THREADS = 4 };
    struct setting s;
    struct error error;
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    (void)state;
    make(&s, &shapes[0]);
    gradient(&s, s.fast, s.sequences, false, s.expected);
    for (int repeat = 0; repeat < 5; repeat++) {
        for (int i = 0; i < THREADS; i++) {
            jobs[i] = (struct job){&s, backend_alloc(s.fast, s.count, "test", &error)};
            assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_true(vector_equal(s.fast, jobs[i].gradient, s.expected, s.count));
            backend_release(s.fast, jobs[i].gradient);
        }
    }
    drop(&s);
}

/* Lack of memory at any allocation ends in STATUS_MEMORY and leaks nothing. */
static void test_no_memory(void **state) {
    struct llama_def def = shapes[1].def;
    const char *const names[] = {"reference", "reference", "openblas", "openblas"};
    (void)state;
    for (int b = 0; b < 4; b++) {
        const struct backend *backend;
        struct error error = {0};
        assert_int_equal(backend_find(names[b], &backend, &error), STATUS_OK);
        int64_t before = alloc_live_blocks();
        bool made = false;
        for (int n = 1; !made && n < 100; n++) {
            alloc_fail_at(n, false);
            struct llama *model = llama_create(&def, &error);
            enum compute_purpose purpose = b % 2 ? COMPUTE_EVALUATION : COMPUTE_TRAINING;
            struct compute *compute = model ? compute_create(model, backend, 2, 13, purpose, &error) : NULL;
            float *vector = compute ? backend_alloc(backend, 10, "test", &error) : NULL;
            alloc_fail_at(0, false);
            made = vector != NULL;
            backend_release(backend, vector);
            if (!made) assert_int_equal(error.status, STATUS_MEMORY);
            compute_free(compute);
            llama_free(model);
            assert_int_equal(alloc_live_blocks(), before);
        }
        assert_true(made);
    }
}

static void test_backend_names(void **state) {
    const struct backend *backend;
    struct error error;
    (void)state;
    assert_int_equal(backend_find("auto", &backend, &error), STATUS_OK);
    assert_string_equal(backend_name(backend), "openblas");
    assert_int_equal(backend_find("openbals", &backend, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "openblas"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients_agree),
                                       cmocka_unit_test(test_accumulation),
                                       cmocka_unit_test(test_loss_of_one_sequence),
                                       cmocka_unit_test(test_untrained_loss),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_backend_names),
                                       cmocka_unit_test(test_divergence_shows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
