/* The trainer against a second, plain one (oracle.h): on every strategy of the table and on random programs, with
 * schedules in which mixes fail, in every kind of outer step. And what it promises of memory, divergence and metrics.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "oracle.h"
#include "realised.h"

#include "base/rng.h"

static struct trainer_def tiny(int32_t workers) {
    struct trainer_def def = {.model = {8, 1, 2, 1, 12, 256, 8, 10000, 1e-5, true},
                              .data = data_default(),
                              .train = train_default(),
                              .outer = outer_default(),
                              .evaluate = {.every = 0, .tokens = 8, .js_tokens = 0},
                              .strategy = strategy_default(),
                              .workers = workers,
                              .seed = 1,
                              .backend = "auto",
                              .jobs = 1};
    def.data.tokens = 20000;
    def.train.rounds = 3;
    def.train.batch = 2;
    def.train.warmup = 2;
    def.strategy.inner_steps = 2;
    return def;
}

static double distance(const float *a, const float *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += pow((double)a[i] - (double)b[i], 2);
    return sqrt(sum);
}

static double norm(const float *a, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)a[i] * (double)a[i];
    return sqrt(sum);
}

/* ---- against the oracle ---- */

/* Some mixes come to nothing, some miss a worker, some pairs break; the rest stay. */
static void break_some(struct realised_round *realised, int32_t workers, struct rng *rng) {
    struct error error;
    for (int32_t i = 0; i < realised->mixing_count; i++) {
        struct mixing *mixing = &realised->mixings[i];
        int32_t lost = (int32_t)rng_below(rng, (uint32_t)workers);
        switch (rng_below(rng, 4)) {
        case 0:
            alloc_free(mixing->member);
            mixing->member = NULL;
            mixing->kind = MIXING_NONE;
            break;
        case 1:
            if (mixing->kind == MIXING_PAIRS) {
                mixing->member[mixing->member[lost]] = mixing->member[lost];
                mixing->member[lost] = lost;
            } else {
                mixing->member = alloc_zero((size_t)workers, sizeof(int32_t), "test", &error);
                for (int32_t m = 0; m < workers; m++) mixing->member[m] = rng_below(rng, 3) > 0;
            }
            break;
        }
    }
}

/* Both compute in single precision and round at different places; three rounds of a few plain gradient steps amplify
 * that little. 1e-5 of the parameters' norm is 80 roundings, and 1e-3 of what training moves here. With AdamW, whose
 * division makes the rounding of a tiny gradient a visible part of the learning rate, 1e-4. */
static void compare(const struct trainer_def *def, struct rng *rng, double tolerance, const char *what) {
    struct error error = {0};
    struct oracle oracle;
    struct round_metrics metrics;
    struct trainer *trainer = trainer_create(def, &error);
    if (!trainer) fail_msg("%s: %s", what, error.message);
    oracle_init(&oracle, def, trainer_steps(trainer));
    float *parameters = alloc_zero((size_t)oracle.count, sizeof(float), "test", &error);
    for (int32_t r = 0; r < trainer_rounds(trainer); r++) {
        struct realised_round realised = realised_make(def, r, def->strategy.inner_steps);
        if (rng) break_some(&realised, def->workers, rng);
        assert_int_equal(trainer_play_round(trainer, &realised, &metrics, &error), STATUS_OK);
        oracle_play_round(&oracle, &realised);
        realised_clear(&realised);
        assert_false(metrics.diverged);
        assert_int_equal(metrics.steps, oracle.steps);
        if (fabs(metrics.loss - oracle.loss_sum / (double)oracle.terms) > 1e-5 * metrics.loss ||
            fabs(metrics.gradient_norm - oracle.norm_sum / (double)oracle.terms) > 1e-3 * metrics.gradient_norm)
            fail_msg("%s, round %d: loss %.9g, norm %.9g; expected %.9g, %.9g", what, r, metrics.loss,
                     metrics.gradient_norm, oracle.loss_sum / (double)oracle.terms,
                     oracle.norm_sum / (double)oracle.terms);
        for (int32_t m = 0; m < def->workers; m++) {
            trainer_get_parameters(trainer, m, parameters);
            double off = distance(parameters, oracle.workers[m].y, oracle.count);
            if (!(off <= tolerance * norm(parameters, oracle.count)))
                fail_msg("%s, round %d, worker %d: off by %g of %g", what, r, m, off, norm(parameters, oracle.count));
        }
    }
    alloc_free(parameters);
    trainer_free(trainer);
    oracle_clear(&oracle);
}

static void test_strategies_against_the_oracle(void **state) {
    struct rng rng = rng_stream(11, RNG_TEST, 0, 0);
    (void)state;
    for (int32_t s = 0; s < strategy_count(); s++)
        for (int32_t outer = 0; outer < OUTER_KINDS; outer++)
            for (int32_t workers = 1; workers <= ORACLE_WORKERS; workers += 2)
                for (int32_t broken = 0; broken < 2; broken++) {
                    struct trainer_def def = tiny(workers);
                    struct error error;
                    bool adamw = broken ^ (outer & 1);
                    char what[120];
                    assert_int_equal(strategy_find(strategy_name(s), &def.strategy, &error), STATUS_OK);
                    snprintf(what, sizeof what, "%s, %s, %d workers, %s, %s", strategy_name(s),
                             outer_name((enum outer_kind)outer), workers, broken ? "broken" : "healthy",
                             adamw ? "adamw" : "sgd");
                    def.outer.kind = (enum outer_kind)outer;
                    snprintf(def.train.optimizer.name, sizeof def.train.optimizer.name, "%s", adamw ? "adamw" : "sgd");
                    def.train.optimizer.learning_rate = adamw ? 3e-3 : 0.3;
                    def.train.accumulation = 1 + broken;
                    compare(&def, broken ? &rng : NULL, adamw ? 1e-4 : 1e-5, what);
                }
}

static struct op random_mix(struct rng *rng, enum op_kind kind, enum mix_quantity quantity) {
    return (struct op){.kind = kind,
                       .label = kind == OP_BEGIN ? LABEL_MIX1 : (enum mix_label)rng_below(rng, MIX_LABELS),
                       .quantity = quantity,
                       .group = (enum mix_group)rng_below(rng, MIX_GROUPS),
                       .subset = rng_below(rng, 2)};
}

static struct op random_repeated(struct rng *rng, enum op_kind kind) {
    return (struct op){.kind = kind, .count = (int32_t)rng_below(rng, 3)};
}

static void add(struct program *program, struct op op) {
    if (program->count < PROGRAM_MAX_OPS) program->ops[program->count++] = op;
}

/* One to three pieces in any order, perhaps repeated. */
static void add_pieces(struct rng *rng, struct program *program) {
    bool repeat = rng_below(rng, 3) == 0;
    if (repeat) add(program, random_repeated(rng, OP_REPEAT));
    for (uint32_t pieces = 1 + rng_below(rng, 3); pieces > 0; pieces--) switch (rng_below(rng, 6)) {
        case 0:
        case 1:
            add(program, random_repeated(rng, OP_INNER));
            break;
        case 2:
            add(program, (struct op){.kind = OP_GRADIENT});
            if (rng_below(rng, 2)) add(program, random_mix(rng, OP_MIX, QUANTITY_GRADIENT));
            add(program, (struct op){.kind = OP_STEP});
            break;
        default:
            add(program, random_mix(rng, OP_MIX, (enum mix_quantity)rng_below(rng, MIX_QUANTITIES)));
            break;
        }
    if (repeat) add(program, (struct op){.kind = OP_END});
}

/* Most of what this makes is no program and thrown away. */
static void random_program(struct rng *rng, struct program *program) {
    struct error error;
    do {
        bool begin = rng_below(rng, 2);
        program->count = 0;
        if (begin) add(program, random_mix(rng, OP_BEGIN, QUANTITY_PARAMETERS));
        add_pieces(rng, program);
        if (begin) add(program, (struct op){.kind = OP_AWAIT, .label = LABEL_MIX1});
        if (rng_below(rng, 2)) add_pieces(rng, program);
        if (begin || rng_below(rng, 2)) add(program, (struct op){.kind = OP_OUTER});
        if (rng_below(rng, 3) == 0) add_pieces(rng, program);
    } while (program_check(program, NULL, &error) != STATUS_OK || program_inner_steps(program, 2) > 8);
}

/* What program_check lets pass, the trainer plays as its words say: no program means two things. */
static void test_random_programs_against_the_oracle(void **state) {
    static const char *const subsets[] = {"embedding", "layer0.mlp", "norms", "layer0"};
    int32_t seen[OP_KINDS] = {0}, mixed[MIX_QUANTITIES] = {0}, subset = 0;
    (void)state;
    for (uint32_t i = 0; i < 150; i++) {
        struct rng rng = rng_stream(i, RNG_TEST, 1, 0);
        struct trainer_def def = tiny(1 + (int32_t)rng_below(&rng, ORACLE_WORKERS));
        char what[1024];
        size_t length = (size_t)snprintf(what, sizeof what, "program %u:", i);
        random_program(&rng, &def.strategy.program);
        for (int32_t o = 0; o < def.strategy.program.count; o++) {
            const struct op *op = &def.strategy.program.ops[o];
            char text[96];
            seen[op->kind]++;
            mixed[op->quantity] += op->kind == OP_MIX;
            subset += op->subset;
            length += (size_t)snprintf(what + length, sizeof what - length, " %s;", op_print(op, text, sizeof text));
        }
        def.strategy.subset_count = 2;
        for (int32_t b = 0; b < 2; b++)
            snprintf(def.strategy.subset[b], sizeof def.strategy.subset[b], "%s", subsets[rng_below(&rng, 4)]);
        def.outer = (struct outer_def){(enum outer_kind)rng_below(&rng, OUTER_KINDS), rng_uniform(&rng),
                                       0.9 * rng_uniform(&rng)};
        def.train.clip = rng_below(&rng, 2) ? 0.5 : 0;
        def.train.optimizer = (struct optimizer_def){"sgd", 0.3, 0, 0, 0, 0.1};
        compare(&def, &rng, 1e-5, what);
    }
    for (int32_t kind = 0; kind < OP_KINDS; kind++) assert_true(seen[kind] >= 10);
    for (int32_t quantity = 0; quantity < MIX_QUANTITIES; quantity++) assert_true(mixed[quantity] >= 10);
    assert_true(subset >= 10);
}

/* ---- length ---- */

/* A round of fixed length cannot be cut: it is played whole, counted, and the learning rate ends with it. */
static void test_rate_ends_at_its_minimum(void **state) {
    static const struct {
        const char *lines[4];
        int64_t asked, played;
    } cases[] = {{{"inner 3"}, 4, 6},
                 {{"inner H"}, 5, 5},
                 {{"repeat 3", "inner H", "end"}, 10, 9},
                 {{"repeat H", "inner H", "end"}, 6, 5},
                 {{"inner 3", "inner H"}, 1, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trainer_def def = tiny(2);
        struct round_metrics metrics = {0};
        struct error error;
        struct program *program = &def.strategy.program;
        for (program->count = 0; cases[i].lines[program->count]; program->count++)
            assert_int_equal(op_parse(cases[i].lines[program->count], &program->ops[program->count], &error),
                             STATUS_OK);
        def.train.rounds = 0;
        def.train.tokens = cases[i].asked * 2 * 2 * 8;
        struct trainer *trainer = trainer_create(&def, &error);
        assert_int_equal(trainer_steps(trainer), cases[i].asked);
        for (int32_t r = 0; r < trainer_rounds(trainer); r++) {
            int32_t inner = train_round_inner_steps(trainer_steps(trainer), &def.strategy, r);
            struct realised_round realised = realised_make(&def, r, inner);
            assert_int_equal(trainer_play_round(trainer, &realised, &metrics, &error), STATUS_OK);
            realised_clear(&realised);
        }
        assert_int_equal(metrics.steps, cases[i].played);
        assert_true(fabs(metrics.learning_rate - 0.1 * def.train.optimizer.learning_rate) < 1e-15);
        trainer_free(trainer);
    }
}

/* ---- metrics ---- */

static double plain_js(const float *p, const float *q, int64_t rows, int32_t columns) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        double divergence = 0;
        for (int64_t i = r * columns; i < (r + 1) * columns; i++) {
            double a = (double)p[i], b = (double)q[i], middle = (a + b) / 2;
            divergence += (a > 0 ? a * log(a / middle) : 0) / 2 + (b > 0 ? b * log(b / middle) : 0) / 2;
        }
        sum += sqrt(divergence > 0 ? divergence : 0);
    }
    return sum / (double)rows;
}

/* exp(total loss / total tokens), whatever the batch. */
static double plain_perplexity(struct oracle *o, struct compute *compute, const float *parameters, int32_t windows,
                               int32_t batch) {
    int32_t tokens[64 * 8], targets[64 * 8];
    double total = 0, loss;
    for (int32_t at = 0; at < windows; at += batch) {
        int32_t sequences = windows - at < batch ? windows - at : batch;
        data_validation_batch(o->data, at, sequences, tokens, targets);
        compute_loss(compute, parameters, tokens, targets, sequences, &loss);
        total += loss;
    }
    return exp(total / (windows * 8.0));
}

/* Perplexities, JS distances and L2 after a round, each by its definition. */
static void test_metrics_by_definition(void **state) {
    enum { WINDOWS = 13, JS_WINDOWS = 5, WORKERS = 3 };
    static const int32_t batches[] = {1, 2, 3, 7, 64};
    struct trainer_def def = tiny(WORKERS);
    struct error error;
    struct oracle o;
    struct round_metrics metrics;
    int32_t tokens[JS_WINDOWS * 8], targets[JS_WINDOWS * 8];
    (void)state;
    def.evaluate = (struct evaluate_def){.every = 1, .tokens = WINDOWS * 8, .js_tokens = JS_WINDOWS * 8};
    assert_int_equal(strategy_find("GlobalM1LocalM2", &def.strategy, &error), STATUS_OK);
    struct trainer *trainer = trainer_create(&def, &error);
    struct realised_round realised = realised_make(&def, 0, 2);
    assert_int_equal(trainer_play_round(trainer, &realised, &metrics, &error), STATUS_OK);
    oracle_init(&o, &def, trainer_steps(trainer));
    struct compute *compute = compute_create(o.model, o.backend, 64, 8, COMPUTE_EVALUATION, &error);
    float *p = backend_alloc(o.backend, JS_WINDOWS * 8 * 256, "test", &error);
    float *q = backend_alloc(o.backend, JS_WINDOWS * 8 * 256, "test", &error);
    float *average = o.workers[0].z;
    double mean = 0, worst = 0, js = 0, square = 0;
    for (int32_t m = 0; m < WORKERS; m++) trainer_get_parameters(trainer, m, o.workers[m].y);
    for (int64_t i = 0; i < o.count; i++)
        average[i] = (float)(((double)o.workers[0].y[i] + (double)o.workers[1].y[i] + (double)o.workers[2].y[i]) / 3);
    data_validation_batch(o.data, 0, JS_WINDOWS, tokens, targets);
    compute_probabilities(compute, average, tokens, JS_WINDOWS, p);
    for (int32_t m = 0; m < WORKERS; m++) {
        const float *y = o.workers[m].y;
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++)
            assert_true(
                fabs(plain_perplexity(&o, compute, y, WINDOWS, batches[b]) / metrics.workers[m].perplexity - 1) < 1e-6);
        compute_probabilities(compute, y, tokens, JS_WINDOWS, q);
        double own = plain_js(p, q, JS_WINDOWS * 8, 256);
        /* probabilities carry 24 bits, and their difference is a thousandth of them here: 1e-4 of the distance */
        assert_true(own > 0 && fabs(metrics.workers[m].js_distance / own - 1) < 1e-3);
        mean += metrics.workers[m].perplexity / WORKERS;
        js += metrics.workers[m].js_distance / WORKERS;
        square += pow(distance(y, average, o.count), 2) / WORKERS;
        if (metrics.workers[m].perplexity > worst) worst = metrics.workers[m].perplexity;
    }
    assert_true(fabs(metrics.perplexity / mean - 1) < 1e-12 && metrics.perplexity_worst == worst);
    assert_true(fabs(metrics.js_distance / js - 1) < 1e-12);
    assert_true(fabs(metrics.l2_consensus / sqrt(square) - 1) < 1e-6);
    assert_true(fabs(plain_perplexity(&o, compute, average, WINDOWS, 1) / metrics.perplexity_average_model - 1) < 1e-6);
    backend_release(o.backend, p);
    backend_release(o.backend, q);
    compute_free(compute);
    oracle_clear(&o);
    realised_clear(&realised);
    trainer_free(trainer);
}

static struct round_metrics first_round(const char *strategy, struct trainer_def def) {
    struct error error;
    struct round_metrics metrics;
    assert_int_equal(strategy_find(strategy, &def.strategy, &error), STATUS_OK);
    struct trainer *trainer = trainer_create(&def, &error);
    struct realised_round realised = realised_make(&def, 0, def.strategy.inner_steps);
    assert_int_equal(trainer_play_round(trainer, &realised, &metrics, &error), STATUS_OK);
    realised_clear(&realised);
    trainer_free(trainer);
    metrics.workers = NULL;
    return metrics;
}

/* Disagreement at the end of the inner steps is what workers alone have after the round: with an outer step of 1 that
 * is where they stay, but for the rounding of z - (z - y). */
static void test_disagreement_before_mixing(void **state) {
    struct trainer_def def = tiny(4);
    (void)state;
    def.outer = (struct outer_def){OUTER_SGD, 1, 0};
    def.evaluate = (struct evaluate_def){.every = 1, .tokens = 64, .js_tokens = 64};
    struct round_metrics alone = first_round("NoMixing", def);
    assert_true(alone.js_distance > 0 && alone.l2_consensus > 0);
    for (int32_t s = 0; s < strategy_count(); s++) {
        struct round_metrics mixed = first_round(strategy_name(s), def);
        if (strcmp(strategy_name(s), "DDP") == 0) {
            assert_true(mixed.l2_consensus_inner == 0 && mixed.js_distance_inner == 0);
            continue;
        }
        assert_true(fabs(mixed.l2_consensus_inner / alone.l2_consensus - 1) < 1e-3);
        assert_true(fabs(mixed.js_distance_inner / alone.js_distance - 1) < 1e-3);
    }
}

/* ---- divergence ---- */

/* The learning rate at which one step, p - rate (decay p + g), leaves the range of floats for the worker with the
 * largest step, and for no other. */
static double rate_of_one_overflow(const struct trainer_def *def, int32_t *worker) {
    struct oracle o;
    double largest = 0, second = 0;
    oracle_init(&o, def, 1);
    for (int32_t m = 0; m < def->workers; m++) {
        double own = 0;
        oracle_gradient(&o, m);
        for (int32_t t = 0; t < llama_tensor_count(o.model); t++) {
            const struct llama_tensor *tensor = llama_tensor(o.model, t);
            double decay = tensor->decay ? def->train.optimizer.weight_decay : 0;
            for (int64_t i = tensor->offset; i < tensor->offset + tensor->rows * tensor->columns; i++)
                own = fmax(own, fabs(decay * (double)o.workers[m].y[i] + (double)o.workers[m].gradient[i]));
        }
        if (own > largest) {
            second = largest;
            largest = own;
            *worker = m;
        } else {
            second = fmax(second, own);
        }
    }
    oracle_clear(&o);
    assert_true(largest > second * (1 + 1e-6));
    return 3.4028235e38 / sqrt(largest * second);
}

/* One worker's parameters overflow in the last inner step of a round. The mix that follows must not pass that on as if
 * it were everybody's: the worker and its step are named. */
static void test_one_worker_diverges(void **state) {
    int32_t named = 0;
    (void)state;
    for (int32_t s = 0; s < strategy_count(); s++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct trainer_def def = tiny(4);
            struct error error;
            int32_t expected = -1;
            assert_int_equal(strategy_find(strategy_name(s), &def.strategy, &error), STATUS_OK);
            if (program_uses(&def.strategy.program, OP_GRADIENT)) continue; /* one step for all */
            def.strategy.inner_steps = 1;
            def.seed = seed;
            def.train.warmup = 0;
            def.train.schedule = SCHEDULE_CONSTANT;
            def.train.clip = 0;
            def.train.optimizer = (struct optimizer_def){"sgd", 0, 0, 0, 0, 100};
            def.train.optimizer.learning_rate = rate_of_one_overflow(&def, &expected);
            struct round_metrics metrics = first_round(strategy_name(s), def);
            assert_true(metrics.diverged && !metrics.evaluated);
            assert_int_equal(metrics.diverged_worker, expected);
            assert_int_equal(metrics.diverged_step, 0);
            named |= 1 << expected;
        }
    assert_true(named != 1); /* not only worker 0, which would be found anyway */
}

/* ---- memory ---- */

static void test_rounds_do_not_allocate(void **state) {
    (void)state;
    for (int32_t s = 0; s < strategy_count(); s++) {
        struct trainer_def def = tiny(3);
        struct error error;
        struct round_metrics metrics;
        assert_int_equal(strategy_find(strategy_name(s), &def.strategy, &error), STATUS_OK);
        def.evaluate = (struct evaluate_def){.every = 1, .tokens = 64, .js_tokens = 64};
        def.jobs = 2;
        struct trainer *trainer = trainer_create(&def, &error);
        int64_t blocks = alloc_live_blocks();
        for (int32_t r = 0; r < 2; r++) {
            struct realised_round realised = realised_make(&def, r, 2);
            alloc_fail_at(1, true);
            enum status status = trainer_play_round(trainer, &realised, &metrics, &error);
            alloc_fail_at(0, false);
            realised_clear(&realised);
            assert_int_equal(status, STATUS_OK);
            assert_false(metrics.diverged);
            assert_int_equal(alloc_live_blocks(), blocks);
        }
        trainer_free(trainer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strategies_against_the_oracle), cmocka_unit_test(test_random_programs_against_the_oracle),
        cmocka_unit_test(test_rate_ends_at_its_minimum),      cmocka_unit_test(test_metrics_by_definition),
        cmocka_unit_test(test_disagreement_before_mixing),    cmocka_unit_test(test_one_worker_diverges),
        cmocka_unit_test(test_rounds_do_not_allocate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
