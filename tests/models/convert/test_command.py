"""gec convert, and bundles whose tokenizer is another library's: text in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import gec.models
from gec.cli import main
from gec.decoding.decoder import Decoder
from gec.errors import ModelError
from gec.models.convert.huggingface import from_huggingface
from gec.models.load import bundle, generation
from gec.models.load.foreign import detokenize
from gec.models.load.verifiers import verifier
from gec.text.words import split_words

TEXTS = [
    "She goes to school every day.",
    'I don\'t know (really) what he said, but 3.5% of it is "good".',
    "It's a dog's life; we'll see.",
]
SENTENCE = "She goes to school."
_TINY = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 64,
}


def bart(folder: Path) -> Any:
    """Write a BART with a byte-level BPE of its own, <s> and </s> around a source."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>"
    )
    config = transformers.BartConfig(
        **_TINY, vocab_size=340, forced_bos_token_id=0, forced_eos_token_id=None
    )
    return _saved(folder, transformers.BartForConditionalGeneration(config), fast)


def marian(folder: Path) -> Any:
    """Write a Marian with its two SentencePiece models, which only the library can run."""
    folder.mkdir(exist_ok=True)
    (folder / "text").write_text("\n".join(TEXTS * 9))
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "text"),
            model_prefix=str(folder / side),
            vocab_size=64,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    names = ["</s>", "<unk>", *map(pieces.id_to_piece, range(3, len(pieces))), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    (folder / "text").unlink()
    slow = transformers.MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
    )
    pad = len(names) - 1
    config = transformers.MarianConfig(
        **_TINY,
        vocab_size=len(names),
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
    )
    return _saved(folder, transformers.MarianMTModel(config), slow)


def _saved(folder: Path, model: Any, tokenizer: Any) -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.3)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


@pytest.mark.parametrize("make", [bart, marian])
@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_text_in_and_out(make: Any, tmp_path: Path) -> None:
    """The bundle's ids and outputs are those of their tokenizer and their network."""
    theirs, tokenizer = make(tmp_path / "theirs")
    out = tmp_path / "out"
    assert main(["convert", "huggingface", str(tmp_path / "theirs"), str(out)]) == 0
    loaded = bundle.load(str(out))
    config = loaded.network.config
    inputs = tokenizer(SENTENCE, return_tensors="pt")
    source = loaded.subwords.encode(["She", "goes", "to", "school", "."])
    assert [*config.source_prefix, *source, config.eos_id] == inputs.input_ids[0].tolist()
    expected = theirs.generate(
        input_ids=inputs.input_ids,
        attention_mask=inputs.attention_mask,
        num_beams=1,
        do_sample=False,
        max_new_tokens=20,
    )[0].tolist()[1 + len(config.decoder_prefix) :]
    (found,) = Decoder(verifier(loaded.network)).decode([source])
    count = min(len(found[0].tokens), len(expected))
    assert count >= 10
    assert list(found[0].tokens[:count]) == expected[:count]
    corrector = gec.models.load_huggingface(tmp_path / "theirs", strategy="greedy")
    (decoded,) = corrector.decode([tuple(source)], 0.0)
    assert decoded.tokens == found[0].tokens
    assert corrector.correct(SENTENCE).trace


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_words_and_their_tokens(tmp_path: Path) -> None:
    for make in (bart, marian):
        make(tmp_path / make.__name__)
        subwords = from_huggingface(tmp_path / make.__name__).subwords
        for text in TEXTS:
            words = [word.text for word in split_words(text)]
            ids = subwords.encode(words)
            spans = subwords.decode_spans(ids)
            assert [word for word, _, _ in spans] == words
            for word, first, last in spans:
                assert 0 <= first < last <= len(ids)
                assert word in "".join(subwords.pieces(ids[first:last])).replace(" ", "")
        assert subwords.decode_spans([]) == []


def test_a_prefix_is_not_copied(tmp_path: Path) -> None:
    """What stands before every source is the model's business, not the drafter's."""
    _, tokenizer = bart(tmp_path)
    made = from_huggingface(tmp_path, prefix="fix: ")
    assert list(made.network.config.source_prefix) == tokenizer("fix: ").input_ids[:-1]
    assert made.subwords.encode(["go"]) == tokenizer("go").input_ids[1:-1]


def test_our_own_bundle_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, back = str(tmp_path / "theirs"), str(tmp_path / "back")
    assert main(["convert", "--to", "huggingface", "en", theirs]) == 0
    assert "a Hugging Face model of the family blenderbot" in capsys.readouterr().out
    assert main(["convert", "huggingface", theirs, back]) == 0
    first, second = bundle.load("en"), bundle.load(back)
    assert second.network.config == first.network.config
    assert second.subwords == first.subwords
    for name, tensor in first.network.state_dict().items():
        assert torch.equal(tensor, second.network.state_dict()[name])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["huggingface", "x"], "name a library"),
        (["pytorch", "x", "y"], "name a library"),
        (["--to", "onnx", "en"], "--to onnx needs BUNDLE and OUT"),
        (["--to", "onnx", "en", "NEW", "--float16"], "--float16 does not belong to"),
        (["huggingface", "x", "NEW", "--quantization", "int8"], "--quantization does not belong"),
        (["huggingface", "x", "y", "NEW"], "takes one folder"),
        (["huggingface", "x", "NEW"], "cannot read x/config.json"),
        (["fairseq", "x", "NEW"], "needs --data"),
        (["--to", "ctranslate2", "en", "NEW", "--quantization", "int3"], "unknown quantization"),
    ],
)
def test_usage(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["convert", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_no_tokenizer(tmp_path: Path) -> None:
    bart(tmp_path)
    for path in tmp_path.glob("*token*"):
        path.unlink()
    with pytest.raises(ModelError, match="has no tokenizer files"):
        from_huggingface(tmp_path)


@pytest.mark.parametrize("text", TEXTS)
def test_detokenizing(text: str) -> None:
    assert detokenize([word.text for word in split_words(text)]) == text


def test_the_float16_bundle_is_half(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    bart(theirs)
    sizes = []
    for name, more in (("a", []), ("b", ["--float16"])):
        assert main(["convert", "huggingface", str(theirs), str(tmp_path / name), *more]) == 0
        sizes.append((tmp_path / name / "model.safetensors").stat().st_size)
    assert sizes[1] < 0.6 * sizes[0]


@pytest.mark.parametrize("make", [bart, marian])
def test_a_converted_translation_model_generates(
    make: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text in and out by its own tokenizer, and the same by every strategy that is exact."""
    make(tmp_path / "hf")
    converted = str(tmp_path / "bundle")
    # options may stand between the paths
    command = ["convert", "huggingface", str(tmp_path / "hf"), "--task", "translation", converted]
    assert main(command) == 0
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")
    outputs = []
    for strategy in ("greedy", "iad"):
        capsys.readouterr()
        command = ["generate", "--model", converted, "--strategy", strategy, "--device", "cpu"]
        assert main([*command, str(tmp_path / "in.txt")]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == len(TEXTS)
    loaded = generation.load(converted)
    with pytest.raises(ModelError, match="need one that was trained here"):
        generation.save(loaded, tmp_path / "again")
