"""The structures of models/native/network.h, for ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int64, c_void_p
from typing import ClassVar

FLOAT32, FLOAT16, INT8, PANELS = range(4)
"""The types of a table's rows; panels are those of an int8 layer."""

ACTIVATIONS = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3}
GATED = -1


class Linear(ctypes.Structure):
    _fields_: ClassVar = [
        ("inputs", c_int64), ("channels", c_int64),
        ("panels", c_void_p), ("scale", c_void_p), ("bias", c_void_p),
    ]  # fmt: skip


class Norm(ctypes.Structure):
    _fields_: ClassVar = [("weight", c_void_p), ("bias", c_void_p)]


class Table(ctypes.Structure):
    _fields_: ClassVar = [
        ("ids", c_int64), ("type", c_int64), ("rows", c_void_p), ("scale", c_void_p),
    ]  # fmt: skip


class Layer(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, Linear) for name in ("qkv", "out", "cross_q", "cross_kv", "cross_out")),
        ("up", Linear), ("down", Linear),
        ("attention", Norm), ("cross", Norm), ("ffn", Norm),
    ]  # fmt: skip


class Side(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, c_int64) for name in ("layers", "heads", "key_heads", "head_width", "ffn_width")),
        ("attention_scale", c_float),
        ("table", Table),
        ("places", c_void_p),
        ("embedding_norm", Norm), ("final_norm", Norm),
        ("layer", ctypes.POINTER(Layer)),
    ]  # fmt: skip


class Network(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, c_int64) for name in ("decoder_only", "width", "positions", "pre_norm")),
        ("activation", c_int64),
        *((name, c_float) for name in ("epsilon", "embedding_scale", "output_scale")),
        ("mask", c_void_p), ("cosines", c_void_p), ("sines", c_void_p),
        ("encoder", Side), ("decoder", Side),
        ("output", Linear), ("states", Linear),
    ]  # fmt: skip
