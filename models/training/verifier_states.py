"""What a drafter reads of a verifier that is not trained: its last states.

Each pair is read once, by the engine without torch where it can, and its states are kept, two bytes
a number. Shapes: B rows, S source length, T target length, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gec.errors import ModelError
from gec.models.load import light
from gec.models.native import threads
from gec.models.native.network import NativeNetwork
from gec.models.network.cache import PassingCache, Positions
from gec.models.network.llama import Llama
from gec.models.network.transformer import Transformer
from gec.text.vocabulary import EOS_ID, PAD_ID

Row = tuple[tuple[int, ...], tuple[int, ...]]
"""A source and a target, each with its EOS."""

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Read:
    """What a verifier made of a source, [S, D], and of BOS and the target but its EOS, [T, D]."""

    source: Tensor
    target: Tensor


class VerifierStates:
    """Reads pairs with a verifier.

    An encoder-decoder's states of a source are its encoder's output. A decoder alone has one state
    for each token of BOS and the source without EOS, which are as many.

    Args:
        precision: what the engine without torch computes in.
        reads_output: whether targets are read, too; else their states are empty.

    Raises:
        ModelError: a decoder alone has a separator of several tokens, or another EOS than the
            batches.
    """

    def __init__(
        self, network: Transformer | Llama, precision: str = "fp32", *, reads_output: bool = False
    ) -> None:
        config = network.config
        if config.eos_id != EOS_ID or (isinstance(network, Llama) and len(_separator(network)) > 1):
            raise ModelError("a drafter reads a decoder with one separator, whose EOS is id 2")
        self.network = network.requires_grad_(False).eval()
        self.reads_output = reads_output
        self._light: NativeNetwork | None = None
        if light.refusal(config, network.device.type, precision) is None:
            self._light = light.from_torch(network, precision)
        self._kept: dict[Row, Read] = {}

    def read(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the states [B, S, D] of sources, and [B, T, D] of what precedes each target token.

        ``source`` [B, S] and ``target`` [B, T] are ids with EOS, padded; the states behind an EOS
        are zero. The second is None if outputs are not read.
        """
        rows = [
            (_ended(one), _ended(other) if self.reads_output else (EOS_ID,))
            for one, other in zip(source.tolist(), target.tolist(), strict=True)
        ]
        missing = list(dict.fromkeys(row for row in rows if row not in self._kept))
        if missing:
            self._kept |= zip(missing, self._read(missing, source.device), strict=True)
        found = [self._kept[row] for row in rows]
        states = _wide([one.source for one in found], source)
        if not self.reads_output:
            return states, None
        return states, _wide([one.target for one in found], target)

    @torch.no_grad()
    def _read(self, rows: Sequence[Row], device: torch.device) -> list[Read]:
        if self._light is None:
            self.network.to(device)
        alone = isinstance(self.network, Llama)
        return self._together(rows) if alone else self._apart(rows)

    def _together(self, rows: Sequence[Row]) -> list[Read]:
        """Read sources and targets as rows of a decoder alone."""
        network, found = self.network, []
        assert isinstance(network, Llama)
        for source, target in rows:  # they are long: one at a time
            before = [network.config.bos_id, *source[:-1]]
            behind = [*_separator(network), *target[:-1]] if self.reads_output else []
            if self._light is None:
                ids = torch.tensor([[*before, *behind]], device=network.device)
                states = network.states(ids)[0].half().cpu()
            else:
                memory = self._light.start(1, threads.count())
                one = self._light.verify(memory, [[*before, *behind]], [0], threads.count())
                states = torch.from_numpy(one).half()
            found.append(Read(states[: len(before)], states[len(before) :]))
        return found

    def _apart(self, rows: Sequence[Row]) -> list[Read]:
        """Read sources with an encoder, targets with a decoder."""
        network = self.network
        assert isinstance(network, Transformer)
        sources = [source for source, _ in rows]
        targets = [[network.config.bos_id, *target[:-1]] for _, target in rows]
        longest = max(map(len, [*sources, *targets]))
        if self._light is None or longest > network.config.max_positions:  # torch repeats the last
            encoded, decoded = _by_torch(network, sources, targets)
        else:
            encoded, decoded = _by_light(self._light, sources, targets)
        return [
            Read(encoded[row, : len(source)], decoded[row, : len(target)])
            for row, (source, target) in enumerate(zip(sources, targets, strict=True))
        ]


def _by_torch(
    network: Transformer, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    source, target = (_padded(rows, network.device) for rows in (sources, targets))
    mask = (source != PAD_ID)[:, None, None, :]
    encoded = network.encode(source, mask)
    caches = [PassingCache(cache) for cache in network.caches(encoded)]
    positions = Positions.of([0], target.shape[1], network.device)
    decoded = network.decode_block(target, [*caches], positions, mask)
    return encoded.half().cpu(), decoded.half().cpu()


def _by_light(
    network: NativeNetwork, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    lengths = [len(source) for source in sources]
    encoded: Array = np.empty((sum(lengths), network.width), np.float32)
    memory = network.start(sources, threads.count(), encoded)
    decoded = network.verify(memory, targets, [0] * len(targets), threads.count())
    return _rows(encoded, lengths), _rows(decoded, [len(target) for target in targets])


def _rows(states: Array, lengths: Sequence[int]) -> Tensor:
    """Return states [N, D], one row after another, as [B, T, D]."""
    return pad_sequence(list(torch.split(torch.from_numpy(states).half(), list(lengths))), True)


def _wide(states: Sequence[Tensor], ids: Tensor) -> Tensor:
    """Return the rows' states with zeros behind them, as wide as ids [B, T]: [B, T, D]."""
    padded = pad_sequence(list(states), batch_first=True).float().to(ids.device)
    return F.pad(padded, (0, 0, 0, ids.shape[1] - padded.shape[1]))


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], True, PAD_ID).to(device)


def _ended(row: Sequence[int]) -> tuple[int, ...]:
    """Return the ids up to the EOS, without padding."""
    return tuple(row[: row.index(EOS_ID) + 1])


def _separator(network: Llama) -> tuple[int, ...]:
    return tuple(network.config.separator)
