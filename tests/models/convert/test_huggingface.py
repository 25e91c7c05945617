"""Models of the transformers library in ours and back: same logits, tokens and beam scores."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_models import KINDS, TRAINED, Theirs, random_model, sentences, trained_model
from huggingface_subwords import NumberSubwords
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.errors import ModelError
from gec.models.convert.huggingface import network_from_huggingface, to_huggingface
from gec.models.load.bundle import Bundle
from gec.models.load.verifiers import verifier
from gec.models.network.transformer import Transformer

LIMIT = 14
SOURCES = [*sentences(11, seed=777), [3, 3, 3, 3], []]
MODELS = [pytest.param((random_model, kind), id=f"random {kind}") for kind in KINDS]
MODELS += [pytest.param((trained_model, kind), id=f"trained {kind}") for kind in TRAINED]


@pytest.fixture(params=MODELS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Theirs, Transformer]:
    make, kind = request.param
    return make(kind), network_from_huggingface(make(kind).save(tmp_path / "theirs"))


def decode(network: Transformer, sources: list[list[int]], **how: Any) -> list[Hypothesis]:
    room = LIMIT - len(network.config.decoder_prefix)
    size = how.pop("batch_size", len(sources))
    decoder = Decoder(verifier(network), limit=LengthLimit(0, room), **how)
    return [found[0] for found in decoder.decode(sources, batch_size=size)]


def tokens(found: list[Hypothesis]) -> list[tuple[int, ...]]:
    return [hypothesis.tokens for hypothesis in found]


def logits_of(theirs: Theirs, network: Transformer) -> tuple[Tensor, Tensor]:
    """Return both libraries' logits of a padded batch with the same outputs fed."""
    batch = theirs.batch(SOURCES)
    fed = torch.tensor([(row * 12)[:12] or [4] * 12 for row in SOURCES])
    mask = batch["attention_mask"].bool()
    with torch.no_grad():
        expected = theirs.model(**batch, decoder_input_ids=fed).logits
        # our forward masks pads by their id, which a source may hold: here none does
        found = network(batch["input_ids"].masked_fill(~mask, network.config.pad_id), fed)
    return found, expected


def test_the_same_greedy_tokens(pair: tuple[Theirs, Transformer]) -> None:
    theirs, network = pair
    found, expected = logits_of(theirs, network)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    greedy = theirs.greedy(SOURCES, LIMIT)
    assert tokens(decode(network, SOURCES)) == greedy
    assert tokens(decode(network, SOURCES, batch_size=1)) == greedy
    assert tokens(decode(network, SOURCES, drafter=CopyDrafter())) == greedy
    assert [theirs.greedy([source], LIMIT)[0] for source in SOURCES[:3]] == greedy[:3]


def test_the_trained_models_answer_the_source() -> None:
    """What is compared above is not the same few tokens for everything."""
    for kind in TRAINED:
        assert len(set(trained_model(kind).greedy(SOURCES, LIMIT))) > len(SOURCES) // 2


@pytest.mark.parametrize("kind", TRAINED)
def test_the_same_beam_search(kind: str, tmp_path: Path) -> None:
    theirs = trained_model(kind)
    network = network_from_huggingface(theirs.save(tmp_path / "theirs"))
    expected = theirs.model.generate(
        **theirs.batch(SOURCES),
        max_new_tokens=LIMIT,
        num_beams=4,
        do_sample=False,
        early_stopping=True,
        return_dict_in_generate=True,
        output_scores=True,
    )
    found = decode(network, SOURCES, acceptance=BeamSearch(4))
    assert tokens(found) == [theirs.plain(row) for row in expected.sequences.tolist()]
    scores = [hypothesis.score for hypothesis in found]
    assert scores == pytest.approx(expected.sequences_scores.tolist(), abs=1e-4)


def test_out_again(pair: tuple[Theirs, Transformer], tmp_path: Path) -> None:
    """Converted, exported and loaded by both libraries: the same tokens."""
    theirs, network = pair
    bundle = Bundle("tiny", {}, network, NumberSubwords(network.config))
    family = to_huggingface(bundle, tmp_path / "out")
    kind = theirs.model.config.model_type
    assert family == {"mt5": "t5"}.get(kind, kind)
    greedy = theirs.greedy(SOURCES, LIMIT)
    assert tokens(decode(network_from_huggingface(tmp_path / "out"), SOURCES)) == greedy
    again = Theirs(theirs.kind, AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval())
    assert again.greedy(SOURCES, LIMIT) == greedy


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "post"},
        {"norm": "post", "positions": "sinusoidal_tensor2tensor", "position_offset": 2},
        {"positions": "learned", "activation": "gelu", "output_bias": True},
        {"tie_embeddings": False, "embedding_norm": True},
    ],
)
def test_our_own_networks_out(settings: dict[str, Any], tmp_path: Path) -> None:
    from fake_models import tiny_network

    network = tiny_network(3, vocab_size=14, **settings).float()
    to_huggingface(Bundle("tiny", {}, network, NumberSubwords(network.config)), tmp_path)
    theirs = Theirs("ours", AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval())
    found, expected = logits_of(theirs, network)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    assert theirs.greedy(SOURCES, LIMIT) == tokens(decode(network, SOURCES))


def test_what_no_family_expresses(tmp_path: Path) -> None:
    from fake_models import tiny_network

    network = tiny_network(3, gated=True)
    with pytest.raises(ModelError, match=r"no Hugging Face family .* cannot express gated=True"):
        to_huggingface(Bundle("tiny", {}, network, NumberSubwords(network.config)), tmp_path)
    assert not any(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------- refusals


@pytest.fixture
def bart(tmp_path: Path) -> Path:
    return random_model("bart").save(tmp_path / "bart")


def change_config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_weights(folder: Path, **values: Tensor | None) -> None:
    path = folder / "model.safetensors"
    weights = {**load_file(path), **values}
    save_file({name: t for name, t in weights.items() if t is not None}, path)


def refused(folder: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        network_from_huggingface(folder)
    assert "\n" not in str(caught.value)


def test_unexpected_and_missing_weights(bart: Path) -> None:
    change_weights(bart, **{"model.encoder.adapter.weight": torch.zeros(2)})
    refused(bart, "has the unexpected model.encoder.adapter.weight")
    change_weights(
        bart,
        **{
            "model.encoder.adapter.weight": None,
            "model.decoder.layers.0.fc1.bias": None,
            "model.decoder.layers.0.self_attn.k_proj.weight": None,
        },
    )
    refused(bart, r"lacks model\.decoder\.layers\.0\.self_attn\.k_proj\.weight, \S*fc1\.bias$")


def test_weights_of_another_shape(bart: Path) -> None:
    change_config(bart, encoder_ffn_dim=47)
    refused(bart, r"fc1.weight makes a weight of shape \[48, 32\], config.json asks for \[47, 32\]")


def test_foreign_architectures(bart: Path) -> None:
    change_config(bart, model_type="led", architectures=["LEDForConditionalGeneration"])
    refused(bart, "is a 'led', which is no configuration of our Transformer")
    change_config(bart, model_type="bart", architectures=["BartForSequenceClassification"])
    refused(bart, "is a BartForSequenceClassification, which does not generate")
    change_config(bart, architectures=None, activation_function="quick_gelu")
    refused(bart, "activation function 'quick_gelu' is not known")


def test_broken_files(bart: Path) -> None:
    (bart / "model.safetensors").write_bytes(b"no weights")
    refused(bart, "cannot read .*model.safetensors")
    (bart / "model.safetensors").unlink()
    refused(bart, "has neither model.safetensors nor pytorch_model.bin")
    (bart / "config.json").write_text("{")
    refused(bart, "cannot read .*config.json")
    refused(bart / "nowhere", "cannot read .*nowhere")


class Runs:
    """Pickles as a call."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("this ran",)


def test_pickles(bart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tensors in a pickle are read; a pickle that wants to run something is not."""
    greedy = random_model("bart").greedy(SOURCES, LIMIT)
    weights = load_file(bart / "model.safetensors")
    (bart / "model.safetensors").unlink()
    torch.save(weights, bart / "pytorch_model.bin")
    assert tokens(decode(network_from_huggingface(bart), SOURCES)) == greedy
    torch.save({"weights": Runs()}, bart / "pytorch_model.bin")
    refused(bart, r"pytorch_model.bin is not a file of tensors alone and was not loaded")
    (bart / "pytorch_model.bin").write_bytes(pickle.dumps(Runs()))
    refused(bart, "is not a file of tensors alone")
    torch.save([1, 2], bart / "pytorch_model.bin")
    refused(bart, "holds something else than named tensors")
    assert "this ran" not in capsys.readouterr().out


def test_weights_in_several_files(bart: Path) -> None:
    weights = load_file(bart / "model.safetensors")
    (bart / "model.safetensors").unlink()
    names = sorted(weights)
    parts = {"model-1.safetensors": names[:9], "model-2.safetensors": names[9:]}
    for name, inside in parts.items():
        save_file({key: weights[key] for key in inside}, bart / name)
    index = {key: name for name, inside in parts.items() for key in inside}
    path = bart / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": index}))
    greedy = random_model("bart").greedy(SOURCES, LIMIT)
    assert tokens(decode(network_from_huggingface(bart), SOURCES)) == greedy
    path.write_text(json.dumps({"weight_map": {"x": "../else.safetensors"}}))
    refused(bart, "names a file outside of its folder")


def test_forbidden_tokens(tmp_path: Path) -> None:
    """Marian's settings forbid the pad; here they forbid what the model says first."""
    theirs = random_model("marian")
    theirs.save(tmp_path)
    first = theirs.greedy(SOURCES, LIMIT)[0][0]
    change_config(tmp_path, bad_words_ids=[[first]])
    again = theirs.model.generate(
        **theirs.batch(SOURCES), max_new_tokens=LIMIT, num_beams=1, bad_words_ids=[[first]]
    )
    found = tokens(decode(network_from_huggingface(tmp_path), SOURCES))
    assert found == [theirs.plain(row) for row in again.tolist()]
    assert not any(first in row for row in found)
