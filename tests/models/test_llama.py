"""The decoder-only network: against transformers, in blocks, and as the loop's verifier."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from gec.decoding.acceptance import Conservative
from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder
from gec.decoding.drafters import NoDraft
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.drafters.reentry import ReentryDrafter
from gec.errors import ModelError
from gec.models.llama import Llama, LlamaConfig
from gec.models.llama_verifier import LlamaVerifier

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
        self.verifier = LlamaVerifier(network)

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
    found = Decoder(LlamaVerifier(network), NoDraft()).decode([[9, 30, 12]])[0][0]
    assert [*found.tokens, CONFIG.eos_id][:24] == made


def test_a_block_gives_the_scores_of_whole_rows(network: Llama) -> None:
    verifier, rows = LlamaVerifier(network), [[3, 4, 5, 6], [], [8] * 9]
    with torch.inference_mode():
        memory = verifier.start(rows)
        blocks = [[verifier.bos_id, 11, 12], [verifier.bos_id], [verifier.bos_id, 13, 14, 15, 16]]
        first = verifier.verify(memory, blocks, [0, 0, 0])
        # what was rejected is written over: rows go on at places of their own
        second = verifier.verify_packed(memory, [[20, 21], [22], [23, 24, 25]], [2, 1, 1])
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
    greedy = Decoder(LlamaVerifier(network), NoDraft()).decode(texts)
    beam = Decoder(LlamaVerifier(network), NoDraft(), BeamSearch(1)).decode(texts)
    assert [found[0].tokens for found in beam] == [found[0].tokens for found in greedy]
    wide = Decoder(LlamaVerifier(network), NoDraft(), BeamSearch(4)).decode(texts)
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
        {"separator": [40]}, {"separator": []}, {"eos_id": -1}, {"rope_base": float("nan")},
        {"depth": 3},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        LlamaConfig.from_dict(CONFIG.to_dict() | wrong)
