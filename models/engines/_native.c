/* Inference on a CPU with AVX-512, for gec.models.engines.native, which says what each function means. Int8
   layers need VNNI as well.

   What one call does here took ten tensor operations, each on a few thousand numbers. And what it
   gives for a token depends on that token alone: sums are taken in an order that no block, padding or
   number of threads changes, so decoding a block gives the same bits as decoding token by token.

   VPDPBUSD multiplies unsigned bytes with signed ones: weights are stored + 128, and 128 times the
   sum of a row's values is taken off again. Weights are packed in panels of 64 channels, of int8
   [channels / 64][inputs / 4][64][4], so that one load holds 16 channels of four inputs, and of
   floats [channels / 64][inputs][64].

   OpenMP's functions are left unresolved: they are those that torch has brought into the process,
   and there is one pool of threads. -ffp-contract=off keeps `linear_int8` equal to the same steps in
   torch, bit for bit. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GNUC__) && defined(_OPENMP)
#define NATIVE 1
#include <immintrin.h>
#include <math.h>
#include <string.h>
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")))
#define INLINE AVX512 static inline __attribute__((always_inline))
#define VNNI_INLINE VNNI static inline __attribute__((always_inline))

enum { LANES = 16, PANEL = 64, TILE = 6, LEVELS = 127 };

/* Fewest multiplications that are worth waking a second thread for. */
static const int64_t PARALLEL = 200000;

/* The lanes that are left at `place` of `length` numbers. */
INLINE __mmask16 lanes(int64_t place, int64_t length)
{
    const int64_t left = length - place;
    return left >= LANES ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
}

/* Masked loads and stores. The address sanitizer does not see what they touch: under it (make
   sanitize) each lane's bytes are read by themselves first. Tensors of a file may lie anywhere, not
   at multiples of four bytes: vectors are loaded unaligned, and no float is read by itself. */
#ifdef __SANITIZE_ADDRESS__
#define TOUCH(type, place, mask)                             \
    for (int at = 0; at < LANES * (int)sizeof(type); at++)   \
        if ((mask) >> at / (int)sizeof(type) & 1)            \
            (void)((const volatile char *)(place))[at];
#else
#define TOUCH(type, place, mask)
#endif

INLINE __m512 load(__mmask16 mask, const float *place)
{
    TOUCH(float, place, mask)
    return _mm512_maskz_loadu_ps(mask, place);
}

INLINE void save(float *place, __mmask16 mask, __m512 x)
{
    TOUCH(float, place, mask)
    _mm512_mask_storeu_ps(place, mask, x);
}

/* ---- int8 linear layers */

typedef struct {
    int64_t rows, inputs, channels, groups; /* groups of four inputs, the last one padded */
    const float *x;
    const uint8_t *panels;
    const float *scale, *bias;
    float *y;
    int relu;
    int8_t *values;
    float *row_scale;
    int32_t *offset; /* 128 times the sum of a row's values */
} Linear;

VNNI static void quantize_row(const Linear *p, int64_t row)
{
    const float *x = p->x + row * p->inputs;
    int8_t *values = p->values + row * p->groups * 4;

    __m512 largest = _mm512_setzero_ps();
    __mmask16 odd = 0; /* the maximum would lose a NaN */
    for (int64_t i = 0; i < p->inputs; i += LANES) {
        const __m512 size = _mm512_abs_ps(load(lanes(i, p->inputs), x + i));
        largest = _mm512_max_ps(largest, size);
        odd |= _mm512_cmp_ps_mask(size, _mm512_set1_ps(INFINITY), _CMP_NLT_UQ);
    }
    if (odd) { /* NaN or an infinity: the row's results are NaN */
        p->row_scale[row] = NAN;
        p->offset[row] = 0;
        memset(values, 0, (size_t)(p->groups * 4));
        return;
    }
    float scale = _mm512_reduce_max_ps(largest) * (float)(1.0 / LEVELS);
    if (scale < 1e-30f)
        scale = 1e-30f;
    p->row_scale[row] = scale;

    const __m512 divisor = _mm512_set1_ps(scale);
    __m512i sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < p->inputs; i += LANES) {
        const __mmask16 mask = lanes(i, p->inputs);
        const __m512 quotient = _mm512_div_ps(load(mask, x + i), divisor);
        const __m512i rounded = _mm512_cvtps_epi32(quotient); /* halves to even */
        sum = _mm512_add_epi32(sum, rounded);
        TOUCH(int8_t, values + i, mask)
        _mm512_mask_cvtepi32_storeu_epi8(values + i, mask, rounded);
    }
    for (int64_t i = p->inputs; i < p->groups * 4; i++)
        values[i] = 0;
    p->offset[row] = 128 * _mm512_reduce_add_epi32(sum);
}

VNNI_INLINE void store(const Linear *p, int64_t row, int64_t channel, __m512i sum)
{
    if (channel >= p->channels)
        return;
    const __mmask16 mask = lanes(channel, p->channels);
    sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(p->offset[row]));
    __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(p->row_scale[row]));
    y = _mm512_mul_ps(y, load(mask, p->scale + channel));
    if (p->bias)
        y = _mm512_add_ps(y, load(mask, p->bias + channel));
    if (p->relu)
        y = _mm512_max_ps(_mm512_setzero_ps(), y); /* NaN stays NaN */
    save(p->y + row * p->channels + channel, mask, y);
}

/* Sums live in variables of their own: in an array the compiler would keep them in memory. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

/* `count` rows from `row` on, at most TILE, times one panel of 64 channels. */
VNNI_INLINE void tile(const Linear *p, int64_t panel, int64_t row, const int count)
{
    const int64_t stride = p->groups * 4;
    const int8_t *values = p->values + row * stride;
    const uint8_t *weights = p->panels + panel * p->groups * PANEL * 4;
    const uint8_t *end = weights + p->groups * PANEL * 4;

#define BEGIN(r) __m512i a##r = _mm512_setzero_si512(), b##r = a##r, c##r = a##r, d##r = a##r;
    EACH_ROW(BEGIN)
    for (; weights < end; weights += PANEL * 4, values += 4) {
        const __m512i a = _mm512_loadu_si512(weights), b = _mm512_loadu_si512(weights + 64);
        const __m512i c = _mm512_loadu_si512(weights + 128), d = _mm512_loadu_si512(weights + 192);
#define ADD(r)                                     \
    if (r < count) {                               \
        int32_t four;                              \
        memcpy(&four, values + r * stride, 4);     \
        const __m512i x = _mm512_set1_epi32(four); \
        a##r = _mm512_dpbusd_epi32(a##r, a, x);    \
        b##r = _mm512_dpbusd_epi32(b##r, b, x);    \
        c##r = _mm512_dpbusd_epi32(c##r, c, x);    \
        d##r = _mm512_dpbusd_epi32(d##r, d, x);    \
    }
        EACH_ROW(ADD)
    }
    const int64_t channel = panel * PANEL;
#define STORE(r)                               \
    if (r < count) {                           \
        store(p, row + r, channel, a##r);      \
        store(p, row + r, channel + 16, b##r); \
        store(p, row + r, channel + 32, c##r); \
        store(p, row + r, channel + 48, d##r); \
    }
    EACH_ROW(STORE)
}

VNNI static void panel_product(const Linear *p, int64_t panel)
{
    int64_t row = 0;
    for (; row + TILE <= p->rows; row += TILE)
        tile(p, panel, row, TILE);
    switch (p->rows - row) {
    case 5: tile(p, panel, row, 5); break;
    case 4: tile(p, panel, row, 4); break;
    case 3: tile(p, panel, row, 3); break;
    case 2: tile(p, panel, row, 2); break;
    case 1: tile(p, panel, row, 1); break;
    }
}

static void multiply(const Linear *p, int threads)
{
    const int64_t panels = (p->channels + PANEL - 1) / PANEL;
    if (p->rows * p->inputs * p->channels < PARALLEL)
        threads = 1;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (int64_t row = 0; row < p->rows; row++)
            quantize_row(p, row);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; panel++)
            panel_product(p, panel);
    }
}

static void pack_panels(const int8_t *weight, uint8_t *panels, int64_t channels, int64_t inputs)
{
    const int64_t groups = (inputs + 3) / 4, padded = (channels + PANEL - 1) / PANEL * PANEL;
    for (int64_t channel = 0; channel < padded; channel++) {
        uint8_t *to = panels + channel / PANEL * groups * PANEL * 4 + channel % PANEL * 4;
        for (int64_t g = 0; g < groups; g++, to += PANEL * 4)
            for (int64_t i = 0; i < 4; i++) {
                const int64_t input = g * 4 + i;
                const int known = channel < channels && input < inputs;
                to[i] = (uint8_t)(128 + (known ? weight[channel * inputs + input] : 0));
            }
    }
}

/* ---- float linear layers */

typedef struct {
    int64_t rows, inputs, channels;
    const float *x, *panels, *bias;
    float *y;
    int relu;
} FloatLinear;

INLINE void float_store(const FloatLinear *p, int64_t row, int64_t channel, __m512 sum)
{
    if (channel >= p->channels)
        return;
    const __mmask16 mask = lanes(channel, p->channels);
    if (p->bias)
        sum = _mm512_add_ps(sum, load(mask, p->bias + channel));
    if (p->relu)
        sum = _mm512_max_ps(_mm512_setzero_ps(), sum); /* NaN stays NaN */
    save(p->y + row * p->channels + channel, mask, sum);
}

/* As `tile`; a sum is taken input by input, however many rows there are. */
INLINE void float_tile(const FloatLinear *p, int64_t panel, int64_t row, const int count)
{
    const int64_t stride = p->inputs;
    const float *x = p->x + row * stride;
    const float *weights = p->panels + panel * p->inputs * PANEL;
    const float *end = weights + p->inputs * PANEL;

#define FLOAT_BEGIN(r) __m512 a##r = _mm512_setzero_ps(), b##r = a##r, c##r = a##r, d##r = a##r;
    EACH_ROW(FLOAT_BEGIN)
    for (; weights < end; weights += PANEL, x++) {
        const __m512 a = _mm512_loadu_ps(weights), b = _mm512_loadu_ps(weights + 16);
        const __m512 c = _mm512_loadu_ps(weights + 32), d = _mm512_loadu_ps(weights + 48);
#define FLOAT_ADD(r)                                        \
    if (r < count) {                                        \
        const __m512 value = _mm512_set1_ps(x[r * stride]); \
        a##r = _mm512_fmadd_ps(a, value, a##r);             \
        b##r = _mm512_fmadd_ps(b, value, b##r);             \
        c##r = _mm512_fmadd_ps(c, value, c##r);             \
        d##r = _mm512_fmadd_ps(d, value, d##r);             \
    }
        EACH_ROW(FLOAT_ADD)
    }
    const int64_t channel = panel * PANEL;
#define FLOAT_STORE(r)                               \
    if (r < count) {                                 \
        float_store(p, row + r, channel, a##r);      \
        float_store(p, row + r, channel + 16, b##r); \
        float_store(p, row + r, channel + 32, c##r); \
        float_store(p, row + r, channel + 48, d##r); \
    }
    EACH_ROW(FLOAT_STORE)
}

AVX512 static void float_panel_product(const FloatLinear *p, int64_t panel)
{
    int64_t row = 0;
    for (; row + TILE <= p->rows; row += TILE)
        float_tile(p, panel, row, TILE);
    switch (p->rows - row) {
    case 5: float_tile(p, panel, row, 5); break;
    case 4: float_tile(p, panel, row, 4); break;
    case 3: float_tile(p, panel, row, 3); break;
    case 2: float_tile(p, panel, row, 2); break;
    case 1: float_tile(p, panel, row, 1); break;
    }
}

static void float_multiply(const FloatLinear *p, int threads)
{
    const int64_t panels = (p->channels + PANEL - 1) / PANEL;
    if (p->rows * p->inputs * p->channels < PARALLEL)
        threads = 1;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t panel = 0; panel < panels; panel++)
        float_panel_product(p, panel);
}

/* ---- layer norm */

AVX512 static void norm_row(
    const float *x, const float *weight, const float *bias, float *y, int64_t width, float epsilon)
{
    __m512 sum = _mm512_setzero_ps(), squares = sum;
    for (int64_t i = 0; i < width; i += LANES)
        sum = _mm512_add_ps(sum, load(lanes(i, width), x + i));
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / (float)width);
    for (int64_t i = 0; i < width; i += LANES) {
        const __mmask16 mask = lanes(i, width);
        const __m512 off = _mm512_maskz_sub_ps(mask, load(mask, x + i), mean);
        squares = _mm512_fmadd_ps(off, off, squares);
    }
    const float variance = _mm512_reduce_add_ps(squares) / (float)width;
    const __m512 factor = _mm512_set1_ps(1.0f / sqrtf(variance + epsilon));
    for (int64_t i = 0; i < width; i += LANES) {
        const __mmask16 mask = lanes(i, width);
        __m512 z = _mm512_sub_ps(load(mask, x + i), mean);
        z = _mm512_mul_ps(_mm512_mul_ps(z, factor), load(mask, weight + i));
        save(y + i, mask, _mm512_add_ps(z, load(mask, bias + i)));
    }
}

AVX512 static void rms_row(const float *x, const float *weight, float *y, int64_t width,
                           float epsilon)
{
    __m512 squares = _mm512_setzero_ps();
    for (int64_t i = 0; i < width; i += LANES) {
        const __m512 value = load(lanes(i, width), x + i);
        squares = _mm512_fmadd_ps(value, value, squares);
    }
    const float mean = _mm512_reduce_add_ps(squares) / (float)width;
    const __m512 factor = _mm512_set1_ps(1.0f / sqrtf(mean + epsilon));
    for (int64_t i = 0; i < width; i += LANES) {
        const __mmask16 mask = lanes(i, width);
        const __m512 z = _mm512_mul_ps(load(mask, x + i), factor);
        save(
            y + i, mask, _mm512_mul_ps(z, load(mask, weight + i)));
    }
}

/* ---- rotary positions: pairs (i, i + half) of each head, turned in place */

AVX512 static void turn_row(
    float *x, int64_t heads, int64_t half, const float *cosines, const float *sines)
{
    for (int64_t head = 0; head < heads; head++, x += 2 * half)
        for (int64_t i = 0; i < half; i += LANES) {
            const __mmask16 mask = lanes(i, half);
            const __m512 c = load(mask, cosines + i);
            const __m512 s = load(mask, sines + i);
            const __m512 a = load(mask, x + i);
            const __m512 b = load(mask, x + half + i);
            save(
                x + i, mask, _mm512_sub_ps(_mm512_mul_ps(a, c), _mm512_mul_ps(b, s)));
            save(
                x + half + i, mask, _mm512_add_ps(_mm512_mul_ps(b, c), _mm512_mul_ps(a, s)));
        }
}

/* ---- attention */

typedef struct {
    const float *data;
    int64_t row, place; /* distances of rows and of places; heads follow one another */
} Strided;

typedef struct {
    int64_t batch, queries, keys, heads, width;
    Strided q, k, v;
    const uint8_t *mask; /* not 0 where a key may be seen, or NULL */
    int64_t mask_row, mask_query;
    int causal; /* query t sees keys 0 to t */
    float scale;
    float *y; /* [batch, queries, heads, width] */
} Attention;

/* e^x for x <= 0 to about two units in the last place: 2^n times a polynomial of the rest. NaN stays. */
INLINE __m512 exponential(__m512 x)
{
    x = _mm512_max_ps(_mm512_set1_ps(-87.0f), x);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x); /* ln 2 in two parts */
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.0f / 5040);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 720));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
}

/* The sums of 16 vectors' lanes as one vector. */
INLINE __m512 sums_of(const __m512 *v)
{
    __m512 two[8], four[4];
    for (int i = 0; i < 8; i++)
        two[i] = _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                               _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
    for (int i = 0; i < 4; i++) {
        const __m512d a = _mm512_castps_pd(two[2 * i]), b = _mm512_castps_pd(two[2 * i + 1]);
        four[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                                _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    const __m512 a = _mm512_add_ps(_mm512_shuffle_f32x4(four[0], four[1], 0x88),
                                   _mm512_shuffle_f32x4(four[0], four[1], 0xdd));
    const __m512 b = _mm512_add_ps(_mm512_shuffle_f32x4(four[2], four[3], 0x88),
                                   _mm512_shuffle_f32x4(four[2], four[3], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* The products of a query with up to 16 keys. `chunks` vectors hold a head, 0 for an odd width. */
INLINE __m512 products(
    const float *q, const float *k, int64_t place, int64_t keys, int64_t width, const int chunks)
{
    __m512 parts[LANES], query[8];
    for (int c = 0; c < chunks; c++)
        query[c] = _mm512_loadu_ps(q + LANES * c);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        const float *key = k + (i < keys ? i : keys - 1) * place; /* any key: masked afterwards */
        if (chunks) {
            parts[i] = _mm512_mul_ps(query[0], _mm512_loadu_ps(key));
            for (int c = 1; c < chunks; c++)
                parts[i] = _mm512_fmadd_ps(query[c], _mm512_loadu_ps(key + LANES * c), parts[i]);
        } else {
            parts[i] = _mm512_setzero_ps();
            for (int64_t d = 0; d < width; d += LANES) {
                const __mmask16 m = lanes(d, width);
                parts[i] = _mm512_fmadd_ps(load(m, q + d),
                                           load(m, key + d), parts[i]);
            }
        }
    }
    return sums_of(parts);
}

/* The sum of values by their weights, over all keys, for `count` vectors of a head from `v` on. */
INLINE void weigh(const float *weights, const float *v, int64_t place, int64_t keys, __m512 total,
                  float *y, const int count, __mmask16 last)
{
    __m512 parts[4];
    for (int c = 0; c < count; c++)
        parts[c] = _mm512_setzero_ps();
    for (int64_t key = 0; key < keys; key++, v += place) {
        const __m512 weight = _mm512_set1_ps(weights[key]);
        for (int c = 0; c < count; c++)
            parts[c] = _mm512_fmadd_ps(
                weight, load(c == count - 1 ? last : 0xffff, v + LANES * c), parts[c]);
    }
    for (int c = 0; c < count; c++)
        save(y + LANES * c, c == count - 1 ? last : 0xffff,
                              _mm512_div_ps(parts[c], total));
}

/* ---- the gate of a SwiGLU feed-forward network: silu(gate) * up */

AVX512 static void gate_row(const float *gate, float *y, int64_t width)
{
    const float *up = gate + width;
    const __m512 one = _mm512_set1_ps(1.0f), zero = _mm512_setzero_ps();
    /* above the one silu(x) is x to the last bit; below the other, less than 1e-35, it is taken for 0 */
    const __m512 least = _mm512_set1_ps(-87.0f), most = _mm512_set1_ps(87.0f);
    const __m512 nothing = _mm512_set1_ps(-INFINITY); /* stays what it is, as NaN does */
    for (int64_t i = 0; i < width; i += LANES) {
        const __mmask16 mask = lanes(i, width);
        const __m512 x = load(mask, gate + i);
        const __m512 inside = _mm512_min_ps(_mm512_max_ps(x, least), most);
        /* e^-|x| never overflows: 1 / (1 + e^-x) is e^x / (1 + e^x) where x is negative */
        const __m512 small = exponential(_mm512_sub_ps(zero, _mm512_abs_ps(inside)));
        const __mmask16 below = _mm512_cmp_ps_mask(inside, zero, _CMP_LT_OQ);
        const __m512 top = _mm512_mask_mov_ps(one, below, small);
        const __m512 value = _mm512_div_ps(_mm512_mul_ps(x, top), _mm512_add_ps(one, small));
        const __mmask16 vanishes = _mm512_cmp_ps_mask(x, least, _CMP_LT_OQ) &
                                   _mm512_cmp_ps_mask(x, nothing, _CMP_NEQ_OQ);
        const __m512 silu = _mm512_mask_mov_ps(value, vanishes, zero);
        save(y + i, mask, _mm512_mul_ps(silu, load(mask, up + i)));
    }
}

/* One query of one head; `scores` has room for the keys, rounded up to whole vectors. */
INLINE void attend(const Attention *p, int64_t row, int64_t head, int64_t query, float *scores,
                   const int chunks)
{
    const int64_t width = p->width, keys = p->causal ? query + 1 : p->keys;
    const float *q = p->q.data + row * p->q.row + query * p->q.place + head * width;
    const float *k = p->k.data + row * p->k.row + head * width;
    const float *v = p->v.data + row * p->v.row + head * width;
    const uint8_t *mask = p->mask ? p->mask + row * p->mask_row + query * p->mask_query : NULL;
    const __m512 nothing = _mm512_set1_ps(-INFINITY), scale = _mm512_set1_ps(p->scale);

    __m512 largest = nothing;
    for (int64_t first = 0; first < keys; first += LANES) {
        __mmask16 seen = lanes(first, keys);
        if (mask) {
            TOUCH(uint8_t, mask + first, seen)
            seen = _mm_mask_test_epi8_mask(
                seen, _mm_maskz_loadu_epi8(seen, mask + first), _mm_set1_epi8(-1));
        }
        __m512 score = nothing;
        if (seen)
            score = _mm512_mask_mul_ps(
                nothing, seen, scale,
                products(q, k + first * p->k.place, p->k.place, keys - first, width, chunks));
        _mm512_storeu_ps(scores + first, score);
        largest = _mm512_max_ps(largest, score);
    }

    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
    __m512 sum = _mm512_setzero_ps();
    for (int64_t first = 0; first < keys; first += LANES) {
        const __m512 score = _mm512_loadu_ps(scores + first);
        const __mmask16 seen = _mm512_cmp_ps_mask(score, nothing, _CMP_NEQ_UQ);
        const __m512 weight = _mm512_maskz_mov_ps(seen, exponential(_mm512_sub_ps(score, top)));
        _mm512_storeu_ps(scores + first, weight);
        sum = _mm512_add_ps(sum, weight);
    }
    const __m512 total = _mm512_set1_ps(_mm512_reduce_add_ps(sum));

    float *y = p->y + ((row * p->queries + query) * p->heads + head) * width;
    const int64_t whole = width / (4 * LANES) * (4 * LANES);
    for (int64_t d = 0; d < whole; d += 4 * LANES)
        weigh(scores, v + d, p->v.place, keys, total, y + d, 4, 0xffff);
    for (int64_t d = whole; d < width; d += LANES)
        weigh(scores, v + d, p->v.place, keys, total, y + d, 1, lanes(d, width));
}

/* All queries of one head, with its width known to the compiler where it is a usual one. */
AVX512 static void attend_head(const Attention *p, int64_t row, int64_t head, float *scores)
{
    for (int64_t query = 0; query < p->queries; query++)
        switch (p->width) {
        case 32: attend(p, row, head, query, scores, 2); break;
        case 64: attend(p, row, head, query, scores, 4); break;
        default: attend(p, row, head, query, scores, 0);
        }
}

/* False where there was no memory. */
static int attend_all(const Attention *p, int threads)
{
    int done = 1;
    if (p->batch * p->queries * p->keys * p->heads * p->width < PARALLEL)
        threads = 1;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(&& : done)
    {
        float *scores = malloc(sizeof(float) * (size_t)(p->keys + LANES));
        done = scores != NULL;
#pragma omp for schedule(static)
        for (int64_t item = 0; item < p->batch * p->heads; item++)
            if (scores)
                attend_head(p, item / p->heads, item % p->heads, scores);
        free(scores);
    }
    return done;
}
#endif

/* ---- what Python calls */

static PyObject *supported(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
#ifdef NATIVE
    const int floats = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl");
    return PyLong_FromLong(floats ? 1 + (__builtin_cpu_supports("avx512vnni") != 0) : 0);
#else
    return PyLong_FromLong(0);
#endif
}

#ifdef NATIVE
/* Addresses and numbers come as Python integers; gec.models.engines.native checks what they mean. */
static int numbers(PyObject *const *args, Py_ssize_t given, Py_ssize_t wanted, int64_t *out)
{
    if (given != wanted) {
        PyErr_Format(PyExc_TypeError, "%zd numbers wanted, %zd given", wanted, given);
        return 0;
    }
    for (Py_ssize_t i = 0; i < given; i++) {
        out[i] = PyLong_AsLongLong(args[i]);
        if (out[i] == -1 && PyErr_Occurred())
            return 0;
    }
    return 1;
}

#define ADDRESS(type, number) ((type *)(intptr_t)(number))

static PyObject *pack(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[4];
    (void)self;
    if (!numbers(args, given, 4, n))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    pack_panels(ADDRESS(const int8_t, n[0]), ADDRESS(uint8_t, n[1]), n[2], n[3]);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *linear_int8(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[10];
    (void)self;
    if (!numbers(args, given, 10, n))
        return NULL;
    const int64_t rows = n[1], inputs = n[2], groups = (inputs + 3) / 4;
    char *scratch = malloc((size_t)(rows * (groups * 4 + 8)) + 1);
    if (scratch == NULL)
        return PyErr_NoMemory();
    const Linear p = {
        .x = ADDRESS(const float, n[0]),
        .rows = rows,
        .inputs = inputs,
        .groups = groups,
        .panels = ADDRESS(const uint8_t, n[3]),
        .channels = n[4],
        .scale = ADDRESS(const float, n[5]),
        .bias = ADDRESS(const float, n[6]),
        .relu = n[7] != 0,
        .y = ADDRESS(float, n[8]),
        .row_scale = (float *)scratch,
        .offset = (int32_t *)(scratch + rows * 4),
        .values = (int8_t *)(scratch + rows * 8),
    };
    Py_BEGIN_ALLOW_THREADS
    multiply(&p, (int)n[9]);
    Py_END_ALLOW_THREADS
    free(scratch);
    Py_RETURN_NONE;
}

static PyObject *linear_float(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[9];
    (void)self;
    if (!numbers(args, given, 9, n))
        return NULL;
    const FloatLinear p = {
        .x = ADDRESS(const float, n[0]),
        .rows = n[1],
        .inputs = n[2],
        .panels = ADDRESS(const float, n[3]),
        .channels = n[4],
        .bias = ADDRESS(const float, n[5]),
        .relu = n[6] != 0,
        .y = ADDRESS(float, n[7]),
    };
    Py_BEGIN_ALLOW_THREADS
    float_multiply(&p, (int)n[8]);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *layer_norm(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[7];
    (void)self;
    if (given != 8 || !numbers(args, 7, 7, n))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "8 numbers wanted");
    const float epsilon = (float)PyFloat_AsDouble(args[7]);
    if (PyErr_Occurred())
        return NULL;
    const int64_t width = n[2];
    const int threads = n[1] * width < PARALLEL ? 1 : (int)n[6];
    Py_BEGIN_ALLOW_THREADS
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < n[1]; row++)
        norm_row(ADDRESS(const float, n[0]) + row * width, ADDRESS(const float, n[3]),
                 ADDRESS(const float, n[4]), ADDRESS(float, n[5]) + row * width, width, epsilon);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* As layer_norm, without mean and bias. */
static PyObject *rms_norm(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[6];
    (void)self;
    if (given != 7 || !numbers(args, 6, 6, n))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "7 numbers wanted");
    const float epsilon = (float)PyFloat_AsDouble(args[6]);
    if (PyErr_Occurred())
        return NULL;
    const int64_t width = n[2];
    const int threads = n[1] * width < PARALLEL ? 1 : (int)n[5];
    Py_BEGIN_ALLOW_THREADS
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < n[1]; row++)
        rms_row(ADDRESS(const float, n[0]) + row * width, ADDRESS(const float, n[3]),
                ADDRESS(float, n[4]) + row * width, width, epsilon);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *rotate(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[8];
    (void)self;
    if (!numbers(args, given, 8, n))
        return NULL;
    const int64_t stride = n[2], heads = n[3], half = n[4];
    const int threads = n[1] * heads * half < PARALLEL ? 1 : (int)n[7];
    Py_BEGIN_ALLOW_THREADS
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < n[1]; row++)
        turn_row(ADDRESS(float, n[0]) + row * stride, heads, half,
                 ADDRESS(const float, n[5]) + row * half, ADDRESS(const float, n[6]) + row * half);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *gate(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[5];
    (void)self;
    if (!numbers(args, given, 5, n))
        return NULL;
    const int64_t width = n[2];
    const int threads = n[1] * width < PARALLEL / 8 ? 1 : (int)n[4];
    Py_BEGIN_ALLOW_THREADS
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < n[1]; row++)
        gate_row(ADDRESS(const float, n[0]) + 2 * row * width, ADDRESS(float, n[3]) + row * width,
                 width);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *attention(PyObject *self, PyObject *const *args, Py_ssize_t given)
{
    int64_t n[20];
    int done;
    (void)self;
    if (given != 21 || !numbers(args, 20, 20, n))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "21 numbers wanted");
    Attention p = {
        .batch = n[0],
        .queries = n[1],
        .keys = n[2],
        .heads = n[3],
        .width = n[4],
        .q = {ADDRESS(const float, n[5]), n[6], n[7]},
        .k = {ADDRESS(const float, n[8]), n[9], n[10]},
        .v = {ADDRESS(const float, n[11]), n[12], n[13]},
        .mask = ADDRESS(const uint8_t, n[14]),
        .mask_row = n[15],
        .mask_query = n[16],
        .causal = n[17] != 0,
        .y = ADDRESS(float, n[18]),
        .scale = (float)PyFloat_AsDouble(args[20]),
    };
    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    done = attend_all(&p, (int)n[19]);
    Py_END_ALLOW_THREADS
    if (!done)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}
#define METHOD(name, arguments) \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, #name "(" arguments ")"}
#endif

static PyMethodDef methods[] = {
    {"supported", supported, METH_NOARGS, "What this processor can: 2 all, 1 all but int8, 0 nothing."},
#ifdef NATIVE
    METHOD(pack, "weight, panels, channels, inputs"),
    METHOD(linear_int8, "x, rows, inputs, panels, channels, scale, bias or 0, relu, y, threads"),
    METHOD(linear_float, "x, rows, inputs, panels, channels, bias or 0, relu, y, threads"),
    METHOD(layer_norm, "x, rows, width, weight, bias, y, threads, epsilon"),
    METHOD(rms_norm, "x, rows, width, weight, y, threads, epsilon"),
    METHOD(rotate, "x, rows, values a row, heads, half, cosines, sines, threads"),
    METHOD(gate, "x, rows, width, y, threads"),
    METHOD(attention, "batch, queries, keys, heads, width, q, its row and place strides, k, the same, v, "
                      "the same, mask or 0, its row and query strides, causal, y, threads, scale"),
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "Inference on a CPU with AVX-512.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModule_Create(&module);
}
