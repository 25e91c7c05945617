/* Attention of one query to its keys. */

/* The products of a query with up to 16 keys. `chunks` vectors hold a head, 0 for an odd width. */
INLINE vec products(const float *q, const float *k, int64_t place, int64_t keys, int64_t width,
                    const int chunks)
{
    vec four[4];
    for (int g = 0; g < 4; g++) {
        four[g] = all(0);
        if (4 * g >= keys)
            continue;
        vec parts[4];
        for (int i = 0; i < 4; i++) {
            const int at = 4 * g + i; /* behind the last any key: masked afterwards */
            const float *key = k + (at < keys ? at : keys - 1) * place;
            if (chunks) {
                parts[i] = times(whole(q), whole(key));
                for (int c = 1; c < chunks; c++)
                    parts[i] = fused(whole(q + 16 * c), whole(key + 16 * c), parts[i]);
            } else {
                parts[i] = all(0);
                for (int64_t d = 0; d < width; d += GEC_LANES)
                    parts[i] = fused(load(q + d, width - d), load(key + d, width - d), parts[i]);
            }
        }
        four[g] = quads(parts[0], parts[1], parts[2], parts[3]);
    }
    return quad_sums(four[0], four[1], four[2], four[3]);
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
