/* Vectors for NEON (AArch64): four registers. With GEC_DOT, int8 products by SDOT. What each function
   means stands in lanes_plain.h. */

#include <arm_neon.h>

/* Thirty-two registers: many rows go with 16 channels, few rows with more. */
enum { INTERLEAVED = 1, FLOAT_TILE = 5, INT8_TILE = 5, WEIGHT_SHIFT = 0 };
#define SUBS(count) ((count) == 1 ? 4 : (count) == 2 ? 2 : 1)

typedef struct {
    float32x4_t v[4];
} vec;
typedef struct {
    int32x4_t v[4];
} ints;
typedef struct {
    uint32x4_t v[4]; /* all bits of a lane, or none */
} mask;

#define LANEWISE(type, value)   \
    type result;                \
    for (int i = 0; i < 4; i++) \
        result.v[i] = (value);  \
    return result;

INLINE mask first(int64_t left)
{
    static const uint32_t order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint32x4_t count = vdupq_n_u32(left < 0 ? 0 : left > 16 ? 16 : (uint32_t)left);
    LANEWISE(mask, vcltq_u32(vld1q_u32(order + 4 * i), count))
}

/* Four floats that need not lie at a multiple of four bytes. */
INLINE float32x4_t four_at(const float *place)
{
    return vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)place));
}

INLINE vec whole(const float *place) { LANEWISE(vec, four_at(place + 4 * i)) }

INLINE vec load(const float *place, int64_t left)
{
    if (left >= 16)
        return whole(place);
    float some[16] = {0};
    memcpy(some, place, (size_t)left * sizeof(float));
    return whole(some);
}

INLINE void save(float *place, int64_t left, vec x)
{
    if (left >= 16) {
        for (int i = 0; i < 4; i++)
            vst1q_u8((uint8_t *)(place + 4 * i), vreinterpretq_u8_f32(x.v[i]));
        return;
    }
    float some[16];
    for (int i = 0; i < 4; i++)
        vst1q_f32(some + 4 * i, x.v[i]);
    memcpy(place, some, (size_t)left * sizeof(float));
}

INLINE vec all(float x) { LANEWISE(vec, vdupq_n_f32(x)) }
INLINE vec plus(vec a, vec b) { LANEWISE(vec, vaddq_f32(a.v[i], b.v[i])) }
INLINE vec minus(vec a, vec b) { LANEWISE(vec, vsubq_f32(a.v[i], b.v[i])) }
INLINE vec times(vec a, vec b) { LANEWISE(vec, vmulq_f32(a.v[i], b.v[i])) }
INLINE vec over(vec a, vec b) { LANEWISE(vec, vdivq_f32(a.v[i], b.v[i])) }
INLINE vec fused(vec a, vec b, vec c) { LANEWISE(vec, vfmaq_f32(c.v[i], a.v[i], b.v[i])) }
INLINE vec fused_less(vec a, vec b, vec c) { LANEWISE(vec, vfmsq_f32(c.v[i], a.v[i], b.v[i])) }
/* Not vmaxq, which makes NaN of a number and NaN. */
INLINE vec larger(vec a, vec b)
{
    LANEWISE(vec, vbslq_f32(vcgtq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]))
}
INLINE vec smaller(vec a, vec b)
{
    LANEWISE(vec, vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]))
}
INLINE vec size_of(vec x) { LANEWISE(vec, vabsq_f32(x.v[i])) }
INLINE vec nearest(vec x) { LANEWISE(vec, vrndnq_f32(x.v[i])) }
INLINE float32x4_t two_to(float32x4_t n)
{
    const int32x4_t exponent = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23));
}
INLINE vec power(vec x, vec n) { LANEWISE(vec, vmulq_f32(x.v[i], two_to(n.v[i]))) }

INLINE float sum(vec x)
{
    const float32x4_t four =
        vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3])); /* 8, then 4 apart */
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
INLINE float32x4_t four_larger(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
INLINE float largest_of(vec x)
{
    const float32x4_t four =
        four_larger(four_larger(x.v[0], x.v[2]), four_larger(x.v[1], x.v[3]));
    const float32x4_t two = four_larger(four, vextq_f32(four, four, 2));
    return vgetq_lane_f32(four_larger(two, vextq_f32(two, two, 1)), 0);
}

INLINE mask below(vec a, vec b) { LANEWISE(mask, vcltq_f32(a.v[i], b.v[i])) }
INLINE mask differ(vec a, vec b) { LANEWISE(mask, vmvnq_u32(vceqq_f32(a.v[i], b.v[i]))) }
INLINE mask both(mask a, mask b) { LANEWISE(mask, vandq_u32(a.v[i], b.v[i])) }
INLINE vec pick(mask m, vec a, vec b) { LANEWISE(vec, vbslq_f32(m.v[i], a.v[i], b.v[i])) }
INLINE uint32_t bits(mask m)
{
    static const uint32_t places[16] = {1 << 0, 1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,
                                        1 << 6, 1 << 7, 1 << 8,  1 << 9,  1 << 10, 1 << 11,
                                        1 << 12, 1 << 13, 1 << 14, 1 << 15};
    uint32_t found = 0;
    for (int i = 0; i < 4; i++)
        found |= vaddvq_u32(vandq_u32(m.v[i], vld1q_u32(places + 4 * i)));
    return found;
}
INLINE mask seen_of(const uint8_t *bytes, int64_t left)
{
    uint8_t some[16] = {0};
    memcpy(some, bytes, left < 16 ? (size_t)left : 16);
    const uint8x16_t x = vld1q_u8(some);
    const uint8x16_t seen = vtstq_u8(x, x);
    const int16x8_t low = vmovl_s8(vreinterpret_s8_u8(vget_low_u8(seen)));
    const int16x8_t high = vmovl_s8(vreinterpret_s8_u8(vget_high_u8(seen)));
    return (mask){{vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(low))),
                   vreinterpretq_u32_s32(vmovl_s16(vget_high_s16(low))),
                   vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(high))),
                   vreinterpretq_u32_s32(vmovl_s16(vget_high_s16(high)))}};
}

INLINE ints to_ints(vec x) { LANEWISE(ints, vcvtnq_s32_f32(x.v[i])) }
INLINE vec to_floats(ints x) { LANEWISE(vec, vcvtq_f32_s32(x.v[i])) }
INLINE ints no_ints(void) { LANEWISE(ints, vdupq_n_s32(0)) }
INLINE ints ints_plus(ints a, ints b) { LANEWISE(ints, vaddq_s32(a.v[i], b.v[i])) }
INLINE ints ints_minus(ints a, int32_t b) { LANEWISE(ints, vsubq_s32(a.v[i], vdupq_n_s32(b))) }
INLINE int32_t ints_sum(ints x)
{
    return vaddvq_s32(vaddq_s32(vaddq_s32(x.v[0], x.v[1]), vaddq_s32(x.v[2], x.v[3])));
}
INLINE void save_bytes(int8_t *place, int64_t left, ints x)
{
    const int16x8_t low = vcombine_s16(vmovn_s32(x.v[0]), vmovn_s32(x.v[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(x.v[2]), vmovn_s32(x.v[3]));
    const int8x16_t bytes = vcombine_s8(vmovn_s16(low), vmovn_s16(high));
    if (left >= 16)
        vst1q_s8(place, bytes);
    else
        memcpy(place, &bytes, (size_t)left);
}

/* (lane 0 + lane 2) + (lane 1 + lane 3) of four registers. */
INLINE float32x4_t four_sums(float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d)
{
    const float32x4_t ab = vaddq_f32(vzip1q_f32(a, b), vzip2q_f32(a, b)); /* 02 of a, b, 13 of a, b */
    const float32x4_t cd = vaddq_f32(vzip1q_f32(c, d), vzip2q_f32(c, d));
    const float64x2_t x = vreinterpretq_f64_f32(ab), y = vreinterpretq_f64_f32(cd);
    return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(x, y)),
                     vreinterpretq_f32_f64(vzip2q_f64(x, y)));
}
INLINE vec quads(vec a, vec b, vec c, vec d)
{
    LANEWISE(vec, four_sums(a.v[i], b.v[i], c.v[i], d.v[i]))
}
INLINE float32x4_t quad_sum(vec x)
{
    return vaddq_f32(vaddq_f32(x.v[0], x.v[1]), vaddq_f32(x.v[2], x.v[3]));
}
INLINE vec quad_sums(vec a, vec b, vec c, vec d)
{
    return (vec){{quad_sum(a), quad_sum(b), quad_sum(c), quad_sum(d)}};
}

typedef struct {
    int8x16_t v[4];
} weights;
typedef int8x16_t values;

INLINE weights load_weights(const uint8_t *place)
{
    LANEWISE(weights, vreinterpretq_s8_u8(vld1q_u8(place + 16 * i)))
}
INLINE values spread(int32_t four) { return vreinterpretq_s8_s32(vdupq_n_s32(four)); }

#ifdef GEC_DOT
INLINE ints dot(ints sums, weights w, values x) { LANEWISE(ints, vdotq_s32(sums.v[i], w.v[i], x)) }

#else
/* Two products fit into 16 bits, for values are at least -127. */
INLINE int32x4_t four_dots(int32x4_t sums, int8x16_t w, int8x16_t x)
{
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
    const int16x8_t high = vmull_high_s8(w, x);
    return vpadalq_s16(sums, vpaddq_s16(low, high));
}
INLINE ints dot(ints sums, weights w, values x) { LANEWISE(ints, four_dots(sums.v[i], w.v[i], x)) }
#endif
