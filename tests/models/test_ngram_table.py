"""The n-gram model against a plain reference with dictionaries and fractions of counts."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from gec.errors import DataError, ModelError
from gec.models.training.tables.ngram_table import build_ngrams
from gec.text.ngrams import FILE, STEP, NGrams

WORDS = "the cat dog sees a old house and sleeps in".split()
ORDER = 4


def corpus(seed: int, size: int = 60) -> list[list[str]]:
    rng = random.Random(seed)
    return [
        [rng.choice(WORDS[: rng.randint(2, 10)]) for _ in range(rng.randint(1, 9))]
        for _ in range(size)
    ]


class Reference:
    """Interpolated Kneser-Ney as in the books: recursive, nothing packed, nothing rounded."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        grams: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for words in sentences:
            line = ["<s>"] * (ORDER - 1) + list(words) + ["</s>"]
            for n in range(1, ORDER + 1):
                for end in range(ORDER - 1, len(line)):
                    grams[n][tuple(line[end - n + 1 : end + 1])] += 1
        self.counts = dict(grams)
        for n in range(1, ORDER):
            before = Counter(gram[1:] for gram in grams[n + 1])
            self.counts[n] = Counter(
                {
                    gram: count if gram[0] == "<s>" else before[gram]
                    for gram, count in grams[n].items()
                }
            )
        self.size = len({gram[0] for gram in grams[1]} - {"</s>"}) + 3
        self.discounts = {n: self.discount(n) for n in self.counts}

    def discount(self, n: int) -> float:
        values = list(self.counts[n].values())
        once, twice = values.count(1), values.count(2)
        return once / (once + 2 * twice) if once and twice else 0.5

    def p(self, history: tuple[str, ...], word: str) -> float:
        n = len(history) + 1
        lower = 1 / self.size if n == 1 else self.p(history[1:], word)
        follow = {gram: c for gram, c in self.counts[n].items() if gram[:-1] == history}
        total = sum(follow.values())
        if not total:
            return lower
        d = self.discounts[n]
        return max(follow.get((*history, word), 0) - d, 0) / total + d * len(follow) / total * lower


@pytest.mark.parametrize("seed", range(4))
def test_the_table_is_kneser_ney(seed: int) -> None:
    sentences = corpus(seed)
    table = build_ngrams(lambda: sentences, least=(1,) * ORDER)
    reference = Reference(sentences)
    rng = random.Random(seed)
    for _ in range(60):
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, 8))]
        if any((word,) not in reference.counts[1] for word in words):
            continue
        line = ["<s>"] * (ORDER - 1) + words + ["</s>"]
        for place in range(len(words) + 1):
            expected = reference.p(tuple(line[place : place + ORDER - 1]), line[place + ORDER - 1])
            # every number of at most four looked up is rounded to a step
            assert table.logprob(words, place, place + 1) == pytest.approx(
                math.log(expected), abs=ORDER * STEP / 2 + 1e-6
            )
        whole = sum(table.logprob(words, i, i + 1) for i in range(len(words) + 1))
        assert table.logprob(words) == pytest.approx(whole)


def test_rare_ngrams_are_left_out() -> None:
    sentences = [["the", "cat", "sleeps"]] * 3 + [["a", "dog", "sees", "the", "cat"]]
    full = build_ngrams(lambda: sentences, least=(1, 1, 1, 1))
    small = build_ngrams(lambda: sentences, least=(1, 2, 2, 2))
    sizes = [len(level.hashes) for level in small.levels]
    # beginnings alone, and what ends in: the, the cat, cat sleeps, sleeps </s>
    assert sizes[1:] == [5, 5, 4]
    assert all(a <= len(b.hashes) for a, b in zip(sizes, full.levels, strict=True))
    assert small.logprob(["the", "cat", "sleeps"]) > small.logprob(["sleeps", "cat", "the"])


def test_few_words() -> None:
    table = build_ngrams(corpus(1).copy, vocabulary=3)
    assert len(table.words) == 3
    assert math.isfinite(table.logprob(["zebra", "the", "zebra"]))


def test_no_sentences() -> None:
    with pytest.raises(DataError, match="no sentences"):
        build_ngrams(lambda: [])


def test_it_comes_back_from_disk(tmp_path: Path) -> None:
    sentences = corpus(2)
    table = build_ngrams(lambda: sentences)
    table.save(tmp_path)
    loaded = NGrams.load(tmp_path)
    assert loaded is not None
    assert loaded.words == table.words
    assert loaded.levels == table.levels
    assert [loaded.logprob(s) for s in sentences] == [table.logprob(s) for s in sentences]
    first = (tmp_path / FILE).read_bytes()
    loaded.save(tmp_path)
    assert (tmp_path / FILE).read_bytes() == first


def test_no_file(tmp_path: Path) -> None:
    assert NGrams.load(tmp_path) is None


@pytest.mark.parametrize("damage", ["cut", "empty", "format", "json", "words"])
def test_a_broken_file(tmp_path: Path, damage: str) -> None:
    build_ngrams(lambda: corpus(3)).save(tmp_path)
    path = tmp_path / FILE
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[:-1],
            "empty": b"",
            "format": data.replace(b'"format": 2', b'"format": 3', 1),
            "json": b"[]\n" + data,
            "words": data.replace(b"\n", b"\n\xff", 1),
        }[damage]
    )
    with pytest.raises(ModelError, match=FILE):
        NGrams.load(tmp_path)
