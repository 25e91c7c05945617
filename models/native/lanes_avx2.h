/* Vectors for AVX2 with fused multiply-add: two registers. With GEC_VNNI, int8 products by AVX-VNNI's
   VPDPBUSD. What each function means stands in lanes_plain.h. */

#include <immintrin.h>

/* Sixteen registers: many rows go with 16 channels, few rows with more. */
enum { INTERLEAVED = 1, FLOAT_TILE = 6 };
#define SUBS(count) ((count) == 1 ? 4 : (count) == 2 ? 2 : 1)

typedef struct {
    __m256 low, high;
} vec;
typedef struct {
    __m256i low, high;
} ints;
typedef vec mask; /* all bits of a lane, or none */

#define BOTH(type, value_low, value_high) ((type){(value_low), (value_high)})
#define TWO(function, a, b) \
    BOTH(vec, function((a).low, (b).low), function((a).high, (b).high))

#ifdef __SANITIZE_ADDRESS__
#define TOUCH(place, left)                                                            \
    for (int64_t at = 0; at < ((left) < 16 ? (left) : 16) * (int)sizeof(float); at++) \
        (void)((const volatile char *)(place))[at];
#else
#define TOUCH(place, left)
#endif

/* The first `left` of eight lanes. */
INLINE __m256i first_half(int64_t left)
{
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const int count = left < 0 ? 0 : left > 8 ? 8 : (int)left;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), order);
}

INLINE mask first(int64_t left)
{
    return BOTH(mask, _mm256_castsi256_ps(first_half(left)),
                _mm256_castsi256_ps(first_half(left - 8)));
}

INLINE vec whole(const float *place)
{
    return BOTH(vec, _mm256_loadu_ps(place), _mm256_loadu_ps(place + 8));
}

INLINE vec load(const float *place, int64_t left)
{
    if (left >= 16)
        return whole(place);
    TOUCH(place, left)
    return BOTH(vec, _mm256_maskload_ps(place, first_half(left)),
                _mm256_maskload_ps(place + 8, first_half(left - 8)));
}

INLINE void save(float *place, int64_t left, vec x)
{
    if (left >= 16) {
        _mm256_storeu_ps(place, x.low);
        _mm256_storeu_ps(place + 8, x.high);
        return;
    }
    TOUCH(place, left)
    _mm256_maskstore_ps(place, first_half(left), x.low);
    _mm256_maskstore_ps(place + 8, first_half(left - 8), x.high);
}

INLINE vec all(float x) { return BOTH(vec, _mm256_set1_ps(x), _mm256_set1_ps(x)); }
INLINE vec plus(vec a, vec b) { return TWO(_mm256_add_ps, a, b); }
INLINE vec minus(vec a, vec b) { return TWO(_mm256_sub_ps, a, b); }
INLINE vec times(vec a, vec b) { return TWO(_mm256_mul_ps, a, b); }
INLINE vec over(vec a, vec b) { return TWO(_mm256_div_ps, a, b); }
INLINE vec larger(vec a, vec b) { return TWO(_mm256_max_ps, a, b); }
INLINE vec smaller(vec a, vec b) { return TWO(_mm256_min_ps, a, b); }
INLINE vec fused(vec a, vec b, vec c)
{
    return BOTH(vec, _mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high));
}
INLINE vec fused_less(vec a, vec b, vec c)
{
    return BOTH(vec, _mm256_fnmadd_ps(a.low, b.low, c.low),
                _mm256_fnmadd_ps(a.high, b.high, c.high));
}
INLINE vec size_of(vec x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return BOTH(vec, _mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high));
}
INLINE vec nearest(vec x)
{
    return BOTH(vec, _mm256_round_ps(x.low, 8), _mm256_round_ps(x.high, 8)); /* 8: no exceptions */
}

INLINE __m256 power_half(__m256 x, __m256 n)
{
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
INLINE vec power(vec x, vec n)
{
    return BOTH(vec, power_half(x.low, n.low), power_half(x.high, n.high));
}

INLINE float sum(vec x)
{
    const __m256 eight = _mm256_add_ps(x.low, x.high);
    const __m128 four =
        _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float largest_of(vec x)
{
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    const __m128 four =
        _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

INLINE mask below(vec a, vec b)
{
    return BOTH(mask, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ),
                _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ));
}
INLINE mask differ(vec a, vec b)
{
    return BOTH(mask, _mm256_cmp_ps(a.low, b.low, _CMP_NEQ_UQ),
                _mm256_cmp_ps(a.high, b.high, _CMP_NEQ_UQ));
}
INLINE mask both(mask a, mask b) { return TWO(_mm256_and_ps, a, b); }
INLINE vec pick(mask m, vec a, vec b)
{
    return BOTH(vec, _mm256_blendv_ps(b.low, a.low, m.low),
                _mm256_blendv_ps(b.high, a.high, m.high));
}
INLINE uint32_t bits(mask m)
{
    return (uint32_t)_mm256_movemask_ps(m.low) | (uint32_t)_mm256_movemask_ps(m.high) << 8;
}

INLINE __m256 seen_half(__m128i bytes)
{
    const __m256i wide = _mm256_cvtepu8_epi32(bytes);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(wide, _mm256_setzero_si256()));
}
INLINE mask seen_of(const uint8_t *bytes, int64_t left)
{
    __m128i x;
    if (left >= 16)
        x = _mm_loadu_si128((const __m128i *)bytes);
    else {
        uint8_t some[16] = {0};
        memcpy(some, bytes, (size_t)left);
        x = _mm_loadu_si128((const __m128i *)some);
    }
    return BOTH(mask, seen_half(x), seen_half(_mm_srli_si128(x, 8)));
}

INLINE ints to_ints(vec x)
{
    return BOTH(ints, _mm256_cvtps_epi32(x.low), _mm256_cvtps_epi32(x.high));
}
INLINE vec to_floats(ints x)
{
    return BOTH(vec, _mm256_cvtepi32_ps(x.low), _mm256_cvtepi32_ps(x.high));
}
INLINE ints no_ints(void)
{
    return BOTH(ints, _mm256_setzero_si256(), _mm256_setzero_si256());
}
INLINE ints ints_plus(ints a, ints b)
{
    return BOTH(ints, _mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high));
}
INLINE ints ints_minus(ints a, int32_t b)
{
    const __m256i x = _mm256_set1_epi32(b);
    return BOTH(ints, _mm256_sub_epi32(a.low, x), _mm256_sub_epi32(a.high, x));
}
INLINE int32_t ints_sum(ints x)
{
    const __m256i eight = _mm256_add_epi32(x.low, x.high);
    const __m128i four =
        _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
INLINE void save_bytes(int8_t *place, int64_t left, ints x)
{
    const __m256i mixed = _mm256_packs_epi32(x.low, x.high); /* within halves: 0-3 8-11, 4-7 12-15 */
    const __m256i words = _mm256_permute4x64_epi64(mixed, 0xd8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    if (left >= 16)
        _mm_storeu_si128((__m128i *)place, bytes);
    else
        memcpy(place, &bytes, (size_t)left);
}

INLINE __m256 quads_half(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    const __m256d x = _mm256_castps_pd(ab), y = _mm256_castps_pd(cd);
    return _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(x, y)),
                         _mm256_castpd_ps(_mm256_unpackhi_pd(x, y)));
}
INLINE vec quads(vec a, vec b, vec c, vec d)
{
    return BOTH(vec, quads_half(a.low, b.low, c.low, d.low),
                quads_half(a.high, b.high, c.high, d.high));
}

/* Quads 0 and 1 of two vectors added, and 2 and 3 likewise; then those two. */
INLINE __m256 quad_sums_half(vec a, vec b)
{
    const __m256 early = _mm256_add_ps(_mm256_permute2f128_ps(a.low, b.low, 0x20),
                                       _mm256_permute2f128_ps(a.low, b.low, 0x31));
    const __m256 late = _mm256_add_ps(_mm256_permute2f128_ps(a.high, b.high, 0x20),
                                      _mm256_permute2f128_ps(a.high, b.high, 0x31));
    return _mm256_add_ps(early, late);
}
INLINE vec quad_sums(vec a, vec b, vec c, vec d)
{
    return BOTH(vec, quad_sums_half(a, b), quad_sums_half(c, d));
}

typedef __m256i values;

INLINE values spread(int32_t four) { return _mm256_set1_epi32(four); }

#ifdef GEC_VNNI
/* Unsigned bytes times signed ones: weights are stored + 128. */
enum { WEIGHT_SHIFT = 128, INT8_TILE = 6 };
typedef ints weights;

INLINE weights load_weights(const uint8_t *place)
{
    return BOTH(weights, _mm256_loadu_si256((const __m256i *)place),
                _mm256_loadu_si256((const __m256i *)(place + 32)));
}
INLINE ints dot(ints sums, weights w, values x)
{
    return BOTH(ints, _mm256_dpbusd_avx_epi32(sums.low, w.low, x),
                _mm256_dpbusd_avx_epi32(sums.high, w.high, x));
}

#else
/* |w| times x with the sign of w: two products fit into 16 bits, for values are at least -127. */
enum { WEIGHT_SHIFT = 0, INT8_TILE = 4 };
typedef struct {
    ints size, signs;
} weights;

INLINE weights load_weights(const uint8_t *place)
{
    const __m256i low = _mm256_loadu_si256((const __m256i *)place);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(place + 32));
    return (weights){{_mm256_abs_epi8(low), _mm256_abs_epi8(high)}, {low, high}};
}
INLINE __m256i dot_half(__m256i sums, __m256i size, __m256i signs, __m256i x)
{
    const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(x, signs));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
INLINE ints dot(ints sums, weights w, values x)
{
    return BOTH(ints, dot_half(sums.low, w.size.low, w.signs.low, x),
                dot_half(sums.high, w.size.high, w.signs.high, x));
}
#endif
