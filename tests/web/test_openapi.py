"""/openapi.json: valid, true, and what a machine makes of it does no harm."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from openapi_spec_validator import OpenAPIV31SpecValidator

from gec.text.segmentation import segment
from gec.web.schemas import Schema
from gec.web.server import Server

Make = Callable[..., FlaskClient]


@pytest.fixture
def document(client: Make, tmp_path: Path) -> dict[str, Any]:
    ours = client(token="correct horse", feedback=str(tmp_path / "f.sqlite"), max_text=123)
    found: dict[str, Any] = ours.get("/openapi.json").get_json()
    return found


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")


def test_it_says_what_this_server_does(client: Make, document: dict[str, Any]) -> None:
    assert document["paths"].keys() == {
        "/api/v1/correct", "/api/v1/stream", "/api/v1/settings", "/api/v1/feedback",
        "/v2/check", "/v2/languages", "/healthz", "/readyz",
    }  # fmt: skip
    schemas = document["components"]["schemas"]
    assert schemas["Options"]["properties"]["setting"]["enum"] == [
        "precise", "balanced", "thorough"
    ]  # fmt: skip
    assert "at most 123 characters" in schemas["StreamRequest"]["properties"]["text"]["description"]
    assert document["paths"]["/api/v1/correct"]["post"]["security"] == [{"bearer": []}]
    open_to_all = client().get("/openapi.json").json
    assert "/api/v1/feedback" not in open_to_all["paths"]
    assert "securitySchemes" not in open_to_all["components"]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_every_schema_is_there_and_used(document: dict[str, Any]) -> None:
    names: dict[str, Schema] = document["components"]["schemas"]
    used = {name.rpartition("/")[2] for name in references(document)}
    # these are in the data of a stream's events
    assert used | {"SentenceEvent", "DoneEvent"} == names.keys()


def test_the_page_for_people_has_it_all(client: Make, document: dict[str, Any]) -> None:
    page = client(token="correct horse").get("/docs").text
    for path in document["paths"].keys() - {"/api/v1/feedback"}:
        assert path in page
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in page
    assert "&lt;b&gt;" in page  # schemas are text, not markup


def test_schemathesis_finds_nothing(listening: Callable[..., Server], tmp_path: Path) -> None:
    server = listening(feedback=str(tmp_path / "f.sqlite"))
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", "--no-color", "--seed", "1",
        "--max-examples", "15", "--warnings", "off", "--request-timeout", "60",
        f"{server.address}/openapi.json",
    ]  # fmt: skip
    segment("Load the tokenizer.")
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    shown = "\n".join(line[:500] for line in (found.stdout + found.stderr).splitlines())
    assert found.returncode == 0, shown
    assert "Tested: 9" in found.stdout
