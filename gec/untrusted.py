"""Files of a bundle are read as what a stranger sent: whole, bounded, and believed in nothing.

Each function raises :class:`gec.errors.ModelError` with the file's name where a file cannot be
read, is no regular file, holds more than it may, or is malformed. Limits are far above what real
bundles have and far below what exhausts a machine.
"""

from __future__ import annotations

import io
import json
import math
import mmap
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from gec.errors import ModelError

MEBIBYTE = 1 << 20
MOST_TEXT = 16 * MEBIBYTE
"""Bytes of a ``config.json`` or of a table."""
MOST_TOKENIZER = 256 * MEBIBYTE
MOST_UNPACKED = 64 * MEBIBYTE
"""Bytes that a compressed table may have when it is unpacked."""
MOST_FILES = 10_000
_DEEPEST = 32  # brackets within brackets of a config.json
_LONGEST_INTEGER = 18  # digits: it fits into 64 bits


def check_folder(folder: Path) -> None:
    """Refuse a bundle that holds links to what lies outside of it, or anything but files.

    A link could make the program read, and quote in a message, what its sender may not see; a pipe
    or a device would be read for ever.
    """
    inside = folder.resolve()
    seen = 0
    for place, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(place, name)
            if (seen := seen + 1) > MOST_FILES:
                raise ModelError(f"{folder} holds more than {MOST_FILES} files: it is no bundle")
            if path.is_symlink() and not _target(path).is_relative_to(inside):
                raise ModelError(f"{path} is a link out of the bundle: put the file itself there")
            if not path.is_file() and not path.is_dir():
                raise ModelError(f"{path} is neither a file nor a folder: take it out")


def _target(link: Path) -> Path:
    try:
        return link.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return Path("/")


def size_of(path: Path, verb: str = "read") -> int:
    """Return the bytes of a regular file; ``verb`` is what an error says cannot be done."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot {verb} {path}: {_reason(error)}") from error
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"cannot {verb} {path}: it is no regular file")
    return status.st_size


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most ``most`` bytes."""
    if (size := size_of(path)) > most:
        raise ModelError(f"cannot read {path}: {size:,} bytes, at most {most:,} are read")
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)  # it may have grown
    except OSError as error:
        raise ModelError(f"cannot read {path}: {_reason(error)}") from error
    if len(content) > most:
        raise ModelError(f"cannot read {path}: at most {most:,} bytes are read")
    return content


Buffer = bytes | mmap.mmap
"""A file's content: slices are bytes."""


def map_bytes(path: Path, most: int) -> Buffer:
    """Return the content of a regular file of at most ``most`` bytes, mapped into memory.

    On Windows the content is read: a mapped file could be neither replaced nor deleted there.
    """
    if sys.platform == "win32" or size_of(path) == 0:
        return read_bytes(path, most)
    try:
        with path.open("rb") as file:
            if (size := os.fstat(file.fileno()).st_size) > most:
                raise ModelError(f"cannot read {path}: {size:,} bytes, at most {most:,} are read")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {_reason(error)}") from error


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """Return the text of a UTF-8 file of at most ``most`` bytes."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"cannot read {path}: {error}") from error


def unzip_text(path: Path, most: int = MOST_UNPACKED) -> str:
    """Return the UTF-8 text of a gzip file, of which no more than ``most`` bytes are unpacked."""
    from gzip import GzipFile

    try:
        with GzipFile(fileobj=io.BytesIO(read_bytes(path, most))) as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise ModelError(f"cannot read {path}: it unpacks to more than {most:,} bytes")
        return content.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ModelError(f"cannot read {path}: {error}") from error


def read_json(path: Path, most: int = MOST_TEXT) -> Any:
    """Return the value that a JSON file holds (:func:`parse_json`)."""
    try:
        return parse_json(read_text(path, most))
    except ValueError as error:
        raise ModelError(f"cannot read {path}: {error}") from error


def parse_json(text: str) -> Any:
    """Return a JSON value without NaN, infinities, huge integers, doubled keys and deep nesting.

    Raises:
        ValueError: the text is no such value.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse,
            parse_float=_float,
            parse_int=_integer,
        )
    except RecursionError:
        raise ValueError("brackets within brackets without end") from None
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return value
        level = [x for item in level for x in (item.values() if isinstance(item, dict) else item)]
    raise ValueError(f"more than {_DEEPEST} brackets within brackets")


def read_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer of a ``tokenizer.json``, which neither pads nor cuts what it encodes."""
    text = read_text(path, MOST_TOKENIZER)
    with guarded(f"cannot read {path}"):
        tokenizer = Tokenizer.from_str(text)
        tokenizer.no_padding()  # a file may ask for padding to any length
        tokenizer.no_truncation()
        return tokenizer


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn whatever a library that reads a file raises, a panic in Rust too, into a ModelError."""
    try:
        yield
    except (ModelError, MemoryError):
        raise
    except BaseException as error:
        # tokenizers raises bare Exception; a panic is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"{what}: {_reason(error)}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {doubled!r} is there twice")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _float(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"the number {digits[:20]} is too large")
    return value


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError(f"the number {digits[:20]} is too large")
    return int(digits)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
