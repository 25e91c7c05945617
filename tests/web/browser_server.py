"""A server for the browser tests: the real page, the API's contract, and rules for a model.

Run it alone to look at the page: ``python tests/web/browser_server.py [PORT]``.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flask import Flask, Response, jsonify, request, send_file
from werkzeug.serving import make_server

import gec.web

WEB = Path(gec.web.__file__).parent
POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'"
SETTINGS = {
    "precise": {"tolerance": 2.0, "min_confidence": 0.9},
    "balanced": {"tolerance": 0.5, "min_confidence": 0.5},
    "thorough": {"tolerance": 0.0, "min_confidence": 0.0},
}
MESSAGES = {
    "R:SPELL": "this looks like a spelling mistake.",
    "R:VERB:SVA": "the verb does not agree with its subject.",
    "R:NOUN:NUM": "singular and plural do not match here.",
    "M:DET": "an article or determiner is missing.",
    "M:PUNCT": "a punctuation mark is missing.",
    "U:ADV": "this word is not needed.",
    "R:VERB:TENSE": "another tense is needed.",
}
# pattern, replacement, type, category, confidence; what group 1 matches is replaced
RULES: tuple[tuple[str, str, str, str, float], ...] = (
    (r"\b(teh)\b", "the", "R:SPELL", "spelling", 0.98),
    (r"\b(definately)\b", "definitely", "R:SPELL", "spelling", 0.97),
    (r"\b(recieve)\b", "receive", "R:SPELL", "spelling", 0.96),
    (r"\b(Gecko)\b", "Gecco", "R:SPELL", "spelling", 0.6),
    (r"(?i:\bshe|\bhe) (go)\b", "goes", "R:VERB:SVA", "grammar", 0.95),
    (r"\b(?i:we) (was)\b", "were", "R:VERB:SVA", "grammar", 0.94),
    (r"\btwo (book)\b", "books", "R:NOUN:NUM", "grammar", 0.92),
    (r"\bhave ()(?=dog\b)", "a ", "M:DET", "grammar", 0.8),
    (r"\bHowever()(?= \w)", ",", "M:PUNCT", "punctuation", 0.7),
    (r"(\bvery )(?=very\b)", "", "U:ADV", "style", 0.65),
    (r"\b(bought)\b", "had bought", "R:VERB:TENSE", "style", 0.3),
)


@dataclass
class Behaviour:
    """What a test may change, and what it may look at."""

    feedback: bool = False
    token: str | None = None
    delay: float = 0.0
    fail: list[int] = field(default_factory=list)  # answer the next requests so
    texts: list[str] = field(default_factory=list)  # all that were asked for
    options: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)


def create_app(behaviour: Behaviour) -> Flask:
    app = Flask(__name__, static_folder=str(WEB / "static"))
    app.json.sort_keys = False  # type: ignore[attr-defined]
    model = {"name": "rules", "gec": "0"}

    @app.before_request
    def check() -> tuple[Response, int] | None:
        if not request.path.startswith("/api/"):
            return None
        if behaviour.token and request.headers.get("Authorization") != f"Bearer {behaviour.token}":
            return error(401, "unauthorized", "a valid bearer token is needed")
        return None

    @app.after_request
    def headers(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    @app.get("/")
    def page() -> Response:
        return send_file(WEB / "templates" / "editor.html")

    @app.get("/api/v1/settings")
    def settings() -> Response:
        limits = {"text": 100_000, "texts": 64, "body": 1_000_000}
        return jsonify(
            settings=SETTINGS, default="balanced", limits=limits, feedback=behaviour.feedback,
            model=model,
        )  # fmt: skip

    @app.post("/api/v1/correct")
    def correct() -> Response | tuple[Response, int]:
        if behaviour.fail:
            return error(behaviour.fail.pop(0), "busy", "too much to do")
        if behaviour.delay:
            threading.Event().wait(behaviour.delay)
        body = request.get_json()
        behaviour.texts += body["text"]
        behaviour.options.append(body["options"])
        results = [result(text, body["options"]) for text in body["text"]]
        return jsonify(version=1, model=model, results=results)

    @app.post("/api/v1/feedback")
    def feedback() -> tuple[str, int]:
        behaviour.decisions.append(request.get_json())
        return "", 204

    return app


def error(status: int, code: str, message: str) -> tuple[Response, int]:
    return jsonify(error={"status": status, "code": code, "message": message}), status


def result(text: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return one text's answer; ``options`` must ask for UTF-16 offsets and for traces."""
    assert options["offsets"] == "utf16"
    assert options["trace"] is True
    edits = found(text, options)
    corrected, at = "", 0
    for edit in edits:
        corrected += text[at : edit["start"]] + edit["replacement"]
        at = edit["end"]
    sentences = [
        sentence(text, *match.span(), edits)
        for match in re.finditer(r"[^\s.!?][^.!?\n]*[.!?]*", text)
    ]
    for item in (*edits, *sentences):
        item["start"], item["end"] = utf16(text, item["start"]), utf16(text, item["end"])
    corrected += text[at:]
    return {
        "text": text, "corrected": corrected, "edits": edits, "sentences": sentences,
        "warnings": [],
    }  # fmt: skip


def found(text: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    least = SETTINGS[options.get("setting", "balanced")]["min_confidence"]
    code = [match.span() for match in re.finditer(r"`[^`]*`|https?://\S+", text)]
    edits = []
    for pattern, replacement, kind, category, confidence in RULES:
        for match in re.finditer(pattern, text):
            start, end = match.span(1)
            if confidence < least or match[1] in options.get("ignore_words", ()):
                continue
            if any(a <= start < b for a, b in code):
                continue
            edits.append({
                "start": start, "end": end, "original": match[1], "replacement": replacement,
                "type": kind, "category": category, "confidence": confidence,
                "message": message(match[1], replacement, kind),
            })  # fmt: skip
    return sorted(edits, key=lambda edit: edit["start"])


def message(old: str, new: str, kind: str) -> str:
    old, new = old.strip(), new.strip()
    what = f"Use “{new}” instead of “{old}”" if old and new else f"Add “{new}”"
    return f"{what if new else f'Remove “{old}”'}: {MESSAGES[kind]}"


def sentence(text: str, start: int, end: int, edits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how a copying decoder would write one sentence: a pass an edit, and a last one."""
    blocks, at = [], start
    own = [edit for edit in edits if start <= edit["start"] and edit["end"] <= end]
    for edit in own:
        if text[at : edit["start"]].strip():
            blocks.append({"kind": "drafted", "text": text[at : edit["start"]]})
        blocks.append({"kind": "decided", "text": f" {edit['replacement'].strip()}"})
        at = edit["end"]
    blocks.append({"kind": "drafted", "text": f"{text[at:end]}</s>"})
    words = len(text[start:end].split()) + 1
    return {
        "start": start, "end": end, "passes": len(own) + 1, "drafted": words + 2 * len(own),
        "accepted": words - len(own), "tokens": words, "milliseconds": 4.0 + 6 * len(own),
        "cached": False, "blocks": blocks,
    }  # fmt: skip


def utf16(text: str, offset: int) -> int:
    return len(text[:offset].encode("utf-16-le")) // 2


@contextmanager
def running(behaviour: Behaviour, port: int = 0) -> Iterator[str]:
    """Serve in a thread; yields the address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", port, create_app(behaviour), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


if __name__ == "__main__":
    with running(Behaviour(feedback=True), int(sys.argv[1]) if sys.argv[1:] else 8000) as address:
        print(address)
        threading.Event().wait()
