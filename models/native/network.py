"""A bundle's network behind the C side (``network.c``): made of its tensors, without torch.

Shapes: N tokens of all rows, D width, V vocabulary.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Sequence
from ctypes import c_int, c_int64, c_void_p
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.errors import ModelError
from gec.models.native.layout import decoder_only, encoder_decoder
from gec.models.native.library import Library
from gec.models.native.weights import Weights, check_finite, check_stored
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig

Array = NDArray[Any]
Config = TransformerConfig | LlamaConfig

WIDEST = 1 << 16
"""Most inputs of an int8 layer: its sums stay within 32 bits."""

_UNKNOWN_ID, _BEYOND, _NOT_FINITE = 2, 3, 4


def serves(config: Config) -> str | None:
    """Return why the C side cannot compute a network; None: it can."""
    if isinstance(config, LlamaConfig):
        widest = max(config.width, config.ffn_width)
    else:
        if config.positions == "relative":
            return "it has relative positions"
        if config.norm_type != "layer":
            return f"it has {config.norm_type} norms"
        if config.gated:
            return "its feed-forward network has a gate"
        heads = config.decoder_heads or config.heads, config.heads
        inner = (config.head_width or config.width) * max(heads)
        widest = max(config.width, config.ffn_width, config.decoder_ffn_width or 0, inner)
    return f"it is more than {WIDEST} wide" if widest > WIDEST else None


def serves_drafter(config: TransformerConfig, nat: NatConfig) -> str | None:
    """Return why the C side cannot compute a network that drafts blocks; None: it can."""
    if nat.layer_positions or nat.copies_source:
        return "its layers add positions, or its MASKs copy the source"
    return serves(config)


class Memory:
    """The C side's rows: keys and values of sources and outputs.

    Attributes:
        states: per row the last states [T, D] of BOS and the output, where a verifier keeps them.
    """

    def __init__(self, model: NativeNetwork, address: int) -> None:
        self._model, self._free, self.address = model, model.functions.free_memory, address
        self.states: list[Array] = []

    def __del__(self) -> None:
        self._free(self.address)


class NativeNetwork:
    """A network that runs whole passes in one call each.

    Safe to use from several threads, as long as no two of them use the same memory.

    Attributes:
        config: its settings.
        parameters: how many weights it has.
        quantized: its linear layers compute in int8.
    """

    def __init__(
        self,
        config: Config,
        tensors: dict[str, Array],
        library: Library,
        *,
        quantized: bool,
        nat: NatConfig | None = None,
    ) -> None:
        """Take the tensors of a bundle (:func:`gec.models.native.tensors.read`).

        With ``nat`` they are those of a network that drafts blocks.

        Raises:
            ModelError: the C side does not compute such a network.
            ValueError: a tensor is missing, unknown or of another shape, or holds NaN.
        """
        if reason := self._refusal(config, nat):
            raise ModelError(f"the engine without torch does not run this network: {reason}")
        check_stored(tensors)
        check_finite(tensors)
        self.config, self.quantized = config, quantized
        self.width = config.width
        self.functions = _Functions(library.handle)
        weights = Weights(dict(tensors), quantized, _Packer(library))
        if isinstance(config, LlamaConfig):
            self._structure = decoder_only(config, weights)
        else:
            self._structure = encoder_decoder(config, weights, nat)
        weights.end()
        self.vocabulary: int = self._structure.output.channels
        self.parameters = weights.parameters
        self._kept = weights.kept  # the C side reads them
        self._model = self.functions.new_model(ctypes.addressof(self._structure), library.kernels)
        if not self._model:
            raise MemoryError

    @staticmethod
    def _refusal(config: Config, nat: NatConfig | None) -> str | None:
        if nat is None or isinstance(config, LlamaConfig):
            return serves(config)
        return serves_drafter(config, nat)

    def __del__(self) -> None:
        if hasattr(self, "_model"):
            self.functions.free_model(self._model)

    def start(
        self, sources: Sequence[Sequence[int]] | int, threads: int, states: Array | None = None
    ) -> Memory:
        """Encode sources, each with its EOS; return a row each. A decoder alone gets a number.

        ``states`` (float32 [tokens of all sources, D]) gets what the encoder makes of them.
        """
        if isinstance(sources, int):
            lengths, ids, rows = _ints([]), _ints([]), sources
        else:
            lengths, rows = _ints([len(source) for source in sources]), len(sources)
            ids = _ints(chain.from_iterable(sources))
        found = c_void_p()
        self._check(
            self.functions.start(
                self._model,
                threads,
                rows,
                _at(lengths),
                _at(ids),
                None if states is None else _address(states),
                ctypes.addressof(found),
            )
        )
        assert found.value is not None
        return Memory(self, found.value)

    def start_encoded(self, lengths: Sequence[int], states: Array, threads: int) -> Memory:
        """Return a row for each source that another network encoded, of so many tokens each."""
        if states.shape != (sum(lengths), self.width):
            raise ValueError(f"states {states.shape} for {sum(lengths)} tokens of {self.width}")
        found, counts = c_void_p(), _ints(lengths)
        self._check(
            self.functions.start_encoded(
                self._model,
                threads,
                len(lengths),
                _at(counts),
                _address(states),
                ctypes.addressof(found),
            )
        )
        assert found.value is not None
        return Memory(self, found.value)

    def verify(
        self,
        memory: Memory,
        blocks: Sequence[Sequence[int]],
        starts: Sequence[int],
        threads: int,
        wanted: Sequence[int] | None = None,
        opened: Sequence[int] | None = None,
        states: Array | None = None,
    ) -> Array:
        """Feed a block to each row behind its first ``starts`` tokens.

        A token sees those before it; the last ``opened`` tokens of a row see its whole block.
        ``states`` (float32 [tokens of all blocks, D]) is fed with the tokens to a network that
        drafts with output_states.

        Returns:
            What the output layer reads of the last ``wanted`` tokens of each block (None: of all),
            [N, D].
        """
        lengths = [len(block) for block in blocks]
        if states is not None and states.shape != (sum(lengths), self.width):
            raise ValueError(f"states {states.shape} for {sum(lengths)} tokens of {self.width}")
        wanted = lengths if wanted is None else wanted
        tokens = _ints(chain.from_iterable(blocks))
        counts, begins, last = _ints(lengths), _ints(starts), _ints(wanted)
        seeing = None if opened is None else _ints(opened)
        hidden: Array = np.empty((sum(wanted), self.width), np.float32)
        self._check(
            self.functions.verify(
                memory.address,
                threads,
                _at(tokens),
                _at(counts),
                _at(begins),
                _at(last),
                None if seeing is None else _at(seeing),
                None if states is None else _address(states),
                hidden.ctypes.data,
            )
        )
        return hidden

    def select(self, memory: Memory, rows: Sequence[int]) -> None:
        """Keep only these rows of a memory, in this order; a row may repeat."""
        index = _ints(rows)
        self._check(self.functions.select(memory.address, len(rows), _at(index)))
        if memory.states:
            memory.states = [memory.states[row] for row in rows]

    def join(self, memory: Memory, other: Memory) -> None:
        """Move the rows of another memory behind those of the first."""
        self._check(self.functions.join(memory.address, other.address))
        memory.states += other.states

    def best(self, hidden: Array, wanted: Array, threads: int) -> tuple[Array, Array, Array, Array]:
        """Return of hidden states [N, D] the best ids, their logits, and two more, each [N].

        These are the logarithms of the sums of e^(logit - largest), and the logits of the ids
        ``wanted`` (int32 [N], -1 for none, whose logit means nothing).
        """
        count = len(hidden)
        ids: Array = np.empty(count, np.int32)
        largest, log_sum, logit = np.zeros((3, count), np.float32)
        self._check(
            self.functions.best(
                self._model,
                threads,
                count,
                _address(hidden),
                _address(wanted),
                *(x.ctypes.data for x in (ids, largest, log_sum, logit)),
            )
        )
        return ids, largest, log_sum, logit

    def top(self, hidden: Array, most: int, threads: int) -> tuple[Array, Array]:
        """Return the likeliest ids of hidden states [N, D] and their logits, each [N, most]."""
        shape = len(hidden), min(most, self.vocabulary)
        ids, logits = np.empty(shape, np.int32), np.empty(shape, np.float32)
        self._check(
            self.functions.top(
                self._model,
                threads,
                len(hidden),
                _address(hidden),
                shape[1],
                ids.ctypes.data,
                logits.ctypes.data,
            )
        )
        return ids, logits

    def logits(self, hidden: Array, threads: int) -> Array:
        """Return all logits [N, V] of hidden states [N, D]."""
        found: Array = np.empty((len(hidden), self.vocabulary), np.float32)
        self._check(
            self.functions.logits(
                self._model, threads, len(hidden), _address(hidden), found.ctypes.data
            )
        )
        return found

    def _check(self, status: int) -> None:
        if status == _NOT_FINITE:
            raise ModelError("the model computes NaN: its weights are too large or broken")
        if status == _UNKNOWN_ID:
            raise ModelError("the tokenizer gives ids that the network does not have")
        if status == _BEYOND:
            raise ValueError("a block begins or ends where its row has no place")
        if status:
            raise MemoryError


# ------------------------------------------------------------------------------------- C functions


class _Functions:
    """The functions of network.h."""

    def __init__(self, handle: ctypes.CDLL) -> None:
        def declared(name: str, *arguments: Any, result: Any = c_int) -> Callable[..., Any]:
            function = getattr(handle, name)
            function.argtypes, function.restype = arguments, result
            return function

        p, n = c_void_p, c_int64
        self.new_model = declared("gec_model_new", p, p, result=c_void_p)
        self.free_model = declared("gec_model_free", p, result=None)
        self.free_memory = declared("gec_memory_free", p, result=None)
        self.start = declared("gec_start", p, c_int, n, p, p, p, p)
        self.start_encoded = declared("gec_start_encoded", p, c_int, n, p, p, p)
        self.verify = declared("gec_verify", p, c_int, p, p, p, p, p, p, p)
        self.select = declared("gec_select", p, n, p)
        self.join = declared("gec_join", p, p)
        self.best = declared("gec_best", p, c_int, n, p, p, p, p, p, p)
        self.top = declared("gec_top", p, c_int, n, p, n, p, p)
        self.logits = declared("gec_logits", p, c_int, n, p, p)


class _Packer:
    """Packs weights in the order in which the processor multiplies them."""

    def __init__(self, library: Library) -> None:
        self._handle, self._kernels = library.handle, library.kernels

    def pack_int8(self, weight: Array) -> Array:
        return self._packed("int8", weight)

    def pack_float(self, weight: Array) -> Array:
        return self._packed("float", weight)

    def _packed(self, kind: str, weight: Array) -> Array:
        size, pack = (
            getattr(self._handle, f"gec_size_{kind}"),
            getattr(self._handle, f"gec_pack_{kind}"),
        )
        channels, inputs = weight.shape
        panels = _aligned(size(c_int64(channels), c_int64(inputs)))
        pack(
            c_void_p(self._kernels),
            c_void_p(_address(weight)),
            c_int64(channels),
            c_int64(inputs),
            c_void_p(panels.ctypes.data),
        )
        return panels


def _aligned(size: int) -> Array:
    """Return so many bytes that begin a line of the cache, which saves a tenth of the time."""
    line = 64
    room: Array = np.empty(size + line, np.uint8)
    first = -_address(room) % line
    return room[first : first + size]


def _ints(values: Iterable[int]) -> array[int]:
    return array("q", values)


def _at(values: array[int]) -> int:
    return values.buffer_info()[0]


def _address(x: Array) -> int:
    """Return where an array lies, which the C side reads from end to end."""
    if not x.flags.c_contiguous or not x.flags.aligned:
        raise ValueError("the array has gaps")
    address: int = x.ctypes.data
    return address
