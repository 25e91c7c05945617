/* One processor's table of kernels.h. Compiled once for each kind of processor: GEC_TABLE is the
   table's name in C, GEC_NAME the kind's for users, GEC_LANES_H the vectors, and the compiler's flags
   say what the processor can. -ffp-contract=off: what is rounded once and what twice stands here. */

#include "kernels.h"

#include <math.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__ /* with its checks in every lane the compiler would take many minutes */
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#include GEC_LANES_H

#include "kernel_linear.h"

#include "kernel_rows.h"

#include "kernel_best.h"

#include "kernel_attention.h"

extern const GecKernels GEC_TABLE;
const GecKernels GEC_TABLE = {
    .name = GEC_NAME,
    .pack_int8 = pack_int8,
    .unpack_int8 = unpack_int8,
    .pack_float = pack_float,
    .unpack_float = unpack_float,
    .quantize = quantize,
    .int8_part = int8_part,
    .float_part = float_part,
    .best_int8_part = best_int8_part,
    .best_float_part = best_float_part,
    .best_merge = best_merge,
    .layer_norm = layer_norm,
    .rms_norm = rms_norm,
    .rotate = rotate,
    .gate = gate,
    .activate = activate,
    .add = add,
    .attend = attend,
};
