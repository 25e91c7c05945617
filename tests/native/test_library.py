"""Loading the library, what it says where that fails, and its pool of threads."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kernel_calls import Floats, Kernels

from gec.cli import main
from gec.errors import ConfigError
from gec.models.native import library as module
from gec.models.native.library import describe, library, load

needs_library = pytest.mark.skipif(library() is None, reason=f"kernels: {describe()}")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let the library be looked for anew, now and behind the test."""
    caches = (module._handle, module._chosen, module.load)
    for each in caches:
        each.cache_clear()
    monkeypatch.delenv("GEC_NATIVE", raising=False)
    yield monkeypatch
    for each in caches:
        each.cache_clear()


def test_a_missing_library_is_explained(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setattr(module, "PATH", tmp_path / "none.so")
    assert library() is None
    assert describe() == "none: the C library was not compiled when gec was installed"
    fresh.setenv("GEC_NATIVE", "off")
    assert describe() == "none: GEC_NATIVE=off"
    fresh.setenv("GEC_NATIVE", "avx2")
    with pytest.raises(ConfigError, match=r"^GEC_NATIVE=avx2: the C library was not compiled"):
        library()


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(100)])
def test_a_broken_library_is_explained(
    fresh: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "broken.so"
    path.write_bytes(content)
    fresh.setattr(module, "PATH", path)
    assert library() is None
    assert describe().startswith("none: the C library is not loadable (")
    assert "\n" not in describe()


def test_another_library_is_none_of_ours(fresh: pytest.MonkeyPatch) -> None:
    """One that loads, but has not what is called."""
    other = next(Path(np.__file__).parent.glob("**/_multiarray_umath*.so"), None)
    if other is None:
        pytest.skip("numpy has no extension of that name here")
    fresh.setattr(module, "PATH", other)
    assert library() is None
    assert "gec_abi" in describe()


@needs_library
def test_a_library_of_another_version_is_explained(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(module, "ABI", 77)
    assert library() is None
    assert describe().startswith("none: the C library is of version ")
    assert describe().endswith(", not 77: install gec again")


@needs_library
def test_kernels_by_name(fresh: pytest.MonkeyPatch) -> None:
    found = library()
    assert found is not None
    assert found.name == found.usable[0]
    assert found.usable[-1] == "plain"
    for name in found.usable:
        fresh.setenv("GEC_NATIVE", name)
        chosen = library()
        assert chosen is not None
        assert chosen.name == name
        assert describe().startswith(name)
        assert chosen.kernels


@needs_library
@pytest.mark.parametrize(
    ("name", "said"),
    [("fast", "there are no kernels 'fast'"), ("AVX2", "there are no kernels 'AVX2'")],
)
def test_unknown_kernels(name: str, said: str, fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("GEC_NATIVE", name)
    with pytest.raises(ConfigError) as caught:
        library()
    line = str(caught.value)
    assert line.startswith(f"GEC_NATIVE={name}: {said}: name one of ")
    assert line.endswith("plain or off")
    assert "\n" not in line


@needs_library
def test_kernels_of_another_machine(fresh: pytest.MonkeyPatch) -> None:
    here = load().usable
    name = "avx2" if "neon" in here else "neon"
    fresh.setenv("GEC_NATIVE", name)
    with pytest.raises(ConfigError, match=f"^GEC_NATIVE={name}: .* for this processor: name one"):
        library()


@needs_library
def test_every_name_is_known_to_the_library() -> None:
    assert set(load().usable) <= set(module.NAMES)


@needs_library
def test_the_command_says_what_is_wrong_in_one_line(
    fresh: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh.setenv("GEC_NATIVE", "fast")
    assert main(["info"]) == 2
    error = capsys.readouterr().err
    assert "GEC_NATIVE=fast" in error
    assert len(error.splitlines()) == 1


def product(threads: int, rows: int = 40) -> tuple[Kernels, Floats, Floats]:
    """Kernels and the numbers of a product that is worth several threads."""
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, 64)).astype(np.float32)
    weight = random.standard_normal((1000, 64)).astype(np.float32)
    return Kernels(load(), threads), x, weight


@needs_library
def test_several_callers_at_once() -> None:
    """Each gets what it would get alone, whether the pool is free or busy."""
    kernels, x, weight = product(3)
    want = Kernels(load()).linear(x, weight, None, None)
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(20):
            some = x[: 20 + number].copy()
            if not np.array_equal(kernels.linear(some, weight, None, None), want[: 20 + number]):
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


@needs_library
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_process_that_used_the_pool() -> None:
    """It has no threads of its parent's: the pool begins anew, in the grandchild again."""
    script = """
import os, sys
import numpy as np
from test_library import product
kernels, x, weight = product(3)
want = kernels.linear(x, weight, None, None)
for generation in range(2):
    if pid := os.fork():
        _, status = os.waitpid(pid, 0)
        assert np.array_equal(kernels.linear(x, weight, None, None), want)
        os._exit(os.waitstatus_to_exitcode(status))
    for _ in range(5):
        if not np.array_equal(kernels.linear(x, weight, None, None), want):
            os._exit(3)
assert len(os.listdir("/proc/self/task")) > 1 if os.path.isdir("/proc/self/task") else True
os._exit(0)
"""
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    path = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@needs_library
def test_the_pool_computes_every_item_once() -> None:
    """Counts that are no multiples of anything, more threads than items, and pieces of any size."""
    task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int)
    parallel = load().handle.gec_parallel
    parallel.restype = None
    parallel.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, task, ctypes.c_void_p]
    for threads in (1, 2, 7):
        for count in (0, 1, 2, 13, 100):
            for piece in (0, 1, 3, 1000):
                seen: list[int] = []
                numbers: set[int] = set()

                def note(_: object, begin: int, end: int, thread: int) -> None:
                    seen.extend(range(begin, end))  # noqa: B023
                    numbers.add(thread)  # noqa: B023

                parallel(threads, count, piece, task(note), None)
                assert sorted(seen) == list(range(count))
                assert numbers <= set(range(threads))


@needs_library
def test_idle_threads_sleep() -> None:
    """The pool's threads take no time of a processor while there is no work."""
    kernels, x, weight = product(4)
    kernels.linear(x, weight, None, None)
    threading.Event().wait(0.2)  # the last looks for work are over
    before = os.times()
    threading.Event().wait(0.5)
    after = os.times()
    assert (after.user + after.system) - (before.user + before.system) < 0.4
