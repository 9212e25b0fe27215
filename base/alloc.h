/* The only heap allocation of the program. Tests make the n-th allocation fail through it.
 *
 * Sizes that a file or a product of user numbers decides go through size_mul(). Numerical code does not allocate:
 * it takes workspaces from an arena (arena.h).
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include "error.h"

#include <stdbool.h>

/* Zeroed, 64-byte aligned memory for count * size bytes; NULL and *error (STATUS_MEMORY, naming `what` and the size)
 * when there is none or the product overflows. count * size = 0 gives a valid pointer. Free with alloc_free(). */
NODISCARD void *alloc_zero(size_t count, size_t size, const char *what, struct error *error);

/* Grows memory from alloc_zero to new_count * size bytes, old contents kept, the rest zeroed. On failure returns NULL
 * and leaves the old block as it was. old = NULL behaves like alloc_zero. */
NODISCARD void *alloc_grow(void *old, size_t old_count, size_t new_count, size_t size, const char *what,
                           struct error *error);

/* A terminated copy of text. */
NODISCARD char *alloc_text(const char *text, struct error *error);

void alloc_free(void *memory); /* NULL is fine */

/* *product = a * b; false on overflow. */
bool size_mul(size_t a, size_t b, size_t *product);

/* For tests: the n-th allocation from now (n >= 1) and, if `persistent`, all later ones fail; n = 0 switches this off.
 */
void alloc_fail_at(int64_t n, bool persistent);

/* For tests and reports: blocks that are allocated and not freed, over all threads. */
int64_t alloc_live_blocks(void);

#endif
