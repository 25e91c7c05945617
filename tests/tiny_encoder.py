"""A BERT whose weights are the same everywhere: numpy's oldest generator has not changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WORDS = "a the cat cats sat sits on in mat mats big very he she go goes home . ,".split()


def make(folder: Path) -> str:
    """Write an encoder of three layers with its tokenizer, as transformers saves them."""
    import torch
    import transformers

    vocabulary = folder / "vocab.txt"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary.write_text("\n".join([*special, *WORDS, "##s"]))
    transformers.BertTokenizerFast(str(vocabulary)).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(WORDS) + 6, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=24,
    )  # fmt: skip
    model = transformers.BertModel(config)
    random = np.random.RandomState(7)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            values = random.normal(scale=0.6, size=tuple(parameter.shape))
            parameter.copy_(torch.tensor(values + (name.endswith("LayerNorm.weight"))))
    model.save_pretrained(folder)
    return str(folder)
