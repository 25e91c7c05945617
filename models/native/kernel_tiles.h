/* int8 products of many rows by AMX: a tile register holds 16 rows of 64 bytes.

   A panel as it is packed (kernel_linear.h, four sixteens side by side) is made of such tiles: 16
   groups of four inputs for 16 channels, a tile's rows 256 bytes apart. Sums are the same integers
   as those of the other kernels. */

enum {
    TILE_ROWS = 16,
    TILE_INPUTS = 64,
    BLOCK_ROWS = 2 * TILE_ROWS,
    TILES_FROM = 8 /* fewer rows are as fast without */
};

typedef int32_t Sums[4][TILE_ROWS][GEC_LANES];

/* Whether a product is computed here. */
INLINE int in_tiles(const GecLinear *p)
{
    return p->rows >= TILES_FROM && gec_padded(p->inputs) % TILE_INPUTS == 0;
}

/* Registers 0 to 3: sums; 4 and 5: rows; 6 and 7: weights. */
static void begin_tiles(int64_t rows)
{
    struct {
        uint8_t palette, start, zero[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shape.bytes[i] = 64;
        shape.rows[i] = i < 6 ? (uint8_t)rows : 16;
    }
    __asm__ volatile("" ::"r"(&shape) : "memory"); /* gcc 12 takes the shape for unread */
    _tile_loadconfig(&shape);
}

INLINE void no_sums(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

INLINE void take_sums(Sums sums)
{
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
}

INLINE vec finished(vec z, vec scale, int biased, vec bias, int relu)
{
    z = times(z, scale);
    if (biased)
        z = plus(z, bias);
    return relu ? larger(all(0), z) : z; /* NaN stays NaN */
}

/* What `store` does, for two sixteens of `rows` rows. */
static void store_sums(const GecLinear *p, int64_t channel, int64_t row, int64_t rows,
                       int32_t (*a)[GEC_LANES], int32_t (*b)[GEC_LANES], float *y, int64_t stride)
{
    const int64_t left = p->channels - channel, left_b = left - GEC_LANES;
    if (left <= 0)
        return;
    const int biased = p->bias != NULL, relu = p->relu;
    const vec scale = load(p->scale + channel, left);
    const vec scale_b = left_b > 0 ? load(p->scale + channel + GEC_LANES, left_b) : all(0);
    const vec bias = biased ? load(p->bias + channel, left) : all(0);
    const vec bias_b = biased && left_b > 0 ? load(p->bias + channel + GEC_LANES, left_b) : all(0);
    const int32_t *offset = p->offset + row;
    const float *row_scale = p->row_scale + row;
    for (int64_t r = 0; r < rows; r++, y += stride) {
        const vec own = all(row_scale[r]);
        const ints sum = ints_minus(_mm512_loadu_si512(a[r]), offset[r]);
        const ints sum_b = ints_minus(_mm512_loadu_si512(b[r]), offset[r]);
        save(y, left, finished(times(to_floats(sum), own), scale, biased, bias, relu));
        if (left_b > 0)
            save(y + GEC_LANES, left_b,
                 finished(times(to_floats(sum_b), own), scale_b, biased, bias_b, relu));
    }
}

INLINE const uint8_t *panel_of(const GecLinear *p, int64_t panel)
{
    return (const uint8_t *)p->panels + panel * gec_padded(p->inputs) * GEC_PANEL;
}

/* Fetches lines of 64 bytes into the second cache; of four, one is asked for and the processor takes
   the others with it. Tile loads alone leave it guessing. */
INLINE void fetch(const uint8_t *from, int lines)
{
    for (int i = 0; i < lines; i += 4)
        _mm_prefetch((const char *)from + i * 64, _MM_HINT_T1);
}

/* A register is always full if the product has 16 rows: where a block ends with fewer, its last tile
   begins with rows before, whose sums are left alone. */

/* `count` rows from `row` on, at most 16, times a panel; `next`: the one to fetch, or NULL. */
static void one_tile(const GecLinear *p, int64_t panel, int64_t row, int64_t count, float *y,
                     int64_t stride, const uint8_t *next)
{
    const int64_t wide = gec_padded(p->inputs), before = fewer(TILE_ROWS - count, row);
    const int8_t *x = p->values + (row - before) * wide;
    const uint8_t *w = panel_of(p, panel);
    Sums sums;
    no_sums();
    for (int64_t i = 0; i < wide; i += TILE_INPUTS, w += TILE_INPUTS * GEC_PANEL) {
        if (next)
            fetch(next + i * GEC_PANEL, 64);
        _tile_loadd(4, x + i, wide);
        _tile_loadd(6, w, 256);
        _tile_dpbsud(0, 4, 6);
        _tile_loadd(7, w + 64, 256);
        _tile_dpbsud(1, 4, 7);
        _tile_loadd(6, w + 128, 256);
        _tile_dpbsud(2, 4, 6);
        _tile_loadd(7, w + 192, 256);
        _tile_dpbsud(3, 4, 7);
    }
    take_sums(sums);
    const int64_t channel = panel * GEC_PANEL;
    store_sums(p, channel, row, count, sums[0] + before, sums[1] + before, y, stride);
    store_sums(p, channel + 32, row, count, sums[2] + before, sums[3] + before, y + 32, stride);
}

/* The same for 17 to 32 rows. */
static void two_tiles(const GecLinear *p, int64_t panel, int64_t row, int64_t count, float *y,
                      int64_t stride, const uint8_t *next)
{
    const int64_t wide = gec_padded(p->inputs), rest = count - TILE_ROWS, before = TILE_ROWS - rest;
    const int8_t *x = p->values + row * wide, *x2 = x + rest * wide;
    for (int half = 0; half < 2; half++) {
        const uint8_t *w = panel_of(p, panel) + half * 128;
        Sums sums;
        no_sums();
        for (int64_t i = 0; i < wide; i += TILE_INPUTS, w += TILE_INPUTS * GEC_PANEL) {
            if (next)
                fetch(next + (half * wide + i) * (GEC_PANEL / 2), 32);
            _tile_loadd(4, x + i, wide);
            _tile_loadd(6, w, 256);
            _tile_loadd(7, w + 64, 256);
            _tile_loadd(5, x2 + i, wide);
            _tile_dpbsud(0, 4, 6);
            _tile_dpbsud(1, 4, 7);
            _tile_dpbsud(2, 5, 6);
            _tile_dpbsud(3, 5, 7);
        }
        take_sums(sums);
        const int64_t channel = panel * GEC_PANEL + half * 32;
        float *to = y + half * 32;
        store_sums(p, channel, row, TILE_ROWS, sums[0], sums[1], to, stride);
        store_sums(p, channel, row + TILE_ROWS, rest, sums[2] + before, sums[3] + before,
                   to + TILE_ROWS * stride, stride);
    }
}

INLINE void some_tiles(const GecLinear *p, int64_t panel, int64_t row, int64_t count, float *y,
                       int64_t stride, const uint8_t *next)
{
    if (count > TILE_ROWS)
        two_tiles(p, panel, row, count, y, stride, next);
    else
        one_tile(p, panel, row, count, y, stride, next);
}

static void tiles_part(const GecLinear *p, int64_t begin, int64_t end)
{
    begin_tiles(fewer(TILE_ROWS, p->rows));
    for (int64_t panel = begin; panel < end; panel++) {
        const uint8_t *next = panel + 1 < end ? panel_of(p, panel + 1) : NULL;
        for (int64_t row = 0; row < p->rows; row += BLOCK_ROWS, next = NULL)
            some_tiles(p, panel, row, fewer(BLOCK_ROWS, p->rows - row),
                       p->y + row * p->channels + panel * GEC_PANEL, p->channels, next);
    }
    _tile_release();
}
