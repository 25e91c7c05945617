"""Edits with their types from two sentences: ERRANT's annotator over batches.

The package ``errant`` aligns, merges and classifies; here the sentences are parsed in batches, each
distinct one once, and equal pairs not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from gec.errors import ConfigError
from gec.eval.metrics.errant.blocks import DETECTED, Annotation, Block
from gec.eval.metrics.pipeline import describe, load_pipeline
from gec.eval.metrics.score import check_parallel

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")
Merge = Literal["rules", "all-split", "all-merge", "all-equal"]

CHUNK = 2000  # number of sentences whose trees are in memory together


@dataclass(frozen=True, slots=True)
class Edit:
    """Tokens ``start`` to ``end`` of the source, ``original``, become ``correction``.

    Texts are tokens joined by blanks; one of the two may be empty. ``type`` is for example
    ``"R:VERB:SVA"`` or ``"M:DET"``.
    """

    start: int
    end: int
    original: str
    correction: str
    type: str

    def to_m2(self, coder: int | str = 0) -> str:
        """Return the annotation line.

        >>> Edit(1, 2, "go", "goes", "R:VERB:SVA").to_m2()
        'A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0'
        """
        return (
            f"A {self.start} {self.end}|||{self.type}|||{self.correction}"
            f"|||REQUIRED|||-NONE-|||{coder}"
        )


NOOP = Edit(-1, -1, "", "-NONE-", "noop")


class Place(NamedTuple):
    """An edit between a sentence, tokens ``start`` to ``end``, and its correction."""

    start: int
    end: int
    cor_start: int
    cor_end: int
    type: str
    correction: str


def annotate(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    *,
    nlp: Language | None = None,
    lev: bool = False,
    merge: Merge = "rules",
) -> list[list[Edit]]:
    """Return the edits that turn each source into its hypothesis, in order.

    Args:
        sources, hypotheses: sentences tokenized by blanks; the i-th ones belong together.
        nlp: a spaCy pipeline for English; None takes the default of :func:`load_pipeline`.
        lev: whether to align by plain Levenshtein distance, without tags and lemmas.
        merge: how aligned tokens become edits; ``rules`` are ERRANT's.

    Raises:
        InputError: different numbers of sentences.
        ConfigError: the pipeline cannot be loaded or is not one that ERRANT can use.
    """
    check_parallel({"the sources": sources, "the hypotheses": hypotheses})
    annotator = Annotator(nlp, lev=lev, merge=merge)
    found: list[list[Edit]] = []
    for pairs in chunks(zip(sources, hypotheses, strict=True)):
        found += annotator.annotate(pairs)
    return found


class Annotator:
    """ERRANT's annotator over one pipeline and one way to align and merge."""

    def __init__(
        self, nlp: Language | None = None, *, lev: bool = False, merge: Merge = "rules"
    ) -> None:
        import errant
        from errant.en.classifier import pos_map

        self.nlp = load_pipeline() if nlp is None else nlp
        self.lev = lev
        self.merge = merge
        self.settings = {"errant": errant.__version__, "spacy": describe(self.nlp)}
        labels = self.nlp.pipe_labels.get("tagger", [])
        if unknown := sorted(set(labels) - pos_map.keys()):
            raise ConfigError(
                f"{self.settings['spacy']} does not give the Penn Treebank tags that ERRANT reads "
                f"(but {', '.join(unknown[:3])})"
            )
        self._errant = errant.load("en", self.nlp)

    def annotate(self, pairs: Iterable[tuple[str, str]]) -> list[list[Edit]]:
        """Return every pair's edits; equal texts have none and are not parsed."""
        pairs = [(" ".join(source.split()), " ".join(cor.split())) for source, cor in pairs]
        docs = self.parse(text for pair in pairs if pair[0] != pair[1] for text in pair)
        return [
            [] if source == cor else self.edits(docs[source], docs[cor]) for source, cor in pairs
        ]

    def blocks(self, sources: Sequence[str], hypotheses: Sequence[str]) -> list[Block]:
        """Return a system's edits as :func:`gec.eval.metrics.errant.compare` takes them."""
        return [
            Block(source, tuple(Annotation(e.start, e.end, e.type, e.correction, 0) for e in edits))
            for chunk in chunks(zip(sources, hypotheses, strict=True))
            for (source, _), edits in zip(chunk, self.annotate(chunk), strict=True)
        ]

    def parse(self, texts: Iterable[str], *, tokenize: bool = False) -> dict[str, Doc]:
        """Parse every distinct text, split at blanks or by the pipeline's tokenizer."""
        distinct = list(dict.fromkeys(texts))
        docs = (self.tokens(text, tokenize=tokenize) for text in distinct)
        return dict(zip(distinct, self.nlp.pipe(docs), strict=True))

    def tokens(self, text: str, *, tokenize: bool = False) -> Doc:
        """Return a text as tokens without tags, split at blanks or by the pipeline's tokenizer."""
        from spacy.tokens import Doc

        return self.nlp.make_doc(text) if tokenize else Doc(self.nlp.vocab, words=text.split())

    def edits(self, source: Doc, correction: Doc) -> list[Edit]:
        """Return the edits with types that turn one parsed text into another."""
        found = self._errant.annotate(source, correction, self.lev, self.merge)
        return [_edit(edit) for edit in found]

    def classify(self, source: Doc, cor: Doc, edit: Place, minimise: bool, keep_type: bool) -> Edit:
        """Return an edit with ERRANT's type; an edit without a correction keeps its span."""
        detected = edit.type in DETECTED
        found = self._errant.import_edit(
            source, cor, list(edit[:5]), minimise and not detected, keep_type
        )
        if detected:
            found.c_toks = self.tokens(edit.correction)
        return _edit(found)


def _edit(edit: Any) -> Edit:
    correction = " ".join(token.text for token in edit.c_toks)
    original = " ".join(token.text for token in edit.o_toks)
    return Edit(edit.o_start, edit.o_end, original, correction, edit.type)


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield lists of :data:`CHUNK` items; the last one may be shorter."""
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
