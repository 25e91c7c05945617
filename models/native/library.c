#include "library.h"

#include <stdlib.h>

#include "pool.h"

/* Fewest multiplications that are worth waking a second thread for. */
static const int64_t PARALLEL = 200000;

int gec_abi(void) { return GEC_ABI; }

int64_t gec_size_int8(int64_t channels, int64_t inputs) { return gec_packed_int8(channels, inputs); }

int64_t gec_size_float(int64_t channels, int64_t inputs)
{
    return gec_packed_float(channels, inputs);
}

void gec_pack_int8(const GecKernels *kernels, const int8_t *weight, int64_t channels,
                   int64_t inputs, void *panels)
{
    kernels->pack_int8(weight, channels, inputs, panels);
}

void gec_unpack_int8(const GecKernels *kernels, const void *panels, int64_t inputs, int64_t first,
                     int64_t count, int8_t *weight)
{
    kernels->unpack_int8(panels, inputs, first, count, weight);
}

void gec_pack_float(const GecKernels *kernels, const float *weight, int64_t channels,
                    int64_t inputs, void *panels)
{
    kernels->pack_float(weight, channels, inputs, panels);
}

void gec_unpack_float(const GecKernels *kernels, const void *panels, int64_t inputs, int64_t first,
                      int64_t count, float *weight)
{
    kernels->unpack_float(panels, inputs, first, count, weight);
}

/* ---- linear layers and output layers */

typedef struct {
    const GecKernels *kernels;
    const float *x;
    GecLinear linear;
    GecFloatLinear floats;
    GecBest best;
    int32_t *ids;
    float *largest, *log_sum;
    int64_t panels;
} Product;

static void quantize(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Product *p = context;
    const GecLinear *l = &p->linear;
    p->kernels->quantize(p->x + begin * l->inputs, end - begin, l->inputs,
                         (int8_t *)l->values + begin * gec_padded(l->inputs),
                         (float *)l->row_scale + begin, (int32_t *)l->offset + begin);
}

static void int8_part(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Product *p = context;
    p->kernels->int8_part(&p->linear, begin, end);
}

static void float_part(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Product *p = context;
    p->kernels->float_part(&p->floats, begin, end);
}

static void best_int8_part(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Product *p = context;
    p->kernels->best_int8_part(&p->linear, &p->best, begin, end);
}

static void best_float_part(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Product *p = context;
    p->kernels->best_float_part(&p->floats, &p->best, begin, end);
}

static void best_merge(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Product *p = context;
    p->kernels->best_merge(&p->best, p->panels, begin, end, p->ids, p->largest, p->log_sum);
}

static int worth(int64_t work, int threads) { return work < PARALLEL ? 1 : threads; }

/* Memory for the quantized rows, to be freed by linear.row_scale; 0 if there is none. */
static int quantized(Product *p, int threads)
{
    const int64_t rows = p->linear.rows, padded = gec_padded(p->linear.inputs);
    enum { LINE = 64 }; /* of the cache, where values begin one */
    char *scratch = malloc((size_t)(rows * (padded + 8)) + LINE);
    if (scratch == NULL)
        return 0;
    p->linear.row_scale = (float *)scratch;
    p->linear.offset = (int32_t *)(scratch + rows * 4);
    char *values = scratch + rows * 8;
    p->linear.values = (int8_t *)(values + -(uintptr_t)values % LINE);
    gec_parallel(threads, rows, 0, quantize, p);
    return 1;
}

int gec_linear_int8(const GecKernels *kernels, const float *x, int64_t rows, int64_t inputs,
                    const void *panels, int64_t channels, const float *scale, const float *bias,
                    int relu, float *y, int threads)
{
    Product p = {.kernels = kernels, .x = x};
    p.linear = (GecLinear){.rows = rows, .inputs = inputs, .channels = channels, .panels = panels,
                           .scale = scale, .bias = bias, .y = y, .relu = relu};
    threads = worth(rows * inputs * channels, threads);
    if (!quantized(&p, threads))
        return 0;
    gec_parallel(threads, gec_panels(channels), 0, int8_part, &p);
    free((void *)p.linear.row_scale);
    return 1;
}

void gec_linear_float(const GecKernels *kernels, const float *x, int64_t rows, int64_t inputs,
                      const void *panels, int64_t channels, const float *bias, int relu, float *y,
                      int threads)
{
    Product p = {.kernels = kernels};
    p.floats = (GecFloatLinear){.rows = rows, .inputs = inputs, .channels = channels, .x = x,
                                .panels = panels, .bias = bias, .y = y, .relu = relu};
    threads = worth(rows * inputs * channels, threads);
    gec_parallel(threads, gec_panels(channels), 0, float_part, &p);
}

/* `part` over all panels, then their bests together; 0 where there is no memory. */
static int best(Product *p, int64_t rows, GecTask part, int threads)
{
    const int64_t count = rows * p->panels;
    char *scratch = malloc((size_t)count * 12 + 1);
    if (scratch == NULL)
        return 0;
    p->best.largest = (float *)scratch;
    p->best.best = (int32_t *)(scratch + count * 4);
    p->best.sum = p->log_sum ? (float *)(scratch + count * 8) : NULL;
    gec_parallel(threads, p->panels, 0, part, p);
    best_merge(p, 0, rows, 0);
    free(scratch);
    return 1;
}

int gec_best_int8(const GecKernels *kernels, const float *x, int64_t rows, int64_t inputs,
                  const void *panels, int64_t channels, const float *scale, const float *bias,
                  const int32_t *wanted, float *logit, int32_t *ids, float *largest,
                  float *log_sum, int threads)
{
    Product p = {.kernels = kernels, .x = x, .ids = ids, .largest = largest, .log_sum = log_sum,
                 .panels = gec_panels(channels), .best = {.wanted = wanted, .logit = logit}};
    p.linear = (GecLinear){.rows = rows, .inputs = inputs, .channels = channels, .panels = panels,
                           .scale = scale, .bias = bias};
    threads = worth(rows * inputs * channels, threads);
    if (!quantized(&p, threads))
        return 0;
    const int done = best(&p, rows, best_int8_part, threads);
    free((void *)p.linear.row_scale);
    return done;
}

int gec_best_float(const GecKernels *kernels, const float *x, int64_t rows, int64_t inputs,
                   const void *panels, int64_t channels, const float *bias, const int32_t *wanted,
                   float *logit, int32_t *ids, float *largest, float *log_sum, int threads)
{
    Product p = {.kernels = kernels, .ids = ids, .largest = largest, .log_sum = log_sum,
                 .panels = gec_panels(channels), .best = {.wanted = wanted, .logit = logit}};
    p.floats = (GecFloatLinear){.rows = rows, .inputs = inputs, .channels = channels, .x = x,
                                .panels = panels, .bias = bias};
    return best(&p, rows, best_float_part, worth(rows * inputs * channels, threads));
}

/* ---- rows */

typedef struct {
    const GecKernels *kernels;
    const float *x, *a, *b;
    float *y, epsilon;
    int64_t width, stride, heads;
} Rows;

static void layer_norm(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Rows *p = context;
    const int64_t at = begin * p->width;
    p->kernels->layer_norm(p->x + at, end - begin, p->width, p->a, p->b, p->y + at, p->epsilon);
}

static void rms_norm(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Rows *p = context;
    const int64_t at = begin * p->width;
    p->kernels->rms_norm(p->x + at, end - begin, p->width, p->a, p->y + at, p->epsilon);
}

static void rotate(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Rows *p = context;
    p->kernels->rotate(p->y + begin * p->stride, end - begin, p->stride, p->heads, p->width,
                       p->a + begin * p->width, p->b + begin * p->width);
}

static void gate(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const Rows *p = context;
    p->kernels->gate(p->x + 2 * begin * p->width, end - begin, p->width, p->y + begin * p->width);
}

void gec_layer_norm(const GecKernels *kernels, const float *x, int64_t rows, int64_t width,
                    const float *weight, const float *bias, float *y, float epsilon, int threads)
{
    Rows p = {.kernels = kernels, .x = x, .a = weight, .b = bias, .y = y, .epsilon = epsilon,
              .width = width};
    gec_parallel(worth(rows * width, threads), rows, 0, layer_norm, &p);
}

void gec_rms_norm(const GecKernels *kernels, const float *x, int64_t rows, int64_t width,
                  const float *weight, float *y, float epsilon, int threads)
{
    Rows p = {.kernels = kernels, .x = x, .a = weight, .y = y, .epsilon = epsilon, .width = width};
    gec_parallel(worth(rows * width, threads), rows, 0, rms_norm, &p);
}

void gec_rotate(const GecKernels *kernels, float *x, int64_t rows, int64_t stride, int64_t heads,
                int64_t half, const float *cosines, const float *sines, int threads)
{
    Rows p = {.kernels = kernels, .a = cosines, .b = sines, .y = x, .width = half,
              .stride = stride, .heads = heads};
    gec_parallel(worth(rows * heads * half, threads), rows, 0, rotate, &p);
}

void gec_gate(const GecKernels *kernels, const float *x, int64_t rows, int64_t width, float *y,
              int threads)
{
    Rows p = {.kernels = kernels, .x = x, .y = y, .width = width};
    gec_parallel(worth(rows * width * 8, threads), rows, 0, gate, &p);
}

void gec_activate(const GecKernels *kernels, float *x, int64_t count, int which)
{
    kernels->activate(x, count, which);
}

/* ---- attention */

typedef struct {
    const GecKernels *kernels;
    const GecBatchAttention *all;
    float *scores; /* `room` for each thread */
    int64_t room;
} Heads;

static void attend(void *context, int64_t begin, int64_t end, int thread)
{
    const Heads *p = context;
    const GecBatchAttention *a = p->all;
    for (int64_t item = begin; item < end; item++) {
        const int64_t row = item / a->heads;
        const GecAttention one = {
            .q = a->q + row * a->q_row,
            .k = a->k + row * a->k_row,
            .v = a->v + row * a->v_row,
            .q_place = a->q_place,
            .k_place = a->k_place,
            .v_place = a->v_place,
            .q_head = a->width,
            .k_head = a->width,
            .v_head = a->width,
            .width = a->width,
            .shared = 1,
            .keys = a->keys,
            .offset = a->causal ? 0 : -1,
            .mask = a->mask ? a->mask + row * a->mask_row : NULL,
            .mask_query = a->mask_query,
            .scale = a->scale,
            .y = a->y + row * a->queries * a->heads * a->width,
            .y_place = a->heads * a->width,
        };
        p->kernels->attend(&one, item % a->heads, 0, a->queries, p->scores + thread * p->room);
    }
}

int gec_attention(const GecKernels *kernels, const GecBatchAttention *a, int threads)
{
    threads = worth(a->batch * a->queries * a->keys * a->heads * a->width, threads);
    Heads p = {.kernels = kernels, .all = a, .room = a->keys + GEC_LANES};
    p.scores = malloc(sizeof(float) * (size_t)(p.room * (threads > 1 ? threads : 1)));
    if (p.scores == NULL)
        return 0;
    gec_parallel(threads, a->batch * a->heads, 0, attend, &p);
    free(p.scores);
    return 1;
}
