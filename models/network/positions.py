"""Tables of fixed positions: sines and cosines, the same bits on every machine.

They are computed in float64 and rounded once, so no library's sine, and no processor, makes a
difference. All engines read these tables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_TOGETHER = 1024  # places whose angles are held at once


def sinusoidal(length: int, width: int, kind: str = "sinusoidal") -> Array:
    """Return the fixed table [length, width] of Vaswani et al. 2017, section 3.5, or a variant.

    The kinds are those of :class:`gec.models.network.transformer_config.TransformerConfig`. The
    kind of tensor2tensor divides by half the width minus one, so the slowest rate is 1e-4 itself;
    an odd width ends in a zero.
    """
    half = width // 2
    steps = max(half - 1, 1) if kind == "sinusoidal_tensor2tensor" else width / 2
    rates = half if kind == "sinusoidal_tensor2tensor" else (width + 1) // 2
    # round rates and angles as the code that trained with each kind, or far places differ at 1e-5
    dtype = np.dtype(np.float64 if kind == "sinusoidal_halves" else np.float32)
    exponent: Array = np.arange(rates).astype(dtype) * dtype.type(-math.log(1e4) / steps)
    rate: Array = np.exp(exponent.astype(np.float64)).astype(dtype)
    table = np.zeros((length, width), np.float32)
    even, odd = (slice(0, None, 2), slice(1, None, 2))
    if kind != "sinusoidal":
        even, odd = slice(0, rates), slice(rates, rates + half)
    for first in range(0, length, _TOGETHER):
        some = table[first : first + _TOGETHER]
        place = np.arange(first, first + len(some), dtype=dtype)[:, None]
        angle = place * rate  # [places, rates]
        some[:, even] = np.sin(angle, dtype=np.float64)
        some[:, odd] = np.cos(angle[:, :half], dtype=np.float64)
    return table


def rotary(length: int, head_width: int, base: float) -> tuple[Array, Array]:
    """Return cosines and sines [length, d/2] of RoPE (Su et al. 2021, equation 34), float32."""
    half = head_width // 2
    exponent = -np.arange(half, dtype=np.float32) / np.float32(half)
    rate = np.power(np.float64(base), exponent, dtype=np.float64).astype(np.float32)
    angle = np.arange(length, dtype=np.float32)[:, None] * rate
    cosines, sines = np.cos(angle, dtype=np.float64), np.sin(angle, dtype=np.float64)
    return cosines.astype(np.float32), sines.astype(np.float32)
