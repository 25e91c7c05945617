"""Text to the ids of a fairseq dictionary and back: BPE pieces, each a symbol.

Four ways to pieces: GPT-2's byte-level BPE (``encoder.json``, ``vocab.bpe``), where a symbol is
GPT-2's number written out; the codes of subword-nmt or fastBPE, where a piece that is not the last
of its word ends in ``@@``; a SentencePiece model, where a piece begins with a blank or goes on; or
none, where every word is a symbol.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gec.errors import ConfigError, ModelError
from gec.models.load.fairseq_sentencepiece import SentencePiece
from gec.models.load.fairseq_symbols import EOS, SPECIALS, UNK
from gec.untrusted import MOST_TOKENIZER, guarded, read_json, read_text, read_tokenizer

FILE = "fairseq_tokenizer.json"
_WORD_END = "</w>"
_LONGEST_NUMBER = 10  # digits; a longer symbol is no id of the tokenizers library


class Pieces(Protocol):
    """Text to pieces and back."""

    kind: str

    def split(self, text: str) -> list[str]: ...

    def join(self, pieces: Sequence[str]) -> str: ...

    def save(self, folder: Path) -> None: ...


class Words:
    """Every word is a piece."""

    kind = "none"

    def split(self, text: str) -> list[str]:
        return text.split()

    def join(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def save(self, folder: Path) -> None:
        pass


class SubwordNmt:
    """BPE as subword-nmt applies it (Sennrich et al. 2016), without glossaries.

    Args:
        codes: the lines of a codes file: a header ``#version: 0.2`` or none (0.1, where the end of
            a word is a symbol of its own), then merges, most frequent first; fastBPE's, which have
            counts in a third column, are version 0.2.
    """

    kind = "subword_nmt"
    FILE = "bpe_codes.txt"
    SEPARATOR = "@@"

    def __init__(self, codes: Sequence[str], name: str = "the BPE codes") -> None:
        self._codes = list(codes)
        merges, self._end_is_symbol = _read_codes(self._codes, name)
        self._rank = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
        self._split_word = lru_cache(maxsize=100_000)(self._split_word_uncached)

    def split(self, text: str) -> list[str]:
        return [piece for word in text.split() for piece in self._split_word(word)]

    def join(self, pieces: Sequence[str]) -> str:
        return (" ".join(pieces) + " ").replace(f"{self.SEPARATOR} ", "").rstrip()

    def save(self, folder: Path) -> None:
        text = "".join(f"{line}\n" for line in self._codes)
        (folder / self.FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> SubwordNmt:
        try:
            lines = read_text(path).split("\n")
        except ModelError as error:
            raise ModelError(f"the BPE codes: {error}") from error
        return cls(lines[:-1] if lines[-1] == "" else lines, str(path))

    def _split_word_uncached(self, word: str) -> tuple[str, ...]:
        if len(word) == 1:
            return (word,)
        parts = [*word, _WORD_END] if self._end_is_symbol else [*word[:-1], word[-1] + _WORD_END]
        while len(parts) > 1:
            pairs = [pair for pair in pairwise(parts) if pair in self._rank]
            if not pairs:
                break
            parts = _merged(parts, min(pairs, key=self._rank.__getitem__))
        if parts[-1] == _WORD_END:
            parts.pop()
        elif parts[-1].endswith(_WORD_END):
            parts[-1] = parts[-1].removesuffix(_WORD_END)
        return (*(part + self.SEPARATOR for part in parts[:-1]), parts[-1])


def _read_codes(lines: Sequence[str], name: str) -> tuple[list[tuple[str, str]], bool]:
    """Return the merges, and whether the end of a word is a symbol of its own."""
    headed = bool(lines) and lines[0].startswith("#version:")
    version = lines[0].partition(":")[2].strip() if headed else "0.1"
    merges: list[tuple[str, str]] = []
    counted = False
    for number, line in enumerate(lines[headed:], 1 + headed):
        parts = line.strip("\r ").split(" ")
        if len(parts) == 3 and parts[2].isdecimal():
            counted = True
        elif len(parts) != 2 or not all(parts):
            raise ModelError(f"{name}, line {number}: expected two symbols, found {line!r}")
        merges.append((parts[0], parts[1]))
    if not merges:
        raise ModelError(f"{name} holds no merges")
    return merges, version == "0.1" and not counted


def _merged(parts: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """Join every occurrence of the pair, from left to right."""
    found: list[str] = []
    place = 0
    while place < len(parts):
        if tuple(parts[place : place + 2]) == pair:
            found.append("".join(pair))
            place += 2
        else:
            found.append(parts[place])
            place += 1
    return found


class Gpt2:
    """GPT-2's byte-level BPE; a piece is the number of a token."""

    kind = "gpt2"
    FILE = "gpt2.json"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def split(self, text: str) -> list[str]:
        with guarded("the bundle's tokenizer cannot read a text"):
            ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [str(i) for i in ids]

    def join(self, pieces: Sequence[str]) -> str:
        """Return the text; symbols that are no numbers (``<mask>``) stand between the others."""
        text, run = "", list[int]()
        for piece in [*pieces, ""]:
            if piece.isdecimal() and len(piece) < _LONGEST_NUMBER:
                run.append(int(piece))
                continue
            with guarded("the bundle's tokenizer cannot write a text"):
                text += self._tokenizer.decode(run, skip_special_tokens=False) + piece
            run = []
        return text

    def save(self, folder: Path) -> None:
        self._tokenizer.save(str(folder / self.FILE))

    @classmethod
    def load(cls, path: Path) -> Gpt2:
        return cls(read_tokenizer(path))

    @classmethod
    def of(cls, encoder_json: Path, vocab_bpe: Path) -> Gpt2:
        """Read the two files in which GPT-2's BPE is distributed."""
        try:
            model = models.BPE.from_file(str(encoder_json), str(vocab_bpe))
        except Exception as error:
            raise ModelError(f"cannot read {encoder_json} and {vocab_bpe}: {error}") from error
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return cls(tokenizer)


BPES = ("gpt2", "subword_nmt", "sentencepiece", "none")
_GPT2_FILES = ("encoder.json", "vocab.bpe")
_CODES_FILES = ("code", "codes", "bpecodes", "bpe.codes", "bpe_codes", "bpe_codes.txt")


def find_pieces(folder: Path, bpe: str | None, codes: Path | None) -> Pieces:
    """Return the BPE whose files lie beside the dictionaries.

    Args:
        bpe: one of ``BPES``; None takes what the files say.
        codes: a file elsewhere of BPE codes or, if it ends in ``.model``, of SentencePiece; or
            a folder with ``encoder.json`` and ``vocab.bpe``.

    Raises:
        ModelError: no BPE or several SentencePiece models are found, or files cannot be read.
        ConfigError: an unknown BPE.
    """
    if bpe not in (None, *BPES):
        raise ConfigError(f"unknown BPE {bpe!r}, expected one of {', '.join(BPES)}")
    if bpe == "none":
        return Words()
    place = codes or folder
    if codes is not None and codes.is_file():
        spm = bpe == "sentencepiece" or (bpe is None and codes.suffix == ".model")
        return SentencePiece.load(codes) if spm else SubwordNmt.load(codes)
    if bpe in (None, "gpt2") and all((place / name).is_file() for name in _GPT2_FILES):
        return Gpt2.of(*(place / name for name in _GPT2_FILES))
    found = [place / name for name in _CODES_FILES if (place / name).is_file()]
    if bpe in (None, "subword_nmt") and found:
        return SubwordNmt.load(found[0])
    there = sorted(place.glob("*.model")) if bpe in (None, "sentencepiece") else []
    if len(there) == 1:
        return SentencePiece.load(there[0])
    if there:
        names = " and ".join(path.name for path in there[:2])
        raise ModelError(f"{place} has SentencePiece models {names}: name one with --codes")
    raise ModelError(
        f"{place} has neither GPT-2's {' and '.join(_GPT2_FILES)}, nor a file of BPE codes "
        f"({', '.join(_CODES_FILES[:4])}), nor a SentencePiece model (*.model): name it with "
        "--codes, or say --bpe none where every word is a symbol of the dictionary"
    )


class FairseqTokenizer:
    """Meets :class:`gec.models.load.foreign.TextTokenizer` with a dictionary and a BPE."""

    def __init__(self, symbols: Sequence[str], bpe: Pieces) -> None:
        self._symbols = list(symbols)
        self._bpe = bpe
        # what fairseq itself puts into a sequence cannot be typed by a user
        first = len(SPECIALS)
        self._ids = {symbol: first + i for i, symbol in enumerate(self._symbols[first:])}

    def __len__(self) -> int:
        return len(self._symbols)

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(piece, UNK) for piece in self._bpe.split(text)]

    def decode(self, ids: Sequence[int]) -> str:
        # the network may have more ids than there are symbols
        return self._bpe.join([self._symbols[i] for i in ids if UNK <= i < len(self._symbols)])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.token(i) or f"<{i}>" for i in ids]

    def token(self, i: int) -> str | None:
        return self._symbols[i] if i < len(self._symbols) else None

    def wrapping(self) -> list[int]:
        return [EOS]

    def save(self, folder: Path) -> None:
        self._bpe.save(folder)
        text = json.dumps({"bpe": self._bpe.kind, "symbols": self._symbols}, ensure_ascii=False)
        (folder / FILE).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> FairseqTokenizer:
        """Read what :meth:`save` wrote; raise ModelError if it cannot be used."""
        path = folder / FILE
        try:
            values = read_json(path, MOST_TOKENIZER)
            kind, symbols = values["bpe"], values["symbols"]
        except (KeyError, TypeError) as error:
            raise ModelError(f"cannot read {path}: {error}") from error
        if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
            raise ModelError(f"cannot read {path}: its symbols are no list of texts")
        if len(symbols) <= UNK:
            raise ModelError(f"cannot read {path}: it has only {len(symbols)} symbols")
        if kind == Gpt2.kind:
            return cls(symbols, Gpt2.load(folder / Gpt2.FILE))
        if kind == SubwordNmt.kind:
            return cls(symbols, SubwordNmt.load(folder / SubwordNmt.FILE))
        if kind == SentencePiece.kind:
            return cls(symbols, SentencePiece.load(folder / SentencePiece.FILE))
        if kind != Words.kind:
            raise ModelError(f"{path} names an unknown BPE {kind!r}")
        return cls(symbols, Words())
