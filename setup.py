"""Packaging: four folders, one import package.

``gec`` is the folder gec/, ``gec.models`` is models/, ``gec.eval`` is eval/ and ``gec.web`` is
web/; nothing else lands in site-packages. Name, dependencies and extras stand in pyproject.toml.
"""

import importlib.util
import platform
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

HERE = Path(__file__).resolve().parent
ROOMS = {"gec": "gec", "gec.models": "models", "gec.eval": "eval", "gec.web": "web"}


def packages() -> list[str]:
    """Every package of every room under its import name."""
    found: list[str] = []
    for package, folder in ROOMS.items():
        if (HERE / folder / "__init__.py").is_file():
            found.append(package)
            found += [f"{package}.{name}" for name in find_packages(str(HERE / folder))]
    return found


def native(name: str) -> ModuleType:
    """A module of models/native/, which imports nothing of ours."""
    spec = importlib.util.spec_from_file_location(name, HERE / "models" / "native" / f"{name}.py")
    if spec is None or spec.loader is None:
        raise RuntimeError(f"models/native/{name}.py is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BuildLibrary(build_ext):
    """Compiles the C library: no extension of one Python, one file serves them all."""

    def get_ext_filename(self, fullname: str) -> str:
        suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
        return str(Path(*fullname.split("."))) + suffix

    def build_extension(self, ext: Extension) -> None:
        build = native("build")
        target = Path(self.get_ext_fullpath(ext.name))
        try:
            build.build(target, build.default_compiler(), platform.machine())
        except build.BuildError as error:
            raise CompileError(f"{error}; the extra torch computes instead, more slowly") from None


class Wheel(bdist_wheel):
    """A wheel for every Python of a platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def library() -> Extension:
    """The C library. Optional: without a compiler torch makes the same products, more slowly."""
    folder = HERE / "models" / "native"
    sources, headers = (
        [str(path.relative_to(HERE)) for path in sorted(folder.glob(pattern))]
        for pattern in ("*.c", "*.h")
    )
    options: dict[str, Any] = {"depends": headers, "optional": True}
    return Extension("gec.models.native._gec_native", sources, **options)


BUNDLE_FILES = [
    f"bundles/**/{name}"
    for name in (
        "config.json",
        "model.safetensors",
        "heads.safetensors",
        "tokenizer.json",
        "inflections.bin",
        "speller.bin",
        "ngrams.bin",
        "MODEL_CARD.md",
    )
]


# A relative link leads nowhere outside the source code, so its text alone is shown there.
RELATIVE_LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?://|#)[^)\s]+\)")


def long_description() -> str:
    return RELATIVE_LINK.sub(r"\1", (HERE / "README.md").read_text(encoding="utf-8"))


setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
    packages=packages(),
    package_dir=ROOMS,
    package_data={
        "gec": ["py.typed"],
        "gec.eval": ["compare/templates/*.html", "benchmark/*.json"],
        "gec.web": ["templates/*", "static/**/*"],
        "gec.models": [
            *BUNDLE_FILES,
            "bundles/en_pipeline/**/*",
            "updates/*/*",
            "recipes/*.toml",
            "recipes/*.cfg",
        ],
    },
    ext_modules=[library()],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": Wheel},
    include_package_data=False,
    zip_safe=False,
)
