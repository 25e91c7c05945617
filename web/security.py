"""The checks of every request and the headers of every answer.

Requests must pass checks of rates, host names, sizes, tokens and origins.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from flask import Flask, Response, g, request

from gec.web.calls import now
from gec.web.config import Config
from gec.web.forms import parameters
from gec.web.problems import Problem
from gec.web.proxies import address_of
from gec.web.rates import FAILURES, Limits, RateLimit

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
APIS = ("/api/", "/v2/")
NEED_TOKEN = ("/api/", "/v2/check", "/v2/words", "/metrics")
UNLIMITED = ("/healthz", "/readyz", "/v2/healthcheck", "/static/")


def register(app: Flask, config: Config, limits: Limits) -> None:
    """Make an application check every request before its view, and complete every answer."""
    limit, failures = limits.requests, limits.failures
    hosts = Hosts(config.host, config.allowed_host)

    @app.before_request
    def check() -> Response | None:
        g.began = now()
        if not request.path.startswith(UNLIMITED) and request.method != "OPTIONS":
            wait = limit.take(request.remote_addr or "")
            if wait:
                text = f"more than {config.rate:g} requests a minute; wait a moment"
                raise Problem(429, "too_many_requests", text, retry_after=wait)
        hosts.check(request.headers.get("Host"))
        _check_size(config)
        if request.path.startswith(APIS) and _is_preflight():
            return app.make_response(("", 204))
        if config.token is not None and request.path.startswith(NEED_TOKEN):
            _check_token(config.token, failures)
        if request.path.startswith("/api/") and request.method not in ("GET", "HEAD"):
            check_origin(config.cors)
        return None

    @app.after_request
    def complete(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")
        if request.path.startswith(APIS):
            _allow_origin(response, config.cors)
        return response


# ----------------------------------------------------------------------------------------- hosts


_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?")


class Hosts:
    """The names by which requests may call the server.

    Another site may point its own name at this machine (DNS rebinding); a browser then takes the
    server for that site, but still sends the name. The server's own names are those of the
    loopback interface, the address on which it listens, and the allowed ones. If the server
    listens on every address, every address is its own: a page of another site always has a name.
    """

    def __init__(self, bound: str, allowed: Sequence[str]) -> None:
        address = address_of(bound)
        self._every_address = address is not None and address.is_unspecified
        self._address = address
        self._any = "*" in allowed
        self._names = {"localhost", bound.lower(), *(name.lower() for name in allowed)}

    def check(self, host: str | None) -> None:
        """Raise Problem, 421, if ``host``, a header with or without a port, is not ours."""
        if self._any or not host:  # no browser leaves the host out
            return
        found = _HOST.fullmatch(host.lower())
        if found and (found[1] in self._names or self._is_ours(found[1])):
            return
        text = "this server has another name; it is started with --allowed-host for more of them"
        raise Problem(421, "unknown_host", text)

    def _is_ours(self, name: str) -> bool:
        try:
            address = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return address.is_loopback or self._every_address or address == self._address


# ----------------------------------------------------------------------------------------- sizes


def _check_size(config: Config) -> None:
    """Refuse bodies that are too large, of any kind, because Flask's own limit has gaps."""
    if request.headers.get("Transfer-Encoding") and request.content_length is None:
        raise Problem(411, "length_required", "the body needs a Content-Length")
    if (request.content_length or 0) > config.max_body:
        raise Problem(
            413, "body_too_large", f"Request size limit of {config.max_body} bytes exceeded"
        )
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Problem(415, "unsupported_media_type", "compressed bodies are not accepted")


# ---------------------------------------------------------------------------------------- tokens


def _check_token(token: str, failures: RateLimit) -> None:
    client = request.remote_addr or ""
    wait = failures.take(client)
    if wait:  # not even compare the token, or guessing would go on
        text = f"more than {FAILURES} wrong tokens a minute; wait a moment"
        raise Problem(429, "too_many_failures", text, retry_after=wait)
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer":
        given = ""
    if not given and request.path.startswith("/v2/"):  # LanguageTool's clients send apiKey
        given = parameters().get("apiKey", "")
    if hmac.compare_digest(given.strip().encode(), token.encode()):
        failures.give_back(client)
        return
    status = 403 if request.path.startswith("/v2/") else 401
    problem = Problem(status, "unauthorized", "a valid bearer token is needed")
    if status == 401:
        problem.headers["WWW-Authenticate"] = 'Bearer realm="gec"'
    raise problem


# --------------------------------------------------------------------------------------- origins


def check_origin(allowed: Sequence[str]) -> None:
    """Refuse a request that another site's page has made, unless that site is allowed.

    Browsers say from which site a request comes, and no page can forge that; other clients say
    nothing.
    """
    origin = request.headers.get("Origin")
    if origin is not None and ("*" in allowed or origin in allowed):
        return
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        own = site in ("same-origin", "none")
    else:
        own = origin is None or urlsplit(origin).netloc == request.host
    if not own:
        raise Problem(403, "cross_site", "pages of other sites may not use this server")


def _is_preflight() -> bool:
    headers = request.headers
    return (
        request.method == "OPTIONS"
        and "Origin" in headers
        and "Access-Control-Request-Method" in headers
    )


def _allow_origin(response: Response, allowed: Sequence[str]) -> None:
    """Tell the browser that a page of an allowed site may read the answer."""
    if not allowed:
        return
    headers = response.headers
    origin = request.headers.get("Origin")
    if "*" not in allowed:
        headers.add("Vary", "Origin")
        if origin not in allowed:
            return
    headers["Access-Control-Allow-Origin"] = "*" if "*" in allowed else str(origin)
    headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    headers["Access-Control-Expose-Headers"] = "Retry-After, X-Request-Id"
    if _is_preflight():
        headers["Access-Control-Allow-Methods"] = "GET, POST"
        headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
        headers["Access-Control-Max-Age"] = "600"
        if request.headers.get("Access-Control-Request-Private-Network") == "true":
            headers["Access-Control-Allow-Private-Network"] = "true"
