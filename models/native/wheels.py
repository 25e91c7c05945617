"""The source distribution and a wheel for every platform: ``make wheels``.

All of them come from the unpacked source distribution, so what it lacks is missed at once. One
wheel is built without a library; each platform's is that one with the library of the platform,
which zig (the package ``ziglang``) compiles on any machine: it brings every platform's C library.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gec.models.native.build import BuildError, kinds

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "gec/models/native/"
_MOMENT = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same sources give the same wheel


class Platform(NamedTuple):
    """A platform: the tag of its wheel, the target as zig calls it, the library's suffix."""

    tag: str
    target: str
    machine: str
    suffix: str

    @property
    def library(self) -> str:
        """The library's path in the wheel."""
        return f"{FOLDER}_gec_native{self.suffix}"


PLATFORMS = (
    Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17", "x86_64", ".so"),
    Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17", "aarch64", ".so"),
    Platform("macosx_11_0_arm64", "aarch64-macos.11.0", "aarch64", ".dylib"),
    Platform("macosx_11_0_x86_64", "x86_64-macos.11.0", "x86_64", ".dylib"),
    Platform("win_amd64", "x86_64-windows-gnu", "x86_64", ".dll"),
)


def compiler(platform: Platform) -> list[str]:
    """Return the command of the C compiler for a platform."""
    return [sys.executable, "-m", "ziglang", "cc", "-target", platform.target]


def build_all(out: Path, platforms: Sequence[Platform] = PLATFORMS) -> list[Path]:
    """Build the source distribution and the wheels of some platforms in ``out``.

    Raises:
        BuildError: one of them cannot be built, or lacks kernels.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = _source_distribution(out)
        with tarfile.open(source) as archive:
            archive.extractall(scratch, filter="data")
        (folder,) = Path(scratch).iterdir()
        base = _wheel_without_library(folder)
        made = [source]
        for platform in platforms:
            library = _compile(folder, platform, Path(scratch, platform.tag + platform.suffix))
            made.append(_with_library(base, out, platform, library))
    return made


def _source_distribution(out: Path) -> Path:
    before = set(out.glob("*.tar.gz"))
    for stale in before:
        if stale.name.startswith("gec_toolkit-"):
            stale.unlink()
    _run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(out), "."])
    (made,) = out.glob("gec_toolkit-*.tar.gz")
    return made


def _wheel_without_library(folder: Path) -> Path:
    """Build the wheel of the folder as a machine without a compiler does."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "."]
    _run(command, folder, {"CC": "none-is-wanted"})
    (made,) = folder.glob("dist/*.whl")
    return made


def _compile(folder: Path, platform: Platform, target: Path) -> bytes:
    """Return the library of a platform, compiled from the sources in a folder."""
    command = [
        sys.executable, str(folder / "models" / "native" / "build.py"), str(target),
        "--machine", platform.machine, "--cc", shlex.join(compiler(platform)), "--flags=-s",
    ]  # fmt: skip
    wanted = [kind.name for kind in kinds(platform.machine)]
    made = _run(command).split()
    if made != wanted:
        raise BuildError(f"{platform.tag}: kernels {made} of {wanted}")
    return target.read_bytes()


def _with_library(base: Path, out: Path, platform: Platform, library: bytes) -> Path:
    """Write a platform's wheel: another wheel's files, its library, its tag."""
    name, version, *_ = base.name.split("-")
    info = f"{name}-{version}.dist-info"
    tag = f"py3-none-{platform.tag}"
    with zipfile.ZipFile(base) as wheel:
        files = {file: wheel.read(file) for file in wheel.namelist() if not file.endswith("/")}
    if any(file.startswith(f"{FOLDER}_gec_native.") for file in files):
        raise BuildError(f"{base.name} holds a library already")
    head = files[f"{info}/WHEEL"].decode().splitlines()
    lines = [f"Tag: {tag}" if line.startswith("Tag: ") else line for line in head]
    files[f"{info}/WHEEL"] = ("\n".join(lines) + "\n").encode()
    files[platform.library] = library
    files.pop(f"{info}/RECORD")
    rows = [f"{file},{_digest(data)},{len(data)}" for file, data in sorted(files.items())]
    files[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,"]) + "\n").encode()
    target = out / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in sorted(files.items(), key=lambda item: (info in item[0], item[0])):
            entry = zipfile.ZipInfo(file, _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if file == platform.library else 0o644) << 16
            wheel.writestr(entry, data)
    return target


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"sha256={digest.decode().rstrip('=')}"


def _run(
    command: Sequence[str], folder: Path = ROOT, environment: Mapping[str, str] | None = None
) -> str:
    """Run a command and return what it prints; its last line of complaint is the error."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **(environment or {})}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise BuildError(f"{shlex.join(command[:4])} ...: {said[-1]}")
    return done.stdout


def main() -> None:
    """Build from the command line: ``python -m gec.models.native.wheels dist``."""
    parser = argparse.ArgumentParser(description="Build the source distribution and the wheels.")
    parser.add_argument("out", type=Path)
    tags = [platform.tag for platform in PLATFORMS]
    parser.add_argument("--only", action="append", choices=tags, help="a platform; may be repeated")
    args = parser.parse_args()
    chosen = [platform for platform in PLATFORMS if platform.tag in (args.only or tags)]
    try:
        for path in build_all(args.out.resolve(), chosen):
            print(f"{path.name} {path.stat().st_size / 1e6:.1f} MB")
    except BuildError as error:
        sys.exit(f"no wheels: {error}")


if __name__ == "__main__":
    main()
