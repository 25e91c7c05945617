"""A toy language pair and tiny bundles for the tests of what generates."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from fake_models import tiny_network

from gec.models.load.generation import GenerationBundle
from gec.models.network.heads import Heads
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import TransformerConfig
from gec.text.byte_pairs import BytePairs
from gec.text.subwords import BYTE_OF
from gec.text.vocabulary import PretrainedVocabulary, Vocabulary

WORDS = {
    "one": "eins", "two": "zwei", "dogs": "Hunde", "cats": "Katzen", "the": "die", "see": "sehen",
    "big": "große", "eat": "essen", "and": "und", "birds": "Vögel",
}  # fmt: skip

RECIPE = """
name = "toy"
task = "translation"
source_language = "en"
target_language = "de"

[data]
vocabulary = 320
longest = 40
train = [{ source = "train.en", target = "train.de", licence = "CC0" }]
dev = [{ source = "dev.tsv", licence = "CC0" }]

[network]
width = 32
heads = 4
ffn_width = 64
encoder_layers = 1
decoder_layers = 1
max_positions = 64
dropout = 0.1

[drafter]
block = 8
smallest_block = 2
DRAFTER

[heads]
count = 3
hidden = 32

[distill]
beam_size = 2
batch_size = 16

[schedule]
batch_tokens = 400
optimizer = "muon"
learning_rate = 6e-3
precision = "32-true"
validate_every = "1h"
save_every = "20s"
snapshots = 2

[budget]
teacher = "40s"
verifier = "30s"
drafter = "40s"
heads = "20s"
"""


def sentence(rng: random.Random) -> tuple[str, str]:
    words = [rng.choice(list(WORDS)) for _ in range(rng.randint(2, 7))]
    return " ".join(words) + ".", " ".join(WORDS[word] for word in words) + "."


def write_corpora(folder: Path, count: int = 200) -> None:
    """Write train.en, train.de, dev.tsv; dev has other sentences."""
    rng = random.Random(5)
    pairs = list(dict.fromkeys(sentence(rng) for _ in range(count)))
    held, train = pairs[:20], pairs[20:]
    (folder / "train.en").write_text("".join(f"{s}\n" for s, _ in train), encoding="utf-8")
    (folder / "train.de").write_text("".join(f"{t}\n" for _, t in train), encoding="utf-8")
    (folder / "dev.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in held), encoding="utf-8")


def vocabulary(size: int = 300) -> Vocabulary:
    rng = random.Random(1)
    return Vocabulary.train((text for _ in range(50) for text in sentence(rng)), size=size)


def random_bundle(
    *, nat: bool = True, heads: bool = True, shared: bool = False
) -> GenerationBundle:
    """Return a bundle of random weights with everything a strategy may need."""
    words = vocabulary()
    settings = {"vocab_size": len(words), "max_positions": 64}
    network = tiny_network(3, **settings, tie_embeddings=False).float()
    config = {
        "name": "toy", "task": "translation", "source_language": "en", "target_language": "de",
        "network": network.config.to_dict(), "longest": 30,
    }  # fmt: skip
    bundle = GenerationBundle("toy", config, network, words)
    torch.manual_seed(4)
    if nat:
        drafter = TransformerConfig.from_dict(network.config.to_dict() | {"positions": "learned"})
        bundle.nat = NatTransformer(drafter, NatConfig(block=8, shared_encoder=shared)).eval()
    if heads:
        bundle.heads = Heads(3, network.config.width, 16).eval()
    return bundle


def byte_pairs() -> BytePairs:
    """Return a decoder's vocabulary: three special tokens, all bytes, a few merges."""
    merges = [("t", "h"), ("Ġ", "th"), ("Ġth", "e"), ("Ġ", "d"), ("o", "g"), ("Ġd", "og")]
    pieces = ["<|end|>", "<|start|>", "<|stop|>", *sorted(BYTE_OF), *map("".join, merges)]
    return BytePairs.of({piece: i for i, piece in enumerate(pieces)}, merges)


def deep_bundle(task: str = "summarization") -> GenerationBundle:
    """Return a decoder alone of random weights, which often copies, heads and two smaller ones."""
    words = PretrainedVocabulary(byte_pairs())
    network = tiny_llama(5, len(words), layers=3)
    config = {
        "name": "deep", "task": task, "source_language": "en", "target_language": "en",
        "network": network.config.to_dict(), "longest": 50, "split": False,
        "limit": {"ratio": 0.5, "extra": 9},
    }  # fmt: skip
    made = GenerationBundle("deep", config, network, words)
    made.smaller = {
        "small": tiny_llama(6, len(words), width=16, heads=2, kv_heads=1, layers=1),
        "medium": tiny_llama(5, len(words), layers=2),
    }
    made.heads = Heads(3, network.config.width, 16).half().float().eval()
    return made


def tiny_llama(seed: int, entries: int, **settings: int) -> Llama:
    """Return a random decoder whose embedding outweighs what attention adds."""
    shape = {"width": 48, "heads": 6, "kv_heads": 2, "ffn_width": 64, "layers": 2} | settings
    config = LlamaConfig(vocab_size=entries, max_positions=160, separator=(7, 9), **shape)
    torch.manual_seed(seed)
    network = Llama(config)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.25 if parameter.ndim > 1 else 0.5)
        with torch.no_grad():  # float16 holds them
            parameter.copy_(parameter.half())
    return network.eval()
