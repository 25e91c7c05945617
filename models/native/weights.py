"""What a network's tensors are made into for the C side: checked, quantized, packed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.models.native.structures import FLOAT16, FLOAT32, INT8, PANELS, Linear, Norm, Table
from gec.models.native.tensors import let_go

Array = NDArray[Any]

_LEVELS = 127
_SMALLEST = 1e-30  # a scale of zero would divide by zero


def quantize_rows(x: Array) -> tuple[Array, Array]:
    """Return int8 values [N, K] and scales [N] of float32 [N, K], their product.

    The same bits as :func:`gec.models.engines.quantization.quantize_rows`.
    """
    scale = np.abs(x).max(-1) * np.float32(1 / _LEVELS)
    scale = np.maximum(scale, np.float32(_SMALLEST))
    return np.rint(x / scale[:, None]).astype(np.int8), scale


def address(x: Array | None) -> int | None:
    """Return where an array lies in memory; None for None."""
    return None if x is None else x.ctypes.data


@dataclass
class Weights:
    """Takes a network's tensors, each once, and keeps what the C side reads.

    Attributes:
        tensors: by name, as a file holds them; int8 ones have scales, named ``NAME.scale``.
        quantized: linear layers compute in int8.
        kernels: packs weights in the order in which they are multiplied.
        parameters: how many weights were taken, however they are stored.

    Raises:
        ValueError: a tensor is missing, or has another shape or type, or holds NaN or infinity.
    """

    tensors: dict[str, Array]
    quantized: bool
    kernels: Any
    parameters: int = 0
    kept: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stored = any(x.dtype == np.int8 for x in self.tensors.values())

    def linear(
        self, name: str, channels: int, inputs: int, *, bias: bool, source: str | None = None
    ) -> Linear:
        """Return a layer [channels, inputs]; ``source`` names its weights if another owns them."""
        own = f"{name}.weight"
        if source is None:
            weight, scale = self._matrix(own, channels, inputs)
        else:
            weight, scale = self._peek(f"{source}.weight", channels, inputs)
        offsets = self.vector(f"{name}.bias", channels) if bias else None
        if self.quantized:
            values, scale = (weight, scale) if scale is not None else quantize_rows(_float(weight))
            panels = self.kernels.pack_int8(np.ascontiguousarray(values))
        else:
            panels = self.kernels.pack_float(_expanded(weight, scale))
            scale = None
        let_go(weight)
        self.kept += [x for x in (panels, scale) if x is not None]
        return Linear(inputs, channels, address(panels), address(scale), address(offsets))

    def norm(self, name: str, width: int, *, bias: bool = True) -> Norm:
        """Return a norm."""
        weight = self.vector(f"{name}.weight", width)
        offset = self.vector(f"{name}.bias", width) if bias else None
        return Norm(address(weight), address(offset))

    def table(self, name: str, ids: int, width: int, *, tied: Linear | None = None) -> Table:
        """Return a vector for each id; an int8 layer that is ``tied`` to it keeps them for both."""
        weight, scale = self._matrix(f"{name}.weight", ids, width)
        if tied is not None and self.quantized:
            return Table(ids, PANELS, tied.panels, tied.scale)
        if weight.dtype not in _KINDS:
            weight = _float(weight)
        weight = np.require(weight, requirements=["C", "A"])
        self.kept += [weight] if scale is None else [weight, scale]
        return Table(ids, _KINDS[weight.dtype], address(weight), address(scale))

    def places(self, name: str, length: int, width: int) -> int | None:
        """Return the address of a learned table of positions."""
        found = _expanded(*self._matrix(f"{name}.weight", length, width))
        self.kept.append(found)
        return address(found)

    def fixed(self, table: Array) -> int | None:
        """Return the address of a table that no file holds."""
        self.kept.append(np.ascontiguousarray(table, np.float32))
        return address(self.kept[-1])

    def vector(self, name: str, length: int) -> Array:
        """Return float32 [length]."""
        found = _float(self._take(name, (length,)))
        self.kept.append(found)
        return found

    def end(self) -> None:
        """Raise ValueError for tensors that nothing took; scales of floats are none."""
        left = [name for name in self.tensors if not name.endswith(".scale") or self._adopts]
        if left:
            raise ValueError(f"Unexpected key(s) in state_dict: {', '.join(sorted(left))}")

    @property
    def _adopts(self) -> bool:
        return self.quantized and self.stored

    def _matrix(self, name: str, rows: int, width: int) -> tuple[Array, Array | None]:
        found = self._peek(name, rows, width)
        self.parameters += rows * width
        for taken in (name, f"{name}.scale"):
            self.tensors.pop(taken, None)
        return found

    def _peek(self, name: str, rows: int, width: int) -> tuple[Array, Array | None]:
        """Return a matrix and, if it is int8, its scales; leave them where they are."""
        weight = self._shaped(name, (rows, width))
        if weight.dtype != np.int8:
            return weight, None
        scale = self._shaped(f"{name}.scale", (rows,))
        if scale.dtype == np.int8:
            raise ValueError(f"{name} must be int8 rows with scales in floating point")
        return weight, _float(scale)

    def _take(self, name: str, shape: tuple[int, ...]) -> Array:
        found = self._shaped(name, shape)
        del self.tensors[name]
        self.parameters += found.size
        return found

    def _shaped(self, name: str, shape: tuple[int, ...]) -> Array:
        if name not in self.tensors:
            raise ValueError(f"Missing key(s) in state_dict: {name}")
        found = self.tensors[name]
        if found.shape != shape:
            raise ValueError(
                f"size mismatch for {name}: {list(found.shape)} in the file, {list(shape)} wanted"
            )
        return found


_KINDS = {
    np.dtype(np.float32): FLOAT32,
    np.dtype(np.float16): FLOAT16,
    np.dtype(np.int8): INT8,
}


def check_finite(tensors: Mapping[str, Array]) -> None:
    """Raise ValueError if a number is NaN or infinite: so would be what is computed with it.

    The output's bias may be minus infinity for ids that a converted model never says.
    """
    for name, x in tensors.items():
        if x.dtype == np.int8 or not x.size:
            continue
        if name == "output.bias":
            good = bool(np.isfinite(x.max()))
        elif x.dtype == np.float16:  # faster than numpy's own look at halves
            good = not bool(((x.view(np.uint16) & 0x7C00) == 0x7C00).any())
        else:
            good = bool(np.isfinite(x).all())
        if not good:
            raise ValueError(f"{name} holds NaN or infinity")


def check_stored(tensors: Mapping[str, Array]) -> None:
    """Refuse int8 tensors that are no matrices with scales."""
    for name, x in tensors.items():
        if x.dtype == np.int8:
            scale = tensors.get(f"{name}.scale")
            if scale is None:
                raise ValueError(f"Missing key(s) in state_dict: {name}.scale")
            if x.ndim != 2 or scale.dtype == np.int8:
                raise ValueError(f"{name} must be int8 rows with scales in floating point")
            if scale.shape != x.shape[:1]:
                raise ValueError(
                    f"{name}.scale must have {len(x)} numbers, not {list(scale.shape)}"
                )


def _float(x: Array) -> Array:
    """Return an array as float32 of its own, contiguous and aligned."""
    return np.array(x, np.float32, order="C")


def _expanded(weight: Array, scale: Array | None) -> Array:
    """Return a matrix as float32, whatever it is stored in."""
    found = _float(weight)
    if scale is not None:
        found *= scale[:, None]
    return found
