"""A language server with a fake model, which says on standard error what it corrects.

``WAIT`` in a sentence takes until somebody interrupts, ``FAIL`` raises. The model is loaded when
the file that the environment variable ``FAKE_GATE`` names exists, if there is one. Only whole
documents are reported, or every ``FAKE_SHOW`` seconds what is found so far.
"""

from __future__ import annotations

import copy
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fake_corrector import fake_correction

from gec.correct.options import Options
from gec.correct.result import Correction, SentenceResult
from gec.edits.edits import Edit, apply
from gec.errors import ModelError
from gec.text.segmentation import Sentence


class FakeSentences:
    """The surface of a corrector that the language server uses."""

    decode = None
    _interrupt: Callable[[], None] = staticmethod(lambda: None)

    def with_decoder(self, decode: object, *, interrupt: Callable[[], None]) -> FakeSentences:
        other = copy.copy(self)
        other._interrupt = interrupt
        return other

    def correct_sentences(
        self,
        text: str,
        sentences: Sequence[Sentence],
        options: Options,
        *,
        chosen: Collection[int],
        batch_size: int,
    ) -> Correction:
        edits: list[Edit] = []
        for place in sorted(chosen):
            sentence = sentences[place]
            own = text[sentence.start : sentence.end]
            self._interrupt()
            if "WAIT" in own:
                print("waiting", file=sys.stderr, flush=True)
            while "WAIT" in own:
                time.sleep(0.01)
                self._interrupt()
            if "FAIL" in own:
                raise RuntimeError(f"the text is {own}")
            print(f"corrected: {own}", file=sys.stderr, flush=True)
            for edit in (*fake_correction(own).edits, *_spelling(own)):
                moved = replace(
                    edit, start=edit.start + sentence.start, end=edit.end + sentence.start,
                    words=None,
                )  # fmt: skip
                kept = any(
                    word.protected for word in sentence.words
                    if word.start < moved.end and moved.start < word.end
                )  # fmt: skip
                if not kept and edit.confidence >= (options.min_confidence or 0):
                    edits.append(moved)
        edits.sort(key=lambda edit: edit.start)
        results = [SentenceResult(s.start, s.end, s.words, (), None, 0.0) for s in sentences]
        return Correction(text, apply(text, edits), tuple(edits), tuple(results))


def _spelling(text: str) -> list[Edit]:
    at = text.find("mispel")
    return [Edit(at, at + 6, "mispel", "misspell", "R:SPELL", 0.9, "")] if at >= 0 else []


def load() -> Any:
    gate = os.environ.get("FAKE_GATE")
    while gate and not Path(gate).exists():
        time.sleep(0.01)
    if os.environ.get("FAKE_BROKEN"):
        raise ModelError("no bundle 'x'")
    return FakeSentences()


if __name__ == "__main__":
    import logging

    from gec.lsp import schedule
    from gec.lsp.server import serve

    schedule.SHOW_EVERY = float(os.environ.get("FAKE_SHOW", "inf"))
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    sys.exit(serve(load))
