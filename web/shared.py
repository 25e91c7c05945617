"""What the workers of one server share: files in a folder that lives as long as the server."""

from __future__ import annotations

import mmap
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from gec.web.rates import Bucket

_RECORD = struct.Struct("<Qdd")  # a client's number, tokens, when they were counted
_WAYS = 8
"""A client's number names a set of so many places, of which the client takes one."""
_SETS = 2048


@dataclass(frozen=True, slots=True)
class Shared:
    """A worker's place among the workers of a server.

    Args:
        folder: the folder of the files that all workers use.
        worker: the worker's number, which a worker started in its place has again.
        restarts: how many workers have had the number before.
        key: random bytes, by which clients are numbered.
    """

    folder: Path
    worker: int
    restarts: int
    key: bytes

    def buckets(self, name: str) -> SharedBuckets:
        """Return the buckets of a name, the same ones in every worker."""
        return SharedBuckets(self.folder / name, self.key)


class SharedBuckets:
    """Buckets of clients in a file that several processes map into memory.

    A client's number is a hash that nobody outside can foretell; it names a set of places, in
    which the place not used for longest is given to a new client. A process holds a lock on the
    set's bytes, which the system takes back if the process dies.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self._key = key
        self._lock = threading.Lock()  # a lock on a file holds between processes only
        self._file = path.open("a+b")
        self._file.truncate(_SETS * _WAYS * _RECORD.size)
        self._map = mmap.mmap(self._file.fileno(), _SETS * _WAYS * _RECORD.size)

    def __len__(self) -> int:
        return sum(number > 0 for number, _, _ in _RECORD.iter_unpack(self._map))

    @contextmanager
    def of(self, client: str) -> Iterator[Bucket]:
        import fcntl  # not on Windows, where no process forks

        number = self._number(client)
        size = _WAYS * _RECORD.size
        start = number % _SETS * size
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX, size, start)
            try:
                place, bucket = self._find(number, start)
                yield bucket
                if bucket.tokens is not None:
                    _RECORD.pack_into(self._map, place, number, bucket.tokens, bucket.then)
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, size, start)

    def close(self) -> None:
        """Close the file."""
        self._map.close()
        self._file.close()

    def _number(self, client: str) -> int:
        digest = blake2b(client.encode(), digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "little") or 1  # 0 is a place that nobody has taken

    def _find(self, number: int, start: int) -> tuple[int, Bucket]:
        """Return a client's place and bucket, or the place that a new client takes."""
        oldest, place = float("inf"), start
        for at in range(start, start + _WAYS * _RECORD.size, _RECORD.size):
            found, tokens, then = _RECORD.unpack_from(self._map, at)
            if found == number:
                return at, Bucket(tokens, then)
            then = then if found else float("-inf")
            if then < oldest:
                oldest, place = then, at
        return place, Bucket()
