/* A whole pass in one call: the encoder, a decoder's pass over a ragged block with its caches, and
   the output layer without its logits (network.h).

   A block's tokens lie one after another, whatever rows they belong to: [N][width]. Only attention
   looks at rows. A row of a memory owns its keys and values, so rows are kept, dropped, reordered and
   joined by moving pointers; nothing is padded. Rows that repeat share the keys and values of their
   source. What is freed goes back to the model and is taken again: after a few passes nothing is
   allocated.

   A token's result has the same bits in any block and with any number of threads: each number is
   computed by one thread, in an order that depends on the token's own row alone. */

#include "network.h"

#include "pool.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 120 /* of blocks of memory */, TOGETHER = 64, FEW = 16 /* rows of the output layer */ };

/* Idle bytes that a model keeps for later, those given back last. */
static const size_t KEPT = (size_t)16 << 20;
/* Fewest multiplications that are worth waking a second thread for. */
static const int64_t PARALLEL = 200000;

/* ---- blocks of memory, in four sizes between a power of two and the next */

typedef struct block {
    struct block *next;
    void *begin; /* what malloc gave */
    int class;
} block;

/* What lies behind a block's head, and each part of a workspace, begins a line of the cache. */
enum { HEAD = 64, LINE = 64 };

static size_t to_line(const void *place)
{
    return (size_t)(-(uintptr_t)place % LINE);
}

/* Buffers of one call, which grow. */
typedef struct workspace {
    struct workspace *next;
    char *data;
    size_t size, used;
} workspace;

struct gec_model {
    const gec_network *n;
    const GecKernels *k;
    atomic_flag locked; /* guards what follows */
    block *idle[CLASSES];
    size_t kept;
    workspace *workspaces;
};

static void lock(gec_model *m)
{
    while (atomic_flag_test_and_set_explicit(&m->locked, memory_order_acquire))
        ;
}

static void unlock(gec_model *m)
{
    atomic_flag_clear_explicit(&m->locked, memory_order_release);
}

static size_t size_of_class(int class)
{
    return (size_t)(4 + class % 4) << (8 + class / 4);
}

/* At least `size` bytes, NULL where there are none. */
static void *take(gec_model *m, size_t size)
{
    int class = 0;
    while (class < CLASSES && size_of_class(class) < size)
        class++;
    if (class == CLASSES)
        return NULL;
    lock(m);
    block *found = m->idle[class];
    if (found) {
        m->idle[class] = found->next;
        m->kept -= size_of_class(class);
    }
    unlock(m);
    if (!found) {
        char *begin = malloc(size_of_class(class) + HEAD + LINE);
        if (!begin)
            return NULL;
        found = (block *)(begin + to_line(begin));
        found->begin = begin;
        found->class = class;
    }
    return (char *)found + HEAD;
}

static void give(gec_model *m, void *data)
{
    if (!data)
        return;
    block *old = (block *)((char *)data - HEAD), *rest = NULL;
    const size_t size = size_of_class(old->class);
    lock(m);
    /* work of another length has other sizes: those of before make room */
    for (int class = 0; class < CLASSES && m->kept + size > KEPT; class ++)
        while (class != old->class && m->idle[class] && m->kept + size > KEPT) {
            block *other = m->idle[class];
            m->idle[class] = other->next;
            m->kept -= size_of_class(class);
            other->next = rest;
            rest = other;
        }
    if (m->kept + size <= KEPT) {
        old->next = m->idle[old->class];
        m->idle[old->class] = old;
        m->kept += size;
    } else {
        old->next = rest;
        rest = old;
    }
    unlock(m);
    for (block *next; rest; rest = next) {
        next = rest->next;
        free(rest->begin);
    }
}

static workspace *borrow(gec_model *m)
{
    lock(m);
    workspace *w = m->workspaces;
    if (w)
        m->workspaces = w->next;
    unlock(m);
    return w ? w : calloc(1, sizeof *w);
}

static void put_back(gec_model *m, workspace *w)
{
    if (!w)
        return;
    lock(m);
    w->next = m->workspaces;
    m->workspaces = w;
    unlock(m);
}

/* Room for `size` bytes, of which `part` hands out parts. */
static int reserve(workspace *w, size_t size)
{
    if (size > w->size) {
        free(w->data);
        w->size = size + size / 4;
        w->data = malloc(w->size + LINE);
        if (!w->data)
            w->size = 0;
    }
    w->used = to_line(w->data);
    return w->data != NULL;
}

static size_t rounded(size_t size)
{
    return (size + 127) / 64 * 64; /* whole vectors may be read and written behind the last number */
}

static void *part(workspace *w, size_t size)
{
    void *found = w->data + w->used;
    w->used += rounded(size);
    return found;
}

/* ---- rows */

/* Keys and values of a source: [layers][length][keys, values]. */
typedef struct {
    int64_t users, length;
    float *data;
} source;

typedef struct {
    source *source;
    int64_t filled, capacity; /* tokens */
    float *cache;             /* [layers][keys, values][capacity][key_heads][head_width] */
} row;

struct gec_memory {
    gec_model *model;
    int64_t count, room;
    row *rows;
};

static int64_t key_width(const gec_side *side)
{
    return side->key_heads * side->head_width;
}

static void release(gec_model *m, row *r)
{
    if (r->source && --r->source->users == 0) {
        give(m, r->source->data);
        give(m, r->source);
    }
    give(m, r->cache);
    memset(r, 0, sizeof *r);
}

/* Room for `count` rows. */
static int grow_rows(gec_memory *memory, int64_t count)
{
    if (count <= memory->room)
        return 1;
    const int64_t room = count < 8 ? 8 : 2 * count;
    row *more = take(memory->model, sizeof(row) * (size_t)room);
    if (!more)
        return 0;
    if (memory->count)
        memcpy(more, memory->rows, sizeof(row) * (size_t)memory->count);
    give(memory->model, memory->rows);
    memory->rows = more;
    memory->room = room;
    return 1;
}

/* Where a layer's keys begin in a row's cache; its values follow `capacity` places later. */
static float *keys_of(const gec_side *side, const row *r, int64_t layer)
{
    return r->cache + layer * 2 * r->capacity * key_width(side);
}

/* A copy of a row's first `filled` keys and values with room for `capacity` of them. */
static float *copy_cache(gec_model *m, const row *r, int64_t capacity)
{
    const gec_side *side = &m->n->decoder;
    const int64_t width = key_width(side);
    float *data = take(m, sizeof(float) * (size_t)(side->layers * 2 * capacity * width));
    if (data && r->filled)
        for (int64_t i = 0; i < side->layers * 2; i++)
            memcpy(data + i * capacity * width, r->cache + i * r->capacity * width,
                   sizeof(float) * (size_t)(r->filled * width));
    return data;
}

static int reserve_cache(gec_model *m, row *r, int64_t tokens)
{
    if (tokens <= r->capacity)
        return 1;
    int64_t capacity = r->capacity + r->capacity / 2;
    if (r->source && capacity < r->source->length + 8)
        capacity = r->source->length + 8; /* outputs are as long as sources */
    if (capacity < tokens)
        capacity = tokens;
    capacity = (capacity + 15) / 16 * 16;
    float *data = copy_cache(m, r, capacity);
    if (!data)
        return 0;
    give(m, r->cache);
    r->cache = data;
    r->capacity = capacity;
    return 1;
}

gec_model *gec_model_new(const gec_network *network, const GecKernels *kernels)
{
    gec_model *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->n = network;
    m->k = kernels;
    atomic_flag_clear(&m->locked);
    return m;
}

void gec_model_free(gec_model *m)
{
    if (!m)
        return;
    for (int class = 0; class < CLASSES; class ++)
        for (block *b = m->idle[class], *next; b; b = next) {
            next = b->next;
            free(b->begin);
        }
    for (workspace *w = m->workspaces, *next; w; w = next) {
        next = w->next;
        free(w->data);
        free(w);
    }
    free(m);
}

void gec_memory_free(gec_memory *memory)
{
    if (!memory)
        return;
    for (int64_t i = 0; i < memory->count; i++)
        release(memory->model, memory->rows + i);
    give(memory->model, memory->rows);
    give(memory->model, memory);
}

static gec_memory *new_memory(gec_model *m, int64_t rows)
{
    gec_memory *memory = take(m, sizeof *memory);
    if (!memory)
        return NULL;
    memset(memory, 0, sizeof *memory);
    memory->model = m;
    if (!grow_rows(memory, rows)) {
        give(m, memory);
        return NULL;
    }
    return memory;
}

int gec_select(gec_memory *memory, int64_t count, const int64_t *rows)
{
    gec_model *m = memory->model;
    const int64_t room = count < 8 ? 8 : count;
    row *kept = take(m, sizeof(row) * (size_t)room);
    char *taken = take(m, (size_t)memory->count + 1);
    int status = kept && taken ? GEC_OK : GEC_NO_MEMORY;
    int64_t made = 0;
    if (status == GEC_OK)
        memset(taken, 0, (size_t)memory->count);
    for (; status == GEC_OK && made < count; made++) {
        row *from = memory->rows + rows[made];
        kept[made] = *from;
        if (!taken[rows[made]]) /* the first to come takes it, those that repeat it copy it */
            taken[rows[made]] = 1;
        else if (!(kept[made].cache = copy_cache(m, from, from->capacity)))
            status = GEC_NO_MEMORY;
        else if (from->source)
            from->source->users++;
    }
    if (status == GEC_OK) {
        for (int64_t i = 0; i < memory->count; i++)
            if (!taken[i])
                release(m, memory->rows + i);
        give(m, memory->rows);
        memory->rows = kept;
        memory->count = count;
        memory->room = room;
    } else if (kept && taken) {
        memset(taken, 0, (size_t)memory->count);
        for (int64_t i = 0; i < made - 1; i++)
            if (taken[rows[i]])
                release(m, kept + i);
            else
                taken[rows[i]] = 1;
    }
    if (status != GEC_OK)
        give(m, kept);
    give(m, taken);
    return status;
}

int gec_join(gec_memory *memory, gec_memory *other)
{
    if (!grow_rows(memory, memory->count + other->count))
        return GEC_NO_MEMORY;
    if (other->count)
        memcpy(memory->rows + memory->count, other->rows, sizeof(row) * (size_t)other->count);
    memory->count += other->count;
    other->count = 0;
    return GEC_OK;
}

/* ---- layers: each a few steps over [N][width], in parallel where that pays */

typedef struct {
    const gec_network *n;
    const GecKernels *k;
    int threads;
    int64_t tokens;    /* N */
    float *x;          /* [N][width], what a sublayer adds to */
    float *normed;     /* [N][width] */
    float *wide;       /* [N] queries, keys and values, or the feed-forward network's inside */
    float *inner;      /* [N] what attention gives, or the gate */
    float *branch;     /* [N][width], what a sublayer gives */
    int8_t *values;    /* [N] int8 inputs */
    float *row_scale;  /* [N] */
    int32_t *offset;   /* [N] */
    float *scores;     /* [threads][most keys] */
    int64_t most_keys; /* of a row, rounded up */
} pass;

static void each(const pass *p, int64_t cost, int64_t count, GecTask task, void *context)
{
    gec_parallel(cost < PARALLEL ? 1 : p->threads, count, 0, task, context);
}

/* A linear layer over some rows; `best` asks for the best of them in place of y. */
typedef struct {
    const pass *p;
    const float *x;
    GecLinear quantized;
    GecFloatLinear plain;
    const GecBest *best;
} linear_work;

static void quantize_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const linear_work *w = context;
    const int64_t inputs = w->quantized.inputs;
    w->p->k->quantize(w->x + begin * inputs, end - begin, inputs,
                      w->p->values + begin * gec_padded(inputs), w->p->row_scale + begin,
                      w->p->offset + begin);
}

static void int8_panels(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const linear_work *w = context;
    if (w->best)
        w->p->k->best_int8_part(&w->quantized, w->best, begin, end);
    else
        w->p->k->int8_part(&w->quantized, begin, end);
}

static void float_panels(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const linear_work *w = context;
    if (w->best)
        w->p->k->best_float_part(&w->plain, w->best, begin, end);
    else
        w->p->k->float_part(&w->plain, begin, end);
}

static void multiply(const pass *p, const gec_linear *l, int64_t rows, const float *x, float *y,
                     int relu, const GecBest *best)
{
    const int64_t cost = rows * l->inputs * l->channels, panels = gec_panels(l->channels);
    linear_work w = {.p = p, .x = x, .best = best};
    if (l->scale) {
        w.quantized = (GecLinear){
            .rows = rows, .inputs = l->inputs, .channels = l->channels, .values = p->values,
            .row_scale = p->row_scale, .offset = p->offset, .panels = l->panels,
            .scale = l->scale, .bias = l->bias, .y = y, .relu = relu,
        };
        each(p, cost / 64, rows, quantize_rows, &w);
        each(p, cost, panels, int8_panels, &w);
    } else {
        w.plain = (GecFloatLinear){
            .rows = rows, .inputs = l->inputs, .channels = l->channels, .x = x,
            .panels = l->panels, .bias = l->bias, .y = y, .relu = relu,
        };
        each(p, cost, panels, float_panels, &w);
    }
}

static void linear(const pass *p, const gec_linear *l, int64_t rows, const float *x, float *y)
{
    multiply(p, l, rows, x, y, 0, NULL);
}

typedef struct {
    const pass *p;
    const gec_norm *norm;
    const float *x;
    float *y;
} norm_work;

static void norm_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const norm_work *w = context;
    const gec_network *n = w->p->n;
    const float *x = w->x + begin * n->width;
    float *y = w->y + begin * n->width;
    if (n->decoder_only)
        w->p->k->rms_norm(x, end - begin, n->width, w->norm->weight, y, n->epsilon);
    else
        w->p->k->layer_norm(x, end - begin, n->width, w->norm->weight, w->norm->bias, y, n->epsilon);
}

/* y = norm(x); they may be the same. */
static void norm(const pass *p, const gec_norm *norm, int64_t rows, const float *x, float *y)
{
    norm_work w = {p, norm, x, y};
    each(p, rows * p->n->width, rows, norm_rows, &w);
}

/* What a sublayer reads. */
static const float *before(const pass *p, const gec_norm *weights)
{
    if (!p->n->pre_norm)
        return p->x;
    norm(p, weights, p->tokens, p->x, p->normed);
    return p->normed;
}

/* Add what a sublayer gave. */
static void after(const pass *p, const gec_norm *weights)
{
    p->k->add(p->x, p->branch, p->tokens * p->n->width);
    if (!p->n->pre_norm)
        norm(p, weights, p->tokens, p->x, p->x);
}

typedef struct {
    const pass *p;
    int64_t ffn_width;
} gate_work;

static void gate_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const gate_work *w = context;
    w->p->k->gate(w->p->wide + begin * 2 * w->ffn_width, end - begin, w->ffn_width,
                  w->p->inner + begin * w->ffn_width);
}

static void activate_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const gate_work *w = context;
    w->p->k->activate(w->p->wide + begin * w->ffn_width, (end - begin) * w->ffn_width,
                      (int)w->p->n->activation);
}

static void feed_forward(const pass *p, const gec_side *side, const gec_layer *layer)
{
    gate_work w = {p, side->ffn_width};
    const int64_t cost = p->tokens * side->ffn_width * 8;
    const int gated = p->n->activation == GATED, relu = p->n->activation == GEC_RELU;
    multiply(p, &layer->up, p->tokens, before(p, &layer->ffn), p->wide, relu, NULL);
    if (!relu)
        each(p, cost, p->tokens, gated ? gate_rows : activate_rows, &w);
    linear(p, &layer->down, p->tokens, gated ? p->inner : p->wide, p->branch);
    after(p, &layer->ffn);
}

/* ---- attention */

/* One row's queries, and the keys and values that they see. */
typedef struct {
    const float *q, *k, *v;
    float *y;
    int64_t k_place, queries, keys, open; /* the last `open` queries see all keys */
} seen;

typedef struct {
    const pass *p;
    const gec_side *side;
    const seen *rows;
    int64_t q_place;
    int causal;
} attend_work;

static void attend_items(void *context, int64_t begin, int64_t end, int thread)
{
    const attend_work *w = context;
    const gec_side *side = w->side;
    const int64_t width = side->head_width;
    float *scores = w->p->scores + thread * w->p->most_keys;
    for (int64_t item = begin; item < end; item++) {
        const seen *r = w->rows + item / side->heads;
        GecAttention a = {
            .q = r->q, .k = r->k, .v = r->v, .y = r->y,
            .q_place = w->q_place, .k_place = r->k_place, .v_place = r->k_place,
            .y_place = side->heads * width,
            .q_head = width, .k_head = width, .v_head = width, .width = width,
            .shared = side->heads / side->key_heads, .keys = r->keys,
            .offset = w->causal ? r->keys - r->queries : -1, .scale = side->attention_scale,
        };
        const int64_t closed = w->causal ? r->queries - r->open : r->queries;
        w->p->k->attend(&a, item % side->heads, 0, closed, scores);
        a.offset = -1;
        w->p->k->attend(&a, item % side->heads, closed, r->queries, scores);
    }
}

static void attend(const pass *p, const gec_side *side, const seen *rows, int64_t count,
                   int64_t q_place, int causal)
{
    int64_t cost = 0;
    for (int64_t r = 0; r < count; r++)
        cost += rows[r].queries * rows[r].keys;
    attend_work w = {p, side, rows, q_place, causal};
    each(p, cost * side->heads * side->head_width, count * side->heads, attend_items, &w);
}

/* ---- passes */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The most numbers a token has between two layers, wherever it is. */
static int64_t widest(const gec_network *n)
{
    int64_t most = n->width;
    for (int i = 0; i < 2; i++) {
        const gec_side *side = i ? &n->encoder : &n->decoder;
        if (side->layers) {
            most = larger(most, (side->heads + 2 * side->key_heads) * side->head_width);
            most = larger(most, side->ffn_width * (n->activation == GATED ? 2 : 1));
        }
    }
    return most;
}

/* Buffers for a pass over so many tokens; `more` bytes are left for the caller's own. */
static int begin(gec_model *m, workspace *w, pass *p, int threads, int64_t tokens,
                 int64_t most_keys, size_t more)
{
    const gec_network *n = m->n;
    const size_t numbers = sizeof(float) * (size_t)tokens, wide = numbers * (size_t)widest(n);
    const size_t narrow = numbers * (size_t)n->width;
    most_keys = (most_keys + 15) / 16 * 16 + 16;
    const size_t scores = sizeof(float) * (size_t)(most_keys * threads);
    const size_t values = (size_t)(tokens * gec_padded(widest(n)));
    if (!reserve(w, 3 * rounded(narrow) + 2 * rounded(wide) + rounded(values) +
                        2 * rounded(numbers) + rounded(scores) + rounded(more) + 1024))
        return 0;
    *p = (pass){.n = n, .k = m->k, .threads = threads, .tokens = tokens, .most_keys = most_keys};
    p->x = part(w, narrow);
    p->normed = part(w, narrow);
    p->branch = part(w, narrow);
    p->wide = part(w, wide);
    p->inner = part(w, wide);
    p->values = part(w, values);
    p->row_scale = part(w, numbers);
    p->offset = part(w, numbers);
    p->scores = part(w, scores);
    return 1;
}

/* A half in single precision, exactly. */
static float half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest < 0x0400) { /* zero, or less than the smallest normal half */
        const float small = (float)rest * 0x1p-24f;
        return sign ? -small : small;
    }
    const uint32_t whole = sign | (rest >= 0x7c00 ? 0x7f800000 | (rest & 0x3ff) << 13
                                                  : (rest << 13) + 0x38000000);
    float found;
    memcpy(&found, &whole, sizeof found);
    return found;
}

/* The first states of a token: its vector, scaled, and its place's. */
static void embed(const pass *p, const gec_side *side, int64_t id, int64_t place, float *x)
{
    const gec_network *n = p->n;
    const int64_t width = n->width, at = id * width;
    const int masked = id == side->table.ids;
    const float factor = masked ? 1 : n->embedding_scale;
    if (masked)
        memcpy(x, n->mask, sizeof(float) * (size_t)width);
    else if (side->table.type == GEC_INT8 || side->table.type == GEC_PANELS) {
        const int8_t *from = (const int8_t *)side->table.rows + at;
        const float scale = side->table.scale[id];
        if (side->table.type == GEC_PANELS) {
            p->k->unpack_int8(side->table.rows, width, id, 1, p->values);
            from = p->values;
        }
        for (int64_t i = 0; i < width; i++)
            x[i] = (float)from[i] * scale;
    } else if (side->table.type == GEC_FLOAT16) {
        const uint16_t *from = (const uint16_t *)side->table.rows + at;
        for (int64_t i = 0; i < width; i++)
            x[i] = half(from[i]);
    } else
        memcpy(x, (const float *)side->table.rows + at, sizeof(float) * (size_t)width);
    if (factor != 1)
        for (int64_t i = 0; i < width; i++)
            x[i] *= factor;
    if (side->places) {
        const float *add = side->places + place * width;
        for (int64_t i = 0; i < width; i++)
            x[i] += add[i];
    }
}

/* The first states of rows of tokens, which begin at `starts`; NULL: at 0. */
static void embed_rows(const pass *p, const gec_side *side, const int64_t *ids, int64_t rows,
                       const int64_t *lengths, const int64_t *starts)
{
    float *x = p->x;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < lengths[r]; t++, x += p->n->width)
            embed(p, side, *ids++, (starts ? starts[r] : 0) + t, x);
    if (side->embedding_norm.weight)
        norm(p, &side->embedding_norm, p->tokens, p->x, p->x);
}

static void encode_layer(const pass *p, const gec_layer *layer, seen *rows, int64_t count)
{
    const gec_side *side = &p->n->encoder;
    const int64_t inner = side->heads * side->head_width;
    linear(p, &layer->qkv, p->tokens, before(p, &layer->attention), p->wide);
    int64_t at = 0;
    for (int64_t r = 0; r < count; r++) {
        const float *first = p->wide + at * 3 * inner;
        rows[r] = (seen){
            .q = first, .k = first + inner, .v = first + 2 * inner, .y = p->inner + at * inner,
            .k_place = 3 * inner, .queries = rows[r].queries, .keys = rows[r].queries,
        };
        at += rows[r].queries;
    }
    attend(p, side, rows, count, 3 * inner, 0);
    linear(p, &layer->out, p->tokens, p->inner, p->branch);
    after(p, &layer->attention);
    feed_forward(p, side, layer);
}

static int all_finite(const float *x, int64_t count)
{
    float sum = 0; /* infinity less itself is NaN, and a NaN stays one */
    for (int64_t i = 0; i < count; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

/* The keys and values of the sources for every decoder layer, in rows of their own. */
static int keep_sources(gec_model *m, const pass *p, gec_memory *memory, const int64_t *lengths)
{
    const gec_side *side = &m->n->decoder;
    const int64_t both = 2 * key_width(side);
    for (int64_t r = 0; r < memory->count; r++) {
        source *s = take(m, sizeof *s);
        float *data = take(m, sizeof(float) * (size_t)(side->layers * lengths[r] * both));
        if (!s || !data) {
            give(m, s);
            give(m, data);
            return GEC_NO_MEMORY;
        }
        *s = (source){1, lengths[r], data};
        memory->rows[r].source = s;
    }
    for (int64_t l = 0; l < side->layers; l++) {
        linear(p, &side->layer[l].cross_kv, p->tokens, p->x, p->wide);
        const float *from = p->wide;
        for (int64_t r = 0; r < memory->count; r++) {
            memcpy(memory->rows[r].source->data + l * lengths[r] * both, from,
                   sizeof(float) * (size_t)(lengths[r] * both));
            from += lengths[r] * both;
        }
    }
    return GEC_OK;
}

/* Read sources: encode `ids`, or without them take over `states`. */
static int encode(gec_model *m, int threads, gec_memory *memory, const int64_t *lengths,
                  const int64_t *ids, float *states)
{
    const gec_network *n = m->n;
    int64_t tokens = 0, longest = 0;
    for (int64_t r = 0; r < memory->count; r++) {
        if (lengths[r] < 1 || lengths[r] > n->positions)
            return GEC_BEYOND;
        tokens += lengths[r];
        longest = larger(longest, lengths[r]);
    }
    for (int64_t i = 0; ids && i < tokens; i++)
        if (ids[i] < 0 || ids[i] >= n->encoder.table.ids)
            return GEC_UNKNOWN_ID;
    const size_t all = sizeof(float) * (size_t)(tokens * n->width);
    workspace *w = borrow(m);
    pass p;
    int status = GEC_NO_MEMORY;
    const size_t size = sizeof(seen) * (size_t)memory->count;
    if (w && begin(m, w, &p, threads, tokens, longest, size)) {
        seen *rows = part(w, size);
        for (int64_t r = 0; r < memory->count; r++)
            rows[r].queries = lengths[r];
        if (ids)
            embed_rows(&p, &n->encoder, ids, memory->count, lengths, NULL);
        else
            memcpy(p.x, states, all);
        for (int64_t l = 0; ids && l < n->encoder.layers; l++)
            encode_layer(&p, n->encoder.layer + l, rows, memory->count);
        if (ids && n->encoder.final_norm.weight)
            norm(&p, &n->encoder.final_norm, tokens, p.x, p.x);
        if (ids && states)
            memcpy(states, p.x, all);
        status = keep_sources(m, &p, memory, lengths);
    }
    put_back(m, w);
    return status;
}

static int start(gec_model *m, int threads, int64_t rows, const int64_t *lengths,
                 const int64_t *ids, float *states, gec_memory **memory)
{
    gec_memory *made = new_memory(m, rows);
    *memory = NULL;
    if (!made)
        return GEC_NO_MEMORY;
    memset(made->rows, 0, sizeof(row) * (size_t)rows);
    made->count = rows;
    const int status = m->n->decoder_only || !rows ? GEC_OK : encode(m, threads, made, lengths, ids, states);
    if (status == GEC_OK)
        *memory = made;
    else
        gec_memory_free(made);
    return status;
}

int gec_start(gec_model *m, int threads, int64_t rows, const int64_t *lengths,
              const int64_t *ids, float *states, gec_memory **memory)
{
    return start(m, threads, rows, lengths, ids, states, memory);
}

int gec_start_encoded(gec_model *m, int threads, int64_t rows, const int64_t *lengths,
                      const float *states, gec_memory **memory)
{
    return start(m, threads, rows, lengths, NULL, (float *)states, memory);
}

/* The tokens' keys and values into their rows' caches; what their queries see. */
static void fill(const pass *p, gec_memory *memory, int64_t layer, const int64_t *lengths,
                 const int64_t *starts, const int64_t *open, seen *rows)
{
    const gec_side *side = &p->n->decoder;
    const int64_t inner = side->heads * side->head_width, own = key_width(side);
    const int64_t all = inner + 2 * own;
    int64_t at = 0;
    for (int64_t r = 0; r < memory->count; at += lengths[r++]) {
        const row *to = memory->rows + r;
        float *keys = keys_of(side, to, layer), *values = keys + to->capacity * own;
        for (int64_t t = 0; t < lengths[r]; t++) {
            const float *from = p->wide + (at + t) * all + inner;
            memcpy(keys + (starts[r] + t) * own, from, sizeof(float) * (size_t)own);
            memcpy(values + (starts[r] + t) * own, from + own, sizeof(float) * (size_t)own);
        }
        rows[r] = (seen){
            .q = p->wide + at * all, .k = keys, .v = values, .y = p->inner + at * inner,
            .k_place = own, .queries = lengths[r], .keys = starts[r] + lengths[r],
            .open = open ? open[r] : 0,
        };
    }
}

typedef struct {
    const pass *p;
    const int64_t *places; /* [N] */
} rotate_work;

static void rotate_tokens(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const rotate_work *w = context;
    const gec_network *n = w->p->n;
    const gec_side *side = &n->decoder;
    const int64_t half_width = side->head_width / 2;
    const int64_t all = (side->heads + 2 * side->key_heads) * side->head_width;
    for (int64_t i = begin; i < end; i++)
        w->p->k->rotate(w->p->wide + i * all, 1, all, side->heads + side->key_heads, half_width,
                        n->cosines + w->places[i] * half_width,
                        n->sines + w->places[i] * half_width);
}

static void cross(const pass *p, const gec_layer *layer, const gec_memory *memory, int64_t number,
                  const int64_t *lengths, seen *rows)
{
    const gec_side *side = &p->n->decoder;
    const int64_t inner = side->heads * side->head_width, both = 2 * inner;
    linear(p, &layer->cross_q, p->tokens, before(p, &layer->cross), p->wide);
    int64_t at = 0;
    for (int64_t r = 0; r < memory->count; at += lengths[r++]) {
        const source *s = memory->rows[r].source;
        const float *keys = s->data + number * s->length * both;
        rows[r] = (seen){
            .q = p->wide + at * inner, .k = keys, .v = keys + inner, .y = p->inner + at * inner,
            .k_place = both, .queries = lengths[r], .keys = s->length,
        };
    }
    attend(p, side, rows, memory->count, inner, 0);
    linear(p, &layer->cross_out, p->tokens, p->inner, p->branch);
    after(p, &layer->cross);
}

static void decode_layer(const pass *p, gec_memory *memory, int64_t number, const int64_t *lengths,
                         const int64_t *starts, const int64_t *places, const int64_t *open,
                         seen *rows)
{
    const gec_side *side = &p->n->decoder;
    const gec_layer *layer = side->layer + number;
    linear(p, &layer->qkv, p->tokens, before(p, &layer->attention), p->wide);
    if (p->n->cosines) {
        rotate_work w = {p, places};
        each(p, p->tokens * (side->heads + side->key_heads) * side->head_width, p->tokens,
             rotate_tokens, &w);
    }
    fill(p, memory, number, lengths, starts, open, rows);
    attend(p, side, rows, memory->count, (side->heads + 2 * side->key_heads) * side->head_width, 1);
    linear(p, &layer->out, p->tokens, p->inner, p->branch);
    after(p, &layer->attention);
    if (!p->n->decoder_only)
        cross(p, layer, memory, number, lengths, rows);
    feed_forward(p, side, layer);
}

/* The states of the wanted tokens as the output layer reads them. */
static void finish(const pass *p, const gec_memory *memory, const int64_t *lengths,
                   const int64_t *wanted, float *hidden)
{
    const gec_network *n = p->n;
    const float *from = p->x;
    int64_t count = 0;
    for (int64_t r = 0; r < memory->count; from += lengths[r++] * n->width) {
        memcpy(hidden + count * n->width, from + (lengths[r] - wanted[r]) * n->width,
               sizeof(float) * (size_t)(wanted[r] * n->width));
        count += wanted[r];
    }
    if (n->decoder.final_norm.weight)
        norm(p, &n->decoder.final_norm, count, hidden, hidden);
    if (n->output_scale != 1)
        for (int64_t i = 0; i < count * n->width; i++)
            hidden[i] *= n->output_scale;
}

int gec_verify(gec_memory *memory, int threads, const int64_t *tokens, const int64_t *lengths,
               const int64_t *starts, const int64_t *wanted, const int64_t *open,
               const float *states, float *hidden)
{
    gec_model *m = memory->model;
    const gec_network *n = m->n;
    int64_t count = 0, asked = 0, most = 0;
    for (int64_t r = 0; r < memory->count; r++) {
        const row *own = memory->rows + r;
        if (lengths[r] < 1 || starts[r] < 0 || starts[r] > own->filled || wanted[r] < 0 ||
            wanted[r] > lengths[r] || lengths[r] > n->positions - starts[r] ||
            (open && (open[r] < 0 || open[r] > lengths[r])))
            return GEC_BEYOND;
        count += lengths[r];
        asked += wanted[r];
        most = larger(most, starts[r] + lengths[r]);
        most = larger(most, own->source ? own->source->length : 0);
    }
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= n->decoder.table.ids + (n->mask != NULL))
            return GEC_UNKNOWN_ID;
    for (int64_t r = 0; r < memory->count; r++)
        if (!reserve_cache(m, memory->rows + r, starts[r] + lengths[r]))
            return GEC_NO_MEMORY;
    workspace *w = borrow(m);
    pass p;
    const size_t size = sizeof(seen) * (size_t)memory->count;
    const size_t places_size = sizeof(int64_t) * (size_t)count;
    if (!w || !begin(m, w, &p, threads, count, most, rounded(size) + rounded(places_size))) {
        put_back(m, w);
        return GEC_NO_MEMORY;
    }
    seen *rows = part(w, size);
    int64_t *places = part(w, places_size), at = 0;
    for (int64_t r = 0; r < memory->count; r++)
        for (int64_t t = 0; t < lengths[r]; t++)
            places[at++] = starts[r] + t;
    embed_rows(&p, &n->decoder, tokens, memory->count, lengths, starts);
    if (states && n->states.panels) {
        linear(&p, &n->states, count, states, p.branch);
        p.k->add(p.x, p.branch, count * n->width);
    }
    for (int64_t l = 0; l < n->decoder.layers; l++)
        decode_layer(&p, memory, l, lengths, starts, places, open, rows);
    for (int64_t r = 0; r < memory->count; r++)
        memory->rows[r].filled = starts[r] + lengths[r];
    finish(&p, memory, lengths, wanted, hidden);
    put_back(m, w);
    return all_finite(hidden, asked * n->width) ? GEC_OK : GEC_NOT_FINITE;
}

/* ---- the output layer */

typedef struct {
    const pass *p;
    const GecBest *best;
    int64_t panels;
    int32_t *id;
    float *largest, *log_sum;
} merge_work;

static void merge_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const merge_work *w = context;
    w->p->k->best_merge(w->best, w->panels, begin, end, w->id, w->largest, w->log_sum);
}

int gec_best(gec_model *m, int threads, int64_t count, const float *hidden, const int32_t *wanted,
             int32_t *best, float *largest, float *log_sum, float *logit)
{
    const gec_linear *output = &m->n->output;
    const int64_t panels = gec_panels(output->channels);
    const int64_t rows = count < TOGETHER ? count : TOGETHER;
    const size_t numbers = sizeof(float) * (size_t)(rows * panels);
    workspace *w = borrow(m);
    pass p;
    if (!w || !begin(m, w, &p, threads, rows, 0, 3 * rounded(numbers))) {
        put_back(m, w);
        return GEC_NO_MEMORY;
    }
    GecBest found = {.largest = part(w, numbers), .best = part(w, numbers)};
    if (log_sum)
        found.sum = part(w, numbers);
    for (int64_t at = 0; at < count; at += rows) {
        const int64_t some = count - at < rows ? count - at : rows;
        found.wanted = wanted ? wanted + at : NULL;
        found.logit = wanted ? logit + at : NULL;
        multiply(&p, output, some, hidden + at * m->n->width, NULL, 0, &found);
        merge_work merge = {&p, &found, panels, best + at, largest + at,
                            log_sum ? log_sum + at : NULL};
        each(&p, some * panels * 8, some, merge_rows, &merge);
    }
    put_back(m, w);
    return GEC_OK;
}

int gec_logits(gec_model *m, int threads, int64_t count, const float *hidden, float *logits)
{
    const gec_linear *output = &m->n->output;
    const int64_t rows = count < TOGETHER ? count : TOGETHER;
    workspace *w = borrow(m);
    pass p;
    if (!w || !begin(m, w, &p, threads, rows, 0, 0)) {
        put_back(m, w);
        return GEC_NO_MEMORY;
    }
    for (int64_t at = 0; at < count; at += rows) {
        const int64_t some = count - at < rows ? count - at : rows;
        linear(&p, output, some, hidden + at * m->n->width, logits + at * output->channels);
    }
    put_back(m, w);
    return GEC_OK;
}

typedef struct {
    const float *logits;
    int64_t width, most;
    int32_t *ids;
    float *kept;
} top_work;

static void top_rows(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const top_work *w = context;
    for (int64_t r = begin; r < end; r++) {
        const float *logits = w->logits + r * w->width;
        int32_t *ids = w->ids + r * w->most;
        float *kept = w->kept + r * w->most;
        int64_t count = 0;
        for (int64_t i = 0; i < w->width; i++) {
            if (count == w->most && !(logits[i] > kept[count - 1]))
                continue;
            int64_t at = count < w->most ? count++ : count - 1;
            for (; at && kept[at - 1] < logits[i]; at--) {
                kept[at] = kept[at - 1];
                ids[at] = ids[at - 1];
            }
            kept[at] = logits[i];
            ids[at] = (int32_t)i;
        }
    }
}

int gec_top(gec_model *m, int threads, int64_t count, const float *hidden, int64_t most,
            int32_t *ids, float *logits)
{
    const gec_linear *output = &m->n->output;
    const int64_t rows = count < FEW ? count : FEW;
    const size_t size = sizeof(float) * (size_t)(rows * output->channels);
    workspace *w = borrow(m);
    pass p;
    if (!w || !begin(m, w, &p, threads, rows, 0, size)) {
        put_back(m, w);
        return GEC_NO_MEMORY;
    }
    float *all = part(w, size);
    for (int64_t at = 0; at < count; at += rows) {
        const int64_t some = count - at < rows ? count - at : rows;
        linear(&p, output, some, hidden + at * m->n->width, all);
        top_work top = {all, output->channels, most, ids + at * most, logits + at * most};
        each(&p, some * output->channels, some, top_rows, &top);
    }
    put_back(m, w);
    return GEC_OK;
}
