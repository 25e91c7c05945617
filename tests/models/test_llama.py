"""The decoder-only network: against transformers, in blocks, and as the loop's verifier."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from gec.decoding.acceptance import Conservative
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters import NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.errors import ModelError
from gec.models.engines import native
from gec.models.engines.inference import prepare
from gec.models.engines.llama_engine import LlamaEngine
from gec.models.engines.quantization import count_parameters, quantize
from gec.models.engines.verifier import Verifier
from gec.models.load import bundle
from gec.models.network import llama
from gec.models.network.llama import Llama, LlamaConfig
from gec.text.byte_pairs import BytePairs
from gec.text.subwords import BYTE_OF

CONFIG = LlamaConfig(
    vocab_size=40, width=48, heads=6, kv_heads=2, ffn_width=64, layers=3, max_positions=160,
    separator=(5, 7),
)  # fmt: skip


@pytest.fixture(scope="module")
def network() -> Llama:
    return tiny(0)


def tiny(seed: int) -> Llama:
    """A random network that often copies: its embedding dominates what attention adds."""
    torch.manual_seed(seed)
    network = Llama(CONFIG)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.25 if parameter.ndim > 1 else 0.5)
    return network.eval()


def sources(count: int, seed: int = 1) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(40) for _ in range(draw.randrange(0, 24))] for _ in range(count)]


class Recomputing:
    """The plain reference: every pass reads whole rows from the beginning."""

    def __init__(self, network: Llama) -> None:
        self.network = network
        self.verifier = Verifier(LlamaEngine(network))

    def greedy(self, source: Sequence[int], limit: int) -> list[int]:
        row = [CONFIG.bos_id, *source, *CONFIG.separator]
        output: list[int] = []
        while len(output) < limit:
            best = int(whole(self.network, [row + output])[0, -1].argmax())
            output.append(best)
            if best == CONFIG.eos_id:
                return output[:-1]
        return output


@torch.inference_mode()
def whole(network: Llama, rows: list[list[int]]) -> Tensor:
    tokens = torch.tensor(rows)
    return network(tokens, torch.ones_like(tokens, dtype=torch.bool)).view(*tokens.shape, -1)


def test_it_computes_what_transformers_computes(network: Llama) -> None:
    transformers = pytest.importorskip("transformers")
    other = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=40, hidden_size=48, num_attention_heads=6, num_key_value_heads=2,
            intermediate_size=64, num_hidden_layers=3, rms_norm_eps=CONFIG.norm_epsilon,
            rope_theta=CONFIG.rope_base, tie_word_embeddings=True, max_position_embeddings=160,
        )
    ).eval()  # fmt: skip
    own, theirs = network.state_dict(), {}
    theirs["model.embed_tokens.weight"] = theirs["lm_head.weight"] = own["embedding.weight"]
    theirs["model.norm.weight"] = own["norm.weight"]
    for i in range(CONFIG.layers):
        here, there = f"layers.{i}.", f"model.layers.{i}."
        q, k, v = own[f"{here}attention.qkv.weight"].split([48, 16, 16])
        gate, up = own[f"{here}ffn.gate_up.weight"].chunk(2)
        theirs |= {
            f"{there}self_attn.q_proj.weight": q,
            f"{there}self_attn.k_proj.weight": k,
            f"{there}self_attn.v_proj.weight": v,
            f"{there}self_attn.o_proj.weight": own[f"{here}attention.out.weight"],
            f"{there}mlp.gate_proj.weight": gate,
            f"{there}mlp.up_proj.weight": up,
            f"{there}mlp.down_proj.weight": own[f"{here}ffn.down.weight"],
            f"{there}input_layernorm.weight": own[f"{here}attention_norm.weight"],
            f"{there}post_attention_layernorm.weight": own[f"{here}ffn_norm.weight"],
        }
    other.load_state_dict(theirs)
    rows = [[draw % 40 for draw in range(3, 40)], [1, 7, *range(35)]]
    with torch.inference_mode():
        torch.testing.assert_close(whole(network, rows), other(torch.tensor(rows)).logits)
        prompt = torch.tensor([[CONFIG.bos_id, 9, 30, 12, *CONFIG.separator]])
        made = other.generate(
            prompt, max_new_tokens=24, do_sample=False, eos_token_id=CONFIG.eos_id, pad_token_id=0
        )[0, prompt.shape[1] :].tolist()
    found = Decoder(Verifier(LlamaEngine(network)), NoDraft()).decode([[9, 30, 12]])[0][0]
    assert [*found.tokens, CONFIG.eos_id][:24] == made


def test_a_block_gives_the_scores_of_whole_rows(network: Llama) -> None:
    verifier, rows = Verifier(LlamaEngine(network)), [[3, 4, 5, 6], [], [8] * 9]
    with torch.inference_mode():
        memory = verifier.start(rows)
        blocks = [[verifier.bos_id, 11, 12], [verifier.bos_id], [verifier.bos_id, 13, 14, 15, 16]]
        first = verifier.verify(memory, blocks, [0, 0, 0]).logits
        # what was rejected is written over: rows go on at places of their own
        second = verifier.verify(memory, [[20, 21], [22], [23, 24, 25]], [2, 1, 1]).raw
    for row, (source, block) in enumerate(zip(rows, blocks, strict=True)):
        expected = whole(network, [[1, *source, 5, *block]])[0, len(source) + 2 :]
        torch.testing.assert_close(first[row, : len(block)], expected)
    rest = iter(second.split([2, 1, 3]))
    for source, kept, block in zip(
        rows, ([11], [], []), ([20, 21], [22], [23, 24, 25]), strict=True
    ):
        expected = whole(network, [[1, *source, 5, 7, *kept, *block]])[0, -len(block) :]
        torch.testing.assert_close(next(rest), expected)


@pytest.fixture(params=[1, 5, 32])
def batch_size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("seed", range(4))
def test_every_exact_strategy_gives_the_recomputing_reference(seed: int, batch_size: int) -> None:
    network, texts = tiny(seed), sources(24, seed)
    plain = Recomputing(network)
    limit = Decoder(plain.verifier).limit
    expected = [plain.greedy(text, limit(text)) for text in texts]
    for drafter in (NoDraft(), CopyDrafter(), ReentryDrafter()):
        found = Decoder(plain.verifier, drafter, Conservative(0.0, logprobs=True)).decode(
            texts, batch_size=batch_size
        )
        assert [list(hypotheses[0].tokens) for hypotheses in found] == expected


def test_beams_of_one_are_greedy_and_rows_may_branch(network: Llama) -> None:
    texts = sources(8)
    greedy = Decoder(Verifier(LlamaEngine(network)), NoDraft()).decode(texts)
    beam = Decoder(Verifier(LlamaEngine(network)), NoDraft(), BeamSearch(1)).decode(texts)
    assert [found[0].tokens for found in beam] == [found[0].tokens for found in greedy]
    wide = Decoder(Verifier(LlamaEngine(network)), NoDraft(), BeamSearch(4)).decode(texts)
    for text, hypotheses in zip(texts, wide, strict=True):
        for found in hypotheses:
            if found.truncated:
                continue
            row = [1, *text, *CONFIG.separator, *found.tokens, CONFIG.eos_id]
            logprobs = whole(network, [row[:-1]])[0].log_softmax(-1)
            length = len(found.tokens) + 1
            own = sum(float(logprobs[i - 1, row[i]]) for i in range(len(row) - length, len(row)))
            assert found.score == pytest.approx(own / length, abs=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 50}, {"heads": 5}, {"kv_heads": 4}, {"layers": 0}, {"vocab_size": "40"},
        {"separator": [3] * 65},
        {"rope_base": 1e-300},
        {"norm_epsilon": True},
        {"max_positions": 8},
        {"separator": [40]}, {"separator": []}, {"eos_id": -1}, {"rope_base": float("nan")},
        {"depth": 3},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        LlamaConfig.from_dict(CONFIG.to_dict() | wrong)


needs_extension = pytest.mark.skipif(
    not native.int8_available(), reason="no compiler, or a processor without AVX-512 VNNI"
)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_decodes(dtype: torch.dtype) -> None:
    found = Decoder(Verifier(LlamaEngine(tiny(1).to(dtype))), ReentryDrafter()).decode(sources(6))
    assert len(found) == 6


def test_the_longest_source_and_output_fit(network: Llama) -> None:
    verifier = Verifier(LlamaEngine(network))
    source = [9] * (verifier.max_positions - 1)
    found = Decoder(verifier, NoDraft(), limit=LengthLimit(0, 1000)).decode([source])[0][0]
    assert len(found.tokens) <= verifier.max_positions
    assert 2 * verifier.max_positions + len(CONFIG.separator) <= CONFIG.max_positions


@needs_extension
@pytest.mark.parametrize("width", [1, 16, 33, 576])
def test_the_native_norm(width: int) -> None:
    torch.manual_seed(width)
    x, weight = torch.randn(5, 3, width) * 4, torch.nn.Parameter(torch.randn(width))
    plain, own = llama.RMSNorm(width, 1e-5), native.RMSNorm(weight, 1e-5)
    plain.weight = weight
    with torch.inference_mode():
        torch.testing.assert_close(own(x), plain(x))
        assert torch.equal(own(x)[3, 1], own(x[3, 1]))  # whatever is beside it
        x[2, 0, 0] = torch.nan
        assert own(x)[2, 0].isnan().all()
        assert own(x)[2, 1].isfinite().all()


@needs_extension
@pytest.mark.parametrize("width", [2, 16, 48, 64])
def test_the_native_rotation(width: int) -> None:
    torch.manual_seed(width)
    x, angle = torch.randn(7, 5, width), torch.randn(7, 1, width // 2)
    plain = llama.rotate(x, 3, angle.cos(), angle.sin())
    own = native.rotate(x.clone(), 3, angle.cos(), angle.sin())
    assert torch.equal(own, plain)
    assert torch.equal(own[:, 3:], x[:, 3:])


@needs_extension
@pytest.mark.parametrize("width", [1, 15, 16, 100])
def test_the_native_gate(width: int) -> None:
    torch.manual_seed(width)
    x = torch.randn(6, 2 * width) * 30
    x[0, 0], x[1, 0], x[2, 0] = 200.0, -3e38, 0.0
    own = native.gate(x)
    torch.testing.assert_close(own, llama.gate(x), rtol=1e-5, atol=1e-6)
    assert torch.equal(own[4], native.gate(x[4:5])[0])
    x[3, 0] = torch.nan
    assert native.gate(x)[3, 0].isnan()
    x[3, 0], x[3, width] = 1.0, torch.inf
    assert native.gate(x)[3, 0].isinf()


@needs_extension
def test_what_the_extension_would_misread_is_refused() -> None:
    weight = torch.nn.Parameter(torch.ones(8))
    with pytest.raises(ValueError, match="a norm of 8"):
        native.RMSNorm(weight, 1e-5)(torch.ones(2, 9))
    with pytest.raises(ValueError, match="float32"):
        native.RMSNorm(torch.nn.Parameter(torch.ones(8).double()), 1e-5)(torch.ones(2, 8))
    heads, half = torch.ones(2, 3, 8), torch.ones(2, 1, 4)
    for bad in (
        (heads, 4, half, half),
        (heads, 3, half[:1], half),
        (heads[..., :7], 1, half, half),
        (heads.transpose(0, 1), 1, half, half),
        (heads.double(), 1, half, half),
    ):
        with pytest.raises(ValueError, match=r"float32|heads"):
            native.rotate(*bad)
    with pytest.raises(ValueError, match="as wide"):
        native.gate(torch.ones(2, 7))


@needs_extension
@pytest.mark.parametrize("ready", [quantize, prepare])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_of_a_token_do_not_depend_on_its_block(
    ready: Callable[[Llama], Llama], threads: int
) -> None:
    verifier = Verifier(LlamaEngine(ready(tiny(3))))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            source, output = [9, 8, 7, 6, 4], [verifier.bos_id, 11, 12, 13, 14, 15]
            memory = verifier.start([source])
            alone = [verifier.verify(memory, [[t]], [i]).raw[0] for i, t in enumerate(output)]
            memory = verifier.start([source])
            whole_block = verifier.verify(memory, [output], [0]).raw
            memory = verifier.start([[3] * 20, source, []])
            blocks = [[verifier.bos_id, 3, 4], output, [verifier.bos_id] * 9]
            among = verifier.verify(memory, blocks, [0, 0, 0]).raw[3:9]
    finally:
        torch.set_num_threads(before)
    for one, two, three in zip(alone, whole_block, among, strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, three)


@pytest.mark.parametrize("batch_size", [1, 7])
def test_int8_decoding_is_greedy_decoding_token_for_token(batch_size: int) -> None:
    verifier, texts = Verifier(LlamaEngine(quantize(tiny(2)))), sources(40, 9)
    greedy = Decoder(verifier, NoDraft()).decode(texts, batch_size=1)
    found = Decoder(verifier, ReentryDrafter()).decode(texts, batch_size=batch_size)
    assert [f[0].tokens for f in found] == [g[0].tokens for g in greedy]


def test_a_network_is_stored_and_read_again(tmp_path: Path) -> None:
    words = BytePairs.of(
        {piece: i for i, piece in enumerate([*"<|>", *sorted(BYTE_OF.keys() - {*"<|>"})])}, []
    )
    config = replace(CONFIG, vocab_size=len(words))
    torch.manual_seed(4)
    network = Llama(config).eval()
    settings = {"name": "t", "task": "gec", "language": "en", "network": config.to_dict()}
    made = bundle.Bundle("t", settings, network, words)
    texts = [["A", "cat", "."], ["naïve", "日本"]]
    for dtype in (torch.float16, torch.int8):
        bundle.save(made, tmp_path / "t", dtype=dtype)
        read = bundle.load(str(tmp_path / "t"), dtype=torch.float32)
        assert isinstance(read.network, Llama)
        assert read.network.config == config
        assert [read.subwords.decode(read.subwords.encode(text)) for text in texts] == texts
        assert count_parameters(read.network) == count_parameters(network)
    with pytest.raises(ModelError, match="encoder"):
        _ = read.transformer
    settings["network"] = config.to_dict() | {"layers": 200}
    bundle.write_config(settings, tmp_path / "t")
    with pytest.raises(ModelError, match="size mismatch"):
        bundle.load(str(tmp_path / "t"))
