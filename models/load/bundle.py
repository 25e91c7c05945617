"""Bundles: a folder with ``config.json``, ``model.safetensors``, ``tokenizer.json`` and the card.

``inflections.tsv``, the speller's ``words.tsv.gz`` and ``misspellings.tsv.gz``, and the language
model ``ngrams.bin`` are optional. A converted bundle names its foreign tokenizer in ``config.json``
(:mod:`gec.models.load.foreign`).

Loading one executes nothing: JSON and safetensors only. A bundle is untrusted: whatever its files
hold, loading it gives a bundle or a ModelError, and takes no more memory than a small multiple of
the files (docs/security.md). Weights are stored in float16 or int8 and computed in the precision
asked for; ``precision`` in ``config.json`` is the one for a CPU.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from gec.correct.confidence import Calibration
from gec.correct.options import BALANCED, Setting
from gec.errors import ConfigError, DataError, ModelError
from gec.models.engines.inference import Network, check_weights
from gec.models.engines.quantization import (
    STORED,
    adopt,
    check_finite,
    check_stored,
    compress,
    expand,
    quantize,
)
from gec.models.fetch import store, wheel
from gec.models.load.foreign import ForeignSubwords
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.text.byte_pairs import BytePairs
from gec.text.ngrams import NGrams
from gec.text.spelling import Speller
from gec.text.subwords import Subwords, WordCodec
from gec.untrusted import check_folder, guarded, read_json, size_of

FORMAT = 1
BUNDLES = Path(__file__).parents[1] / "bundles"
PRECISIONS = ("int8", "fp32", "bf16", "fp16")
_MOST_LAYERS = 256  # of the encoder or the decoder
_LARGEST_TABLE = 1 << 26  # numbers of the sines and cosines, which are in no file


def _settings(values: dict[str, dict[str, Any]] | None = None) -> dict[str, Setting]:
    """Return the named settings; there always is one for where none is asked for."""
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
    """

    name: str
    config: dict[str, Any]
    network: Network
    subwords: WordCodec
    speller: Speller | None = None
    ngrams: NGrams | None = None
    settings: dict[str, Setting] = field(default_factory=_settings)
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def transformer(self) -> Transformer:
        """The network where it is an encoder-decoder; another kind raises ModelError."""
        if not isinstance(self.network, Transformer):
            raise ModelError(f"{self.name} is a decoder alone: this needs an encoder and a decoder")
        return self.network


def find(name_or_path: str) -> Path:
    """Return the folder of a shipped bundle (``en``), a fetched or installed one, or of a path.

    Raises:
        ModelError: there is none, or it holds links out of it, devices or pipes.
    """
    places: tuple[Callable[[str], Path | None], ...] = (
        BUNDLES.joinpath, Path, wheel.installed, store.fetched,
    )  # fmt: skip
    for place in places:
        if (folder := place(name_or_path)) is None:
            continue
        with suppress(OSError):  # a name too long for a file
            if (folder / "config.json").is_file():
                if folder.parent != BUNDLES:  # an installer may link the files of a package
                    check_folder(folder)
                return folder
    if name_or_path in store.available():
        raise ModelError(f"the model {name_or_path} is not here yet: gec model get {name_or_path}")
    shipped = ", ".join(sorted(p.parent.name for p in BUNDLES.glob("*/config.json"))) or "none"
    raise ModelError(
        f"no model bundle at {name_or_path!r} (a folder with config.json); shipped: {shipped}"
    )


def is_corrector(folder: Path) -> bool:
    """Whether a folder holds a bundle that corrects."""
    return (folder / "config.json").is_file() and read_config(folder).get("task") == "gec"


def load(
    name_or_path: str, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Bundle:
    """Load a bundle.

    Raises:
        ModelError: it does not exist, is incomplete, broken or of another format version.
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
    architecture = _architecture(config["network"], folder / "model.safetensors")
    foreign = config.get("tokenizer")
    subwords = _codec(folder, architecture, foreign)
    check_vocabulary(folder, len(subwords), architecture, exactly=not foreign)
    with laid_out():
        network: Network = (
            Llama(architecture)
            if isinstance(architecture, LlamaConfig)
            else Transformer(architecture)
        )
    read_weights(network, folder / "model.safetensors", dtype)
    return Bundle(
        folder.name,
        config,
        network.to(device).eval(),
        subwords,
        Speller.load(folder),
        NGrams.load(folder),
        settings,
        calibration,
    )


def _architecture(values: dict[str, Any], weights: Path) -> TransformerConfig | LlamaConfig:
    """Return a network's settings, checked against the file that holds its weights."""
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


class _Unset(TorchFunctionMode):
    """Modules are made without initial values: their weights are read next.

    On the meta device an initialiser does nothing but import torch's compiler, for a second.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in (Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_):
            return args[0]
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def laid_out() -> Iterator[None]:
    """Make networks without memory for their weights, for :func:`read_weights`."""
    with torch.device("meta"), _Unset():
        yield


def read_config(folder: Path) -> dict[str, Any]:
    """Return a bundle's ``config.json``; one that cannot be used raises ModelError."""
    config = read_json(folder / "config.json")
    version = config.get("format") if isinstance(config, dict) else None
    if version != FORMAT:
        raise ModelError(
            f"{folder} has bundle format {version!r}, this version reads {FORMAT}: "
            "install a matching gec or convert the bundle"
        )
    if not isinstance(config.get("network"), dict):
        raise ModelError(f"{folder / 'config.json'} has no network settings")
    return cast(dict[str, Any], config)


def precision_for(folder: Path, device: torch.device) -> str:
    """Return the precision a bundle is to be run in where none is asked for."""
    if device.type == "cuda":
        return "bf16"
    precision: str = read_config(folder).get("precision", "fp32")
    if precision not in PRECISIONS:
        raise ModelError(f"{folder / 'config.json'}: unknown precision {precision!r}")
    return precision


def check_sizes(config: TransformerConfig, path: Path, *, encoder: bool = True) -> None:
    """Refuse a network that the file at ``path`` is too small for, before it takes memory.

    Args:
        encoder: False: the network has none of its own.

    Raises:
        ModelError: it has more weights than the file has bytes, or layers or positions without end.
    """
    layers = max(config.encoder_layers, config.decoder_layers)
    if layers > _MOST_LAYERS:
        raise ModelError(f"a network of {layers} layers: at most {_MOST_LAYERS} are read")
    places = config.position_offset + config.max_positions
    if places * config.width > _LARGEST_TABLE:
        raise ModelError(f"{places} positions of width {config.width} are too many to be read")
    weights, size = _weights(config, encoder), size_of(path, "load")
    if weights > size:
        raise ModelError(
            f"cannot load {path}: size mismatch: {size} bytes for at least {weights} weights"
        )


def _weights(config: TransformerConfig, encoder: bool) -> int:
    """Return how many weights the large matrices of a network have."""
    width = config.width

    def layer(heads: int, ffn_width: int, attentions: int) -> int:
        inner = heads * (config.head_width or width // heads)
        return 4 * attentions * inner * width + (2 + config.gated) * width * ffn_width

    tables = config.vocab_size * (1 if config.tie_embeddings else 2)
    tables += config.source_vocab_size or 0
    tables += config.max_positions * (1 + encoder) * (config.positions == "learned")
    decoder_heads = config.decoder_heads or config.heads
    decoder_ffn_width = config.decoder_ffn_width or config.ffn_width
    return (
        tables * width
        + encoder * config.encoder_layers * layer(config.heads, config.ffn_width, 1)
        + config.decoder_layers * layer(decoder_heads, decoder_ffn_width, 2)
    )


def check_vocabulary(
    folder: Path, entries: int, config: TransformerConfig | LlamaConfig, *, exactly: bool = True
) -> None:
    """Raise ModelError where the tokenizer's size is not the network's.

    Not ``exactly``: foreign networks may have more ids than tokens, to make a round number.
    """
    size = config.vocab_size
    if entries > size or (exactly and entries < size):
        raise ModelError(f"{folder}: tokenizer.json has {entries} entries, config.json says {size}")


def read_weights(network: Network, path: Path, dtype: torch.dtype) -> None:
    """Load weights into a network made on the meta device; failure raises ModelError.

    With int8 it is a network for inference on a CPU (:mod:`gec.models.engines.quantization`).
    """
    state = read_tensors(path)
    try:
        check_stored(state)
        if dtype == torch.int8 and any(t.dtype == torch.int8 for t in state.values()):
            adopt(network, state)
        else:
            _read_floats(network, expand(state), torch.float32 if dtype == torch.int8 else dtype)
    except (RuntimeError, KeyError, ValueError) as error:
        raise ModelError(f"cannot load {path}: {reason(error)}") from error
    network.restore_buffers()
    if dtype == torch.int8:
        quantize(network)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, of the types that weights are stored in.

    Raises:
        ModelError: it is no such file, or holds others.
    """
    size_of(path, "load")  # a pipe would be waited for
    with guarded(f"cannot load {path}"):
        state = load_file(path)
    for name, tensor in state.items():
        if tensor.dtype not in STORED:
            raise ModelError(f"cannot load {path}: {name} holds no weights but {tensor.dtype}")
    return state


def _read_floats(network: Network, state: dict[str, Tensor], dtype: torch.dtype) -> None:
    state = {name: tensor.to(dtype) for name, tensor in state.items()}
    check_finite(state)
    if network.config.tie_embeddings and "embedding.weight" in state:
        state["output.weight"] = state["embedding.weight"]
    network.load_state_dict(state, strict=True, assign=True)


def write_weights(network: Network, path: Path, dtype: torch.dtype) -> None:
    """Write a network's weights; tied ones once, and with int8 those of linear layers only.

    Raises:
        ModelError: it was made ready for inference (:mod:`gec.models.engines.inference`).
    """
    check_weights(network)
    if dtype == torch.int8:
        save_file(compress(network), path)
        return
    state = network.state_dict()
    if network.config.tie_embeddings:
        del state["output.weight"]
    save_file({name: t.to(dtype).contiguous() for name, t in state.items()}, path)


def save(bundle: Bundle, folder: Path, *, dtype: torch.dtype = torch.float16) -> None:
    """Write a bundle; ``config.json`` last, so that a broken write is not taken for a bundle."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle.subwords.save(folder)
    if bundle.speller:
        bundle.speller.save(folder)
    if bundle.ngrams:
        bundle.ngrams.save(folder)
    write_weights(bundle.network, folder / "model.safetensors", dtype)
    precision = {"precision": "int8"} if dtype == torch.int8 else {}
    write_config(bundle.config | precision, folder)


def write_config(config: Mapping[str, Any], folder: Path) -> None:
    text = json.dumps(dict(config) | {"format": FORMAT}, indent=2, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def update(
    folder: Path, calibration: Calibration, settings: Mapping[str, Mapping[str, float]]
) -> None:
    """Write a calibration, and the settings that are given, into a bundle's ``config.json``."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["confidence"] = asdict(calibration)
    config["settings"] = config.get("settings", {}) | settings
    part = path.with_suffix(".part")
    part.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)


def reason(error: Exception) -> str:
    """Return one line: the first, or the first detail where the first ends in a colon."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[1].strip() if lines[0].endswith(":") and lines[1:] else lines[0]


def export_main(args: argparse.Namespace) -> int:
    """``gec bundle RUN/last.ckpt OUT --data PACKED``: make a bundle of a training checkpoint.

    Of several checkpoints or bundles it is made of the mean of their weights (Wortsman et al. 2022,
    model soups: for runs that share their beginning).
    """
    packed = Path(args.data)
    subwords = Subwords.load(packed)
    networks = [_network(name, subwords) for name in args.checkpoints]
    first = networks[0]
    for name, network in zip(args.checkpoints, networks, strict=True):
        if network.config != first.config:
            raise ConfigError(f"{name} has another architecture than {args.checkpoints[0]}")
    mean = {
        key: torch.stack([n.state_dict()[key].float() for n in networks]).mean(0)
        for key in first.state_dict()
    }
    first.load_state_dict(mean)
    name = args.name or Path(args.out).name
    config = {
        "name": name,
        "task": "gec",
        "language": "en",
        "network": first.config.to_dict(),
        "settings": {BALANCED: {"tolerance": args.tolerance}},
    }
    parts = subwords, Speller.load(packed), NGrams.load(packed)
    dtype = torch.int8 if args.precision == "int8" else torch.float16
    save(Bundle(name, config, first.eval(), *parts), Path(args.out), dtype=dtype)
    return 0


def _network(name: str, subwords: WordCodec) -> Transformer:
    """Return the network of a checkpoint file or of a bundle."""
    path = Path(name)
    if not path.is_file():
        loaded = load(name)
        if loaded.subwords != subwords:
            raise ConfigError(f"bundle {name} has other subwords than the data")
        return loaded.transformer
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        network = Transformer(TransformerConfig.from_dict(state["config"]))
        network.load_state_dict(state["model"])
    except Exception as error:
        raise DataError(f"cannot read checkpoint {path}: {reason(error)}") from error
    return network
