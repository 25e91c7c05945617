"""/openapi.json: valid, true, and what a machine makes of it does no harm."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from flask.testing import FlaskClient
from openapi_spec_validator import OpenAPIV31SpecValidator

from gec.text.segmentation import segment
from gec.web.schemas import Schema
from gec.web.server import Server

Make = Callable[..., FlaskClient]


@pytest.fixture
def document(client: Make, tmp_path: Path) -> dict[str, Any]:
    ours = client(token="correct horse battery", feedback=str(tmp_path / "f.sqlite"), max_text=123)
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
    for method in ("get", "post"):
        check = document["paths"]["/v2/check"][method]
        assert check["security"] == [{"bearer": []}, {"apiKey": []}]
        assert "403" in check["responses"]
    assert document["components"]["securitySchemes"].keys() == {"bearer", "apiKey"}
    for path in ("/v2/languages", "/healthz", "/readyz"):
        assert "security" not in document["paths"][path]["get"]
    assert document["paths"]["/readyz"]["get"]["summary"] == "Whether it takes requests."
    open_to_all = client().get("/openapi.json").json
    assert "/api/v1/feedback" not in open_to_all["paths"]
    assert "securitySchemes" not in open_to_all["components"]
    assert "security" not in open_to_all["paths"]["/v2/check"]["post"]


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
    page = client(token="correct horse battery").get("/docs").text
    for path in document["paths"].keys() - {"/api/v1/feedback"}:
        assert path in page
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in page
    assert "&lt;b&gt;" in page  # schemas are text, not markup


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/settings", 401), ("/metrics", 401), ("/v2/check?text=a&language=en", 403),
        ("/v2/words", 403), ("/v2/languages", 200), ("/v2/info", 200), ("/v2/maxtextlength", 200),
        ("/v2/configinfo?language=en", 200), ("/v2/healthcheck", 200), ("/healthz", 200),
        ("/readyz", 200), ("/openapi.json", 200), ("/docs", 200), ("/", 200),
    ],
)  # fmt: skip
def test_which_addresses_need_the_token(client: Make, path: str, status: int) -> None:
    ours = client(token="correct horse battery")
    assert ours.get(path).status_code == status
    page = Path(__file__).parents[2].joinpath("docs", "server.md").read_text("utf-8")
    needs = re.findall(r"`([^`]+)`", re.findall(r"Only .* need the token", page)[0])
    assert (status in (401, 403)) == path.startswith(tuple(needs))


# ---------------------------------------------------------------------------------- under a path


class Links(HTMLParser):
    """The addresses that a page names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value and not value.startswith("#"):
                self.found.append(value)


@pytest.mark.parametrize("page", ["/", "/docs", "/docs/"])
@pytest.mark.parametrize("prefix", ["", "/tools/gec"])
def test_pages_work_under_a_path(client: Make, page: str, prefix: str) -> None:
    """A proxy cuts the path off; all that a page asks for must lie under it again."""
    ours = client()
    links = Links(ours.get(page).text).found
    assert len(links) >= 3
    for link in links:
        address = urljoin(f"http://localhost{prefix}{page}", link)
        assert address.startswith(f"http://localhost{prefix}/"), link
        with ours.get(address.removeprefix(f"http://localhost{prefix}")) as answer:
            assert answer.status_code == 200


def test_the_pages_examples_name_the_servers_address(client: Make) -> None:
    headers = {"X-Forwarded-Host": "a.example", "X-Forwarded-Proto": "https"}
    headers["X-Forwarded-Prefix"] = "/tools/gec"
    ours = client(trusted_proxy=("127.0.0.1",), allowed_host=("a.example",))
    page = ours.get("/docs", headers=headers).text
    assert "curl https://a.example/tools/gec/api/v1/correct" in page
    assert "https://a.example/tools/gec/v2" in page
    assert "http://localhost/" not in page
    document = ours.get("/openapi.json", headers=headers).json
    at = urljoin("https://a.example/tools/gec/openapi.json", document["servers"][0]["url"])
    assert at.rstrip("/") == "https://a.example/tools/gec"


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
