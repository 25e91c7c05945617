"""Packaging: four folders, one import package.

``gec`` is the folder gec/, ``gec.models`` is models/, ``gec.eval`` is eval/ and ``gec.web`` is
web/; nothing else lands in site-packages. Versions here are lower bounds; constraints.txt pins.
The distribution has another name than the package: ``gec`` on the public index is a stranger's.
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


def version() -> str:
    text = (HERE / "gec" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if match is None:
        raise RuntimeError("gec/__init__.py has no line __version__ = ...")
    return match[1]


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
            raise CompileError(f"{error}; torch computes instead, more slowly") from None


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

# The code is Apache-2.0; NOTICE says which files the other licences cover.
LICENCES = (
    "Apache-2.0 AND CC-BY-4.0 AND CC-BY-SA-4.0 AND CC-BY-SA-3.0 AND MIT"
    " AND LicenseRef-VarCon AND LicenseRef-WordNet"
)

# What corrects text on a CPU needs neither; what does is in the extras that name them.
TORCH = "torch>=2.6"
SPACY = "spacy>=3.7,<4"

setup(
    name="gec-toolkit",
    version=version(),
    description="Fast, exact grammatical error correction: draft, verify, accept",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license_expression=LICENCES,
    license_files=["LICENSE", "NOTICE", "models/bundles/*/LICENSES.txt"],
    python_requires=">=3.11",
    packages=packages(),
    package_dir=ROOMS,
    package_data={
        "gec": ["py.typed"],
        "gec.eval": ["compare/templates/*.html", "benchmark/*.json"],
        "gec.web": ["templates/*", "static/**/*"],
        "gec.models": [
            *BUNDLE_FILES,
            "bundles/en_pipeline/**/*",
            "corpora/*/*",
            "updates/*/*",
            "recipes/*.toml",
            "recipes/*.cfg",
        ],
    },
    ext_modules=[library()],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": Wheel},
    include_package_data=False,
    zip_safe=False,
    entry_points={"console_scripts": ["gec = gec.cli:main"]},
    install_requires=[
        "tokenizers>=0.20",
        "safetensors>=0.4",
        "numpy>=1.26",
        "rapidfuzz>=3.9",
    ],
    extras_require={
        "torch": [TORCH],  # GPUs, training, conversion, models that the light engine cannot run
        "spacy": [SPACY],  # ERRANT's pipeline, tokenizers of other languages
        "serve": [
            "flask>=3.0",
            "jsonschema>=4.20",
            "prometheus-client>=0.20",
            "waitress>=3.0.1,<4",
        ],
        "eval": [
            SPACY,
            "errant>=3.0",
            "jinja2>=3.1",
            "matplotlib>=3.9",
            "rouge-score>=0.1.2",
            "sacrebleu>=2.4",
            "sacremoses>=0.1.1",
        ],
        "check": [  # --check on files other than plain text
            "docutils>=0.21",
            "markdown-it-py>=3",
            "pathspec>=1.0",
            "pygments>=2.17",
            "pylatexenc>=2.10",
        ],
        # gec bench checkers
        "checkers": ["chunspell>=2.0.4", "codespell>=2.4", "harper-py>=0.2"],
        "large": [TORCH, "gguf>=0.10"],  # gec model get
        "train": [TORCH, SPACY, "lightning>=2.4", "tensorboard>=2.17", "symspellpy>=6.7"],
        "batch": [
            "docutils>=0.21",
            "fsspec>=2024.6",
            "markdown-it-py>=3",
            "pandas>=2.2",
            "pathspec>=1.0",
            "pyarrow>=17",
            "pygments>=2.17",
            "pylatexenc>=2.10",
            "ray>=2.40",
            "zstandard>=0.23",
        ],
        "convert": [
            TORCH,
            "ctranslate2>=4.5",
            "onnx>=1.17",
            "onnxruntime>=1.20",
            "sentencepiece>=0.2",
            "transformers>=5",
        ],
        "peers": [TORCH, "ctranslate2>=4.5", "transformers>=5", "sacremoses>=0.1.1"],
        # Its own extra: fairseq's dependencies carry metadata that pip 24.1 and later refuse.
        "fairseq": [TORCH, "fairseq==0.12.2", "subword-nmt>=0.3.8"],
        "test": [
            TORCH,
            SPACY,
            "axe-playwright-python>=0.1.4",
            "hypothesis>=6.100",
            "language-tool-python>=3.0",
            "openapi-spec-validator>=0.7",
            "playwright>=1.50",
            "pylanguagetool>=0.10",
            "pytest-timeout>=2.3",
            "pytest-xdist>=3.6",
            "pytest>=8.2",
            "requests>=2.32",
            "schemathesis>=4.0",
            "setuptools>=77",
        ],
        "dev": ["ruff>=0.8", "mypy>=1.13", "build>=1.2", "setuptools>=77"],
    },
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Natural Language :: English",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
)
