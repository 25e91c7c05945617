"""The network against torch.nn's layers, its positions, its settings."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import pytest
import torch
from fake_models import tiny_network
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.network.cache import LayerCache, Positions
from gec.models.network.transformer import (
    DecoderLayer,
    EncoderLayer,
    Transformer,
    TransformerConfig,
    sinusoidal_positions,
)

Layer = TypeVar("Layer", bound=nn.Module)
PARTS = {"attention": "self_attn", "cross": "multihead_attn"}


def config(**settings: Any) -> TransformerConfig:
    defaults: dict[str, Any] = {"vocab_size": 31, "width": 32, "heads": 4, "ffn_width": 48}
    return TransformerConfig.from_dict(defaults | {"dropout": 0.0} | settings)


def randomised(layer: Layer) -> Layer:
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    layer.double().eval()
    return layer


def torch_state(layer: nn.Module) -> dict[str, Tensor]:
    """Return our layer's weights under the names of torch.nn's layers."""
    ours = layer.state_dict()
    theirs = {}
    for name, part in PARTS.items():
        if f"{name}.out.weight" not in ours:
            continue
        for kind in ("weight", "bias"):
            together = [f"{name}.qkv.{kind}"] if name == "attention" else [
                f"{name}.q.{kind}", f"{name}.kv.{kind}"
            ]  # fmt: skip
            theirs[f"{part}.in_proj_{kind}"] = torch.cat([ours[key] for key in together])
            theirs[f"{part}.out_proj.{kind}"] = ours[f"{name}.out.{kind}"]
    residuals = [
        name for name in ("attention", "cross", "ffn") if f"{name}_residual.norm.weight" in ours
    ]
    for kind in ("weight", "bias"):
        theirs[f"linear1.{kind}"] = ours[f"ffn.up.{kind}"]
        theirs[f"linear2.{kind}"] = ours[f"ffn.down.{kind}"]
        for number, name in enumerate(residuals, 1):
            theirs[f"norm{number}.{kind}"] = ours[f"{name}_residual.norm.{kind}"]
    return theirs


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_torchs(norm: str, activation: str) -> None:
    ours = randomised(EncoderLayer(config(norm=norm, activation=activation)))
    theirs = nn.TransformerEncoderLayer(
        32, 4, 48, 0.0, activation, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    ).eval()
    theirs.load_state_dict(torch_state(ours))
    x = torch.randn(3, 7, 32, dtype=torch.float64)
    seen = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]
    expected = theirs(x, src_key_padding_mask=~seen)
    found = ours(x, seen[:, None, None, :])
    torch.testing.assert_close(found[seen], expected[seen])


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_layer_is_torchs(norm: str, activation: str) -> None:
    ours = randomised(DecoderLayer(config(norm=norm, activation=activation)))
    theirs = nn.TransformerDecoderLayer(
        32, 4, 48, 0.0, activation, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    ).eval()
    theirs.load_state_dict(torch_state(ours))
    x = torch.randn(3, 6, 32, dtype=torch.float64)
    memory = torch.randn(3, 7, 32, dtype=torch.float64)
    seen = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]
    causal = torch.ones(6, 6, dtype=torch.bool).triu(1)
    expected = theirs(x, memory, tgt_mask=causal, memory_key_padding_mask=~seen)
    mask = seen[:, None, None, :]

    def cache() -> LayerCache:
        return LayerCache(*ours.cross.keys_values(memory))

    with torch.no_grad():
        whole = ours(x, cache(), Positions.of([0, 0, 0], 6, x.device), mask)
        torch.testing.assert_close(whole, expected)
        stepwise = cache()
        steps = [
            ours(x[:, i : i + n], stepwise, Positions.of([i] * 3, n, x.device), mask)
            for i, n in ((0, 1), (1, 1), (2, 3), (5, 1))
        ]
    torch.testing.assert_close(torch.cat(steps, 1), expected)


def test_sinusoidal_positions() -> None:
    """Vaswani et al. 2017, section 3.5: PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos."""
    for width in (8, 7):
        table = sinusoidal_positions(50, width)
        for place, column in ((0, 0), (3, 2), (49, 4), (7, 6)):
            angle = place / 10000 ** (column / width)
            assert table[place, column] == pytest.approx(math.sin(angle), abs=1e-5)
            if column + 1 < width:
                assert table[place, column + 1] == pytest.approx(math.cos(angle), abs=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_padding_changes_nothing(norm: str, positions: str) -> None:
    network = tiny_network(2, norm=norm, positions=positions, decoder_layers=2)
    source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 9, 8]])
    wide = torch.tensor([[5, 6, 7, 2, 0, 0], [3, 4, 5, 6, 7, 2]])
    long = torch.tensor([[1, 9, 8, 0, 0], [1, 3, 4, 5, 6]])
    torch.testing.assert_close(network(wide, long)[:1, :3], network(source, target))


def test_the_future_is_not_seen() -> None:
    network = tiny_network(2, decoder_layers=2)
    source = torch.tensor([[5, 6, 7, 2]])
    one, other = (
        network(source, torch.tensor([[1, 9, 8], [1, 9, 30]]).unsqueeze(1)[0]),
        network(source, torch.tensor([[1, 9, 30]])),
    )
    torch.testing.assert_close(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2], other[:, 2])


def test_wanted_positions_only() -> None:
    network = tiny_network(2)
    source, target = torch.tensor([[5, 6, 2], [7, 2, 0]]), torch.tensor([[1, 9], [1, 8]])
    wanted = torch.tensor([[True, False], [True, True]])
    torch.testing.assert_close(network(source, target, wanted), network(source, target)[wanted])


@pytest.mark.parametrize("tied", [True, False])
def test_tied_embeddings(tied: bool) -> None:
    network = Transformer(config(tie_embeddings=tied))
    assert (network.output.weight is network.embedding.weight) == tied
    assert not network.embedding.weight[0].any()  # the pad's


def test_dropout_is_for_training_only() -> None:
    network = tiny_network(2, dropout=0.5)
    source, target = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 9]])
    torch.testing.assert_close(network(source, target), network(source, target))
    network.train()
    assert not torch.allclose(network(source, target), network(source, target))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm": "middle"}, "norm must be one of"),
        ({"positions": "rotary"}, "positions must be one of"),
        ({"activation": "swish"}, "activation must be one of"),
        ({"width": 30}, "width 30 is not a multiple of heads 4"),
        ({"layers": 3}, "unknown architecture settings: layers"),
        ({"heads": 0}, "heads must be a positive integer, not 0"),
        ({"vocab_size": "many"}, "vocab_size must be a positive integer, not 'many'"),
        ({"encoder_layers": -1}, "encoder_layers must be a positive integer, not -1"),
        ({"width": None}, "width must be a positive integer, not None"),
        ({"ffn_width": 1.5}, "ffn_width must be a positive integer, not 1.5"),
        ({"dropout": 1.5}, "dropout must lie between 0 and 1, not 1.5"),
        ({"eos_id": 31}, "eos_id must lie between 0 and 30, not 31"),
        ({"norm": ["pre"]}, "norm must be one of"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        config(**settings)
    assert "\n" not in str(caught.value)


def test_missing_settings() -> None:
    with pytest.raises(ModelError, match="vocab_size"):
        TransformerConfig.from_dict({"width": 32})


def test_settings_round_trip() -> None:
    assert TransformerConfig.from_dict(config(norm="post").to_dict()) == config(norm="post")
