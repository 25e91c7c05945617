"""What a file is, by the suffix of its name."""

from __future__ import annotations

from pathlib import PurePath

COMPRESSIONS = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd", ".zstd": "zstd"}
"""Compressions by suffix, in lower case."""
KINDS = {
    ".txt": "lines", ".tok": "lines",
    ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet",
    ".md": "markdown", ".markdown": "markdown",
    ".rst": "rst",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".tex": "latex", ".ltx": "latex",
} | dict.fromkeys(
    (
        ".py", ".pyi", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".scala", ".js",
        ".mjs", ".ts", ".tsx", ".jsx", ".go", ".rs", ".swift", ".rb", ".php", ".pl", ".lua", ".r",
        ".jl", ".sh", ".sql", ".toml", ".yaml", ".yml", ".css", ".scss", ".hs", ".ml", ".ex",
    ),
    "code",
)  # fmt: skip
"""Formats by suffix, in lower case, after the suffix of a compression is taken off."""


def compression(name: str) -> str | None:
    """Return how a file is compressed; None if it is not."""
    return COMPRESSIONS.get(PurePath(name).suffix.lower())


def without_compression(name: str) -> str:
    """Return a name without the suffix of a compression: ``a.csv`` for ``a.csv.gz``."""
    return str(PurePath(name).with_suffix("")) if compression(name) else name


def kind_of(name: str) -> str | None:
    """Return the format of a file; None if its suffix names none."""
    return KINDS.get(PurePath(without_compression(name)).suffix.lower())
