"""BERTScore of sentences over an encoder that the user names, for metrics that weigh edits by it.

Zhang, Kishore, Wu, Weinberger and Artzi 2020, "BERTScore: Evaluating Text Generation with BERT"
(ICLR), without idf weights and without rescaling. Tokens are vectors of one layer, scaled to length
1. Every token of the candidate takes the most similar token of the reference, by the product of
their vectors; precision is the mean. Recall is the same with the two exchanged. As in the authors'
package bert-score, the tokens that a tokenizer puts around a sentence are taken but do not take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.errors import ConfigError, ModelError

if TYPE_CHECKING:
    import torch

LAYERS = {
    ("bert", 12): 9,
    ("bert", 24): 18,
    ("distilbert", 6): 5,
    ("roberta", 12): 10,
    ("roberta", 24): 17,
    ("xlm-roberta", 12): 9,
    ("xlm-roberta", 24): 17,
}
"""The layer that bert-score takes, by kind and number of layers; of other networks the last."""
BATCH = 32
PAIRS = 1024
"""Pairs whose sentences are kept as vectors at once."""


class BertScore:
    """F of pairs of sentences.

    Attributes:
        folder: an encoder with its tokenizer, as Hugging Face's transformers saves them.
        layer: from 1.
    """

    def __init__(self, folder: str, layer: int | None = None, *, device: str = "cpu") -> None:
        """Load an encoder.

        Raises:
            ModelError: no such folder, or transformers cannot read it.
            ConfigError: the network has no such layer.
        """
        if not Path(folder).is_dir():
            raise ModelError(f"no encoder at {folder!r} (a folder with config.json)")
        from transformers import AutoModel, AutoTokenizer

        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = AutoModel.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise ModelError(f"{folder} cannot be read: {error}") from error
        config = model.config
        if config.is_encoder_decoder:
            model = model.get_encoder()
        layers = int(config.num_hidden_layers)
        self.folder = folder
        self.layer = layer or LAYERS.get((config.model_type, layers), layers)
        if not 1 <= self.layer <= layers:
            raise ConfigError(f"{folder} has layers 1 to {layers}, no layer {self.layer}")
        self._model = model.to(device).float().eval()
        self._device = device
        self._longest = _longest(config, self._tokenizer)
        self._around = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}

    @property
    def settings(self) -> dict[str, object]:
        """What the signature says of it."""
        return {"encoder": Path(self.folder).name, "layer": self.layer}

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return F of every candidate and reference; 0 if one of them is empty."""
        found: list[float] = []
        for at in range(0, len(pairs), PAIRS):
            some = pairs[at : at + PAIRS]
            vectors = self._vectors(list(dict.fromkeys(text for pair in some for text in pair)))
            found += [_f(vectors[candidate], vectors[reference]) for candidate, reference in some]
        return found

    def _vectors(self, texts: Sequence[str]) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
        """Return of every text its tokens' vectors, [tokens, width], and which of them take."""
        import torch

        ids = {text: self._ids(text) for text in texts}
        found = {}
        for batch in _batches(sorted(texts, key=lambda text: len(ids[text]))):
            width = max(len(ids[text]) for text in batch)
            padded = torch.zeros(len(batch), max(width, 1), dtype=torch.long)
            mask = torch.zeros_like(padded)
            for row, text in enumerate(batch):
                padded[row, : len(ids[text])] = torch.tensor(ids[text], dtype=torch.long)
                mask[row, : len(ids[text])] = 1
            with torch.inference_mode():
                states = self._model(
                    input_ids=padded.to(self._device),
                    attention_mask=mask.to(self._device),
                    output_hidden_states=True,
                ).hidden_states[self.layer]
                states = torch.nn.functional.normalize(states, dim=-1).cpu()
            for row, text in enumerate(batch):
                take = torch.tensor([i not in self._around for i in ids[text]], dtype=torch.bool)
                found[text] = (states[row, : len(ids[text])].clone(), take)
        return found

    def _ids(self, text: str) -> list[int]:
        """Return a sentence's tokens; a byte-level vocabulary's first word gets its blank."""
        plain = text.strip()
        if plain and type(self._tokenizer).__name__.startswith(("Roberta", "GPT2")):
            plain = f" {plain}"
        ids = self._tokenizer(plain, truncation=True, max_length=self._longest)["input_ids"]
        return [int(token) for token in ids]


def _longest(config: Any, tokenizer: Any) -> int:
    """Return how many tokens the network reads; RoBERTa's positions begin behind the padding's."""
    positions = int(getattr(config, "max_position_embeddings", 512))
    if "roberta" in config.model_type:
        positions -= int(config.pad_token_id) + 1
    return min(positions, int(tokenizer.model_max_length))


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(texts), BATCH):
        yield texts[at : at + BATCH]


def _f(
    candidate: tuple[torch.Tensor, torch.Tensor], reference: tuple[torch.Tensor, torch.Tensor]
) -> float:
    (vectors, takes), (others, others_take) = candidate, reference
    if not (takes.any() and others_take.any()):
        return 0.0
    similar = vectors @ others.T  # [tokens of the candidate, tokens of the reference]
    precision = float(similar.max(dim=1).values[takes].mean())
    recall = float(similar.max(dim=0).values[others_take].mean())
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0
