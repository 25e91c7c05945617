"""Hugging Face models in our decoding loop.

- :func:`load_huggingface`: a folder as a corrector, whatever sequence-to-sequence model it holds;
- :class:`HuggingFaceModel`: meets the loop's protocol with any ``AutoModelForSeq2SeqLM``.

Our decoding in the library's ``generate`` is :mod:`gec.models.convert.transformers_generate`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gec.correct.corrector import Corrector
from gec.correct.options import Options, Setting
from gec.decoding.model import Model
from gec.errors import ModelError
from gec.models.convert.huggingface import from_huggingface
from gec.models.convert.huggingface_families import FAMILIES
from gec.models.convert.output import needs
from gec.models.engines.scores import TorchScores
from gec.models.load.foreign import of_huggingface, read_json
from gec.models.load.prefixes import Prefixed
from gec.models.load.verifiers import verifier

Processors = Callable[[Tensor, Tensor], Tensor]
_POSITIONS = ("max_position_embeddings", "n_positions", "max_decoder_position_embeddings")


def load_huggingface(
    folder: str | Path,
    *,
    device: str = "cpu",
    strategy: str = "iad",
    tolerance: float = 0.0,
    beam_size: int = 5,
    spacing: str = "plain",
    prefix: str = "",
    dictionary: Collection[str] = (),
) -> Corrector:
    """Return a corrector around a local Hugging Face folder.

    The families of :mod:`gec.models.convert.huggingface_families` run as our own Transformer;
    any other sequence-to-sequence model runs in the transformers library, slower but as exactly.

    Args:
        folder: ``config.json``, weights and tokenizer files; nothing is downloaded.
        device: where to run: "cpu", "cuda", ...
        strategy, tolerance, beam_size, dictionary: as for :func:`gec.load`.
        spacing: what text the model was trained on: "plain" or "tokenized".
        prefix: text that the model expects before every source ("grammar: ").

    Raises:
        ModelError: it cannot be read, is no sequence-to-sequence model, or has no tokenizer.
    """
    folder = Path(folder)
    kind = read_json(folder / "config.json").get("model_type")
    if kind in FAMILIES:
        bundle = from_huggingface(folder, spacing=spacing, prefix=prefix)
        network = bundle.network.to(device)
        model, subwords = verifier(network), bundle.subwords
        parameters = sum(p.numel() for p in network.parameters())
    else:
        theirs = _load(folder).to(device)
        foreign = subwords = of_huggingface(folder, spacing=spacing)
        wrapping = foreign.tokenizer.wrapping()
        if not wrapping or wrapping[-1] != theirs.config.eos_token_id:
            raise ModelError(f"the tokenizer of {folder} does not end a source with the EOS")
        model = wrapped(theirs, (*wrapping[:-1], *foreign.tokenizer.encode(prefix)))
        parameters = theirs.num_parameters()
    about: dict[str, str | int | float] = {
        "bundle": folder.name,
        "parameters": parameters,
        "device": device,
        "precision": "fp32",
    }
    return Corrector(
        model,
        subwords,
        strategy=strategy,
        settings={"balanced": Setting(tolerance if strategy == "iad" else 0.0)},
        options=Options(dictionary=dictionary),
        beam_size=beam_size,
        about=about,
    )


def _load(folder: Path) -> Any:
    needs("transformers")
    from transformers import AutoModelForSeq2SeqLM

    try:
        # without the last argument it asks on the terminal whether to run the folder's code
        model = AutoModelForSeq2SeqLM.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"transformers cannot load {folder}: {reason}") from error
    return model.float().eval()


# ----------------------------------------------------------------------------------------- adapter


@dataclass(slots=True)
class Memory:
    """What is kept of the rows between passes.

    Attributes:
        encoded: the encoder's output [B, S, D].
        mask: [B, S], 1 where it is no padding.
        fed: per row all tokens the decoder was fed, a rejected draft included.
        cache: keys and values of at least the places that no row has dropped; None: of none.
    """

    encoded: Tensor
    mask: Tensor
    fed: list[list[int]]
    cache: Any


class HuggingFaceModel:
    """Meets :class:`gec.decoding.model.Model` with any ``AutoModelForSeq2SeqLM``.

    Their models know no rows of different lengths, so a pass begins where the shortest row does
    and feeds the others' last tokens again: slower than our Transformer, but as exact.

    Args:
        model: in evaluation mode.
        source_prefix: ids before every source; EOS follows it.
        whole: sources come with all that the model wants around them, the EOS too.
        encoded: encoder outputs [S, D] of such sources that are known already.
        processors: changes scores [1, V] of what follows tokens [1, T], as the library's do.

    Raises:
        ModelError: it has no encoder, no decoder start token or not one EOS.
    """

    def __init__(
        self,
        model: Any,
        *,
        source_prefix: Sequence[int] = (),
        whole: bool = False,
        encoded: Mapping[tuple[int, ...], Tensor] | None = None,
        processors: Processors | None = None,
    ) -> None:
        config, generation = model.config, model.generation_config
        name = type(model).__name__
        if not config.is_encoder_decoder:
            raise ModelError(f"{name} has no encoder: only sequence-to-sequence models run here")
        if not isinstance(generation.decoder_start_token_id, int):
            raise ModelError(f"{name} has no decoder_start_token_id")
        if not isinstance(generation.eos_token_id, int):
            raise ModelError(f"{name} must have one eos_token_id, not {generation.eos_token_id!r}")
        self.model = model
        self.bos_id, self.eos_id = generation.decoder_start_token_id, generation.eos_token_id
        lengths = [getattr(config, name, None) for name in _POSITIONS]
        known = [n for n in lengths if isinstance(n, int) and n > 0]
        self.max_positions = min(known, default=4096) - len(source_prefix)
        pad = generation.pad_token_id
        self._pad = pad if isinstance(pad, int) else self.eos_id
        self._prefix = () if whole else tuple(source_prefix)
        self._suffix = () if whole else (self.eos_id,)
        self._encoded = encoded or {}
        self._processors = processors

    @property
    def threads(self) -> int:
        """How many threads of a CPU compute."""
        return torch.get_num_threads()

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]]) -> Memory:
        rows = [(*self._prefix, *source, *self._suffix) for source in sources]
        tokens, mask = self.padded(rows)
        if all(row in self._encoded for row in rows):
            width = tokens.shape[1]
            known = [self._encoded[row] for row in rows]
            encoded = torch.stack([F.pad(x, (0, 0, 0, width - len(x))) for x in known])
        else:
            encoder = self.model.get_encoder()
            encoded = encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        return Memory(encoded, mask, [[] for _ in rows], None)

    @torch.inference_mode()
    def verify(
        self, memory: Memory, tokens: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> TorchScores:
        for fed, start, new in zip(memory.fed, starts, tokens, strict=True):
            fed[start:] = new
        first = 0 if memory.cache is None else min(starts)
        block, _ = self.padded([fed[first:] for fed in memory.fed])
        logits = self._forward(memory, block, first)  # [B, T, V]
        # a row's new tokens are the last of what it was fed
        before = [start - first for start in starts]
        lengths = [len(fed) - first for fed in memory.fed]
        scores = TorchScores.padded(logits, lengths).after(before)
        return self._process(scores, memory, starts) if self._processors else scores

    @torch.inference_mode()
    def select(self, memory: Memory, rows: Sequence[int]) -> Memory:
        index = torch.tensor(rows, device=memory.encoded.device)
        if memory.cache is not None:
            memory.cache.reorder_cache(index)
        fed = [list(memory.fed[row]) for row in rows]
        return Memory(memory.encoded[index], memory.mask[index], fed, memory.cache)

    @torch.inference_mode()
    def join(self, memory: Memory, other: Memory) -> Memory:
        """Return both memories' rows; what the caches held is computed again."""
        width = max(memory.encoded.shape[1], other.encoded.shape[1])
        both = (memory, other)
        encoded = [F.pad(m.encoded, (0, 0, 0, width - m.encoded.shape[1])) for m in both]
        mask = [F.pad(m.mask, (0, width - m.mask.shape[1])) for m in both]
        return Memory(torch.cat(encoded), torch.cat(mask), memory.fed + other.fed, None)

    def _forward(self, memory: Memory, block: Tensor, first: int) -> Tensor:
        """Return the logits [B, T, V] of a block whose rows all begin at place ``first``."""
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        if memory.cache is None:
            memory.cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        if beyond := memory.cache.get_seq_length() - first:
            memory.cache.crop(-beyond)
        logits: Tensor = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.encoded),
            attention_mask=memory.mask,
            decoder_input_ids=block,
            past_key_values=memory.cache,
            use_cache=True,
        ).logits
        return logits

    def _process(self, scores: TorchScores, memory: Memory, starts: Sequence[int]) -> TorchScores:
        """Let the library's processors change every place's scores, as its own loop would."""
        assert self._processors is not None
        logits = scores.logits.float().clone()  # [B, T, V]
        for r, (fed, start) in enumerate(zip(memory.fed, starts, strict=True)):
            tokens = torch.tensor([fed], device=logits.device)
            for i in range(len(fed) - start):
                own = logits[r, i : i + 1]
                logits[r, i] = self._processors(tokens[:, : start + i + 1], own)[0]
        return TorchScores.padded(logits, scores.lengths)

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return ids and mask, both [B, longest]."""
        width = max(map(len, rows))
        ids = [[*row, *[self._pad] * (width - len(row))] for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        device = self.model.device
        shape = (len(rows), width)
        return (
            torch.tensor(ids, device=device, dtype=torch.long).view(shape),
            torch.tensor(mask, device=device, dtype=torch.long).view(shape),
        )


def wrapped(model: Any, source_prefix: Sequence[int] = ()) -> Model:
    """Return a model as the loop's, a forced first token of its settings included."""
    adapter = HuggingFaceModel(model, source_prefix=source_prefix)
    forced = model.generation_config.forced_bos_token_id
    if forced is None:
        return adapter
    outer = Prefixed(adapter, (), (adapter.bos_id,))
    outer.bos_id = forced
    return outer
