"""Bundles that generate: translation, summarization, simplification.

A folder as in :mod:`gec.models.load.bundle`, whose ``tokenizer.json`` is a
:class:`~gec.text.vocabulary.Vocabulary` (with ``inflections.tsv`` beside it a corrector's,
:class:`~gec.text.vocabulary.CorrectorVocabulary`), with optional parts that speed decoding up:

- ``drafter/``: ``config.json`` and ``model.safetensors`` of a network that drafts for this one
  (``kind``: "nat"), with the fingerprint of the vocabulary they share; a converted model may have
  one, too;
- ``smaller/NAME/``: the same of smaller models that draft token by token (``kind``:
  "autoregressive"), any number of them;
- ``heads.safetensors``: extra heads for blockwise decoding, described in ``config.json`` (heads).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file

from gec.decoding.decoder import LengthLimit
from gec.decoding.parts import Parts
from gec.errors import ConfigError, ModelError
from gec.models.engines.eager import RememberingEngine
from gec.models.engines.exit_verifier import EarlyExitVerifier
from gec.models.engines.heads_verifier import HeadsVerifier
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.engines.quantization import check_finite, count_parameters
from gec.models.engines.verifier import Verifier
from gec.models.load.bundle import check_vocabulary, read_config, write_config
from gec.models.load.foreign import ForeignSubwords, TextTokenizer
from gec.models.load.places import find
from gec.models.load.sizes import check_sizes
from gec.models.load.verifiers import engine, verifier
from gec.models.load.weights import (
    laid_out,
    read_tensors,
    read_weights,
    reason,
    write_weights,
)
from gec.models.network.heads import Heads
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.text.vocabulary import OwnVocabulary, TextCodec, load_vocabulary

TASKS = ("translation", "summarization", "simplification")


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
    network: Transformer
    vocabulary: TextCodec
    nat: NatTransformer | None = None
    heads: Heads | None = None
    smaller: dict[str, Transformer] = field(default_factory=dict)

    @property
    def limit(self) -> LengthLimit:
        """The limit of an output's length."""
        return LengthLimit(**self.config.get("limit", {}))

    def parts(self) -> Parts:
        """Return what strategies decode with.

        Raises:
            ModelError: the drafter or the heads do not fit the network.
        """
        model, runs = verifier(self.network), engine(self.network)
        blocks = None
        if self.nat is not None:
            remembering = None
            if self.nat.nat.shared_encoder:
                remembering = RememberingEngine(self.network)
                model = Verifier(remembering)
            blocks = TransformerBlocks(self.nat, remembering)
        heads = HeadsVerifier(runs, self.heads) if self.heads else None
        most = model.max_positions - 1
        longest = min(self.config.get("longest", most), most)
        split = self.config.get("split", True)
        layers = self.config.get("early_exit")
        return Parts(
            self.name,
            model,
            blocks,
            heads,
            self.limit,
            longest,
            split,
            smaller=tuple(verifier(n) for n in largest_first(self.smaller.values())),
            early=EarlyExitVerifier(runs, layers) if layers else None,
        )


def _own(bundle: GenerationBundle) -> OwnVocabulary:
    if not isinstance(bundle.vocabulary, OwnVocabulary):
        raise ModelError(
            f"{bundle.name} is a converted model with a tokenizer of its own: heads, smaller "
            "models and training need one that was trained here"
        )
    return bundle.vocabulary


def fingerprint(vocabulary: TextCodec) -> str:
    """Return a hash of any bundle's vocabulary; it differs if ids mean other tokens."""
    if isinstance(vocabulary, OwnVocabulary):
        return vocabulary.fingerprint
    foreign = cast(TextTokenizer, vocabulary)
    tokens = json.dumps([foreign.token(i) for i in range(len(foreign))])
    return hashlib.sha256(tokens.encode()).hexdigest()[:16]


def largest_first(networks: Iterable[Transformer]) -> list[Transformer]:
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
    folder = find(name_or_path)
    config = read_config(folder)
    if config.get("task") not in TASKS:
        raise ModelError(
            f"{folder} is a bundle for {config.get('task')!r}, not for {', '.join(TASKS)}: "
            "use gec correct"
        )
    _check_config(folder, config)
    architecture = TransformerConfig.from_dict(config["network"])
    check_sizes(architecture, folder / "model.safetensors")
    foreign = config.get("tokenizer")
    vocabulary: TextCodec = (
        ForeignSubwords.of(folder, foreign).tokenizer if foreign else load_vocabulary(folder)
    )
    check_vocabulary(folder, len(vocabulary), architecture, exactly=not foreign)
    with laid_out():
        network = Transformer(architecture)
    read_weights(network, folder / "model.safetensors", dtype)
    bundle = GenerationBundle(folder.name, config, network.to(device).eval(), vocabulary)
    if (folder / "drafter" / "config.json").is_file():
        bundle.nat = _load_drafter(folder / "drafter", bundle, dtype).to(device).eval()
    if "heads" in config:
        bundle.heads = _load_heads(folder, config, architecture, dtype).to(device).eval()
    for path in sorted(folder.glob("smaller/*/config.json")):
        bundle.smaller[path.parent.name] = _load_smaller(path.parent, bundle, dtype).to(device)
    return bundle


def _check_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Raise ModelError if what the decoding is told by ``config.json`` makes no sense."""
    where = folder / "config.json"
    try:
        LengthLimit(**config.get("limit", {}))
    except (TypeError, ConfigError) as error:
        raise ModelError(f"{where}, limit: {error}") from error
    for name in ("longest", "early_exit"):
        if name in config and (type(config[name]) is not int or config[name] < 1):
            raise ModelError(f"{where}: {name} must be a positive integer, not {config[name]!r}")
    if not isinstance(config.get("split", True), bool):
        raise ModelError(f"{where}: split must be true or false, not {config['split']!r}")


def _load_drafter(folder: Path, bundle: GenerationBundle, dtype: torch.dtype) -> NatTransformer:
    config, network_config = _drafter_config(folder, bundle, "nat")
    nat = NatConfig.from_dict(config.get("nat", {}))
    check_sizes(network_config, folder / "model.safetensors", encoder=not nat.shared_encoder)
    with laid_out():
        network = NatTransformer(network_config, nat)
    read_weights(network, folder / "model.safetensors", dtype)
    return network


def _load_smaller(folder: Path, bundle: GenerationBundle, dtype: torch.dtype) -> Transformer:
    _, network_config = _drafter_config(folder, bundle, "autoregressive")
    check_sizes(network_config, folder / "model.safetensors")
    with laid_out():
        network = Transformer(network_config)
    read_weights(network, folder / "model.safetensors", dtype)
    return network.eval()


def _drafter_config(
    folder: Path, bundle: GenerationBundle, kind: str
) -> tuple[dict[str, Any], TransformerConfig]:
    """Return a drafter's ``config.json``, and its network's that shares the verifier's ids."""
    config = read_config(folder)
    if config.get("kind") != kind:
        raise ModelError(f"{folder}: unknown kind of drafter {config.get('kind')!r}, not {kind!r}")
    if config.get("vocabulary") != fingerprint(bundle.vocabulary):
        raise ModelError(
            f"{folder} was made for another vocabulary than {bundle.name}'s: "
            "train the drafter on the verifier's own prepared data"
        )
    network_config = TransformerConfig.from_dict(config["network"])
    verifier = bundle.network.config
    for name in ("vocab_size", "pad_id", "bos_id", "eos_id"):
        mine, theirs = getattr(network_config, name), getattr(verifier, name)
        if mine != theirs:
            raise ModelError(f"{folder}: {name} is {mine}, the verifier's is {theirs}")
    return config, network_config


def _load_heads(
    folder: Path, config: Mapping[str, Any], network: TransformerConfig, dtype: torch.dtype
) -> Heads:
    path = folder / "heads.safetensors"
    dtype = torch.float32 if dtype == torch.int8 else dtype
    state = {name: tensor.to(dtype) for name, tensor in read_tensors(path).items()}
    try:
        check_finite(state)
        count = config["heads"]["count"]
        if type(count) is not int or count > len(state):  # each head has several tensors
            raise ValueError(f"{len(state)} tensors for {count!r} heads")
        with laid_out():
            heads = Heads(width=network.width, **config["heads"])
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
        state = bundle.heads.state_dict()
        tensors = {name: tensor.to(dtype).contiguous() for name, tensor in state.items()}
        save_file(tensors, folder / "heads.safetensors")
        config["heads"] = {"count": bundle.heads.count, "hidden": bundle.heads.hidden}
    if bundle.nat:
        save_drafter(bundle.nat, folder, bundle.vocabulary, dtype=dtype)
    for name, network in bundle.smaller.items():
        part = folder / "smaller" / name
        part.mkdir(parents=True, exist_ok=True)
        write_weights(network, part / "model.safetensors", dtype)
        about = {
            "kind": "autoregressive",
            "network": network.config.to_dict(),
            "vocabulary": _own(bundle).fingerprint,
        }
        write_config(about, part)
    write_config(config, folder)


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
