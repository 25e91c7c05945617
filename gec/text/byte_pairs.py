"""Words in a pretrained byte-level BPE: a blank before each; case and inflection are not split off.

A pretrained decoder has a vocabulary of its own (Radford et al. 2019). Its text is the corrector's
words, joined by blanks; the ids of a word are the ids of " word" alone, whatever stands around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gec.text.inflection import Inflections
from gec.text.subwords import BYTE_OF, WORD_START, check_byte_level
from gec.untrusted import read_tokenizer


class BytePairs:
    """The vocabulary of one bundle: ``tokenizer.json`` alone. Meets ``WordCodec``.

    >>> words = BytePairs.of({"Ġ": 0, "a": 1, "Ġa": 2, "b": 3}, [("Ġ", "a")])
    >>> words.encode(["a", "ab"]), words.decode([2, 3, 2]), words.decode([])
    ([2, 2, 3], ['ab', 'a'], [])
    """

    markers: frozenset[int] = frozenset()
    begins: Sequence[bool]

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.encode_special_tokens = True  # a user who types "</s>" gets plain text
        pieces = check_byte_level(tokenizer)
        self._tokenizer = tokenizer
        self.begins = [piece.startswith(WORD_START) for piece in pieces]
        self._bytes = [
            bytes(BYTE_OF[char] for char in piece.removeprefix(WORD_START)) for piece in pieces
        ]
        self.encode_word = lru_cache(maxsize=200_000)(self._encode_word)

    @classmethod
    def of(cls, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> BytePairs:
        """Return the vocabulary with these ids of pieces and these merges, in order of priority."""
        tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        return cls(tokenizer)

    def __len__(self) -> int:
        return len(self._bytes)

    @property
    def fingerprint(self) -> str:
        """A hash; two vocabularies have the same one only if they give every word the same ids."""
        import hashlib

        return hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()[:16]

    @property
    def inflections(self) -> Inflections:
        """An empty table: inflected words are words like any other."""
        return Inflections()

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the ids of ``words``, without BOS and EOS. Words hold no blanks."""
        return [i for word in words for i in self.encode_word(word)]

    def encode_text(self, text: str) -> tuple[int, ...]:
        """Return the ids of a text as it is, without a blank before it."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _encode_word(self, word: str) -> tuple[int, ...]:
        return self.encode_text(" " + word)

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the words of ``ids``; every sequence of ids has some."""
        return [word for word, _, _ in self.decode_spans(ids)]

    def decode_spans(self, ids: Sequence[int]) -> list[tuple[str, int, int]]:
        """Return (word, first token, one past its last token) for each word of ``ids``."""
        starts = [place for place, i in enumerate(ids) if place == 0 or self.begins[i]]
        spans = []
        for start, end in zip(starts, [*starts[1:], len(ids)], strict=False):  # no ids, no starts
            word = b"".join(self._bytes[i] for i in ids[start:end]).decode("utf-8", "replace")
            # the model may write line breaks, which no word holds, and bare blanks, which are none
            spans += [(part, start, end) for part in word.split()]
        return spans

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return ids as readable strings, for traces."""
        return [" " * self.begins[i] + self._bytes[i].decode("utf-8", "replace") for i in ids]

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``."""
        self._tokenizer.save(str(folder / "tokenizer.json"))

    @classmethod
    def load(cls, folder: Path) -> BytePairs:
        """Read ``tokenizer.json``.

        Raises:
            ModelError: the file is missing or broken.
        """
        return cls(read_tokenizer(folder / "tokenizer.json"))
