"""The symbols that every fairseq dictionary begins with."""

from __future__ import annotations

BOS, PAD, EOS, UNK = 0, 1, 2, 3
"""Their ids."""
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
