"""Pages for those who run the server: whether it is alive and ready, its metrics, its API."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify
from flask.typing import ResponseReturnValue

from gec.web.calls import Engine
from gec.web.config import Config
from gec.web.metrics import CONTENT_TYPE, Metrics
from gec.web.openapi import document
from gec.web.problems import Problem
from gec.web.schemas import Schema


def blueprint(
    config: Config, engine: Engine, metrics: Metrics, schemas: dict[str, Schema]
) -> Blueprint:
    """Return the routes /healthz, /readyz, /metrics and /openapi.json."""
    pages = Blueprint("operations", __name__)

    @pages.get("/healthz")
    def healthz() -> ResponseReturnValue:
        return jsonify({"status": "ok"})

    @pages.get("/readyz")
    def readyz() -> ResponseReturnValue:
        reason = engine.not_ready()
        if reason:
            raise Problem(503, "not_ready", reason, retry_after=5)
        return jsonify({"status": "ready"})

    @pages.get("/metrics")
    def scrape() -> ResponseReturnValue:
        return Response(metrics.render(), content_type=CONTENT_TYPE)

    @pages.get("/openapi.json")
    def openapi() -> ResponseReturnValue:
        return jsonify(document(config, schemas))

    return pages
