"""Errors of requests, in one shape for every answer of the server.

The shape is ``{"error": {"status": 413, "code": "text_too_long", "message": "one plain line"}}``;
under /v2/ it is the LanguageTool API's plain text, ``Error: message``. A message may repeat what
the client sent; a log never does.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from gec.web.logs import place_of

log = logging.getLogger("gec.web")


class Problem(Exception):
    """An error that is the answer to a request."""

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = " ".join(message.split())
        self.headers: dict[str, str] = {}
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, math.ceil(retry_after)))

    def document(self) -> dict[str, dict[str, int | str]]:
        """Return the JSON object for the body of an answer or an event of a stream."""
        return {"error": {"status": self.status, "code": self.code, "message": self.message}}


_CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    411: "length_required",
    413: "body_too_large",
    415: "unsupported_media_type",
    431: "headers_too_large",
}


def problem_of(error: HTTPException) -> Problem:
    """Return a refusal of Flask's own (no such page, no such method, ...) as a problem."""
    status = error.code or 500
    text = "no such address" if status == 404 else error.description or error.name
    problem = Problem(status, _CODES.get(status, "error"), text)
    kept = ("Allow", "Location", "Retry-After")
    problem.headers = {k: v for k, v in error.get_headers() if k in kept}
    return problem


def internal(error: BaseException) -> Problem:
    """Log an unexpected error without its message, which may quote the text; return a 500."""
    log.error("%s", place_of(error))
    return Problem(500, "internal", "something went wrong in the server; it has been logged")


def as_problem(error: BaseException) -> Problem:
    """Return any exception as a problem; unexpected exceptions are logged."""
    if isinstance(error, Problem):
        return error
    return problem_of(error) if isinstance(error, HTTPException) else internal(error)


def render(problem: Problem, path: str) -> tuple[str, str]:
    """Return the body and its type: JSON, or plain text for the LanguageTool API."""
    if path.startswith("/v2/"):
        return f"Error: {problem.message}", "text/plain; charset=utf-8"
    return json.dumps(problem.document()) + "\n", "application/json"


def answer(error: BaseException) -> Response:
    """Return the answer to the present request, which ended in ``error``."""
    problem = as_problem(error)
    body, kind = render(problem, request.path)
    return Response(body, problem.status, problem.headers, content_type=kind)


def register(app: Flask) -> None:
    """Make an application answer every error with a problem."""
    handler: Callable[[Exception], Response] = answer
    app.register_error_handler(Exception, handler)
