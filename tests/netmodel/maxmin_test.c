/* Max-min fair rates: known cases, and random systems against a plain solver in long double. */
#include "play.h"

#include "maxmin.h"

#include "base/rng.h"

enum { CONSTRAINTS = 12, VARIABLES = 40, USES = 4 };

static struct maxmin *create_system(void) {
    struct error error;
    struct maxmin *system = maxmin_create(CONSTRAINTS, &error);
    assert_non_null(system);
    return system;
}

static int32_t add(struct maxmin *system, int32_t owner, double cap, const int32_t *constraints, int32_t count) {
    struct error error;
    int32_t variable;
    assert_int_equal(maxmin_add_variable(system, owner, cap, constraints, count, &variable, &error), STATUS_OK);
    return variable;
}

#define ADD(system, cap, ...)                                                                                          \
    add(system, 0, cap, (const int32_t[]){__VA_ARGS__},                                                                \
        (int32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

/* ---- known cases ---- */

static void test_shares_of_one_constraint(void **state) {
    (void)state;
    struct maxmin *system = create_system();
    maxmin_set_capacity(system, 0, 12);
    int32_t a = ADD(system, INFINITY, 0), b = ADD(system, 2, 0), c = ADD(system, INFINITY, 0, 0);
    maxmin_solve(system);
    /* b stays at its cap; a uses the constraint once, c twice: 2 + x + 2x = 12. */
    assert_near(maxmin_rate(system, a), 10.0 / 3, 1e-15);
    assert_near(maxmin_rate(system, b), 2, 0);
    assert_near(maxmin_rate(system, c), 10.0 / 3, 1e-15);
    assert_int_equal(maxmin_bottleneck(system, a), 0);
    assert_int_equal(maxmin_bottleneck(system, b), -1);
    maxmin_remove_variable(system, c);
    maxmin_solve(system);
    assert_near(maxmin_rate(system, a), 10, 0);
    maxmin_free(system);
}

static void test_zero_and_infinite_capacity(void **state) {
    (void)state;
    struct maxmin *system = create_system();
    maxmin_set_capacity(system, 0, 0);
    int32_t stalled = ADD(system, INFINITY, 0, 1), with_cap = ADD(system, 5, 0), free_one = ADD(system, INFINITY, 1);
    maxmin_solve(system);
    assert_near(maxmin_rate(system, stalled), 0, 0);
    assert_near(maxmin_rate(system, with_cap), 0, 0);
    assert_true(isinf(maxmin_rate(system, free_one)));
    maxmin_set_capacity(system, 0, 8);
    maxmin_solve(system);
    assert_near(maxmin_rate(system, stalled), 4, 0);
    maxmin_free(system);
}

/* A variable alone on its constraints costs no search: its rate is there before any solving. */
static void test_alone_is_solved_when_added(void **state) {
    (void)state;
    struct maxmin *system = create_system();
    maxmin_set_capacity(system, 0, 9);
    maxmin_set_capacity(system, 1, 4);
    int32_t variable = ADD(system, INFINITY, 0, 1, 1);
    assert_near(maxmin_rate(system, variable), 2, 0);
    assert_int_equal(maxmin_bottleneck(system, variable), 1);
    maxmin_free(system);
}

/* What is not connected to a change is neither computed nor reported. */
static void test_only_the_changed_component(void **state) {
    (void)state;
    struct maxmin *system = create_system();
    for (int32_t i = 0; i < 4; i++) maxmin_set_capacity(system, i, 10);
    ADD(system, INFINITY, 0);
    ADD(system, INFINITY, 0, 1);
    ADD(system, INFINITY, 2);
    int32_t other = ADD(system, INFINITY, 2, 3), variable;
    maxmin_solve(system);
    while (maxmin_next_changed(system, &variable)) continue;
    int64_t before = maxmin_computations(system);
    maxmin_remove_variable(system, other);
    maxmin_solve(system);
    assert_int_equal(maxmin_computations(system), before + 1);
    assert_true(maxmin_next_changed(system, &variable));
    assert_int_equal(variable, 2);
    assert_false(maxmin_next_changed(system, &variable));
    maxmin_free(system);
}

/* ---- random systems ---- */

struct model_variable {
    bool used;
    int32_t variable; /* of the system */
    double cap;
    int32_t constraints[USES], count;
    long double rate;
    bool settled;
};

struct model {
    double capacity[CONSTRAINTS];
    struct model_variable variables[VARIABLES];
};

static int32_t weight(const struct model_variable *variable, int32_t constraint) {
    int32_t weight = 0;
    for (int32_t i = 0; i < variable->count; i++) weight += variable->constraints[i] == constraint;
    return weight;
}

/* The level at which a constraint fills up, the settled variables' rates given; INFINITY if none rises on it. */
static long double level_of(const struct model *model, int32_t constraint) {
    long double left = model->capacity[constraint], rising = 0;
    if (isinf(left)) return INFINITY;
    for (int32_t i = 0; i < VARIABLES; i++) {
        const struct model_variable *variable = &model->variables[i];
        if (!variable->used) continue;
        if (variable->settled)
            left -= variable->rate * weight(variable, constraint);
        else
            rising += weight(variable, constraint);
    }
    return rising > 0 ? fmaxl(left, 0) / rising : INFINITY;
}

static void settle_at(struct model *model, long double level, int32_t constraint) {
    for (int32_t i = 0; i < VARIABLES; i++) {
        struct model_variable *variable = &model->variables[i];
        if (!variable->used || variable->settled) continue;
        if (constraint >= 0 ? weight(variable, constraint) == 0 : variable->cap > level) continue;
        variable->rate = level;
        variable->settled = true;
    }
}

/* Textbook filling: the lowest level of all, again and again. */
static void solve_plainly(struct model *model) {
    int32_t rising = 0;
    for (int32_t i = 0; i < VARIABLES; i++) {
        model->variables[i].settled = false;
        rising += model->variables[i].used;
    }
    while (rising > 0) {
        long double lowest = INFINITY;
        int32_t at = -1;
        for (int32_t i = 0; i < CONSTRAINTS; i++)
            if (level_of(model, i) < lowest) lowest = level_of(model, i), at = i;
        for (int32_t i = 0; i < VARIABLES; i++) {
            const struct model_variable *variable = &model->variables[i];
            if (variable->used && !variable->settled && variable->cap <= lowest) lowest = variable->cap, at = -1;
        }
        settle_at(model, lowest, at);
        rising = 0;
        for (int32_t i = 0; i < VARIABLES; i++) rising += model->variables[i].used && !model->variables[i].settled;
    }
}

static double random_capacity(struct rng *rng) {
    uint32_t kind = rng_below(rng, 12);
    if (kind == 0) return 0;
    if (kind == 1) return INFINITY;
    return kind < 8 ? 1e6 * (1 + rng_below(rng, 20)) : 1e8 * rng_uniform(rng) + 1;
}

static void change_variable(struct maxmin *system, struct model *model, struct rng *rng, int32_t index) {
    struct model_variable *variable = &model->variables[index];
    double cap = rng_below(rng, 3) == 0 ? random_capacity(rng) : INFINITY;
    if (variable->used && rng_below(rng, 3) == 0) {
        variable->cap = cap;
        maxmin_set_cap(system, variable->variable, cap);
    } else if (variable->used) {
        maxmin_remove_variable(system, variable->variable);
        variable->used = false;
    } else {
        *variable = (struct model_variable){.used = true, .cap = cap, .count = (int32_t)rng_below(rng, USES + 1)};
        for (int32_t i = 0; i < variable->count; i++) variable->constraints[i] = (int32_t)rng_below(rng, CONSTRAINTS);
        variable->variable = add(system, index, cap, variable->constraints, variable->count);
    }
}

static void change(struct maxmin *system, struct model *model, struct rng *rng) {
    if (rng_below(rng, 6) == 0) {
        int32_t constraint = (int32_t)rng_below(rng, CONSTRAINTS);
        model->capacity[constraint] = random_capacity(rng);
        maxmin_set_capacity(system, constraint, model->capacity[constraint]);
    } else {
        change_variable(system, model, rng, (int32_t)rng_below(rng, VARIABLES));
    }
}

/* Both solvers subtract at most VARIABLES rates, each off by 2^-53, from a capacity that is at most VARIABLES * USES
 * times the level: 40 * 160 * 1.1e-16 = 7e-13 of it. */
#define TOLERANCE 1e-12

static void check_rates(const struct maxmin *system, const struct model *model, int seed) {
    for (int32_t i = 0; i < VARIABLES; i++) {
        const struct model_variable *variable = &model->variables[i];
        if (!variable->used) continue;
        double rate = maxmin_rate(system, variable->variable), expected = (double)variable->rate;
        if (maxmin_owner(system, variable->variable) != i ||
            (isinf(expected) ? !isinf(rate) : !(fabs(rate - expected) <= TOLERANCE * expected)))
            fail_msg("seed %d: variable %d has rate %.17g, expected %.17g", seed, i, rate, expected);
    }
}

static double load_of(const struct maxmin *system, const struct model *model, int32_t constraint) {
    double load = 0;
    for (int32_t i = 0; i < VARIABLES; i++) {
        int32_t times = model->variables[i].used ? weight(&model->variables[i], constraint) : 0;
        if (times > 0) load += times * maxmin_rate(system, model->variables[i].variable);
    }
    return load;
}

/* What defines max-min fairness: nothing is over capacity, and each variable is at its cap or on a full constraint
 * where no other has a higher rate. */
static void check_fairness(const struct maxmin *system, const struct model *model, int seed) {
    for (int32_t c = 0; c < CONSTRAINTS; c++)
        if (load_of(system, model, c) > model->capacity[c] * (1 + TOLERANCE))
            fail_msg("seed %d: constraint %d over capacity", seed, c);
    for (int32_t i = 0; i < VARIABLES; i++) {
        const struct model_variable *variable = &model->variables[i];
        if (!variable->used) continue;
        double rate = maxmin_rate(system, variable->variable);
        int32_t at = maxmin_bottleneck(system, variable->variable);
        if (at < 0 ? rate != variable->cap : load_of(system, model, at) < model->capacity[at] * (1 - TOLERANCE))
            fail_msg("seed %d: variable %d is kept low by nothing", seed, i);
        for (int32_t k = 0; k < VARIABLES && at >= 0; k++)
            if (model->variables[k].used && weight(&model->variables[k], at) > 0 &&
                maxmin_rate(system, model->variables[k].variable) > rate * (1 + TOLERANCE))
                fail_msg("seed %d: variable %d has more than %d at the bottleneck of the latter", seed, k, i);
    }
}

static void test_random_systems(void **state) {
    (void)state;
    for (int seed = 1; seed <= 300; seed++) {
        struct rng rng = rng_stream((uint64_t)seed, RNG_TEST, 0, 0);
        struct maxmin *system = create_system();
        static struct model model;
        memset(&model, 0, sizeof model);
        for (int32_t i = 0; i < CONSTRAINTS; i++) model.capacity[i] = INFINITY;
        for (int step = 0; step < 60; step++) {
            for (uint32_t n = rng_below(&rng, 8) + 1; n > 0; n--) change(system, &model, &rng);
            maxmin_solve(system);
            solve_plainly(&model);
            check_rates(system, &model, seed);
            check_fairness(system, &model, seed);
        }
        maxmin_free(system);
    }
}

/* Every rate that differs from the one last taken is reported, and nothing else. */
static void test_changes_are_reported(void **state) {
    (void)state;
    struct rng rng = rng_stream(7, RNG_TEST, 1, 0);
    struct maxmin *system = create_system();
    static struct model model;
    memset(&model, 0, sizeof model);
    for (int32_t i = 0; i < CONSTRAINTS; i++) model.capacity[i] = INFINITY;
    double known[VARIABLES] = {0};
    for (int step = 0; step < 2000; step++) {
        bool was_used[VARIABLES];
        for (int32_t i = 0; i < VARIABLES; i++) was_used[i] = model.variables[i].used;
        change(system, &model, &rng);
        maxmin_solve(system);
        for (int32_t variable; maxmin_next_changed(system, &variable);)
            known[maxmin_owner(system, variable)] = maxmin_rate(system, variable);
        for (int32_t i = 0; i < VARIABLES; i++)
            if (model.variables[i].used && was_used[i])
                assert_true(known[i] == maxmin_rate(system, model.variables[i].variable));
        assert_false(maxmin_is_dirty(system));
    }
    maxmin_free(system);
}

static void test_order_does_not_matter(void **state) {
    (void)state;
    for (int seed = 1; seed <= 100; seed++) {
        struct rng rng = rng_stream((uint64_t)seed, RNG_TEST, 2, 0);
        static struct model model;
        int32_t order[VARIABLES];
        double rates[2][VARIABLES];
        for (int32_t i = 0; i < CONSTRAINTS; i++) model.capacity[i] = random_capacity(&rng);
        for (int32_t i = 0; i < VARIABLES; i++) {
            order[i] = i;
            model.variables[i] = (struct model_variable){.cap = random_capacity(&rng), .count = USES};
            for (int32_t k = 0; k < USES; k++)
                model.variables[i].constraints[k] = (int32_t)rng_below(&rng, CONSTRAINTS);
        }
        for (int turn = 0; turn < 2; turn++) {
            struct maxmin *system = create_system();
            for (int32_t i = 0; i < CONSTRAINTS; i++) maxmin_set_capacity(system, i, model.capacity[i]);
            for (int32_t i = 0; i < VARIABLES; i++) {
                struct model_variable *variable = &model.variables[order[i]];
                variable->variable = add(system, order[i], variable->cap, variable->constraints, USES);
            }
            maxmin_solve(system);
            for (int32_t i = 0; i < VARIABLES; i++) rates[turn][i] = maxmin_rate(system, model.variables[i].variable);
            maxmin_free(system);
            rng_shuffle(&rng, order, VARIABLES);
        }
        for (int32_t i = 0; i < VARIABLES; i++)
            if (rates[0][i] != rates[1][i] && !(fabs(rates[0][i] - rates[1][i]) <= TOLERANCE * rates[0][i]))
                fail_msg("seed %d: variable %d has rate %.17g or %.17g", seed, i, rates[0][i], rates[1][i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_of_one_constraint),
        cmocka_unit_test(test_zero_and_infinite_capacity),
        cmocka_unit_test(test_alone_is_solved_when_added),
        cmocka_unit_test(test_only_the_changed_component),
        cmocka_unit_test(test_random_systems),
        cmocka_unit_test(test_changes_are_reported),
        cmocka_unit_test(test_order_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
