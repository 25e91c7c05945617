"""Plain text to subword ids and back: byte-level BPE over whole sentences, any language.

Translation needs no words: case and inflection markers and words with offsets, which
:class:`gec.text.subwords.Subwords` adds for English, would only hinder it. A model that starts from
a corrector's weights keeps the corrector's vocabulary, :class:`CorrectorVocabulary`, and one that
starts from a pretrained decoder keeps that one's, :class:`PretrainedVocabulary`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from gec.errors import ConfigError, ModelError
from gec.text.byte_pairs import BytePairs
from gec.text.subwords import (
    INFLECTION_TABLES,
    INFLECTIONS,
    Subwords,
    WordCodec,
    check_byte_level,
    has_inflections,
)
from gec.untrusted import read_tokenizer

SPECIALS = ("<pad>", "<s>", "</s>")
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2


class TextCodec(Protocol):
    """Turns text into token ids and back."""

    def __len__(self) -> int: ...

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without BOS and EOS."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of any ids; special tokens give no text."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return ids as readable strings, for traces."""


class Vocabulary:
    """The joint vocabulary of a bundle that generates: ``tokenizer.json``.

    Byte-level BPE (Sennrich 2016; Radford 2019): there is no unknown token, and decoding restores
    the text except for the kind and number of blanks and for composed characters (NFC).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        found = tuple(tokenizer.id_to_token(i) for i in range(len(SPECIALS)))
        if found != SPECIALS:
            raise ModelError(f"tokenizer.json does not begin with the special tokens {SPECIALS}")
        check_byte_level(tokenizer)
        tokenizer.encode_special_tokens = True  # a user who types "</s>" gets plain text
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        size: int = self._tokenizer.get_vocab_size()
        return size

    @property
    def fingerprint(self) -> str:
        """A hash; two vocabularies have the same one only if they give every text the same ids."""
        import hashlib

        return hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()[:16]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without BOS and EOS; lone surrogates become question marks."""
        words = text.encode("utf-8", "replace").decode().split()
        if not words:
            return []
        text = " " + " ".join(words)  # every word has a blank before it, also the first
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of any ids; special tokens give none, broken UTF-8 U+FFFD."""
        words = [i for i in ids if i >= len(SPECIALS)]
        text: str = self._tokenizer.decode(words, skip_special_tokens=False)
        return " ".join(text.split())

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return ids as readable strings, for traces; a broken character is U+FFFD."""
        return [SPECIALS[i] if i < len(SPECIALS) else self._tokenizer.decode([i]) for i in ids]

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and remove the ``inflections.tsv`` of an earlier vocabulary."""
        self._tokenizer.save(str(folder / "tokenizer.json"))
        for name in (INFLECTIONS, INFLECTION_TABLES):  # these files mark a corrector's
            (folder / name).unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Read ``tokenizer.json``; raises ModelError if the file is missing or broken."""
        return cls(read_tokenizer(folder / "tokenizer.json"))

    @classmethod
    def train(cls, texts: Iterable[str], *, size: int) -> Vocabulary:
        """Learn a vocabulary of at most ``size`` from plain text.

        Raises:
            ConfigError: ``size`` is too small for all bytes.
        """
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        if size < len(SPECIALS) + len(alphabet):
            least = len(SPECIALS) + len(alphabet)
            raise ConfigError(f"a vocabulary must have at least {least} entries, not {size}")
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(SPECIALS),
            initial_alphabet=alphabet,
            show_progress=False,
        )
        # the first word of a text gets the blank that the others have before them
        tokenizer.train_from_iterator((" " + " ".join(text.split()) for text in texts), trainer)
        return cls(tokenizer)


class WordVocabulary:
    """Words' subwords for whole texts, which are split into words at blanks alone.

    So a comma belongs to the word before it, and text comes back as from :class:`Vocabulary`.

    Attributes:
        words: what gives a word its ids.
    """

    def __init__(self, words: WordCodec) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    @property
    def fingerprint(self) -> str:
        """A hash; two vocabularies have the same one only if they give every text the same ids."""
        return self.words.fingerprint

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without BOS and EOS; lone surrogates become question marks."""
        text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
        return self.words.encode(text.split())

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of any ids; a corrector's markers give none, broken UTF-8 U+FFFD."""
        return " ".join(" ".join(self.words.decode(ids)).split())

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return ids as readable strings, for traces; a broken character is U+FFFD."""
        return self.words.pieces(ids)

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``, and a corrector's ``inflections.tsv``."""
        self.words.save(folder)


class CorrectorVocabulary(WordVocabulary):
    """A corrector's subwords: markers of case and inflection stand beside base forms."""

    @classmethod
    def load(cls, folder: Path) -> CorrectorVocabulary:
        """Read a corrector's ``tokenizer.json`` and ``inflections.tsv``; raises ModelError."""
        return cls(Subwords.load(folder))


class PretrainedVocabulary(WordVocabulary):
    """A pretrained decoder's byte-level BPE. It has no mark for special tokens: they are text."""

    @classmethod
    def load(cls, folder: Path) -> PretrainedVocabulary:
        """Read ``tokenizer.json``; raises ModelError if the file is missing or broken."""
        return cls(BytePairs.load(folder))


OwnVocabulary = Vocabulary | CorrectorVocabulary | PretrainedVocabulary
"""The vocabularies that a bundle trained here can have."""


def load_vocabulary(folder: Path) -> Vocabulary | CorrectorVocabulary:
    """Read the vocabulary of an encoder-decoder's packed folder or bundle, or raise ModelError."""
    return (CorrectorVocabulary if has_inflections(folder) else Vocabulary).load(folder)
