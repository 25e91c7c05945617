"""Networks of a given shape and random weights: what takes time does not depend on training.

A shape is written ``6+6x384`` (layers of encoder and decoder, width) or ``30x576`` (a decoder alone
of the Llama family), with options as in ``12+3x512:vocabulary=32000,ffn=1024``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import torch

from gec.decoding.model import Model
from gec.errors import ConfigError, ModelError
from gec.models.engines.inference import Network, prepare
from gec.models.engines.quantization import count_parameters, quantize
from gec.models.load import light
from gec.models.load.verifiers import verifier
from gec.models.network.llama import Llama
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.transformer import Transformer, TransformerConfig
from gec.values import positive

Config = TransformerConfig | LlamaConfig

HEAD_WIDTH = 64
VOCABULARY = {"encoder-decoder": 8000, "decoder alone": 49152}
POSITIONS = 512
OPTIONS = ("vocabulary", "ffn", "heads")
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def parse(text: str) -> Config:
    """Read a shape.

    >>> parse("6+2x256").decoder_layers, parse("30x576").ffn_width
    (2, 1536)

    Raises:
        ConfigError: it is none, or sizes do not fit.
    """
    shape, _, rest = text.partition(":")
    found = re.fullmatch(r"(?:(\d+)\+)?(\d+)x(\d+)", shape)
    if found is None:
        raise ConfigError(f"a shape is written 6+6x384 or 30x576, not {text!r}")
    values = dict(_option(text, part) for part in filter(None, rest.split(",")))
    encoder, layers, width = found.groups()
    try:
        if encoder is None:
            return _decoder_alone(int(layers), int(width), values)
        return _encoder_decoder(int(encoder), int(layers), int(width), values)
    except ModelError as error:
        raise ConfigError(f"shape {text}: {error}") from None


def _option(text: str, part: str) -> tuple[str, int]:
    name, _, value = part.partition("=")
    if name not in OPTIONS:
        raise ConfigError(f"shape {text}: no option {name!r}; there are {', '.join(OPTIONS)}")
    try:
        return name, positive(value)
    except ValueError as error:
        raise ConfigError(f"shape {text}, {name}: {error}") from None


def _encoder_decoder(
    encoder: int, decoder: int, width: int, values: dict[str, int]
) -> TransformerConfig:
    return TransformerConfig(
        vocab_size=values.get("vocabulary", VOCABULARY["encoder-decoder"]),
        width=width,
        heads=values.get("heads", max(1, width // HEAD_WIDTH)),
        ffn_width=values.get("ffn", 4 * width),
        encoder_layers=encoder,
        decoder_layers=decoder,
        max_positions=POSITIONS,
        dropout=0.0,
    )


def _decoder_alone(layers: int, width: int, values: dict[str, int]) -> LlamaConfig:
    heads = values.get("heads", max(1, width // HEAD_WIDTH))
    return LlamaConfig(
        vocab_size=values.get("vocabulary", VOCABULARY["decoder alone"]),
        width=width,
        heads=heads,
        kv_heads=heads // 3 if heads % 3 == 0 else heads,
        ffn_width=values.get("ffn", -(-8 * width // 3 // HEAD_WIDTH) * HEAD_WIDTH),
        layers=layers,
        max_positions=2 * POSITIONS,
    )


def shallow(config: Config, layers: int) -> Config:
    """Return the shape of a drafter of so many layers over a verifier's own states."""
    if isinstance(config, LlamaConfig):
        return replace(config, layers=layers)
    return replace(config, encoder_layers=1, decoder_layers=layers)


def random_model(config: Config, precision: str, device: str = "cpu") -> tuple[Model, int, str]:
    """Return a model of random weights, how many they are, and the engine that runs it.

    Raises:
        ConfigError: int8 on another device than a CPU.
        ModelError: GEC_ENGINE asks for the light engine, and it cannot run the network.
    """
    if precision == "int8" and not device.startswith("cpu"):
        raise ConfigError(f"int8 runs on a CPU only, not on {device}: take bf16 or fp32")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network: Network = Llama(config) if isinstance(config, LlamaConfig) else Transformer(config)
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    parameters = count_parameters(network)
    if light.refusal(config, torch.device(device).type, precision) is None:
        return light.verifier_of(light.from_torch(network, precision)), parameters, "light"
    if precision == "int8":
        network = quantize(network)
    else:
        network = prepare(network.to(device=device, dtype=_dtype(precision)))
    return verifier(network), parameters, "torch"


def _dtype(precision: str) -> torch.dtype:
    if precision not in _DTYPES:
        raise ConfigError(
            f"unknown precision {precision!r}, expected one of int8, fp32, bf16, fp16"
        )
    return _DTYPES[precision]


def describe(config: Config) -> str:
    """Return the shape as it is written, with the size of its vocabulary.

    >>> describe(parse("6+6x384"))
    '6+6x384, vocabulary 8000'
    """
    name: Any
    if isinstance(config, LlamaConfig):
        name = f"{config.layers}x{config.width}"
    else:
        name = f"{config.encoder_layers}+{config.decoder_layers}x{config.width}"
    return f"{name}, vocabulary {config.vocab_size}"
