/* The output layer, of which only the best of each row is kept. */

/* What GecBest keeps of a row's logits of one panel; behind the last channel they are -infinity. */
INLINE void keep_best(const GecBest *best, int64_t row, int64_t panel, int64_t panels,
                      const float *logits)
{
    const int64_t base = panel * GEC_PANEL;
    vec parts[SIXTEENS], top = all(-INFINITY);
    uint64_t odd = 0, equal = 0;
    for (int s = 0; s < SIXTEENS; s++) {
        parts[s] = whole(logits + s * GEC_LANES);
        odd |= (uint64_t)bits(differ(parts[s], parts[s])) << s * GEC_LANES;
        top = larger(parts[s], top);
    }
    const float largest = odd ? NAN : largest_of(top);
    const int64_t at = row * panels + panel;
    for (int s = 0; s < SIXTEENS && !odd; s++)
        equal |= (uint64_t)(~bits(differ(parts[s], all(largest))) & 0xffff) << s * GEC_LANES;
    best->largest[at] = largest;
    best->best[at] = (int32_t)(base + __builtin_ctzll(odd ? odd : equal));

    const int64_t wanted = best->wanted ? best->wanted[row] - base : -1;
    if (wanted >= 0 && wanted < GEC_PANEL)
        best->logit[row] = logits[wanted];

    if (best->sum) {
        vec total = all(0);
        for (int s = 0; s < SIXTEENS; s++) {
            const vec e = exponential(minus(parts[s], all(largest)));
            total = plus(total, pick(differ(parts[s], all(-INFINITY)), e, all(0)));
        }
        best->sum[at] = sum(total);
    }
}

/* Of each panel, `TILE` rows at a time by SOME, whose last argument may be the panel to fetch. */
#define BEST_PART(name, Layer, TILE, SOME)                                                \
    static void name(const Layer *p, const GecBest *best, int64_t begin, int64_t end)     \
    {                                                                                     \
        float logits[TILE * GEC_PANEL];                                                   \
        const int64_t panels = gec_panels(p->channels);                                   \
        for (int64_t panel = begin; panel < end; panel++) {                               \
            if ((panel + 1) * GEC_PANEL > p->channels)                                    \
                for (int i = 0; i < TILE * GEC_PANEL; i++)                                \
                    logits[i] = -INFINITY;                                                \
            for (int64_t row = 0; row < p->rows; row += TILE) {                           \
                const int64_t count = fewer(TILE, p->rows - row);                         \
                SOME;                                                                     \
                for (int64_t r = 0; r < count; r++)                                       \
                    keep_best(best, row + r, panel, panels, logits + r * GEC_PANEL);      \
            }                                                                             \
        }                                                                                 \
    }
BEST_PART(best_int8_rows, GecLinear, INT8_TILE,
          int8_some(p, panel, row, count, logits, GEC_PANEL))
BEST_PART(best_float_part, GecFloatLinear, FLOAT_TILE,
          float_some(p, panel, row, count, logits, GEC_PANEL))
#ifdef GEC_AMX
BEST_PART(best_tiles, GecLinear, BLOCK_ROWS,
          some_tiles(p, panel, row, count, logits, GEC_PANEL,
                     row || panel + 1 == end ? NULL : panel_of(p, panel + 1)))
#endif

static void best_int8_part(const GecLinear *p, const GecBest *best, int64_t begin, int64_t end)
{
#ifdef GEC_AMX
    if (in_tiles(p)) {
        begin_tiles(fewer(TILE_ROWS, p->rows));
        best_tiles(p, best, begin, end);
        _tile_release();
        return;
    }
#endif
    best_int8_rows(p, best, begin, end);
}

/* ln x for x > 0 to about two units in the last place (Cephes, logf). NaN and infinity stay. */
static float logarithm(float x)
{
    if (!(x > 0 && x < INFINITY))
        return x > 0 ? x : x == 0 ? -INFINITY : NAN;
    int32_t whole;
    memcpy(&whole, &x, 4);
    float e = (float)((whole >> 23) - 126); /* x = m 2^e, 1/2 <= m < 1 */
    whole = (whole & 0x7fffff) | 0x3f000000;
    float m;
    memcpy(&m, &whole, 4);
    if (m < 0.707106781f) {
        e -= 1;
        m += m;
    }
    m -= 1;
    static const float terms[] = {
        7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
        -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f,
    };
    float y = terms[0];
    for (int i = 1; i < 9; i++)
        y = y * m + terms[i];
    y = y * m * (m * m) - 2.12194440e-4f * e - 0.5f * (m * m);
    return m + y + 0.693359375f * e;
}

static void best_merge(const GecBest *p, int64_t panels, int64_t begin, int64_t end, int32_t *best,
                       float *largest, float *log_sum)
{
    for (int64_t row = begin; row < end; row++) {
        const float *tops = p->largest + row * panels;
        int64_t found = 0;
        for (int64_t panel = 1; panel < panels; panel++)
            if (tops[found] == tops[found] && !(tops[panel] <= tops[found])) /* larger, or NaN */
                found = panel;
        best[row] = p->best[row * panels + found];
        largest[row] = tops[found];
        if (!log_sum)
            continue;
        vec total = all(0);
        for (int64_t i = 0; i < panels; i += GEC_LANES) {
            const int64_t left = panels - i;
            const vec e = exponential(minus(load(tops + i, left), all(tops[found])));
            const vec part = times(load(p->sum + row * panels + i, left), e);
            total = plus(total, pick(first(left), part, all(0)));
        }
        log_sum[row] = logarithm(sum(total));
    }
}
