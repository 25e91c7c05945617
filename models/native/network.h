/* A network, its memories, and the passes over them: what network.c exports.

   Every function may be called from several threads at once, as long as no two of them use the same
   memory. models/native/network.py declares these structures and functions again, for ctypes, and
   checks what it hands over: addresses are believed here. */

#ifndef GEC_NETWORK_H
#define GEC_NETWORK_H

#include <stdint.h>

#include "kernels.h"

/* y = x W^T + b. */
typedef struct {
    int64_t inputs, channels;
    const void *panels; /* weights in the order of the processor's kernels */
    const float *scale; /* int8: one of each channel; NULL: the panels are float32 */
    const float *bias;  /* or NULL */
} gec_linear;

/* A layer norm; without a bias, division by the root of the mean square; without a weight, none. */
typedef struct {
    const float *weight, *bias;
} gec_norm;

enum { GEC_FLOAT32, GEC_FLOAT16, GEC_INT8, GEC_PANELS /* int8, those of a layer */ };

/* A vector for every id. */
typedef struct {
    int64_t ids, type;
    const void *rows;   /* [ids][width] of the type, or panels */
    const float *scale; /* int8: one of each row */
} gec_table;

typedef struct {
    gec_linear qkv, out;                  /* attention of a side to itself */
    gec_linear cross_q, cross_kv, cross_out; /* of the decoder to the source */
    gec_linear up, down;                  /* with a gate: up makes gate and values, [2 ffn_width] */
    gec_norm attention, cross, ffn;
} gec_layer;

/* The encoder or the decoder. */
typedef struct {
    int64_t layers, heads, key_heads, head_width, ffn_width;
    float attention_scale;
    gec_table table;
    const float *places; /* [positions][width], added to embeddings; NULL: none */
    gec_norm embedding_norm, final_norm;
    const gec_layer *layer;
} gec_side;

enum { GATED = -1 };

typedef struct {
    int64_t decoder_only, width, positions, pre_norm;
    int64_t activation; /* a GecActivation, or GATED: silu(a) b of [a, b] */
    float epsilon, embedding_scale, output_scale;
    const float *mask; /* [width], the vector of the id behind the decoder's last one, or NULL */
    const float *cosines, *sines; /* [positions][head_width / 2] of rotary positions, or NULL */
    gec_side encoder, decoder;
    gec_linear output;
    gec_linear states; /* of what another network made of the output; no panels: there is none */
} gec_network;

/* What functions return. */
enum { GEC_OK, GEC_NO_MEMORY, GEC_UNKNOWN_ID, GEC_BEYOND, GEC_NOT_FINITE };

typedef struct gec_model gec_model;
typedef struct gec_memory gec_memory;

/* `network` and all that it points to must live as long as the model; a model as long as its
   memories. NULL: no memory. */
GEC_API gec_model *gec_model_new(const gec_network *network, const GecKernels *kernels);
GEC_API void gec_model_free(gec_model *model);

/* Encode sources, one after another in `ids`, and make a memory with a row for each of them. A
   decoder-only network reads no sources: `ids` is NULL. At most `threads` threads compute, the
   caller among them, here and below. Unless it is NULL, `states` gets the encoder's output, [sum of
   lengths][width]. */
GEC_API int gec_start(gec_model *model, int threads, int64_t rows, const int64_t *lengths,
                         const int64_t *ids, float *states, gec_memory **memory);

/* The same for sources that another network of this width encoded. */
GEC_API int gec_start_encoded(gec_model *model, int threads, int64_t rows, const int64_t *lengths,
                              const float *states, gec_memory **memory);
GEC_API void gec_memory_free(gec_memory *memory);

/* Feed `lengths[r]` tokens of every row r behind its first `starts[r]` ones; what lies beyond those
   is dropped. `hidden` gets what the output layer reads of the last `wanted[r]` tokens of each row,
   row after row, [sum of wanted][width]. A token sees those before it; the last `open[r]` tokens of
   row r see all of them (`open` NULL: none does). Unless it is NULL, `states` holds a vector for
   each token, [sum of lengths][width], whose product with the network's `states` is added to the
   token's embedding. */
GEC_API int gec_verify(gec_memory *memory, int threads, const int64_t *tokens,
                          const int64_t *lengths, const int64_t *starts, const int64_t *wanted,
                          const int64_t *open, const float *states, float *hidden);

/* Keep only these rows, in this order; a row may repeat. */
GEC_API int gec_select(gec_memory *memory, int64_t count, const int64_t *rows);

/* Move the rows of `other` behind those of `memory`; `other` is empty then. */
GEC_API int gec_join(gec_memory *memory, gec_memory *other);

/* Of each of `count` hidden states: the likeliest id (of equals the smallest), its logit, and the
   logit of the id in `wanted` (-1: none; NULL: none at all). Unless `log_sum` is NULL, also the
   logarithm of the sum of e^(logit - largest) over all ids. */
GEC_API int gec_best(gec_model *model, int threads, int64_t count, const float *hidden,
                        const int32_t *wanted, int32_t *best, float *largest, float *log_sum,
                        float *logit);

/* The `most` likeliest ids of each hidden state and their logits, [count][most], likeliest first, of
   equals the smallest id first. `most` is at most the number of ids. */
GEC_API int gec_top(gec_model *model, int threads, int64_t count, const float *hidden,
                       int64_t most, int32_t *ids, float *logits);

/* All logits, [count][ids]. */
GEC_API int gec_logits(gec_model *model, int threads, int64_t count, const float *hidden,
                          float *logits);

#endif
