"""Packaging: four folders, one import package.

``gec`` is the folder gec/, ``gec.models`` is models/, ``gec.eval`` is eval/ and ``gec.web`` is
web/; nothing else lands in site-packages. Versions here are lower bounds; constraints.txt pins.
The distribution has another name than the package: ``gec`` on the public index is a stranger's.
"""

import os
import re
from pathlib import Path

from setuptools import Extension, find_packages, setup

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


# Optional: without a compiler the same products are made by torch, more slowly. OpenMP's functions
# are not linked in: they are those of torch (see the file).
KERNEL = Extension(
    "gec.models.engines._native",
    ["models/engines/_native.c"],
    extra_compile_args=["-O3", "-fopenmp", "-ffp-contract=off"] if os.name == "posix" else [],
    optional=True,
)

BUNDLE_FILES = [
    f"bundles/**/{name}"
    for name in (
        "config.json",
        "model.safetensors",
        "heads.safetensors",
        "tokenizer.json",
        "inflections.tsv",
        "words.tsv.gz",
        "misspellings.tsv.gz",
        "ngrams.bin",
        "MODEL_CARD.md",
    )
]

# The code is Apache-2.0; NOTICE says which files the other licences cover.
LICENCES = (
    "Apache-2.0 AND CC-BY-4.0 AND CC-BY-SA-4.0 AND CC-BY-SA-3.0 AND MIT"
    " AND LicenseRef-VarCon AND LicenseRef-WordNet"
)

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
    ext_modules=[KERNEL],
    include_package_data=False,
    zip_safe=False,
    entry_points={"console_scripts": ["gec = gec.cli:main"]},
    install_requires=[
        "torch>=2.6",
        "spacy>=3.7,<4",
        "tokenizers>=0.20",
        "safetensors>=0.4",
        "numpy>=1.26",
        "rapidfuzz>=3.9",
    ],
    extras_require={
        "serve": [
            "flask>=3.0",
            "jsonschema>=4.20",
            "prometheus-client>=0.20",
            "waitress>=3.0.1,<4",
        ],
        "eval": [
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
        "lsp": [  # gec lsp, with all that finds the prose of documents
            "docutils>=0.21",
            "lsprotocol>=2025.0",
            "markdown-it-py>=3",
            "pathspec>=1.0",
            "pygls>=2.0,<3",
            "pygments>=2.17",
            "pylatexenc>=2.10",
        ],
        "large": ["gguf>=0.10"],  # gec model get
        "train": ["lightning>=2.4", "tensorboard>=2.17", "symspellpy>=6.7"],
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
            "ctranslate2>=4.5",
            "onnx>=1.17",
            "onnxruntime>=1.20",
            "sentencepiece>=0.2",
            "transformers>=5",
        ],
        "peers": ["ctranslate2>=4.5", "transformers>=5", "sacremoses>=0.1.1"],
        # Its own extra: fairseq's dependencies carry metadata that pip 24.1 and later refuse.
        "fairseq": ["fairseq==0.12.2", "subword-nmt>=0.3.8"],
        "test": [
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
