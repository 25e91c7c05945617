"""Tables that need no parsing: sorted strings and numbers in one file, which is mapped into memory.

A process that looks up ten words of a dictionary of a hundred thousand reads some pages of the
file; no dictionary is built. A file is a line of JSON that lists the parts, then the parts:
strings of equal length stand side by side, shorter ones first, each length sorted; numbers are
little-endian. The file is untrusted: the sizes of all parts are checked when it is opened, and
whatever the parts hold, a look-up finds something, nothing, or raises ModelError.
"""

from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, overload
from zlib import crc32

from gec.errors import ModelError
from gec.untrusted import Buffer, map_bytes, parse_json

_LONGEST_HEAD = 1 << 16  # bytes of the first line
_ENCODINGS = {1: "latin-1", 4: "utf-32-be"}  # by the bytes of a character; both sort as characters
_CODES = "BHIQ"
_APART = 128  # places from one landmark to the next

Part = dict[str, Any]


class Strings(Sequence[str]):
    """Sorted strings, which may recur; the order is by length, then by characters.

    >>> table = Strings.of(["see", "a", "an", "as"])
    >>> table.find("as"), table.find("at"), table[3], list(table.beginning(2, "a"))
    (2, None, 'see', ['an', 'as'])
    """

    def __init__(
        self, data: Buffer, at: int, width: int, lengths: Sequence[tuple[int, int]]
    ) -> None:
        """Take the table that begins ``at`` so many bytes of ``data``."""
        self._data, self._at, self._width, self._lengths = data, at, width, lengths
        self._encoding = _ENCODINGS[width]
        self._firsts = [0, *accumulate(count for _, count in lengths)]  # places of the first ones
        begins = [*accumulate((length * n * width for length, n in lengths), initial=at)]
        self._end = begins[-1]
        # For each length: the place of the first one, the byte where it begins, and how many.
        self._groups = {
            length: (first, begin, count)
            for (length, count), first, begin in zip(lengths, self._firsts, begins, strict=False)
        }
        self._marks: dict[int, list[bytes]] = {}  # see _landmarks

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """Return the table of some strings, none of which is empty or holds lone surrogates."""
        groups: dict[int, list[str]] = {}
        for string in strings:
            groups.setdefault(len(string), []).append(string)
        lengths = sorted(groups)
        whole = "".join("".join(sorted(groups[length])) for length in lengths)
        width = 1 if whole.isascii() or max(whole) < "\u0100" else 4
        counts = [(length, len(groups[length])) for length in lengths]
        return cls(whole.encode(_ENCODINGS[width]), 0, width, counts)

    def find(self, string: str) -> int | None:
        """Return the place of the first string that is equal, None if there is none."""
        group = self._groups.get(len(string))
        if group is None:
            return None
        try:
            wanted = string.encode(self._encoding)
        except UnicodeEncodeError:
            return None
        first, begin, count = group
        size = len(wanted)
        after = bisect_left(self._landmarks(len(string), begin, count, size), wanted)
        low = begin + max(0, after - 1) * _APART * size
        high = begin + min(count, after * _APART + 1) * size
        at = self._data.find(wanted, low, high)
        while at >= 0 and (at - begin) % size:  # across two strings
            at = self._data.find(wanted, at + 1, high)
        return first + (at - begin) // size if at >= 0 else None

    def _landmarks(self, length: int, begin: int, count: int, size: int) -> list[bytes]:
        """Return the first of the strings of a length, and every so many places another one."""
        marks = self._marks.get(length)
        if marks is None:
            places = range(begin, begin + count * size, _APART * size)
            marks = self._marks[length] = [self._data[at : at + size] for at in places]
        return marks

    def beginning(self, length: int, start: str) -> list[str]:
        """Return all strings of a length that begin with the character ``start``."""
        _, begin, count = self._groups.get(length, (0, 0, 0))
        size = length * self._width
        try:
            lowest = start.encode(self._encoding)
        except UnicodeEncodeError:
            return []
        if not count or not lowest:
            return []
        low = self._bisect(lowest, begin, count, size)
        after = (int.from_bytes(lowest, "big") + 1).to_bytes(len(lowest) + 1, "big")[1:]
        high = count
        if after > lowest:  # there is a next character
            high = self._bisect(after, begin, count, size)
        return self._cut(begin + low * size, begin + max(low, high) * size, length)

    def _bisect(self, wanted: bytes, begin: int, count: int, size: int) -> int:
        data = self._data
        return bisect_left(
            range(count), wanted, key=lambda i: data[(at := begin + i * size) : at + size]
        )

    def _cut(self, begin: int, end: int, length: int) -> list[str]:
        text = self._data[begin:end].decode(self._encoding, "replace")
        return [text[i : i + length] for i in range(0, len(text), length)]

    def __len__(self) -> int:
        return self._firsts[-1]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        length, _ = self._lengths[bisect_right(self._firsts, place) - 1]
        first, begin, _ = self._groups[length]
        at = begin + (place - first) * length * self._width
        return self._cut(at, at + length * self._width, length)[0]

    def __iter__(self) -> Iterator[str]:
        for length, (_, begin, count) in self._groups.items():
            yield from self._cut(begin, begin + count * length * self._width, length)

    def __reduce__(self) -> tuple[Any, ...]:
        return Strings, (self.tobytes(), 0, self._width, self._lengths)

    def about(self) -> Part:
        """Return what a file's head says of this part."""
        return {"width": self._width, "lengths": self._lengths}

    def tobytes(self) -> bytes:
        """Return the part as a file holds it."""
        return self._data[self._at : self._end]


class Numbers(Sequence[int]):
    """Numbers of 1, 2, 4 or 8 bytes, none below 0.

    >>> numbers = Numbers.of([3, 500])
    >>> numbers[1], len(numbers), numbers.about()
    (500, 2, {'code': 'H', 'count': 2})
    """

    def __init__(self, data: Buffer, at: int, code: str, count: int) -> None:
        """Take the ``count`` numbers that begin ``at`` so many bytes of ``data``."""
        self.code = code
        self.values: Sequence[int]
        part = memoryview(data)[at : at + count * array(code).itemsize]
        if sys.byteorder == "big":
            self.values = array(code, part.tobytes())
            self.values.byteswap()
        else:
            self.values = part.cast(code)  # type: ignore[call-overload]

    @classmethod
    def of(cls, values: Iterable[int], code: str = "") -> Numbers:
        """Return numbers, in as few bytes as the largest one needs unless ``code`` says."""
        numbers = array("Q", values)
        most = max(numbers, default=0)
        code = code or next(c for c in _CODES if most < 1 << 8 * array(c).itemsize)
        small = array(code, numbers)
        if sys.byteorder == "big":
            small.byteswap()
        return cls(small.tobytes(), 0, code, len(small))

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[int]: ...
    def __getitem__(self, place: int | slice) -> int | Sequence[int]:
        return self.values[place]

    def __reduce__(self) -> tuple[Any, ...]:
        return Numbers, (self.tobytes(), 0, self.code, len(self))

    def about(self) -> Part:
        """Return what a file's head says of this part."""
        return {"code": self.code, "count": len(self)}

    def tobytes(self) -> bytes:
        """Return the part as a file holds it."""
        values = array(self.code, self.values)
        if sys.byteorder == "big":
            values.byteswap()
        return values.tobytes()


class Filter:
    """Says of most strings that are not in a set that they are not (Bloom 1970); two bits each.

    Args:
        bits: eight in each number; a power of two.
    """

    def __init__(self, bits: Numbers) -> None:
        self.bits = bits
        self._values = bits.values
        self._mask = 8 * len(bits) - 1
        if bits.code != "B" or len(bits) & (len(bits) - 1) or not 0 < len(bits) <= _MOST_BITS // 8:
            raise ValueError("the size of a filter must be a power of two")

    @classmethod
    def of(cls, strings: Collection[str]) -> Filter:
        """Return the filter of a set: of other strings one in twenty may pass."""
        size = 1
        while size < min(len(strings), _MOST_BITS // 8):
            size *= 2
        bits = bytearray(size)
        for string in strings:
            key = crc32(string.encode("utf-8", "surrogatepass"))
            for bit in (key, key >> _SECOND):
                bits[(bit & 8 * size - 1) >> 3] |= 1 << (bit & 7)
        return cls(Numbers(bytes(bits), 0, "B", size))

    def may_have(self, string: str) -> bool:
        """Whether a string passes; all that are in the set do."""
        key = crc32(string.encode("utf-8", "surrogatepass"))
        values, mask = self._values, self._mask
        if not values[(key & mask) >> 3] >> (key & 7) & 1:
            return False
        key >>= _SECOND
        return bool(values[(key & mask) >> 3] >> (key & 7) & 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Filter, (self.bits,)


_SECOND = 12  # the second bit's number is what is left of a hash of 32 bits without so many
_MOST_BITS = 1 << 20


# ---------------------------------------------------------------------------------------- files


def write_tables(path: Path, format: int, parts: Sequence[Strings | Numbers]) -> None:
    """Write a file of tables; the same parts give the same bytes.

    The file is replaced, not changed: a process may have mapped the old one.
    """
    head = json.dumps({"format": format, "parts": [part.about() for part in parts]})
    new = path.with_suffix(".part")
    with new.open("wb") as file:
        file.write(head.encode() + b"\n")
        for part in parts:
            file.write(part.tobytes())
    new.replace(path)


def read_tables(path: Path, format: int, kinds: str, most: int) -> list[Strings | Numbers]:
    """Open a file of tables of at most ``most`` bytes.

    Args:
        kinds: the parts that it must have: s for strings, n for numbers.

    Raises:
        ModelError: the file is no such file, or its parts are not as large as its head says.
    """
    content, at, head = open_tables(path, most)
    if head.get("format") != format:
        raise ModelError(f"{path} has format {head.get('format')!r}, expected {format}")
    try:
        parts = parse_parts(content, at, head.get("parts"))
    except (ValueError, TypeError, KeyError) as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    found = "".join("s" if isinstance(part, Strings) else "n" for part in parts)
    if found != kinds:
        raise ModelError(f"cannot read {path}: it has the parts {found[:20]!r}, not {kinds!r}")
    return parts


def open_tables(path: Path, most: int) -> tuple[Buffer, int, Mapping[str, Any]]:
    """Return a file's bytes, where its second line begins, and the JSON object in its first."""
    content = map_bytes(path, most)
    line = content[:_LONGEST_HEAD].partition(b"\n")[0]
    try:
        head = parse_json(line.decode("utf-8"))
    except ValueError as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    if not isinstance(head, dict):
        raise ModelError(f"cannot read {path}: its first line is no JSON object")
    return content, len(line) + 1, head


def parse_parts(content: Buffer, at: int, parts: Any) -> list[Strings | Numbers]:
    """Return the parts that a head lists; raises ValueError, TypeError, KeyError."""
    if not isinstance(parts, list):
        raise ValueError("its head lists no parts")
    found: list[Strings | Numbers] = []
    for part in parts:
        code = part.get("code") if isinstance(part, dict) else None
        if code is not None:
            if code not in [*_CODES]:
                raise ValueError(f"unknown kind of numbers {code!r}")
            end = at + _count(part["count"]) * array(code).itemsize
        else:
            lengths = _lengths(part["lengths"])
            if part["width"] not in _ENCODINGS or type(part["width"]) is not int:
                raise ValueError(f"unknown width of characters {part['width']!r}")
            end = at + sum(length * count for length, count in lengths) * part["width"]
        if end > len(content):
            raise ValueError("it is cut short")
        if code:
            found.append(Numbers(content, at, code, part["count"]))
        else:
            found.append(Strings(content, at, part["width"], lengths))
        at = end
    if at != len(content):
        raise ValueError("it has more bytes than its head says")
    return found


def _lengths(values: Any) -> list[tuple[int, int]]:
    """Return (length, count) pairs with growing lengths."""
    lengths = [(_count(length), _count(count)) for length, count in values]
    if any(a >= b for (a, _), (b, _) in zip([(0, 0), *lengths], lengths, strict=False)):
        raise ValueError("the lengths of strings must grow")
    return lengths


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("sizes must be numbers of at least 0")
    return value
