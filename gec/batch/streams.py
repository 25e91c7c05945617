"""Bytes in and out: compression by suffix, local paths and fsspec URLs, and positions of reading.

A compressed output has one member (gzip, xz, bzip2) or frame (zstd) for each block. So a file that
is cut between two blocks is whole, and two runs write the same file as one.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from gec.documents.kinds import compression
from gec.errors import InputError

STANDARD = "-"


def is_url(name: str) -> bool:
    """Whether a name is a URL."""
    return "://" in name


def compress(data: bytes, how: str | None) -> bytes:
    """Return the data as one whole member or frame; the bytes depend on the arguments alone."""
    if how is None or not data:
        return data
    if how == "gzip":
        return gzip.compress(data, compresslevel=6, mtime=0)
    if how == "xz":
        return lzma.compress(data)
    if how == "bzip2":
        return bz2.compress(data)
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)


@contextmanager
def open_input(name: str) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """Yield an input's stream, and a function that returns how many bytes of the file were read.

    Raises:
        InputError: the input cannot be opened or read, or its compression is broken.
    """
    where = "standard input" if name == STANDARD else name
    try:
        with _open(name) as file:
            yield _decompressed(file, compression(name)), file.tell if name != STANDARD else int
    except FileNotFoundError:
        raise InputError(f"{where}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{where}: is a directory") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{where}: broken {compression(name)} data ({error})") from error
    except OSError as error:
        raise InputError(f"{where}: cannot be read ({error.strerror or error})") from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # zstandard may not be installed
            raise
        raise InputError(f"{where}: broken zstd data ({error})") from error


@contextmanager
def _open(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD:
        if sys.stdin is None:
            raise InputError("standard input is closed; name a file")
        yield sys.stdin.buffer
    elif is_url(name):
        import fsspec  # type: ignore[import-untyped]

        with fsspec.open(name, "rb") as file:
            yield file
    else:
        with Path(name).open("rb") as file:
            yield file


def _decompressed(file: Any, how: str | None) -> BinaryIO:
    if how == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if how == "xz":
        return cast("BinaryIO", lzma.LZMAFile(file))
    if how == "bzip2":
        return cast("BinaryIO", bz2.BZ2File(file))
    if how == "zstd":
        import io

        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return cast("BinaryIO", io.BufferedReader(reader, 1 << 17))
    return cast("BinaryIO", file)
