/* Attention of one sequence against the definition in double, with whatever was in the scratch before. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "cpu/operators.h"

static const struct shape {
    int64_t length, heads, kv_heads, head_dim;
} shapes[] = {
    {1, 1, 1, 2}, {5, 2, 1, 6}, {15, 3, 3, 16}, {16, 4, 2, 16}, {17, 2, 2, 20}, {33, 6, 2, 32}, {70, 2, 1, 48},
};

struct setting {
    struct shape shape;
    int64_t stride, width;
    float *qkv, *y, *dy, *dqkv, *log_sums, *scratch;
    double *expected_y, *expected_dqkv;
};

static void *zeros(int64_t count, size_t size) {
    struct error error;
    void *memory = alloc_zero((size_t)count, size, "test", &error);
    assert_non_null(memory);
    return memory;
}

static void make(struct setting *s, struct shape shape) {
    s->shape = shape;
    s->stride = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    s->width = shape.heads * shape.head_dim;
    s->qkv = zeros(shape.length * s->stride, sizeof(float));
    s->dqkv = zeros(shape.length * s->stride, sizeof(float));
    s->y = zeros(shape.length * s->width, sizeof(float));
    s->dy = zeros(shape.length * s->width, sizeof(float));
    s->log_sums = zeros(shape.length * shape.heads, sizeof(float));
    s->expected_y = zeros(shape.length * s->width, sizeof(double));
    s->expected_dqkv = zeros(shape.length * s->stride, sizeof(double));
    int64_t scratch = cpu_attention_scratch(shape.length, shape.head_dim);
    s->scratch = zeros(scratch, sizeof(float));
    for (int64_t i = 0; i < scratch; i++) s->scratch[i] = NAN;
    struct rng rng = rng_stream(4, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < shape.length * s->stride; i++) s->qkv[i] = (float)rng_normal(&rng);
    for (int64_t i = 0; i < shape.length * s->width; i++) s->dy[i] = (float)rng_normal(&rng);
}

static void drop(struct setting *s) {
    void *const all[] = {s->qkv, s->dqkv, s->y, s->dy, s->log_sums, s->expected_y, s->expected_dqkv, s->scratch};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) alloc_free(all[i]);
}

/* Adds query t of head h to the expected values. */
static void one_query(struct setting *s, int64_t t, int64_t h) {
    int64_t head_dim = s->shape.head_dim, kv = s->shape.heads + h / (s->shape.heads / s->shape.kv_heads);
    int64_t q = t * s->stride + h * head_dim, out = t * s->width + h * head_dim;
    double p[128], dp[128], sum = 0, shared = 0, scale = 1 / sqrt((double)head_dim);
    for (int64_t key = 0; key <= t; key++) {
        int64_t k = key * s->stride + kv * head_dim, v = k + s->shape.kv_heads * head_dim;
        double score = dp[key] = 0;
        for (int64_t i = 0; i < head_dim; i++) {
            score += (double)s->qkv[q + i] * (double)s->qkv[k + i];
            dp[key] += (double)s->dy[out + i] * (double)s->qkv[v + i];
        }
        sum += p[key] = exp(scale * score);
    }
    for (int64_t key = 0; key <= t; key++) shared += (p[key] /= sum) * dp[key];
    for (int64_t key = 0; key <= t; key++) {
        int64_t k = key * s->stride + kv * head_dim, v = k + s->shape.kv_heads * head_dim;
        double dscore = p[key] * (dp[key] - shared) * scale;
        for (int64_t i = 0; i < head_dim; i++) {
            s->expected_y[out + i] += p[key] * (double)s->qkv[v + i];
            s->expected_dqkv[v + i] += p[key] * (double)s->dy[out + i];
            s->expected_dqkv[k + i] += dscore * (double)s->qkv[q + i];
            s->expected_dqkv[q + i] += dscore * (double)s->qkv[k + i];
        }
    }
}

/* Scores reach about 5 and probabilities add up to 1: each carries about 5 * 2^-23 of relative error. A gradient of a
 * key sums them over all queries of its heads, up to values of about 5. That bounds the error near 5e-6; 1.3e-6 was
 * seen. */
static void compare(const char *what, const struct shape *shape, const float *got, const double *expected,
                    int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (fabs((double)got[i] - expected[i]) <= 5e-6) continue;
        print_error("%s[%lld], length %lld, %lld and %lld heads of %lld: expected %.8g, got %.8g\n", what, (long long)i,
                    (long long)shape->length, (long long)shape->heads, (long long)shape->kv_heads,
                    (long long)shape->head_dim, expected[i], (double)got[i]);
        fail();
    }
}

static void test_against_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct setting s;
        const struct shape d = shapes[i];
        make(&s, d);
        for (int64_t h = 0; h < d.heads; h++)
            for (int64_t t = 0; t < d.length; t++) one_query(&s, t, h);
        cpu_attention_forward(s.y, s.log_sums, s.qkv, d.length, d.heads, d.kv_heads, d.head_dim, s.scratch);
        compare("y", &d, s.y, s.expected_y, d.length * s.width);
        int64_t scratch = cpu_attention_scratch(d.length, d.head_dim);
        for (int64_t k = 0; k < scratch; k++) s.scratch[k] = NAN;
        cpu_attention_backward(s.dqkv, s.dy, s.log_sums, s.qkv, d.length, d.heads, d.kv_heads, d.head_dim, s.scratch);
        compare("dqkv", &d, s.dqkv, s.expected_dqkv, d.length * s.stride);
        drop(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_the_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
