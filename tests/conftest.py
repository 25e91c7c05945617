"""Fixtures for every test."""

from __future__ import annotations

import itertools
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_corrector import FakeCorrector

with suppress(ImportError):  # fairseq's environment does without
    from hypothesis import settings

    # a busy machine is no error in what is tested
    settings.register_profile("unhurried", deadline=None)
    settings.load_profile("unhurried")

# a shell that starts us in the background has Ctrl-C ignored, here and in what the tests start
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)  # small tensors: several threads would only wait for one another


@pytest.fixture(autouse=True)
def _threads_of_a_test() -> Iterator[None]:
    """Let --threads of a command end with its test."""
    from gec.models.native import threads

    given = [*threads._given]
    yield
    threads._given[:] = given


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[FakeCorrector]:
    """Make gec.load return fakes; the list holds every one made, with its options."""
    made: list[FakeCorrector] = []

    def load(name_or_path: str = "en", **options: Any) -> FakeCorrector:
        made.append(FakeCorrector({"name_or_path": name_or_path, **options}))
        return made[-1]

    monkeypatch.setattr("gec.loading.load", load)
    return made


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a file in a fresh current directory and return its relative name."""
    monkeypatch.chdir(tmp_path)
    numbers = itertools.count()

    def write(content: str | bytes, name: str | None = None) -> str:
        name = name or f"text{next(numbers)}.txt"
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        return name

    return write


@pytest.fixture
def bundle_copy(tmp_path: Path) -> Path:
    """A copy of the shipped English bundle that a test may change."""
    from gec.models.load.bundle import BUNDLES

    return Path(shutil.copytree(BUNDLES / "en", tmp_path / "bundle"))
