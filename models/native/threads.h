/* Locks, signals and threads of POSIX and of Windows. */

#if defined(__x86_64__) || defined(__i386__)
static inline void relax(void) { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
static inline void relax(void) { __asm__ volatile("yield"); }
#else
static inline void relax(void) {}
#endif

#ifdef _WIN32
#include <process.h>
#include <windows.h>

typedef SRWLOCK Lock;
typedef CONDITION_VARIABLE Signal;
#define LOCK_INIT SRWLOCK_INIT
#define SIGNAL_INIT CONDITION_VARIABLE_INIT

static void lock(Lock *l) { AcquireSRWLockExclusive(l); }
static int try_lock(Lock *l) { return TryAcquireSRWLockExclusive(l); }
static void unlock(Lock *l) { ReleaseSRWLockExclusive(l); }
static void await(Signal *s, Lock *l) { SleepConditionVariableSRW(s, l, INFINITE, 0); }
static void wake_all(Signal *s) { WakeAllConditionVariable(s); }

static int64_t microseconds(void)
{
    LARGE_INTEGER ticks, second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&second);
    return (int64_t)((double)ticks.QuadPart * 1e6 / (double)second.QuadPart);
}

static void run_thread(void *body) { ((void (*)(void))body)(); }
static int start_thread(void (*body)(void))
{
    return _beginthread(run_thread, 0, (void *)body) != (uintptr_t)-1;
}

#else
#include <pthread.h>
#include <signal.h>
#include <time.h>

typedef pthread_mutex_t Lock;
typedef pthread_cond_t Signal;
#define LOCK_INIT PTHREAD_MUTEX_INITIALIZER
#define SIGNAL_INIT PTHREAD_COND_INITIALIZER

static void lock(Lock *l) { pthread_mutex_lock(l); }
static int try_lock(Lock *l) { return pthread_mutex_trylock(l) == 0; }
static void unlock(Lock *l) { pthread_mutex_unlock(l); }
static void renew_lock(Lock *l) { *l = (Lock)LOCK_INIT; }
static void await(Signal *s, Lock *l) { pthread_cond_wait(s, l); }
static void renew_signal(Signal *s) { *s = (Signal)SIGNAL_INIT; }
static void wake_all(Signal *s) { pthread_cond_broadcast(s); }

static int64_t microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *run_thread(void *body)
{
    ((void (*)(void))body)();
    return NULL;
}

/* A detached thread that gets no signals: those are for the threads of Python. */
static int start_thread(void (*body)(void))
{
    pthread_t thread;
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    const int made = pthread_create(&thread, NULL, run_thread, (void *)body) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        pthread_detach(thread);
    return made;
}
#endif
