"""Our decoding in Hugging Face's ``generate``.

- :func:`generate`: input-guided aggressive decoding (Ge et al. 2022, Algorithm 1) of a
  sequence-to-sequence model, token for token its greedy output, in batches;
- :func:`input_guided`: the same as a ``custom_generate`` strategy of ``model.generate``.

The library's own prompt lookup searches the decoder's tokens only, so it cannot copy the encoder's
input, and its assisted decoding takes one sentence at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.copy import unique_suffix_match
from gec.decoding.model import Model
from gec.decoding.state import State
from gec.errors import ConfigError
from gec.models.convert.transformers_model import HuggingFaceModel
from gec.models.load.prefixes import Prefixed


class InputDrafter(Drafter):
    """Copies the source after a unique suffix match, from sources that hold special tokens.

    As :class:`gec.decoding.drafters.copy.CopyDrafter`, but what the source has around its words is
    not for the output: it is left out before it is searched.
    """

    def __init__(self, special: Collection[int]) -> None:
        self._special = frozenset(special)

    def propose(self, state: State) -> list[list[int]]:
        drafts: list[list[int]] = []
        for row in state.rows:
            words = [token for token in row.source if token not in self._special]
            # a first token that is forced, or that the model learnt, is special as well
            said = [token for token in row.tokens if token not in self._special]
            end = unique_suffix_match([-1, *words], [-1, *said])
            drafts.append([] if end is None else [*words[end:], state.eos_id])
        return drafts


def generate(
    model: Any, input_ids: Tensor, attention_mask: Tensor | None = None, **settings: Any
) -> Tensor:
    """Return the greedy output of a sequence-to-sequence model, decoded from drafts of its input.

    Args:
        model: an ``AutoModelForSeq2SeqLM`` in evaluation mode.
        input_ids, attention_mask: [B, S], as its tokenizer makes them, padded on the right.
        settings: for the model's own ``generate``: ``max_new_tokens``, ...

    Returns:
        Ids [B, T] as ``model.generate(..., num_beams=1, do_sample=False)`` returns them.

    Raises:
        ConfigError: settings ask for what is not greedy decoding.
    """
    found: Tensor = model.generate(
        input_ids=input_ids,
        attention_mask=attention_mask,
        custom_generate=input_guided(input_ids, attention_mask),
        **{"num_beams": 1, "do_sample": False} | settings,
    )
    return found


def input_guided(
    input_ids: Tensor, attention_mask: Tensor | None = None, *, draft: bool = True
) -> Callable[..., Tensor]:
    """Return a decoding strategy for ``model.generate(..., custom_generate=input_guided(ids))``.

    The library hands a strategy the encoder's output, not its input: hence the ids here.

    Args:
        input_ids, attention_mask: [B, S], the same as for ``generate``.
        draft: False decodes token by token with the same code, to compare.
    """
    kept = torch.ones_like(input_ids) if attention_mask is None else attention_mask
    sources = [
        tuple(token for token, keep in zip(ids, row, strict=True) if keep)
        for ids, row in zip(input_ids.tolist(), kept.tolist(), strict=True)
    ]

    def strategy(
        model: Any,
        input_ids: Tensor,
        *,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        encoder_outputs: Any = None,
        **others: Any,
    ) -> Tensor:
        _check_greedy(generation_config, stopping_criteria, others)
        encoded = None
        if encoder_outputs is not None and len(encoder_outputs[0]) == len(sources):
            states = encoder_outputs[0]
            encoded = {s: x[k.bool()] for s, x, k in zip(sources, states, kept, strict=True)}
        adapter = HuggingFaceModel(
            model, whole=True, encoded=encoded, processors=logits_processor or None
        )
        loop, fed = _begin(adapter, input_ids)
        special = {adapter.bos_id, adapter.eos_id, generation_config.pad_token_id}
        special |= {generation_config.bos_token_id, generation_config.forced_bos_token_id}
        room = generation_config.max_length - input_ids.shape[1]
        decoder = Decoder(
            loop,
            InputDrafter(special - {None}) if draft else NoDraft(),
            limit=LengthLimit(0, room),
        )
        found = decoder.decode(sources, batch_size=len(sources))
        rows = [
            [*fed, *best.tokens, *([] if best.truncated else [adapter.eos_id])]
            for best, *_ in found
        ]
        return adapter.padded(rows)[0]

    return strategy


def _begin(adapter: HuggingFaceModel, decoder_ids: Tensor) -> tuple[Model, list[int]]:
    """Return the model behind what the decoder is to be fed first, and that; one for all rows."""
    rows: list[list[int]] = decoder_ids.tolist()
    if any(row != rows[0] for row in rows):
        raise ConfigError("input_guided needs the same decoder_input_ids for all rows")
    fed = rows[0]
    adapter.bos_id = fed[-1]
    return (Prefixed(adapter, (), fed[:-1]) if fed[1:] else adapter), fed


def _check_greedy(generation: Any, stopping: Any, others: Mapping[str, Any]) -> None:
    """Raise ConfigError where the settings ask for more than greedy decoding of tokens."""
    asked = {
        "num_beams": generation.num_beams not in (None, 1),
        "do_sample": bool(generation.do_sample),
        "num_return_sequences": generation.num_return_sequences not in (None, 1),
        "return_dict_in_generate": bool(generation.return_dict_in_generate),
        "streamer": others.get("streamer") is not None,
        "assistant_model": others.get("assistant_model") is not None,
    }
    if names := [name for name, is_so in asked.items() if is_so]:
        raise ConfigError(f"input_guided decodes greedily and returns ids: leave out {names[0]}")
    known = ("MaxLengthCriteria", "EosTokenCriteria")
    strange = [type(c).__name__ for c in stopping or [] if type(c).__name__ not in known]
    if strange:
        raise ConfigError(f"input_guided ends at EOS or the length limit, not by {strange[0]}")
