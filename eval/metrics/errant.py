"""ERRANT: edits with their types from two sentences (Bryant, Felice and Briscoe 2017).

The package ``errant`` aligns, merges and classifies; here the sentences are parsed in batches, each
distinct one once, and equal pairs not at all. The commands write what ``errant_parallel`` and
``errant_m2`` of ERRANT 3.0.2 write with the same spaCy pipeline, byte for byte, except that a last
sentence without an empty line after it is kept.

>>> [[edit.type for edit in edits] for edits in annotate(["He go ."], ["He goes ."])]
[['R:VERB:SVA']]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from gec.errors import ConfigError, DataError
from gec.eval.metrics.errant_compare import (
    Annotation,
    Block,
    compare_files,
    outside,
    read_blocks,
)
from gec.eval.metrics.pipeline import chosen_pipeline, describe, load_pipeline
from gec.eval.metrics.score import (
    check_parallel,
    once,
    read_lines,
    show,
    signature,
    warn_of_outside,
    write_text,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")
Merge = Literal["rules", "all-split", "all-merge", "all-equal"]

CHUNK = 2000  # sentences whose trees are in memory together
_DETECTED = ("Um", "UNK")  # an error without a correction


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
        sources, hypotheses: sentences tokenized by blanks, the i-th beside the i-th.
        nlp: a spaCy pipeline for English; None takes what :func:`load_pipeline` takes.
        lev: align by plain Levenshtein distance, without tags and lemmas.
        merge: how aligned tokens become edits; ``rules`` are ERRANT's.

    Raises:
        InputError: different numbers of sentences.
        ConfigError: the pipeline cannot be loaded or is not one that ERRANT can use.
    """
    check_parallel({"the sources": sources, "the hypotheses": hypotheses})
    annotator = Annotator(nlp, lev=lev, merge=merge)
    found: list[list[Edit]] = []
    for pairs in _chunks(zip(sources, hypotheses, strict=True)):
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
        """Return a system's edits as :func:`gec.eval.metrics.errant_compare.compare` takes them."""
        return [
            Block(source, tuple(Annotation(e.start, e.end, e.type, e.correction, 0) for e in edits))
            for chunk in _chunks(zip(sources, hypotheses, strict=True))
            for (source, _), edits in zip(chunk, self.annotate(chunk), strict=True)
        ]

    def parse(self, texts: Iterable[str], *, tokenize: bool = False) -> dict[str, Doc]:
        """Parse every distinct text, split at blanks or by the pipeline's tokenizer."""
        distinct = list(dict.fromkeys(texts))
        docs = (self.tokens(text, tokenize=tokenize) for text in distinct)
        return dict(zip(distinct, self.nlp.pipe(docs), strict=True))

    def tokens(self, text: str, *, tokenize: bool = False) -> Doc:
        from spacy.tokens import Doc

        return self.nlp.make_doc(text) if tokenize else Doc(self.nlp.vocab, words=text.split())

    def edits(self, source: Doc, correction: Doc) -> list[Edit]:
        found = self._errant.annotate(source, correction, self.lev, self.merge)
        return [_edit(edit) for edit in found]

    def classify(
        self, source: Doc, cor: Doc, edit: _Place, minimise: bool, keep_type: bool
    ) -> Edit:
        """Return an edit with ERRANT's type; one without a correction keeps its span."""
        detected = edit.type in _DETECTED
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


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


# ----------------------------------------------------------------------- sentences beside sentences


def parallel(
    sources: Sequence[str],
    corrections: Sequence[Sequence[str]],
    annotator: Annotator,
    *,
    tokenize: bool = False,
) -> Iterator[str]:
    """Yield the M2 block of every source that is not blank, as ``errant_parallel`` writes it.

    Args:
        corrections: one sequence a coder, each as long as ``sources``.
        tokenize: split by the pipeline's tokenizer instead of at blanks.
    """
    for rows in _chunks(zip(sources, *corrections, strict=True)):
        kept = [[text.strip() for text in row] for row in rows if row[0].strip()]
        changed = [[cor for cor in row[1:] if not _same(row[0], cor, tokenize)] for row in kept]
        texts = ([row[0], *cors] for row, cors in zip(kept, changed, strict=True) if cors)
        docs = annotator.parse((text for each in texts for text in each), tokenize=tokenize)
        for source, *cors in kept:
            doc = docs[source] if source in docs else annotator.tokens(source, tokenize=tokenize)
            lines = []
            for coder, cor in enumerate(cors):
                # Equal but for blanks is neither a noop nor an edit there: no line at all.
                same = _same(source, cor, tokenize)
                edits = [NOOP] if same else annotator.edits(doc, docs[cor])
                lines += [edit.to_m2(coder) for edit in edits]
            yield _block(" ".join(token.text for token in doc), lines)


def _same(source: str, correction: str, tokenize: bool) -> bool:
    return correction == (source if tokenize else " ".join(source.split()))


def _block(sentence: str, lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (f"S {sentence}", *lines, ""))


def parallel_main(args: argparse.Namespace) -> int:
    """``gec errant parallel -orig FILE -cor FILE [FILE ...] -out FILE``"""
    once([args.orig, *args.cor])
    files = [(name, read_lines(name)) for name in (args.orig, *args.cor)]
    check_parallel(files)
    annotator = _annotator(args)
    (_, sources), *cors = files
    write_text(args.out, parallel(sources, [c for _, c in cors], annotator, tokenize=args.tok))
    return 0


# ------------------------------------------------------------------------------ edits of an M2 file


class _Place(NamedTuple):
    """An edit between a sentence, tokens ``start`` to ``end``, and its correction."""

    start: int
    end: int
    cor_start: int
    cor_end: int
    type: str
    correction: str


@dataclass(frozen=True, slots=True)
class _Coder:
    """One coder's edits of a sentence, and the sentence with them applied; a noop has neither."""

    id: str
    corrected: str | None = None
    edits: tuple[_Place, ...] = ()


def reannotate(
    blocks: Sequence[Block],
    annotator: Annotator,
    *,
    gold: bool,
    minimise: bool = True,
    keep_types: bool = False,
) -> Iterator[str]:
    """Return M2 blocks with new edits or types, as ``errant_m2`` writes them, one by one.

    Args:
        gold: keep the edits and classify them; otherwise align each sentence with its correction
            and extract the edits anew. Errors without a correction (``UNK``, ``Um``) are kept.
        minimise: with ``gold``, cut words that both sides of an edit share at its ends.
        keep_types: with ``gold``, leave the types as they are.

    Raises:
        DataError: an edit that begins before its sentence or ends before it begins; says the line
            where the block begins. One beyond the sentence's end stands at its end.
    """
    checked = [(block, _coders(block)) for block in blocks]  # all, before anything is written

    def edits(coder: _Coder, source: Doc, cor: Doc) -> list[Edit]:
        kept = [edit for edit in coder.edits if gold or edit.type in _DETECTED]
        found = [annotator.classify(source, cor, edit, minimise, keep_types) for edit in kept]
        if not gold:
            found += annotator.edits(source, cor)
            found.sort(key=lambda edit: (edit.start, edit.end))
        return found

    def annotated(chunk: Sequence[tuple[Block, list[_Coder]]]) -> Iterator[str]:
        docs = annotator.parse(
            text
            for block, coders in chunk
            for coder in coders
            if coder.corrected is not None
            for text in (block.sentence, coder.corrected)
        )
        for block, coders in chunk:
            lines: list[str] = []
            for coder in coders:
                found = [NOOP]
                if coder.corrected is not None:
                    found = edits(coder, docs[block.sentence], docs[coder.corrected])
                lines += [edit.to_m2(coder.id) for edit in found]
            yield _block(block.sentence.strip(), lines)

    return chain.from_iterable(map(annotated, _chunks(checked)))


def _coders(block: Block) -> list[_Coder]:
    """Return the coders in the order of their ids as texts: 10 comes before 2."""
    annotations: dict[str, list[Annotation]] = {}
    for annotation in block.annotations:
        annotations.setdefault(str(annotation.coder), []).append(annotation)
    return [_coder(block, coder, annotations[coder]) for coder in sorted(annotations)]


def _coder(block: Block, coder: str, annotations: Sequence[Annotation]) -> _Coder:
    if annotations[0].type == "noop":
        return _Coder(coder)
    tokens = block.sentence.split()
    corrected = list(tokens)
    edits = []
    shift = 0
    for start, end, kind, correction, _ in sorted(annotations, key=lambda a: (a.start, a.end)):
        if kind == "noop":
            continue
        if not 0 <= start <= end:
            raise DataError(
                f"the sentence in line {block.line} has an edit of coder {coder} "
                f"from {start} to {end}"
            )
        words = tokens[start:end] if kind in _DETECTED else correction.split()
        corrected[start + shift : end + shift] = words
        cor_end = start + shift + len(words)
        edits.append(_Place(start, end, start + shift, cor_end, kind, correction))
        shift += len(words) - (end - start)
    return _Coder(coder, " ".join(corrected), tuple(edits))


def m2_main(args: argparse.Namespace) -> int:
    """``gec errant m2 -auto|-gold FILE -out FILE``"""
    blocks = read_blocks(args.m2_file)
    warn_of_outside(args.m2_file, outside(blocks))
    annotator = _annotator(args, types=not args.old_cats)
    options = {"gold": args.gold, "minimise": not args.no_min, "keep_types": args.old_cats}
    try:
        write_text(args.out, reannotate(blocks, annotator, **options))
    except DataError as error:
        raise DataError(f"{args.m2_file}: {error}") from error
    return 0


# ------------------------------------------------------------------------------- gec score errant


def score_main(args: argparse.Namespace) -> int:
    """``gec score errant HYP GOLD.m2``: annotate the output, then compare the edits."""
    once([args.gold, args.hypothesis, args.paired])
    gold = read_blocks(args.gold)
    hypotheses = read_lines(args.hypothesis)
    sources = [block.sentence for block in gold]
    check_parallel([(args.gold, sources), (args.hypothesis, hypotheses)])
    warn_of_outside(args.gold, outside(gold))
    annotator = _annotator(args, types=bool(args.cse or args.cat or args.filt))

    def other() -> list[Block]:
        lines = read_lines(args.paired)
        check_parallel([(args.gold, sources), (args.paired, lines)])
        return annotator.blocks(sources, lines)

    ours = annotator.blocks(sources, hypotheses)
    compare_files(args, ours, gold, annotator.settings, other=other)
    return 0


# --------------------------------------------------------------------------- gec errant agreement


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two annotations of the same corrections agree.

    Attributes:
        first, second: edits of either side.
        edits: edits with the same span and correction on both sides.
        types: those of them that have the same type as well.
        confusions: (type in the first, type in the second) of the others, with their counts.
    """

    first: int
    second: int
    edits: int
    types: int
    confusions: tuple[tuple[str, str, int], ...]
    signature: str

    def __str__(self) -> str:
        total = self.first + self.second
        return (
            f"edits in both: {self.edits} of {self.first} and {self.second} "
            f"(F1 {2 * self.edits / total if total else 1:.4f})\n"
            f"with the same type: {self.types} of {self.edits} "
            f"({self.types / self.edits if self.edits else 1:.4f})"
        )


def agreement(first: Sequence[Block], second: Sequence[Block]) -> Agreement:
    """Compare two annotations of the same corrections, each coder with the same coder.

    Raises:
        InputError: different numbers of sentences.
    """
    check_parallel({"first": [b.sentence for b in first], "second": [b.sentence for b in second]})
    counts = [0, 0, 0, 0]
    confusions: Counter[tuple[str, str]] = Counter()
    for one, other in zip(first, second, strict=True):
        ours, theirs = _by_place(one), _by_place(other)
        both = [(ours[key], theirs[key]) for key in ours if key in theirs]
        equal = sum(a == b for a, b in both)
        counts = [
            count + new
            for count, new in zip(counts, (len(ours), len(theirs), len(both), equal), strict=True)
        ]
        confusions.update((a, b) for a, b in both if a != b)
    listed = sorted(((a, b, n) for (a, b), n in confusions.items()), key=lambda c: (-c[2], c))
    a, b, edits, types = counts
    return Agreement(a, b, edits, types, tuple(listed), signature("errant_agreement"))


def _by_place(block: Block) -> dict[tuple[int, int, int, str], str]:
    edits = (a for a in block.annotations if a.type != "noop")
    return {(a.coder, a.start, a.end, a.correction): a.type for a in edits}


def agreement_main(args: argparse.Namespace) -> int:
    """``gec errant agreement FIRST SECOND [--top N]``"""
    found = agreement(read_blocks(args.first), read_blocks(args.second))
    show(found, as_json=args.json)
    if not args.json:
        for first, second, count in found.confusions[: args.top]:
            print(f"{count:6d}  {first} -> {second}")
    return 0


# ------------------------------------------------------------------------------------------ output


def _annotator(args: argparse.Namespace, *, types: bool = True) -> Annotator:
    if args.types == "ud":
        from gec.eval.metrics.errant_ud import universal_annotator

        return universal_annotator(args)
    if args.words is not None:
        raise ConfigError("--words belongs to --types ud; ERRANT has its own list")
    lev: bool = getattr(args, "lev", False)
    merge: Merge = getattr(args, "merge", "rules")
    return Annotator(chosen_pipeline(args, types=types), lev=lev, merge=merge)
