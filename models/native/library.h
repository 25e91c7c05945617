/* What gec.models.native.library and gec.models.engines.native call. A table of kernels comes first;
   a call computes with at most `threads` threads, and with one where there is little to do. The
   pointers are believed: Python checks what they point to. */

#ifndef GEC_LIBRARY_H
#define GEC_LIBRARY_H

#include "kernels.h"

/* Raised with every change of what is called or of the packed weights' order. */
enum { GEC_ABI = 1 };

GEC_API int gec_abi(void);

/* As the functions of the table. */
GEC_API int64_t gec_size_int8(int64_t channels, int64_t inputs);
GEC_API int64_t gec_size_float(int64_t channels, int64_t inputs);
GEC_API void gec_pack_int8(const GecKernels *, const int8_t *weight, int64_t channels, int64_t inputs,
                   void *panels);
GEC_API void gec_unpack_int8(const GecKernels *, const void *panels, int64_t inputs, int64_t first,
                     int64_t count, int8_t *weight);
GEC_API void gec_pack_float(const GecKernels *, const float *weight, int64_t channels, int64_t inputs,
                    void *panels);
GEC_API void gec_unpack_float(const GecKernels *, const void *panels, int64_t inputs, int64_t first,
                      int64_t count, float *weight);

/* y = x W^T + b. Those that return an int return 0 where there was no memory. */
GEC_API int gec_linear_int8(const GecKernels *, const float *x, int64_t rows, int64_t inputs,
                    const void *panels, int64_t channels, const float *scale, const float *bias,
                    int relu, float *y, int threads);
GEC_API void gec_linear_float(const GecKernels *, const float *x, int64_t rows, int64_t inputs,
                      const void *panels, int64_t channels, const float *bias, int relu, float *y,
                      int threads);

/* The best id, its logit and (unless NULL) the logarithm of the sum of e^(logit - largest) of each
   row; `logit` is that of the row's wanted id, untouched for -1. Either pointer may be NULL. */
GEC_API int gec_best_int8(const GecKernels *, const float *x, int64_t rows, int64_t inputs,
                  const void *panels, int64_t channels, const float *scale, const float *bias,
                  const int32_t *wanted, float *logit, int32_t *best, float *largest,
                  float *log_sum, int threads);
GEC_API int gec_best_float(const GecKernels *, const float *x, int64_t rows, int64_t inputs,
                   const void *panels, int64_t channels, const float *bias, const int32_t *wanted,
                   float *logit, int32_t *best, float *largest, float *log_sum, int threads);

GEC_API void gec_layer_norm(const GecKernels *, const float *x, int64_t rows, int64_t width,
                    const float *weight, const float *bias, float *y, float epsilon, int threads);
GEC_API void gec_rms_norm(const GecKernels *, const float *x, int64_t rows, int64_t width,
                  const float *weight, float *y, float epsilon, int threads);
GEC_API void gec_rotate(const GecKernels *, float *x, int64_t rows, int64_t stride, int64_t heads,
                int64_t half, const float *cosines, const float *sines, int threads);
GEC_API void gec_gate(const GecKernels *, const float *x, int64_t rows, int64_t width, float *y,
              int threads);
GEC_API void gec_activate(const GecKernels *, float *x, int64_t count, int which);

/* Of whole batches: [batch, queries, heads, width] to [batch, keys, heads, width]. */
typedef struct {
    int64_t batch, queries, keys, heads, width;
    const float *q;
    int64_t q_row, q_place; /* distances of rows and of places; heads follow one another */
    const float *k;
    int64_t k_row, k_place;
    const float *v;
    int64_t v_row, v_place;
    const uint8_t *mask;
    int64_t mask_row, mask_query;
    int64_t causal; /* query t sees the keys 0 to t */
    float *y;
    float scale;
} GecBatchAttention;

GEC_API int gec_attention(const GecKernels *, const GecBatchAttention *, int threads);

#endif
