"""Hugging Face transformers: ``generate`` of the same weights, with PyTorch as we have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gec.eval.benchmark.contenders import DTYPES, Answer, Contender, Ids, batches
from gec.eval.benchmark.harness import now
from gec.eval.benchmark.peers import Setup


class HuggingFace:
    """``model.generate``, greedy or beam search that ends when enough hypotheses are finished."""

    engine = "huggingface"

    def __init__(self, model: Any, setup: Setup, strategy: str, size: int, precision: str) -> None:
        self.model, self.setup = model, setup
        self.strategy, self.size, self.precision = strategy, size, precision

    @torch.inference_mode()
    def decode(self, sources: Sequence[Ids], batch_size: int) -> Answer:
        rows: list[list[int]] = []
        seconds = 0.0
        for batch in batches(sources, batch_size):
            least, most = self.setup.length(batch)
            searching: dict[str, Any] = {"early_stopping": True} if self.size > 1 else {}
            began = now()
            ids, mask = self._pad(batch)
            rows += self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                num_beams=self.size,
                do_sample=False,
                min_new_tokens=least or None,
                max_new_tokens=most,
                **searching,
            ).tolist()
            seconds += now() - began
        return Answer([self._output(row) for row in rows], seconds)

    def _pad(self, batch: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        config = self.setup.bundle.transformer.config
        rows = [[*config.source_prefix, *source, config.eos_id] for source in batch]
        width = max(map(len, rows))
        ids = [[*row, *[config.pad_id] * (width - len(row))] for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        device = self.setup.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def _output(self, row: Sequence[int]) -> Ids:
        config = self.setup.bundle.transformer.config
        tokens = list(row[1 + len(config.decoder_prefix) :])
        return tuple(tokens[: tokens.index(config.eos_id)] if config.eos_id in tokens else tokens)


def contenders(setup: Setup) -> list[Contender]:
    """Export and load once a precision; int8 is no precision of theirs on a CPU.

    Raises:
        ModelError: the package is missing, or has no family for the network.
    """
    from gec.models.convert.huggingface import to_huggingface
    from gec.models.convert.output import needs

    needs("transformers")
    from transformers import AutoModelForSeq2SeqLM
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    folder = setup.folder / "huggingface"
    to_huggingface(setup.bundle, folder)
    found: list[Contender] = []
    for precision in setup.precisions:
        if precision in DTYPES:
            model = AutoModelForSeq2SeqLM.from_pretrained(
                folder,
                dtype=DTYPES[precision],
                local_files_only=True,
                trust_remote_code=False,
            )
            model = model.to(setup.device).eval()
            found += [
                HuggingFace(model, setup, *search, precision) for search in setup.searches().items()
            ]
    return found
