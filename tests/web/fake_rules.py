"""A corrector for the editor's tests: rules in the model's place, on the real server.

It goes through the server's decoding thread and cache, as the network's sentences do. A test may
hold its answers back (``gate``), let requests fail (``failing``) and see what was asked.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence

from fake_corrector import replaced
from fake_web import WebCorrector

from gec.correct.options import Options, Setting
from gec.correct.result import Correction, SentenceResult
from gec.decoding.decoder import Hypothesis
from gec.decoding.trace import Pass, Trace
from gec.edits.edits import Edit
from gec.edits.messages import describe
from gec.text.words import split_tokenized

# pattern, replacement, type, confidence; what group 1 matches is replaced
RULES: tuple[tuple[str, str, str, float], ...] = (
    (r"\b(teh)\b", "the", "R:SPELL", 0.98),
    (r"\b(definately)\b", "definitely", "R:SPELL", 0.97),
    (r"\b(recieve)\b", "receive", "R:SPELL", 0.96),
    (r"\b(Gecko)\b", "Gecco", "R:SPELL", 0.6),
    (r"(?i:\bshe|\bhe) (go)\b", "goes", "R:VERB:SVA", 0.95),
    (r"\b(?i:we) (was)\b", "were", "R:VERB:SVA", 0.94),
    (r"\btwo (book)\b", "books", "R:NOUN:NUM", 0.92),
    (r"\bhave ()(?=dog\b)", "a ", "M:DET", 0.8),
    (r"\bHowever()(?= \w)", ",", "M:PUNCT", 0.7),
    (r"(\bvery )(?=very\b)", "", "U:ADV", 0.65),
    (r"\b(bought)\b", "purchased", "R:VERB", 0.3),
)
SETTINGS = {
    "precise": Setting(2.0, 0.9),
    "balanced": Setting(0.5, 0.5),
    "thorough": Setting(0.0, 0.0),
}
_CODE = re.compile(r"`[^`]*`|https?://\S+")
_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*[.!?]*")


class RuleCorrector(WebCorrector):
    """Corrects by ``RULES``. A text with CRASH in it raises, as a fault of the server would."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = SETTINGS
        self.texts: list[str] = []  # all that were asked for
        self.failing: list[Exception] = []  # what the next requests get
        self.gate = threading.Event()  # no sentence is decoded while it is not set
        self.gate.set()
        self.waiting = threading.Event()  # a sentence waits for the gate

    def clear(self) -> None:
        """Forget what was asked, and answer everything."""
        self.texts.clear()
        self.asked.clear()
        self.failing.clear()
        self.waiting.clear()
        self.gate.set()

    def decode(
        self, sources: Sequence[tuple[int, ...]], tolerance: float, *, batch_size: int = 32
    ) -> list[Hypothesis]:
        if not self.gate.is_set():
            self.waiting.set()
            assert self.gate.wait(60)
        return [_hypothesis("".join(map(chr, source))) for source in sources]

    def correct_many(
        self, texts: Iterable[str], options: Options | None = None, *, batch_size: int = 32
    ) -> Iterator[Correction]:
        texts = list(texts)
        self.texts += texts
        if self.failing:
            raise self.failing.pop(0)
        return super().correct_many(texts, options, batch_size=batch_size)

    def _correct(self, text: str, options: Options) -> Correction:
        self.asked.append(options)
        if "CRASH" in text:
            raise RuntimeError("a fault of the server")
        setting = self.settings[options.setting or "balanced"]
        spans = [match.span() for match in _SENTENCE.finditer(text)]
        sources = [tuple(map(ord, text[start:end])) for start, end in spans]
        found = self._decode(sources, setting.tolerance)
        least = setting.min_confidence if options.min_confidence is None else options.min_confidence
        edits = [
            edit
            for edit in _edits(text)
            if edit.confidence >= least and edit.original not in options.dictionary
        ]
        sentences = tuple(
            _sentence(text[start:end], start, one)
            for (start, end), one in zip(spans, found, strict=True)
        )
        return Correction(text, replaced(text, edits), tuple(edits), sentences, ())


def _edits(text: str) -> list[Edit]:
    code = [match.span() for match in _CODE.finditer(text)]
    edits = [
        Edit(
            *match.span(1), match[1], replacement, kind, confidence,
            describe(match[1], replacement, kind),
        )
        for pattern, replacement, kind, confidence in RULES
        for match in re.finditer(pattern, text)
        if not any(start <= match.start(1) < end for start, end in code)
    ]  # fmt: skip
    return sorted(edits, key=lambda edit: edit.start)


def _passes(sentence: str) -> tuple[tuple[Pass, ...], tuple[str, ...]]:
    """Return how a copying decoder would write a sentence: a pass an edit, and a last one."""
    steps: list[Pass] = []
    tokens: list[str] = []
    at = 0
    for edit in _edits(sentence):
        copied = [f" {word}" for word in sentence[at : edit.start].split()]
        drafted = len(sentence[at:].split()) + 1
        steps.append(Pass(drafted, len(copied), len(copied) + 1))
        tokens += [*copied, f" {edit.replacement.strip()}"]
        at = edit.end
    copied = [*(f" {word}" for word in sentence[at:].split()), "</s>"]
    steps.append(Pass(len(copied), len(copied), len(copied)))
    return tuple(steps), (*tokens, *copied)


def _hypothesis(sentence: str) -> Hypothesis:
    steps, _ = _passes(sentence)
    tokens = tuple(map(ord, replaced(sentence, _edits(sentence))))
    return Hypothesis(tokens, False, (0.0,) * (len(tokens) + 1), 0.0, steps)


def _sentence(sentence: str, start: int, found: Hypothesis) -> SentenceResult:
    corrected = "".join(map(chr, found.tokens))
    trace = Trace(found.steps, _passes(sentence)[1])
    words = tuple(split_tokenized(sentence, start))
    target = tuple(corrected.split())
    return SentenceResult(start, start + len(sentence), words, target, trace, 0.0)
