"""Passes over static buffers: the logits of a verifier that makes its tensors anew.

No test needs a GPU. A CUDA graph freezes kernels and addresses and nothing of the host runs again;
:class:`Recording` does the same to PyTorch's operations on a CPU.
"""

from __future__ import annotations

import gc
import logging
import random
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fake_models import BOS, EOS, tiny_network
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from gec.decoding.acceptance import Exact
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit, State
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.models.engines import graphs
from gec.models.engines.eager import EagerEngine
from gec.models.engines.engine import Block
from gec.models.engines.graphs import Body, GraphEngine, rounded, uncaptured
from gec.models.engines.verifier import TransformerVerifier, Verifier
from gec.models.load.verifiers import engine, verifier
from gec.models.network.transformer import Transformer

NETWORKS: dict[str, dict[str, Any]] = {
    "plain": {"decoder_layers": 2, "max_positions": 200},
    "learned": {"norm": "post", "positions": "learned", "max_positions": 100},
    "relative": {"positions": "relative", "norm_type": "rms", "max_positions": 120},
    "bart": {"source_prefix": (5,), "decoder_prefix": (2,), "max_positions": 90},
}
HOST = {"_local_scalar_dense", "lift_fresh", "nonzero", "is_nonzero", "equal"}
"""Operations that wait for the device or bring values of the host: they cannot be captured."""


class Recording(TorchDispatchMode):
    """Records the operations of a body, and does them again on the very same tensors."""

    made = 0

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []
        with self:
            self.result = body()
        Recording.made += 1
        found = {call[0].overloadpacket.__name__ for call in self.calls}
        assert not found & HOST

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result

    def __call__(self) -> Tensor:
        anew: dict[int, Tensor] = {}

        def of(value: Any) -> Any:
            return anew.get(id(value), value) if isinstance(value, Tensor) else value

        for func, args, kwargs, recorded in self.calls:
            result = func(*tree_map(of, args), **tree_map(of, kwargs))
            for old, new in zip(tree_flatten(recorded)[0], tree_flatten(result)[0], strict=True):
                if isinstance(old, Tensor):
                    anew[id(old)] = new
        return self.result.copy_(of(self.result))


def network(name: str, seed: int = 4) -> Transformer:
    return tiny_network(seed, **NETWORKS[name]).float()


class Sentences:
    """The same rows in both verifiers."""

    def __init__(self, models: list[Any], rng: random.Random, count: int, longest: int) -> None:
        sources = [
            [rng.randrange(3, 31) for _ in range(rng.randrange(longest))] for _ in range(count)
        ]
        self.models, self.rng = models, rng
        self.memories = [model.start(sources) for model in models]
        self.cached = [0] * count

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.models, self.memories, strict=True)

    def score(self, longest: int) -> None:
        starts = [self.rng.randint(0, n) for n in self.cached]
        lengths = [self.rng.randint(1, longest) for _ in starts]
        blocks = [[self.rng.randrange(3, 31) for _ in range(n)] for n in lengths]
        for block, start in zip(blocks, starts, strict=True):
            block[0] = block[0] if start else BOS
        both = [model.verify(m, blocks, starts) for model, m in self.pairs()]
        expected, found = [scores.logits for scores in both]
        assert found.shape == expected.shape
        for r, n in enumerate(lengths):
            torch.testing.assert_close(found[r, :n], expected[r, :n], rtol=1e-5, atol=2e-5)
        packed = [scores.raw for scores in both]
        assert packed[0].shape == packed[1].shape == (sum(lengths), expected.shape[2])
        torch.testing.assert_close(packed[1], packed[0], rtol=1e-5, atol=2e-5)
        self.cached = [s + n for s, n in zip(starts, lengths, strict=True)]

    def choose(self) -> None:
        rows = [self.rng.randrange(len(self.cached)) for _ in range(self.rng.randint(1, 5))]
        self.memories = [model.select(m, rows) for model, m in self.pairs()]
        self.cached = [self.cached[r] for r in rows]

    def take(self, other: Sentences) -> None:
        both = zip(self.models, self.memories, other.memories, strict=True)
        self.memories = [model.join(mine, theirs) for model, mine, theirs in both]
        self.cached += other.cached


@pytest.mark.parametrize("capture", [uncaptured, Recording])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", range(6))
@torch.inference_mode()
def test_the_logits_are_those_of_the_plain_verifier(
    name: str, seed: int, capture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several memories in turn, of any shapes, rows chosen and joined: what is frozen fits all."""
    plain, rng = network(name), random.Random(seed)
    monkeypatch.setattr(graphs, "wanted", lambda device: True)
    made = GraphEngine(plain, capture, captured_at=2)
    monkeypatch.setattr(graphs, "GraphEngine", lambda network: made)
    captured = verifier(plain)
    monkeypatch.setattr(graphs, "wanted", lambda device: False)
    models = [verifier(plain), captured]
    monkeypatch.setattr(graphs, "_WORKSPACES", 1 + seed)
    monkeypatch.setattr(graphs, "_AHEAD", 2)
    monkeypatch.setattr(graphs, "_SHORTEST_SOURCE", 2)
    monkeypatch.setattr(graphs, "_SHORTEST_CACHE", 8)
    live = [Sentences(models, rng, rng.randint(1, 4), 30) for _ in range(3)]
    for _ in range(25):
        one = rng.choice(live)
        match rng.randrange(8):
            case 0:
                one.choose()
            case 1 if len(live) > 1 and len(one.cached) < 6:
                other = rng.choice([s for s in live if s is not one])
                one.take(other)
                live.remove(other)
            case 2:
                live.append(Sentences(models, rng, rng.randint(1, 3), rng.choice([2, 20, 60])))
            case _ if max(one.cached) < 40:
                one.score(rng.choice([1, 1, 6, 20]))
    assert len(made._workspaces) <= 1 + seed


@pytest.mark.parametrize("drafter", [NoDraft(), CopyDrafter(), ReentryDrafter()])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_decoding_gives_the_same_outputs(drafter: Drafter, batch_size: int) -> None:
    plain, rng = network("plain", 7), random.Random(1)
    sources = [[rng.randrange(3, 31) for _ in range(rng.randrange(40))] for _ in range(12)]
    limit = LengthLimit(1, 4)
    before = Recording.made
    for acceptance in (Exact(), BeamSearch(3)):
        models = TransformerVerifier(plain), Verifier(GraphEngine(plain, Recording))
        one, other = (Decoder(model, drafter, acceptance, limit=limit) for model in models)
        expected = one.decode(sources, batch_size=batch_size)
        found = other.decode(sources, batch_size=batch_size)
        for mine, theirs in zip(found, expected, strict=True):
            assert [h.tokens for h in mine] == [h.tokens for h in theirs]
            assert [h.steps for h in mine] == [h.steps for h in theirs]
    assert Recording.made > before


def test_a_shape_is_captured_once_and_not_for_a_few_passes() -> None:
    bodies = []

    def capture(body: Body) -> Body:
        bodies.append(body)
        return body

    model = Verifier(GraphEngine(network("plain"), capture, captured_at=3))
    for use in range(1, 6):
        memory = model.start([[5, 6, 7]])
        model.verify(memory, [[BOS]], [0])
        assert len(bodies) == (2 if use >= 3 else 0)
    model.verify(memory, [[BOS, 4, 5]], [0])
    assert len(bodies) == 2


def test_logits_outlive_the_next_pass() -> None:
    model = Verifier(GraphEngine(network("plain"), Recording, captured_at=1))
    memory = model.start([[5, 6, 7]])
    first = model.verify(memory, [[BOS]], [0]).raw
    kept = first.clone()
    assert not torch.equal(model.verify(memory, [[9]], [1]).raw, kept)
    assert torch.equal(first, kept)


@torch.inference_mode()
def test_logits_are_not_kept_and_hidden_states_are_counted() -> None:
    """What stays after passes of many shapes is what the bound knows of."""
    plain = tiny_network(4, vocab_size=1201).float()
    runs = GraphEngine(plain, Recording, captured_at=2)
    model = Verifier(runs)
    for rows in (1, 3, 8):
        for length in (1, 8, 30, 60):
            for _ in range(3):
                memory = model.start([[5, 6]] * rows)
                block = [BOS] + [7] * (length - 1)
                model.verify(memory, [block] * rows, [0] * rows)
    shapes = [tuple(t.shape) for t in gc.get_objects() if type(t) is Tensor]
    assert not [shape for shape in shapes if shape[-1:] == (1201,)]
    for space in runs._workspaces.values():
        hidden = [done.hidden for done in space.passes.values()]
        assert space.bytes == space.buffers.bytes + sum(states.nbytes for states in hidden)


@torch.inference_mode()
def test_ragged_drafts_are_scored_without_padding() -> None:
    """One row drafts a sentence, its neighbours a token each."""
    model = Verifier(GraphEngine(network("plain"), uncaptured))
    scored: list[int] = []
    model.network.output.register_forward_pre_hook(
        lambda _, given: scored.append(given[0].shape[:-1].numel())
    )

    class One(Drafter):
        def propose(self, state: State) -> list[list[int]]:
            return [[7] * 20 if row.sentence == 0 else [] for row in state.rows]

    Decoder(model, One(), limit=LengthLimit(0, 30)).decode([[3, 4]] * 6, batch_size=6)
    assert scored[0] == 21 + 5


@torch.inference_mode()
def test_what_earlier_sentences_left_is_not_read() -> None:
    """Numbers that overflowed, which a mask alone would let through: 0 x NaN is NaN."""
    runs = GraphEngine(network("plain"), uncaptured)
    model = Verifier(runs)
    for _ in range(2):
        memory = model.start([[5, 6, 7]])
        scores = model.verify(memory, [[BOS, 5]], [0])
        assert scores.raw.isfinite().all()
        next(iter(runs._workspaces.values())).buffers.target.fill_(torch.nan)
    assert runs.run(memory, Block([[5]], [1])).isnan().any()


def test_threads_share_the_buffers() -> None:
    """As in a server: each thread's outputs are what they are alone."""
    plain, rng = network("plain", 7), random.Random(2)
    sources = [[[rng.randrange(3, 31) for _ in range(9)]] for _ in range(4)]
    alone = Decoder(TransformerVerifier(plain), CopyDrafter(), limit=LengthLimit(1, 9))
    expected = [[h.tokens for [h] in alone.decode(s)] for s in sources]
    decoder = Decoder(
        Verifier(GraphEngine(plain, uncaptured)), CopyDrafter(), limit=LengthLimit(1, 9)
    )
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(15):
            if [h.tokens for [h] in decoder.decode(sources[number])] != expected[number]:
                wrong.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(len(sources))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_shapes() -> None:
    assert [rounded(n) for n in (1, 2, 3, 5, 64, 65, 200)] == [1, 2, 4, 8, 64, 128, 256]
    assert [rounded(n, 16) for n in (1, 16, 17)] == [16, 16, 32]
    model = Verifier(GraphEngine(network("learned"), uncaptured))
    memory = model.start([[7] * 80])  # 128 places, of which the table has 100
    assert memory.shape == (1, 100, 192)
    assert model.verify(memory, [[BOS, 4]], [0]).logits.shape[:2] == (1, 2)
    assert model.start([[], [4]]).lengths == [1, 2]


@torch.inference_mode()
def test_workspaces_go_by_number_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes is freed at once, and a memory that lay there is not lost."""
    model = GraphEngine(network("plain"), uncaptured)
    kept = model.start([[5, 6, 7]])
    first = model.run(kept, Block([[BOS]], [0]))
    [space] = model._workspaces.values()
    gone = weakref.ref(space.buffers.ends)
    bound = 3 * space.bytes
    del space
    monkeypatch.setattr(graphs, "_BYTES", bound)
    gc.disable()
    try:
        for count in (2, 3, 9):
            model.start([[5]] * count)
            held = sum(space.bytes for space in model._workspaces.values())
            assert held <= bound or len(model._workspaces) == 1
    finally:
        gc.enable()
    assert gone() is None
    assert kept.aside is not None
    torch.testing.assert_close(model.run(kept, Block([[BOS]], [0])), first)


class Fake:
    """What torch.cuda has for a capture, made of nothing but the order of its calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, replay: Any, fails: bool = False) -> None:
        self.stream = "default"
        fake = self

        class Graph:
            def replay(self) -> None:
                replay()

            def pool(self) -> str:
                return "pool"

        class Stream:
            def __init__(self, device: object = None) -> None:
                self.device = device

            def wait_stream(self, other: object) -> None:
                pass

        @contextmanager
        def on(stream: Stream) -> Iterator[None]:
            before, fake.stream = fake.stream, "side"
            try:
                yield
            finally:
                fake.stream = before

        @contextmanager
        def graph(graph: Graph, **options: object) -> Iterator[None]:
            assert options["capture_error_mode"] == "thread_local"
            assert isinstance(options["stream"], Stream)
            assert not torch.is_inference_mode_enabled()
            fake.stream = "capture"  # as torch's, which does not restore it where a capture fails
            yield
            if fails:
                raise RuntimeError("operation not permitted when stream is capturing")
            fake.stream = "side"

        cuda = SimpleNamespace(
            CUDAGraph=Graph, Stream=Stream, stream=on, graph=graph, device=lambda d: nullcontext(),
            current_stream=lambda: Stream(),
        )  # fmt: skip
        monkeypatch.setattr(torch, "cuda", cuda)


@torch.inference_mode()
def test_a_captured_body_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer, calls = torch.zeros(3), []

    def body() -> Tensor:
        calls.append(1)
        return buffer.fill_(4.0)

    Fake(monkeypatch, replay=lambda: buffer.fill_(4.0))
    repeat = graphs.CudaGraphs(torch.device("cuda:1"))(body)
    done = len(calls)
    assert repeat().tolist() == [4.0] * 3
    assert len(calls) == done


@pytest.mark.parametrize("fails", [True, False])
@torch.inference_mode()
def test_what_cannot_be_captured_goes_on_as_it_is(
    fails: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A capture that fails, and one that captured nothing: one warning, the stream restored."""
    buffer = torch.zeros(3)

    def body() -> Tensor:
        return buffer.fill_(4.0)

    fake = Fake(monkeypatch, replay=lambda: None, fails=fails)
    capture = graphs.CudaGraphs(torch.device("cuda"))
    with caplog.at_level(logging.WARNING):
        assert capture(body) is body
        assert capture(body) is body
    assert len(caplog.records) == 1
    assert fake.stream == "default"


def test_where_graphs_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where they are asked for: nobody has measured them yet."""
    monkeypatch.delenv("GEC_GRAPHS", raising=False)
    assert not graphs.wanted(torch.device("cuda"))
    monkeypatch.setenv("GEC_GRAPHS", "on")
    assert graphs.wanted(torch.device("cuda:1"))
    assert not graphs.wanted(torch.device("cpu"))
    assert isinstance(engine(network("plain")), EagerEngine)
    monkeypatch.setattr(graphs, "wanted", lambda device: True)
    assert isinstance(engine(network("plain")), GraphEngine)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu(caplog: pytest.LogCaptureFixture) -> None:
    plain = network("plain").cuda()
    rng = random.Random(1)
    sources = [[rng.randrange(3, EOS + 28) for _ in range(rng.randrange(40))] for _ in range(12)]
    with caplog.at_level(logging.WARNING):
        for size in (1, 5):
            models = TransformerVerifier(plain), Verifier(GraphEngine(plain, captured_at=1))
            one, other = (Decoder(m, CopyDrafter(), limit=LengthLimit(1, 4)) for m in models)
            expected = one.decode(sources, batch_size=size)
            found = other.decode(sources, batch_size=size)
            assert [h[0].tokens for h in found] == [h[0].tokens for h in expected]
    assert not caplog.records, "every pass was captured"
