/* Attention of one query to its keys. */

/* The products of a query with four keys from `from` on, in quads. `chunks` vectors hold a head, 0 for
   an odd width. Behind the last of `keys` it takes any: those are masked afterwards. */
INLINE vec four_products(const float *q, const float *k, int64_t place, int64_t from, int64_t keys,
                         int64_t width, const int chunks)
{
    vec parts[4];
    for (int i = 0; i < 4; i++) {
        const float *key = k + fewer(from + i, keys - 1) * place;
        vec part = chunks ? times(whole(q), whole(key)) : all(0);
        for (int c = 1; c < chunks; c++)
            part = fused(whole(q + 16 * c), whole(key + 16 * c), part);
        for (int64_t d = 0; d < width && !chunks; d += GEC_LANES)
            part = fused(load(q + d, width - d), load(key + d, width - d), part);
        parts[i] = part;
    }
    return quads(parts[0], parts[1], parts[2], parts[3]);
}

/* The products of a query with up to 16 keys. */
INLINE vec products(const float *q, const float *k, int64_t place, int64_t keys, int64_t width,
                    const int chunks)
{
#define FROM(key) keys <= key ? all(0) : four_products(q, k, place, key, keys, width, chunks)
    const vec a = FROM(0), b = FROM(4), c = FROM(8), d = FROM(12);
    return quad_sums(a, b, c, d);
}

/* The sum of values by their weights, over all keys, for `count` vectors of a head from `v` on. */
INLINE void weigh(const float *weights, const float *v, int64_t place, int64_t keys, vec total,
                  float *y, const int count, int64_t left)
{
    vec parts[4];
    for (int c = 0; c < count; c++)
        parts[c] = all(0);
    for (int64_t key = 0; key < keys; key++, v += place) {
        const vec weight = all(weights[key]);
        for (int c = 0; c < count; c++)
            parts[c] = fused(weight, count > 1 ? whole(v + 16 * c) : load(v, left), parts[c]);
    }
    for (int c = 0; c < count; c++)
        save(y + 16 * c, count > 1 ? 16 : left, over(parts[c], total));
}

INLINE void attend_one(const GecAttention *p, int64_t head, int64_t query, float *scores,
                       const int chunks)
{
    const int64_t width = p->width, keys = p->offset < 0 ? p->keys : p->offset + query + 1;
    const float *q = p->q + query * p->q_place + head * p->q_head;
    const float *k = p->k + head / p->shared * p->k_head;
    const float *v = p->v + head / p->shared * p->v_head;
    const uint8_t *seen = p->mask ? p->mask + query * p->mask_query : NULL;
    const vec nothing = all(-INFINITY), scale = all(p->scale);

    vec largest = nothing;
    for (int64_t at = 0; at < keys; at += GEC_LANES) {
        const mask m = seen ? seen_of(seen + at, keys - at) : first(keys - at);
        vec score = nothing;
        if (bits(m)) {
            score = products(q, k + at * p->k_place, p->k_place, keys - at, width, chunks);
            score = pick(m, times(scale, score), nothing);
        }
        save(scores + at, GEC_LANES, score);
        largest = larger(largest, score);
    }

    const vec top = all(largest_of(largest));
    vec total = all(0);
    for (int64_t at = 0; at < keys; at += GEC_LANES) {
        const vec score = whole(scores + at);
        const vec weight = pick(differ(score, nothing), exponential(minus(score, top)), all(0));
        save(scores + at, GEC_LANES, weight);
        total = plus(total, weight);
    }
    total = all(sum(total));

    float *y = p->y + query * p->y_place + head * width;
    const int64_t wide = width / 64 * 64;
    for (int64_t d = 0; d < wide; d += 64)
        weigh(scores, v + d, p->v_place, keys, total, y + d, 4, 16);
    for (int64_t d = wide; d < width; d += GEC_LANES)
        weigh(scores, v + d, p->v_place, keys, total, y + d, 1, width - d);
}

/* The width is known to the compiler where it is a usual one. */
static void attend(const GecAttention *p, int64_t head, int64_t begin, int64_t end, float *scores)
{
    for (int64_t query = begin; query < end; query++)
        switch (p->width) {
        case 32: attend_one(p, head, query, scores, 2); break;
        case 64: attend_one(p, head, query, scores, 4); break;
        default: attend_one(p, head, query, scores, 0);
        }
}
