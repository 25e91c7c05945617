"""Our own corrector, with every setting in one process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

import gec
from gec.correct.corrector import Corrector, Decode
from gec.correct.options import BALANCED, Options
from gec.decoding.decoder import Hypothesis
from gec.errors import ConfigError
from gec.eval.benchmark.checker_peers import Fix
from gec.memory import reuse_memory

EVERYTHING = "everything"
"""All that the model proposes: the balanced setting's tolerance, no least confidence."""


class Own:
    """A bundle; ``setting`` is one of the bundle's, or :data:`EVERYTHING`."""

    def __init__(self, corrector: Corrector) -> None:
        self.corrector = corrector
        facts = corrector.info()
        self.about = (
            f"gec {gec.__version__}, bundle {facts['bundle']}, {facts['precision']} on "
            f"{facts['device']}, {facts['threads']} threads; {_settings(corrector)}"
        )

    def check(self, texts: Sequence[str], setting: str) -> list[list[Fix]]:
        found = self.corrector.correct_many(texts, _options(self.corrector, setting))
        return [
            [Fix(edit.start, edit.end, edit.replacement) for edit in correction.edits]
            for correction in found
        ]


def load(
    model: str,
    device: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    remember: bool = False,
) -> Own:
    """Load a bundle.

    Args:
        remember: decode a sentence once for all settings with the same tolerance; not for timing.
    """
    reuse_memory()
    if threads:
        torch.set_num_threads(threads)
    corrector = gec.load(model, device=device, precision=precision)
    if remember:
        corrector = corrector.with_decoder(_remembering(corrector.decode))
    return Own(corrector)


def bundle_name(model: str) -> str:
    """Return what a bundle calls itself: its folder's name, or the name by which it is found."""
    return Path(model).name


def _options(corrector: Corrector, setting: str) -> Options:
    if setting == EVERYTHING:
        return Options(setting=BALANCED, min_confidence=0.0)
    if setting not in corrector.settings:
        have = ", ".join([*corrector.settings, EVERYTHING])
        raise ConfigError(f"no setting {setting!r} in {corrector.info()['bundle']}; it has {have}")
    return Options(setting=setting)


def _settings(corrector: Corrector) -> str:
    parts = []
    for name, setting in corrector.settings.items():
        types = f", {len(setting.types)} types apart" if setting.types else ""
        parts.append(
            f"{name}: confidence {setting.min_confidence:g}{types}, "
            f"tolerance {setting.tolerance:g} nats"
        )
    parts.append(f"{EVERYTHING}: confidence 0, tolerance as {BALANCED}")
    return "; ".join(parts)


def _remembering(decode: Decode) -> Decode:
    """Return a decode function that keeps the results of its last calls."""
    known: dict[tuple[tuple[int, ...], float], Hypothesis] = {}

    def remembering(sources: Sequence[tuple[int, ...]], tolerance: float) -> list[Hypothesis]:
        new = [source for source in dict.fromkeys(sources) if (source, tolerance) not in known]
        if len(known) > 10_000:
            known.clear()
            new = list(dict.fromkeys(sources))
        if new:
            keys = [(source, tolerance) for source in new]
            known.update(zip(keys, decode(new, tolerance), strict=True))
        return [known[source, tolerance] for source in sources]

    return remembering
