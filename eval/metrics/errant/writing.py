"""M2 blocks as ERRANT writes them, from sentences beside sentences or from an M2 file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from gec.errors import DataError
from gec.eval.metrics.errant.annotator import NOOP, Annotator, Edit, Place, chunks
from gec.eval.metrics.errant.blocks import DETECTED, Annotation, Block

if TYPE_CHECKING:
    from spacy.tokens import Doc

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
    for rows in chunks(zip(sources, *corrections, strict=True)):
        kept = [[text.strip() for text in row] for row in rows if row[0].strip()]
        changed = [[cor for cor in row[1:] if not _same(row[0], cor, tokenize)] for row in kept]
        texts = ([row[0], *cors] for row, cors in zip(kept, changed, strict=True) if cors)
        docs = annotator.parse((text for each in texts for text in each), tokenize=tokenize)
        for source, *cors in kept:
            doc = docs[source] if source in docs else annotator.tokens(source, tokenize=tokenize)
            lines = []
            for coder, cor in enumerate(cors):
                # errant_parallel writes no line for texts that differ in blanks only
                same = _same(source, cor, tokenize)
                edits = [NOOP] if same else annotator.edits(doc, docs[cor])
                lines += [edit.to_m2(coder) for edit in edits]
            yield _block(" ".join(token.text for token in doc), lines)


def _same(source: str, correction: str, tokenize: bool) -> bool:
    return correction == (source if tokenize else " ".join(source.split()))


def _block(sentence: str, lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (f"S {sentence}", *lines, ""))


# ------------------------------------------------------------------------------ edits of an M2 file


@dataclass(frozen=True, slots=True)
class _Coder:
    """One coder's edits of a sentence, and the corrected sentence; a noop has neither."""

    id: str
    corrected: str | None = None
    edits: tuple[Place, ...] = ()


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
        gold: whether to keep the edits and classify them; otherwise each sentence is aligned with
            its correction and the edits are extracted anew. Errors without a correction (``UNK``,
            ``Um``) are kept.
        minimise: with ``gold``, whether to cut words that both sides of an edit share at its ends.
        keep_types: with ``gold``, whether to leave the types as they are.

    Raises:
        DataError: an edit begins before its sentence or ends before it begins; the message names
            the first line of the block. An edit beyond the sentence's end moves to the end.
    """
    checked = [(block, _coders(block)) for block in blocks]  # check all before writing anything

    def edits(coder: _Coder, source: Doc, cor: Doc) -> list[Edit]:
        kept = [edit for edit in coder.edits if gold or edit.type in DETECTED]
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

    return chain.from_iterable(map(annotated, chunks(checked)))


def _coders(block: Block) -> list[_Coder]:
    """Return the coders, sorted by their ids as texts: 10 comes before 2."""
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
        words = tokens[start:end] if kind in DETECTED else correction.split()
        corrected[start + shift : end + shift] = words
        cor_end = start + shift + len(words)
        edits.append(Place(start, end, start + shift, cor_end, kind, correction))
        shift += len(words) - (end - start)
    return _Coder(coder, " ".join(corrected), tuple(edits))
