"""What the server logs: one record a request, with the request's id, and never a text.

A path is logged only if it is an address of the server, because any other path may hold a text.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Flask, Response, g, has_request_context, request

log = logging.getLogger("gec.web")
REQUEST_ID = "X-Request-Id"
_SANE = re.compile(r"[A-Za-z0-9._+/=:-]{1,128}", re.ASCII)
_METHODS = ("GET", "HEAD", "POST", "OPTIONS")


def request_id(given: str | None) -> str:
    """Return the id that a client or a proxy gave its request if it is sane, else a new one."""
    return given if given and _SANE.fullmatch(given) else secrets.token_hex(8)


def method_of(name: str) -> str:
    """Return a request's method, or "other" for one that no address takes."""
    return name if name in _METHODS else "other"


class JsonFormatter(logging.Formatter):
    """Makes a JSON object of each record, in one line; of an exception its kind and place only."""

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        when = datetime.fromtimestamp(record.created, UTC)
        found: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
        }
        if self._worker is not None:
            found["worker"] = self._worker
        of_request: Mapping[str, Any] | None = getattr(record, "of_request", None)
        if of_request is not None:
            return json.dumps(found | {"message": "request"} | dict(of_request))
        found["message"] = record.getMessage()
        if has_request_context() and "id" in g:
            found["id"] = g.id
        if record.exc_info and record.exc_info[1] is not None:
            found["error"] = place_of(record.exc_info[1])
        return json.dumps(found)


def place_of(error: BaseException) -> str:
    """Return an exception's kind and place without its message, which may quote a text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames[-6:]))
    return f"{type(error).__name__} at {where or 'an unknown place'}"


def set_up(level: str, format: str, worker: int | None = None) -> None:
    """Log to standard error, as text or as JSON; a worker's records have its number."""
    number = "" if worker is None else f" worker {worker}"
    formatter: logging.Formatter = JsonFormatter(worker)
    if format == "text":
        formatter = logging.Formatter(f"%(asctime)s %(levelname)s{number} %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("waitress").setLevel(max(logging.WARNING, logging.getLogger().level))


def register(app: Flask) -> None:
    """Give every request of an application an id, which its answer repeats, and log it."""

    @app.before_request
    def name() -> None:
        g.id = request_id(request.headers.get(REQUEST_ID))

    @app.after_request
    def done(response: Response) -> Response:
        response.headers[REQUEST_ID] = g.id
        rule = request.url_rule.rule if request.url_rule else "none"
        path = request.path if request.url_rule else "none"
        method, began, call, id = method_of(request.method), g.began, g.get("call"), g.id

        def write() -> None:
            sentences = call.corrected if call is not None else 0
            milliseconds = 1000 * (time.monotonic() - began)
            _write(id, method, rule, path, response.status_code, milliseconds, sentences)

        if response.mimetype == "text/event-stream":
            response.call_on_close(write)  # its sentences are still to come
        else:
            write()
        return response


def refused(method: str, status: int) -> str:
    """Log a request that was refused before the application saw it; return its new id."""
    id = request_id(None)
    _write(id, method_of(method), "none", "none", status, 0.0, 0)
    return id


def _write(
    id: str,
    method: str,
    rule: str,
    path: str,
    status: int,
    milliseconds: float,
    sentences: int,
) -> None:
    of_request = {
        "id": id,
        "method": method,
        "path": path,
        "status": status,
        "ms": round(milliseconds, 1),
        "sentences": sentences,
    }
    text = "%s %s %d %.0f ms"
    log.info(text, method, rule, status, milliseconds, extra={"of_request": of_request})
