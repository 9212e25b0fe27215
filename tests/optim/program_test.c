/* Round programs: text and back, what is refused, what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "optim/optim.h"

static bool same_op(const struct op *a, const struct op *b) {
    char x[96], y[96];
    return strcmp(op_print(a, x, sizeof x), op_print(b, y, sizeof y)) == 0 && a->kind == b->kind &&
           a->count == b->count;
}

static void test_table_of_strategies(void **state) {
    (void)state;
    for (int32_t i = 0; i < strategy_count(); i++) {
        struct strategy_def def = strategy_default();
        struct error error;
        int32_t at;
        char text[96];
        assert_int_equal(strategy_find(strategy_name(i), &def, &error), STATUS_OK);
        assert_int_equal(program_check(&def.program, &at, &error), STATUS_OK);
        assert_int_equal(program_inner_steps(&def.program, 50), 50);
        assert_true(program_uses_subset(&def.program) == (def.subset_count > 0));
        for (int32_t o = 0; o < def.program.count; o++) {
            struct op back;
            assert_int_equal(op_parse(op_print(&def.program.ops[o], text, sizeof text), &back, &error), STATUS_OK);
            assert_true(same_op(&back, &def.program.ops[o]));
        }
    }
    struct strategy_def def = strategy_default();
    struct error error;
    assert_int_equal(strategy_find("DiLoCoo", &def, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "DiLoCo"));
}

/* Any op prints to a text that reads back to the same op. */
static void test_print_and_parse(void **state) {
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct op op = {.kind = (enum op_kind)rng_below(&rng, OP_KINDS)}, back;
        struct error error;
        char text[96];
        bool mix = op.kind == OP_MIX || op.kind == OP_BEGIN;
        if (op.kind == OP_REPEAT || op.kind == OP_INNER)
            op.count = rng_below(&rng, 2) ? 0 : 1 + (int32_t)rng_below(&rng, 1000);
        if (mix || op.kind == OP_AWAIT) op.label = (enum mix_label)rng_below(&rng, MIX_LABELS);
        if (mix) {
            op.quantity = (enum mix_quantity)rng_below(&rng, MIX_QUANTITIES);
            op.group = (enum mix_group)rng_below(&rng, MIX_GROUPS);
            op.subset = rng_below(&rng, 2);
        }
        if (op_parse(op_print(&op, text, sizeof text), &back, &error) != STATUS_OK)
            fail_msg("'%s': %s", text, error.message);
        assert_memory_equal(&op, &back, sizeof op);
    }
}

static void test_bad_ops(void **state) {
    static const struct {
        const char *text, *expected;
    } cases[] = {{"", "empty"},
                 {"iner H", "inner"},
                 {"inner", "how often"},
                 {"inner 0", "from 1"},
                 {"inner -3", "from 1"},
                 {"inner 5x", "from 1"},
                 {"inner H H", "how often"},
                 {"outer now", "stands alone"},
                 {"await", "label"},
                 {"await mix3", "mix"},
                 {"mix2 outer_gradient", "GROUP"},
                 {"mix2 outer_gradent pairs", "outer_gradient"},
                 {"mix2 outer_gradient pair", "pairs"},
                 {"mix2 outer_gradient pairs subsets", "subset"},
                 {"begin mix1 parameters", "GROUP"},
                 {"one two three four five six seven eight", "no operation"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct op op;
        struct error error = {0};
        assert_int_equal(op_parse(cases[i].text, &op, &error), STATUS_INPUT);
        if (!strstr(error.message, cases[i].expected))
            fail_msg("'%s': expected '%s' in: %s", cases[i].text, cases[i].expected, error.message);
    }
}

static void test_bad_programs(void **state) {
    static const struct {
        const char *lines[7];
        const char *expected;
        int32_t at;
    } cases[] = {
        {{"outer"}, "after the inner steps", 0},
        {{"mix parameters global"}, "without inner steps", 0},
        {{"repeat H", "inner 1"}, "without its 'end'", 1},
        {{"inner H", "end"}, "without a 'repeat'", 1},
        {{"repeat 2", "repeat 3", "inner H", "end", "end"}, "do not nest", 1},
        {{"gradient", "inner H"}, "no 'step'", 1},
        {{"step"}, "without a gradient", 0},
        {{"mix gradient global", "inner H"}, "before there is one", 0},
        {{"mix2 outer_gradient global", "inner H"}, "before there is one", 0},
        {{"begin mix1 parameters global", "inner H", "outer"}, "await mix1", 2},
        {{"begin mix1 parameters global", "inner H"}, "never awaited", 1},
        {{"begin mix1 parameters global", "begin mix1 parameters pairs", "inner H"}, "twice", 1},
        {{"inner H", "begin mix1 parameters global", "await mix1", "outer"}, "after an inner step", 1},
        {{"begin mix2 outer_gradient global", "inner H", "await mix2", "outer"}, "only parameters", 0},
        {{"begin mix1 parameters global", "inner H", "await mix1"}, "'outer' is needed", 2},
        {{"inner H", "await mix1"}, "not begun", 1},
        {{"inner H", "outer", "outer"}, "once", 2},
        {{"inner H", "mix2 outer_gradient pairs", "inner H", "outer"}, "'inner' between", 2},
        {{"inner H", "mix2 outer_gradient pairs", "gradient", "step", "outer"}, "'gradient' between", 2},
        {{"gradient", "inner H", "step"}, "no 'step' applies", 1},
        {{"gradient", "gradient", "step"}, "no 'step' applies", 1},
        {{"inner H", "mix2 outer_gradient pairs", "mix parameters global", "outer"}, "mixes parameters between", 2},
        {{"inner H", "mix2 outer_gradient pairs"}, "used by nothing", 1},
        {{"inner H", "mix outer_momentum global"}, "no 'outer' uses it", 1},
        {{"mix parameters global", "begin mix1 parameters pairs", "inner H", "await mix1", "outer"},
         "after the parameters were mixed",
         1},
        /* the second time round */
        {{"repeat 2", "inner H", "mix2 outer_gradient pairs", "end", "outer"}, "'inner' between", 1},
        {{"begin mix1 parameters pairs", "repeat H", "inner 1", "await mix1", "end", "outer"}, "not begun", 3},
        {{"gradient", "repeat 2", "step", "end"}, "'step' without", 2},
        {{"repeat 2", "gradient", "end", "step"}, "no 'step' applies", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program program = {.count = 0};
        struct error error = {0};
        int32_t at = -1;
        for (; cases[i].lines[program.count]; program.count++)
            assert_int_equal(op_parse(cases[i].lines[program.count], &program.ops[program.count], &error), STATUS_OK);
        assert_int_equal(program_check(&program, &at, &error), STATUS_INPUT);
        if (!strstr(error.message, cases[i].expected))
            fail_msg("case %zu: expected '%s' in: %s", i, cases[i].expected, error.message);
        assert_int_equal(at, cases[i].at);
    }
}

/* Steps, rounds and tails for H that do and do not divide T. */
static void test_rounds_and_tails(void **state) {
    static const int32_t inner[] = {1, 2, 3, 7, 10, 50};
    static const char *const names[] = {"DiLoCo", "DDP"};
    (void)state;
    for (int s = 0; s < 2; s++)
        for (size_t h = 0; h < sizeof inner / sizeof inner[0]; h++)
            for (int64_t steps = 1; steps <= 30; steps++) {
                struct strategy_def def = strategy_default();
                struct error error;
                assert_int_equal(strategy_find(names[s], &def, &error), STATUS_OK);
                def.inner_steps = inner[h];
                int32_t rounds = train_rounds(steps, &def);
                int64_t sum = 0;
                for (int32_t r = 0; r < rounds; r++) {
                    int32_t own = train_round_inner_steps(steps, &def, r);
                    if (r + 1 < rounds) assert_int_equal(own, inner[h]);
                    sum += program_inner_steps(&def.program, own);
                }
                assert_int_equal(sum, steps);
            }
}

/* What is unusual and still means one thing. */
static void test_good_programs(void **state) {
    static const struct {
        const char *lines[7];
        int64_t steps; /* with H = 5 */
    } cases[] = {
        {{"inner H"}, 5},
        {{"repeat 1", "gradient", "end", "step"}, 1},
        {{"repeat 3", "inner 2", "mix parameters pairs", "end", "inner H"}, 11},
        {{"inner H", "repeat 3", "mix2 outer_gradient pairs", "end", "outer"}, 5},
        {{"inner H", "outer", "mix parameters pairs", "inner 2"}, 7},
        {{"mix outer_momentum global", "inner H", "mix2 outer_gradient global", "outer"}, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program program = {.count = 0};
        struct error error = {0};
        for (; cases[i].lines[program.count]; program.count++)
            assert_int_equal(op_parse(cases[i].lines[program.count], &program.ops[program.count], &error), STATUS_OK);
        if (program_check(&program, NULL, &error) != STATUS_OK) fail_msg("case %zu: %s", i, error.message);
        assert_int_equal(program_inner_steps(&program, 5), cases[i].steps);
    }
}

/* A tail is the longest that fits, or H = 1, for programs in which H stands more or less often than once. */
static void test_tails_of_any_program(void **state) {
    static const char *const programs[][5] = {
        {"inner 3"}, {"repeat 3", "inner H", "end"}, {"repeat H", "inner H", "end"}, {"inner 3", "inner H", "inner H"}};
    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++)
        for (int64_t steps = 1; steps <= 100; steps++) {
            struct strategy_def def = {.inner_steps = 6};
            struct error error;
            for (; programs[p][def.program.count]; def.program.count++)
                assert_int_equal(op_parse(programs[p][def.program.count], &def.program.ops[def.program.count], &error),
                                 STATUS_OK);
            int32_t last = train_rounds(steps, &def) - 1, expected = 1;
            int64_t left = steps - last * program_inner_steps(&def.program, 6);
            for (int32_t h = 1; h <= 6; h++)
                if (program_inner_steps(&def.program, h) <= left) expected = h;
            assert_int_equal(train_round_inner_steps(steps, &def, last), expected);
            if (last > 0) assert_int_equal(train_round_inner_steps(steps, &def, 0), 6);
        }
}

/* Numbers whose product does not fit: refused later, never wrapped to something small. */
static void test_huge_numbers(void **state) {
    struct strategy_def def = {.inner_steps = 1000000000};
    struct train_def train = train_default();
    (void)state;
    for (def.program.count = 0; def.program.count < 30; def.program.count++)
        def.program.ops[def.program.count] = (struct op){.kind = OP_INNER};
    def.program.ops[0] = (struct op){.kind = OP_REPEAT};
    def.program.ops[29] = (struct op){.kind = OP_END};
    assert_int_equal(program_inner_steps(&def.program, def.inner_steps), INT64_MAX);
    train.rounds = 1000000000;
    assert_int_equal(train_steps(&train, 8, 64, &def), INT64_MAX);
    train.rounds = 0;
    train.tokens = INT64_MAX;
    train.batch = train.accumulation = 65536;
    assert_int_equal(train_steps(&train, INT32_MAX, 64, &def), 0); /* 2^31 x 2^32 x 2^6 tokens a step */
    assert_int_equal(train_steps(&train, 1, 64, &def), INT64_MAX >> 38);
    def = strategy_default();
    def.inner_steps = 1;
    assert_int_equal(train_rounds(INT64_MAX, &def), INT32_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table_of_strategies),
                                       cmocka_unit_test(test_print_and_parse),
                                       cmocka_unit_test(test_bad_ops),
                                       cmocka_unit_test(test_bad_programs),
                                       cmocka_unit_test(test_rounds_and_tails),
                                       cmocka_unit_test(test_good_programs),
                                       cmocka_unit_test(test_tails_of_any_program),
                                       cmocka_unit_test(test_huge_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
