/* Vectors for AVX-512: one register. With GEC_VNNI, int8 products by VPDPBUSD. What each function
   means stands in lanes_plain.h. */

#include <immintrin.h>

enum { INTERLEAVED = 4, FLOAT_TILE = 6 };
#define SUBS(count) 4

typedef __m512 vec;
typedef __m512i ints;
typedef __mmask16 mask;

INLINE mask first(int64_t left)
{
    return left >= 16 ? (mask)0xffff : (mask)((1u << left) - 1);
}

/* The address sanitizer does not see what masked loads and stores touch: under it (make sanitize)
   each lane's bytes are read by themselves first. */
#ifdef __SANITIZE_ADDRESS__
#define TOUCH(type, place, left)                                                     \
    for (int64_t at = 0; at < ((left) < 16 ? (left) : 16) * (int)sizeof(type); at++) \
        (void)((const volatile char *)(place))[at];
#else
#define TOUCH(type, place, left)
#endif

INLINE vec whole(const float *place) { return _mm512_loadu_ps(place); }

INLINE vec load(const float *place, int64_t left)
{
    TOUCH(float, place, left)
    return _mm512_maskz_loadu_ps(first(left), place);
}

INLINE void save(float *place, int64_t left, vec x)
{
    TOUCH(float, place, left)
    _mm512_mask_storeu_ps(place, first(left), x);
}

INLINE vec all(float x) { return _mm512_set1_ps(x); }
INLINE vec plus(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec minus(vec a, vec b) { return _mm512_sub_ps(a, b); }
INLINE vec times(vec a, vec b) { return _mm512_mul_ps(a, b); }
INLINE vec over(vec a, vec b) { return _mm512_div_ps(a, b); }
INLINE vec fused(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE vec fused_less(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); }
INLINE vec larger(vec a, vec b) { return _mm512_max_ps(a, b); }
INLINE vec smaller(vec a, vec b) { return _mm512_min_ps(a, b); }
INLINE vec size_of(vec x) { return _mm512_abs_ps(x); }
INLINE vec nearest(vec x) { return _mm512_roundscale_ps(x, 0); }
INLINE vec power(vec x, vec n) { return _mm512_scalef_ps(x, n); }
INLINE float sum(vec x) { return _mm512_reduce_add_ps(x); }
INLINE float largest_of(vec x) { return _mm512_reduce_max_ps(x); }

INLINE mask below(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
INLINE mask differ(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
INLINE mask both(mask a, mask b) { return a & b; }
INLINE mask seen_of(const uint8_t *bytes, int64_t left)
{
    TOUCH(uint8_t, bytes, left)
    const __m128i x = _mm_maskz_loadu_epi8(first(left), bytes);
    return _mm_test_epi8_mask(x, x);
}
INLINE vec pick(mask m, vec a, vec b) { return _mm512_mask_mov_ps(b, m, a); }
INLINE uint32_t bits(mask m) { return m; }

INLINE ints to_ints(vec x) { return _mm512_cvtps_epi32(x); }
INLINE vec to_floats(ints x) { return _mm512_cvtepi32_ps(x); }
INLINE ints no_ints(void) { return _mm512_setzero_si512(); }
INLINE ints ints_plus(ints a, ints b) { return _mm512_add_epi32(a, b); }
INLINE ints ints_minus(ints a, int32_t b) { return _mm512_sub_epi32(a, _mm512_set1_epi32(b)); }
INLINE int32_t ints_sum(ints x) { return _mm512_reduce_add_epi32(x); }
INLINE void save_bytes(int8_t *place, int64_t left, ints x)
{
    TOUCH(int8_t, place, left)
    if (left >= 16) /* a third of the time of a masked store */
        _mm_storeu_si128((__m128i *)place, _mm512_cvtepi32_epi8(x));
    else
        _mm512_mask_cvtepi32_storeu_epi8(place, first(left), x);
}

INLINE vec quads(vec a, vec b, vec c, vec d)
{
    const vec ab = plus(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const vec cd = plus(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const __m512d x = _mm512_castps_pd(ab), y = _mm512_castps_pd(cd);
    return plus(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
}

INLINE vec quad_sums(vec a, vec b, vec c, vec d)
{
    const vec ab = plus(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    const vec cd = plus(_mm512_shuffle_f32x4(c, d, 0x88), _mm512_shuffle_f32x4(c, d, 0xdd));
    return plus(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}

#ifdef GEC_VNNI
/* It multiplies unsigned bytes with signed ones: weights are stored + 128, and 128 times the sum of
   a row's values is taken off again. */
enum { WEIGHT_SHIFT = 128, INT8_TILE = 6 };
typedef __m512i weights;
typedef __m512i values;

INLINE weights load_weights(const uint8_t *place) { return _mm512_loadu_si512(place); }
INLINE values spread(int32_t four) { return _mm512_set1_epi32(four); }
INLINE ints dot(ints sums, weights w, values x) { return _mm512_dpbusd_epi32(sums, w, x); }

#else
/* |w| times x with the sign of w: two products fit into 16 bits, for values are at least -127. */
enum { WEIGHT_SHIFT = 0, INT8_TILE = 4 };
typedef struct {
    __m512i size;
    __mmask64 negative;
} weights;
typedef __m512i values;

INLINE weights load_weights(const uint8_t *place)
{
    const __m512i w = _mm512_loadu_si512(place);
    return (weights){_mm512_abs_epi8(w), _mm512_movepi8_mask(w)};
}
INLINE values spread(int32_t four) { return _mm512_set1_epi32(four); }
INLINE ints dot(ints sums, weights w, values x)
{
    const __m512i turned = _mm512_mask_sub_epi8(x, w.negative, _mm512_setzero_si512(), x);
    const __m512i pairs = _mm512_maddubs_epi16(w.size, turned);
    return _mm512_add_epi32(sums, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
#endif
