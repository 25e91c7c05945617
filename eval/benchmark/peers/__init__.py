"""Other engines with the same weights: fairseq, CTranslate2, Hugging Face, our own under torch.

A peer is a function that exports a bundle into a folder and returns contenders. One that cannot
run raises ModelError, and the report says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import torch

from gec.errors import ConfigError, ModelError
from gec.eval.benchmark.contenders import Contender, Ids, beam_size
from gec.models.load.bundle import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every peer is given alike.

    Attributes:
        bundle: float32 weights and the vocabulary.
        folder: an empty one for exports.
        strategies, precisions: those asked for; a peer takes what it has.
        outputs: per source what greedy decoding of the shipped model gave: what a floor scores.
        lengths: per source the tokens that an output must have, EOS included (replay); None lets
            the model decide.
        limit: the most tokens of an output, EOS included.
        fairseq_python: the interpreter of fairseq's environment.
        stack: what to close in the end.
    """

    bundle: Bundle
    folder: Path
    strategies: Sequence[str]
    precisions: Sequence[str]
    outputs: Mapping[Ids, Ids]
    lengths: Mapping[Ids, int] | None
    limit: int
    threads: int
    device: torch.device
    fairseq_python: str
    stack: ExitStack = field(default_factory=ExitStack)

    def searches(self) -> dict[str, int]:
        """Return the strategies that every engine has, with their beam sizes."""
        sizes = {strategy: beam_size(strategy) for strategy in self.strategies}
        return {strategy: size for strategy, size in sizes.items() if size is not None}

    def length(self, batch: Sequence[Ids]) -> tuple[int, int]:
        """Return the least and the most tokens of a batch's outputs, EOS included.

        Peers force a length on a whole batch. It is the mean, so that their outputs have as many
        tokens in all as ours; theirs is then the shorter wait for the longest.
        """
        if self.lengths is None:
            return 0, self.limit
        forced = round(sum(self.lengths[source] for source in batch) / len(batch))
        return forced, forced


def _fairseq(setup: Setup) -> list[Contender]:
    from gec.eval.benchmark.peers.fairseq import contenders

    return contenders(setup)


def _ctranslate2(setup: Setup) -> list[Contender]:
    from gec.eval.benchmark.peers.ctranslate2 import contenders

    return contenders(setup)


def _huggingface(setup: Setup) -> list[Contender]:
    from gec.eval.benchmark.peers.huggingface import contenders

    return contenders(setup)


def _torch(setup: Setup) -> list[Contender]:
    from gec.eval.benchmark.peers.torch import contenders

    return contenders(setup)


PEERS: dict[str, Callable[[Setup], list[Contender]]] = {
    "fairseq": _fairseq,
    "ctranslate2": _ctranslate2,
    "huggingface": _huggingface,
    "torch": _torch,
}


def check_names(names: Sequence[str]) -> list[str]:
    """Return the peers' names, the other libraries for ``all``.

    Raises:
        ConfigError: there is no such peer.
    """
    if list(names) == ["all"]:
        return [name for name in PEERS if name != "torch"]
    if unknown := [name for name in names if name not in PEERS]:
        raise ConfigError(
            f"unknown peer {unknown[0]!r}, expected some of {', '.join(PEERS)}, or all"
        )
    return list(dict.fromkeys(names))


def gather(names: Sequence[str], setup: Setup) -> tuple[list[Contender], dict[str, str]]:
    """Return the peers' contenders, and of those that are missing the reason."""
    found: list[Contender] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            found += PEERS[name](setup)
        except ModelError as error:
            missing[name] = str(error)
    return found, missing
