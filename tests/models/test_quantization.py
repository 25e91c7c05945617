"""Int8: close to float32, exact in itself, and independent of what is decoded beside a token."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from fake_models import tiny_network
from safetensors.torch import load_file, save_file
from torch import nn

from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.errors import ModelError
from gec.models.engines import quantization
from gec.models.engines.quantization import (
    Int8Linear,
    compress,
    count_parameters,
    expand,
    quantize,
    quantize_rows,
)
from gec.models.engines.verifier import TransformerVerifier
from gec.models.load.weights import read_weights, write_weights
from gec.models.network.transformer import Transformer


def network(seed: int, **settings: object) -> Transformer:
    return tiny_network(seed, **settings).float()


def test_values_are_within_half_a_step() -> None:
    x = torch.randn(7, 33) * torch.tensor([1e-6, 1e-3, 1, 10, 1e4, 1, 1])[:, None]
    values, scale = quantize_rows(x)
    assert values.dtype == torch.int8
    assert int(values.abs().max()) == 127
    assert bool(((values * scale - x).abs() <= scale / 2 * 1.0001).all())


def test_a_row_of_zeros_stays_zero() -> None:
    values, scale = quantize_rows(torch.zeros(2, 5))
    assert not values.any()
    assert bool(torch.isfinite(scale).all())


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_is_what_the_integers_say(bias: bool) -> None:
    """Against the products written out in integers, and near the layer it was made of."""
    linear = nn.Linear(48, 20, bias=bias)
    x = torch.randn(2, 3, 48)
    layer = Int8Linear.of(linear)
    values, scale = quantize_rows(x.view(6, 48))
    products = (values.long()[:, None, :] * layer.weight.long()[None]).sum(-1)
    want = products * scale.double() * layer.scale.double()
    if bias:
        want = want + linear.bias.detach().double()
    found = layer(x)
    assert found.shape == (2, 3, 20)
    torch.testing.assert_close(found.view(6, 20).double(), want, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found, linear(x), rtol=0.05, atol=0.05)


def test_a_large_product_is_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Int8Linear.of(nn.Linear(16, 20))
    x = torch.randn(3, 7, 16)
    whole = layer(x)
    for at_once in (1, 40, 60):
        monkeypatch.setattr(quantization, "_AT_ONCE", at_once)
        assert torch.equal(layer(x), whole)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """With one scale for all rows the outlier would drown the others."""
    layer = Int8Linear.of(nn.Linear(64, 32))
    rows = torch.randn(9, 64)
    rows[4] *= 1000
    together = layer(rows)
    for number, row in enumerate(rows):
        assert torch.equal(together[number], layer(row[None])[0])


@pytest.mark.parametrize("settings", [{}, {"norm": "post", "positions": "learned"}])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_aggressive_equals_greedy_in_int8(settings: dict[str, object], batch_size: int) -> None:
    model = TransformerVerifier(quantize(network(3, decoder_layers=2, **settings)))
    rng = random.Random(0)
    sources = [[rng.randrange(3, 31) for _ in range(rng.randrange(1, 14))] for _ in range(30)]
    limit = LengthLimit(1, 5)
    greedy = Decoder(model, limit=limit).decode(sources, batch_size=1)
    found = Decoder(model, CopyDrafter(), limit=limit).decode(sources, batch_size=batch_size)
    assert [f[0].tokens for f in found] == [f[0].tokens for f in greedy]


@pytest.mark.parametrize("tied", [True, False])
def test_stored_in_int8_and_read_again(tied: bool, tmp_path: Path) -> None:
    """Storing loses what rounding loses; reading, quantizing and storing again loses no more."""
    path, again = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    first = network(5, tie_embeddings=tied)
    write_weights(first, path, torch.int8)
    with torch.device("meta"):
        second = Transformer(first.config)
    read_weights(second, path, torch.float32)
    for name, weight in first.state_dict().items():
        stored = "embedding.weight" if tied and name == "output.weight" else name
        scale = load_file(path).get(f"{stored}.scale")
        step = 1e-3 if scale is None else float(scale.max())
        torch.testing.assert_close(second.state_dict()[name], weight, rtol=2e-3, atol=step)
    write_weights(second, again, torch.int8)
    one, two = load_file(path), load_file(again)
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        if tensor.dtype == torch.int8:
            assert torch.equal(tensor, two[name])
    assert ("output.weight" in one) == (not tied)
    ours, theirs = quantize(first).state_dict(), quantize(second).state_dict()
    assert all(torch.equal(ours[n], theirs[n]) for n in ours if ours[n].dtype == torch.int8)


@pytest.mark.parametrize("settings", [{}, {"tie_embeddings": False, "positions": "learned"}])
def test_read_as_it_is_stored(settings: dict[str, object], tmp_path: Path) -> None:
    """Int8 weights go into an int8 network without a way through floating point; the same ones."""
    path = tmp_path / "model.safetensors"
    first = network(6, output_bias=True, **settings)
    write_weights(first, path, torch.int8)
    with torch.device("meta"):
        direct, expanded = Transformer(first.config), Transformer(first.config)
    read_weights(direct.eval(), path, torch.int8)
    read_weights(expanded.eval(), path, torch.float32)
    assert count_parameters(direct) == sum(p.numel() for p in first.parameters())
    source, target = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[1, 4, 5]])
    with torch.inference_mode():
        torch.testing.assert_close(direct(source, target), quantize(expanded)(source, target))


@pytest.mark.parametrize("name", ["encoder.0.ffn.up.weight.scale", "encoder_norm.bias"])
def test_what_is_missing_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    state = compress(network(2))
    del state[name]
    save_file(state, path)
    with torch.device("meta"):
        broken = Transformer(network(2).config)
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        read_weights(broken, path, torch.int8)


def test_a_weight_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_weights(network(2), path, torch.int8)
    with torch.device("meta"):
        other = Transformer(network(2, ffn_width=52).config)
    with pytest.raises(ModelError, match=r"size mismatch for encoder\.0\.ffn\.up\.weight"):
        read_weights(other, path, torch.int8)


def test_a_state_in_floating_point_is_not_touched() -> None:
    state = network(1).state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in expand(state).items())
    assert expand(compress(network(1))).keys() == state.keys() - {"output.weight"}


def test_scales_that_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    state = compress(network(2))
    del state["embedding.weight.scale"]
    save_file(state, path)
    with torch.device("meta"):
        broken = Transformer(network(2).config)
    with pytest.raises(ModelError, match=r"model\.safetensors.*embedding\.weight\.scale"):
        read_weights(broken, path, torch.float32)


WRONG = {
    "a scale in int8": ("output.weight.scale", torch.ones(31, dtype=torch.int8)),
    "a scale less": ("output.weight.scale", torch.ones(30)),
    "scales of two dimensions": ("output.weight.scale", torch.ones(31, 1)),
    "one bias": ("encoder.0.ffn.up.bias", torch.ones(1)),
    "an int8 bias": ("encoder.0.ffn.up.bias", torch.ones(48, dtype=torch.int8)),
    "weights of one dimension": ("output.weight", torch.ones(31, dtype=torch.int8)),
    "an int8 norm": ("encoder_norm.weight", torch.ones(32, dtype=torch.int8)),
    "whole numbers": ("encoder_norm.weight", torch.ones(32, dtype=torch.int32)),
    "a complex number": ("encoder_norm.weight", torch.ones(32, dtype=torch.complex64)),
    "NaN": ("encoder_norm.weight", torch.full((32,), torch.nan)),
    "infinity": ("encoder.0.ffn.up.bias", torch.full((48,), -torch.inf)),
    "an infinite scale": ("output.weight.scale", torch.full((31,), torch.inf)),
    "beyond float32": ("encoder_norm.bias", torch.full((32,), 1e300, dtype=torch.float64)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.int8, torch.float32])
@pytest.mark.parametrize("name", WRONG)
def test_tensors_that_cannot_be_weights(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    """A layer of such tensors would let the extension read beyond them."""
    path = tmp_path / "model.safetensors"
    tensor, wrong = WRONG[name]
    save_file(compress(network(2, tie_embeddings=False)) | {tensor: wrong}, path)
    with torch.device("meta"):
        broken = Transformer(network(2, tie_embeddings=False).config)
    with pytest.raises(ModelError, match=tensor.removesuffix(".scale").replace(".", r"\.")):
        read_weights(broken, path, dtype)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float32])
def test_a_converted_model_may_never_say_some_ids(dtype: torch.dtype, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    first = network(6, output_bias=True)
    for least, refused in ((-torch.inf, False), (torch.nan, True), (torch.inf, True)):
        with torch.no_grad():
            first.output.bias[5] = least
        write_weights(first, path, torch.int8)
        with torch.device("meta"):
            again = Transformer(first.config)
        if refused:
            with pytest.raises(ModelError, match=r"output\.bias holds NaN or infinity"):
                read_weights(again, path, dtype)
            continue
        read_weights(again, path, dtype)
        with torch.inference_mode():
            logits = again.eval()(torch.tensor([[4, 2]]), torch.tensor([[1, 4]]))
        assert bool((logits[..., 5] == -torch.inf).all())


def test_scales_that_would_make_a_table_of_a_row(tmp_path: Path) -> None:
    """400 KB that broadcast to 40 GB."""
    path = tmp_path / "model.safetensors"
    wide = {"x": torch.ones(1, 100_000, dtype=torch.int8), "x.scale": torch.ones(100_000)}
    save_file(wide, path)
    with torch.device("meta"):
        broken = Transformer(network(2).config)
    with pytest.raises(ModelError, match=r"x\.scale"):
        read_weights(broken, path, torch.float32)


def test_only_on_a_cpu() -> None:
    with pytest.raises(ModelError, match="CPU only, not on meta"):
        quantize(network(1).to("meta"))
