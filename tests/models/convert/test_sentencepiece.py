"""SentencePiece models of fairseq: the package's pieces as symbols of a dictionary."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from fake_models import tiny_network

from gec.cli import main
from gec.errors import GecError, ModelError
from gec.models.convert.fairseq import network_to_fairseq
from gec.models.load.bundle import load
from gec.models.load.fairseq_sentencepiece import SentencePiece
from gec.models.load.fairseq_tokenizer import FairseqTokenizer, find_pieces

SAMPLE = Path("tests/data/learner_sample.txt").read_text(encoding="utf-8").splitlines()


def trained(**options: Any) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SAMPLE),
        model_writer=written,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"vocab_size": 300, "character_coverage": 1.0} | options,
    )
    return written.getvalue()


def texts() -> list[str]:
    rng = random.Random(0)
    drawn = ["".join(rng.choice("abcdefghi  tsneo.,'") for _ in range(40)) for _ in range(100)]
    return [
        *SAMPLE,
        *drawn,
        "",
        "  two   blanks ",
        "naïve façades, 東京 and 東 京 Ünïcödé 🙂🙂 !",
        "</s> <unk> <s> ▁ under",
        "ＦＵＬＬ ｗｉｄｔｈ ﬁne",
        "tab\there\nline\u00a0x\u200by \0",
    ]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@pytest.mark.parametrize(
    "options",
    [{}, {"byte_fallback": True, "vocab_size": 500}, {"user_defined_symbols": ["<sep>"]}],
    ids=str,
)
def test_saved_and_read_again(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    content = trained(model_type=kind, **options)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    SentencePiece(content).save(tmp_path)
    ours = SentencePiece.load(tmp_path / SentencePiece.FILE)
    for text in texts():
        assert ours.split(text) == theirs.encode_as_pieces(text)
    assert ours.join(ours.split(SAMPLE[0])) == SAMPLE[0]


def test_a_dictionary_of_pieces(tmp_path: Path) -> None:
    (tmp_path / "spm.model").write_bytes(trained())
    pieces = find_pieces(tmp_path, None, None)
    known = pieces.split("She goes to school.")
    tokenizer = FairseqTokenizer(["<s>", "<pad>", "</s>", "<unk>", *dict.fromkeys(known)], pieces)
    ids = tokenizer.encode("She goes to school.")
    assert ids == [4 + list(dict.fromkeys(known)).index(piece) for piece in known]
    assert tokenizer.decode(ids) == "She goes to school."
    assert tokenizer.encode("東京")[-1] == 3
    assert 2 not in tokenizer.encode("</s>")
    tokenizer.save(tmp_path)
    assert FairseqTokenizer.load(tmp_path).encode("She goes to school.") == ids


def test_a_converted_model_reads_and_writes_plain_text(tmp_path: Path) -> None:
    pieces = SentencePiece(trained())
    symbols = sorted({piece for line in SAMPLE for piece in pieces.split(line)})
    size = len(symbols) + 4
    network = tiny_network(3, vocab_size=size, pad_id=1, bos_id=2, eos_id=2).float()
    folder, out = tmp_path / "theirs", str(tmp_path / "out")
    network_to_fairseq(network, folder, [*"1234", *symbols])
    (folder / "gec.json").unlink()
    pieces.save(folder)
    assert main(["convert", "fairseq", str(folder / "model.pt"), out, "--data", str(folder)]) == 0
    loaded = load(out)
    assert loaded.config["tokenizer"]["spacing"] == "plain"
    words = ["My", "name", "is", "Ana", "and", "I", "am", "student", "."]
    ids = loaded.subwords.encode(words)
    assert ids == [4 + symbols.index(p) for p in pieces.split("My name is Ana and I am student.")]
    assert loaded.subwords.decode(ids) == words


@pytest.mark.parametrize("content", [b"", b"no", b"\xff" * 9, b"\n\x05ab", trained()[:-9]])
def test_files_of_something_else(content: bytes) -> None:
    with pytest.raises(ModelError, match=r"x.model") as caught:
        SentencePiece(content, "x.model")
    assert "\n" not in str(caught.value)


def test_which_model_is_meant(tmp_path: Path) -> None:
    for name in ("a.model", "b.model"):
        (tmp_path / name).write_bytes(trained())
    with pytest.raises(GecError, match=r"models a.model and b.model: name one with --codes"):
        find_pieces(tmp_path, None, None)
    assert find_pieces(tmp_path, None, tmp_path / "b.model").kind == "sentencepiece"
    (tmp_path / "codes").write_text("#version: 0.2\na b\n", encoding="utf-8")
    assert find_pieces(tmp_path, None, None).kind == "subword_nmt"
    with pytest.raises(ModelError, match="nor a SentencePiece model"):
        find_pieces(tmp_path / "codes", "sentencepiece", None)
