"""Vocabularies of other libraries, as the corrector needs them: words in, words with tokens out.

A bundle names one in ``config.json``::

    "tokenizer": {"engine": "tokenizers", "spacing": "plain"}

The engine turns text into ids and back; a new kind of vocabulary is a class with the methods of
:class:`TextTokenizer` and a row in :data:`ENGINES`. ``spacing`` says what text the model was
trained on: "plain", as people write, or "tokenized", every word and mark set off by blanks.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer

from gec.errors import ModelError
from gec.extras import missing
from gec.models.load.fairseq_tokenizer import FairseqTokenizer
from gec.text.inflection import Inflections
from gec.text.words import split_words
from gec.untrusted import guarded, read_text, read_tokenizer

SPACINGS = ("plain", "tokenized")
_BLANKS = str.maketrans("▁Ġ", "  ")  # how SentencePiece and GPT-2 write a blank


class TextTokenizer(Protocol):
    """Text to ids and back, without special tokens; a :class:`gec.text.vocabulary.TextCodec`."""

    def __len__(self) -> int:
        """Return one more than the highest id."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return ids as readable strings, for traces."""

    def token(self, i: int) -> str | None:
        """Return the string an id stands for in the vocabulary, None if it has none."""

    def wrapping(self) -> list[int]:
        """Return the ids that its model expects around an empty source, [] if unknown."""

    def save(self, folder: Path) -> None:
        """Write what :data:`ENGINES` needs to load it again."""


class _Readable:
    """Pieces for traces, of any tokenizer that names its tokens."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [(self.token(i) or f"<{i}>").translate(_BLANKS) for i in ids]

    def token(self, i: int) -> str | None:
        raise NotImplementedError


class JsonTokenizer(_Readable):
    """A ``tokenizer.json`` of the tokenizers library: BART's, T5's, Pegasus' and most others'."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.encode_special_tokens = True  # a user who types "</s>" gets plain text
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        return 1 + max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)

    def encode(self, text: str) -> list[int]:
        with guarded("the bundle's tokenizer cannot read a text"):
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        with guarded("the bundle's tokenizer cannot write a text"):
            return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def token(self, i: int) -> str | None:
        found: str | None = self._tokenizer.id_to_token(i)
        return found

    def wrapping(self) -> list[int]:
        ids: list[int] = self._tokenizer.encode("", add_special_tokens=True).ids
        return ids

    def save(self, folder: Path) -> None:
        self._tokenizer.save(str(folder / "tokenizer.json"))

    @classmethod
    def load(cls, folder: Path) -> JsonTokenizer:
        return cls(read_tokenizer(folder / "tokenizer.json"))


class TransformersTokenizer(_Readable):
    """A tokenizer only the transformers library can run (Marian's two SentencePiece models)."""

    FOLDER = "tokenizer"

    def __init__(self, tokenizer: Any, folder: Path) -> None:
        self._tokenizer = tokenizer
        self._folder = folder

    def __len__(self) -> int:
        return 1 + max(self._tokenizer.get_vocab().values(), default=-1)

    def encode(self, text: str) -> list[int]:
        with guarded("the bundle's tokenizer cannot read a text"):
            return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def decode(self, ids: Sequence[int]) -> str:
        with guarded("the bundle's tokenizer cannot write a text"):
            return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def token(self, i: int) -> str | None:
        return str(self._tokenizer.convert_ids_to_tokens(i)) if i < len(self) else None

    def wrapping(self) -> list[int]:
        return list(self._tokenizer("").input_ids)

    def save(self, folder: Path) -> None:
        (folder / self.FOLDER).mkdir(exist_ok=True)
        for path in tokenizer_files(self._folder):
            shutil.copyfile(path, folder / self.FOLDER / path.name)

    @classmethod
    def load(cls, folder: Path) -> TransformersTokenizer:
        inside = folder / cls.FOLDER
        return cls.of(inside if inside.is_dir() else folder)

    @classmethod
    def of(cls, folder: Path) -> TransformersTokenizer:
        """Load from the folder itself; no code of the folder runs, nothing is downloaded."""
        try:
            from transformers import AutoTokenizer
        except ModuleNotFoundError as error:
            raise ModelError(
                f"cannot load the tokenizer of {folder}: {missing('transformers')}"
            ) from error
        try:
            return cls(
                # without the last argument it asks on the terminal whether to run the folder's code
                AutoTokenizer.from_pretrained(
                    str(folder), local_files_only=True, trust_remote_code=False
                ),
                folder,
            )
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ModelError(f"cannot load the tokenizer of {folder}: {reason}") from error

    def fast(self) -> JsonTokenizer | None:
        """Return it as a ``tokenizer.json``, if it is one underneath."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        return None if backend is None else JsonTokenizer(Tokenizer.from_str(backend.to_str()))


ENGINES: Mapping[str, Callable[[Path], TextTokenizer]] = {
    "tokenizers": JsonTokenizer.load,
    "transformers": TransformersTokenizer.load,
    "fairseq": FairseqTokenizer.load,
}


def tokenizer_files(folder: Path) -> list[Path]:
    """Return a Hugging Face folder's tokenizer files: all small files but weights and settings."""
    wanted = re.compile(
        r"(vocab|merges|added_tokens|special_tokens_map|sentencepiece|spiece|source|target|"
        r"target_vocab|source_vocab|tokenizer)\S*\.(json|txt|model|spm)"
    )
    config = [folder / "config.json"]  # names the class of the tokenizer
    return [p for p in sorted(folder.iterdir()) if wanted.fullmatch(p.name)] + config


class ForeignSubwords:
    """A :class:`TextTokenizer` in the place of our subwords.

    The ids of a sentence are those of its text, so one word's ids depend on its neighbours:
    :meth:`encode_word` is not the same as a word's part of :meth:`encode`.
    """

    markers = frozenset[int]()
    begins: Sequence[bool] = ()

    def __init__(self, tokenizer: TextTokenizer, engine: str, spacing: str) -> None:
        if spacing not in SPACINGS:
            raise ModelError(f"tokenizer spacing must be one of {SPACINGS}, not {spacing!r}")
        self.tokenizer = tokenizer
        self.engine = engine
        self.spacing = spacing

    def __len__(self) -> int:
        return len(self.tokenizer)

    def __eq__(self, other: object) -> bool:
        """Whether both give every id the same token and read the same text."""
        if not isinstance(other, ForeignSubwords):
            return NotImplemented
        return (self.settings, self.tokens(len(self))) == (other.settings, other.tokens(len(other)))

    __hash__ = object.__hash__

    @property
    def settings(self) -> dict[str, str]:
        """What ``config.json`` says of it."""
        return {"engine": self.engine, "spacing": self.spacing}

    @property
    def fingerprint(self) -> str:
        """A hash that is equal if both give every id the same token and read the same text."""
        known = json.dumps([self.settings, self.tokens(len(self))])
        return hashlib.sha256(known.encode()).hexdigest()[:16]

    @property
    def inflections(self) -> Inflections:
        return Inflections()

    def encode(self, words: Iterable[str]) -> list[int]:
        join = " ".join if self.spacing == "tokenized" else detokenize
        return self.tokenizer.encode(join(list(words)))

    def encode_word(self, word: str) -> tuple[int, ...]:
        return tuple(self.encode([word]))

    def decode(self, ids: Sequence[int]) -> list[str]:
        return [word for word, _, _ in self.decode_spans(ids)]

    def decode_spans(self, ids: Sequence[int]) -> list[tuple[str, int, int]]:
        """Return (word, first token, one past its last token) for each word of ``ids``.

        Two words written together may share a token: "don" and "'t" of one piece.
        """
        text = self.tokenizer.decode(ids)
        # a token ends where the text of all tokens up to it ends
        ends = [len(self.tokenizer.decode(ids[: n + 1])) for n in range(len(ids))]
        spans = []
        for word, start, stop in _words(text, self.spacing):
            first = next((n for n, end in enumerate(ends) if end > start), len(ids) - 1)
            last = next((n for n, end in enumerate(ends) if end >= stop), len(ids) - 1)
            spans.append((word, first, max(first, last) + 1))
        return spans

    def pieces(self, ids: Iterable[int]) -> list[str]:
        return self.tokenizer.pieces(list(ids))

    def tokens(self, size: int) -> list[str]:
        """Return the vocabulary's strings by id; ids without one get an unused name."""
        found = (self.tokenizer.token(i) for i in range(size))
        return [f"<unused {i}>" if token is None else token for i, token in enumerate(found)]

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder)

    @classmethod
    def of(cls, folder: Path, settings: Mapping[str, Any]) -> ForeignSubwords:
        """Load what a bundle's ``config.json`` names under "tokenizer".

        Raises:
            ModelError: an unknown engine, a missing package, a file that cannot be read.
        """
        if not isinstance(settings, Mapping):
            raise ModelError(f"{folder}: the tokenizer's settings must be an object")
        engine = settings.get("engine")
        if not isinstance(engine, str) or engine not in ENGINES:
            known = ", ".join(ENGINES)
            raise ModelError(f"{folder}: unknown tokenizer engine {engine!r}, expected {known}")
        return cls(ENGINES[engine](folder), engine, settings.get("spacing", "plain"))


def of_huggingface(folder: Path, *, spacing: str = "plain") -> ForeignSubwords:
    """Return a Hugging Face folder's tokenizer, as a ``tokenizer.json`` if it can be one.

    Raises:
        ModelError: there is none, or the package that can run it is missing.
    """
    if (folder / "tokenizer.json").is_file():
        return ForeignSubwords(JsonTokenizer.load(folder), "tokenizers", spacing)
    if len(tokenizer_files(folder)) == 1:  # config.json only
        raise ModelError(f"{folder} has no tokenizer files: save the tokenizer there, too")
    tokenizer = TransformersTokenizer.of(folder)
    fast = tokenizer.fast()
    if fast is not None:
        return ForeignSubwords(fast, "tokenizers", spacing)
    return ForeignSubwords(tokenizer, "transformers", spacing)


_NO_BLANK_BEFORE = re.compile(r"[.,:;!?%)\]}’”…]+|n['’]t|['’](?:s|m|d|re|ve|ll)|", re.IGNORECASE)
_NO_BLANK_AFTER = re.compile(r"[(\[{“‘$£€]")


def detokenize(words: Sequence[str]) -> str:
    """Return words as people write them: marks at the words they belong to.

    >>> detokenize(["I", "do", "n't", "(", "really", ")", "know", "\\"", "him", "\\"", "."])
    'I don\\'t (really) know "him".'
    """
    text, glued, quoted = "", True, False
    for word in words:
        closes = word == '"' and quoted
        if not (glued or closes or _NO_BLANK_BEFORE.fullmatch(word)):
            text += " "
        text += word
        glued = (word == '"' and not quoted) or bool(_NO_BLANK_AFTER.fullmatch(word))
        quoted ^= word == '"'
    return text


def _words(text: str, spacing: str) -> list[tuple[str, int, int]]:
    """Return the words of an output with their offsets in it."""
    if spacing == "tokenized":
        return [(found[0], *found.span()) for found in re.finditer(r"\S+", text)]
    return [(word.text, word.start, word.end) for word in split_words(text)]


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object; raises ModelError with the file's name."""
    try:
        values = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path} holds no JSON object")
    return values
