"""Our loop around models of the transformers library: the adapter, and generate's own strategy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from huggingface_models import Theirs, random_model, sentences, trained_model

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.errors import ConfigError, ModelError
from gec.models.convert.transformers_model import HuggingFaceModel, generate, input_guided, wrapped

LIMIT = 14
SOURCES = [*sentences(11, seed=777), [3, 3, 3, 3]]


def other_architecture() -> Theirs:
    """Return a model that is no configuration of our Transformer."""
    torch.manual_seed(0)
    config = transformers.LongT5Config(
        vocab_size=14, d_model=16, d_kv=4, d_ff=24, num_layers=1, num_decoder_layers=1,
        num_heads=2, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0, local_radius=3,
    )  # fmt: skip
    model = transformers.LongT5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return Theirs("longt5", model)


MODELS = {
    "LongT5": other_architecture,
    "trained bart": lambda: trained_model("bart"),
    "trained t5": lambda: trained_model("t5"),
    "forced bart": lambda: random_model("bart with a forced first token"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_adapter(name: str) -> None:
    """Greedy, drafted and beam decoding are the library's own, at every batch size."""
    theirs = MODELS[name]()
    greedy = theirs.greedy(SOURCES, LIMIT)
    model = wrapped(theirs.model, (1,) if theirs.wrapped else ())
    forced = theirs.model.generation_config.forced_bos_token_id is not None
    for size in (1, 5, len(SOURCES)):  # 5: rows join others that are further
        for drafter in (None, CopyDrafter()):
            decoder = Decoder(model, drafter, limit=LengthLimit(0, LIMIT - forced))
            found = decoder.decode(SOURCES, batch_size=size)
            assert [row[0].tokens for row in found] == greedy


def test_the_adapters_beams() -> None:
    theirs = trained_model("bart")
    expected = theirs.model.generate(
        **theirs.batch(SOURCES), max_new_tokens=LIMIT, num_beams=3, early_stopping=True,
        do_sample=False, return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    decoder = Decoder(
        wrapped(theirs.model, (1,)), acceptance=BeamSearch(3), limit=LengthLimit(0, LIMIT)
    )
    found = [row[0] for row in decoder.decode(SOURCES)]
    assert [h.tokens for h in found] == [theirs.plain(x) for x in expected.sequences.tolist()]
    scores = [h.score for h in found]
    assert scores == pytest.approx(expected.sequences_scores.tolist(), abs=1e-4)


@pytest.mark.parametrize("kind", ["bart", "bart with a forced first token", "t5", "marian"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"no_repeat_ngram_size": 2},
        {"min_new_tokens": 3, "forced_eos_token_id": 2},
        {"bad_words_ids": [[5], [6, 7]], "repetition_penalty": 1.3},
    ],
    ids=lambda settings: next(iter(settings), "plain"),
)
def test_generate_is_the_librarys_greedy_output(kind: str, settings: dict[str, Any]) -> None:
    theirs = trained_model(kind) if kind in ("bart", "t5") else random_model(kind)
    batch = theirs.batch(SOURCES)
    expected = theirs.model.generate(
        **batch, max_new_tokens=LIMIT, num_beams=1, do_sample=False, **settings
    )
    found = generate(theirs.model, **batch, max_new_tokens=LIMIT, **settings)
    assert found.tolist() == expected.tolist()


def test_drafts_save_passes() -> None:
    theirs = trained_model("t5")
    batch = theirs.batch(SOURCES)
    passes = []
    hook = theirs.model.register_forward_hook(lambda *_: passes.append(1))
    outputs, counts = [], []
    for draft in (False, True):
        passes.clear()
        strategy = input_guided(batch["input_ids"], batch["attention_mask"], draft=draft)
        found = theirs.model.generate(
            **batch, custom_generate=strategy, max_new_tokens=LIMIT, num_beams=1, do_sample=False
        )
        outputs.append(found.tolist())
        counts.append(len(passes))
    hook.remove()
    assert outputs[0] == outputs[1]
    assert counts[1] < counts[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_beams": 2}, "leave out num_beams"),
        ({"do_sample": True}, "leave out do_sample"),
        ({"return_dict_in_generate": True}, "leave out return_dict_in_generate"),
        ({"max_time": 9.0}, "not by MaxTimeCriteria"),
    ],
)
def test_what_is_not_greedy(settings: dict[str, Any], message: str) -> None:
    theirs = random_model("bart")
    with pytest.raises(ConfigError, match=message):
        generate(theirs.model, **theirs.batch(SOURCES), max_new_tokens=LIMIT, **settings)


def test_models_without_an_encoder() -> None:
    config = transformers.GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=1)
    with pytest.raises(ModelError, match="GPT2LMHeadModel has no encoder"):
        HuggingFaceModel(transformers.GPT2LMHeadModel(config))
