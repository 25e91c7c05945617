/* One pool of threads for the process. */

#ifndef GEC_POOL_H
#define GEC_POOL_H

#include "kernels.h"

/* Computes the items [begin, end). No two pieces are computed at once under the same number
   `thread`, which is less than the threads that were asked for: each may have memory of its own. */
typedef void (*GecTask)(void *context, int64_t begin, int64_t end, int thread);

/* Has the items [0, count) computed by at most `threads` threads, the caller among them, in pieces
   of `piece` items (0: of a fitting size); returns when all are done. Safe to call from several
   threads: a caller who finds the pool busy computes alone. Allocates nothing once the pool has as
   many threads. */
GEC_API void gec_parallel(int threads, int64_t count, int64_t piece, GecTask task, void *context);

#endif
