"""The Transformer as an engine on a GPU: every pass is one CUDA graph.

A pass over a few tokens of a sentence is a hundred small kernels, and launching them takes longer
than running them. A CUDA graph launches all at once, but freezes addresses and shapes. So rows,
source length, block and cache are rounded up, and the passes of one such shape share static
buffers, a :class:`_Workspace`; the last memory that was used lies in them, any other one aside.
What differs from pass to pass is copied into the buffers: tokens and where each row's block starts,
in one transfer. A graph ends with hidden states. Heads come after it and see only the tokens that
were asked for: logits of all places, padding too, would be by far the largest buffer.

Nothing here needs a GPU but :class:`gec.models.engines.capture.CudaGraphs`.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import cast
from weakref import ReferenceType, ref

import torch
from torch import Tensor

from gec.models.engines.capture import Body, CudaGraphs, uncaptured
from gec.models.engines.engine import Block
from gec.models.network.cache import LayerCache, Positions
from gec.models.network.packing import Packing
from gec.models.network.transformer import DecoderLayer, Transformer

__all__ = ["Body", "CudaGraphs", "GraphEngine", "StaticMemory", "rounded", "uncaptured", "wanted"]

_CAPTURED_AT = 3  # uses of a shape: capturing takes longer than a pass, and waits for the device
_SHORTEST_SOURCE, _SHORTEST_BLOCK, _SHORTEST_CACHE = 16, 8, 64
_AHEAD = 32  # places that a new cache has beyond the source's length
_STEP = 64  # above it sizes are its multiples
_WORKSPACES, _BYTES = 64, 1 << 32  # beyond either the least recently used goes


def wanted(device: torch.device) -> bool:
    """Whether passes on this device are captured: where the environment says GEC_GRAPHS=on."""
    return device.type == "cuda" and os.environ.get("GEC_GRAPHS") == "on"


def rounded(count: int, least: int = 1) -> int:
    """Return the first size that is neither below ``count`` nor below ``least``.

    Sizes are powers of two up to 64, then multiples of 64.

    >>> [rounded(n, 8) for n in (1, 8, 9, 64, 65, 130)]
    [8, 8, 16, 64, 128, 192]
    """
    size = 1 << (count - 1).bit_length() if count <= _STEP else -(-count // _STEP) * _STEP
    return max(least, size)


@dataclass(slots=True, weakref_slot=True, eq=False)
class StaticMemory:
    """Rows of a :class:`GraphEngine`: B, their number rounded up.

    Attributes:
        lengths: of the rows' sources, EOS included.
        shape: (B, S, L): rows, source places, cache places.
        aside: keys and values of source [layers, 2, B, S, H, D/H] and of target [..., L, ...];
            None while they lie in the workspace of this shape.
    """

    lengths: list[int]
    shape: tuple[int, int, int]
    aside: tuple[Tensor, Tensor] | None = None


@dataclass(slots=True)
class _Repeated:
    """A body, and what repeats it once it has been used a few times."""

    body: Body
    inputs: Tensor
    uses: int = 0
    replay: Body | None = None


_Shape = tuple[int, int, int | None]
"""Block length; the first decoder layer that runs, and the one before which it stops."""


@dataclass(slots=True)
class _Pass:
    """What is done with a block of one shape, its result and what it begins with.

    Attributes:
        hidden: [B, T, D], what comes out.
        states: [B, T, D], what goes into a layer behind the first; None: tokens do.
    """

    work: _Repeated
    hidden: Tensor
    states: Tensor | None

    @property
    def bytes(self) -> int:
        return self.hidden.nbytes + (0 if self.states is None else self.states.nbytes)


@dataclass(slots=True)
class _Buffers:
    """Static tensors of one shape; bodies know these, and nothing that knows the bodies."""

    source: Tensor  # [layers, 2, B, S, H, D/H], keys and values
    target: Tensor  # [layers, 2, B, L, H, D/H]
    ends: Tensor  # [B], where each source ends
    caches: list[LayerCache]  # views of source and target

    @property
    def bytes(self) -> int:
        return self.source.nbytes + self.target.nbytes

    def source_mask(self) -> Tensor:
        places = torch.arange(self.source.shape[3], device=self.ends.device)
        return (places < self.ends[:, None])[:, None, None]


@dataclass(slots=True)
class _Workspace:
    """The buffers of one shape, what is done with them, and whose memory lies there."""

    buffers: _Buffers
    encoding: _Repeated | None = None
    passes: dict[_Shape, _Pass] = field(default_factory=dict)
    owner: ReferenceType[StaticMemory] | None = None

    @property
    def bytes(self) -> int:
        return self.buffers.bytes + sum(work.bytes for work in self.passes.values())

    def memory(self) -> StaticMemory | None:
        """Return the memory that lies here, if any still does."""
        return self.owner() if self.owner is not None else None


def _encode(network: Transformer, space: _Buffers, tokens: Tensor) -> Tensor:
    """Write the source's keys and values of tokens [B, S]; return them."""
    encoded = network.encode(tokens, space.source_mask())
    layers = cast(Iterable[DecoderLayer], network.decoder)
    for layer, cache in zip(layers, space.caches, strict=True):
        keys, values = layer.cross.keys_values(encoded)
        cache.source_keys.copy_(keys)
        cache.source_values.copy_(values)
    return space.source


def _decode(
    network: Transformer,
    space: _Buffers,
    inputs: Tensor,
    hidden: Tensor,
    states: Tensor | None,
    layers: slice,
) -> Tensor:
    """Write and return hidden states [B, T, D] of ``inputs`` [B, 1 + T]: starts, then tokens."""
    starts, tokens = inputs[:, :1], inputs[:, 1:]
    index = starts + torch.arange(tokens.shape[1], device=inputs.device)  # [B, T]
    end = space.target.shape[3]
    mask = torch.arange(end, device=inputs.device) <= index[:, :, None]  # [B, T, L]
    positions = Positions(index, None, end, mask[:, None], False)
    x = network.embed_block(tokens, positions) if states is None else states
    x = network.decode_layers(x, space.caches, positions, space.source_mask(), layers)
    return hidden.copy_(network.final(x) if layers.stop is None else x)


class GraphEngine:
    """Meets :class:`gec.models.engines.engine.LayeredEngine`; its states are an EagerEngine's.

    Args:
        capture: makes a body repeatable.
        captured_at: which use of a shape is captured.
    """

    def __init__(
        self,
        network: Transformer,
        capture: Callable[[Body], Body] | None = None,
        *,
        captured_at: int = _CAPTURED_AT,
    ) -> None:
        self.network = network.eval()
        config = network.config
        self.bos_id, self.eos_id = config.bos_id, config.eos_id
        self.max_positions = config.max_positions
        self._pad_id = config.pad_id
        self._capture = capture or CudaGraphs(network.device)
        self._captured_at = captured_at
        self._workspaces: OrderedDict[tuple[int, int, int], _Workspace] = OrderedDict()
        self._lock = RLock()  # the buffers are shared by all who decode

    # --------------------------------------------------------------------- what a head calls -

    def start(self, sources: Sequence[Sequence[int]]) -> StaticMemory:
        lengths = [len(source) + 1 for source in sources]
        s = min(rounded(max(lengths), _SHORTEST_SOURCE), self.max_positions)
        length = rounded(s + _AHEAD, _SHORTEST_CACHE)
        memory = StaticMemory(lengths, (rounded(len(sources)), s, length))
        with self._lock:
            space = self._taken(memory)
            buffers = space.buffers
            buffers.target.zero_()  # what is masked must be finite
            if space.encoding is None:
                inputs = buffers.ends.new_zeros(memory.shape[:2])
                space.encoding = _Repeated(partial(_encode, self.network, buffers, inputs), inputs)
            rows = [[*source, self.eos_id] for source in sources]
            self._repeat(space.encoding, rows)
        return memory

    def run(self, memory: StaticMemory, block: Block) -> Tensor:
        """Return the hidden states of a block that the output layer reads."""
        return self._states(memory, block, 0, None, None)

    def first(self, memory: StaticMemory, block: Block, layers: int) -> Tensor:
        """Return the states of a block after the first ``layers`` layers."""
        return self._states(memory, block, 0, layers, None)

    def rest(self, memory: StaticMemory, block: Block, states: Tensor, layers: int) -> Tensor:
        """Run the other layers over the states after the first ``layers`` layers."""
        return self._states(memory, block, layers, None, states)

    def select(self, memory: StaticMemory, rows: Sequence[int]) -> StaticMemory:
        with self._lock:
            source, target = self._content(memory)
            b = rounded(len(rows))
            index = torch.tensor([*rows, *[rows[0]] * (b - len(rows))], device=source.device)
            aside = source.index_select(2, index), target.index_select(2, index)
        lengths = [memory.lengths[row] for row in rows]
        return StaticMemory(lengths, (b, *memory.shape[1:]), aside)

    def join(self, memory: StaticMemory, other: StaticMemory) -> StaticMemory:
        lengths = memory.lengths + other.lengths
        _, s, length = map(max, memory.shape, other.shape)
        with self._lock:
            contents = [self._content(m) for m in (memory, other)]
            joined = []
            for parts, places in zip(zip(*contents, strict=True), (s, length), strict=True):
                layers, two, _, _, *rest = parts[0].shape
                new = parts[0].new_zeros(layers, two, rounded(len(lengths)), places, *rest)
                at = 0
                for part, m in zip(parts, (memory, other), strict=True):
                    count = len(m.lengths)
                    new[:, :, at : at + count, : part.shape[3]] = part[:, :, :count]
                    at += count
                joined.append(new)
        return StaticMemory(lengths, (rounded(len(lengths)), s, length), (joined[0], joined[1]))

    # ---------------------------------------------------------------------------------- passes

    def _states(
        self,
        memory: StaticMemory,
        block: Block,
        first: int,
        stop: int | None,
        states: Tensor | None,
    ) -> Tensor:
        """Run layers ``first`` to ``stop``, behind states of the block or from its tokens.

        Returns what they give in the block's layout, not in a buffer of ours.
        """
        longest = max(block.lengths)
        t = 1 if longest == 1 else rounded(longest, _SHORTEST_BLOCK)
        rows = [[start, *row] for start, row in zip(block.starts, block.tokens, strict=True)]
        packing = Packing.of(block.lengths, self.network.device) if block.ragged else None
        with self._lock:
            self._reserve(memory, max(block.starts) + t)
            space = self._taken(memory)
            shape = t, first, stop
            if shape not in space.passes:
                space.passes[shape] = self._pass(space.buffers, shape)
            done = space.passes[shape]
            if states is not None and done.states is not None:
                given = states if packing is None else packing.spread(states)
                done.states[: len(rows), :longest] = given
            hidden = self._repeat(done.work, rows)[: len(rows), :longest]
            return hidden.clone() if packing is None else packing.gather(hidden)

    def _pass(self, buffers: _Buffers, shape: _Shape) -> _Pass:
        t, first, stop = shape
        b, width = buffers.ends.shape[0], self.network.config.width
        needed = (2 if first else 1) * b * t * width * buffers.source.element_size()
        self._make_room(needed, new=False)
        hidden = buffers.source.new_empty(b, t, width)
        states = torch.zeros_like(hidden) if first else None
        inputs = buffers.ends.new_zeros(b, 1 + t)
        body = partial(_decode, self.network, buffers, inputs, hidden, states, slice(first, stop))
        return _Pass(_Repeated(body, inputs), hidden, states)

    def _repeat(self, work: _Repeated, rows: Sequence[Sequence[int]]) -> Tensor:
        """Do the work for these rows, which are padded."""
        b, width = work.inputs.shape
        padded = [[*row, *[self._pad_id] * (width - len(row))] for row in rows]
        padded += [[0] * width] * (b - len(rows))
        work.inputs.copy_(torch.tensor(padded))
        work.uses += 1
        if work.replay is None and work.uses >= self._captured_at:
            work.replay = self._capture(work.body)
        return (work.replay or work.body)()

    # ------------------------------------------------------------------------------ workspaces

    def _taken(self, memory: StaticMemory) -> _Workspace:
        """Return the workspace of a memory's shape, with the memory in it."""
        space = self._workspaces.get(memory.shape) or self._made(memory.shape)
        self._workspaces.move_to_end(memory.shape)
        owner, buffers = space.memory(), space.buffers
        if owner is not memory:
            if owner is not None:
                owner.aside = buffers.source.clone(), buffers.target.clone()
            if memory.aside is not None:
                buffers.source.copy_(memory.aside[0])
                buffers.target.copy_(memory.aside[1])
                memory.aside = None
            ends = memory.lengths + [1] * (memory.shape[0] - len(memory.lengths))
            buffers.ends.copy_(torch.tensor(ends))
            space.owner = ref(memory)
        return space

    def _made(self, shape: tuple[int, int, int]) -> _Workspace:
        b, s, length = shape
        layer = cast(DecoderLayer, self.network.decoder[0])
        heads, inner = layer.cross.heads, layer.cross.kv.out_features // 2
        weight = self.network.embedding.weight
        both = len(self.network.decoder), 2, b
        needed = both[0] * 2 * b * (s + length) * inner * weight.element_size()
        self._make_room(needed, new=True)
        source = weight.new_zeros(*both, s, heads, inner // heads)
        target = weight.new_zeros(*both, length, heads, inner // heads)
        caches = []
        for number in range(both[0]):
            cache = LayerCache(source[number, 0], source[number, 1])
            cache.keys, cache.values = target[number, 0], target[number, 1]
            caches.append(cache)
        ends = torch.ones(b, dtype=torch.long, device=weight.device)
        self._workspaces[shape] = space = _Workspace(_Buffers(source, target, ends, caches))
        return space

    def _make_room(self, needed: int, *, new: bool) -> None:
        """Let workspaces go until so many bytes more are within the bounds, and a ``new`` one.

        Without a new one the bytes are for the last that was used, which stays.
        """
        held = sum(space.bytes for space in self._workspaces.values())
        most, stay = (_WORKSPACES - 1, 0) if new else (_WORKSPACES, 1)
        while len(self._workspaces) > stay and (
            len(self._workspaces) > most or held + needed > _BYTES
        ):
            _, old = self._workspaces.popitem(last=False)
            held -= old.bytes
            if (owner := old.memory()) is not None:
                owner.aside = old.buffers.source, old.buffers.target

    def _content(self, memory: StaticMemory) -> tuple[Tensor, Tensor]:
        if memory.aside is not None:
            return memory.aside
        buffers = self._workspaces[memory.shape].buffers
        return buffers.source, buffers.target

    def _reserve(self, memory: StaticMemory, length: int) -> None:
        """Give a memory a cache of at least ``length`` places."""
        b, s, capacity = memory.shape
        if length <= capacity:
            return
        source, target = self._content(memory)
        if memory.aside is None:  # it leaves its workspace
            self._workspaces[memory.shape].owner = None
        longer = rounded(max(length, 3 * capacity // 2))
        grown = target.new_zeros(*target.shape[:3], longer, *target.shape[4:])
        grown[:, :, :, :capacity] = target
        memory.aside, memory.shape = (source, grown), (b, s, longer)
