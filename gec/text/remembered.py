"""What a function says of words that come again and again, for whole sentences without a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 2**16


class Remembered(dict[K, V]):
    """A function's values by argument; when there are too many, all are forgotten.

    ``map(remembered.__getitem__, words)`` runs no Python for words that came before, which
    functools.lru_cache does as fast for one word, but slower for a sentence.

    >>> lengths = Remembered(len)
    >>> [*map(lengths.__getitem__, ["a", "sentence", "a"])], lengths
    ([1, 8, 1], {'a': 1, 'sentence': 8})
    """

    __slots__ = ("_function", "_most")

    def __init__(self, function: Callable[[K], V], most: int = MOST) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, key: K) -> V:
        value = self._function(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
