"""The distribution: its name, its extras and its licences, and what is said about them."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from email import message_from_string
from email.message import Message
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from gec.errors import ModelError
from gec.extras import EXTRAS, missing

ROOT = Path(__file__).resolve().parent.parent
NOT_OURS = ("build", "dist", "runs", "data", "tests")
TEXTS = (".md", ".py", ".html", ".toml", ".yaml", ".yml", ".sh", ".service", "")


@pytest.fixture(scope="module")
def dist_info(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel's metadata, without a wheel."""
    folder = tmp_path_factory.mktemp("metadata")
    command = [sys.executable, "setup.py", "-q", "dist_info", "--output-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.dist-info")
    return found


@pytest.fixture(scope="module")
def metadata(dist_info: Path) -> Message:
    return message_from_string((dist_info / "METADATA").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def extras(metadata: Message) -> dict[str, set[str]]:
    """The distributions of every extra, their names normalised."""
    found: dict[str, set[str]] = {name: set() for name in metadata.get_all("Provides-Extra", [])}
    for requirement in metadata.get_all("Requires-Dist", []):
        if extra := re.search(r'extra == "([^"]+)"', requirement):
            found[extra[1]].add(normal(requirement))
    return found


def normal(requirement: str) -> str:
    """Return the name of a requirement's distribution."""
    name = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


# ------------------------------------------------------------------------------ name and extras


def test_the_name_is_not_a_strangers(metadata: Message) -> None:
    assert metadata["Name"] == "gec-toolkit"  # "gec" on the public index is another project


def test_every_optional_package_names_an_extra_that_brings_it(extras: dict[str, set[str]]) -> None:
    installed = packages_distributions()
    brought: dict[str, set[str]] = {}
    for package, extra in EXTRAS.items():
        names = {normal(name) for name in installed.get(package, [package])}
        assert names & extras[extra], f"the extra {extra!r} does not bring {package!r}"
        brought.setdefault(extra, set()).update(names)
    wanted = set().union(
        *(names for extra, names in extras.items() if extra not in ("test", "dev", "wheels"))
    )
    assert wanted <= set().union(*brought.values()), "gec.extras.EXTRAS lacks a package"


def test_a_package_without_an_extra_needs_the_whole_installation() -> None:
    assert missing("numpy.linalg").endswith("pip install .")


def test_the_long_description_has_no_link_that_leads_nowhere(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert "Grammatical error correction" in text
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert not [link for link in links if not link.startswith(("https://", "#"))]
    assert "docs/ci.md" in text  # the name stays where the link was


def test_the_table_of_the_project_says_what_it_can() -> None:
    """What pyproject.toml says, setup.py does not repeat: setuptools would drop it silently."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(table["dynamic"]) == {"version", "readme"}
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"
    ]
    (call,) = calls
    given = {word.arg for word in call.keywords}
    assert not given & {"name", "version", "description", "install_requires", "extras_require",
                        "entry_points", "classifiers", "python_requires"}  # fmt: skip


def test_only_the_source_archive_holds_the_corpora(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    listed = next(tmp_path.glob("*/SOURCES.txt")).read_text(encoding="utf-8").split()
    corpora = {p.relative_to(ROOT).as_posix() for p in ROOT.glob("models/corpora/*/*")}
    assert corpora
    assert corpora <= {*listed}
    (call,) = (
        node
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"
    )
    (data,) = (word.value for word in call.keywords if word.arg == "package_data")
    assert not [text for node in ast.walk(data) if "corpora" in (text := ast.unparse(node))]


def test_correcting_needs_neither_torch_nor_spacy(metadata: Message) -> None:
    base = {normal(r) for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r}
    assert base == {"numpy", "rapidfuzz", "safetensors", "tokenizers"}
    assert missing("torch.nn").endswith("pip install '.[torch]'")
    assert missing("spacy.lang").endswith("pip install '.[spacy]'")


def test_readers_of_other_formats_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from gec.models.convert.output import needs
    from gec.models.load.fairseq_sentencepiece import SentencePiece
    from gec.models.load.foreign import TransformersTokenizer

    for package in ("onnx", "sentencepiece", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    reads: tuple[Callable[[], object], ...] = (
        lambda: needs("onnx"),
        lambda: SentencePiece(b""),
        lambda: TransformersTokenizer.of(Path("folder")),
    )
    for read in reads:
        with pytest.raises(ModelError, match=r"is missing; .* pip install '\.\[convert\]'$"):
            read()


def texts() -> Iterator[Path]:
    """Every file of the project that a reader may take a command from."""
    for folder in sorted(ROOT.iterdir()):
        if folder.is_file():
            yield from [folder] if folder.suffix in TEXTS else []
        elif folder.name not in NOT_OURS and not folder.name.startswith("."):
            yield from (p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix in TEXTS)


def readable(path: Path) -> str:
    """Return a file's text; nothing if it is binary."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def installs() -> Iterator[tuple[str, str]]:
    """Every requirement after ``pip install`` in documentation and code, with its file."""
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        if name == "gec/extras.py":
            continue  # makes the commands; the tests above say which
        for command in re.findall(r"\bpip3? install ([^\n`#;&|]+)", readable(path)):
            command = re.sub(r"[\"']?\)?,?$", "", command) if path.suffix == ".py" else command
            for word in words(command):
                yield name, word


def words(command: str) -> list[str]:
    """Return the requirements of a command, without options."""
    if command.count("'") % 2:
        command += "'"
    return [word for word in shlex.split(command) if not word.startswith("-")]


def test_commands_in_documentation_and_code_install_ours_or_what_we_use(
    metadata: Message, extras: dict[str, set[str]]
) -> None:
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
    known = {normal(name) for name in pins}
    found = list(installs())
    assert {"README.md", "docs/server.md", "docs/ci.md"} <= {name for name, _ in found}
    for name, word in found:
        target = re.fullmatch(r"([\w.-]+)(?:\[([\w,-]+)\])?(?: @ \S+|[<>=!~].*)?", word)
        assert target, f"{name}: cannot read pip install {word!r}"
        own = target[1] == "." or (" @ " in word and target[1] == metadata["Name"])
        assert own or normal(target[1]) in known, f"{name}: pip install {word!r} names a stranger"
        if own and target[2]:
            assert set(target[2].split(",")) <= set(extras), f"{name}: no extra in {word!r}"


def test_nobody_is_sent_to_the_stranger() -> None:
    for path in texts():
        assert not re.search(r"(?<![\w.-])gec\[[a-z, ]+\]", readable(path)), path


# ------------------------------------------------------------------------------------- licences


def test_licences_of_code_and_data_are_in_the_metadata(metadata: Message, dist_info: Path) -> None:
    expression = metadata["License-Expression"]
    assert expression.split(" AND ")[0] == "Apache-2.0"
    assert {"CC-BY-SA-4.0", "CC-BY-SA-3.0", "MIT"} <= set(expression.split(" AND "))
    files = set(metadata.get_all("License-File", []))
    assert files == {"LICENSE", "NOTICE", "models/bundles/en_pipeline/LICENSES.txt"}
    for name in files:
        assert (dist_info / "licenses" / name).read_bytes() == (ROOT / name).read_bytes()


def cards() -> list[Path]:
    return sorted((ROOT / "models/bundles").glob("*/MODEL_CARD.md"))


@pytest.mark.parametrize("card", cards(), ids=lambda card: card.parent.name)
def test_every_bundle_says_its_licence(card: Path) -> None:
    assert re.search(r"^Licence: CC BY-SA 4\.0", card.read_text(encoding="utf-8"), re.M)
    assert f"models/bundles/{card.parent.name}" in (ROOT / "NOTICE").read_text(encoding="utf-8")


def test_the_notice_names_what_the_english_model_was_trained_on() -> None:
    card = (ROOT / "models/bundles/en/MODEL_CARD.md").read_text(encoding="utf-8")
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    table = re.search(r"^\| source [^\n]*\| licence \|.*\n\|[-|]+\n((?:\|.*\n)+)", card, re.M)
    assert table
    rows = [row.split("|")[1:3] for row in table[1].splitlines()]
    assert len(rows) >= 10
    for source, _ in rows:
        name = re.split(r"[,(]", source)[0].strip()
        assert name in notice, f"NOTICE does not name {name!r}"
