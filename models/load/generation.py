"""Bundles that generate: translation, summarization, simplification.

A folder as in :mod:`gec.models.load.bundle`. Its network is an encoder-decoder, whose
``tokenizer.json`` is a :class:`~gec.text.vocabulary.Vocabulary` (with ``inflections.tsv`` beside it
a corrector's, :class:`~gec.text.vocabulary.CorrectorVocabulary`), or a decoder alone (``family`` of
its ``network`` is "llama"), with a :class:`~gec.text.vocabulary.PretrainedVocabulary`. Optional
parts speed decoding up (a decoder alone has no early exit, and its drafter reads its states):

- ``drafter/``: ``config.json`` and ``model.safetensors`` of a network that drafts for this one
  (``kind``: "nat"), with the fingerprint of the vocabulary they share; a converted model may have
  one, too;
- ``smaller/NAME/``: the same of smaller models that draft token by token (``kind``:
  "autoregressive"), any number of them;
- ``heads.safetensors``: extra heads for blockwise decoding, described in ``config.json`` (heads).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from gec.decoding.decoder import LengthLimit
from gec.decoding.parts import Parts
from gec.decoding.strategies import usual
from gec.errors import ModelError
from gec.models.engines.eager import RememberingEngine
from gec.models.engines.exit_verifier import EarlyExitVerifier
from gec.models.engines.heads_verifier import HeadsVerifier
from gec.models.engines.inference import Network
from gec.models.engines.llama_engine import LlamaEngine, RememberingLlamaEngine
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.engines.quantization import check_finite, count_parameters
from gec.models.engines.verifier import Verifier
from gec.models.load.bundle import WEIGHTS, read_config, write_config
from gec.models.load.generation_contents import (
    TASKS,
    fingerprint,
    limits,
    read,
    words_of,
)
from gec.models.load.prefixes import prefixed
from gec.models.load.verifiers import engine, verifier
from gec.models.load.weights import (
    laid_out,
    read_network,
    read_tensors,
    read_weights,
    reason,
    write_weights,
)
from gec.models.network.heads import Heads
from gec.models.network.llama import Llama
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.text.vocabulary import OwnVocabulary, TextCodec

__all__ = [
    "TASKS",
    "GenerationBundle",
    "fingerprint",
    "largest_first",
    "load",
    "save",
    "save_drafter",
    "save_heads",
    "save_smaller",
]


@dataclass(slots=True)
class GenerationBundle:
    """A loaded model with what it needs to be used.

    Attributes:
        name: the folder's name.
        config: ``config.json`` whole: format, name, task, languages, network, ``longest`` (tokens
            of a source it was trained on), ``split`` (lines into sentences), ``limit``,
            ``early_exit`` (behind which decoder layer, if it was trained with one).
        network: the verifier, in evaluation mode.
        vocabulary: its subwords.
        nat: the non-autoregressive drafter, if there is one.
        heads: extra heads, if there are some.
        smaller: smaller networks by name.
    """

    name: str
    config: dict[str, Any]
    network: Network
    vocabulary: TextCodec
    nat: NatTransformer | None = None
    heads: Heads | None = None
    smaller: dict[str, Network] = field(default_factory=dict)

    @property
    def limit(self) -> LengthLimit:
        """The limit of an output's length."""
        return LengthLimit(**self.config.get("limit", {}))

    def parts(self) -> Parts:
        """Return what strategies decode with.

        Raises:
            ModelError: the drafter or the heads do not fit the network.
        """
        if isinstance(self.network, Transformer):
            parts = self._drafting(self.network)
        else:
            parts = self._alone(self.network)
        limit, longest, split = limits(self.config, parts.model.max_positions)
        return replace(
            parts,
            limit=limit,
            longest=longest,
            split=split,
            smaller=tuple(verifier(n) for n in largest_first(self.smaller.values())),
            words=words_of(self.vocabulary),
            usual=usual(str(self.config.get("task"))),
        )

    def _drafting(self, network: Transformer) -> Parts:
        """Return an encoder-decoder with what drafts for it in its own memory."""
        runs = engine(network)
        model = prefixed(Verifier(runs), network.config)
        blocks = None
        if self.nat is not None:
            remembering = None
            if self.nat.nat.shared_encoder:
                keeps = self.nat.nat.output_states
                remembering = RememberingEngine(network, keeps_output=keeps)
                model = Verifier(remembering)
            blocks = TransformerBlocks(self.nat, remembering)
        heads = HeadsVerifier(runs, self.heads) if self.heads else None
        layers = self.config.get("early_exit")
        early = EarlyExitVerifier(runs, layers) if layers else None
        return Parts(self.name, model, blocks, heads, early=early)

    def _alone(self, network: Llama) -> Parts:
        """Return a decoder alone, and what drafts from its states."""
        runs, blocks = LlamaEngine(network), None
        if self.nat is not None:
            keeps = self.nat.nat.output_states
            runs = remembering = RememberingLlamaEngine(network, keeps_output=keeps)
            blocks = TransformerBlocks(self.nat, remembering)
        heads = HeadsVerifier(runs, self.heads) if self.heads else None
        return Parts(self.name, Verifier(runs), blocks, heads)


def _own(bundle: GenerationBundle) -> OwnVocabulary:
    if not isinstance(bundle.vocabulary, OwnVocabulary):
        raise ModelError(
            f"{bundle.name} is a converted model with a tokenizer of its own: heads, smaller "
            "models and training need one that was trained here"
        )
    return bundle.vocabulary


def largest_first(networks: Iterable[Network]) -> list[Network]:
    """Return networks by their number of weights."""
    return sorted(networks, key=count_parameters, reverse=True)


def load(
    name_or_path: str, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> GenerationBundle:
    """Load a bundle with its drafter and heads.

    Raises:
        ModelError: it does not exist, is incomplete, broken, of another format version or for
            correcting; or its drafter was made for another vocabulary.
    """
    found = read(name_or_path)
    folder, config = found.folder, found.config
    network = read_network(found.architecture, folder / WEIGHTS, dtype).to(device)
    bundle = GenerationBundle(folder.name, config, network, found.vocabulary)
    if (drafter := found.drafter()) is not None:
        bundle.nat = _load_drafter(folder / "drafter", *drafter, dtype).to(device).eval()
    if "heads" in config:
        width = found.architecture.width
        bundle.heads = _load_heads(folder, config["heads"], width, dtype).to(device).eval()
    for name, own in found.smaller().items():
        path = folder / "smaller" / name / WEIGHTS
        bundle.smaller[name] = read_network(own, path, dtype).to(device)
    return bundle


def _load_drafter(
    folder: Path, config: TransformerConfig, nat: NatConfig, dtype: torch.dtype
) -> NatTransformer:
    with laid_out():
        network = NatTransformer(config, nat)
    read_weights(network, folder / "model.safetensors", dtype)
    return network


def _load_heads(folder: Path, settings: Mapping[str, Any], width: int, dtype: torch.dtype) -> Heads:
    path = folder / "heads.safetensors"
    dtype = torch.float32 if dtype == torch.int8 else dtype
    state = {name: tensor.to(dtype) for name, tensor in read_tensors(path).items()}
    try:
        check_finite(state)
        count = settings["count"]
        if type(count) is not int or count > len(state):  # each head has several tensors
            raise ValueError(f"{len(state)} tensors for {count!r} heads")
        with laid_out():
            heads = Heads(width=width, **settings)
        heads.load_state_dict(state, strict=True, assign=True)
    except (RuntimeError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"cannot load {path}: {reason(error)}") from error
    return heads


def save(bundle: GenerationBundle, folder: Path, *, dtype: torch.dtype = torch.float16) -> None:
    """Write a bundle; each ``config.json`` last, so that a broken write is not taken for one."""
    folder.mkdir(parents=True, exist_ok=True)
    _own(bundle).save(folder)
    write_weights(bundle.network, folder / "model.safetensors", dtype)
    config = dict(bundle.config)
    config.pop("heads", None)
    if bundle.heads:
        config["heads"] = _write_heads(bundle.heads, folder, dtype)
    if bundle.nat:
        save_drafter(bundle.nat, folder, bundle.vocabulary, dtype=dtype)
    for name, network in bundle.smaller.items():
        save_smaller(network, name, folder, bundle.vocabulary, dtype=dtype)
    write_config(config, folder)


def save_heads(heads: Heads, folder: Path, *, dtype: torch.dtype = torch.float16) -> None:
    """Write heads into the folder of the bundle whose states they read."""
    about = _write_heads(heads, folder, dtype)
    write_config(read_config(folder) | {"heads": about}, folder)


def _write_heads(heads: Heads, folder: Path, dtype: torch.dtype) -> dict[str, int]:
    """Write the heads' weights; return what ``config.json`` says of them."""
    state = heads.state_dict()
    tensors = {name: tensor.to(dtype).contiguous() for name, tensor in state.items()}
    save_file(tensors, folder / "heads.safetensors")
    return {"count": heads.count, "hidden": heads.hidden}


def save_smaller(
    network: Network,
    name: str,
    folder: Path,
    vocabulary: TextCodec,
    *,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write a smaller model into the folder of the bundle whose ids it shares."""
    part = folder / "smaller" / name
    part.mkdir(parents=True, exist_ok=True)
    write_weights(network, part / "model.safetensors", dtype)
    about = {
        "kind": "autoregressive",
        "network": network.config.to_dict(),
        "vocabulary": fingerprint(vocabulary),
    }
    write_config(about, part)


def save_drafter(
    nat: NatTransformer,
    folder: Path,
    vocabulary: TextCodec,
    *,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write a drafter into the folder of the bundle whose ids it shares."""
    drafter = folder / "drafter"
    drafter.mkdir(parents=True, exist_ok=True)
    write_weights(nat, drafter / "model.safetensors", dtype)
    about = {
        "kind": "nat",
        "network": nat.config.to_dict(),
        "nat": nat.nat.to_dict(),
        "vocabulary": fingerprint(vocabulary),
    }
    write_config(about, drafter)
