"""A vocabulary of numbers, where a test has ids only."""

from __future__ import annotations

import json
from pathlib import Path

from gec.models.network.transformer import TransformerConfig
from gec.text.subwords import Subwords


class NumberSubwords(Subwords):
    """Writes a ``tokenizer.json`` whose tokens are the ids themselves."""

    def __init__(self, config: TransformerConfig) -> None:
        self.size = max(config.vocab_size, config.source_vocab_size or 0)

    def save(self, folder: Path) -> None:
        vocabulary = {str(i): i for i in range(self.size)}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "0"}
        text = json.dumps({"version": "1.0", "model": model})
        (folder / "tokenizer.json").write_text(text)
