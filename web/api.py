"""The JSON API, version 1."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, NoReturn

from flask import Blueprint, Response, g, jsonify, request
from flask.typing import ResponseReturnValue

from gec.web import results
from gec.web.calls import Engine
from gec.web.config import Config
from gec.web.feedback import Store
from gec.web.problems import Problem, as_problem
from gec.web.schemas import Validators


def blueprint(
    config: Config, engine: Engine, validators: Validators, store: Store | None
) -> Blueprint:
    """Return the routes under /api/v1; without a ``store`` no feedback is taken."""
    api = Blueprint("api", __name__, url_prefix="/api/v1")

    def signer(values: dict[str, Any]) -> results.Sign | None:
        if not values.get("feedback"):
            return None
        if store is None:
            raise Problem(400, "invalid_request", "options.feedback: there is no feedback here")
        return partial(store.sign, model=engine.model["name"])

    @api.post("/correct")
    def correct() -> ResponseReturnValue:
        body = _body(validators, "CorrectRequest", config)
        texts = [body["text"]] if isinstance(body["text"], str) else body["text"]
        values = body.get("options", {})
        spans = results.protected(values, texts[0]) if values.get("protect") else ()
        sign = signer(values)
        with engine.call(g.began, request.remote_addr or "") as call:
            g.call = call
            corrections = call.correct(texts, engine.options(values, spans))
            found = [results.result(correction, call, values, sign) for correction in corrections]
        return jsonify({"version": 1, "model": engine.model, "results": found})

    @api.post("/stream")
    def stream() -> ResponseReturnValue:
        body = _body(validators, "StreamRequest", config)
        text, values = body["text"], body.get("options", {})
        options = engine.options(values, results.protected(values, text))
        sign = signer(values)
        with ExitStack() as stack:
            g.call = call = stack.enter_context(engine.call(g.began, request.remote_addr or ""))
            parts = call.stream(text, options)
            first = next(parts)  # a request is refused before its answer begins
            events = _events(results.events(chain([first], parts), text, call, values, sign))
            answer = Response(events, mimetype="text/event-stream")
            answer.headers["X-Accel-Buffering"] = "no"  # a proxy must pass each event on at once
            answer.call_on_close(stack.pop_all().close)
        return answer

    @api.get("/settings")
    def settings() -> ResponseReturnValue:
        found = engine.corrector.settings
        pairs = {
            name: {"tolerance": pair.tolerance, "min_confidence": pair.min_confidence}
            for name, pair in found.items()
        }
        return jsonify(
            {
                "settings": pairs,
                "default": engine.default_setting,
                "limits": {
                    "text": config.max_text,
                    "texts": config.max_texts,
                    "body": config.max_body,
                },
                "feedback": store is not None,
                "model": engine.model,
            }
        )

    @api.post("/feedback")
    def feedback() -> ResponseReturnValue:
        if store is None:
            raise Problem(404, "no_feedback", "this server stores no feedback")
        body = _body(validators, "Feedback", config)
        client = request.remote_addr or ""
        id = store.decide(body["shown"], int(body["edit"]), body["decision"], client)
        return jsonify({"id": id})

    return api


def _body(validators: Validators, schema: str, config: Config) -> dict[str, Any]:
    """Return the request's JSON, checked against a schema."""
    if request.mimetype != "application/json":
        raise Problem(415, "unsupported_media_type", "the body must be application/json")
    try:
        text = request.get_data(cache=False).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, "invalid_json", f"not UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise Problem(400, "invalid_json", f"not JSON: {error.msg} at {where}") from None
    except (ValueError, RecursionError) as error:
        what = "too deep" if isinstance(error, RecursionError) else "a number that JSON forbids"
        raise Problem(400, "invalid_json", f"not JSON: {what}") from None
    _check_length(value, config)
    validators.check(schema, value)
    checked: dict[str, Any] = value
    return checked


def _check_length(body: Any, config: Config) -> None:
    """Refuse too much text, with a status of its own (413)."""
    text = body.get("text") if isinstance(body, dict) else None
    texts = text if isinstance(text, list) else [text]
    length = sum(len(one) for one in texts if isinstance(one, str))
    if length > config.max_text:
        limit = config.max_text
        message = f"the text exceeds the limit of {limit} characters (it has {length})"
        raise Problem(413, "text_too_long", message)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _events(found: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """Yield server-sent events; an error after the first event becomes an event, too."""
    try:
        for name, data in found:
            yield _event(name, data)
    except Exception as error:
        yield _event("error", as_problem(error).document())


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"
