"""Limits for each client in a time: token buckets, for a bounded number of clients."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gec.web.config import Config

MAX_CLIENTS = 10_000
FAILURES = 30
"""Wrong tokens a minute from a client, whatever its rate; after so many its tokens are ignored."""
_DAY = 86_400


@dataclass(slots=True)
class Bucket:
    """A client's tokens, and when they were counted; a new one holds None."""

    tokens: float | None = None
    then: float = 0.0


class Buckets(Protocol):
    """The buckets of the clients seen last."""

    def __len__(self) -> int: ...

    def of(self, client: str) -> AbstractContextManager[Bucket]:
        """Hold a client's bucket, which nobody else changes while the context lasts."""
        ...


class OwnBuckets:
    """Buckets of one process; those of clients not seen for longest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[str, Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    @contextmanager
    def of(self, client: str) -> Iterator[Bucket]:
        with self._lock:
            bucket = self._found.get(client, Bucket())
            yield bucket
            if bucket.tokens is not None:
                self._found[client] = bucket
                self._found.move_to_end(client)
            if len(self._found) > self._most:
                self._found.popitem(last=False)


class RateLimit:
    """A bucket for each client that holds ``amount`` tokens and refills within ``seconds``.

    If there are more clients than ``most``, those not seen for longest are forgotten. An IPv6
    client is a /64 network, because one person may own all its addresses. ``buckets`` may be
    those that several processes share.
    """

    def __init__(
        self,
        amount: float,
        seconds: float = 60.0,
        *,
        most: int = MAX_CLIENTS,
        clock: Callable[[], float] = time.monotonic,
        buckets: Buckets | None = None,
    ) -> None:
        self._pace = amount / seconds
        self._size = max(1.0, amount)
        self._clock = clock
        self._buckets = OwnBuckets(most) if buckets is None else buckets

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str, cost: float = 1.0) -> float:
        """Take ``cost`` of a client's tokens; return 0, or the seconds to wait for them.

        A cost above the size of the bucket takes the whole bucket.
        """
        if self._pace <= 0:
            return 0.0
        cost = min(cost, self._size)
        with self._buckets.of(client_of(address)) as bucket:
            now = self._clock()
            tokens = self._size
            if bucket.tokens is not None:
                tokens = min(self._size, bucket.tokens + (now - bucket.then) * self._pace)
            allowed = tokens >= cost
            bucket.tokens, bucket.then = tokens - cost * allowed, now
        return 0.0 if allowed else (cost - tokens) / self._pace

    def give_back(self, address: str) -> None:
        """Undo a :meth:`take` of one token."""
        with self._buckets.of(client_of(address)) as bucket:
            if bucket.tokens is not None:
                bucket.tokens = min(self._size, bucket.tokens + 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may ask of the server in a time."""

    requests: RateLimit
    failures: RateLimit
    feedback: RateLimit  # bytes that it has stored


def limits_of(config: Config, shared: Callable[[str], Buckets] | None = None) -> Limits:
    """Return the limits of the settings; ``shared`` gives the buckets of a name to share."""

    def limit(name: str, amount: float, seconds: float = 60.0) -> RateLimit:
        return RateLimit(amount, seconds, buckets=shared(name) if shared else None)

    return Limits(
        requests=limit("requests", config.rate),
        failures=limit("failures", FAILURES),
        feedback=limit("feedback", config.feedback_quota, _DAY),
    )


def client_of(address: str) -> str:
    """Return the client of an address: the address itself, or its /64 network in IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else found)
