"""Requests a minute from each client: token buckets, of a bounded number of clients."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MAX_CLIENTS = 10_000


class RateLimit:
    """A bucket a client: ``rate`` requests at once, refilled within a minute.

    With more clients than ``most`` the ones not seen for longest are forgotten. An IPv6 client is
    its /64 network, all of which one person may have.
    """

    def __init__(
        self, rate: float, most: int = MAX_CLIENTS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str) -> float:
        """Take a token of a client's; return 0, or the seconds to wait for one."""
        if self._rate <= 0:
            return 0.0
        client, now = _client(address), self._clock()
        size = max(1.0, self._rate)
        with self._lock:
            tokens, then = self._buckets.pop(client, (size, now))
            tokens = min(size, tokens + (now - then) * self._rate / 60)
            allowed = tokens >= 1
            self._buckets[client] = (tokens - allowed, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) * 60 / self._rate


def _client(address: str) -> str:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
