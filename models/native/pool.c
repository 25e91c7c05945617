/* The pool: threads that wait for work, and a caller who hands it out.

   One 64-bit word says which job is on (its high half, a number) and how many more threads may join
   it (its low half). A thread joins by taking one off; the caller ends a job by taking off what is
   left, and waits for those who joined. A thread that finds no work looks again for
   PATIENCE, for passes are made of many short jobs, then sleeps. */

#include "pool.h"

#include <stdatomic.h>
#include <stddef.h>

#include "threads.h"

enum { MOST = 256, PATIENCE = 50 /* microseconds */ };

static struct {
    Lock busy;        /* whoever has handed out a job holds it */
    Lock sleep;       /* guards the waits below */
    Signal work, end; /* there is a job; a job's last thread is done */
    int threads;      /* besides the caller; written under `busy` */
    _Atomic uint64_t word;
    atomic_int sleepers;
    GecTask task;
    void *context;
    int64_t count, piece;
    _Atomic int64_t next;
    atomic_int joined; /* threads, and those of them that have ended */
    atomic_int done;
    atomic_int waits; /* the caller sleeps until they have */
} pool = {.busy = LOCK_INIT, .sleep = LOCK_INIT, .work = SIGNAL_INIT, .end = SIGNAL_INIT};

static void compute(int thread)
{
    for (;;) {
        const int64_t begin = atomic_fetch_add(&pool.next, pool.piece);
        if (begin >= pool.count)
            return;
        const int64_t end = begin + pool.piece;
        pool.task(pool.context, begin, end < pool.count ? end : pool.count, thread);
    }
}

static int join(void)
{
    uint64_t word = atomic_load(&pool.word);
    while (word & 0xffffffff)
        if (atomic_compare_exchange_weak(&pool.word, &word, word - 1))
            return 1;
    return 0;
}

static void doze(void)
{
    lock(&pool.sleep);
    atomic_fetch_add(&pool.sleepers, 1);
    while (!(atomic_load(&pool.word) & 0xffffffff))
        await(&pool.work, &pool.sleep);
    atomic_fetch_sub(&pool.sleepers, 1);
    unlock(&pool.sleep);
}

/* Whether it is too early to sleep; takes a moment. */
static int look_again(int64_t since)
{
    for (int i = 0; i < 8; i++)
        relax();
    return microseconds() - since < PATIENCE;
}

static void serve(void)
{
    for (;;) {
        for (int64_t since = microseconds(); !join();)
            if (!look_again(since)) {
                doze();
                since = microseconds();
            }
        compute(atomic_fetch_add(&pool.joined, 1) + 1);
        atomic_fetch_add(&pool.done, 1);
        if (atomic_load(&pool.waits)) {
            lock(&pool.sleep);
            wake_all(&pool.end);
            unlock(&pool.sleep);
        }
    }
}

static void wait_for(int joined)
{
    const int64_t since = microseconds();
    while (atomic_load(&pool.done) < joined) {
        if (look_again(since))
            continue;
        lock(&pool.sleep);
        atomic_store(&pool.waits, 1);
        while (atomic_load(&pool.done) < joined)
            await(&pool.end, &pool.sleep);
        atomic_store(&pool.waits, 0);
        unlock(&pool.sleep);
    }
}

#ifndef _WIN32
/* A child has none of its parent's threads: its pool begins anew. */
static void begin_anew(void)
{
    renew_lock(&pool.busy);
    renew_lock(&pool.sleep);
    renew_signal(&pool.work);
    renew_signal(&pool.end);
    pool.threads = 0;
    atomic_store(&pool.word, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.waits, 0);
}
#endif

/* Has `wanted` threads in the pool, or as many as there can be; returns how many. */
static int grow(int wanted)
{
#ifndef _WIN32
    static int told;
    if (!told && wanted > 0)
        told = pthread_atfork(NULL, NULL, begin_anew) == 0;
    if (!told)
        return 0;
#endif
    while (pool.threads < wanted && pool.threads < MOST && start_thread(serve))
        pool.threads++;
    return pool.threads < wanted ? pool.threads : wanted;
}

void gec_parallel(int threads, int64_t count, int64_t piece, GecTask task, void *context)
{
    if (threads > count)
        threads = (int)count;
    if (threads <= 1 || !try_lock(&pool.busy)) {
        if (count > 0)
            task(context, 0, count, 0);
        return;
    }
    const int helpers = grow(threads - 1);
    pool.task = task;
    pool.context = context;
    pool.count = count;
    pool.piece = piece > 0 ? piece : (count + threads * 4 - 1) / (threads * 4);
    atomic_store(&pool.next, 0);
    atomic_store(&pool.joined, 0);
    atomic_store(&pool.done, 0);
    const uint64_t job = (atomic_load(&pool.word) & ~(uint64_t)0xffffffff) + ((uint64_t)1 << 32);
    atomic_store(&pool.word, job + (uint64_t)helpers);
    if (helpers && atomic_load(&pool.sleepers)) {
        lock(&pool.sleep);
        wake_all(&pool.work);
        unlock(&pool.sleep);
    }
    compute(0);
    const uint64_t left = atomic_exchange(&pool.word, job) & 0xffffffff;
    wait_for(helpers - (int)left);
    unlock(&pool.busy);
}
