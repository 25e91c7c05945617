/* What a processor computes with: one table of functions a kind of processor.

   A vector is 16 floats everywhere, in as many registers as it takes, and each algorithm is written
   once (kernels.c) in terms of vectors. Every table does the same operations in the same order, so
   results have the same bits on every processor; int8 products are exact integers anyway. And what
   is computed for a row depends on that row alone: neither on its neighbours nor on how the work
   is split over threads.

   Rows are contiguous floats unless said. Nothing needs to be aligned. */

#ifndef GEC_KERNELS_H
#define GEC_KERNELS_H

#include <stdint.h>

#ifdef _WIN32
#define GEC_API __declspec(dllexport)
#else
#define GEC_API __attribute__((visibility("default")))
#endif

enum {
    GEC_LANES = 16,
    GEC_PANEL = 64,  /* channels of a layer that are packed, and computed, together */
    GEC_LEVELS = 127 /* largest magnitude of an int8 value */
};

enum GecActivation { GEC_RELU, GEC_GELU, GEC_GELU_TANH, GEC_SILU };

static inline int64_t gec_panels(int64_t channels) { return (channels + GEC_PANEL - 1) / GEC_PANEL; }

/* Inputs of an int8 layer, rounded up to groups of four. */
static inline int64_t gec_padded(int64_t inputs) { return (inputs + 3) / 4 * 4; }

/* Bytes of a layer's packed weights. */
static inline int64_t gec_packed_int8(int64_t channels, int64_t inputs)
{
    return gec_panels(channels) * GEC_PANEL * gec_padded(inputs);
}

static inline int64_t gec_packed_float(int64_t channels, int64_t inputs)
{
    return gec_panels(channels) * GEC_PANEL * inputs * (int64_t)sizeof(float);
}

typedef struct {
    int64_t rows, inputs, channels;
    const int8_t *values; /* [rows, gec_padded(inputs)]: these three as `quantize` leaves them */
    const float *row_scale;
    const int32_t *offset;
    const void *panels;
    const float *scale, *bias; /* [channels]; bias may be NULL */
    float *y;                  /* [rows, channels] */
    int relu;
} GecLinear;

typedef struct {
    int64_t rows, inputs, channels;
    const float *x;
    const void *panels;
    const float *bias; /* may be NULL */
    float *y;
    int relu;
} GecFloatLinear;

/* The largest logit of each row and panel of an output layer, in place of the logits. */
typedef struct {
    float *largest;        /* [rows, panels]; NaN if a logit is */
    int32_t *best;         /* [rows, panels], the smallest id among equals, the first NaN's if any */
    float *sum;            /* [rows, panels] of e^(logit - largest), or NULL: not asked for */
    const int32_t *wanted; /* [rows] ids, -1 for none; or NULL */
    float *logit;          /* [rows], of `wanted` */
} GecBest;

/* Attention of the queries of one row (sentence). Query head h reads the keys of head h / shared. */
typedef struct {
    const float *q, *k, *v;            /* the row's first place, head 0 */
    int64_t q_place, k_place, v_place; /* distances of places, in floats */
    int64_t q_head, k_head, v_head;    /* and of heads */
    int64_t width, shared;             /* numbers of a head; query heads to a head of keys */
    int64_t keys;                      /* what a query sees of the keys, unless it is causal */
    int64_t offset;                    /* query t sees the keys 0 to offset + t; -1: not causal */
    const uint8_t *mask;               /* not 0 where a key may be seen, or NULL */
    int64_t mask_query;                /* distance of two queries' masks */
    float scale;                       /* of the products */
    float *y;
    int64_t y_place; /* heads lie `width` apart */
} GecAttention;

typedef struct {
    const char *name;

    /* Weights [channels, inputs] into panels, and `count` channels from `first` on out of them. */
    void (*pack_int8)(const int8_t *weight, int64_t channels, int64_t inputs, void *panels);
    void (*unpack_int8)(const void *panels, int64_t inputs, int64_t first, int64_t count,
                        int8_t *weight);
    void (*pack_float)(const float *weight, int64_t channels, int64_t inputs, void *panels);
    void (*unpack_float)(const void *panels, int64_t inputs, int64_t first, int64_t count,
                         float *weight);

    /* Rows to int8 values and a scale each; a row that holds NaN or an infinity has scale NaN. */
    void (*quantize)(const float *x, int64_t rows, int64_t inputs, int8_t *values,
                     float *row_scale, int32_t *offset);

    /* y = x W^T + b for the panels [begin, end), over all rows. */
    void (*int8_part)(const GecLinear *, int64_t begin, int64_t end);
    void (*float_part)(const GecFloatLinear *, int64_t begin, int64_t end);

    /* The same, but only what GecBest keeps; y is not touched. */
    void (*best_int8_part)(const GecLinear *, const GecBest *, int64_t begin, int64_t end);
    void (*best_float_part)(const GecFloatLinear *, const GecBest *, int64_t begin, int64_t end);

    /* Each of the rows [begin, end) over all its panels: its best id, that one's logit, and (unless
       NULL) the logarithm of the sum of e^(logit - largest). A log-probability is
       (logit - largest) - log_sum. */
    void (*best_merge)(const GecBest *, int64_t panels, int64_t begin, int64_t end, int32_t *best,
                       float *largest, float *log_sum);

    void (*layer_norm)(const float *x, int64_t rows, int64_t width, const float *weight,
                       const float *bias, float *y, float epsilon); /* bias may be NULL */
    void (*rms_norm)(const float *x, int64_t rows, int64_t width, const float *weight, float *y,
                     float epsilon);

    /* Turns pairs (i, i + half) of the first `heads` heads in place; cos and sin [rows, half]. */
    void (*rotate)(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t half,
                   const float *cosines, const float *sines);

    void (*gate)(const float *x, int64_t rows, int64_t width, float *y); /* silu(a) b of [a, b] */
    void (*activate)(float *x, int64_t count, int which);                /* in place */
    void (*add)(float *x, const float *y, int64_t count);                /* x += y */

    /* The queries [begin, end) of one head; scores: room for the most keys and GEC_LANES more. */
    void (*attend)(const GecAttention *, int64_t head, int64_t begin, int64_t end, float *scores);
} GecKernels;

/* The table of that name, or NULL: not built in, or not for this processor. "" is the best one. */
GEC_API const GecKernels *gec_kernels(const char *name);

/* The names of the tables that this processor can use, best first, one space between. */
GEC_API const char *gec_kernel_names(void);

#endif
