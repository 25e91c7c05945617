"""What ``make wheels`` has built: its files, its libraries, and installations of it.

``make check-wheels`` runs these tests; elsewhere they are skipped, for they need the folder
GEC_DIST with the distributions, and the package index. GEC_PYTHONS names further interpreters to
install for.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gec import __version__
from gec.models.native.build import kinds
from gec.models.native.wheels import FOLDER, PLATFORMS, Platform

ROOT = Path(__file__).resolve().parents[2]
DIST = Path(os.environ.get("GEC_DIST") or "nowhere")
NATIVE = ROOT / "tests" / "native"
PYTHONS = [sys.executable, *os.environ.get("GEC_PYTHONS", "").split()]
INFO = f"gec_toolkit-{__version__}.dist-info"

pytestmark = pytest.mark.skipif(
    "GEC_DIST" not in os.environ, reason="make check-wheels builds what this needs"
)
each_platform = pytest.mark.parametrize("where", PLATFORMS, ids=lambda where: where.tag)
each_linux = pytest.mark.parametrize(
    "where", [p for p in PLATFORMS if "linux" in p.tag], ids=lambda where: where.tag
)


def wheel(where: Platform) -> Path:
    return DIST / f"gec_toolkit-{__version__}-py3-none-{where.tag}.whl"


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def this_platform() -> Platform:
    """The platform that the tests run on, if it is one with a wheel."""
    machine = platform.machine().lower()
    tags = {"linux": f"manylinux_2_17_{machine}", "darwin": f"macosx_11_0_{machine}"}
    wanted = tags.get(sys.platform, f"win_{machine}")
    for each in PLATFORMS:
        if each.tag == wanted:
            return each
    pytest.skip(f"no wheel for {wanted}")


# ---------------------------------------------------------------------------------------- files


@each_platform
def test_a_wheel_holds_the_library_of_its_platform_and_says_so(where: Platform) -> None:
    files = contents(wheel(where))
    libraries = [name for name in files if re.search(r"\.(so|dylib|dll|pyd)$", name)]
    assert libraries == [where.library]
    lines = files[f"{INFO}/WHEEL"].decode().splitlines()
    assert [line for line in lines if line.startswith(("Tag", "Root"))] == [
        "Root-Is-Purelib: false",
        f"Tag: py3-none-{where.tag}",
    ]
    rows = [line.rsplit(",", 2) for line in files[f"{INFO}/RECORD"].decode().splitlines()]
    assert sorted(row[0] for row in rows) == sorted(files)
    for name, digest, size in rows:
        if name != f"{INFO}/RECORD":
            found = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=")
            assert (digest, size) == (f"sha256={found.decode()}", str(len(files[name]))), name


def test_wheels_differ_in_nothing_else() -> None:
    first, *others = (contents(wheel(where)) for where in PLATFORMS)
    own = {where.library for where in PLATFORMS} | {f"{INFO}/WHEEL", f"{INFO}/RECORD"}
    for other in others:
        assert {name: first[name] for name in first.keys() - own} == {
            name: other[name] for name in other.keys() - own
        }


def test_a_wheel_holds_every_bundle_and_nothing_of_this_machine() -> None:
    files = contents(wheel(PLATFORMS[0]))
    for path in (ROOT / "models" / "bundles").rglob("*"):
        name = f"gec/{path.relative_to(ROOT)}"
        if path.is_file() and path.name != "LICENSES.txt":
            assert files[name] == path.read_bytes(), name
    assert all(name.startswith(("gec/", f"{INFO}/")) for name in files)
    assert not [name for name in files if name.startswith("gec/models/corpora/")]
    assert not [name for name in files if re.search(r"__pycache__|\.(c|h|o|orig)$|/tests/", name)]
    here = str(ROOT).encode()
    assert not [name for name, data in files.items() if here in data]


def test_the_source_distribution_holds_what_a_build_needs() -> None:
    (source,) = DIST.glob(f"gec_toolkit-{__version__}.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for pattern in (
        "models/native/*.[ch]", "models/native/*.py", "docs/*.md", "models/corpora/*/*",
    ):  # fmt: skip
        wanted = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)}
        assert wanted - {"docs/api.py"} <= names
    assert {"setup.py", "pyproject.toml", "LICENSE", "NOTICE", "CHANGELOG.md"} <= names
    assert not [name for name in names if name.startswith(("tests/", ".venv", "build/"))]
    assert not [name for name in names if re.search(r"\.(so|dylib|dll)$", name)]


# ------------------------------------------------------------------------------------ libraries

FORMATS = {
    "manylinux_2_17_x86_64": (18, struct.pack("<H", 62), b"\x7fELF"),
    "manylinux_2_17_aarch64": (18, struct.pack("<H", 183), b"\x7fELF"),
    "macosx_11_0_arm64": (4, struct.pack("<I", 0x0100000C), b"\xcf\xfa\xed\xfe"),
    "macosx_11_0_x86_64": (4, struct.pack("<I", 0x01000007), b"\xcf\xfa\xed\xfe"),
    "win_amd64": (4, struct.pack("<H", 0x8664), b"MZ"),
}


@each_platform
def test_a_library_is_one_of_its_processor_with_all_its_kernels(where: Platform) -> None:
    data = contents(wheel(where))[where.library]
    place, machine, magic = FORMATS[where.tag]
    assert data.startswith(magic)
    if magic == b"MZ":  # the processor stands in the second header
        place += struct.unpack_from("<I", data, 0x3C)[0]
    assert data[place : place + len(machine)] == machine
    for kind in kinds(where.machine):
        assert re.search(rf"(?<![\w-]){kind.name}\0".encode(), data), kind.name
    assert b"gec_kernel_names" in data  # exported


@each_linux
def test_a_library_needs_no_newer_system_than_its_tag_says(where: Platform) -> None:
    data = contents(wheel(where))[where.library]
    versions = {int(found) for found in re.findall(rb"\0GLIBC_2\.(\d+)", data)}
    assert versions
    assert max(versions) <= 17
    needed = set(re.findall(rb"\0(lib[\w.+-]+\.so[.\d]*)", data))
    assert needed <= {b"libc.so.6", b"libm.so.6", b"libpthread.so.0"}


@each_linux
def test_a_library_gives_the_recorded_bits(where: Platform, tmp_path: Path) -> None:
    """On ARM under qemu-user (Debian: qemu-user, gcc-aarch64-linux-gnu)."""
    foreign = where.machine != platform.machine()
    compiler = f"{where.machine}-linux-gnu-gcc" if foreign else "gcc"
    run = [f"qemu-{where.machine}", "-L", f"/usr/{where.machine}-linux-gnu"] if foreign else []
    for tool in (compiler, *run[:1]):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    (tmp_path / "lib_gec.so").write_bytes(contents(wheel(where))[where.library])
    program = tmp_path / "checksums"
    subprocess.run(
        [compiler, "-O1", f"-I{ROOT / 'models' / 'native'}", str(NATIVE / "checksums.c"),
         "-o", str(program), f"-L{tmp_path}", "-l:lib_gec.so", f"-Wl,-rpath,{tmp_path}", "-lm"],
        check=True,
    )  # fmt: skip

    def printed(*arguments: str) -> list[str]:
        command = [*run, str(program), *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    recorded = (NATIVE / "checksums.txt").read_text(encoding="utf-8").splitlines()
    names = " ".join(printed()).split()
    assert "plain" in names
    for name in names:
        assert printed(name) == recorded, name


# -------------------------------------------------------------------------------- installations


class Environment:
    """A virtual environment that holds one distribution and what it requires."""

    def __init__(self, folder: Path, python: str, *requirements: str) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.folder = folder
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.run(
            "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
            "--constraint", str(ROOT / "constraints.txt"), *requirements,
        )  # fmt: skip

    def run(self, program: str, *arguments: str, text: str = "", **variables: str) -> str:
        """Run a program of the environment; return what it prints, complaints included."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GEC_", "PYTHON"))}
        done = subprocess.run(
            [str(self.bin / program), *arguments], input=text, cwd=self.folder, check=False,
            env={**clean, "CUDA_VISIBLE_DEVICES": "", **variables}, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def size(self) -> int:
        """The size of site-packages without pip, in bytes."""
        (packages,) = self.folder.glob("[Ll]ib/**/site-packages")
        files = (path for path in packages.rglob("*") if path.is_file())
        return sum(path.stat().st_size for path in files if "pip" not in path.parts)


SENTENCE, CORRECTED = "He go to school yesterday .\n", "He went to school yesterday .\n"


@pytest.mark.parametrize("python", PYTHONS)
def test_a_wheel_corrects_in_an_empty_environment(
    python: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wheel(this_platform())
    env = Environment(tmp_path / "env", python, str(path))
    version = env.run("python", "--version").split()[1]
    with capsys.disabled():
        print(f"\nPython {version}: {path.name}, installed {env.size() / 1e6:.0f} MB")
    assert __version__ in env.run("gec", "--version")
    best = kinds(platform.machine())
    kernels = re.search(r"^kernels:? +([\w-]+)", env.run("gec", "info"), re.M)
    assert kernels
    assert kernels[1] in {kind.name for kind in best}
    assert env.run("gec", "correct", text=SENTENCE) == CORRECTED
    assert env.run("python", "-m", "gec", "correct", text=SENTENCE, GEC_NATIVE="plain") == CORRECTED
    modules = "import gec, sys; c = gec.load('en'); c.correct('He go .'); print(*sys.modules)"
    assert not {"torch", "spacy"} & set(env.run("python", "-c", modules).split())


def test_the_source_distribution_builds_without_a_compiler(tmp_path: Path) -> None:
    (source,) = DIST.glob(f"gec_toolkit-{__version__}.tar.gz")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GEC_")}
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--verbose",
         "--no-cache-dir", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path),
         str(source)],
        check=True, env={**clean, "CC": "no-such-compiler"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if "no-such-compiler" in line]
    assert len(said) == 1, said
    assert "does not start" in said[0]
    (made,) = tmp_path.glob("*.whl")
    assert not [name for name in contents(made) if name.startswith(f"{FOLDER}_gec_native.")]
