/* What is done to rows one by one: norms, rotary positions, activations. */

static void layer_norm(const float *x, int64_t rows, int64_t width, const float *weight,
                       const float *bias, float *y, float epsilon)
{
    for (int64_t row = 0; row < rows; row++, x += width, y += width) {
        vec total = all(0), squares = total;
        for (int64_t i = 0; i < width; i += GEC_LANES)
            total = plus(total, load(x + i, width - i));
        const vec mean = all(sum(total) / (float)width);
        for (int64_t i = 0; i < width; i += GEC_LANES) {
            vec off = minus(load(x + i, width - i), mean);
            if (width - i < GEC_LANES)
                off = pick(first(width - i), off, all(0));
            squares = fused(off, off, squares);
        }
        const float variance = sum(squares) / (float)width;
        const vec factor = all(1.0f / sqrtf(variance + epsilon));
        for (int64_t i = 0; i < width; i += GEC_LANES) {
            const int64_t left = width - i;
            vec z = times(minus(load(x + i, left), mean), factor);
            z = times(z, load(weight + i, left));
            save(y + i, left, bias ? plus(z, load(bias + i, left)) : z);
        }
    }
}

static void rms_norm(const float *x, int64_t rows, int64_t width, const float *weight, float *y,
                     float epsilon)
{
    for (int64_t row = 0; row < rows; row++, x += width, y += width) {
        vec squares = all(0);
        for (int64_t i = 0; i < width; i += GEC_LANES) {
            const vec value = load(x + i, width - i);
            squares = fused(value, value, squares);
        }
        const float mean = sum(squares) / (float)width;
        const vec factor = all(1.0f / sqrtf(mean + epsilon));
        for (int64_t i = 0; i < width; i += GEC_LANES) {
            const vec z = times(load(x + i, width - i), factor);
            save(y + i, width - i, times(z, load(weight + i, width - i)));
        }
    }
}

static void rotate(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t half,
                   const float *cosines, const float *sines)
{
    for (int64_t row = 0; row < rows; row++, cosines += half, sines += half) {
        float *a = x + row * stride;
        for (int64_t head = 0; head < heads; head++, a += 2 * half)
            for (int64_t i = 0; i < half; i += GEC_LANES) {
                const int64_t left = half - i;
                const vec c = load(cosines + i, left), s = load(sines + i, left);
                const vec p = load(a + i, left), q = load(a + half + i, left);
                save(a + i, left, minus(times(p, c), times(q, s)));
                save(a + half + i, left, plus(times(q, c), times(p, s)));
            }
    }
}

static void add(float *x, const float *y, int64_t count)
{
    for (int64_t i = 0; i < count; i += GEC_LANES)
        save(x + i, count - i, plus(load(x + i, count - i), load(y + i, count - i)));
}

/* e^x for x <= 0 to about two units in the last place: 2^n times a polynomial of the rest. NaN stays. */
INLINE vec exponential(vec x)
{
    x = larger(all(-87.0f), x);
    const vec n = nearest(times(x, all(1.44269504f)));
    vec r = fused_less(n, all(0.693359375f), x); /* ln 2 in two parts */
    r = fused_less(n, all(-2.12194440e-4f), r);
    vec p = all(1.0f / 5040);
    p = fused(p, r, all(1.0f / 720));
    p = fused(p, r, all(1.0f / 120));
    p = fused(p, r, all(1.0f / 24));
    p = fused(p, r, all(1.0f / 6));
    p = fused(p, r, all(0.5f));
    p = fused(p, r, all(1.0f));
    p = fused(p, r, all(1.0f));
    return power(p, n);
}

/* x over 1 + e^-z. */
INLINE vec gated(vec x, vec z)
{
    /* above the one the gate is 1 to the last bit; below the other, less than 1e-35, it is taken for 0 */
    const vec least = all(-87.0f), most = all(87.0f), zero = all(0), one = all(1.0f);
    const vec inside = smaller(larger(z, least), most);
    /* e^-|z| never overflows: 1 / (1 + e^-z) is e^z / (1 + e^z) where z is negative */
    const vec small = exponential(minus(zero, size_of(inside)));
    const vec top = pick(below(inside, zero), small, one);
    const vec value = over(times(x, top), plus(one, small));
    const mask vanishes = both(below(z, least), differ(x, all(-INFINITY))); /* which stays */
    return pick(vanishes, zero, value);
}

/* The gate of a SwiGLU feed-forward network: silu(gate) * up. */
static void gate(const float *x, int64_t rows, int64_t width, float *y)
{
    for (int64_t row = 0; row < rows; row++, x += 2 * width, y += width)
        for (int64_t i = 0; i < width; i += GEC_LANES) {
            const vec z = load(x + i, width - i);
            save(y + i, width - i, times(gated(z, z), load(x + width + i, width - i)));
        }
}

/* ---- activations */

/* x Phi(x) as max(x, 0) - |x| / 2 erfc(z) with z = |x| / root of 2, and erfc(z) as e^-z^2 times t
   times a polynomial of t = 1 / (1 + z / 2), fitted to 2e-7 of the value: the tail keeps its digits. */
INLINE vec gelu(vec x)
{
    static const float terms[] = {
        -0.0607847815f, 0.292541452f, -0.502752336f, 0.294655122f, -0.0371368811f,
        0.206714163f,   0.24219796f,  0.28248418f,   0.282081069f,
    };
    const vec size = smaller(size_of(x), all(20.0f)); /* beyond, the tail is nothing */
    const vec z = times(size, all(0.707106781f));
    const vec t = over(all(1.0f), fused(all(0.5f), z, all(1.0f)));
    vec p = all(terms[0]);
    for (int i = 1; i < 9; i++)
        p = fused(p, t, all(terms[i]));
    const vec e = exponential(times(all(-0.5f), times(size, size)));
    const vec tail = times(times(times(all(0.5f), size), t), times(p, e));
    return minus(larger(all(0), x), tail);
}

/* Its approximation by the hyperbolic tangent: x over 1 + e^-2u, u = root of 2/pi (x + 0.044715 x^3). */
INLINE vec gelu_tanh(vec x)
{
    const vec cube = times(times(x, x), x);
    return gated(x, times(all(1.59576912f), fused(all(0.044715f), cube, x)));
}

static void activate(float *x, int64_t count, int which)
{
    for (int64_t i = 0; i < count; i += GEC_LANES) {
        const vec z = load(x + i, count - i);
        vec y;
        switch (which) {
        case GEC_RELU: y = larger(all(0), z); break;
        case GEC_GELU: y = gelu(z); break;
        case GEC_GELU_TANH: y = gelu_tanh(z); break;
        default: y = gated(z, z);
        }
        save(x + i, count - i, y);
    }
}
