/* Linear layers: packing, quantizing, products of rows with panels of 64 channels.

   A panel holds its channels in sixteens: of int8 [sixteens][groups of four inputs][16][4], so that
   one load holds 16 channels of four inputs, and of floats [sixteens][inputs][16]; where
   INTERLEAVED is 4, the four sixteens lie side by side within each group or input. */

enum { SIXTEENS = GEC_PANEL / GEC_LANES };

/* Where a channel's number of `step` (a group or an input) lies, counted in runs of 16. */
INLINE int64_t place_of(int64_t channel, int64_t step, int64_t steps)
{
    const int64_t panel = channel / GEC_PANEL, sixteen = channel % GEC_PANEL / GEC_LANES;
    return INTERLEAVED == 4 ? (panel * steps + step) * SIXTEENS + sixteen
                            : (panel * SIXTEENS + sixteen) * steps + step;
}

static void pack_int8(const int8_t *weight, int64_t channels, int64_t inputs, void *panels)
{
    const int64_t groups = gec_padded(inputs) / 4, padded = gec_panels(channels) * GEC_PANEL;
    for (int64_t channel = 0; channel < padded; channel++)
        for (int64_t g = 0; g < groups; g++) {
            uint8_t *to = (uint8_t *)panels + place_of(channel, g, groups) * 64 + channel % 16 * 4;
            for (int64_t i = 0; i < 4; i++) {
                const int64_t input = g * 4 + i;
                const int known = channel < channels && input < inputs;
                to[i] = (uint8_t)(WEIGHT_SHIFT + (known ? weight[channel * inputs + input] : 0));
            }
        }
}

static void unpack_int8(const void *panels, int64_t inputs, int64_t first, int64_t count,
                        int8_t *weight)
{
    const int64_t groups = gec_padded(inputs) / 4;
    const int64_t apart = place_of(0, 1, groups) * 64; /* a group from the next */
    for (int64_t channel = first; channel < first + count; channel++) {
        const uint8_t *from =
            (const uint8_t *)panels + place_of(channel, 0, groups) * 64 + channel % 16 * 4;
        for (int64_t input = 0; input < inputs; input += 4, from += apart)
            for (int64_t i = 0; i < 4 && input + i < inputs; i++)
                *weight++ = (int8_t)(uint8_t)(from[i] - WEIGHT_SHIFT);
    }
}

static void pack_float(const float *weight, int64_t channels, int64_t inputs, void *panels)
{
    const int64_t padded = gec_panels(channels) * GEC_PANEL;
    for (int64_t channel = 0; channel < padded; channel++)
        for (int64_t input = 0; input < inputs; input++) {
            float *to = (float *)panels + place_of(channel, input, inputs) * 16 + channel % 16;
            if (channel < channels)
                memcpy(to, weight + channel * inputs + input, sizeof(float));
            else
                *to = 0;
        }
}

static void unpack_float(const void *panels, int64_t inputs, int64_t first, int64_t count,
                         float *weight)
{
    for (int64_t channel = first; channel < first + count; channel++)
        for (int64_t input = 0; input < inputs; input++)
            *weight++ = ((const float *)panels)[place_of(channel, input, inputs) * 16 + channel % 16];
}

/* ---- rows to int8 */

/* x / y to the last bit, r being the float nearest to 1 / y: q is corrected twice by what is left of x
   (Markstein, Computation of elementary functions on the IBM RISC System/6000, 1990). If that is too
   small for a normal float the last bit may differ, but nothing that is rounded to a whole number. */
INLINE vec quotient(vec x, vec y, vec r)
{
#ifdef SLOW_FUSED
    (void)r;
    return over(x, y);
#endif
    vec q = times(x, r);
    q = fused(fused_less(q, y, x), r, q);
    return fused(fused_less(q, y, x), r, q);
}

INLINE void quantize_row(const float *x, int64_t inputs, int8_t *to, float *row_scale,
                         int32_t *offset)
{
    const vec infinity = all(INFINITY);
    vec largest = all(0), largest2 = largest;
    uint32_t odd = 0; /* the maximum would lose a NaN */
    int64_t done = 0;
    for (; done + 2 * GEC_LANES <= inputs; done += 2 * GEC_LANES) {
        const vec size = size_of(whole(x + done)), size2 = size_of(whole(x + done + GEC_LANES));
        largest = larger(largest, size);
        largest2 = larger(largest2, size2);
        odd |= ~bits(both(below(size, infinity), below(size2, infinity)));
    }
    largest = larger(largest, largest2);
    for (; done < inputs; done += GEC_LANES) {
        const vec size = size_of(load(x + done, inputs - done));
        largest = larger(largest, size);
        odd |= ~bits(below(size, infinity));
    }
    if (odd & 0xffff) { /* NaN or an infinity: the row's results are NaN */
        *row_scale = NAN;
        *offset = 0;
        memset(to, 0, (size_t)gec_padded(inputs));
        return;
    }
    float scale = largest_of(largest) * (float)(1.0 / GEC_LEVELS);
    if (scale < 1e-30f)
        scale = 1e-30f;
    *row_scale = scale;

    const vec divisor = all(scale), reciprocal = all(1.0f / scale);
    ints total = no_ints();
    for (int64_t i = 0; i < inputs; i += GEC_LANES) {
        const ints rounded = to_ints(quotient(load(x + i, inputs - i), divisor, reciprocal));
        total = ints_plus(total, rounded);
        save_bytes(to + i, inputs - i, rounded);
    }
    for (int64_t i = inputs; i < gec_padded(inputs); i++)
        to[i] = 0;
    *offset = WEIGHT_SHIFT * ints_sum(total);
}

static void quantize(const float *x, int64_t rows, int64_t inputs, int8_t *to, float *row_scale,
                     int32_t *offset)
{
    for (int64_t row = 0; row < rows; row++)
        quantize_row(x + row * inputs, inputs, to + row * gec_padded(inputs), row_scale + row,
                     offset + row);
}

/* ---- tiles: some rows from `row` on times some sixteens of a panel, to y */

/* Sums live in variables of their own: in an array the compiler would keep them in memory. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

INLINE void store(const GecLinear *p, int64_t row, int64_t channel, ints total, float *y)
{
    const int64_t left = p->channels - channel;
    if (left <= 0)
        return;
    vec z = times(to_floats(ints_minus(total, p->offset[row])), all(p->row_scale[row]));
    z = times(z, load(p->scale + channel, left));
    if (p->bias)
        z = plus(z, load(p->bias + channel, left));
    if (p->relu)
        z = larger(all(0), z); /* NaN stays NaN */
    save(y, left, z);
}

INLINE void float_store(const GecFloatLinear *p, int64_t channel, vec z, float *y)
{
    const int64_t left = p->channels - channel;
    if (left <= 0)
        return;
    if (p->bias)
        z = plus(z, load(p->bias + channel, left));
    if (p->relu)
        z = larger(all(0), z); /* NaN stays NaN */
    save(y, left, z);
}

/* y: where the first row's result of the panel's first channel goes; rows lie `stride` apart. */
INLINE void int8_tile(const GecLinear *p, int64_t panel, int sixteen, int64_t row, float *y,
                      int64_t stride, const int count, const int subs)
{
    const int64_t wide = gec_padded(p->inputs), groups = wide / 4;
    const int8_t *x = p->values + row * wide;
    const uint8_t *w = (const uint8_t *)p->panels + panel * groups * GEC_PANEL * 4;
    const int64_t apart = INTERLEAVED == 4 ? 64 : groups * 64, step = INTERLEAVED * 64;
    w += sixteen * apart;

#define BEGIN(r) ints a##r = no_ints(), b##r = a##r, c##r = a##r, d##r = a##r;
    EACH_ROW(BEGIN)
    for (int64_t g = 0; g < groups; g++, w += step, x += 4) {
        const weights a = load_weights(w), b = subs > 1 ? load_weights(w + apart) : a;
        const weights c = subs > 2 ? load_weights(w + 2 * apart) : a;
        const weights d = subs > 2 ? load_weights(w + 3 * apart) : a;
#define ADD(r)                              \
    if (r < count) {                        \
        int32_t four;                       \
        memcpy(&four, x + r * wide, 4);     \
        const values v = spread(four);      \
        a##r = dot(a##r, a, v);             \
        if (subs > 1)                       \
            b##r = dot(b##r, b, v);         \
        if (subs > 2) {                     \
            c##r = dot(c##r, c, v);         \
            d##r = dot(d##r, d, v);         \
        }                                   \
    }
        EACH_ROW(ADD)
    }
    const int64_t channel = panel * GEC_PANEL + sixteen * GEC_LANES;
    y += sixteen * GEC_LANES;
#define STORE(r)                                                         \
    if (r < count) {                                                     \
        store(p, row + r, channel, a##r, y + r * stride);                \
        if (subs > 1)                                                    \
            store(p, row + r, channel + 16, b##r, y + r * stride + 16);  \
        if (subs > 2) {                                                  \
            store(p, row + r, channel + 32, c##r, y + r * stride + 32);  \
            store(p, row + r, channel + 48, d##r, y + r * stride + 48);  \
        }                                                                \
    }
    EACH_ROW(STORE)
}

/* As `int8_tile`; a sum is taken input by input, however many rows there are. */
INLINE void float_tile(const GecFloatLinear *p, int64_t panel, int sixteen, int64_t row, float *y,
                       int64_t stride, const int count, const int subs)
{
    const int64_t inputs = p->inputs;
    const float *x = p->x + row * inputs;
    const float *w = (const float *)p->panels + panel * inputs * GEC_PANEL;
    const int64_t apart = INTERLEAVED == 4 ? 16 : inputs * 16, step = INTERLEAVED * 16;
    w += sixteen * apart;

#define FLOAT_BEGIN(r) vec a##r = all(0), b##r = a##r, c##r = a##r, d##r = a##r;
    EACH_ROW(FLOAT_BEGIN)
    for (int64_t i = 0; i < inputs; i++, w += step, x++) {
        const vec a = whole(w), b = subs > 1 ? whole(w + apart) : a;
        const vec c = subs > 2 ? whole(w + 2 * apart) : a;
        const vec d = subs > 2 ? whole(w + 3 * apart) : a;
#define FLOAT_ADD(r)                        \
    if (r < count) {                        \
        const vec v = all(x[r * inputs]);   \
        a##r = fused(a, v, a##r);           \
        if (subs > 1)                       \
            b##r = fused(b, v, b##r);       \
        if (subs > 2) {                     \
            c##r = fused(c, v, c##r);       \
            d##r = fused(d, v, d##r);       \
        }                                   \
    }
        EACH_ROW(FLOAT_ADD)
    }
    const int64_t channel = panel * GEC_PANEL + sixteen * GEC_LANES;
    y += sixteen * GEC_LANES;
#define FLOAT_STORE(r)                                                 \
    if (r < count) {                                                   \
        float_store(p, channel, a##r, y + r * stride);                 \
        if (subs > 1)                                                  \
            float_store(p, channel + 16, b##r, y + r * stride + 16);   \
        if (subs > 2) {                                                \
            float_store(p, channel + 32, c##r, y + r * stride + 32);   \
            float_store(p, channel + 48, d##r, y + r * stride + 48);   \
        }                                                              \
    }
    EACH_ROW(FLOAT_STORE)
}

/* `count` rows times a whole panel. */
#define ALL_SIXTEENS(name, tile, Layer)                                                     \
    INLINE void name(const Layer *p, int64_t panel, int64_t row, float *y, int64_t stride,  \
                     const int count)                                                       \
    {                                                                                       \
        const int64_t left = p->channels - panel * GEC_PANEL;                               \
        for (int s = 0; s < SIXTEENS && s * GEC_LANES < left; s += SUBS(count))             \
            tile(p, panel, s, row, y, stride, count, SUBS(count));                          \
    }
ALL_SIXTEENS(int8_rows, int8_tile, GecLinear)
ALL_SIXTEENS(float_rows, float_tile, GecFloatLinear)

/* As many rows as a tile has, or those that are left. */
#define SOME_ROWS(name, rows, Layer, TILE)                                                \
    static void name(const Layer *p, int64_t panel, int64_t row, int64_t count, float *y, \
                     int64_t stride)                                                      \
    {                                                                                     \
        switch (count) {                                                                  \
        case 6: rows(p, panel, row, y, stride, TILE < 6 ? 1 : 6); break;                  \
        case 5: rows(p, panel, row, y, stride, TILE < 5 ? 1 : 5); break;                  \
        case 4: rows(p, panel, row, y, stride, TILE < 4 ? 1 : 4); break;                  \
        case 3: rows(p, panel, row, y, stride, TILE < 3 ? 1 : 3); break;                  \
        case 2: rows(p, panel, row, y, stride, TILE < 2 ? 1 : 2); break;                  \
        case 1: rows(p, panel, row, y, stride, 1); break;                                 \
        }                                                                                 \
    }
SOME_ROWS(int8_some, int8_rows, GecLinear, INT8_TILE)
SOME_ROWS(float_some, float_rows, GecFloatLinear, FLOAT_TILE)

INLINE int64_t fewer(int64_t a, int64_t b) { return a < b ? a : b; }

#ifdef GEC_AMX
#include "kernel_tiles.h"
#endif

static void int8_part(const GecLinear *p, int64_t begin, int64_t end)
{
#ifdef GEC_AMX
    if (in_tiles(p)) {
        tiles_part(p, begin, end);
        return;
    }
#endif
    for (int64_t panel = begin; panel < end; panel++)
        for (int64_t row = 0; row < p->rows; row += INT8_TILE)
            int8_some(p, panel, row, fewer(INT8_TILE, p->rows - row),
                      p->y + row * p->channels + panel * GEC_PANEL, p->channels);
}

static void float_part(const GecFloatLinear *p, int64_t begin, int64_t end)
{
    for (int64_t panel = begin; panel < end; panel++)
        for (int64_t row = 0; row < p->rows; row += FLOAT_TILE)
            float_some(p, panel, row, fewer(FLOAT_TILE, p->rows - row),
                       p->y + row * p->channels + panel * GEC_PANEL, p->channels);
}
