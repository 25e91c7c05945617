"""Optional packages: the extra that brings each, and the command that installs an extra."""

from __future__ import annotations

EXTRAS = {
    "codespell_lib": "checkers",
    "ctranslate2": "convert",
    "docutils": "check",
    "errant": "eval",
    "fairseq": "fairseq",
    "flask": "serve",
    "fsspec": "batch",
    "gguf": "large",
    "harper": "checkers",
    "hunspell": "checkers",
    "jinja2": "eval",
    "jsonschema": "serve",
    "lightning": "train",
    "markdown_it": "check",
    "matplotlib": "eval",
    "onnx": "convert",
    "onnxruntime": "convert",
    "pandas": "batch",
    "pathspec": "check",
    "prometheus_client": "serve",
    "pyarrow": "batch",
    "pygments": "check",
    "pylatexenc": "check",
    "ray": "batch",
    "rouge_score": "eval",
    "sacrebleu": "eval",
    "sacremoses": "eval",
    "sentencepiece": "convert",
    "spacy": "spacy",
    "subword_nmt": "fairseq",
    "symspellpy": "train",
    "tensorboard": "train",
    "torch": "torch",
    "transformers": "convert",
    "waitress": "serve",
    "zstandard": "batch",
}
"""The extra of every optional package, by the package's import name."""


def missing(package: str) -> str:
    """Return what to say about a package that cannot be imported: its name and its remedy.

    No release is published yet, so the command installs from the source code.

    >>> missing("lightning.fabric")
    "the package 'lightning' is missing; in the folder of gec's source code: pip install '.[train]'"
    """
    name = package.partition(".")[0]
    what = f"'.[{EXTRAS[name]}]'" if name in EXTRAS else "."
    return (
        f"the package {name!r} is missing; in the folder of gec's source code: pip install {what}"
    )
