"""A corrector without a network that goes through the server's decoding thread and cache.

A sentence is a line, its tokens are its characters. What the decoder gave is compared with what it
should have, so that an answer that belongs to another sentence cannot go unnoticed.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fake_corrector import fake_correction, replaced

from gec.correct.corrector import Decode
from gec.correct.options import Options, Setting
from gec.correct.plan import Interrupt
from gec.correct.result import Correction, shift
from gec.decoding.decoder import Hypothesis
from gec.decoding.trace import Pass, Trace
from gec.errors import ConfigError

Source = tuple[int, ...]


class FakeModel:
    """Decodes lines; RAISE in one raises, WAIT in one waits for ``go``."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.tolerances: list[float] = []
        self.threads: set[str] = set()
        self.waiting = threading.Event()
        self.go = threading.Event()

    def decode(self, sources: Sequence[Source], tolerance: float) -> list[Hypothesis]:
        lines = ["".join(map(chr, source)) for source in sources]
        self.batches.append(lines)
        self.tolerances.append(tolerance)
        self.threads.add(threading.current_thread().name)
        for line in lines:
            if "WAIT" in line:
                self.waiting.set()
                assert self.go.wait(30)
            if "EXIT" in line:
                raise SystemExit(line)
            if "RAISE" in line:
                raise RuntimeError(f"cannot decode {line}")
        return [hypothesis(line) for line in lines]


def hypothesis(line: str) -> Hypothesis:
    tokens = tuple(map(ord, replaced(line, fake_correction(line).edits)))
    return Hypothesis(
        tokens, False, (0.0,) * (len(tokens) + 1), 0.0, (Pass(2, 1, 2), Pass(0, 0, 1))
    )


class WebCorrector:
    """The surface of gec.Corrector that the server uses."""

    def __init__(self) -> None:
        self.model = FakeModel()
        self.settings = {
            "precise": Setting(1.0, 0.5),
            "balanced": Setting(0.25, 0.0),
            "thorough": Setting(0.0, 0.0),
        }
        self.asked: list[Options] = []
        self._decode: Decode = self.decode
        self._interrupt: Interrupt = lambda: None

    def knows(self, word: str) -> bool:
        return word in ("milk", "bread", "eggs", "cheese", "apples")

    def info(self) -> dict[str, str | int | float]:
        return {"bundle": "fake", "parameters": 3}

    def decode(
        self, sources: Sequence[Source], tolerance: float, *, batch_size: int = 32
    ) -> list[Hypothesis]:
        return self.model.decode(sources, tolerance)

    def with_decoder(self, decode: Decode, *, interrupt: Interrupt | None = None) -> WebCorrector:
        other = copy.copy(self)
        other._decode = decode
        other._interrupt = interrupt or self._interrupt
        return other

    def correct_many(
        self, texts: Iterable[str], options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        for text in texts:
            yield self._correct(text, options or Options())

    def stream(
        self, text: str, options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        at = 0
        for line in text.splitlines(keepends=True) or [""]:
            part = self._correct(line, options or Options())
            yield replace(
                part,
                edits=tuple(replace(e, start=e.start + at, end=e.end + at) for e in part.edits),
                sentences=tuple(s.moved(shift(at)) for s in part.sentences),
                warnings=tuple(w.moved(shift(at)) for w in part.warnings),
            )
            at += len(line)

    def _correct(self, text: str, options: Options) -> Correction:
        self.asked.append(options)
        self._interrupt()
        setting = self.settings[options.setting or "balanced"]
        tolerance = setting.tolerance if options.tolerance is None else options.tolerance
        if any(end > len(text) for _, end in options.protected):
            raise ConfigError("protected spans must lie within the text")
        plain = fake_correction(text)
        lines = [text[s.start : s.end] for s in plain.sentences]
        found = self._decode([tuple(map(ord, line)) for line in lines], tolerance)
        for line, one in zip(lines, found, strict=True):
            assert "".join(map(chr, one.tokens)) == replaced(line, fake_correction(line).edits)
        edits = [
            edit
            for edit in plain.edits
            if edit.original not in options.dictionary
            and edit.confidence >= (options.min_confidence or 0)
            and not any(
                s < max(edit.end, edit.start + 1) and edit.start < e for s, e in options.protected
            )
        ]
        return Correction(
            text,
            replaced(text, edits),
            tuple(edits),
            tuple(
                replace(sentence, trace=Trace(one.steps, ("a ", "b", "c")))
                for sentence, one in zip(plain.sentences, found, strict=True)
            ),
            plain.warnings,
        )
