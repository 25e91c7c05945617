"""A fetched model as a wheel of its own: ``make model-wheel``, for machines that reach no index.

The wheel holds one package, ``gec_model_NAME``, of the bundle's files and no code. Where it is
installed, :func:`gec.models.load.places.find` finds the bundle by its name.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gec import __version__
from gec.errors import ModelError
from gec.models.load.places import package_of

_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "gec-model-{name}"
version = "{version}"
description = "The model {name} of gec-toolkit: a bundle, no code"
requires-python = ">=3.11"

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
"{package}" = ["*"]
"""


def build(bundle: Path, out: Path) -> Path:
    """Pack a bundle's folder as a wheel in ``out``; return the wheel.

    Raises:
        ModelError: there is no bundle, or setuptools cannot build.
    """
    if not (bundle / "config.json").is_file():
        raise ModelError(f"no model bundle at {bundle}")
    name = bundle.name
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        shutil.copytree(bundle, project / package_of(name))
        (project / package_of(name) / "__init__.py").write_text("", encoding="utf-8")
        (project / "pyproject.toml").write_text(
            _PROJECT.format(name=name, version=__version__, package=package_of(name)),
            encoding="utf-8",
        )
        command = [
            sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet",
            "--no-deps", "--no-build-isolation", "--wheel-dir", str(project / "made"), str(project),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list((project / "made").glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            last = (done.stderr.strip().splitlines() or ["no wheel was made"])[-1]
            raise ModelError(f"cannot pack {bundle}: {last}")
        return Path(shutil.copy(wheels[0], out))


if __name__ == "__main__":
    from gec.models.load.places import find

    print(build(find(sys.argv[1]), Path(sys.argv[2])))
