"""SentencePiece models (Kudo and Richardson 2018) as fairseq uses them: text to pieces and back.

The package sentencepiece does it. A piece is a symbol of the dictionary; a run of unknown
characters is one unknown symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gec.errors import ModelError
from gec.extras import missing
from gec.untrusted import MOST_TOKENIZER, guarded, read_bytes


class SentencePiece:
    """Pieces of a model.

    Args:
        content: the bytes of a ``.model`` file.
        name: what errors call it.

    Raises:
        ModelError: it is none, or the package sentencepiece is missing.
    """

    kind = "sentencepiece"
    FILE = "sentencepiece.model"

    def __init__(self, content: bytes, name: str = "the SentencePiece model") -> None:
        try:
            from sentencepiece import SentencePieceProcessor
        except ModuleNotFoundError:
            raise ModelError(f"cannot read {name}: {missing('sentencepiece')}") from None
        self._content = content
        self._processor = SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(content)
            known = self._processor.vocab_size()
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise ModelError(f"{name} is no SentencePiece model: {reason}") from None
        if not known:  # so does it read an empty file
            raise ModelError(f"{name} is no SentencePiece model: it has no pieces")

    def split(self, text: str) -> list[str]:
        with guarded("the bundle's tokenizer cannot read a text"):
            pieces: list[str] = self._processor.encode_as_pieces(text)
        return pieces

    def join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace("▁", " ").strip()  # as fairseq joins them

    def save(self, folder: Path) -> None:
        (folder / self.FILE).write_bytes(self._content)

    @classmethod
    def load(cls, path: Path) -> SentencePiece:
        return cls(read_bytes(path, MOST_TOKENIZER), str(path))
