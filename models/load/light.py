"""Networks for the engine without torch, and whether it runs one.

The environment variable GEC_ENGINE chooses: "light" or "torch". Without it the light engine runs
what it can: networks on a CPU in int8 or float32 that the C library serves
(:func:`gec.models.native.network.serves`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.decoding.model import Model
from gec.decoding.parts import Parts
from gec.decoding.strategies import usual
from gec.errors import ConfigError, ModelError
from gec.models.engines.light import LightVerifier, light_verifier
from gec.models.engines.light_blocks import LightBlocks, remembering_verifier
from gec.models.engines.light_heads import LightHeads, LightHeadsVerifier
from gec.models.load.bundle import WEIGHTS
from gec.models.load.generation_contents import GenerationContents, limits, words_of
from gec.models.load.prefixes import prefixed
from gec.models.native import tensors
from gec.models.native.library import describe, library
from gec.models.native.network import Config, NativeNetwork, serves, serves_drafter
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig

if TYPE_CHECKING:
    from gec.models.engines.inference import Network

VARIABLE = "GEC_ENGINE"
ENGINES = ("light", "torch")
PRECISIONS = ("int8", "fp32")
"""What the light engine computes in."""


def refusal(config: Config, device: str, precision: str) -> str | None:
    """Return why torch has to run a network on a type of device; None: the light engine does.

    Raises:
        ConfigError: GEC_ENGINE names no engine.
        ModelError: GEC_ENGINE asks for the light engine, and it cannot run the network.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked and asked not in ENGINES:
        raise ConfigError(f"{VARIABLE}={asked}: expected one of {', '.join(ENGINES)}")
    if asked == "torch":
        return f"{VARIABLE}=torch"
    reason = _reason(config, device, precision)
    if reason and asked == "light":
        raise ModelError(f"{VARIABLE}=light: {reason}")
    return reason


def _reason(config: Config, device: str, precision: str) -> str | None:
    if device != "cpu":
        return f"without torch networks run on a CPU, not on {device}"
    if precision not in PRECISIONS:
        return f"without torch networks run in {' and '.join(PRECISIONS)}, not in {precision}"
    if library() is None:
        return f"kernels {describe()}"
    if reason := serves(config):
        return f"the network cannot be run: {reason}"
    return None


def read_network(
    config: Config, path: Path, precision: str, nat: NatConfig | None = None
) -> NativeNetwork:
    """Read a network that the light engine runs; with ``nat`` it is one that drafts blocks.

    Raises:
        ModelError: the file at ``path`` is none of its weights, or broken.
    """
    found = library()
    assert found is not None, "refusal() says so"
    state = tensors.read(path)
    try:
        return NativeNetwork(config, state, found, quantized=precision == "int8", nat=nat)
    except ValueError as error:
        raise ModelError(f"cannot load {path}: {error}") from error


def from_torch(network: Network, precision: str, nat: NatConfig | None = None) -> NativeNetwork:
    """Return a network of torch's as one that the light engine runs, its weights copied.

    With ``nat`` it is one that drafts blocks.

    Raises:
        ModelError: they hold NaN, or it was made ready for inference.
    """
    found = library()
    assert found is not None, "refusal() says so"
    state = {name: t.detach().float().cpu().numpy() for name, t in network.state_dict().items()}
    try:
        return NativeNetwork(network.config, state, found, quantized=precision == "int8", nat=nat)
    except ValueError as error:
        raise ModelError(f"the network cannot be run without torch: {error}") from error


def generation_parts(contents: GenerationContents, precision: str) -> tuple[Parts, int] | None:
    """Return what a bundle offers to decode with, and how many weights its verifier has.

    None: a part of it needs torch: an early exit, a network that the light engine does not run.

    Raises:
        ModelError: its weights are broken.
    """
    folder, smaller = contents.folder, contents.smaller()
    architectures = [contents.architecture, *smaller.values()]
    drafter = contents.drafter()
    beside = "early_exit" in contents.config
    if drafter is not None:
        beside = beside or serves_drafter(*drafter) is not None
        architectures.append(drafter[0])
    if beside or any(refusal(config, "cpu", precision) for config in architectures):
        return None
    network = read_network(contents.architecture, contents.weights, precision)
    drafting = [
        read_network(config, folder / "smaller" / name / WEIGHTS, precision)
        for name, config in smaller.items()
    ]
    drafting.sort(key=lambda network: network.parameters, reverse=True)
    model, blocks = verifier_of(network), None
    if drafter is not None:
        remembering = None
        if drafter[1].shared_encoder:
            model = remembering = remembering_verifier(
                network, keeps_output=drafter[1].output_states
            )
        path = folder / "drafter" / WEIGHTS
        blocks = LightBlocks(
            read_network(drafter[0], path, precision, drafter[1]), drafter[1], remembering
        )
    heads = None
    if "heads" in contents.config:
        plain = model if isinstance(model, LightVerifier) else light_verifier(network)
        heads = LightHeadsVerifier(plain, _heads(folder, contents.config["heads"], network.width))
    limit, longest, split = limits(contents.config, model.max_positions)
    parts = Parts(
        folder.name,
        model,
        blocks,
        heads,
        limit=limit,
        longest=longest,
        split=split,
        smaller=tuple(verifier_of(network) for network in drafting),
        words=words_of(contents.vocabulary),
        usual=usual(str(contents.config.get("task"))),
    )
    return parts, network.parameters


def _heads(folder: Path, settings: Any, width: int) -> LightHeads:
    path = folder / "heads.safetensors"
    try:
        return LightHeads(tensors.read(path), width=width, **settings)
    except (ModelError, TypeError) as error:
        raise ModelError(f"cannot load {path}: {error}") from error


def runs(model: object) -> bool:
    """Whether the light engine runs a model of the loop's."""
    return isinstance(getattr(model, "model", model), LightVerifier)


def verifier_of(network: NativeNetwork) -> Model:
    """Return the network as the loop's model, with the prefixes its settings name."""
    model = light_verifier(network)
    config = network.config
    return prefixed(model, config) if isinstance(config, TransformerConfig) else model
