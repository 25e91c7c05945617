"""``gec.load``: the composition root that puts a bundle's network behind a Corrector."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.correct.corrector import Corrector
from gec.correct.needless import Budget
from gec.correct.opinion import SecondOpinion
from gec.correct.options import Options
from gec.decoding.parts import Parts
from gec.decoding.strategies import parse
from gec.errors import ConfigError, ModelError
from gec.extras import missing
from gec.models.load.device import count_gpus as count_gpus
from gec.models.load.device import device_of as device_of
from gec.models.load.device import type_of
from gec.models.native.threads import use as use_threads

if TYPE_CHECKING:
    from gec.decoding.model import Model
    from gec.generate.generator import Generator
    from gec.models.engines.inference import Network
    from gec.models.load.bundle import Contents
    from gec.models.network.transformer import Transformer
    from gec.text.spelling import Speller
    from gec.text.vocabulary import TextCodec

__all__ = [
    "count_gpus",
    "device_of",
    "in_training",
    "load",
    "load_generation_parts",
    "load_generator",
    "load_parts",
    "load_speller",
    "use_threads",
    "work_of",
]

_DTYPES = {"int8": "int8", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""Precisions and torch's names of them."""


def load(
    name_or_path: str = "en",
    *,
    device: str | None = None,
    precision: str | None = None,
    strategy: str = "iad",
    setting: str | None = None,
    tolerance: float | None = None,
    beam_size: int = 5,
    min_confidence: float | None = None,
    max_needless: Budget | None = None,
    rounds: int | None = None,
    dictionary: Collection[str] = (),
    spelling: bool = True,
) -> Corrector:
    """Load a model and return a ready Corrector.

    Args:
        name_or_path: a shipped bundle's name or a bundle folder.
        device: "cpu", "cuda", "cuda:1", ...; None takes CUDA where there is one.
        precision: "int8" (CPU only), "fp32", "bf16" or "fp16"; None takes the bundle's own (int8
            for the shipped one), on CUDA bf16.
        strategy: "iad", "greedy", "beam" or another of gec.decoding.strategies that the bundle has
            the parts for, with options if it needs some ("speculative-beam:gamma=3").
        setting: "precise", "balanced" (where None) or "thorough": few and sure, or more edits.
        tolerance: nats by which the model must prefer another token before a source token is
            given up (with "iad", "iad-paper"); None takes the setting's, 0 is lossless to "greedy".
        beam_size: hypotheses a sentence with "beam" and "speculative-beam".
        min_confidence: edits below this probability are left out; None takes the setting's.
        max_needless: instead, a share of the sentences without errors that may be changed.
        rounds: how often the model may read a sentence that it changed; None takes the setting's.
        dictionary: words never to be touched (whole words, case counts).
        spelling: let the bundle's dictionary correct misspelt words before the model.

    Raises:
        ModelError: no such bundle, it is broken or of another version, or lacks what the strategy
            needs.
        ConfigError: an unknown strategy, precision or device, or numbers out of range.
    """
    from gec.models.load import bundle

    parse(strategy)  # before the weights are read
    kind = type_of(device)
    precision = _precision(precision or bundle.precision_for(bundle.find(name_or_path), kind), kind)
    contents = bundle.read(name_or_path)
    model, facts = _verifier(contents, device or kind, precision)
    return Corrector(
        Parts(contents.folder.name, model),
        contents.subwords,
        strategy=strategy,
        settings=contents.settings,
        options=Options(
            setting=setting,
            tolerance=tolerance,
            min_confidence=min_confidence,
            max_needless=max_needless,
            rounds=rounds,
            dictionary=dictionary,
        ),
        beam_size=beam_size,
        speller=contents.speller if spelling else None,
        ngrams=contents.ngrams,
        second=_second_opinion(contents, device or kind, precision),
        calibration=contents.calibration,
        needless=contents.needless,
        about={"bundle": contents.folder.name, **facts, "precision": precision},
    )


def _second_opinion(contents: Contents, device: str, precision: str) -> SecondOpinion | None:
    """Return the network that a bundle asks about its edits, on the same device."""
    from gec.models.load import bundle

    if contents.second_opinion is None:
        return None
    other = bundle.read(contents.second_opinion)
    model, _ = _verifier(other, device, precision)
    return SecondOpinion(contents.second_opinion, model, other.subwords)


def _verifier(
    contents: Contents, device: str, precision: str
) -> tuple[Model, dict[str, str | int | float]]:
    """Return a bundle's network as a model: by the engine without torch, or by torch.

    And how many parameters it has, and where it runs.
    """
    from gec.models.load import light

    reason = light.refusal(contents.architecture, device, precision)
    if reason is None:
        network = light.read_network(contents.architecture, contents.weights, precision)
        return light.verifier_of(network), {"parameters": network.parameters, "device": "cpu"}
    try:
        import torch
    except ModuleNotFoundError:
        raise ModelError(f"{reason}: torch has to run it, and {missing('torch')}") from None

    from gec.models.engines.inference import prepare
    from gec.models.engines.quantization import count_parameters
    from gec.models.load.verifiers import verifier
    from gec.models.native.threads import tell_torch

    tell_torch()
    chosen = device_of(device)
    bundle = contents.with_network(device=chosen, dtype=getattr(torch, _DTYPES[precision]))
    parameters = count_parameters(bundle.network)
    model = verifier(prepare(bundle.network))
    return model, {"parameters": parameters, "device": str(chosen)}


def load_speller(name_or_path: str = "en") -> Speller:
    """Return a bundle's dictionary, without its network.

    Raises:
        ModelError: no such bundle, its dictionary is broken, or it has none.
    """
    from gec.models.load import bundle
    from gec.text.spelling import Speller

    folder = bundle.find(name_or_path)
    speller = Speller.load(folder)
    if speller is None:
        raise ModelError(f"{folder.name}: has no dictionary that knows words; name another bundle")
    return speller


def load_generator(
    name_or_path: str,
    *,
    device: str | None = None,
    precision: str | None = None,
    strategy: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: bool | None = None,
) -> Generator:
    """Load a bundle for translation, summarization or simplification.

    Args:
        name_or_path, device, precision: as for :func:`load`.
        strategy: a name of gec.decoding.strategies.STRATEGIES; None takes "auto", which gives
            greedy decoding's output by what is fastest; with options the strategy that is usual for
            the task, "iad" for simplification, else "greedy".
        options: the strategy's, by their names with underscores.
        split: cut texts into sentences; None does what the bundle was trained for.

    Raises:
        ModelError: no such bundle, it is broken, or lacks what the strategy needs.
        ConfigError: an unknown strategy, precision or device, an option of another strategy.
    """
    from gec.decoding.strategies import complete, make_decoder
    from gec.generate.generator import Generator
    from gec.models.load.bundle import find, read_config

    task = str(read_config(find(name_or_path)).get("task"))
    strategy = strategy or _unnamed(task, options or {})
    values = complete(strategy, options or {})  # before the weights are read
    parts, codec, about = load_generation_parts(name_or_path, device=device, precision=precision)
    return Generator(
        make_decoder(parts, strategy, values),
        codec,
        longest=parts.longest,
        split=parts.split if split is None else split,
        about=about | {"strategy": strategy},
    )


def load_parts(
    name_or_path: str, *, device: str | None = None, precision: str | None = None
) -> tuple[Parts, TextCodec | None, Mapping[str, str | int | float]]:
    """Return what any bundle offers to decode with, the codec of one that generates, and facts.

    Raises:
        ModelError, ConfigError: as :func:`load` and :func:`load_generator`.
    """
    from gec.models.load import bundle
    from gec.models.load.generation_contents import TASKS

    folder = bundle.find(name_or_path)
    if bundle.read_config(folder).get("task") in TASKS:
        return load_generation_parts(name_or_path, device=device, precision=precision)
    kind = type_of(device)
    precision = _precision(precision or bundle.precision_for(folder, kind), kind)
    model, facts = _verifier(bundle.read(name_or_path), device or kind, precision)
    parts = Parts(folder.name, model, usual="iad")
    return parts, None, {"bundle": folder.name, **facts, "precision": precision}


def _unnamed(task: str, options: Mapping[str, Any]) -> str:
    """Return the strategy if none is named, which may have options."""
    from gec.decoding.strategies import named, usual

    return "auto" if all(map(named("auto").takes, options)) else usual(task)


def load_generation_parts(
    name_or_path: str, *, device: str | None = None, precision: str | None = None
) -> tuple[Parts, TextCodec, dict[str, str | int]]:
    """Return what a bundle offers to decode with, its codec, and facts about it.

    Raises:
        ModelError, ConfigError: as :func:`load_generator`.
    """
    from gec.models.load import generation_contents, light
    from gec.models.load.bundle import find, precision_for

    kind = type_of(device)
    precision = _precision(precision or precision_for(find(name_or_path), kind), kind)
    if kind == "cpu":
        contents = generation_contents.read(name_or_path)
        found = light.generation_parts(contents, precision)
        if found is not None:
            parts, parameters = found
            about = _about_generation(contents.config, parts.name, parameters, "cpu", precision)
            return parts, contents.vocabulary, about
    import torch

    from gec.models.engines.inference import prepare
    from gec.models.engines.quantization import count_parameters
    from gec.models.load import generation
    from gec.models.native.threads import tell_torch

    tell_torch()
    chosen = device_of(device)
    dtype = getattr(torch, _DTYPES[precision])
    bundle = generation.load(name_or_path, device=chosen, dtype=dtype)
    parameters = count_parameters(bundle.network)
    about = _about_generation(bundle.config, bundle.name, parameters, str(chosen), precision)
    networks: list[Network] = [bundle.network, *bundle.smaller.values()]
    networks += [bundle.nat] if bundle.nat is not None else []
    for network in networks:
        prepare(network)
    return bundle.parts(), bundle.vocabulary, about


def _about_generation(
    config: Mapping[str, Any], name: str, parameters: int, device: str, precision: str
) -> dict[str, str | int]:
    return {
        "bundle": name,
        "task": config["task"],
        "parameters": parameters,
        "device": device,
        "precision": precision,
    }


def work_of(
    parts: Parts, name: str, values: Mapping[str, Any], sources: Sequence[Sequence[int]]
) -> list[tuple[int, int, int]]:
    """Decode one by one; return (passes, operations, bytes) of the verifier and smaller models.

    Raises:
        ModelError: the strategy needs a part whose work is not counted.
    """
    from gec.decoding.strategies import make_decoder
    from gec.models.engines.operations import counted

    counting, models = counted(parts)
    make_decoder(counting, name, values).decode(sources, batch_size=1)
    return [(m.total.passes, m.total.flops, m.total.bytes) for m in models]


def in_training(network: Transformer, packed: str) -> Corrector:
    """Return a Corrector around a network that is being trained, with its data's speller."""
    from gec.models.engines.verifier import TransformerVerifier
    from gec.text.spelling import Speller
    from gec.text.subwords import Subwords

    folder = Path(packed)
    return Corrector(
        TransformerVerifier(network), Subwords.load(folder), speller=Speller.load(folder)
    )


def _precision(name: str, device: str) -> str:
    """Return a precision that can be computed in on a type of device."""
    if name not in _DTYPES:
        raise ConfigError(f"unknown precision {name!r}, expected one of {', '.join(_DTYPES)}")
    if name == "int8" and device != "cpu":
        raise ConfigError(f"int8 runs on a CPU only, not on {device}: take bf16 or fp32")
    return name
