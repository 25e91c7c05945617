"""What a bundle offers to decode with, and what strategies need of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gec.decoding.decoder import LengthLimit
    from gec.decoding.drafters.early_exit import ExitModel
    from gec.decoding.drafters.heads import HeadsModel
    from gec.decoding.drafters.nat import BlockModel
    from gec.decoding.drafters.reentry import Vocabulary
    from gec.decoding.model import Model

Values = Mapping[str, Any]
"""A value for each of a strategy's options, by the option's key."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a bundle offers to decode with.

    Attributes:
        name: the bundle's, for messages.
        model: the verifier.
        blocks: the non-autoregressive drafter, if the bundle has one.
        heads: the verifier with its extra heads, if the bundle has some.
        limit: how long outputs may get; None: as long as the decoder lets them.
        longest: the most tokens a source may have (without EOS); None: what the model takes.
        split: lines are cut into sentences.
        smaller: smaller models of the same task and vocabulary, the largest first.
        early: the verifier with an exit behind its first layers, if it was trained with one.
        words: the vocabulary of words, if it is one.
        usual: the exact strategy that is likely the fastest, before anything is measured.
    """

    name: str
    model: Model
    blocks: BlockModel | None = None
    heads: HeadsModel | None = None
    limit: LengthLimit | None = None
    longest: int | None = None
    split: bool = True
    smaller: tuple[Model, ...] = ()
    early: ExitModel | None = None
    words: Vocabulary | None = None
    usual: str = "greedy"


@dataclass(frozen=True, slots=True)
class Need:
    """A part that a strategy needs beside the model; ``lack`` says what a bundle without it is."""

    met: Callable[[Parts, Values], bool]
    lack: str


BLOCKS = Need(
    lambda parts, _: parts.blocks is not None,
    "has no drafter/ that drafts blocks: train one (gec train RECIPE --part drafter)",
)
HEADS = Need(
    lambda parts, _: parts.heads is not None,
    "has no heads to decode blockwise: train some (gec train RECIPE --part heads)",
)
_NO_SMALLER = "has no smaller model to draft with: train one (gec train RECIPE --part small)"
SMALLER = Need(
    lambda parts, _: len(parts.smaller) > 0,
    _NO_SMALLER,
)
TWO_SMALLER = Need(
    lambda parts, _: len(parts.smaller) > 1,
    "has one smaller model, a hierarchy needs two or more: train another",
)
EARLY = Need(
    lambda parts, _: parts.early is not None,
    "was not trained with an early exit: train one (early_exit in the recipe)",
)
SMALLER_IF_ASKED = Need(
    lambda parts, values: len(parts.smaller) > 0 or values["draft"] != "small", _NO_SMALLER
)
