"""NAT drafters of the GAD release: the same drafts, and gec generate with one beside its verifier.

The network is written here anew, from what is known of the release (Ge et al. 2022; Xia et al.
2022), on the classes of the real fairseq.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.cli import main
from gec.models.convert.fairseq import from_fairseq
from gec.models.convert.fairseq_drafter import with_drafter
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.load import generation
from gec.models.network.nat import NatTransformer

if "GEC_FAIRSEQ" not in os.environ:  # set where the environment must have it
    pytest.importorskip("fairseq", reason="fairseq has an environment of its own: make test")

from fake_fairseq import JOINED, LEARNED, PRE, SMALL, Toy, corrected, sentences

from gec.models.convert.fairseq_compat import load_fairseq

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    load_fairseq()
from fairseq.data.data_utils import collate_tokens
from fairseq.models.transformer import TransformerDecoder, TransformerEncoder, TransformerModel

pytestmark = pytest.mark.filterwarnings("ignore")

BLOCK = 5
COPY = {"src_embedding_copy": True}
RELEASE = JOINED | LEARNED | COPY | {"activation_fn": "gelu"}
"""What the release's training command sets."""
CASES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "as released": ("block", RELEASE, True),
    "block_base, sinusoids": ("block_base", JOINED | COPY, True),
    "block_6e6d512, pre-norm": ("block_6e6d512", RELEASE | PRE, True),
    "no copies": ("block", JOINED | LEARNED, True),
    "two dictionaries": ("block", LEARNED | COPY, False),
}


class Decoder(TransformerDecoder):  # type: ignore[misc]
    """[prefix ; k x <unk>] in one pass: no causal mask, places before every layer, copies."""

    def __init__(self, args: Any, dictionary: Any, embedding: nn.Embedding) -> None:
        super().__init__(args, dictionary, embedding)
        self.mask = dictionary.unk()
        if getattr(args, "src_embedding_copy", False):
            self.copy_attn = nn.Linear(self.embed_dim, self.embed_dim, bias=False)

    def forward(self, tokens: Tensor, encoded: dict[str, Any], source_places: Tensor) -> Tensor:
        places, x = self.embed_positions(tokens), self.embed_tokens(tokens)
        unseen = encoded["encoder_padding_mask"][0]
        if hasattr(self, "copy_attn"):
            words = encoded["encoder_embedding"][0]
            scores = self.copy_attn(places) @ (words + source_places).transpose(1, 2)
            shares = scores.masked_fill(unseen[:, None], -math.inf).softmax(-1)
            x = torch.where((tokens == self.mask)[..., None], shares @ words, x)
        x, places = x.transpose(0, 1), places.transpose(0, 1)
        for layer in self.layers:
            x, *_ = layer(
                x + places,
                encoded["encoder_out"][0],
                unseen,
                self_attn_mask=None,
                self_attn_padding_mask=tokens == self.padding_idx,
            )
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        logits: Tensor = self.output_layer(x.transpose(0, 1))
        return logits


class Released(TransformerModel):  # type: ignore[misc]
    """An encoder whose embeddings are not scaled, and the decoder above."""

    @classmethod
    def build_encoder(cls, args: Any, dictionary: Any, embedding: nn.Embedding) -> Any:
        encoder = TransformerEncoder(args, dictionary, embedding)
        encoder.embed_scale = 1.0
        return encoder

    @classmethod
    def build_decoder(cls, args: Any, dictionary: Any, embedding: nn.Embedding) -> Any:
        return Decoder(args, dictionary, embedding)

    def forward(self, source: Tensor, tokens: Tensor) -> Tensor:
        lengths = (source != self.encoder.padding_idx).sum(1)
        encoded = self.encoder(source, lengths)
        logits: Tensor = self.decoder(tokens, encoded, self.encoder.embed_positions(source))
        return logits


class Drafter:
    """A released drafter for a verifier, random or trained a little."""

    def __init__(self, toy: Toy, arch: str, options: dict[str, Any]) -> None:
        self.toy = toy
        self.settings = {"arch": arch, **SMALL, **options}
        torch.manual_seed(2)
        self.model = Released.build_model(Namespace(**self.settings), toy.task)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.15)
        self.model.eval()

    def batch(self, rows: Sequence[Sequence[int]]) -> Tensor:
        padded: Tensor = collate_tokens([torch.tensor(row) for row in rows], 1)
        return padded

    @torch.no_grad()
    def logits(
        self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]], k: int
    ) -> Tensor:
        """Return the blocks' [B, k, V]; ids are fairseq's, without EOS."""
        tokens = self.batch([[*output, *[3] * k] for output in outputs])
        found = self.model(self.batch([[*source, 2] for source in sources]), tokens)
        blocks = [row[len(output) :][:k] for row, output in zip(found, outputs, strict=True)]
        return torch.stack(blocks)

    def train(self, steps: int = 150) -> None:
        """Teach it to predict blocks behind prefixes of random lengths."""
        dictionary = self.toy.task.target_dictionary
        optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.model.train()
        for step in range(steps):
            texts = sentences(32, seed=5000 + step)
            sources = [[*self.toy.source_ids(words), 2] for words in texts]
            targets = [[*(dictionary.index(w) for w in corrected(words)), 2] for words in texts]
            cuts = [(7 * step + n) % len(target) for n, target in enumerate(targets)]
            fed = [[*t[:cut], *[3] * BLOCK] for t, cut in zip(targets, cuts, strict=True)]
            hidden = [
                [*[1] * cut, *t[cut:][:BLOCK], *[1] * (cut + BLOCK - len(t))]
                for t, cut in zip(targets, cuts, strict=True)
            ]
            logits = self.model(self.batch(sources), self.batch(fed))
            loss = F.cross_entropy(logits.transpose(1, 2), self.batch(hidden), ignore_index=1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.model.eval()

    def save(self, path: Path, *, old_style: bool = False) -> Path:
        task = self.toy.task_settings | {
            "_name": "translation_lev_modified",
            "noise": "block_mask",
            "block_size": BLOCK,
        }
        args = {k: v for k, v in task.items() if k != "_name"} | self.settings
        state = {
            "args": Namespace(task=task["_name"], **args) if old_style else None,
            "cfg": None if old_style else _configuration(Namespace(**self.settings), task),
            "model": self.model.state_dict(),
        }
        torch.save(state, path)
        return path


def _configuration(model: Namespace, task: dict[str, Any]) -> Any:
    """Return settings as fairseq's trainer stored them then: omegaconf's, with a Namespace."""
    from omegaconf import OmegaConf, _utils

    made = OmegaConf.create({"task": task, "model": None})
    with mock.patch.object(_utils, "is_primitive_type", return_value=True):
        made.model = model
    return made


def verifier(folder: Path, *, joined: bool = True, **options: Any) -> Toy:
    toy = Toy(folder, "transformer", (JOINED if joined else {}) | options, joined=joined)
    toy.save()
    return toy


@pytest.mark.parametrize("case", CASES)
def test_drafts_as_the_release(case: str, tmp_path: Path) -> None:
    arch, options, joined = CASES[case]
    toy = verifier(tmp_path / "toy", joined=joined)
    theirs = Drafter(toy, arch, options)
    path = theirs.save(tmp_path / "drafter.pt", old_style=case == "as released")
    bundle = from_fairseq([toy.folder / "model.pt"], toy.folder, bpe="none", task="translation")
    _, network = with_drafter(bundle, path, toy.folder)
    assert network.nat.block == BLOCK
    assert network.nat.copies_source == ("src_embedding_copy" in options)

    dictionary = toy.task.target_dictionary
    texts = sentences(5, seed=21, longest=9)
    prefixes = [[], ["a"], ["c", "j", "e", "f"], [], ["b", "<unk>", "a", "<unk>"]]
    outputs = [[dictionary.index(word) for word in prefix] for prefix in prefixes]
    encoders = toy.source_ids, bundle.subwords.encode
    rows, sources = ([encode(words) for words in texts] for encode in encoders)
    blocks = TransformerBlocks(network)
    batches = [[0], [1], [2], [3], [4], [0, 1, 2, 3, 4], [4, 0], [2, 1, 3]]
    for batch, k in itertools.product(batches, (1, 3, BLOCK)):
        some = [outputs[n] for n in batch]
        memory = blocks.start([sources[n] for n in batch])
        logits = theirs.logits([rows[n] for n in batch], some, k)
        tokens, logprobs = blocks.draft(memory, some, k)
        shared = logits.clone()
        shared[..., dictionary.pad()] = -math.inf  # never put out here
        best = shared.log_softmax(-1).max(-1)
        assert tokens == best.indices.tolist()
        torch.testing.assert_close(torch.tensor(logprobs), best.values, atol=1e-4, rtol=0)
        found = _logits(network, [sources[n] for n in batch], some, k)[..., : len(dictionary)]
        found[..., dictionary.pad()] = logits[..., dictionary.pad()]
        torch.testing.assert_close(found, logits, atol=1e-4, rtol=0)
    # rows that come and go
    memory = blocks.join(blocks.start(sources[:2]), blocks.start(sources[2:]))
    memory = blocks.select(memory, [3, 0, 4])
    tokens, _ = blocks.draft(memory, [outputs[n] for n in (3, 0, 4)], BLOCK)
    alone = [blocks.draft(blocks.start([sources[n]]), [outputs[n]], BLOCK)[0] for n in (3, 0, 4)]
    assert tokens == [row for [row] in alone]


@torch.no_grad()
def _logits(
    network: NatTransformer,
    sources: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    k: int,
) -> Tensor:
    source = collate_tokens([torch.tensor([*row, 2]) for row in sources], 1)
    mask = (source != 1)[:, None, None]
    caches = network.caches(network.encode(source, mask)) + network.copied_source(source)
    tokens = collate_tokens([torch.tensor([*row, *[3] * k]) for row in outputs], 1)
    lengths = torch.tensor([len(row) for row in outputs])
    logits: Tensor = network.output(network.blocks(tokens, lengths, caches, mask, k))
    return logits


@pytest.mark.parametrize("case", ["as released", "two dictionaries"])
def test_generates_with_a_released_drafter(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trained pair, converted by one command; GAD loses no token of greedy."""
    arch, options, joined = CASES[case]
    toy = verifier(tmp_path / "toy", joined=joined)
    toy.train()
    toy.save()
    drafter = Drafter(toy, arch, options | {"max_source_positions": 50})  # fewer than the verifier
    drafter.train()
    path, out = drafter.save(tmp_path / "drafter.pt"), tmp_path / "bundle"
    command = ["convert", "fairseq", str(toy.folder / "model.pt"), str(out)]
    command += ["--data", str(toy.folder), "--bpe", "none", "--drafter", str(path)]
    assert main(command) == 0
    told = capsys.readouterr()
    assert f"proposes {BLOCK} tokens" in told.out
    assert "at most 50 tokens" in told.err
    config = json.loads((out / "config.json").read_text())
    assert (config["task"], config["network"]["max_positions"]) == ("translation", 50)

    texts = sentences(30, seed=33)
    (tmp_path / "in.txt").write_text("".join(" ".join(words) + "\n" for words in texts))
    printed = {}
    for strategy in ("greedy", "gad", "gad++"):
        options_ = ["--strategy", strategy, "--device", "cpu", "--batch-size", "4"]
        assert main(["generate", "--model", str(out), *options_, str(tmp_path / "in.txt")]) == 0
        printed[strategy] = capsys.readouterr().out
    assert printed["gad"] == printed["greedy"]
    assert len(printed["gad++"].splitlines()) == len(texts)
    right = [line.split() for line in printed["greedy"].splitlines()]
    assert sum(a == corrected(b) for a, b in zip(right, texts, strict=True)) > 10
    loaded = generation.load(str(out))
    assert loaded.nat is not None
    assert _accepted(loaded, texts) > len(texts)


def _accepted(loaded: generation.GenerationBundle, texts: Sequence[Sequence[str]]) -> int:
    """Return how many drafted tokens stand."""
    from gec.decoding.strategies import make_decoder

    decoder = make_decoder(loaded.parts(), "gad")
    sources = [loaded.vocabulary.encode(" ".join(words)) for words in texts]
    return sum(step.accepted for found in decoder.decode(sources) for step in found[0].steps)
