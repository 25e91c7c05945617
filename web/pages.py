"""The pages for people: the editor, and the page about the APIs."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from gec import __version__
from gec.web.calls import Engine
from gec.web.config import Config
from gec.web.openapi import operations
from gec.web.schemas import Schema


def blueprint(config: Config, engine: Engine, schemas: dict[str, Schema]) -> Blueprint:
    """Return the routes of the editor and of /docs."""
    pages = Blueprint("pages", __name__)

    @pages.get("/")
    def editor() -> ResponseReturnValue:
        return render_template("editor.html", version=__version__)

    @pages.get("/docs")
    def docs() -> ResponseReturnValue:
        found: list[dict[str, Any]] = list(operations(config, schemas))
        return render_template(
            "docs.html",
            version=__version__,
            root="../" if request.path.endswith("/") else "",
            config=config,
            operations=found,
            schemas=schemas,
            dump=partial(json.dumps, indent=2, ensure_ascii=False),
            reference=_reference,
        )

    @pages.get("/docs/style.css")
    def style() -> ResponseReturnValue:
        return Response(render_template("docs.css"), mimetype="text/css")

    return pages


def _reference(schema: Schema) -> Markup:
    """Return a link to the schema's place on the page, or its type."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        return Markup('<a href="#{0}">{0}</a>').format(name)
    return Markup("{}").format(schema.get("type", ""))
