/* Prints a checksum of what each function of a table of kernels gives for fixed numbers: the same
   lines on every processor. Usage: checksums NAME; without a name it prints the names there are. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

static uint32_t state;

static uint32_t next(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void *room(int64_t bytes)
{
    void *found = calloc(1, (size_t)bytes + 1);
    if (!found)
        exit(2);
    return found;
}

/* Numbers between -size and size, every 97th of another magnitude. */
static float *some(int64_t count, float size)
{
    float *x = room(count * 4);
    for (int64_t i = 0; i < count; i++) {
        x[i] = (float)(int32_t)next() / 2147483648.0f * size;
        if (i % 97 == 96)
            x[i] = ldexpf(x[i], (int)(next() % 40) - 30);
    }
    return x;
}

static int8_t *bytes(int64_t count)
{
    int8_t *x = room(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = (int8_t)(next() >> 8);
    return x;
}

/* Fowler, Noll and Vo's sum; every NaN is the same. */
static void tell(const char *name, int64_t a, int64_t b, int64_t c, const void *data, int64_t count)
{
    uint64_t sum = 14695981039346656037u;
    for (int64_t i = 0; i < count; i++) {
        float x;
        uint32_t bits;
        memcpy(&x, (const char *)data + 4 * i, 4);
        memcpy(&bits, &x, 4);
        if (x != x)
            bits = 0x7fc00000;
        sum = (sum ^ bits) * 1099511628211u;
    }
    printf("%s %lld %lld %lld %016llx\n", name, (long long)a, (long long)b, (long long)c,
           (unsigned long long)sum);
}

static void spoil(float *x, int64_t rows, int64_t width)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int64_t row = 1; row < rows; row += 4)
        x[row * width + (row * 7) % width] = odd[row / 4 % 3];
}

static void best(const GecKernels *k, const GecLinear *l, const GecFloatLinear *f, int64_t rows,
                 int64_t inputs, int64_t channels)
{
    const int64_t panels = gec_panels(channels), count = rows * panels;
    int32_t *wanted = room(rows * 4), *ids = room(rows * 4);
    for (int64_t row = 0; row < rows; row++)
        wanted[row] = (int32_t)(row % (channels + 1)) - 1;
    float *logit = room(rows * 4), *largest = room(rows * 4), *sums = room(rows * 4);
    const GecBest b = {room(count * 4), room(count * 4), room(count * 4), wanted, logit};
    if (l)
        k->best_int8_part(l, &b, 0, panels);
    else
        k->best_float_part(f, &b, 0, panels);
    k->best_merge(&b, panels, 0, rows, ids, largest, sums);
    tell("best.panels", rows, inputs, channels, b.largest, count);
    tell("best.id", rows, inputs, channels, ids, rows);
    tell("best.largest", rows, inputs, channels, largest, rows);
    tell("best.log_sum", rows, inputs, channels, sums, rows);
    tell("best.logit", rows, inputs, channels, logit, rows);
}

static void linear(const GecKernels *k, int64_t rows, int64_t inputs, int64_t channels)
{
    const int64_t panels = gec_panels(channels);
    float *x = some(rows * inputs, 3), *scale = some(channels, 0.01f), *bias = some(channels, 1);
    spoil(x, rows, inputs);

    int8_t *weight = bytes(channels * inputs);
    void *packed = room(gec_packed_int8(channels, inputs));
    k->pack_int8(weight, channels, inputs, packed);
    int8_t *values = room(rows * gec_padded(inputs));
    float *row_scale = room(rows * 4), *y = room(rows * channels * 4);
    int32_t *offset = room(rows * 4);
    k->quantize(x, rows, inputs, values, row_scale, offset);
    tell("quantize", rows, inputs, 0, values, rows * gec_padded(inputs) / 4);
    tell("quantize.scale", rows, inputs, 0, row_scale, rows);
    for (int relu = 0; relu < 2; relu++) {
        const GecLinear p = {rows,   inputs, channels, values, row_scale,
                             offset, packed, scale,    bias,   y, relu};
        k->int8_part(&p, 0, panels);
        tell("int8", rows, inputs, channels, y, rows * channels);
        best(k, &p, NULL, rows, inputs, channels);
    }

    float *floats = some(channels * inputs, 1);
    packed = room(gec_packed_float(channels, inputs));
    k->pack_float(floats, channels, inputs, packed);
    const GecFloatLinear p = {rows, inputs, channels, x, packed, bias, y, 0};
    k->float_part(&p, 0, panels);
    tell("float", rows, inputs, channels, y, rows * channels);
    best(k, NULL, &p, rows, inputs, channels);
}

static void rows_of(const GecKernels *k, int64_t rows, int64_t width)
{
    float *x = some(rows * width, 5), *weight = some(width, 1), *bias = some(width, 1);
    float *y = room(rows * width * 4);
    spoil(x, rows, width);
    k->layer_norm(x, rows, width, weight, bias, y, 1e-5f);
    tell("layer_norm", rows, width, 0, y, rows * width);
    k->rms_norm(x, rows, width, weight, y, 1e-6f);
    tell("rms_norm", rows, width, 0, y, rows * width);
    k->gate(x, rows, width / 2, y);
    tell("gate", rows, width, 0, y, rows * (width / 2));
    for (int which = GEC_RELU; which <= GEC_SILU; which++) {
        memcpy(y, x, (size_t)(rows * width * 4));
        k->activate(y, rows * width, which);
        tell("activate", rows, width, which, y, rows * width);
    }
    k->add(y, x, rows * width);
    tell("add", rows, width, 0, y, rows * width);
    const int64_t half = width / 2;
    float *angles = some(2 * rows * half, 1);
    memcpy(y, x, (size_t)(rows * width * 4));
    k->rotate(y, rows, width, 1, half, angles, angles + rows * half);
    tell("rotate", rows, width, 0, y, rows * width);
}

static void attention(const GecKernels *k, int64_t queries, int64_t keys, int64_t width)
{
    const int64_t heads = 4, shared = 2, wide = heads * width, narrow = wide / shared;
    float *q = some(queries * wide, 2), *key = some(keys * narrow, 2), *v = some(keys * narrow, 2);
    float *y = room(queries * wide * 4), *scores = room((keys + GEC_LANES) * 4);
    uint8_t *mask = room(queries * keys);
    for (int64_t i = 0; i < queries * keys; i++)
        mask[i] = i % keys == 0 || next() % 3;
    GecAttention p = {
        .q = q, .k = key, .v = v, .q_place = wide, .k_place = narrow, .v_place = narrow,
        .q_head = width, .k_head = width, .v_head = width, .width = width, .shared = shared,
        .keys = keys, .offset = keys - queries, .scale = 0.3f, .y = y, .y_place = wide,
    };
    for (int way = 0; way < 3; way++) { /* causal, all keys, masked */
        for (int64_t head = 0; head < heads; head++)
            k->attend(&p, head, 0, queries, scores);
        tell("attend", queries, keys, width, y, queries * wide);
        p.offset = -1;
        p.mask = way == 1 ? mask : NULL;
        p.mask_query = keys;
    }
    key[keys / 2 * narrow] = NAN;
    p.mask = NULL;
    for (int64_t head = 0; head < heads; head++)
        k->attend(&p, head, 0, queries, scores);
    tell("attend.nan", queries, keys, width, y, queries * wide);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        puts(gec_kernel_names());
        return 0;
    }
    const GecKernels *k = gec_kernels(arguments[1]);
    if (!k) {
        fprintf(stderr, "no kernels %s\n", arguments[1]);
        return 1;
    }
    static const int64_t shapes[][3] = {
        {1, 1, 1}, {2, 7, 63}, {3, 33, 17}, {4, 64, 64}, {5, 4, 65}, {6, 256, 70}, {13, 100, 200},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        state = 1;
        linear(k, shapes[i][0], shapes[i][1], shapes[i][2]);
    }
    static const int64_t widths[] = {1, 2, 16, 31, 100, 256};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        rows_of(k, 13, widths[i]);
    static const int64_t blocks[][3] = {{1, 1, 8}, {3, 40, 20}, {7, 13, 32}, {5, 5, 64}, {2, 21, 80}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        attention(k, blocks[i][0], blocks[i][1], blocks[i][2]);
}
