"""Recipes: what is wrong in one is said in one line, with the file and the place."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from tiny_recipe import RECIPE

from gec.errors import ConfigError, DataError
from gec.models.training import recipe as recipes
from gec.models.training.finetune_data import data_recipe
from gec.models.training.finetune_recipe import pretrained_of
from gec.models.training.finetune_texts import text_recipe
from gec.models.training.generation_recipe import load_generation_recipe
from gec.models.training.recipe import Recipe, load_recipe, method_of, parse_duration, task_of


def test_a_recipe(recipe: Recipe) -> None:
    assert recipe.name == "tiny"
    first, second = recipe.data.source
    assert (first.file, second.file) == ("clean/plain.txt", "clean/packed.txt.xz")
    assert recipe.data.source[0].words == (3, 12)
    assert recipe.data.source[1].words == (3, 60)
    assert recipe.noise.rates == {"R:VERB:SVA": 12}
    assert recipe.training.learning_rate == 4e-3


def test_an_installed_package_says_that_it_has_no_corpora(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = recipes.Source(file="learner/*.xz", licence="", weight=1.0, packaged=True)
    assert source.paths(tmp_path)  # of the clone
    monkeypatch.setattr(recipes, "PACKAGED", tmp_path / "corpora")
    with pytest.raises(DataError, match=r"corpora is not there: .* train in a clone"):
        source.paths(tmp_path)


def test_the_shipped_recipes() -> None:
    """Every one loads, whatever its task."""
    folder = Path(__file__).parents[3] / "models" / "recipes"
    names = set()
    for path in folder.glob("*.toml"):
        if method_of(path) == "finetune":
            generates = task_of(path) != "gec"
            assert text_recipe(path).data.train if generates else data_recipe(path).part
            assert pretrained_of(path).wheel_sha256
            names.add(path.stem)
            continue
        load = load_recipe if task_of(path) == "gec" else load_generation_recipe
        names.add(load(path).name)
    assert {"en", "en_large", "multi30k", "en_de", "titles_deep"} <= names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[training]", "[training]\nspeed = 3", r"unknown setting in \[training\]: speed"),
        ("batch_tokens = 300", "", r"\[training\]: .*batch_tokens"),
        ("clean_share = 0.25", "", r"\[noise\]: .*clean_share"),
        ("validation = 12", "validation = 12\ntests = 3", r"unknown setting in \[data\]: tests"),
        ("limit = 20", "size = 20", r"unknown setting in \[data\.source\]: size"),
        ('name = "tiny"', 'title = "tiny"', r"unknown setting in \[top level\]: title"),
        ('name = "tiny"', "", r"\[top level\]: .*name"),
        ("[[data.source]]", "[[data.sources]]", r"no \[\[data\.source\]\]"),
        ("[noise]\n", "[noises]\n", r"\[noise\]: .*clean_share"),
        (
            "batch_tokens = 300",
            'batch_tokens = "x"',
            r"\[training\] batch_tokens must be int, not 'x'",
        ),
        ("learning_rate = 4e-3", 'learning_rate = "4e-3"', "learning_rate must be float"),
        ("words = [3, 12]", "words = 3", r"words must be tuple\[int, int\], not 3"),
        ("[data]\n", "[data\n", "not a valid TOML file"),
        ("[[data.source]]", "[data.source]", "not a valid TOML file"),
    ],
)
def test_wrong_recipes(tmp_path: Path, recipe_file: Path, old: str, new: str, message: str) -> None:
    text = recipe_file.read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=message) as caught:
        load_recipe(path)
    assert re.search(r"wrong\.toml", str(caught.value))
    assert "\n" not in str(caught.value)


def test_weights_by_name(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE.replace("[noise]", "[data.weights]\nplain = 0.5\n\n[noise]", 1))
    found = {source.name: source.weight for source in load_recipe(path).data.source}
    assert found["plain"] == 0.5
    for wrong, message in (
        ("other = 1", "names no source: other"),
        ("plain = -1", "plain must be a number >= 0, not -1"),
        ("plain = true", "plain must be a number >= 0, not True"),
        ("plain = 0\npacked = 0", "all sources have weight 0"),
    ):
        path.write_text(RECIPE.replace("[noise]", f"[data.weights]\n{wrong}\n\n[noise]", 1))
        with pytest.raises(ConfigError, match=message):
            load_recipe(path)


def test_the_breaker_is_made_of_the_small_models_recipe() -> None:
    recipes = Path(str(files("gec.models"))) / "recipes"
    breaker, en = load_recipe(recipes / "en_breaker.toml"), load_recipe(recipes / "en.toml")
    assert breaker.training.reverse
    assert not en.training.reverse
    assert breaker.network == en.network
    assert [s.name for s in breaker.data.source] == [s.name for s in en.data.source]


@pytest.mark.parametrize(
    "text", ["data = 3", "noise = 3", 'data = {source = ["x"]}', "data = {source = 3}"]
)
def test_tables_that_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"wrong\.toml"):
        load_recipe(tmp_path / "wrong.toml")


def test_no_recipe(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ConfigError, match="cannot read recipe"):
            load_recipe(path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ConfigError, match="not a valid TOML file"):
        load_recipe(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("25m", 1500), ("2h", 7200), (" 1.5h ", 5400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-3m", "3d", "1h30m", "m"])
def test_wrong_durations(text: str) -> None:
    with pytest.raises(ConfigError, match="not a duration"):
        parse_duration(text)


# -------------------------------------------------------------------------------- base


def test_a_recipe_over_another(recipe_file: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(recipe_file.read_text())
    path = tmp_path / "wide.toml"
    path.write_text('base = "tiny.toml"\nname = "wide"\n[network]\nwidth = 128\n')
    below, above = load_recipe(recipe_file), load_recipe(path)
    assert above.name == "wide"
    assert above.network == below.network | {"width": 128}
    assert (above.data, above.noise, above.training) == (below.data, below.noise, below.training)


def test_a_recipe_adds_sources_to_those_of_another(recipe_file: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(recipe_file.read_text())
    path = tmp_path / "more.toml"
    added = '[[data.more]]\nfile = "b.tsv"\nname = "broken"\nlicence = "x"\nweight = 2\n'
    path.write_text(f'base = "tiny.toml"\n[data.weights]\nbroken = 5\n{added}')
    below, above = load_recipe(recipe_file), load_recipe(path)
    assert above.data.source[:-1] == below.data.source
    assert (above.data.source[-1].name, above.data.source[-1].weight) == ("broken", 5)
    path.write_text(f'base = "tiny.toml"\n{added}{added}')
    with pytest.raises(ConfigError, match="two sources are called broken"):
        load_recipe(path)
    path.write_text('base = "tiny.toml"\n[data]\nmore = 3\n')
    with pytest.raises(ConfigError, match="a list of sources"):
        load_recipe(path)
    path.write_text('base = "tiny.toml"\n[[data.more]]\nfile = "b.tsv"\n')
    with pytest.raises(ConfigError, match=r"data\.more.: .*missing"):
        load_recipe(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "none.toml"', "cannot read recipe .*none.toml"),
        ("base = 3", "base must be the name of a recipe, not 3"),
        ('base = "self.toml"', "has a base itself"),
        ('base = "tiny.toml"\n[training]\npace = 3', "unknown setting in .training.: pace"),
    ],
)
def test_a_wrong_base(recipe_file: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tiny.toml").write_text(recipe_file.read_text())
    path = tmp_path / "self.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_recipe(path)
