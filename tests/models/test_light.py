"""The engine without torch: against torch's, against itself in other blocks, in the whole loop."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from fake_models import BOS, EOS, RandomDrafter, tiny_network
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_decoding import aggressive, beam_search, greedy

from gec.decoding.acceptance import Acceptance, Conservative, Exact, TopK
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import Drafter, NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.small_model import SmallModelDrafter
from gec.decoding.numpy_scores import NumpyScores
from gec.decoding.sampling import Sampling
from gec.errors import ConfigError, ModelError
from gec.models.engines import native
from gec.models.engines.inference import prepare
from gec.models.engines.light import LightScores, LightVerifier, light_verifier
from gec.models.engines.quantization import quantize
from gec.models.load import bundle, light
from gec.models.load.verifiers import verifier
from gec.models.load.weights import write_weights
from gec.models.native import tensors, threads
from gec.models.native.library import library, load
from gec.models.native.network import NativeNetwork, serves
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.transformer import Transformer, TransformerConfig

pytestmark = pytest.mark.skipif(library() is None, reason="there is no C library here")

LIMIT = LengthLimit(1.5, 6)
KERNELS = library().usable if library() is not None else ()  # type: ignore[union-attr]

NETWORKS: dict[str, dict[str, Any]] = {
    "plain": {"encoder_layers": 2, "decoder_layers": 2},
    "post": {"decoder_layers": 2, "norm": "post", "encoder_final_norm": True},
    "learned, untied, no bias": {
        "positions": "learned", "tie_embeddings": False, "bias": False, "scale_embedding": False,
    },
    "widths that fill no vector": {"width": 30, "heads": 3, "ffn_width": 41, "decoder_layers": 2},
    "wide heads": {"head_width": 21, "decoder_heads": 2, "decoder_ffn_width": 20},
    "fairseq": {
        "positions": "sinusoidal_tensor2tensor", "position_offset": 2, "source_vocab_size": 29,
        "tie_embeddings": False, "decoder_final_norm": False, "scale_attention": False,
    },
    "Marian": {
        "norm": "post", "positions": "sinusoidal_halves", "output_bias": True,
        "embedding_norm": True, "scale_output": True, "norm_epsilon": 1e-3,
    },
}  # fmt: skip
SMOOTH: dict[str, dict[str, Any]] = {
    name: {"activation": name, "decoder_layers": 2} for name in ("gelu", "gelu_tanh", "silu")
}
LLAMA = LlamaConfig(
    vocab_size=40, width=48, heads=6, kv_heads=2, ffn_width=64, layers=3, max_positions=160,
    separator=(5, 7),
)  # fmt: skip


@cache
def torch_network(name: str) -> Transformer | Llama:
    """Return a random network in float32; its float16 weights are themselves."""
    if name == "llama":
        torch.manual_seed(0)
        network: Transformer | Llama = Llama(LLAMA)
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.25 if parameter.ndim > 1 else 0.5)
    else:
        network = tiny_network(7, **(NETWORKS | SMOOTH)[name]).float()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half())
    return network.eval()


def stored(network: Transformer | Llama, dtype: torch.dtype) -> dict[str, Any]:
    """Return a network's tensors as they are after they went through a file."""
    with TemporaryDirectory() as folder:
        write_weights(network, Path(folder, "model.safetensors"), dtype)
        found = tensors.read(Path(folder, "model.safetensors"))
        return {name: np.array(x) for name, x in found.items()}


@cache
def light_network(
    name: str, precision: str, kernels: str = "", dtype: torch.dtype = torch.float16
) -> NativeNetwork:
    network = torch_network(name)
    return NativeNetwork(
        network.config, stored(network, dtype), load(kernels), quantized=precision == "int8"
    )


def light_model(name: str, precision: str, kernels: str = "") -> LightVerifier:
    return light_verifier(light_network(name, precision, kernels))


@cache
def torch_model(name: str, precision: str) -> Any:
    network = copy.deepcopy(torch_network(name))
    return verifier(quantize(network) if precision == "int8" else prepare(network))


def words(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(3, 29) for _ in range(count)]


def passes(model: Any, seed: int) -> list[Any]:
    """Return the scores of a few ragged passes, some of which begin before the last ones' ends."""
    rng, found = random.Random(seed), []
    sources = [words(rng, n) for n in (7, 0, 20, 1)]
    memory, fed = model.start(sources), [0, 0, 0, 0]
    for _ in range(4):
        starts = [rng.randint(max(0, n - 3), n) for n in fed]
        blocks = [words(rng, rng.randint(1, 9)) for _ in fed]
        found.append(model.verify(memory, blocks, starts))
        fed = [start + len(block) for start, block in zip(starts, blocks, strict=True)]
    return found


# --------------------------------------------------------------------------------- beside torch's


@pytest.mark.skipif(not native.available(), reason="torch has no kernels here")
@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("name", [*NETWORKS, "llama"])
def test_the_same_bits_as_under_torch(name: str, precision: str) -> None:
    for seed in range(3):
        theirs = passes(torch_model(name, precision), seed)
        for kernels in KERNELS:
            for ours, wanted in zip(
                passes(light_model(name, precision, kernels), seed), theirs, strict=True
            ):
                logits = [wanted.raw[begin : begin + n] for begin, n in _spans(wanted)]
                np.testing.assert_array_equal(ours.raw, torch.cat(logits).numpy(), kernels)


def _spans(scores: Any) -> list[tuple[int, int]]:
    return [*zip(scores.begins, scores.lengths, strict=True)]


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("name", SMOOTH)
def test_other_activations_are_close(name: str, precision: str) -> None:
    """Torch's own are rounded otherwise; an int8 value may then be the next one."""
    tolerance = 1e-5 if precision == "fp32" else 0.03
    for ours, theirs in zip(
        passes(light_model(name, precision), 1), passes(torch_model(name, precision), 1),
        strict=True,
    ):  # fmt: skip
        logits = torch.cat([theirs.raw[begin : begin + n] for begin, n in _spans(theirs)])
        np.testing.assert_allclose(ours.raw, logits.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8])
@pytest.mark.parametrize("name", ["plain", "fairseq", "llama"])
def test_every_type_that_weights_are_stored_in(
    name: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    network = torch_network(name)
    write_weights(network, tmp_path / "model.safetensors", dtype)
    for precision in ("int8", "fp32"):
        if dtype == torch.int8 and name == "fairseq" and precision == "int8":
            continue  # an untied embedding is rounded when it is stored
        ours = light.read_network(network.config, tmp_path / "model.safetensors", precision)
        again = copy.deepcopy(network)
        with torch.no_grad():
            for parameter in again.parameters():
                if dtype == torch.bfloat16:
                    parameter.copy_(parameter.bfloat16())
        if dtype == torch.int8:
            from gec.models.engines.quantization import compress, expand

            state = {k: v.float() for k, v in expand(compress(network)).items()}
            if network.config.tie_embeddings:
                state["output.weight"] = state["embedding.weight"]
            again.load_state_dict(state)
        model = verifier(quantize(again) if precision == "int8" else prepare(again))
        for found, wanted in zip(passes(light_verifier(ours), 5), passes(model, 5), strict=True):
            logits = torch.cat([wanted.raw[begin : begin + n] for begin, n in _spans(wanted)])
            np.testing.assert_allclose(found.raw, logits.numpy(), rtol=1e-4, atol=1e-4)
    assert ours.parameters == sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("name", ["plain", "learned, untied, no bias", "llama"])
def test_scores_answer_as_numpys_do(name: str) -> None:
    [*_, scores] = passes(light_model(name, "fp32"), 9)
    rng = random.Random(4)
    drafts = [[rng.randrange(29) for _ in range(rng.randint(0, n))] for n in scores.lengths]
    counts = [rng.randint(0, n - 1) for n in scores.lengths]
    for ours in (scores, scores.after(counts), scores.at([0] * len(counts))):
        theirs = NumpyScores(ours.raw, ours.lengths)
        asked = [draft[:n] for draft, n in zip(drafts, ours.lengths, strict=True)]
        for _ in range(2):  # whatever was asked before
            _compare(ours, theirs, asked)
            asked = [[rng.randrange(29) for _ in range(n)] for n in ours.lengths]


def _compare(ours: LightScores, theirs: NumpyScores, asked: list[list[int]]) -> None:
    assert ours.read(ours.best()) == theirs.read(theirs.best())
    assert ours.read(ours.rank(asked)) == theirs.read(theirs.rank(asked))
    assert ours.read(ours.top(6)[1]) == theirs.read(theirs.top(6)[1])
    np.testing.assert_array_equal(ours.behind(asked), theirs.behind(asked))
    places = np.concatenate(
        [np.arange(n) < len(d) for n, d in zip(ours.lengths, asked, strict=True)]
    )
    for found, wanted in zip(
        [*ours.logprobs(ours.best(), asked), ours.certainty(), ours.top(6)[0], ours.top(99)[0]],
        [*theirs.logprobs(theirs.best(), asked), theirs.certainty(), *theirs.top(6)[:1],
         *theirs.top(99)[:1]],
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found[places], wanted[places], atol=2e-6)
    sampling = Sampling(0.7, 5, 0.9)
    for found, wanted in zip(
        ours.distribution(sampling).rows, theirs.distribution(sampling).rows, strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


# ------------------------------------------------------------ any block, batch, number of threads


@dataclass
class Fed:
    """What a row was fed so far."""

    source: list[int]
    tokens: list[int]


def alone(network: NativeNetwork, row: Fed) -> Any:
    """Return the logits [T, V] of all tokens of a row, in one block and by one thread."""
    before = threads.count()
    threads.use(1)
    try:
        model = light_verifier(network)
        return model.verify(model.start([row.source]), [row.tokens], [0]).raw
    finally:
        threads.use(before)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.randoms(use_true_random=False),
    st.sampled_from(["plain", "post", "widths that fill no vector", "llama"]),
    st.sampled_from(["int8", "fp32"]),
    st.integers(1, 3),
    st.sampled_from(KERNELS or ("",)),
)
def test_a_token_has_the_same_bits_whatever_is_around_it(
    rng: random.Random, name: str, precision: str, count: int, kernels: str
) -> None:
    """Ragged blocks, rejected drafts, rows that repeat or go, rows that join, empty sources."""
    network = light_network(name, precision, kernels)
    model, most = light_verifier(network), 60
    before = threads.count()
    threads.use(count)
    try:
        rows = [Fed(words(rng, rng.randrange(0, 30)), []) for _ in range(rng.randint(1, 4))]
        memory = model.start([row.source for row in rows])
        for _ in range(5):
            starts = [rng.randint(0, len(row.tokens)) for row in rows]
            blocks = [words(rng, rng.choice([1, 2, 9, 26])) for _ in rows]
            blocks = [b[: max(1, most - s)] for b, s in zip(blocks, starts, strict=True)]
            starts = [min(start, most - 1) for start in starts]
            found = model.verify(memory, blocks, starts)
            places = iter(found.raw)
            for row, block, start in zip(rows, blocks, starts, strict=True):
                row.tokens = [*row.tokens[:start], *block]
                wanted = alone(network, row)[start:]
                for place, logits in enumerate(wanted):
                    np.testing.assert_array_equal(next(places), logits, f"place {place}")
            if rng.random() < 0.7:
                chosen = [rng.randrange(len(rows)) for _ in range(rng.randint(1, 5))]
                memory = model.select(memory, chosen)
                rows = [replace(rows[r]) for r in chosen]
            if rng.random() < 0.5:
                more = [Fed(words(rng, n), []) for n in (rng.randrange(0, 30), 0)]
                memory = model.join(memory, model.start([row.source for row in more]))
                rows = [*rows, *more]
    finally:
        threads.use(before)


def test_the_longest_positions() -> None:
    network = light_network("plain", "int8")
    model, rng = light_verifier(network), random.Random(0)
    row = Fed(words(rng, 79), words(rng, 80))
    memory = model.start([row.source])
    wanted = alone(network, row)
    for start, end in ((0, 33), (33, 79), (79, 80), (0, 80)):
        block = row.tokens[start:end]
        np.testing.assert_array_equal(model.verify(memory, [block], [start]).raw, wanted[start:end])
    with pytest.raises(ValueError, match="no place"):
        model.verify(memory, [[5]], [80])
    with pytest.raises(ValueError, match="no place"):
        model.start([words(rng, 80)])


def test_several_threads_of_python_at_once() -> None:
    """Each has memories of its own, and all share the network and the pool."""
    model = light_model("plain", "int8")
    wanted = [[scores.raw for scores in passes(model, seed)] for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = list(pool.map(lambda seed: [s.raw for s in passes(model, seed)], range(6)))
            for ours, theirs in zip(found, wanted, strict=True):
                for logits, others in zip(ours, theirs, strict=True):
                    np.testing.assert_array_equal(logits, others)


# ------------------------------------------------------------------------------ in the whole loop


def reference(model: LightVerifier) -> Callable[[Sequence[int], Sequence[int]], torch.Tensor]:
    """Return the plain recomputing reference: every score from the beginning."""

    @cache
    def scores(source: tuple[int, ...], output: tuple[int, ...]) -> torch.Tensor:
        fed = [model.bos_id, *output]
        return torch.from_numpy(model.verify(model.start([source]), [fed], [0]).raw[-1])

    return lambda source, output: scores(tuple(source), tuple(output))


def some_sources() -> list[tuple[int, ...]]:
    rng = random.Random(7)
    drawn = [tuple(words(rng, n)) for n in (1, 4, 7, 2, 12, 9, 25, 3)]
    return [(), *drawn, (), drawn[0]]


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("name", ["plain", "post", "gelu", "llama"])
def test_outputs_and_passes_are_the_papers(name: str, precision: str) -> None:
    model, texts = light_model(name, precision), some_sources()
    scores = reference(model)
    wanted: list[tuple[Drafter, Acceptance, list[Any]]] = [
        (NoDraft(), Exact(True), [greedy(scores, t, LIMIT(t)) for t in texts]),
        (CopyDrafter(), Exact(), [aggressive(scores, t, LIMIT(t)) for t in texts]),
        (CopyDrafter(), Conservative(1.5, True),
         [aggressive(scores, t, LIMIT(t), tolerance=1.5) for t in texts]),
    ]  # fmt: skip
    if name == "llama":  # its first id may be in a source, which the reference's may not
        wanted = [(drafter, Exact(), wanted[0][2]) for drafter in (NoDraft(), CopyDrafter())]
    for batch_size in (1, 3, 32):
        for drafter, acceptance, outputs in wanted:
            found = Decoder(model, drafter, acceptance, limit=LIMIT).decode(
                texts, batch_size=batch_size
            )
            for [best], output in zip(found, outputs, strict=True):
                assert (best.tokens, best.truncated) == (output.tokens, output.truncated)
                steps = tuple((s.drafted, s.accepted, s.emitted) for s in best.steps)
                assert steps == output.passes or name == "llama"


@pytest.mark.parametrize("name", ["plain", "llama"])
def test_beam_search_is_the_papers(name: str) -> None:
    model, texts = light_model(name, "int8"), some_sources()
    scores = reference(model)
    for batch_size in (1, 4):
        decoder = Decoder(model, None, BeamSearch(3), limit=LIMIT)
        for text, found in zip(texts, decoder.decode(texts, batch_size=batch_size), strict=True):
            wanted = beam_search(scores, text, LIMIT(text), 3, 1.0)
            assert [(h.tokens, h.truncated) for h in found] == [
                (beam.tokens, beam.truncated) for beam in wanted
            ]
            for hypothesis, beam in zip(found, wanted, strict=True):
                assert hypothesis.score == pytest.approx(beam.score, abs=1e-4)


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_drafts_of_every_kind_change_nothing(precision: str) -> None:
    model, texts = light_model("plain", precision), some_sources()
    small = light_model("widths that fill no vector", precision)
    plain = [h.tokens for [h] in Decoder(model, limit=LIMIT).decode(texts)]
    for drafter in (
        RandomDrafter(3, 29),
        SmallModelDrafter(small),
        SmallModelDrafter(small, SmallModelDrafter(light_model("post", precision))),
        SmallModelDrafter(small, fallback=0.3),
    ):
        for batch_size in (1, 4):
            found = Decoder(model, drafter, limit=LIMIT).decode(texts, batch_size=batch_size)
            assert [h.tokens for [h] in found] == plain
    Decoder(model, CopyDrafter(), TopK(3), limit=LIMIT).decode(texts)


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_shipped_model_decodes_as_under_torch(precision: str) -> None:
    contents = bundle.read("en")
    ours = light.verifier_of(light.read_network(contents.architecture, contents.weights, precision))
    loaded = bundle.load("en", dtype=torch.int8 if precision == "int8" else torch.float32)
    theirs = verifier(prepare(loaded.network))
    texts = [
        tuple(contents.subwords.encode(line.split()))
        for line in (
            "She go to school every day and have two book .",
            "The informations that you gave me was very useful for my research .",
            "I am looking forward to see you in the summer .",
            "",
        )
    ]
    for drafter, acceptance in (
        (NoDraft(), Exact(True)),
        (CopyDrafter(), Conservative(0.25, True)),
        (NoDraft(), BeamSearch(4)),
    ):
        for batch_size in (1, 4):
            both = [
                Decoder(model, drafter, acceptance).decode(texts, batch_size=batch_size)
                for model in (ours, theirs)
            ]
            for found, wanted in zip(*both, strict=True):
                assert [(h.tokens, h.steps) for h in found] == [(h.tokens, h.steps) for h in wanted]
                for h, other in zip(found, wanted, strict=True):
                    assert h.logprobs == pytest.approx(other.logprobs, abs=1e-5)


# ---------------------------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"positions": "relative"}, "relative positions"),
        ({"norm_type": "rms"}, "rms norms"),
        ({"gated": True}, "a gate"),
        ({"width": 1 << 17, "heads": 1}, "wide"),
    ],
)
def test_networks_that_torch_runs(options: dict[str, Any], reason: str) -> None:
    config = TransformerConfig(vocab_size=31, **options)
    assert reason in str(serves(config))
    assert reason in str(light.refusal(config, "cpu", "fp32"))
    with pytest.raises(ModelError, match=reason):
        NativeNetwork(config, {}, load(""), quantized=False)


def test_the_engine_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TransformerConfig(vocab_size=31)
    assert light.refusal(config, "cpu", "int8") is None
    assert "bf16" in str(light.refusal(config, "cpu", "bf16"))
    assert "cuda" in str(light.refusal(config, "cuda", "fp32"))
    monkeypatch.setenv("GEC_ENGINE", "torch")
    assert light.refusal(config, "cpu", "int8") == "GEC_ENGINE=torch"
    monkeypatch.setenv("GEC_ENGINE", "light")
    assert light.refusal(config, "cpu", "int8") is None
    with pytest.raises(ModelError, match=r"GEC_ENGINE=light: .*bf16"):
        light.refusal(config, "cpu", "bf16")
    monkeypatch.setenv("GEC_ENGINE", "heavy")
    with pytest.raises(ConfigError, match="GEC_ENGINE=heavy: expected one of light, torch"):
        light.refusal(config, "cpu", "int8")


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    found = stored(torch_network("plain"), torch.float16)
    change(found)
    return found


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a tensor less": (lambda t: t.pop("decoder_norm.weight"), r"Missing key.*decoder_norm\.weight"),
    "a tensor more": (lambda t: t.update(more=np.zeros(3)), r"Unexpected key.*more"),
    "another shape": (
        lambda t: t.update({"decoder_norm.weight": np.zeros(31)}), r"size mismatch for decoder_norm"
    ),
    "a matrix turned": (
        lambda t: t.update({"embedding.weight": t["embedding.weight"].T}), "size mismatch"
    ),
    "NaN": (
        lambda t: t.update({"decoder_norm.bias": np.full(32, np.nan, np.float16)}), "NaN or infin"
    ),
    "infinity": (
        lambda t: t.update({"decoder_norm.bias": np.full(32, np.inf)}), "NaN or infinity"
    ),
    "int8 without scales": (
        lambda t: t.update({"output.weight": np.zeros((31, 32), np.int8)}), r"output\.weight\.scale"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("quantized", [False, True])
def test_wrong_weights(name: str, quantized: bool) -> None:
    change, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        NativeNetwork(torch_network("plain").config, changed(change), load(""), quantized=quantized)


def test_weights_too_large_to_compute_with() -> None:
    weights = changed(lambda t: t.update({"decoder_norm.weight": np.full(32, 3e38, np.float32)}))
    network = NativeNetwork(torch_network("plain").config, weights, load(""), quantized=False)
    model = light_verifier(network)
    with pytest.raises(ModelError, match="computes NaN"):
        model.verify(model.start([[4, 5]]), [[BOS, 7]], [0])


def test_ids_that_the_network_does_not_have() -> None:
    model = light_model("plain", "fp32")
    with pytest.raises(ModelError, match="ids"):
        model.start([[4, 31]])
    memory = model.start([[4, 5]])
    for token in (-1, 31, 1 << 40):
        with pytest.raises(ModelError, match="ids"):
            model.verify(memory, [[BOS, token]], [0])
    with pytest.raises(ModelError, match="of 29"):
        light_model("fairseq", "fp32").start([[30]])
    assert model.verify(memory, [[BOS, EOS]], [0]).raw.shape == (2, 31), "the memory is as it was"


def test_a_block_begins_no_later_than_what_is_held() -> None:
    model = light_model("plain", "fp32")
    memory = model.start([[4, 5], [6]])
    model.verify(memory, [[BOS, 7], [BOS]], [0, 0])
    with pytest.raises(ValueError, match="no place"):
        model.verify(memory, [[8], [8]], [2, 2])


@pytest.mark.parametrize(
    "content", [b"", b"12345678", b"\xff" * 8 + b"{}" * 99, b"\2" + b"\0" * 7 + b"[]"]
)
def test_files_that_hold_no_tensors(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"cannot load .*model\.safetensors"):
        tensors.read(tmp_path / "model.safetensors")


def test_tensors_of_other_types(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(3, np.int64)}, tmp_path / "t.safetensors")
    with pytest.raises(ModelError, match="a holds no weights but I64"):
        tensors.read(tmp_path / "t.safetensors")


def _resident(path: Path) -> int:
    """Return how many KiB of a mapped file count as this process's memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    mapped = any(line.endswith(str(path)) for line in lines)
    assert mapped
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's account of pages")
def test_pages_of_packed_weights_do_not_stay_in_memory(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "t.safetensors"
    values = np.random.default_rng(0).integers(-127, 128, (2000, 1000), np.int8)
    save_file({"a": values, "b": np.ones((1, 3), np.int8)}, path)
    found = tensors.read(path)
    assert int(found["a"].astype(np.int64).sum()) == int(values.astype(np.int64).sum())
    assert _resident(path) > 1900
    tensors.let_go(found["a"])
    tensors.let_go(found["b"])  # less than a page
    tensors.let_go(values)  # no file
    assert _resident(path) < 100
    assert (found["a"] == values).all()  # it comes back


def test_a_tied_embedding_is_kept_once() -> None:
    for name in ("plain", "llama"):
        network = light_network(name, "int8")
        table, output = network._structure.decoder.table, network._structure.output
        assert (table.rows, table.scale) == (output.panels, output.scale)
        assert not [x for x in network._kept if x.shape == (network.vocabulary, network.width)]
        floats = light_network(name, "fp32")._structure
        assert floats.decoder.table.rows != floats.output.panels


def test_a_decoder_alone_takes_few_tokens_at_once() -> None:
    from gec.correct.corrector import Corrector

    class Counted(LightVerifier):
        most_tokens = 10

        def __init__(self, network: NativeNetwork) -> None:
            super().__init__(network)
            self.started: list[list[int]] = []

        def start(self, sources: Sequence[Sequence[int]]) -> Any:
            self.started.append([*map(len, sources)])
            return super().start(sources)

    model = Counted(light_network("plain", "fp32"))
    sources = [(4 + i % 3, 5, 6)[: 1 + i % 3] for i in range(8)] + [(5,) * 12, (6, 7)]
    corrector = Corrector(model, bundle.read("en").subwords)
    found = corrector.decode(sources, 0.0)
    assert model.started == [[1, 2, 3], [1, 2, 3], [1, 2], [12], [2]]
    alone = [corrector.decode([source], 0.0)[0] for source in sources]
    assert [h.tokens for h in found] == [h.tokens for h in alone]
    assert corrector.decode([], 0.0) == []
