"""Both BPEs against the real ones: subword-nmt, and GPT-2's as fairseq runs it."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from gec.models.convert.fairseq_checkpoint import read_dictionary
from gec.models.convert.fairseq_compat import load_fairseq
from gec.models.load.fairseq_tokenizer import FairseqTokenizer, Gpt2, SubwordNmt

if "GEC_FAIRSEQ" not in os.environ:  # set where the environment must have it
    pytest.importorskip("fairseq", reason="fairseq has an environment of its own: make test")

pytestmark = pytest.mark.filterwarnings("ignore")

SAMPLE = Path("tests/data/learner_sample.txt").read_text(encoding="utf-8")
TEXTS = [
    *(line for line in SAMPLE.splitlines() if line.strip()),
    "a",
    "naïve façades , 東京 and Ünïcödé 🙂 !",
    "unbelievabilities hyper-extraordinary lowerer",
]


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_codes_are_applied_as_by_subword_nmt(version: str) -> None:
    from subword_nmt.apply_bpe import BPE
    from subword_nmt.learn_bpe import learn_bpe

    written = io.StringIO()
    learn_bpe(io.StringIO(SAMPLE), written, 150)
    lines = written.getvalue().splitlines()
    assert lines[0] == "#version: 0.2"
    if version == "0.1":
        lines = [line.replace("</w>", "") for line in lines[1:]]
        lines += [f"{part} </w>" for part in ("e", "s", "ing", ".")]
    theirs = BPE(io.StringIO("\n".join(lines) + "\n"))
    ours = SubwordNmt(lines)
    for text in TEXTS:
        pieces = ours.split(text)
        assert " ".join(pieces) == theirs.process_line(" ".join(text.split()))
        assert ours.join(pieces) == " ".join(text.split())
    assert any(piece.endswith("@@") for piece in pieces)


def test_gpt2_pieces_are_fairseqs(tmp_path: Path) -> None:
    load_fairseq()
    from fairseq.data import Dictionary
    from fairseq.data.encoders.gpt2_bpe_utils import get_encoder

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([SAMPLE], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    encoder, vocab = tmp_path / "encoder.json", tmp_path / "vocab.bpe"
    encoder.write_text(json.dumps(model["vocab"]), encoding="utf-8")
    vocab.write_text("\n".join(["#version: 0.2", *merges]) + "\n", encoding="utf-8")
    theirs = get_encoder(str(encoder), str(vocab))
    # a dictionary as fairseq-preprocess leaves it: in the order of counts, and not every symbol
    numbers = [str(i) for i in sorted(model["vocab"].values(), reverse=True) if i % 9]
    lines = "".join(f"{n} 1\n" for n in [*numbers, "madeupword0000"])
    (tmp_path / "dict.txt").write_text(lines, encoding="utf-8")
    dictionary = Dictionary.load(str(tmp_path / "dict.txt"))
    ours = FairseqTokenizer(read_dictionary(tmp_path / "dict.txt"), Gpt2.of(encoder, vocab))
    assert len(ours) == len(dictionary)
    for text in TEXTS:
        numbered = " ".join(map(str, theirs.encode(text)))
        assert ours.encode(text) == [dictionary.index(piece) for piece in numbered.split()]
        known = [i for i in ours.encode(text) if i != dictionary.unk()]
        expected = theirs.decode([int(dictionary[i]) for i in known])
        assert ours.decode(known) == expected
