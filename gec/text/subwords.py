"""Words to subword ids and back, exactly, for any Unicode text.

A word is written as ``[case marker] pieces [inflection marker]``: *Goes* is ``<cap> go <+s>``.
Pieces are byte-level BPE (Sennrich 2016; Radford 2019), so there is no unknown token. The first
piece of a word begins with ``Ġ``. Only ``Ġ`` marks word starts, so any sequence of ids decodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from gec.errors import ModelError
from gec.text.inflection import MARKERS, Inflections, PackedInflections
from gec.text.remembered import Remembered
from gec.untrusted import read_tokenizer

INFLECTIONS = "inflections.tsv"
INFLECTION_TABLES = "inflections.bin"
"""The same as tables that need no parsing."""
PAD, BOS, EOS = "<pad>", "<s>", "</s>"
CAPITAL, UPPER = "<cap>", "<upper>"
SPECIALS = (PAD, BOS, EOS, CAPITAL, UPPER, *(f"<{marker}>" for marker in MARKERS))
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2
_CAPITAL_ID, _UPPER_ID = 3, 4
_MARKER_IDS = {marker: 5 + i for i, marker in enumerate(MARKERS)}
_MARKERS_BY_ID = {i: marker for marker, i in _MARKER_IDS.items()}


def _byte_alphabet() -> dict[str, int]:
    """Return GPT-2's printable character for each byte, inverted."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    chars = {byte: chr(byte) for byte in printable}
    hidden = (byte for byte in range(256) if byte not in chars)
    chars.update({byte: chr(256 + i) for i, byte in enumerate(hidden)})
    return {char: byte for byte, char in chars.items()}


BYTE_OF = _byte_alphabet()
WORD_START = "Ġ"


_KINDS = {b"Sequence", b"Digits", b"ByteLevel", b"NFC"}


def check_byte_level(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces of a tokenizer, which must be byte-level BPE as trained here, by their ids.

    Other tokenizers may have ids without a row in the network, pieces that are not bytes, or
    patterns that take hours on some text.

    Raises:
        ModelError: the tokenizer has other parts, drops merges at random, or has gaps between ids.
    """
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
    states = b"".join(part.__getstate__() for part in parts if part is not None)
    kinds = set(re.findall(rb'"type":"(\w+)"', states)) - _KINDS
    if not isinstance(tokenizer.model, models.BPE) or tokenizer.model.dropout or kinds:
        raise ModelError("tokenizer.json is no byte-level BPE: name its engine in config.json")
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    if {*vocabulary.values()} != {*range(len(vocabulary))}:
        raise ModelError("tokenizer.json has ids that are missing or there twice")
    if not {*"".join(pieces)} <= BYTE_OF.keys():
        strange = next(piece for piece in pieces if not set(piece) <= BYTE_OF.keys())
        raise ModelError(f"tokenizer.json has a piece that is no bytes: {strange!r}")
    return pieces


def _is_plain(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer, which is byte-level, hands a blank and letters to its model as they are.

    The model sees the blank as the mark of a word.
    """
    added = tokenizer.get_added_tokens_decoder().values()
    before = tokenizer.pre_tokenizer
    return (
        before is not None
        and b"ByteLevel" in before.__getstate__()
        and not tokenizer.truncation
        and not tokenizer.padding
        and all(token.special for token in added)
    )


def _restore_case(word: str, case: int | None) -> str:
    if case == _CAPITAL_ID:
        return word[:1].upper() + word[1:]
    return word.upper() if case == _UPPER_ID else word


def has_inflections(folder: Path) -> bool:
    """Whether a folder's vocabulary is a corrector's, with a table of inflections."""
    return any((folder / name).is_file() for name in (INFLECTIONS, INFLECTION_TABLES))


class WordCodec(Protocol):
    """Words to ids and back, as a corrector needs it: :class:`Subwords` or another library's.

    Attributes:
        markers: ids that stand beside a word but are not words, such as those of case.
        begins: for each id whether it begins a word, where most words are one piece; () otherwise.
    """

    markers: frozenset[int]
    begins: Sequence[bool]

    def __len__(self) -> int:
        """Return one more than the highest id."""

    @property
    def fingerprint(self) -> str:
        """A hash; two codecs have the same one only if they give every word the same ids."""

    @property
    def inflections(self) -> Inflections:
        """The inflections that are written as base and marker; other libraries have none."""

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the ids of ``words``, without BOS and EOS. Words hold no blanks."""

    def encode_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word alone."""

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the words of ``ids``; every sequence of ids has some."""

    def decode_spans(self, ids: Sequence[int]) -> list[tuple[str, int, int]]:
        """Return (word, first token, one past its last token) for each word of ``ids``."""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return ids as readable strings, for traces."""

    def save(self, folder: Path) -> None:
        """Write the files from which a bundle loads this codec again."""


class Subwords:
    """The subword vocabulary of one bundle: ``tokenizer.json`` and the inflection table.

    ``markers`` are the ids of case and inflection, which stand beside a word but are not words.
    """

    markers = frozenset(range(_CAPITAL_ID, len(SPECIALS)))
    begins: Sequence[bool] = ()

    def __init__(self, tokenizer: Tokenizer, inflections: Inflections) -> None:
        found = tuple(tokenizer.id_to_token(i) for i in range(len(SPECIALS)))
        if found != SPECIALS:
            raise ModelError(f"tokenizer.json does not begin with the special tokens {SPECIALS}")
        tokenizer.encode_special_tokens = True  # a user who types "</s>" gets plain text
        self._pieces = check_byte_level(tokenizer)
        self._tokenizer = tokenizer
        self._inflections = inflections
        self._model = tokenizer.model if _is_plain(tokenizer) else None
        self._ids_of = Remembered(self._encode_word_uncached, 200_000)
        self._raw = Remembered(self._raw_uncached)
        self._surface = Remembered(self._surface_uncached)
        self._readable = Remembered(self._readable_uncached)

    def __len__(self) -> int:
        return len(self._pieces)

    def __eq__(self, other: object) -> bool:
        """Whether both vocabularies give every word the same ids."""
        if not isinstance(other, Subwords):
            return NotImplemented
        mine, theirs = self._tokenizer.to_str(), other._tokenizer.to_str()
        return mine == theirs and sorted(self._inflections.entries()) == sorted(
            other._inflections.entries()
        )

    __hash__ = object.__hash__

    @property
    def fingerprint(self) -> str:
        """A hash; two vocabularies have the same one only if they give every word the same ids."""
        import hashlib

        entries = sorted(self._inflections.entries())
        return hashlib.sha256(f"{self._tokenizer.to_str()}{entries}".encode()).hexdigest()[:16]

    @property
    def inflections(self) -> Inflections:
        """The inflections that are written as base and marker."""
        return self._inflections

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the ids of ``words``, without BOS and EOS. Words hold no blanks."""
        return [*chain.from_iterable(map(self._ids_of.__getitem__, words))]

    def encode_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word alone."""
        return self._ids_of[word]

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the words of ``ids``; the inverse of :meth:`encode`, defined for any ids."""
        return [word for word, _, _ in self.decode_spans(ids)]

    def decode_spans(self, ids: Sequence[int]) -> list[tuple[str, int, int]]:
        """Return (word, first token, one past its last token) for each word of ``ids``."""
        spans: list[tuple[str, int, int]] = []
        word, marker, start = b"", "", 0
        case: int | None = None
        raw = self._raw
        for position, i in enumerate(ids):
            if i >= len(SPECIALS):
                begins, piece = raw[i]
                if word and begins:  # a piece that is only the word start adds no bytes
                    spans.append((self._surface[word, marker, case], start, position))
                    word, marker, case, start = b"", "", None, position
                word += piece
            elif i in (_CAPITAL_ID, _UPPER_ID):
                if word:
                    spans.append((self._surface[word, marker, case], start, position))
                    word, marker, start = b"", "", position
                case = i
            elif i in _MARKERS_BY_ID:
                marker = _MARKERS_BY_ID[i] if word else ""
        if word:
            spans.append((self._surface[word, marker, case], start, len(ids)))
        return spans

    def _surface_uncached(self, parts: tuple[bytes, str, int | None]) -> str:
        word, marker, case = parts
        base = word.decode("utf-8", errors="replace")
        return _restore_case(self._inflections.join(base, marker), case)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return ids as readable strings, for traces: ``Ġ`` becomes a blank."""
        return [*map(self._readable.__getitem__, ids)]

    def _readable_uncached(self, i: int) -> str:
        piece = self._pieces[i]
        if i < len(SPECIALS):
            return piece
        blank = " " if piece.startswith(WORD_START) else ""
        return blank + self._raw[i][1].decode("utf-8", "replace")

    def _raw_uncached(self, i: int) -> tuple[bool, bytes]:
        """Return whether a piece begins a word, and its UTF-8 bytes without the mark of that."""
        piece = self._pieces[i]
        bare = piece.removeprefix(WORD_START)
        if bare.isascii():  # as most: these stand for themselves
            return bare != piece, bare.encode()
        return bare != piece, bytes(BYTE_OF[char] for char in bare)

    def _encode_word_uncached(self, word: str) -> tuple[int, ...]:
        return self._analysed(word) or self._plain(word)

    def _analysed(self, word: str) -> tuple[int, ...] | None:
        """Return case, base and inflection as ids if they are decoded to the word again."""
        lowered = word.lower()
        case: int | None = None
        if word != lowered and word != "I":
            if word == lowered[:1].upper() + lowered[1:]:
                case = _CAPITAL_ID
            elif len(word) > 1 and word == lowered.upper():
                case = _UPPER_ID
            else:
                return None
        else:
            lowered = word
        base, marker = self._inflections.split(lowered)
        ids = self._plain(base)
        pieces = [*map(self._raw.__getitem__, ids)]
        written = b"".join([piece for _, piece in pieces])
        if any(begins for begins, _ in pieces[1:]) or not written:
            return None  # more words than one, or none
        if self._surface[written, marker, case] != word:
            return None
        cased = ids if case is None else (case, *ids)
        return (*cased, _MARKER_IDS[marker]) if marker else cased

    def _plain(self, word: str) -> tuple[int, ...]:
        if self._model is not None and word.isascii() and word.isalpha():  # ten times as fast
            return tuple(token.id for token in self._model.tokenize(WORD_START + word))
        return tuple(self._tokenizer.encode(" " + word, add_special_tokens=False).ids)

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and ``inflections.tsv``."""
        self._tokenizer.save(str(folder / "tokenizer.json"))
        self._inflections.save(folder / INFLECTIONS)
        (folder / INFLECTION_TABLES).unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path) -> Subwords:
        """Read ``tokenizer.json`` and, if there is one, ``inflections.bin`` or ``inflections.tsv``.

        Raises:
            ModelError: a file is missing or broken.
        """
        path, table = folder / "tokenizer.json", folder / INFLECTIONS
        tokenizer = read_tokenizer(path)
        if (folder / INFLECTION_TABLES).exists():
            return cls(tokenizer, PackedInflections(folder / INFLECTION_TABLES))
        try:
            inflections = Inflections.load(table) if table.exists() else Inflections()
        except ValueError as error:
            raise ModelError(f"cannot read {table}: {error}") from error
        return cls(tokenizer, inflections)

    @classmethod
    def train(
        cls, sentences: Iterable[Sequence[str]], *, size: int, inflections: Inflections
    ) -> Subwords:
        """Learn a BPE vocabulary of ``size`` entries from the bases of tokenized sentences."""
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(SPECIALS),
            initial_alphabet=sorted(BYTE_OF),
            show_progress=False,
        )
        bases = (
            " " + inflections.split(word if word == "I" else word.lower())[0]
            for words in sentences
            for word in words
        )
        tokenizer.train_from_iterator(bases, trainer)
        return cls(tokenizer, inflections)
