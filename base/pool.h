/* A few threads that run the items of a loop: for (index = 0; index < count; index++) task(context, index, thread).
 *
 * Items are handed out in order to whichever thread is free; an item runs wholly on one thread. Results must not depend
 * on which: `thread` (0 .. threads - 1) serves only to pick a workspace. The calling thread is thread 0 and works too.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "error.h"

struct pool;

/* threads >= 1. If the system refuses a thread the pool goes on with those it has (pool_threads tells). */
NODISCARD struct pool *pool_create(int32_t threads, struct error *error);
void pool_free(struct pool *pool); /* NULL is fine */
int32_t pool_threads(const struct pool *pool);
int32_t pool_cores(void); /* processors this process may use */

/* Runs all items and returns when the last is done. pool = NULL runs them here, as thread 0. */
void pool_run(struct pool *pool, int64_t count, void (*task)(void *context, int64_t index, int32_t thread),
              void *context);

#endif
