"""Every table of kernels that this machine can use: the same bits as the plain one, and right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_calls import Floats, Kernels, as_bits
from numpy.typing import NDArray

from gec.models.native.library import describe, library, load

if library() is None:
    pytest.skip(f"kernels: {describe()}", allow_module_level=True)

NAMES = load().usable
OTHERS = [name for name in NAMES if name != "plain"]
PLAIN = Kernels(load("plain"))
RELU, GELU, GELU_TANH, SILU = range(4)

SHAPES = [
    *((1, 1, 1), (1, 64, 64), (2, 7, 63), (3, 33, 17), (5, 4, 65), (6, 256, 70), (13, 100, 200)),
    *((31, 515, 129), (4, 1000, 16)),
    *((7, 64, 64), (8, 64, 70), (16, 128, 129), (17, 192, 65), (32, 64, 33), (33, 64, 200)),
    *((47, 256, 100), (81, 64, 64)),
]
"""Rows, inputs, channels."""

BLOCKS = [(1, 1, 1, 1), (2, 3, 40, 3), (3, 7, 13, 2), (1, 5, 5, 4)]
"""Sentences, queries, keys, heads."""

SPECIAL = [0.0, -0.0, 1e-45, -1e-38, 3e38, -3e38, 1.0, 87.0, -87.0, -87.5, -104.0, 88.8, 1e-20]
ODD = [math.nan, math.inf, -math.inf]

Case = tuple[Any, ...]


def some(*shape: int, seed: int = 0) -> Floats:
    """Normal numbers; some rows are tiny or huge, and one is zero."""
    random = np.random.default_rng([seed, *shape])
    x = random.standard_normal(shape).astype(np.float32)
    if len(shape) == 2 and shape[0] > 3:
        x *= np.logspace(-9, 9, shape[0], dtype=np.float32)[:, None]
        x[2] = 0
    return x


def spoiled(x: Floats, odd: float) -> Floats:
    """x with a number that is none in its second row, if it has two."""
    x = x.copy()
    if len(x) > 1:
        x[1, x.shape[1] // 2] = odd
    return x


def halves(rows: int, inputs: int) -> Floats:
    """Numbers that lie halfway between two int8 levels of their row, or one float beside that."""
    random = np.random.default_rng([rows, inputs, 1])
    scale = np.ldexp(random.random((rows, 1), np.float32), random.integers(-60, 60, (rows, 1)))
    x = scale * (random.integers(-127, 127, (rows, inputs)) + np.float32(0.5))
    x[:, 0] = 127 * scale[:, 0]
    beside = np.nextafter(x, random.choice([-np.inf, np.inf], x.shape)).astype(np.float32)
    return np.where(random.random(x.shape) < 0.5, x, beside).astype(np.float32)


def weights(channels: int, inputs: int) -> tuple[NDArray[np.int8], Floats, Floats]:
    """int8 weights with their scales and biases; the extremes are among them, -128 too."""
    random = np.random.default_rng([channels, inputs])
    weight = random.integers(-128, 128, (channels, inputs), dtype=np.int8)
    weight[0] = -128
    weight[-1] = 127
    return weight, random.random(channels, np.float32), some(channels)


def cases_linear() -> Iterator[Case]:
    for rows, inputs, channels in SHAPES:
        weight, scale, bias = weights(channels, inputs)
        for odd in (0.0, *ODD):
            x = spoiled(some(rows, inputs), odd)
            yield "linear", x, weight, scale, bias, False
            yield "linear", x, some(channels, inputs), None, bias, True
        extreme = np.where(some(rows, inputs) > 0, 5, -5).astype(np.float32)
        yield "linear", extreme, weight, scale, None, True
        yield "linear", extreme, np.full_like(weight, -128), scale, None, False
        yield "linear", halves(rows, inputs), weight, scale, bias, False


def cases_best() -> Iterator[Case]:
    for rows, inputs, channels in SHAPES:
        weight, scale, bias = weights(channels, inputs)
        wanted = np.arange(rows, dtype=np.int32) % (channels + 1) - 1
        for odd in (0.0, *ODD):
            x = spoiled(some(rows, inputs), odd)
            yield "best", x, weight, scale, bias, wanted
            yield "best", x, some(channels, inputs), None, bias, wanted
        never = np.where(np.arange(channels) % 3 == 1, bias, np.float32("-inf"))
        yield "best", some(rows, inputs), weight, scale, never, wanted


def cases_rows() -> Iterator[Case]:
    for rows, width in [(1, 1), (3, 2), (5, 16), (4, 31), (2, 100), (6, 256), (2, 1000)]:
        for odd in (0.0, *ODD):
            x = spoiled(some(rows, width), odd)
            yield "layer_norm", x, some(width), some(width, seed=1)
            yield "layer_norm", x, some(width), None
            yield "rms_norm", x, some(width)
            if width % 2 == 0:
                yield "gate", x
    random = np.random.default_rng(5).standard_normal(1003).astype(np.float32)
    for scale in (0.1, 3, 40):
        for which in (RELU, GELU, GELU_TANH, SILU):
            yield (
                "activate",
                np.concatenate([random * np.float32(scale), SPECIAL, ODD]).astype(np.float32),
                which,
            )
    special = np.array([[a, b] for a in [*SPECIAL, *ODD] for b in (1.5, -0.0)], np.float32)
    yield "gate", special
    for width in (2, 20, 32, 80, 128):
        x, angles = some(3 * 5 * width).reshape(3, 5, width), some(3 * width // 2)
        yield "rotate", x, 4, np.cos(angles), np.sin(angles)


def cases_attention() -> Iterator[Case]:
    for width in (1, 8, 20, 32, 64, 80, 128):
        for batch, queries, keys, heads in [
            (1, 1, 1, 1),
            (2, 3, 40, 3),
            (3, 7, 13, 2),
            (1, 5, 5, 4),
        ]:
            q = some(batch * queries * heads * width).reshape(batch, queries, heads, width)
            k = some(batch * keys * heads * width, seed=1).reshape(batch, keys, heads, width)
            v = some(batch * keys * heads * width, seed=2).reshape(batch, keys, heads, width)
            mask = np.random.default_rng(3).random((batch, queries, keys)) > 0.6
            mask[..., 0] = True
            yield "attention", q, k, v
            yield "attention", q * 30, k, v, mask
            if queries <= keys:
                yield "attention", q, k, v, None, True
            k[0, keys // 2, 0, 0] = np.nan
            yield "attention", q, k, v, mask
            k[0, keys // 2, 0, 0] = np.inf
            yield "attention", q, k, v


ALL = [cases_linear, cases_best, cases_rows, cases_attention]


@pytest.mark.parametrize("cases", ALL, ids=lambda cases: cases.__name__)
@pytest.mark.parametrize("name", OTHERS)
def test_the_bits_are_those_of_the_plain_kernels(
    name: str, cases: Callable[[], Iterator[Case]]
) -> None:
    kernels = Kernels(load(name))
    for method, *arguments in cases():
        found = getattr(kernels, method)(*arguments)
        wanted = getattr(PLAIN, method)(*arguments)
        parts = zip(found, wanted, strict=True) if method == "best" else [(found, wanted)]
        for a, b in parts:
            np.testing.assert_array_equal(as_bits(a), as_bits(b), err_msg=method)


@pytest.mark.parametrize("cases", ALL, ids=lambda cases: cases.__name__)
@pytest.mark.parametrize("threads", [2, 5])
def test_the_bits_do_not_depend_on_the_threads(
    threads: int, cases: Callable[[], Iterator[Case]]
) -> None:
    one, more = Kernels(load()), Kernels(load(), threads)
    for method, *arguments in cases():
        for a, b in zip(
            getattr(more, method)(*arguments), getattr(one, method)(*arguments), strict=True
        ):
            np.testing.assert_array_equal(as_bits(a), as_bits(b))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("rows", "inputs", "channels"), SHAPES)
def test_weights_come_out_as_they_went_in(name: str, rows: int, inputs: int, channels: int) -> None:
    kernels = Kernels(load(name))
    for weight in (weights(channels, inputs)[0], some(channels, inputs)):
        panels = kernels.pack(weight)
        first = channels // 3
        found = np.empty_like(weight[first:])
        kernels.unpack(panels, found, first)
        np.testing.assert_array_equal(found, weight[first:])


@pytest.mark.parametrize("name", NAMES)
def test_integer_products_are_exact(name: str) -> None:
    """Against numpy's, where quantizing loses nothing."""
    weight, scale, bias = weights(70, 3000)
    random = np.random.default_rng(1)
    x = random.integers(-127, 128, (7, 3000)).astype(np.float32)
    x[:, 0] = 127  # the largest: the scale is 1
    want = (x.astype(np.int64) @ weight.astype(np.int64).T).astype(np.float32)
    found = Kernels(load(name)).linear(x, weight, scale, bias)
    np.testing.assert_array_equal(found, want * scale + bias)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quantized", [True, False])
def test_the_best_is_that_of_the_logits(name: str, quantized: bool) -> None:
    kernels = Kernels(load(name))
    weight, scale, bias = weights(1000, 40)
    if not quantized:
        weight, scale = some(1000, 40), None  # type: ignore[assignment]
    x = np.random.default_rng(2).standard_normal((15, 40)).astype(np.float32)
    x[4, 3] = np.nan
    bias[7::9] = -np.inf
    bias[500:] = bias[:500]
    weight[500:] = weight[:500]  # equals: the smaller id is the best
    if scale is not None:
        scale[500:] = scale[:500]
    wanted = np.array([-1, *range(0, 1000, 72)], np.int32)[:15]
    logits = kernels.linear(x, weight, scale, bias)
    ids, largest, sums, logit = kernels.best(x, weight, scale, bias, wanted)
    np.testing.assert_array_equal(ids, logits.argmax(-1))
    assert (ids < 500).all()
    np.testing.assert_array_equal(largest, logits.max(-1))
    np.testing.assert_array_equal(logit[1:], logits[np.arange(1, 15), wanted[1:]])
    assert logit[0] == 99  # untouched: nothing was asked for
    exact = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        want = np.log(np.exp(exact - exact.max(-1, keepdims=True)).sum(-1))
    np.testing.assert_allclose(sums, want, rtol=3e-6, atol=3e-7)
    same = kernels.best(x, weight, scale, bias, None, log_sum=False)
    np.testing.assert_array_equal(same[0], ids)
    np.testing.assert_array_equal(same[1], largest)
    assert (same[2] == 99).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_a_number_has_no_best_probability(name: str) -> None:
    kernels = Kernels(load(name))
    bias = np.full(100, -np.inf, np.float32)
    ids, largest, _, _ = kernels.best(some(3, 4), weights(100, 4)[0], some(100) ** 2, bias, None)
    assert (ids == 0).all()
    assert (largest == -np.inf).all()


@pytest.mark.parametrize("name", NAMES)
def test_activations(name: str) -> None:
    x = np.linspace(-12, 12, 4001, dtype=np.float32)
    exact = x.astype(np.float64)
    erf = np.array([math.erf(value / math.sqrt(2)) for value in exact])
    tail = np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in exact])
    u = math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3)
    wanted = {
        RELU: np.maximum(exact, 0),
        GELU: np.where(exact > 0, 0.5 * exact * (1 + erf), exact * tail),
        GELU_TANH: exact / (1 + np.exp(-2 * u)),
        SILU: exact / (1 + np.exp(-exact)),
    }
    kernels = Kernels(load(name))
    for which, want in wanted.items():
        np.testing.assert_allclose(kernels.activate(x, which), want, rtol=3e-5, atol=1e-30)
        near = np.abs(x) < 5
        found = kernels.activate(x[near].copy(), which)
        np.testing.assert_allclose(found, want[near], rtol=4e-6, atol=1e-30)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_may_lie_anywhere(name: str) -> None:
    """Files are mapped into memory: nothing begins at a multiple of anything."""
    kernels = Kernels(load(name))
    weight, scale, bias = weights(70, 37)
    x = some(5, 37)
    shifted = []
    for array in (x, weight, scale, bias):
        room = np.zeros(array.nbytes + 1, np.uint8)
        room[1:] = array.view(np.uint8).ravel()
        moved = np.ndarray(array.shape, array.dtype, room, offset=1)
        shifted.append(moved)
    x1, weight1, scale1, bias1 = shifted
    assert x1.ctypes.data % 4
    want = kernels.linear(x, weight, scale, bias)
    np.testing.assert_array_equal(kernels.linear(x1, weight1, scale1, bias1), want)
    want = kernels.layer_norm(x, x[3], x[4])
    np.testing.assert_array_equal(kernels.layer_norm(x1, x1[3], x1[4]), want)
