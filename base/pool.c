#include "pool.h"

#include "alloc.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 }; /* a slip in a user's number must not take the machine */

struct pool {
    int32_t threads; /* the caller included */
    pthread_mutex_t mutex;
    pthread_cond_t work, idle;
    uint64_t generation; /* of the loop; a change wakes the helpers */
    int32_t busy;        /* helpers still in the loop */
    bool stopping, running;
    _Atomic int64_t next;
    int64_t count;
    void (*task)(void *context, int64_t index, int32_t thread);
    void *context;
    struct member {
        struct pool *pool;
        int32_t thread;
        pthread_t id;
    } members[];
};

static void play_items(struct pool *pool, int32_t thread) {
    for (int64_t index; (index = atomic_fetch_add(&pool->next, 1)) < pool->count;)
        pool->task(pool->context, index, thread);
}

static void *member_main(void *argument) {
    struct member *member = argument;
    struct pool *pool = member->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->generation == seen && !pool->stopping) pthread_cond_wait(&pool->work, &pool->mutex);
        if (pool->stopping) break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->mutex);
        play_items(pool, member->thread);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->busy == 0) pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

struct pool *pool_create(int32_t threads, struct error *error) {
    if (threads < 1) threads = 1;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    struct pool *pool = alloc_zero(1, sizeof *pool + (size_t)threads * sizeof pool->members[0], "thread pool", error);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->threads = 1;
    sigset_t requests, before; /* to stop: they interrupt the caller, who knows what to do, not a helper */
    sigemptyset(&requests);
    sigaddset(&requests, SIGINT);
    sigaddset(&requests, SIGTERM);
    sigaddset(&requests, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &requests, &before);
    for (int32_t i = 1; i < threads; i++) {
        struct member *member = &pool->members[pool->threads];
        member->pool = pool;
        member->thread = pool->threads;
        if (pthread_create(&member->id, NULL, member_main, member) != 0) break;
        pool->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool;
}

void pool_free(struct pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (int32_t i = 1; i < pool->threads; i++) pthread_join(pool->members[i].id, NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    alloc_free(pool);
}

int32_t pool_threads(const struct pool *pool) {
    return pool->threads;
}

int32_t pool_cores(void) {
    cpu_set_t set;
    /* The set holds 1024 processors; on a larger machine the call fails and those online are counted. */
    long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int32_t)count : 1;
}

void pool_run(struct pool *pool, int64_t count, void (*task)(void *context, int64_t index, int32_t thread),
              void *context) {
    if (!pool || pool->threads == 1 || count <= 1) {
        for (int64_t index = 0; index < count; index++) task(context, index, 0);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    assert(!pool->running); /* a task must not run a loop on its own pool */
    pool->running = true;
    pool->task = task;
    pool->context = context;
    pool->count = count;
    atomic_store(&pool->next, 0);
    pool->busy = pool->threads - 1;
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    play_items(pool, 0);
    pthread_mutex_lock(&pool->mutex);
    while (pool->busy > 0) pthread_cond_wait(&pool->idle, &pool->mutex);
    pool->running = false;
    pthread_mutex_unlock(&pool->mutex);
}
