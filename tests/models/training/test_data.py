"""From clean text to batches: what is kept, what is left out, and streams that resume exactly."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

from gec.errors import ConfigError, DataError
from gec.models.training.data import prepare
from gec.models.training.noisy_batches import Batch, NoisyBatches, edited_tokens, make_batch
from gec.models.training.recipe import Recipe, load_recipe
from gec.models.training.sources import open_text
from gec.models.training.streams import worker_starts
from gec.models.training.validation import validation_pairs
from gec.text.subwords import BOS_ID, EOS_ID, PAD_ID, Subwords

# ------------------------------------------------------------------------------ prepare


def packed_lines(packed: Path) -> list[str]:
    names = ("plain.txt", "packed.txt", "validation.txt")
    return [line for name in names for line in open_text(packed / name)]


def test_what_is_packed(packed: Path) -> None:
    assert {path.name for path in packed.iterdir()} >= {
        "plain.txt", "packed.txt", "validation.txt", "tokenizer.json", "inflections.tsv",
        "provenance.json",
    }  # fmt: skip
    lines = packed_lines(packed)
    assert len(lines) > 100
    assert all(line.endswith(" .") for line in lines), "words are set off by blanks"
    assert all(3 <= len(line.split()) <= 12 for line in lines)
    assert len(list(open_text(packed / "packed.txt"))) == 20  # its limit
    assert len(list(open_text(packed / "validation.txt"))) == 12
    assert not any("Ünlesbar" in line or "capital" in line for line in lines)


def test_no_sentence_twice_and_none_of_the_development_sets(packed: Path) -> None:
    lines = packed_lines(packed)
    assert len(set(lines)) == len(lines)
    text = "\n".join(lines)
    assert "They like a book ." not in text.split("\n")  # of dev.m2
    assert "We see the school ." not in text.split("\n")  # second column of dev.txt
    assert "They like a book every day ." in text.split("\n")


def test_more_may_be_excluded(recipe: Recipe, data_dir: Path, packed: Path, tmp_path: Path) -> None:
    banned = next(iter(open_text(packed / "packed.txt")))
    (tmp_path / "more.txt").write_text(banned.upper() + "\n")
    prepare(recipe, data_dir, tmp_path / "out", exclude=[tmp_path / "more.txt"])
    assert banned not in packed_lines(tmp_path / "out")


def test_names_vary(packed: Path) -> None:
    first = {line.split()[0] for line in packed_lines(packed)}
    assert len(first) > 20


def test_provenance(packed: Path) -> None:
    provenance = json.loads((packed / "provenance.json").read_text())
    assert [entry["name"] for entry in provenance] == ["plain", "packed"]
    assert [entry["licence"] for entry in provenance] == ["CC0", "CC0"]
    assert provenance[0]["sentences"] == len(list(open_text(packed / "plain.txt")))
    # two of the development sets, one twice; a third was another name's
    assert provenance[0]["duplicates_or_dev_sentences_dropped"] >= 2


def test_packing_is_deterministic(
    recipe: Recipe, data_dir: Path, packed: Path, tmp_path: Path
) -> None:
    prepare(recipe, data_dir, tmp_path)
    for name in ("plain.txt", "validation.txt", "tokenizer.json", "inflections.tsv"):
        assert (tmp_path / name).read_bytes() == (packed / name).read_bytes()


@pytest.mark.parametrize("name", ["clean/plain.txt", "lists/unigrams.tsv.xz", "dev.m2"])
def test_missing_data(recipe: Recipe, data_dir: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(data_dir, tmp_path / "data")
    (tmp_path / "data" / name).unlink()
    with pytest.raises(DataError, match=f"cannot read .*{Path(name).name}"):
        prepare(recipe, tmp_path / "data", tmp_path / "out")


def test_broken_data(recipe: Recipe, data_dir: Path, tmp_path: Path) -> None:
    for name, content in (
        ("clean/packed.txt.xz", b"not compressed"), ("clean/plain.txt", b"\xff\xfe"),
        ("lists/unigrams.tsv.xz", b"go\tmany\n"),
    ):  # fmt: skip
        shutil.copytree(data_dir, tmp_path / "data")
        (tmp_path / "data" / name).write_bytes(content)
        with pytest.raises(DataError, match=Path(name).name):
            prepare(recipe, tmp_path / "data", tmp_path / "out")
        shutil.rmtree(tmp_path / "data")


# ------------------------------------------------------------------------------ batches


@pytest.mark.parametrize(
    ("source", "target", "marks"),
    [
        ("a b c", "a b c", "..."),
        ("a b c", "a x c", ".e."),  # replaced
        ("a c", "a b c", ".e."),  # inserted
        ("a b c", "a c", ".e"),  # deleted: the token that follows
        ("a b", "a", "."),  # deleted at the end: nothing follows but EOS, always there
        ("a b c", "b a c", None),  # moved: at least one
        ("", "a b", "ee"),
        ("a b", "", ""),
        ("a a a", "a a", None),
    ],
)
def test_edited_tokens(source: str, target: str, marks: str | None) -> None:
    found = edited_tokens([*map(ord, source[::2])], [*map(ord, target[::2])])
    assert len(found) == len(target[::2])
    if marks is not None:
        assert "".join("e" if mark else "." for mark in found) == marks
    elif "c" in target:
        assert any(found)


def test_a_deletion_at_the_end_marks_eos() -> None:
    assert edited_tokens([5, 6, EOS_ID], [5, EOS_ID]) == [False, True]


def test_a_batch() -> None:
    batch = make_batch([([5, 6], [5, 7, 8]), ([9], [9])], (0, 1))
    assert batch.source.tolist() == [[5, 6, EOS_ID], [9, EOS_ID, PAD_ID]]
    assert batch.target_in.tolist() == [[BOS_ID, 5, 7, 8], [BOS_ID, 9, PAD_ID, PAD_ID]]
    assert batch.target_out.tolist() == [[5, 7, 8, EOS_ID], [9, EOS_ID, PAD_ID, PAD_ID]]
    assert batch.edited.tolist() == [[False, True, True, False], [False] * 4]
    assert batch.edited.dtype == torch.bool
    assert batch.position == (0, 1)
    moved = batch.to(torch.device("cpu"))
    assert moved.source.tolist() == batch.source.tolist()
    assert moved.position == batch.position


def content(batches: Sequence[Batch]) -> list[tuple[object, ...]]:
    return [
        (b.source.tolist(), b.target_out.tolist(), b.edited.tolist(), b.position) for b in batches
    ]


class FewSentences(NoisyBatches):
    POOL = 64


def test_streams_are_deterministic_and_resume_at_any_batch(packed: Path, recipe: Recipe) -> None:
    whole = list(islice(FewSentences(packed, recipe), 14))
    assert {batch.position[0] for batch in whole} >= {0, 1, 2}, "several pools"
    assert content(list(islice(FewSentences(packed, recipe), 14))) == content(whole)
    for number in range(13):
        start = whole[number].position
        tail = list(islice(FewSentences(packed, recipe, starts=[start]), 13 - number))
        assert content(tail) == content(whole[number + 1 :])


# PyTorch warns where there are fewer cores than workers
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_workers_share_the_pools(packed: Path, recipe: Recipe) -> None:
    """Two processes deliver in turn what one would, each pool once, and resume at any batch."""

    def stream(starts: Sequence[tuple[int, int]], count: int) -> list[Batch]:
        source = FewSentences(packed, recipe, starts=starts)
        return list(islice(DataLoader(source, batch_size=None, num_workers=2), count))

    alone = list(islice(FewSentences(packed, recipe), 30))
    whole = stream(worker_starts((), 2), 12)
    known = [row[:3] for row in content(alone)]
    found = [row[:3] for row in content(whole)]
    assert all(row in known for row in found)
    assert len({repr(row) for row in found}) == 12
    turn = deque(worker_starts((), 2))
    for batch in whole[:5]:
        turn.popleft()
        turn.append(batch.position)
    assert content(stream(worker_starts(list(turn), 2), 7)) == content(whole[5:])
    # three processes go on behind what two have begun
    assert worker_starts([(4, 1), (3, 2)], 3) == [(5, 0), (6, 0), (7, 0)]


def test_streams_differ_by_seed_and_rank(packed: Path, recipe: Recipe) -> None:
    streams = [
        content(list(islice(FewSentences(packed, recipe, seed=seed, rank=rank), 3)))
        for seed, rank in ((0, 0), (1, 0), (0, 1))
    ]
    assert streams[0] != streams[1] != streams[2] != streams[0]


def test_batches_fit(packed: Path, recipe: Recipe) -> None:
    subwords = Subwords.load(packed)
    clean = {tuple(line.split()) for line in packed_lines(packed)}
    joined = corrupted = rows = 0
    for batch in islice(FewSentences(packed, recipe), 12):
        count, width = batch.target_out.shape
        assert count * max(width, batch.source.shape[1]) <= recipe.training.batch_tokens
        for source, target in zip(batch.source.tolist(), batch.target_out.tolist(), strict=True):
            words = tuple(subwords.decode(target))
            joined += words not in clean
            corrupted += source[: source.index(EOS_ID)] != target[: target.index(EOS_ID)]
            rows += 1
    assert 0 < joined < 0.3 * rows
    assert 0.5 * rows < corrupted < rows


def test_weights_decide_the_shares(packed: Path, recipe: Recipe) -> None:
    only = replace(recipe.data.source[0], weight=0)
    lopsided = replace(recipe, data=replace(recipe.data, source=(only, recipe.data.source[1])))
    subwords = Subwords.load(packed)
    for batch in islice(FewSentences(packed, lopsided), 2):
        for target in batch.target_out.tolist():
            assert subwords.decode(target)[:2] == ["I", "am"]


def test_data_that_is_not_prepared(packed: Path, recipe: Recipe, tmp_path: Path) -> None:
    shutil.copytree(packed, tmp_path / "packed")
    (tmp_path / "packed" / "plain.txt").write_text("")
    with pytest.raises(DataError, match=r"no sentence of clean/plain\.txt"):
        NoisyBatches(tmp_path / "packed", recipe)
    (tmp_path / "packed" / "plain.txt").unlink()
    with pytest.raises(DataError, match=r"cannot read .*plain\.txt"):
        NoisyBatches(tmp_path / "packed", recipe)
    shutil.rmtree(tmp_path / "packed" / "lists")
    with pytest.raises(DataError, match="cannot read the word lists"):
        NoisyBatches(tmp_path / "packed", recipe)


def test_an_unknown_error_type(packed: Path, recipe: Recipe) -> None:
    wrong = replace(recipe, noise=replace(recipe.noise, rates={"R:NOISE": 1.0}))
    with pytest.raises(ConfigError, match="unknown error type 'R:NOISE'"):
        NoisyBatches(packed, wrong)


MARKED = """
[[data.source]]
file = "marked/*.txt"
name = "learner"
licence = "CC BY 4.0"
weight = 2
words = [2, 6]
format = "marked"
"""


def test_marked_sentences_are_packed_as_pairs(
    recipe_file: Path, data_dir: Path, tmp_path: Path
) -> None:
    shutil.copytree(data_dir, tmp_path / "data")
    (tmp_path / "data" / "marked").mkdir()
    for number, verb in enumerate(("has", "have")):
        (tmp_path / "data" / "marked" / f"{number}.txt").write_text(
            f"# level=A2\nShe [have|has] {number} cats.\nThey {verb} cats.\nNo.\n"
            "This sentence has more words than are wanted here.\n"
        )
    path = tmp_path / "marked.toml"
    path.write_text(recipe_file.read_text().replace("[noise]", MARKED + "\n[noise]", 1))
    prepare(load_recipe(path), tmp_path / "data", tmp_path / "out")
    assert sorted(open_text(tmp_path / "out" / "learner.txt")) == [
        "No .\tNo .",
        "She have 0 cats .\tShe has 0 cats .",
        "She have 1 cats .\tShe has 1 cats .",
        "They has cats .\tThey has cats .",
        "They have cats .\tThey have cats .",
    ]
    path.write_text(path.read_text().replace('"marked"', '"market"'))
    with pytest.raises(ConfigError, match="format must be one of marked, pairs, clean"):
        load_recipe(path)


def test_a_reversed_recipe_learns_to_make_errors(packed: Path, recipe: Recipe) -> None:
    reverse = replace(recipe, training=replace(recipe.training, reverse=True))
    forth, back = (NoisyBatches(packed, r).pool(0) for r in (recipe, reverse))
    codec = NoisyBatches(packed, recipe).subwords
    clean = {" ".join(codec.decode(target)) for batch in forth for _, target in batch}
    assert {" ".join(codec.decode(source)) for batch in back for source, _ in batch} == clean
    assert any(source != target for batch in back for source, target in batch)
    held, turned = (validation_pairs(packed, r, codec)[0] for r in (recipe, reverse))
    assert [source for source, _ in turned] == [target for _, target in held]
    assert any(source != target for source, target in turned)


def test_pairs_of_two_columns(pair_recipe: tuple[Recipe, Path], tmp_path: Path) -> None:
    recipe, data = pair_recipe
    lines = "He see it .\tHe sees it .\nSame here .\tSame here .\n"
    (data / "pairs" / "edits.tsv").write_text(lines)
    prepare(recipe, data, tmp_path / "two")
    assert list(open_text(tmp_path / "two" / "edits.txt")) == ["He see it .\tHe sees it ."]


PAIRS = """
[[data.source]]
file = "pairs/edits.tsv"
licence = "by repository"
weight = 2
format = "pairs"
skip_types = ["PUNCT"]
"""


@pytest.fixture
def pair_recipe(recipe_file: Path, data_dir: Path, tmp_path: Path) -> tuple[Recipe, Path]:
    rows = [
        f"He see {n} book .\tHe sees {n} books .\tINFL,AGR\tteam{n % 40}/docs" for n in range(400)
    ]
    rows += [
        "He see it , .\tHe see it .\tPUNCT\ta/b",  # every type skipped
        "They like books .\tThey like a book .\tINFL\ta/b",  # the right side is a dev sentence
        "Same here .\tSame here .\tINFL\ta/b",
        rows[0],
    ]
    shutil.copytree(data_dir, tmp_path / "data")
    (tmp_path / "data" / "pairs").mkdir()
    (tmp_path / "data" / "pairs" / "edits.tsv").write_text("\n".join(rows) + "\n")
    path = tmp_path / "pairs.toml"
    path.write_text(recipe_file.read_text().replace("[noise]", PAIRS + "\n[noise]", 1))
    return load_recipe(path), tmp_path / "data"


def test_real_pairs_are_split_by_repository(
    pair_recipe: tuple[Recipe, Path], packed: Path, tmp_path: Path
) -> None:
    recipe, data_dir = pair_recipe
    out = tmp_path / "out"
    prepare(recipe, data_dir, out, subwords=Subwords.load(packed))
    assert (out / "tokenizer.json").read_bytes() == (packed / "tokenizer.json").read_bytes()
    kept = (out / "edits.txt").read_text().splitlines()
    held = (out / "validation_pairs.txt").read_text().splitlines()
    assert 0 < len(held) <= 12 < len(kept)
    assert len(set(kept)) == len(kept)
    assert all(line.startswith("He see ") and "\tHe sees " in line for line in kept + held)
    repository = {line: int(line.split()[2]) % 40 for line in kept + held}
    assert {repository[line] for line in kept}.isdisjoint(repository[line] for line in held)
    origin = json.loads((out / "provenance.json").read_text())[-1]
    assert origin["pairs"] == len(kept)
    # a breaker's pair of a sentence that is validated on is not trained on
    validated = (out / "validation.txt").read_text().splitlines()[0]
    with (data_dir / "pairs" / "edits.tsv").open("a") as file:
        file.write(f"A broken one .\t{validated}\n")
    prepare(recipe, data_dir, out, subwords=Subwords.load(packed))
    assert validated in (out / "validation.txt").read_text().splitlines()
    assert "A broken one ." not in (out / "edits.txt").read_text()
    assert (origin["held_out"] + len(kept), origin["dropped"]) == (400, 2)

    # in the stream a pair is as it was mined: not joined, no noise on top
    subwords = Subwords.load(out)
    stream = NoisyBatches(out, replace_weights(recipe, [0, 0, 1]))
    batch = next(iter(stream))
    for source, target in zip(batch.source.tolist(), batch.target_out.tolist(), strict=True):
        line = "\t".join(" ".join(subwords.decode(side)) for side in (source, target))
        assert line in repository


def replace_weights(recipe: Recipe, weights: list[float]) -> Recipe:
    sources = zip(recipe.data.source, weights, strict=True)
    data = replace(recipe.data, source=tuple(replace(s, weight=w) for s, w in sources))
    return replace(recipe, data=data)


def test_a_pair_file_with_too_few_columns(pair_recipe: tuple[Recipe, Path], tmp_path: Path) -> None:
    recipe, data_dir = pair_recipe
    (data_dir / "pairs" / "edits.tsv").write_text("one\ttwo\tX\n")
    with pytest.raises(DataError, match=r"edits\.tsv:1: expected wrong, right, types, repository"):
        prepare(recipe, data_dir, tmp_path / "out")
