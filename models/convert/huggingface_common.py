"""What reading and writing Hugging Face folders share."""

from __future__ import annotations

TABLES = ("encoder_positions.weight", "decoder_positions.weight")
HEAD = "lm_head.weight"
OURS = "gec_subwords"
