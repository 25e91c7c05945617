"""Bundles: a folder with ``config.json``, ``model.safetensors``, ``tokenizer.json`` and the card.

``inflections.bin``, the speller's ``speller.bin`` and the language model ``ngrams.bin`` are
optional; bundles of the first format hold ``inflections.tsv``, ``words.tsv.gz`` and
``misspellings.tsv.gz`` instead (:mod:`gec.text.tables`). A converted
bundle names its foreign tokenizer in ``config.json`` (:mod:`gec.models.load.foreign`).

:func:`read` reads all but the weights and needs no torch; :func:`load` reads the network, too, as
torch has it.

Loading a bundle executes nothing: JSON and safetensors only. A bundle is untrusted: whatever its
files hold, loading it gives a bundle or a ModelError, and takes no more memory than a small
multiple of the files (docs/security.md). Weights are stored in float16 or int8 and computed in the
precision asked for; ``precision`` in ``config.json`` is the one for a CPU.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gec.correct.confidence import Calibration
from gec.correct.needless import Needless, read_kinds
from gec.correct.options import BALANCED, Setting
from gec.errors import ConfigError, ModelError
from gec.models.load.foreign import ForeignSubwords
from gec.models.load.places import BUNDLES, find, shipped
from gec.models.load.sizes import check_sizes
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.transformer_config import TransformerConfig
from gec.text.byte_pairs import BytePairs
from gec.text.ngrams import NGrams
from gec.text.packing import pack_tables
from gec.text.spelling import Speller
from gec.text.subwords import Subwords, WordCodec
from gec.untrusted import read_json

if TYPE_CHECKING:
    import torch

    from gec.models.engines.inference import Network
    from gec.models.network.transformer import Transformer

__all__ = [
    "BUNDLES",
    "FORMAT",
    "PRECISIONS",
    "Bundle",
    "Contents",
    "architecture_of",
    "check_vocabulary",
    "find",
    "is_corrector",
    "load",
    "precision_for",
    "read",
    "read_config",
    "save",
    "update",
    "write_config",
]

FORMAT = 2
_READABLE = (1, 2)  # 1: no tables that are mapped
WEIGHTS = "model.safetensors"
PRECISIONS = ("int8", "fp32", "bf16", "fp16")


def _settings(values: dict[str, dict[str, Any]] | None = None) -> dict[str, Setting]:
    """Return the named settings; there always is one for callers that ask for none."""
    return {BALANCED: Setting()} | {
        name: Setting(**numbers) for name, numbers in (values or {}).items()
    }


@dataclass(frozen=True, slots=True)
class Bundle:
    """A loaded model with what it needs to be used.

    Attributes:
        name: the folder's name.
        config: ``config.json`` whole: format, name, task, language, network, settings, confidence.
        network: the Transformer with its weights, in evaluation mode.
        subwords: its vocabulary.
        speller: the dictionary in front of the model, if there is one.
        ngrams: the language model behind it, if there is one.
        settings: what an edit must overcome, by name; there always is "balanced".
        calibration: how evidence becomes confidence.
        needless: how sure it is of needless edits, by kind of text.
    """

    name: str
    config: dict[str, Any]
    network: Network
    subwords: WordCodec
    speller: Speller | None = None
    ngrams: NGrams | None = None
    settings: dict[str, Setting] = field(default_factory=_settings)
    calibration: Calibration = field(default_factory=Calibration)
    needless: Mapping[str, Needless] = field(default_factory=dict)

    @property
    def transformer(self) -> Transformer:
        """The network if it is an encoder-decoder; another kind raises ModelError."""
        from gec.models.network.transformer import Transformer

        if not isinstance(self.network, Transformer):
            raise ModelError(f"{self.name} is a decoder alone: this needs an encoder and a decoder")
        return self.network


def is_corrector(folder: Path) -> bool:
    """Whether a folder holds a bundle that corrects."""
    return (folder / "config.json").is_file() and read_config(folder).get("task") == "gec"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle holds beside its weights.

    Attributes:
        folder: where it lies; its name is the bundle's.
        config, subwords, speller, ngrams, settings, calibration, needless: as of :class:`Bundle`.
        architecture: the network's settings, checked against the file of its weights.
        second_opinion: the shipped bundle whose network is asked about edits, if there is one.
    """

    folder: Path
    config: dict[str, Any]
    architecture: TransformerConfig | LlamaConfig
    subwords: WordCodec
    speller: Speller | None
    ngrams: NGrams | None
    settings: dict[str, Setting]
    calibration: Calibration
    needless: Mapping[str, Needless]
    second_opinion: str | None = None

    @property
    def weights(self) -> Path:
        """The file of the network's weights."""
        return self.folder / WEIGHTS

    def with_network(
        self, *, device: torch.device | str = "cpu", dtype: torch.dtype | None = None
    ) -> Bundle:
        """Read the weights; return the bundle with its network in torch, float32 by default.

        Raises:
            ModelError: the weights are not the network's, or broken.
        """
        import torch

        from gec.models.load.weights import read_network

        network = read_network(self.architecture, self.weights, dtype or torch.float32)
        return Bundle(
            self.folder.name,
            self.config,
            network.to(device),
            self.subwords,
            self.speller,
            self.ngrams,
            self.settings,
            self.calibration,
            self.needless,
        )


def load(
    name_or_path: str, *, device: torch.device | str = "cpu", dtype: torch.dtype | None = None
) -> Bundle:
    """Load a bundle with its network in torch, float32 by default.

    Raises:
        ModelError: it does not exist, is incomplete, broken or of another format version.
    """
    return read(name_or_path).with_network(device=device, dtype=dtype)


def read(name_or_path: str) -> Contents:
    """Read a bundle but for its weights.

    Raises:
        ModelError: as of :func:`load`.
    """
    folder = find(name_or_path)
    config = read_config(folder)
    try:
        settings = _settings(config.get("settings", {}))
    except (AttributeError, TypeError, ConfigError) as error:
        raise ModelError(f"{folder / 'config.json'}, settings: {error}") from error
    try:
        calibration = Calibration(**config.get("confidence", {}))
    except (AttributeError, TypeError, ConfigError) as error:
        raise ModelError(f"{folder / 'config.json'}, confidence: {error}") from error
    try:
        needless = read_kinds(config.get("needless", {}))
    except ConfigError as error:
        raise ModelError(f"{folder / 'config.json'}, needless: {error}") from error
    second = config.get("second_opinion")
    if second is not None and not (isinstance(second, str) and shipped(second)):
        raise ModelError(
            f"{folder / 'config.json'}, second_opinion: no shipped bundle is called {second!r}"
        )
    architecture = architecture_of(config["network"], folder / WEIGHTS)
    foreign = config.get("tokenizer")
    subwords = _codec(folder, architecture, foreign)
    check_vocabulary(folder, len(subwords), architecture, exactly=not foreign)
    return Contents(
        folder,
        config,
        architecture,
        subwords,
        Speller.load(folder),
        NGrams.load(folder),
        settings,
        calibration,
        needless,
        second,
    )


def architecture_of(values: dict[str, Any], weights: Path) -> TransformerConfig | LlamaConfig:
    """Return a network's settings, checked against the file that holds its weights.

    Raises:
        ModelError: settings that make no sense, or the file is too small for such a network.
    """
    if values.get("family") == "llama":
        llama = LlamaConfig.from_dict(values)
        llama.check_size(weights)
        return llama
    transformer = TransformerConfig.from_dict(values)
    check_sizes(transformer, weights)
    return transformer


def _codec(folder: Path, architecture: TransformerConfig | LlamaConfig, foreign: Any) -> WordCodec:
    if foreign:
        return ForeignSubwords.of(folder, foreign)
    return (BytePairs if isinstance(architecture, LlamaConfig) else Subwords).load(folder)


def read_config(folder: Path) -> dict[str, Any]:
    """Return a bundle's ``config.json``; one that cannot be used raises ModelError."""
    config = read_json(folder / "config.json")
    version = config.get("format") if isinstance(config, dict) else None
    if version not in _READABLE:
        raise ModelError(
            f"{folder} has bundle format {version!r}, this version reads {FORMAT}: "
            "install a matching gec or convert the bundle"
        )
    if not isinstance(config.get("network"), dict):
        raise ModelError(f"{folder / 'config.json'} has no network settings")
    return cast(dict[str, Any], config)


def precision_for(folder: Path, device: str) -> str:
    """Return the precision to run a bundle in if none is asked for, on a type of device."""
    if device == "cuda":
        return "bf16"
    precision: str = read_config(folder).get("precision", "fp32")
    if precision not in PRECISIONS:
        raise ModelError(f"{folder / 'config.json'}: unknown precision {precision!r}")
    return precision


def check_vocabulary(
    folder: Path, entries: int, config: TransformerConfig | LlamaConfig, *, exactly: bool = True
) -> None:
    """Raise ModelError if the tokenizer's size is not the network's.

    Not ``exactly``: foreign networks may have more ids than tokens, to make a round number.
    """
    size = config.vocab_size
    if entries > size or (exactly and entries < size):
        raise ModelError(f"{folder}: tokenizer.json has {entries} entries, config.json says {size}")


def save(bundle: Bundle, folder: Path, *, dtype: torch.dtype | None = None) -> None:
    """Write a bundle, its weights in float16 or ``dtype``.

    ``config.json`` comes last, so that a broken write is not taken for a bundle.
    """
    import torch

    from gec.models.load.weights import write_weights

    folder.mkdir(parents=True, exist_ok=True)
    bundle.subwords.save(folder)
    if bundle.speller:
        bundle.speller.save(folder)
    pack_tables(folder)
    if bundle.ngrams:
        bundle.ngrams.save(folder)
    write_weights(bundle.network, folder / WEIGHTS, dtype or torch.float16)
    precision = {"precision": "int8"} if dtype == torch.int8 else {}
    write_config(bundle.config | precision, folder)


def write_config(config: Mapping[str, Any], folder: Path) -> None:
    """Write ``config.json`` with the format's version."""
    text = json.dumps(dict(config) | {"format": FORMAT}, indent=2, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def update(
    folder: Path,
    calibration: Calibration,
    settings: Mapping[str, Mapping[str, float]],
    needless: Mapping[str, Needless],
) -> None:
    """Write what ``gec calibrate`` found into a bundle's ``config.json``; other settings stay."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["confidence"] = asdict(calibration)
    config["settings"] = config.get("settings", {}) | settings
    config["needless"] = {kind: found.to_dict() for kind, found in sorted(needless.items())}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)
