"""The user's files: strict UTF-8 in, and back without losing a byte.

Line endings are never translated and a byte order mark is kept apart from the text, so that offsets
count what the user sees and the mark can be put back.
"""

import os
import re
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gec.errors import InputError

BOM = "\ufeff"


@dataclass(frozen=True)
class Document:
    """One file's text. ``bom`` is U+FEFF or empty and not part of ``text``."""

    name: str
    text: str
    bom: str = ""


def read_document(name: str) -> Document:
    """Read a path, or standard input when ``name`` is ``-``.

    Raises:
        InputError: the file is missing, a directory, unreadable, binary or not UTF-8.
    """
    data = _read_stdin() if name == "-" else _read_bytes(Path(name))
    return decode(data, "standard input" if name == "-" else name, name)


def decode(data: bytes, where: str, name: str | None = None) -> Document:
    """Bytes to a document, strictly; ``where`` is how messages call the source."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{where}: is UTF-16; convert it to UTF-8 first")
    if (zero := data.find(b"\0")) >= 0:
        raise InputError(f"{where}: looks binary (NUL byte at offset {zero})")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + len(re.findall(rb"\r\n|\r|\n", data[: error.start]))
        raise InputError(
            f"{where}: not UTF-8 at byte {error.start}, line {line} "
            f"(0x{data[error.start]:02x}: {error.reason}); convert it to UTF-8 first"
        ) from None
    bom = BOM if text.startswith(BOM) else ""
    return Document(where if name is None else name, text[len(bom) :], bom)


def write_in_place(path: str | Path, text: str) -> bool:
    """Replace a file's content as one step; return whether anything had to be written.

    The text goes to a temporary file beside the target, which then takes the target's name, mode
    and, where allowed, owner. A symbolic link stays a link: the file it names is replaced. Until
    the last step the original is untouched, and it stays so on any failure.

    Raises:
        InputError: the file is not a regular file, not writable, or the disk refuses.
    """
    data = text.encode("utf-8")
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path}: not a regular file, cannot be rewritten in place")
        if target.read_bytes() == data:
            return False
        if not os.access(target, os.W_OK):
            # Renaming over it would work, but a read-only file says its owner's wish.
            raise InputError(f"{path}: is read-only")
        _replace(target, data, status)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({_reason(error)})") from error
    return True


def _replace(target: Path, data: bytes, status: os.stat_result) -> None:
    import tempfile  # slow

    handle, name = tempfile.mkstemp(
        prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if hasattr(os, "fchown"):
                with suppress(PermissionError):  # only root may give files away
                    os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.chmod(temporary, stat.S_IMODE(status.st_mode))  # noqa: PTH101 - after chown, which clears bits
            os.fsync(file.fileno())
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException:  # Ctrl-C too must not leave the temporary file behind
        temporary.unlink(missing_ok=True)
        raise


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name the files in it") from None
    except PermissionError:
        raise InputError(f"{path}: permission denied") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({_reason(error)})") from error


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input is closed; name a file")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"standard input: cannot be read ({_reason(error)})") from error


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
