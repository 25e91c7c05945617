"""A tiny recipe, its data, and the packed folder that ``gec data prepare`` makes of them."""

from __future__ import annotations

import lzma
import random
from pathlib import Path

import pytest
import torch
from tiny_recipe import RECIPE

from gec.models.training.data import prepare
from gec.models.training.recipe import Recipe, load_recipe

torch.set_num_threads(1)  # tiny tensors: several threads would only wait for one another

SUBJECTS = "Tom Mary She He They We".split()
VERBS = "play see want like".split()
OBJECTS = "a book|the school|an apple|two friends|some music".split("|")
EXCLUDED = ("They like a book.", "We see the school.", "She wants two friends.")
UNREADABLE = ("no capital and no end", "Ünlesbar.", 'One " quote.', "Too short.", "Er ... 日本語.")


def third(subject: str, verb: str) -> str:
    return verb if subject in ("They", "We") else verb + "s"


def sentences() -> list[str]:
    plain = [
        f"{subject} {third(subject, verb)} {thing}{end}"
        for subject in SUBJECTS
        for verb in VERBS
        for thing in OBJECTS
        for end in (".", " every day.")
    ]
    random.Random(1).shuffle(plain)
    return plain


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(line + "\n" for line in lines)
    if path.suffix == ".xz":
        with lzma.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        path.write_text(text, encoding="utf-8")


def write_data(folder: Path) -> None:
    """Write sources, excluded sentences and word lists."""
    write(folder / "clean/plain.txt", [*sentences(), *UNREADABLE, sentences()[0]])
    write(folder / "clean/packed.txt.xz", [f"I am {n} years old." for n in range(2, 60)])
    write(folder / "dev.txt", ["Something else .\tWe see the school ."])
    write(folder / "dev.m2", ["S They like a book .", "A 1 1|||M:DET|||A|||REQUIRED|||-NONE-|||0"])
    forms = [
        f"{verb}_{verb}{end}:VB_{tag}"
        for verb in VERBS
        for end, tag in (("s", "VBZ"), ("ed", "VBD"), ("ed", "VBN"), ("ing", "VBG"))
    ]
    words = {"book", "books", "school", "schools", "friend", "friends", "in", "on", "at", "to"}
    words |= {line.partition(":")[0].split("_")[1] for line in forms} | {*VERBS}
    lists = folder / "lists"
    write(lists / "verb-form-vocab.txt.xz", forms)
    write(lists / "unigrams.tsv.xz", [f"{word}\t100" for word in sorted(words)])
    write(lists / "errorify_common_replaces.tsv.xz", ["in\ton\t90", "at\tin\t80", "book\tbooks\t9"])
    write(lists / "errorify_common_inserts.tsv.xz", ["that\t500", "to\t900"])
    write(lists / "errorify_common_deletes.tsv.xz", ["that\t100", "the\t100"])
    write(lists / "varcon.txt.xz", ["A Cv: color / B C: colour"])
    write(lists / "homophones_cmudict.tsv.xz", ["see\tsea"])
    write(lists / "toefl_spell_annotations.tsv.xz", ["1\t2-3\tscool\tM\tschool"])
    for name in ("codespell", "wikipedia_common_misspellings", "client9_misspell", "typos_words"):
        write(lists / f"{name}.tsv.xz", ["freind\tfriend"])


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.fixture(scope="session")
def recipe_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipes") / "tiny.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def recipe(recipe_file: Path) -> Recipe:
    return load_recipe(recipe_file)


@pytest.fixture(scope="session")
def packed(recipe: Recipe, data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    prepare(recipe, data_dir, folder)
    return folder
