"""Corpora as they are published: tokens, JSON Lines, unchanged pairs; the shipped recipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gec.errors import DataError
from gec.models.training.generation_recipe import Texts, load_generation_recipe
from gec.models.training.pair_formats import detokenized, json_pairs
from gec.models.training.parallel_corpora import read_pairs

RECIPES = Path(__file__).parents[3] / "models" / "recipes"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("The county seat is Morgan .", "The county seat is Morgan."),
        ("large , easily accessible", "large, easily accessible"),
        ("Alfred 's dogs ' tails", "Alfred's dogs' tails"),
        ("She ca n't , we 'll see : it 's 5 % .", "She can't, we'll see: it's 5%."),
        ("Spy -LRB- 1999 -RRB- and Goldmember", "Spy (1999) and Goldmember"),
        (
            "another film , `` Spontaneous Combustion '' .",
            'another film, "Spontaneous Combustion".',
        ),
        ('it " says " so', 'it "says" so'),
        ("'' Spontaneous ''", '"Spontaneous"'),
        ("$ 5 and -LSB- so -RSB- on", "$5 and [so] on"),
        ("plain text, as written.", "plain text, as written."),
        ("", ""),
    ],
)
def test_detokenized(tokens: str, text: str) -> None:
    assert detokenized(tokens) == text


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    lines = [{"source": "a b", "targets": ["x", " y  z "]}, {"source": "c", "targets": "w"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    texts = Texts(source="pairs.jsonl", licence="CC0", fields=("source", "targets"))
    assert list(read_pairs(texts, tmp_path)) == [("a b", "x"), ("a b", "y z"), ("c", "w")]


@pytest.mark.parametrize("line", ["{", "[]", '{"source": "a"}', '{"source": 1, "targets": ["a"]}'])
def test_json_lines_that_are_none(tmp_path: Path, line: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(f'{{"source": "a", "targets": "b"}}\n{line}\n')
    with pytest.raises(DataError, match=r"pairs.jsonl:2: .*source and targets"):
        list(json_pairs(path, ("source", "targets")))


def test_tokens_and_unchanged_pairs(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("A b .\tA b .\nA b .\tA c .\nA b.\tA b .\n")
    texts = Texts(source="pairs.tsv", licence="CC0", tokenized=True, changed=True)
    assert list(read_pairs(texts, tmp_path)) == [("A b.", "A c.")]


@pytest.mark.parametrize("name", ["simplification", "summarization", "scitldr"])
def test_the_shipped_recipes_can_be_read(name: str) -> None:
    recipe = load_generation_recipe(RECIPES / f"{name}.toml")
    assert recipe.name == name
    assert recipe.early_exit == 1
    assert "small" in recipe.small
    assert all(texts.licence for texts in (*recipe.data.train, *recipe.data.dev))
