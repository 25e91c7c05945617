"""The extension: equal to torch's operations, and blind to what is decoded beside a token."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_models import tiny_network
from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.engines import native
from gec.models.engines.inference import prepare
from gec.models.engines.quantization import Int8Linear, count_parameters, quantize
from gec.models.engines.verifier import TransformerVerifier
from gec.models.load.weights import write_weights
from gec.models.network import transformer
from gec.models.network.transformer import Transformer

needs_extension = pytest.mark.skipif(
    not native.int8_available(), reason="no compiler when gec was installed"
)


def test_it_is_there_where_it_can_be() -> None:
    wanted = shutil.which("cc") and os.environ.get("GEC_NATIVE") != "off"
    assert native.int8_available() or not wanted


def test_it_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEC_NATIVE", "off")
    assert not native.available()
    assert isinstance(Int8Linear.of(nn.Linear(4, 4))._weight, Tensor)


@needs_extension
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("rows", "inputs", "channels"),
    [(1, 1, 1), (1, 64, 64), (5, 33, 17), (6, 256, 70), (13, 100, 200), (31, 512, 129)],
)
def test_a_layer_equals_the_plain_one_to_the_bit(
    rows: int, inputs: int, channels: int, bias: bool, relu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    linear = nn.Linear(inputs, channels, bias=bias)
    x = torch.randn(rows, inputs) * torch.logspace(-6, 6, rows)[:, None]
    x[0] = 0
    fast = Int8Linear.of(linear)
    monkeypatch.setattr(native, "available", lambda: False)
    plain = Int8Linear.of(linear)
    fast.relu = plain.relu = relu
    assert not isinstance(fast._weight, Tensor)
    assert isinstance(plain._weight, Tensor)
    assert torch.equal(fast(x), plain(x))
    assert torch.equal(fast.weight, plain.weight)


@needs_extension
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("rows", "inputs", "channels"),
    [(1, 1, 1), (1, 64, 64), (5, 33, 17), (6, 256, 70), (13, 100, 200), (31, 512, 129)],
)
def test_a_float_layer(rows: int, inputs: int, channels: int, bias: bool, relu: bool) -> None:
    linear = nn.Linear(inputs, channels, bias=bias)
    layer = native.Linear.of(linear)
    layer.relu = relu
    with torch.no_grad():
        x = torch.randn(rows, inputs)
        want = linear(x).relu() if relu else linear(x)
        torch.testing.assert_close(layer(x), want, rtol=1e-4, atol=1e-5)
        assert torch.equal(layer(x), torch.cat([layer(row[None]) for row in x]))
    assert torch.equal(layer.weight, linear.weight)


@needs_extension
@pytest.mark.parametrize("kind", [Int8Linear, native.Linear])
def test_columns_of_a_larger_matrix_are_copied_first(kind: Any) -> None:
    layer = kind.of(nn.Linear(8, 5))
    whole = torch.randn(7, 20)
    assert torch.equal(layer(whole[:, 3:11]), layer(whole[:, 3:11].clone()))
    assert layer(whole[:0, :8]).shape == (0, 5)


@needs_extension
def test_what_it_would_misread_is_refused() -> None:
    for layer in (Int8Linear.of(nn.Linear(8, 5)), native.Linear.of(nn.Linear(8, 5))):
        with pytest.raises(ValueError, match="16 values a row, the layer takes 8"):
            layer(torch.randn(2, 16))
        with pytest.raises(ValueError, match="for inference"):
            layer(torch.randn(2, 8, requires_grad=True))
    with pytest.raises(ValueError, match="values a row for a norm of 8"):
        native.LayerNorm(8)(torch.randn(2, 4))
    with pytest.raises(ValueError, match="int8 weights"):
        native.PackedWeights(torch.zeros(2, 2))
    q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 5, 4, 8)
    with pytest.raises(ValueError, match="attention of"):
        native.attention(q, k, k[:, :4], None, False)
    with pytest.raises(ValueError, match="attention of"):
        native.attention(k, q, q, None, True)
    with pytest.raises(ValueError, match="a mask is bool"):
        native.attention(q, k, k, torch.zeros(2, 1, 3, 5), False)


@needs_extension
@pytest.mark.parametrize("width", [1, 16, 100, 256])
def test_layer_norm(width: int) -> None:
    norm = nn.LayerNorm(width)
    with torch.no_grad():
        norm.weight.normal_()
        norm.bias.normal_()
        x = torch.randn(2, 3, width) * 3 + 1
        torch.testing.assert_close(native.LayerNorm.of(norm)(x), norm(x), rtol=1e-5, atol=1e-5)


def masks(batch: int, queries: int, keys: int) -> list[Tensor | None]:
    """Each of the shapes that decoding uses; every query sees the first key."""
    shapes = [(batch, 1, queries, keys), (batch, 1, 1, keys), (1, 1, queries, keys)]
    found: list[Tensor | None] = [None]
    for shape in shapes:
        mask = torch.rand(shape) > 0.6
        mask[..., 0] = True
        found.append(mask)
    return found


@needs_extension
@pytest.mark.parametrize("width", [8, 20, 32, 64, 80, 128])
@pytest.mark.parametrize(
    ("batch", "queries", "keys", "heads"),
    [(1, 1, 1, 1), (2, 1, 40, 3), (3, 7, 13, 2), (1, 33, 33, 4)],
)
def test_attention(batch: int, queries: int, keys: int, heads: int, width: int) -> None:
    """Against torch's, of views as the projections and the cache give them."""
    q = torch.randn(batch, queries, 3, heads, width)[:, :, 1]
    k, v = torch.randn(batch, keys + 5, 2, heads, width)[:, :keys].unbind(2)
    for mask in masks(batch, queries, keys):
        for scale in (None, 1.0):
            want = transformer.attention(q, k, v, mask, False, scale)
            found = native.attention(q, k, v, mask, False, scale)
            # unscaled scores, and with them their errors, grow with the root of the width
            most = 1e-5 if scale is None else 1e-5 + 2e-6 * width**0.5
            torch.testing.assert_close(found, want, rtol=1e-4, atol=most)
    if queries == keys:
        want = transformer.attention(q, k, v, None, True)
        torch.testing.assert_close(
            native.attention(q, k, v, None, True), want, rtol=1e-4, atol=1e-5
        )


@needs_extension
def test_attention_of_heads_that_lie_apart() -> None:
    q = torch.randn(2, 4, 3, 8).transpose(1, 2)  # [2, 3, 4, 8], heads not together
    want = native.attention(q.contiguous(), q.contiguous(), q.contiguous(), None, False)
    assert torch.equal(native.attention(q, q, q, None, False), want)


@needs_extension
def test_a_score_far_below_the_best_weighs_nothing() -> None:
    q = torch.full((1, 1, 1, 16), 50.0)
    k = torch.stack([torch.full((16,), 1.0), torch.full((16,), -1.0)])[None, :, None]
    v = torch.stack([torch.full((16,), 2.0), torch.full((16,), 1e30)])[None, :, None]
    torch.testing.assert_close(native.attention(q, k, v, None, False), torch.full((1, 1, 16), 2.0))


def logits_token_by_token(
    model: TransformerVerifier, source: list[int], tokens: list[int]
) -> Tensor:
    memory = model.start([source])
    return torch.cat([model.verify(memory, [[t]], [i]).raw for i, t in enumerate(tokens)])


@needs_extension
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("settings", [{}, {"norm": "post", "activation": "gelu", "width": 36}])
@pytest.mark.parametrize("ready", [quantize, prepare])
@torch.inference_mode()
def test_the_bits_of_a_token_do_not_depend_on_its_block(
    settings: dict[str, object], threads: int, ready: Callable[[Transformer], Transformer]
) -> None:
    """One by one, in blocks, in even and in packed batches: the same logits, not just nearly."""
    network: Transformer = tiny_network(7, decoder_layers=2, **settings).float()
    model = TransformerVerifier(ready(network))
    sources = [[3, 4, 5, 6, 7, 8, 9], [10, 11], [4] * 20]
    outputs = [[1, 5, 9, 4, 20], [1, 6], [1] + [7] * 17]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        want = [
            logits_token_by_token(model, source, output)
            for source, output in zip(sources, outputs, strict=True)
        ]
        even = model.verify(model.start([sources[0]] * 2), [outputs[0]] * 2, [0, 0]).logits
        packed = model.verify(model.start(sources), outputs, [0, 0, 0]).raw
        halves = model.start(sources)
        first = model.verify(halves, [o[:1] for o in outputs], [0, 0, 0]).logits
        second = model.verify(halves, [o[1:] for o in outputs], [1, 1, 1]).raw
    finally:
        torch.set_num_threads(before)
    assert torch.equal(even, torch.stack([want[0]] * 2))
    assert torch.equal(packed, torch.cat(want))
    assert torch.equal(first[:, 0], torch.stack([w[0] for w in want]))
    assert torch.equal(second, torch.cat([w[1:] for w in want]))


@needs_extension
@pytest.mark.parametrize(
    "settings", [{}, {"norm": "post", "activation": "gelu"}, {"positions": "relative"}]
)
@torch.inference_mode()
def test_a_prepared_network_computes_what_it_did(settings: dict[str, object]) -> None:
    network: Transformer = tiny_network(7, decoder_layers=2, **settings).float()
    model = TransformerVerifier(network)
    sources, outputs = [[3, 4, 5, 6], [10, 11]], [[1, 5, 9, 4], [1, 6, 6, 7]]
    want = model.verify(model.start(sources), outputs, [0, 0]).logits
    assert prepare(network) is network
    assert not any(isinstance(module, nn.Linear) for module in network.modules())
    found = model.verify(model.start(sources), outputs, [0, 0]).logits
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)


@needs_extension
@pytest.mark.parametrize("tied", [True, False])
def test_a_prepared_network_has_its_weights_counted_and_cannot_be_stored(
    tied: bool, tmp_path: Path
) -> None:
    network: Transformer = tiny_network(7, tie_embeddings=tied).float()
    count = count_parameters(network)
    assert count == sum(p.numel() for p in network.parameters())
    assert count_parameters(prepare(network)) == count
    for attempt in (
        lambda: write_weights(network, tmp_path / "model.safetensors", torch.float16),
        lambda: quantize(network),
    ):
        with pytest.raises(ModelError, match="made ready for inference"):
            attempt()
    assert not list(tmp_path.iterdir())


@needs_extension
@pytest.mark.parametrize("kind", [Int8Linear, native.Linear])
def test_the_default_type_changes_nothing(kind: Any) -> None:
    layer, x = kind.of(nn.Linear(8, 5)), torch.randn(3, 8)
    want = layer(x)
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert torch.equal(layer(x), want)
    finally:
        torch.set_default_dtype(torch.float32)


@needs_extension
def test_without_vnni_floats_still_compute_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    """Int8 layers are torch's then, norms and attention the extension's; the result is the same."""
    quick, plain = (quantize(tiny_network(7).float()) for _ in range(2))
    monkeypatch.setattr(native, "int8_available", lambda: False)
    slow = quantize(tiny_network(7).float())
    assert isinstance(slow.output._weight, Tensor)
    assert isinstance(slow.encoder_norm, native.LayerNorm)
    assert isinstance(prepare(tiny_network(7).float()).output, native.Linear)
    source, target = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[1, 4, 5]])
    with torch.inference_mode():
        assert torch.equal(slow(source, target), quick(source, target))
        assert torch.equal(plain(source, target), quick(source, target))


ODD = [torch.nan, torch.inf, -torch.inf]


@needs_extension
@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("place", [0, 3, 16, 39])
@pytest.mark.parametrize("odd", ODD)
def test_a_row_that_is_no_number_stays_so(
    odd: float, place: int, relu: bool, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "int8_available", lambda: packs)
    layer = Int8Linear.of(nn.Linear(40, 70))
    layer.relu = relu
    x = torch.randn(8, 40)
    want = layer(x)
    x[2, place] = odd
    found = layer(x)
    assert found[2].isnan().all()
    found[2] = want[2]
    assert torch.equal(found, want)  # no neighbour is touched


@needs_extension
@pytest.mark.parametrize("place", [0, 3, 16, 39])
@pytest.mark.parametrize("odd", ODD)
def test_no_layer_makes_a_number_of_what_is_none(odd: float, place: int) -> None:
    layer = native.Linear.of(nn.Linear(40, 5))
    layer.relu = True
    x = torch.zeros(1, 40)
    x[0, place] = torch.nan
    assert layer(x).isnan().all()
    x[0, place] = odd
    norm = native.LayerNorm(40)
    with torch.no_grad():
        assert norm(x).isnan().all()


@needs_extension
@pytest.mark.parametrize("place", [0, 3, 16, 39])
@pytest.mark.parametrize("width", [20, 32, 64])
@torch.inference_mode()
def test_attention_to_what_is_no_number(width: int, place: int) -> None:
    """NaN of a key that is seen reaches the result; a key that is masked does not."""
    q, k, v = torch.randn(3, 2, 40, 1, width).unbind(0)
    k[0, place, 0, 1] = torch.nan
    found = native.attention(q, k, v, None, False)
    assert found[0].isnan().all()
    assert not found[1].isnan().any()
    mask = torch.ones(1, 1, 1, 40, dtype=torch.bool)
    mask[..., place] = False
    assert not native.attention(q, k, v, mask, False).isnan().any()


@needs_extension
def test_what_is_not_as_the_extension_reads_it_is_refused() -> None:
    """Tensors that a layer was given after it was made, too."""
    packed = native.PackedWeights(torch.zeros(5, 8, dtype=torch.int8))
    x, five = torch.randn(2, 8), torch.ones(5)
    assert packed.product(x, five, five).shape == (2, 5)
    strange = [
        torch.ones(1), torch.ones(5, 1), torch.ones(5, dtype=torch.int8), torch.ones(10)[::2],
        torch.ones(5).half(), torch.ones(5, device="meta"),
    ]  # fmt: skip
    linear, norm = native.Linear.of(nn.Linear(8, 5)), native.LayerNorm(5)
    norm.requires_grad_(False)
    for wrong in strange:
        with pytest.raises(ValueError, match=r"float32 \[5\] wanted"):
            packed.product(x, wrong, None)
        with pytest.raises(ValueError, match=r"float32 \[5\] wanted"):
            packed.product(x, five, wrong)
        linear.bias = wrong
        with pytest.raises(ValueError, match=r"float32 \[5\] wanted"):
            linear(x)
        norm.bias = nn.Parameter(wrong, requires_grad=False)
        with pytest.raises(ValueError, match=r"float32 \[5\] wanted"):
            norm(torch.ones(2, 5))
    with pytest.raises(ValueError, match="int8 weights"):
        native.PackedWeights(torch.zeros(5, 8, dtype=torch.int8, device="meta"))


@torch.inference_mode()
def test_what_cannot_be_prepared_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(isinstance(m, nn.Linear) for m in prepare(tiny_network(7).bfloat16()).modules())
    monkeypatch.setattr(native, "available", lambda: False)
    assert any(isinstance(m, nn.Linear) for m in prepare(tiny_network(7).float()).modules())
