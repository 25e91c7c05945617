"""Where bundles lie: shipped, fetched, installed as a wheel, or in any folder."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gec.errors import ConfigError, ModelError
from gec.untrusted import check_folder

BUNDLES = Path(__file__).parents[1] / "bundles"
UPDATES = Path(__file__).parents[1] / "updates"
"""What fetched models are made of, beside the networks that are downloaded."""


def find(name_or_path: str) -> Path:
    """Return the folder of a shipped bundle (``en``), a fetched or installed one, or of a path.

    Raises:
        ModelError: there is none, or it holds links out of it, devices or pipes.
    """
    places: tuple[Callable[[str], Path | None], ...] = (
        BUNDLES.joinpath, Path, installed, fetched,
    )  # fmt: skip
    for place in places:
        if (folder := place(name_or_path)) is None:
            continue
        with suppress(OSError):  # a name too long for a file
            if (folder / "config.json").is_file():
                if folder.parent != BUNDLES:  # an installer may link the files of a package
                    check_folder(folder)
                return folder
    if name_or_path in available():
        raise ModelError(f"the model {name_or_path} is not here yet: gec model get {name_or_path}")
    shipped = ", ".join(sorted(p.parent.name for p in BUNDLES.glob("*/config.json"))) or "none"
    raise ModelError(
        f"no model bundle at {name_or_path!r} (a folder with config.json); shipped: {shipped}"
    )


def shipped(name: str) -> bool:
    """Whether a bundle of that name is part of this package."""
    return Path(name).name == name and (BUNDLES / name / "config.json").is_file()


def cache_folder() -> Path:
    """Return the folder of fetched models: $GEC_CACHE, or gec in the user's cache folder."""
    try:
        if own := os.environ.get("GEC_CACHE"):
            return Path(own).expanduser()
        name = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
        base = os.environ.get(name)
        return (Path(base) if base else Path.home() / ".cache") / "gec"
    except RuntimeError as error:  # there is no such user, or none with a home
        raise ConfigError(f"no folder for fetched models: {error}; set GEC_CACHE") from error


def fetched(name: str) -> Path:
    """Return where the bundle of a fetched model is, or would be."""
    return cache_folder() / "models" / name


def available() -> list[str]:
    """Return the names of the models that can be fetched."""
    return sorted(path.parent.name for path in UPDATES.glob("*/config.json"))


def package_of(name: str) -> str:
    """Return the import name of a model's package."""
    return "gec_model_" + name.replace("-", "_")


def installed(name: str) -> Path | None:
    """Return the folder of a model that is installed as a wheel, None if it is not."""
    package = package_of(name)
    if not package.isidentifier():
        return None
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None
