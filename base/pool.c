#include "pool.h"

#include "alloc.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct pool {
    int32_t threads;          /* the caller included */
    pthread_mutex_t mutex;
    pthread_cond_t work, idle;
    uint64_t generation;      /* of the loop; a change wakes the helpers */
    int32_t busy;             /* helpers still in the loop */
    bool stopping;
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
    struct pool *pool = alloc_zero(1, sizeof *pool + (size_t)threads * sizeof pool->members[0], "thread pool", error);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->threads = 1;
    for (int32_t i = 1; i < threads; i++) {
        struct member *member = &pool->members[pool->threads];
        member->pool = pool;
        member->thread = pool->threads;
        if (pthread_create(&member->id, NULL, member_main, member) != 0) break;
        pool->threads++;
    }
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

int32_t pool_threads(const struct pool *pool) { return pool->threads; }

int32_t pool_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

void pool_run(struct pool *pool, int64_t count, void (*task)(void *context, int64_t index, int32_t thread),
              void *context) {
    if (!pool || pool->threads == 1 || count <= 1) {
        for (int64_t index = 0; index < count; index++) task(context, index, 0);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
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
    pthread_mutex_unlock(&pool->mutex);
}
