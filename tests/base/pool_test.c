/* The thread pool: each item once, few threads when the system has few, the same results with any number. */
#include "expect.h"

#include "base/alloc.h"
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ITEMS = 1000 };

/* Threads that the system still gives; the link option --wrap leads pthread_create here. */
static int threads_left = 1000;
int __real_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    if (threads_left == 0) return EAGAIN;
    threads_left--;
    return __real_pthread_create(id, attributes, start, argument);
}

struct tally {
    int32_t runs[ITEMS]; /* plain on purpose: one item is on one thread, and the end of the loop orders all */
    int32_t threads;
    _Atomic int32_t outside; /* items run with a thread number that does not exist */
    _Atomic int32_t at_once[64];
    _Atomic int32_t shared; /* items that met another one in the same workspace */
};

static void count_item(void *context, int64_t index, int32_t thread) {
    struct tally *tally = context;
    tally->runs[index]++;
    if (thread < 0 || thread >= tally->threads) {
        atomic_fetch_add(&tally->outside, 1);
        return;
    }
    if (atomic_fetch_add(&tally->at_once[thread], 1) != 0) atomic_fetch_add(&tally->shared, 1);
    atomic_fetch_sub(&tally->at_once[thread], 1);
}

static void check_loops(struct pool *pool, int32_t threads, int64_t count, int loops) {
    struct tally tally = {.threads = threads};
    for (int i = 0; i < loops; i++) pool_run(pool, count, count_item, &tally);
    for (int i = 0; i < ITEMS; i++)
        EXPECT(tally.runs[i] == (i < count ? loops : 0), "item %d of %d on %d threads ran %d times", i, (int)count,
               threads, tally.runs[i]);
    EXPECT(tally.outside == 0 && tally.shared == 0, "%d outside, %d shared on %d threads", tally.outside, tally.shared,
           threads);
}

static void runs_each_item_once(void **state) {
    (void)state;
    static const int32_t threads[] = {1, 2, 3, 8, 32};
    static const int64_t counts[] = {0, 1, 2, 7, ITEMS};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        struct error error = {0};
        struct pool *pool = pool_create(threads[i], &error);
        assert_non_null(pool);
        assert_int_equal(pool_threads(pool), threads[i]);
        for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++) check_loops(pool, threads[i], counts[j], 3);
        check_loops(pool, threads[i], 4, 300); /* short loops: threads are woken and awaited often */
        pool_free(pool);
    }
    check_loops(NULL, 1, ITEMS, 2);
    assert_no_faults();
}

static void goes_on_with_the_threads_it_gets(void **state) {
    (void)state;
    for (int given = 0; given < 4; given++) {
        threads_left = given;
        struct error error = {0};
        struct pool *pool = pool_create(6, &error);
        assert_non_null(pool);
        assert_int_equal(pool_threads(pool), given + 1);
        check_loops(pool, given + 1, ITEMS, 5);
        pool_free(pool);
    }
    threads_left = 1000;
    assert_no_faults();
}

static void senseless_numbers_of_threads_are_bounded(void **state) {
    (void)state;
    static const int32_t threads[] = {INT32_MIN, -1, 0, INT32_MAX};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        threads_left = 2;
        struct pool *pool = pool_create(threads[i], NULL);
        assert_non_null(pool);
        EXPECT(pool_threads(pool) == (threads[i] > 0 ? 3 : 1), "%d threads: %d", threads[i], pool_threads(pool));
        pool_free(pool);
    }
    threads_left = 1000;
    assert_no_faults();
}

struct wait {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int32_t arrived, wanted;
};

/* Ends only when `wanted` items run at the same time. */
static void wait_for_all(void *context, int64_t index, int32_t thread) {
    (void)index, (void)thread;
    struct wait *wait = context;
    pthread_mutex_lock(&wait->mutex);
    wait->arrived++;
    pthread_cond_broadcast(&wait->changed);
    while (wait->arrived < wait->wanted) pthread_cond_wait(&wait->changed, &wait->mutex);
    pthread_mutex_unlock(&wait->mutex);
}

static void all_threads_work_at_once(void **state) {
    (void)state;
    struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 4};
    struct pool *pool = pool_create(4, NULL);
    assert_non_null(pool);
    pool_run(pool, 4, wait_for_all, &wait); /* hangs (and times out) with fewer */
    assert_int_equal(wait.arrived, 4);
    pool_free(pool);
}

struct masks {
    sigset_t masks[4];
    struct wait wait;
};

static void note_mask(void *context, int64_t index, int32_t thread) {
    struct masks *masks = context;
    pthread_sigmask(SIG_BLOCK, NULL, &masks->masks[thread]);
    wait_for_all(&masks->wait, index, thread);
}

/* Ctrl-C has to reach the calling thread, which may be waiting in a system call. */
static void helpers_leave_requests_to_stop_to_the_caller(void **state) {
    (void)state;
    struct masks masks = {.wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 4}};
    struct pool *pool = pool_create(4, NULL);
    assert_non_null(pool);
    pool_run(pool, 4, note_mask, &masks);
    for (int thread = 0; thread < 4; thread++)
        EXPECT(sigismember(&masks.masks[thread], SIGINT) == (thread > 0), "thread %d", thread);
    pool_free(pool);
    assert_no_faults();
}

static void lack_of_memory_is_reported(void **state) {
    (void)state;
    int64_t blocks = alloc_live_blocks();
    struct error error = {0};
    alloc_fail_at(1, false);
    assert_null(pool_create(2, &error));
    assert_int_equal(error.status, STATUS_MEMORY);
    pool_free(NULL);
    assert_int_equal(alloc_live_blocks(), blocks);
}

static void knows_the_processors(void **state) {
    (void)state;
    assert_in_range(pool_cores(), 1, 1 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_each_item_once),
        cmocka_unit_test(goes_on_with_the_threads_it_gets),
        cmocka_unit_test(senseless_numbers_of_threads_are_bounded),
        cmocka_unit_test(all_threads_work_at_once),
        cmocka_unit_test(helpers_leave_requests_to_stop_to_the_caller),
        cmocka_unit_test(lack_of_memory_is_reported),
        cmocka_unit_test(knows_the_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
