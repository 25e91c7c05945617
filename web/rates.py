"""Limits for each client in a time: token buckets, for a bounded number of clients."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MAX_CLIENTS = 10_000


class RateLimit:
    """A bucket for each client that holds ``amount`` tokens and refills within ``seconds``.

    If there are more clients than ``most``, those not seen for longest are forgotten. An IPv6
    client is a /64 network, because one person may own all its addresses.
    """

    def __init__(
        self,
        amount: float,
        seconds: float = 60.0,
        *,
        most: int = MAX_CLIENTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = amount / seconds
        self._size = max(1.0, amount)
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        # by client: tokens, and when they were counted
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str, cost: float = 1.0) -> float:
        """Take ``cost`` of a client's tokens; return 0, or the seconds to wait for them.

        A cost above the size of the bucket takes the whole bucket.
        """
        if self._pace <= 0:
            return 0.0
        client, now = client_of(address), self._clock()
        cost = min(cost, self._size)
        with self._lock:
            tokens, then = self._buckets.pop(client, (self._size, now))
            tokens = min(self._size, tokens + (now - then) * self._pace)
            allowed = tokens >= cost
            self._buckets[client] = (tokens - cost * allowed, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return 0.0 if allowed else (cost - tokens) / self._pace

    def give_back(self, address: str) -> None:
        """Undo a :meth:`take` of one token."""
        client = client_of(address)
        with self._lock:
            if client in self._buckets:
                tokens, then = self._buckets[client]
                self._buckets[client] = (min(self._size, tokens + 1), then)


def client_of(address: str) -> str:
    """Return the client of an address: the address itself, or its /64 network in IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else found)
