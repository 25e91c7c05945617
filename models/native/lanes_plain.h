/* Vectors in plain C, and what each function of a vector means. */

#include <math.h>
#include <string.h>

/* Packed panels hold channels 16 by 16; INTERLEAVED of those sixteens lie side by side. A tile is so
   many rows at most, times SUBS(rows) sixteens at once. */
enum { INTERLEAVED = 1, FLOAT_TILE = 1, INT8_TILE = 1, WEIGHT_SHIFT = 0 };
#define SUBS(count) 1

#define EACH for (int i = 0; i < 16; i++)

typedef struct {
    float v[16];
} vec;
typedef struct {
    int32_t v[16];
} ints;
typedef ints mask; /* -1 or 0 */

#define SLOW_FUSED

/* a b + c, rounded once. */
static inline float fused_one(float a, float b, float c)
{
#ifdef FP_FAST_FMAF
    return fmaf(a, b, c);
#else
    /* The product is exact in a double; the sum is rounded to odd by its error, then to a float
       (Boldo and Melquiond 2008, Emulation of a FMA). */
    const double product = (double)a * b, s = product + c, t = s - product;
    const double error = (product - (s - t)) + (c - t); /* NaN beside infinity: nothing is added */
    int64_t whole;
    memcpy(&whole, &s, 8);
    const int64_t outward = ((error > 0) & (s > 0)) | ((error < 0) & (s < 0));
    const int64_t inward = ((error > 0) & (s < 0)) | ((error < 0) & (s > 0));
    whole += (outward - inward) & ((whole & 1) - 1);
    double odd;
    memcpy(&odd, &whole, 8);
    return (float)odd;
#endif
}

#define LANEWISE(type, value)      \
    type result;                   \
    EACH { result.v[i] = (value); } \
    return result;

/* The first lanes. */
INLINE mask first(int64_t left) { LANEWISE(mask, -(i < left)) }

/* 16 floats, or those that are left, and 0. */
INLINE vec whole(const float *place)
{
    vec x;
    memcpy(&x, place, sizeof x);
    return x;
}
INLINE vec load(const float *place, int64_t left)
{
    vec x = {{0}};
    memcpy(&x, place, left < 16 ? (size_t)left * sizeof(float) : sizeof x);
    return x;
}
INLINE void save(float *place, int64_t left, vec x)
{
    memcpy(place, &x, left < 16 ? (size_t)left * sizeof(float) : sizeof x);
}

INLINE vec all(float x) { LANEWISE(vec, x) }
INLINE vec plus(vec a, vec b) { LANEWISE(vec, a.v[i] + b.v[i]) }
INLINE vec minus(vec a, vec b) { LANEWISE(vec, a.v[i] - b.v[i]) }
INLINE vec times(vec a, vec b) { LANEWISE(vec, a.v[i] * b.v[i]) }
INLINE vec over(vec a, vec b) { LANEWISE(vec, a.v[i] / b.v[i]) }
/* a b + c and c - a b, rounded once. */
INLINE vec fused(vec a, vec b, vec c) { LANEWISE(vec, fused_one(a.v[i], b.v[i], c.v[i])) }
INLINE vec fused_less(vec a, vec b, vec c) { LANEWISE(vec, fused_one(-a.v[i], b.v[i], c.v[i])) }
/* b where one of both is NaN. */
INLINE vec larger(vec a, vec b) { LANEWISE(vec, a.v[i] > b.v[i] ? a.v[i] : b.v[i]) }
INLINE vec smaller(vec a, vec b) { LANEWISE(vec, a.v[i] < b.v[i] ? a.v[i] : b.v[i]) }
INLINE vec size_of(vec x) { LANEWISE(vec, fabsf(x.v[i])) }
/* Rounded, halves to even; |x| < 2^22. */
INLINE vec nearest(vec x) { LANEWISE(vec, (x.v[i] + 12582912.0f) - 12582912.0f) }

/* x 2^n for whole n between -126 and 127. */
INLINE vec power(vec x, vec n)
{
    vec result;
    EACH
    {
        const float safe = n.v[i] > -126 ? (n.v[i] < 127 ? n.v[i] : 127) : -126;
        const int32_t exponent = ((int32_t)safe + 127) << 23;
        float factor;
        memcpy(&factor, &exponent, 4);
        result.v[i] = x.v[i] * factor;
    }
    return result;
}

/* Lanes 8 apart are added first, then 4, 2 and 1 apart. */
INLINE float sum(vec x)
{
    for (int apart = 8; apart; apart /= 2)
        for (int i = 0; i < apart; i++)
            x.v[i] += x.v[i + apart];
    return x.v[0];
}
INLINE float largest_of(vec x)
{
    for (int apart = 8; apart; apart /= 2)
        for (int i = 0; i < apart; i++)
            x.v[i] = x.v[i] > x.v[i + apart] ? x.v[i] : x.v[i + apart];
    return x.v[0];
}

/* a < b, false for NaN; a != b, true for NaN. */
INLINE mask below(vec a, vec b) { LANEWISE(mask, -(a.v[i] < b.v[i])) }
INLINE mask differ(vec a, vec b) { LANEWISE(mask, -(a.v[i] != b.v[i])) }
INLINE mask both(mask a, mask b) { LANEWISE(mask, a.v[i] & b.v[i]) }
/* Where bytes are not 0, of those that are left. */
INLINE mask seen_of(const uint8_t *bytes, int64_t left)
{
    LANEWISE(mask, -(i < left && bytes[i]))
}
INLINE vec pick(mask m, vec a, vec b) { LANEWISE(vec, m.v[i] ? a.v[i] : b.v[i]) }
/* One bit a lane. */
INLINE uint32_t bits(mask m)
{
    uint32_t found = 0;
    EACH found |= (uint32_t)(m.v[i] & 1) << i;
    return found;
}

/* Rounded, halves to even; |x| < 2^22. */
INLINE ints to_ints(vec x)
{
    const vec rounded = nearest(x);
    LANEWISE(ints, (int32_t)rounded.v[i])
}
INLINE vec to_floats(ints x) { LANEWISE(vec, (float)x.v[i]) }
INLINE ints no_ints(void) { LANEWISE(ints, 0) }
INLINE ints ints_plus(ints a, ints b) { LANEWISE(ints, a.v[i] + b.v[i]) }
INLINE ints ints_minus(ints a, int32_t b) { LANEWISE(ints, a.v[i] - b) }
INLINE int32_t ints_sum(ints x)
{
    int32_t total = 0;
    EACH total += x.v[i];
    return total;
}
INLINE void save_bytes(int8_t *place, int64_t left, ints x)
{
    for (int i = 0; i < 16 && i < left; i++)
        place[i] = (int8_t)x.v[i];
}

/* The sums of four lanes each, (0 + 2) + (1 + 3), of four vectors: lane 4 q + i is that of the
   vector i's lanes from 4 q on. */
INLINE vec quads(vec a, vec b, vec c, vec d)
{
    vec result;
    for (int q = 0; q < 16; q += 4) {
        result.v[q] = (a.v[q] + a.v[q + 2]) + (a.v[q + 1] + a.v[q + 3]);
        result.v[q + 1] = (b.v[q] + b.v[q + 2]) + (b.v[q + 1] + b.v[q + 3]);
        result.v[q + 2] = (c.v[q] + c.v[q + 2]) + (c.v[q + 1] + c.v[q + 3]);
        result.v[q + 3] = (d.v[q] + d.v[q + 2]) + (d.v[q + 1] + d.v[q + 3]);
    }
    return result;
}

/* (quad 0 + quad 1) + (quad 2 + quad 3) of four such: lanes 0 to 3 those of a, and so on. */
INLINE vec quad_sums(vec a, vec b, vec c, vec d)
{
    vec result;
    for (int i = 0; i < 4; i++) {
        result.v[i] = (a.v[i] + a.v[i + 4]) + (a.v[i + 8] + a.v[i + 12]);
        result.v[i + 4] = (b.v[i] + b.v[i + 4]) + (b.v[i + 8] + b.v[i + 12]);
        result.v[i + 8] = (c.v[i] + c.v[i + 4]) + (c.v[i + 8] + c.v[i + 12]);
        result.v[i + 12] = (d.v[i] + d.v[i + 4]) + (d.v[i + 8] + d.v[i + 12]);
    }
    return result;
}

/* Weights of 16 channels and four inputs each, and four values for all of them; `dot` adds a
   channel's four products to its sum. A weight is stored plus WEIGHT_SHIFT. */
typedef struct {
    int8_t v[64];
} weights;
typedef struct {
    int32_t v[4];
} values;

INLINE weights load_weights(const uint8_t *place)
{
    weights w;
    memcpy(&w, place, sizeof w);
    return w;
}
INLINE values spread(int32_t four)
{
    int8_t x[4];
    memcpy(x, &four, 4);
    return (values){{x[0], x[1], x[2], x[3]}};
}
INLINE ints dot(ints sums, weights w, values x)
{
    LANEWISE(ints, sums.v[i] + (w.v[4 * i] * x.v[0] + w.v[4 * i + 1] * x.v[1]) +
                       (w.v[4 * i + 2] * x.v[2] + w.v[4 * i + 3] * x.v[3]))
}
