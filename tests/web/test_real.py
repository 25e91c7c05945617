"""The server with the shipped model, asked by the clients that people have."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import language_tool_python
import pytest
import requests

import gec
from gec.correct.corrector import Corrector
from gec.web.app import create_app
from gec.web.config import Config
from gec.web.server import Server


def _pylanguagetool() -> ModuleType:
    """The client's module alone: its command line needs the pkg_resources of old setuptools."""
    package = find_spec("pylanguagetool")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0], "api.py")
    spec = spec_from_file_location("pylanguagetool_api", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pylanguagetool = _pylanguagetool()

LEARNER = "She go to school every day. I has a apple. He is interested on music."
FIXED = "She goes to school every day. I have an apple. He is interested in music."


@pytest.fixture(scope="module")
def corrector() -> Corrector:
    return gec.load("en", device="cpu")


@pytest.fixture(scope="module")
def address(corrector: Corrector) -> Iterator[str]:
    config = Config(port=0, rate=0.0)
    server = Server(create_app(config, corrector=corrector), config)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server.address
    server.stop()
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def tool(address: str) -> Iterator[language_tool_python.LanguageTool]:
    with language_tool_python.LanguageTool("en-US", remote_server=address) as client:
        yield client


def correct(address: str, text: Any, **options: Any) -> list[dict[str, Any]]:
    body = {"text": text, "options": options}
    answer = requests.post(f"{address}/api/v1/correct", json=body, timeout=120)
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def test_the_server_says_what_the_corrector_says(address: str, corrector: Corrector) -> None:
    texts = [LEARNER, "", "Fine.", "😀 They was here , yesterday😀", "Ceci n'est pas anglais."]
    for text, found in zip(texts, correct(address, texts, trace=True), strict=True):
        expected = corrector.correct(text)
        assert found["corrected"] == expected.text
        assert [edit["replacement"] for edit in found["edits"]] == [
            edit.replacement for edit in expected.edits
        ]
        for sentence, wanted in zip(found["sentences"], expected.sentences, strict=True):
            assert sentence["passes"] == (wanted.trace.passes if wanted.trace else 0)
            assert (sentence["milliseconds"] > 0) != (sentence["cached"] or not wanted.trace)
            shown = "".join(block["text"] for block in sentence["blocks"])
            assert shown == "".join(wanted.trace.tokens if wanted.trace else ())


def test_known_sentences_cost_nothing(address: str) -> None:
    text = "There is many reason for this. We was very glad about it."
    correct(address, text)
    (found,) = correct(address, text + " And so we leaves.")
    assert [sentence["cached"] for sentence in found["sentences"]] == [True, True, False]
    assert [sentence["milliseconds"] > 0 for sentence in found["sentences"]] == [False, False, True]


def test_concurrent_clients_get_their_own_answers(address: str, corrector: Corrector) -> None:
    names = ["Anna", "Ben", "Carla", "David", "Emma", "Frank", "Greta", "Henry"]
    texts = [f"{name} go to school every day. It cost {at} euros." for at, name in enumerate(names)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: correct(address, text)[0], texts))
    for text, name, result in zip(texts, names, found, strict=True):
        assert result["text"] == text
        assert result["corrected"].startswith(f"{name} goes to school")
        assert result["corrected"] == corrector.correct(text).text


def test_a_stream_is_the_whole(address: str) -> None:
    text = "\n\n".join([LEARNER] * 12)
    answer = requests.post(f"{address}/api/v1/stream", json={"text": text}, timeout=120)
    blocks = [block.split("\ndata: ") for block in answer.text.split("\n\n")[:-1]]
    assert [name for name, _ in blocks] == ["event: sentence"] * 36 + ["event: done"]
    edits = [edit for _, data in blocks[:-1] for edit in json.loads(data)["edits"]]
    (whole,) = correct(address, text)
    assert edits == whole["edits"]


# ----------------------------------------------------------------------------- language_tool_python


def test_language_tool_python(tool: language_tool_python.LanguageTool) -> None:
    found = tool.check(LEARNER)
    assert [LEARNER[m.offset : m.offset + m.error_length] for m in found] == [
        "go", "has", "a", "on"
    ]  # fmt: skip
    assert found[0].replacements == ["goes"]
    assert found[0].category == "GRAMMAR"
    assert found[0].rule_issue_type == "grammar"
    assert found[0].sentence == "She go to school every day."
    assert tool.correct(LEARNER) == FIXED
    assert tool.correct("Fine.") == "Fine."


def test_language_tool_python_with_emoji(tool: language_tool_python.LanguageTool) -> None:
    text = "😀💚 She go to school 😀 every day. 👩‍👩‍👧 I has a apple."
    fixed = "😀💚 She goes to school 😀 every day. 👩‍👩‍👧 I have an apple."
    assert tool.correct(text) == fixed


def test_language_tool_python_with_a_long_text(tool: language_tool_python.LanguageTool) -> None:
    text = "\n\n".join(f"😀 {LEARNER}" for _ in range(300))[:20_000]
    found = tool.check(text)
    assert len(found) >= 4 * text.count(LEARNER)
    assert tool.correct(text).count(FIXED) == text.count(LEARNER)


# ---------------------------------------------------------------------------------- pylanguagetool


def test_pylanguagetool(address: str) -> None:
    url = f"{address}/v2/"
    text = f"💚 {LEARNER} https://example.org/go `I has`"
    answer = pylanguagetool.check(text, api_url=url, lang="en-US")
    units = text.encode("utf-16-le")
    written = [
        units[2 * m["offset"] : 2 * (m["offset"] + m["length"])].decode("utf-16-le")
        for m in answer["matches"]
    ]
    assert written == ["go", "has", "a", "on"]
    assert {"name": "English (US)", "code": "en", "longCode": "en-US"} in (
        pylanguagetool.get_languages(url)
    )


def test_pylanguagetool_with_a_long_text(address: str) -> None:
    text = "\n\n".join(f"😀 {LEARNER}" for _ in range(300))[:20_000]
    answer = pylanguagetool.check(text, api_url=f"{address}/v2/", lang="auto")
    assert len(answer["matches"]) >= 4 * text.count(LEARNER)
    assert all(match["length"] > 0 for match in answer["matches"])


def test_markup_as_ltex_sends_it(address: str) -> None:
    annotation = [
        {"markup": "# ", "interpretAs": "\n\n"},
        {"text": "That was a good day."},
        {"markup": "\n\n", "interpretAs": "\n\n"},
        {"text": "She "},
        {"markup": "*"},
        {"text": "go"},
        {"markup": "*"},
        {"text": " to school with 😀 "},
        {"markup": "$x$", "interpretAs": "Dummy0"},
        {"text": ". I has a apple."},
    ]
    full = "".join(piece.get("text") or piece["markup"] for piece in annotation)
    data = {"data": json.dumps({"annotation": annotation}), "language": "en-US", "level": "picky"}
    answer = requests.post(f"{address}/v2/check", data=data, timeout=60)
    assert answer.status_code == 200
    units = full.encode("utf-16-le")
    for match in reversed(answer.json()["matches"]):
        start, end = 2 * match["offset"], 2 * (match["offset"] + match["length"])
        value = match["replacements"][0]["value"].encode("utf-16-le")
        units = units[:start] + value + units[end:]
    assert units.decode("utf-16-le") == (
        "# That was a good day.\n\nShe *goes* to school with 😀 $x$. I have an apple."
    )
