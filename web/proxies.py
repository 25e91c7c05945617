"""What is true of a request's address and its client, whatever the proxies and clients wrote."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_FORWARDED = (
    "HTTP_FORWARDED", "HTTP_X_FORWARDED_BY", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PORT", "HTTP_X_FORWARDED_PREFIX", "HTTP_X_FORWARDED_PROTO",
)  # fmt: skip


class Forwarded:
    """A WSGI application behind proxies; only trusted proxies' X-Forwarded headers count.

    The client is the last address of X-Forwarded-For that is not a trusted proxy: the client may
    have written the addresses before it. Of X-Forwarded-Host, -Proto and -Prefix the last value
    counts, which the nearest proxy has written.
    """

    def __init__(self, app: WSGIApplication, trusted: Sequence[str]) -> None:
        self._app = app
        self._trusted = [ipaddress.ip_network(network) for network in trusted]

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        given = {name: environ.pop(name, "") for name in _FORWARDED}
        if self._is_trusted(address_of(environ.get("REMOTE_ADDR", ""))):
            self._believe(environ, given)
        return self._app(environ, start)

    def _believe(self, environ: WSGIEnvironment, given: dict[str, str]) -> None:
        for hop in reversed(given["HTTP_X_FORWARDED_FOR"].split(",")):
            address = address_of(hop)
            if address is None:
                break
            environ["REMOTE_ADDR"] = str(address)
            if not self._is_trusted(address):
                break
        if host := _last(given["HTTP_X_FORWARDED_HOST"]):
            environ["HTTP_HOST"] = host
        if (scheme := _last(given["HTTP_X_FORWARDED_PROTO"]).lower()) in ("http", "https"):
            environ["wsgi.url_scheme"] = scheme
        prefix = _last(given["HTTP_X_FORWARDED_PREFIX"]).rstrip("/")
        if prefix.startswith("/") and not prefix.startswith("//"):
            environ["SCRIPT_NAME"] = prefix
            path = environ.get("PATH_INFO", "")
            if path == prefix or path.startswith(f"{prefix}/"):  # the proxy has not cut it off
                environ["PATH_INFO"] = path[len(prefix) :] or "/"

    def _is_trusted(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._trusted)


class SingleSlashes:
    """A WSGI application to which ``//v2/check`` and ``/v2//check`` are ``/v2/check``.

    Clients join the address in their settings, which may end in a slash, with a path that begins
    with one; some of them do not follow redirections.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        environ["PATH_INFO"] = re.sub("//+", "/", environ.get("PATH_INFO", ""))
        return self._app(environ, start)


def address_of(text: str) -> Address | None:
    """Return the IP address in a proxy's notation: 1.2.3.4, 1.2.3.4:80, ::1, [::1], [::1]:80."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _last(values: str) -> str:
    return values.rpartition(",")[2].strip()
