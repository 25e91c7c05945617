"""The document /openapi.json, made of the schemas that check the requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gec import __version__
from gec.web.config import Config
from gec.web.schemas import Schema
from gec.web.security import NEED_TOKEN

Operation = dict[str, Any]

_REASONS = {
    400: "The request is not valid",
    401: "A valid bearer token is needed",
    403: "A page of another site sent the request",
    404: "There is no such thing here",
    409: "The server has shown no such corrections",
    411: "The body needs a Content-Length",
    413: "The text or the body is too long, or has too many sentences",
    415: "The body is of another kind, or compressed",
    421: "The server has another name",
    429: "Too much from this client: wait as Retry-After says",
    500: "The server failed; other requests are not affected",
    503: "Too many requests at once: try again as Retry-After says",
    504: "The text was not corrected within the time limit",
    507: "The server stores no more feedback",
}
_GET = (411, 413, 415, 421, 429, 500)
_POST = (400, 401, 403, *_GET)
_DECODES = (*_POST, 503, 504)
_STATUS = {"/healthz": "Whether the server runs.", "/readyz": "Whether it takes requests."}


def operations(config: Config, schemas: dict[str, Schema]) -> Iterator[Operation]:
    """Yield every operation as (path, method, OpenAPI's operation object)."""
    yield from _corrections()
    yield _get(
        "/api/v1/settings", "settings", "What this server can do.", "Settings", errors=(401, *_GET)
    )
    if config.feedback:
        yield _post(
            "/api/v1/feedback",
            "feedback",
            "Store what a user has done with a correction, with consent.",
            "Feedback",
            ("application/json", {"$ref": "#/components/schemas/FeedbackResponse"}),
            (*_POST, 404, 409, 507),
        )
    yield from _languagetool(schemas)
    for path, what in _STATUS.items():
        yield _get(path, path[1:], what, "Status", errors=(*_GET, 503))


def _corrections() -> Iterator[Operation]:
    yield _post(
        "/api/v1/correct",
        "correct",
        "Correct a text, or a list of texts.",
        "CorrectRequest",
        ("application/json", {"$ref": "#/components/schemas/CorrectResponse"}),
        _DECODES,
    )
    yield _post(
        "/api/v1/stream",
        "stream",
        "Correct a long text; its sentences come as they finish, as server-sent events: "
        "`sentence` (SentenceEvent), then `done` (DoneEvent) or `error` (Error).",
        "StreamRequest",
        ("text/event-stream", {"$ref": "#/components/schemas/StreamEvent"}),
        _DECODES,
    )


def _languagetool(schemas: dict[str, Schema]) -> Iterator[Operation]:
    """Yield the operations for LanguageTool's clients; their errors are plain text."""
    name = {"$ref": "#/components/schemas/CheckRequest"}
    form = {"schema": name}
    check = _get("/v2/check", "check", "Check a text.", "CheckResponse", ())
    errors = _plain_errors((400, 403, 503, *_GET))
    yield check | {
        "method": "post",
        "operationId": "checkForm",
        "requestBody": {
            "required": True,
            "content": {"application/x-www-form-urlencoded": form},
        },
        "responses": check["responses"] | errors,
    }
    found = schemas["CheckRequest"]["properties"]
    yield check | {
        "parameters": [
            {"name": n, "in": "query", "required": n in ("text", "language"), "schema": schema}
            for n, schema in found.items()
        ],
        "responses": check["responses"] | errors,
    }
    languages = _get("/v2/languages", "languages", "The languages known.", "Languages", ())
    yield languages | {"responses": languages["responses"] | _plain_errors(_GET)}


def _plain_errors(statuses: tuple[int, ...]) -> Schema:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {str(s): {"description": _REASONS[s], "content": content} for s in statuses}


def _post(
    path: str,
    name: str,
    summary: str,
    request: str,
    response: tuple[str, Schema],
    errors: tuple[int, ...],
) -> Operation:
    kind, schema = response
    good = {"200": {"description": "The answer", "content": {kind: {"schema": schema}}}}
    body = {"schema": {"$ref": f"#/components/schemas/{request}"}}
    return {
        "path": path,
        "method": "post",
        "operationId": name,
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": good | _errors(errors),
    }


def _get(path: str, name: str, summary: str, response: str, errors: tuple[int, ...]) -> Operation:
    schema = {"$ref": f"#/components/schemas/{response}"}
    good = {
        "200": {"description": "The answer", "content": {"application/json": {"schema": schema}}}
    }
    return {
        "path": path,
        "method": "get",
        "operationId": name,
        "summary": summary,
        "responses": good | _errors(errors),
    }


def _errors(statuses: tuple[int, ...]) -> Schema:
    schema = {"$ref": "#/components/schemas/Error"}
    return {
        str(status): {
            "description": _REASONS[status],
            "content": {"application/json": {"schema": schema}},
        }
        for status in sorted(statuses)
    }


def document(config: Config, schemas: dict[str, Schema]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of this server."""
    paths: dict[str, dict[str, Any]] = {}
    for found in operations(config, schemas):
        operation = dict(found)
        path, method = operation.pop("path"), operation.pop("method")
        if config.token is not None and path.startswith(NEED_TOKEN):
            operation["security"] = [{"bearer": []}]
            if path.startswith("/v2/"):
                operation["security"].append({"apiKey": []})
        paths.setdefault(path, {})[method] = operation
    components: dict[str, Any] = {"schemas": schemas}
    if config.token is not None:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "apiKey": {
                "type": "apiKey",
                "in": "query",
                "name": "apiKey",
                "description": "the token, for LanguageTool's clients; in a form, too",
            },
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gec",
            "version": __version__,
            "summary": "Grammatical error correction",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "."}],  # relative to this document, so a proxy may move both
        "paths": paths,
        "components": components,
    }
