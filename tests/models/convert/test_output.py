"""Names of ids that no token has."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fake_models import tiny_network

from gec.models.convert.fairseq import from_fairseq, to_fairseq
from gec.models.convert.fairseq_checkpoint import read_dictionary
from gec.models.convert.output import named
from gec.models.load.bundle import Bundle
from gec.models.load.fairseq_tokenizer import FairseqTokenizer, Words
from gec.models.load.foreign import ForeignSubwords


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], []),
        (["a", None, "b"], ["a", "<unused1>", "b"]),
        (["<unused1>", None, None], ["<unused1>", "<unused1_>", "<unused2>"]),
        (["<unused1_>", None, "<unused1>"], ["<unused1_>", "<unused1__>", "<unused1>"]),
    ],
)
def test_names_of_tokens(tokens: list[str | None], expected: list[str]) -> None:
    found = named(tokens)
    assert found == expected
    assert len(set(found)) == len(tokens)


def test_a_padded_vocabulary_goes_to_fairseq_and_back(tmp_path: Path) -> None:
    """The network has 30 ids, the tokenizer 9."""
    symbols = ["<s>", "<pad>", "</s>", "<unk>", "a", "b", "c", "<unused11>", "d"]
    subwords = ForeignSubwords(FairseqTokenizer(symbols, Words()), "fairseq", "tokenized")
    network = tiny_network(3, vocab_size=30, pad_id=1, bos_id=2, eos_id=2).float()
    to_fairseq(Bundle("padded", {}, network, subwords), tmp_path / "out")
    dictionary = read_dictionary(tmp_path / "out" / "dict.target.txt")
    assert (len(dictionary), len(set(dictionary))) == (30, 30)
    assert dictionary[7:13] == [
        "<unused11>", "d", "<unused9>", "<unused10>", "<unused11_>", "<unused12>",
    ]  # fmt: skip
    back = from_fairseq([tmp_path / "out" / "model.pt"], tmp_path / "out")
    assert back.network.config.vocab_size == 30
    assert back.subwords == subwords
    weight = back.network.state_dict()["embedding.weight"]
    assert torch.equal(weight, network.state_dict()["embedding.weight"])
