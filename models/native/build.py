"""Compiles the C library, without anything but Python and a C compiler.

Every kind of processor has its kernels from the same file, compiled with its own flags; a compiler
that does not know a flag leaves that kind out. ``setup.py`` calls :func:`build`; by hand, for
another machine too::

    python models/native/build.py OUT.so --machine aarch64 --cc "aarch64-linux-gnu-gcc"
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

# gcc 12 loses a store to a vector on the stack where it may assume what lies behind other types.
FLAGS = (
    *("-std=gnu11", "-O3", "-fPIC", "-ffp-contract=off", "-fno-math-errno"),
    "-fno-strict-aliasing",
    *("-fvisibility=hidden", "-Wall", "-Wextra"),
)


class Kind(NamedTuple):
    """One kind of processor: its name, what it needs (cpu.c), its vectors and flags."""

    name: str
    needs: str
    lanes: str
    flags: tuple[str, ...] = ()


_AVX2 = ("-mavx2", "-mfma")
_AVX512 = (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl")
_VNNI = (*_AVX512, "-mavx512vnni")
_AMX = ("-mamx-tile", "-mamx-int8")
PLAIN = Kind("plain", "0", "lanes_plain.h", ("-O2",))
KINDS = {
    "x86_64": (
        Kind("avx512-vnni-amx", "AVX512_VNNI|AMX", "lanes_avx512.h", (*_VNNI, *_AMX)),
        Kind("avx512-vnni", "AVX512_VNNI", "lanes_avx512.h", _VNNI),
        Kind("avx512", "AVX512", "lanes_avx512.h", _AVX512),
        Kind("avx2-vnni", "AVX2_VNNI", "lanes_avx2.h", (*_AVX2, "-mavxvnni")),
        Kind("avx2", "AVX2", "lanes_avx2.h", _AVX2),
        PLAIN,
    ),
    "aarch64": (
        Kind("neon-dot", "DOT", "lanes_neon.h", ("-march=armv8.2-a+dotprod",)),
        Kind("neon", "0", "lanes_neon.h"),
        PLAIN,
    ),
}  # fmt: skip
"""The kinds of a machine, best first."""

_SAME = {"amd64": "x86_64", "arm64": "aarch64"}


class BuildError(Exception):
    """The library cannot be built; the message is one line."""


class NoCompilerError(BuildError):
    """The compiler does not start."""


def kinds(machine: str) -> tuple[Kind, ...]:
    """Return the kinds of processor of a machine, best first.

    >>> [kind.name for kind in kinds("riscv64")]
    ['plain']
    """
    name = machine.lower()
    return KINDS.get(_SAME.get(name, name), (PLAIN,))


def default_compiler() -> list[str]:
    """Return the compiler that the environment variable CC names, else the first that starts.

    These are tried: Python's own, cc, and that of the package ``ziglang``. If none starts, Python's
    is returned.
    """
    if named := os.environ.get("CC"):
        return shlex.split(named)
    usual = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if found := [compiler for compiler in (usual, ["cc"]) if _starts(compiler)]:
        return found[0]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else usual


def _starts(compiler: Sequence[str]) -> bool:
    """Whether a compiler is there: a stand-in that says what to install ends with an error."""
    try:
        return not subprocess.run([*compiler, "--version"], capture_output=True).returncode
    except OSError:
        return False


def build(
    target: Path,
    compiler: Sequence[str],
    machine: str,
    flags: Sequence[str] = (),
    program: Path | None = None,
) -> list[str]:
    """Compile the library to ``target``.

    Args:
        flags: for every file, behind the usual ones.
        program: a C file with a ``main``; what is built is that program, with all in it.

    Returns:
        The names of the kinds of kernels in it.

    Raises:
        BuildError: there is no compiler, or it cannot compile the plain kernels.
    """
    wanted = kinds(machine)
    sources = [path for path in sorted(HERE.glob("*.c")) if path.name not in _BY_KIND]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def compile_file(source: Path, name: str, *more: str) -> str:
            made = str(Path(folder, f"{name}.o"))
            include = f"-I{HERE}"
            spelt = [_ZIG.get(flag, flag) for flag in more] if _is_zig(compiler) else more
            _run([*compiler, *FLAGS, include, *spelt, *flags, "-c", str(source), "-o", made])
            return made

        def compile_kind(kind: Kind) -> str | None:
            try:
                return compile_file(HERE / "kernels.c", kind.name, *_definitions(kind), *kind.flags)
            except BuildError as error:
                if kind is PLAIN or isinstance(error, NoCompilerError):
                    raise
                print(f"kernels {kind.name} are left out: {error}", file=sys.stderr)
                return None

        others = [
            pool.submit(compile_file, path, path.stem) for path in [*sources, *_list(program)]
        ]
        made = dict(zip(wanted, pool.map(compile_kind, wanted), strict=True))
        present = {kind: name for kind, name in made.items() if name is not None}
        objects = [*(job.result() for job in others), *present.values()]
        objects.append(compile_file(HERE / "cpu.c", "cpu", f"-DGEC_TABLES={_tables(present)}"))
        target.parent.mkdir(parents=True, exist_ok=True)
        kind_of_result = ["-shared"] if program is None else []
        libraries = [] if target.suffix in _OF_WINDOWS else ["-lm", "-lpthread"]
        _run([*compiler, *flags, *kind_of_result, *objects, "-o", str(target), *libraries])
    return [kind.name for kind in present]


_BY_KIND = ("kernels.c", "cpu.c")  # compiled once a kind, or for what kinds there are


def _list(path: Path | None) -> list[Path]:
    return [] if path is None else [path]


_OF_WINDOWS = (".dll", ".exe")  # whose C library holds the mathematics and the threads

_ZIG = {"-march=armv8.2-a+dotprod": "-mcpu=generic+dotprod"}  # it names processors its own way


def _is_zig(compiler: Sequence[str]) -> bool:
    return any(Path(part).stem in ("zig", "ziglang") for part in compiler)


def _symbol(kind: Kind) -> str:
    return "gec_" + kind.name.replace("-", "_")


def _definitions(kind: Kind) -> list[str]:
    name, lanes = f'"{kind.name}"', f'"{kind.lanes}"'
    extra = [f"-DGEC_{part.upper()}" for part in kind.name.split("-")[1:]]
    return [
        *extra, f"-DGEC_TABLE={_symbol(kind)}", f"-DGEC_NAME={name}", f"-DGEC_LANES_H={lanes}"
    ]  # fmt: skip


def _tables(present: Iterable[Kind]) -> str:
    return " ".join(f"T({_symbol(kind)}, {kind.needs})" for kind in present)


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        message = f"the compiler {command[0]} does not start: {error.strerror}"
        raise NoCompilerError(message) from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr]
        raise BuildError(f"{command[0]}: {' '.join(said[0].split())}")


def main() -> None:
    """Build the library from the command line."""
    parser = argparse.ArgumentParser(description="Compile the library of kernels.")
    parser.add_argument(
        "target", type=Path, nargs="?", help="the file to write; without it the compiler is printed"
    )
    parser.add_argument("--machine", default=platform.machine())
    parser.add_argument("--cc", default=shlex.join(default_compiler()))
    parser.add_argument("--program", type=Path, help="a C file with a main, for a program")
    parser.add_argument("--flags", default="", help="more flags of the compiler: --flags='-g -O1'")
    args = parser.parse_args()
    compiler = shlex.split(args.cc)
    try:
        if args.target is not None:
            flags = shlex.split(args.flags)
            print(*build(args.target, compiler, args.machine, flags, args.program))
        elif _is_zig(compiler) or _starts(compiler):
            print(args.cc)
        else:
            raise NoCompilerError(f"the compiler {compiler[0]} does not start")
    except BuildError as error:
        sys.exit(f"no library: {error}")


if __name__ == "__main__":
    main()
