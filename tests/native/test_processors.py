"""The same bits on every processor: checksums of what every table gives, recorded once.

``checksums.txt`` is what ``checksums.c`` prints on any processor with any kernels. ARM's run here
under qemu-user, where that and a cross compiler are installed (Debian: qemu-user,
gcc-aarch64-linux-gnu). To record it anew after a change of what is computed::

    python models/native/build.py build/checksums --program tests/native/checksums.c
    build/checksums plain > tests/native/checksums.txt
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from gec.models.native.build import BuildError, build, default_compiler, kinds

HERE = Path(__file__).parent
CROSS, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def printed(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def program(folder: Path, compiler: Sequence[str], machine: str, *flags: str) -> Path:
    target = folder / "checksums"
    build(target, compiler, machine, flags, HERE / "checksums.c")
    return target


def check_all(run: Sequence[str | Path], wanted: set[str]) -> None:
    """Compare what each of the wanted kernels prints, which must be those that there are."""
    names = printed(*run).split()
    assert set(names) == wanted
    recorded = (HERE / "checksums.txt").read_text(encoding="utf-8").splitlines()
    assert len(recorded) > 200
    for name in names:
        assert printed(*run, name).splitlines() == recorded, name


def test_kernels_of_this_machine(tmp_path: Path) -> None:
    compiler = default_compiler()
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no compiler {compiler[0]}")
    made = program(tmp_path, compiler, platform.machine())
    names = set(printed(made).split())
    assert "plain" in names
    check_all([made], names)


@pytest.mark.skipif(not shutil.which(CROSS), reason=f"no cross compiler {CROSS}")
@pytest.mark.skipif(not shutil.which(QEMU), reason=f"no emulator {QEMU}")
def test_kernels_of_arm(tmp_path: Path) -> None:
    made = program(tmp_path, [CROSS], "aarch64", "-static")
    assert [kind.name for kind in kinds("arm64")] == ["neon-dot", "neon", "plain"]
    check_all([QEMU, made], {"neon-dot", "neon", "plain"})
    check_all([QEMU, "-cpu", "cortex-a53", made], {"neon", "plain"})  # which lacks dot products


def test_a_compiler_that_does_not_know_a_flag_leaves_a_kind_out(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no compiler gcc")
    old = tmp_path / "old"
    old.write_text(
        '#!/bin/sh\ncase "$*" in *avx*) echo error: what? >&2; exit 1;; esac\ngcc "$@"\n'
    )
    old.chmod(0o755)
    names = build(tmp_path / "library.so", [str(old)], "x86_64", ["-O0"])
    assert names == ["plain"]


def test_no_compiler_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BuildError, match=r"^the compiler nowhere-cc does not start: No such file"):
        build(tmp_path / "library.so", ["nowhere-cc"], "x86_64")
    assert capfd.readouterr() == ("", "")  # the error's line is the only one
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho one >&2\necho fatal error: no headers >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(BuildError, match=r"broken: fatal error: no headers$"):
        build(tmp_path / "library.so", [str(broken)], "x86_64")
    assert list(tmp_path.iterdir()) == [broken]
