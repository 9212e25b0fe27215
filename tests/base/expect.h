/* cmocka, and a check for rows of a table: says what is wrong and goes on with the next row. */
#ifndef TESTS_BASE_EXPECT_H
#define TESTS_BASE_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int faults;

#define EXPECT(condition, ...)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            print_error("%s:%d: not (%s): ", __FILE__, __LINE__, #condition);                                          \
            print_error(__VA_ARGS__);                                                                                  \
            print_error("\n");                                                                                         \
            faults++;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Ends a test that used EXPECT. */
static inline void assert_no_faults(void) {
    int count = faults;
    faults = 0;
    assert_int_equal(count, 0);
}

#endif
