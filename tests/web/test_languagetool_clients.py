"""What LanguageTool's clients send, and what they read from the answer, over a real socket."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import recorded_clients as recorded
from fake_web import WebCorrector
from flask.testing import FlaskClient
from recorded_clients import LTEX_TEXT, REMARK_TEXT, TEXT

from gec.edits.messages import MESSAGES
from gec.web.app import create_app
from gec.web.config import Config
from gec.web.language import foreign
from gec.web.languagetool import read_check
from gec.web.server import Server

Json = dict[str, Any]
Make = Callable[..., FlaskClient]


@pytest.fixture(scope="module")
def corrector() -> WebCorrector:
    return WebCorrector()


@pytest.fixture(scope="module")
def server(corrector: WebCorrector) -> Iterator[Server]:
    config = Config(port=0, rate=0.0, timeout=600, cors=(recorded.CHROME, recorded.FIREFOX))
    foreign("Load the words that tell languages apart.")
    found = Server(create_app(config, corrector=corrector), config)  # type: ignore[arg-type]
    thread = threading.Thread(target=found.run)
    thread.start()
    yield found
    found.stop()
    thread.join(30)


def send(server: Server, request: bytes) -> tuple[int, dict[str, str], str]:
    parts = urlsplit(server.address)
    with closing(socket.create_connection((parts.hostname, parts.port), timeout=300)) as wire:
        wire.sendall(request)
        method = request.split(b" ", 1)[0].decode()
        with closing(http.client.HTTPResponse(wire, method=method)) as answer:
            answer.begin()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, answer.read().decode()


def check(server: Server, request: bytes) -> Json:
    status, headers, body = send(server, request)
    assert status == 200, body
    assert headers["content-type"] == "application/json"
    found: Json = json.loads(body)
    assert not isinstance(found["software"]["version"], bool)
    return found


def units(text: str, start: int, end: int) -> str:
    """A slice in UTF-16 code units, as Java, JavaScript, Qt and LibreOffice slice."""
    data = text.encode("utf-16-le", "surrogatepass")
    return data[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def pairs(text: str, found: Json) -> list[tuple[str, str]]:
    """What each match covers and its first replacement."""
    return [
        (
            units(text, match["offset"], match["offset"] + match["length"]),
            match["replacements"][0]["value"],
        )
        for match in found["matches"]
    ]


EVERY = [("go", "goes"), ("dog", "a dog")]
PLAIN = {
    "libreoffice": recorded.LIBREOFFICE,
    "libreoffice, an address with a slash": recorded.LIBREOFFICE_SLASH,
    "libreoffice, an account": recorded.LIBREOFFICE_ACCOUNT,
    "libreoffice 7.4": recorded.LIBREOFFICE_RAW,
    "languagetool's extension": recorded.EXTENSION_CHECK,
    "omegat": recorded.OMEGAT,
    "add-on": recorded.ADD_ON,
    "add-on of 2018": recorded.ADD_ON_2018,
    "langtool": recorded.LANGTOOL,
    "languagetool.el": recorded.LANGUAGETOOL_EL,
    "flymake": recorded.FLYMAKE,
    "flycheck": recorded.FLYCHECK,
    "vim": recorded.VIM,
    "sublime": recorded.SUBLIME,
    "texstudio": recorded.TEXSTUDIO,
    "rust": recorded.RUST,
    "quill": recorded.QUILL,
}
MARKED = {
    "ltex": (recorded.LTEX, LTEX_TEXT),
    "ltex, picky": (recorded.LTEX_PICKY, LTEX_TEXT),
    "ltex-plus, an address with a slash": (recorded.LTEX_SLASH, LTEX_TEXT),
    "obsidian": (recorded.OBSIDIAN, REMARK_TEXT),
    "obsidian, wrenger": (recorded.OBSIDIAN_WRENGER, REMARK_TEXT),
    "vs code": (recorded.VSCODE, REMARK_TEXT),
}
REQUESTS = [(request, TEXT) for request in PLAIN.values()] + list(MARKED.values())
NAMES = [*PLAIN, *MARKED]


@pytest.mark.parametrize(("request_", "text"), REQUESTS, ids=NAMES)
def test_every_client_gets_its_matches(server: Server, request_: bytes, text: str) -> None:
    found = check(server, request_)
    assert pairs(text, found) == EVERY
    for match in found["matches"]:
        java(match)
        rust(match)
        shown = match["context"]
        at = shown["offset"]
        covered = units(text, match["offset"], match["offset"] + match["length"])
        assert units(shown["text"], at, at + shown["length"]) == covered
    first, *_ = found["sentenceRanges"]
    assert "We go 😀 far." in units(text, *first)


def java(match: Json) -> None:
    """Cast as LanguageTool's Java client does: a missing or other value would raise there."""
    assert type(match["offset"]) is type(match["length"]) is type(match["context"]["offset"]) is int
    rule = match["rule"]
    for value in (rule["id"], rule["description"], match["message"], match["context"]["text"]):
        assert type(value) is str
        assert value
    for value in (match["shortMessage"], rule["issueType"], *rule["category"].values()):
        assert type(value) is str
    assert all(type(one["value"]) is str and one["value"] for one in match["replacements"])


def rust(match: Json) -> None:
    """Require what languagetool-rust's structures require, with its unstable features."""
    assert min(match["offset"], match["context"]["offset"]) >= 0
    assert min(match["length"], match["context"]["length"]) > 0
    assert type(match["contextForSureMatch"]) is int
    assert type(match["ignoreForIncompleteSentence"]) is bool
    assert type(match["sentence"]) is str
    assert match["sentence"]
    assert type(match["type"]["typeName"]) is str
    assert set(match["rule"]["category"]) == {"id", "name"}


# ------------------------------------------------------------------------------------ one by one


def test_ltex_gets_no_replacement_of_its_dummies(server: Server, corrector: WebCorrector) -> None:
    found = check(server, recorded.LTEX)
    (protected,) = corrector.asked[-1].protected
    assert protected[1] - protected[0] == len("Dummy0")
    assert found["matches"][1]["sentence"] == "I have dog Dummy0."
    assert found["language"]["detectedLanguage"]["code"] == "en-US"


def test_picky_is_what_the_writer_chose(server: Server, corrector: WebCorrector) -> None:
    """The add-on always sends level=picky; ltex and Obsidian do if their users ask for it."""
    chosen = {}
    for name in ("LTEX", "LTEX_PICKY", "OBSIDIAN", "OBSIDIAN_WRENGER", "ADD_ON", "RUST"):
        check(server, getattr(recorded, name))
        chosen[name] = corrector.asked[-1].setting
    assert chosen == {
        "LTEX": None,
        "LTEX_PICKY": "thorough",
        "OBSIDIAN": None,
        "OBSIDIAN_WRENGER": "thorough",
        "ADD_ON": None,
        "RUST": None,
    }


def test_libreoffice_reads_the_category_for_its_colours(server: Server) -> None:
    for match in check(server, recorded.LIBREOFFICE)["matches"]:
        assert match["rule"]["category"]["id"] == "GRAMMAR"
        assert match["message"]
        assert "shortMessage" in match


def test_libreoffice_is_told_what_it_cannot_have(server: Server) -> None:
    status, headers, body = send(server, recorded.LIBREOFFICE_GERMAN)
    assert (status, headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert body.startswith("Error: 'de-DE' is not a language of this server; it has en, en-US")
    status, _, body = send(server, recorded.LIBREOFFICE_DUDEN)
    assert (status, body.count("\n")) == (400, 0)
    assert "must be a form" in body


def test_the_extension_learns_limits_and_rules_by_post(server: Server) -> None:
    found = json.loads(send(server, recorded.EXTENSION_CONFIGINFO)[2])
    assert type(found["parameter"]["maxTextLength"]) is int
    assert len(found["rules"]) == len(MESSAGES)
    for rule in found["rules"]:
        assert all(type(value) is str for value in rule.values())
        assert {"ruleId", "description", "categoryId", "categoryName"} < set(rule)
        # the extension takes no other names; it would then not use the server at all
        assert rule["locQualityIssueType"] in ("misspelling", "typographical", "grammar")
    (spelling,) = (rule for rule in found["rules"] if "isDictionaryBasedSpellingRule" in rule)
    assert spelling["ruleId"] == "GEC_R_SPELL_SPELLER_RULE"
    status, _, body = send(server, recorded.EXTENSION_MAXTEXTLENGTH)
    assert (status, int(body)) == (200, 100_000)


def test_rules_of_whole_texts_find_nothing(server: Server) -> None:
    for request in (recorded.EXTENSION_PARAGRAPH, recorded.ADD_ON_TEXT_LEVEL):
        found = check(server, request)
        assert found["matches"] == []
        assert len(found["sentenceRanges"]) == 2


def test_omegat_reads_the_version_of_the_api(server: Server) -> None:
    assert check(server, recorded.OMEGAT)["software"]["apiVersion"] == 1


def test_the_add_on_names_variants_in_order(server: Server) -> None:
    language = check(server, recorded.ADD_ON)["language"]
    assert language["code"] == language["detectedLanguage"]["code"] == "en-GB"
    assert check(server, recorded.ADD_ON_2018)["language"]["code"] == "en-US"


def test_the_add_on_leaves_german_alone(server: Server) -> None:
    found = check(server, recorded.ADD_ON_GERMAN)
    assert found["matches"] == []
    assert found["language"]["code"] == found["language"]["detectedLanguage"]["code"] == "zz"
    assert found["language"]["detectedLanguage"]["confidence"] > 0.5


def test_the_add_on_may_read_the_answer_and_the_errors(server: Server) -> None:
    status, headers, body = send(server, recorded.PREFLIGHT)
    assert (status, body) == (204, "")
    assert headers["access-control-allow-origin"] == recorded.FIREFOX
    assert "POST" in headers["access-control-allow-methods"]
    assert "content-type" in headers["access-control-allow-headers"].lower()
    assert headers["access-control-allow-private-network"] == "true"
    for request in (recorded.ADD_ON, recorded.ADD_ON.replace(b"level=picky", b"level=wrong")):
        assert send(server, request)[1]["access-control-allow-origin"] == recorded.CHROME
    stranger = recorded.PREFLIGHT.replace(recorded.FIREFOX.encode(), b"https://other.example")
    assert not [name for name in send(server, stranger)[1] if name.startswith("access-control")]


def test_langtool_reads_until_the_server_closes(server: Server) -> None:
    """It closes its half of the connection after the request, and waits for the other half."""
    parts = urlsplit(server.address)
    with closing(socket.create_connection((parts.hostname, parts.port), timeout=300)) as wire:
        wire.sendall(recorded.LANGTOOL)
        wire.shutdown(socket.SHUT_WR)
        data = b""
        while part := wire.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"\r\nContent-Type: application/json\r\n" in head  # it takes no other spelling
    found = json.loads(body)
    assert pairs(TEXT, found) == EVERY
    assert all(match["shortMessage"] for match in found["matches"])


def test_emacs_asks_for_languages_first(server: Server) -> None:
    status, headers, body = send(server, recorded.EMACS_LANGUAGES)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert {"en", "en-US", "en-GB"} < {language["longCode"] for language in json.loads(body)}


def test_spelling_is_also_called_what_languagetool_calls_it() -> None:
    """flymake-languagetool leaves spelling to others unless told otherwise."""
    rules = "HUNSPELL_RULE,MORFOLOGIK_RULE_EN,MORFOLOGIK_RULE_EN_GB,MORFOLOGIK_RULE_EN_US"
    assert rules.replace(",", "%2C")[:50] == recorded.FLYMAKE_RULES[:50]

    def wanted(language: str, **more: str) -> list[bool]:
        asked = read_check({"text": "a", "language": language, **more}, Config())
        return [asked.wants("R:SPELL"), asked.wants("R:VERB")]

    assert wanted("en-US", disabledRules=rules) == [False, True]
    assert wanted("en", disabledRules=rules) == [False, True]
    assert wanted("en-AU", disabledRules=rules) == [True, True]  # as in LanguageTool
    assert wanted("en-GB", enabledRules="MORFOLOGIK_RULE_EN_GB", enabledOnly="yes") == [True, False]
    assert wanted("en-GB", disabledRules="GEC_R_SPELL_SPELLER_RULE") == [False, True]
    assert wanted("en-GB", disabledRules="EN_QUOTES,WHITESPACE_RULE") == [True, True]


@pytest.mark.parametrize(
    ("chosen", "spelling", "verbs"),
    [
        ("disabledCategories=GRAMMAR enabledRules=GEC_R_VERB", True, True),
        ("disabledCategories=GRAMMAR,TYPOS enabledCategories=GRAMMAR", False, True),
        ("disabledRules=GEC_R_VERB enabledCategories=GRAMMAR", True, False),
        ("disabledRules=GEC_R_VERB enabledRules=GEC_R_VERB", True, True),
        ("enabledOnly=true enabledRules=GEC_R_VERB enabledCategories=TYPOS", True, True),
        ("enabledOnly=true enabledCategories=TYPOS,STYLE", True, False),
        ("enabledOnly=false enabledCategories=STYLE", True, True),
        ("enabledCategories=, disabledRules=,,", True, True),
    ],
)
def test_rules_and_categories_that_contradict(chosen: str, spelling: bool, verbs: bool) -> None:
    more = dict(part.split("=") for part in chosen.split())
    asked = read_check({"text": "a", "language": "en-US", **more}, Config())
    assert [asked.wants("R:SPELL"), asked.wants("R:VERB")] == [spelling, verbs]


def test_texstudio_finds_the_context_in_its_text(server: Server) -> None:
    """It takes the offset of the context if the text contains it, and matches' offsets if not."""
    for match in check(server, recorded.TEXSTUDIO)["matches"]:
        shown = match["context"]
        at = TEXT.replace("\n", " ").index(shown["text"])
        assert at == 0
        assert shown["offset"] == match["offset"]
    status, _, body = send(server, recorded.TEXSTUDIO.replace(b"=en-GB", b"=de-DE"))
    assert status == 400
    assert body.startswith("Error:")  # or it would show nothing at all


def test_rust_reads_languages_and_is_refused_words(server: Server) -> None:
    for language in json.loads(send(server, recorded.RUST_LANGUAGES)[2]):
        assert [type(language[name]) for name in ("name", "code", "longCode")] == [str] * 3
    for request in (recorded.RUST_WORDS, recorded.OBSIDIAN_WORDS):
        status, _, body = send(server, request)
        assert (status, body) == (
            403,
            "Error: this server keeps no dictionaries: it has no accounts",
        )
    assert send(server, recorded.RUST_PING)[0] == 404  # it takes any answer for a living server
    language = check(server, recorded.RUST)["language"]
    assert {"code", "name", "detectedLanguage"} <= set(language)
    assert {"apiVersion", "buildDate", "name", "premium", "status", "version"} <= set(
        check(server, recorded.RUST)["software"]
    )


def test_head_answers_as_get_does_without_a_body(server: Server) -> None:
    assert send(server, recorded.VSCODE_PING)[0] == 400  # no text, as in LanguageTool
    for path in ("languages", "info", "maxtextlength", "healthcheck", "configinfo?language=en"):
        request = recorded.VSCODE_PING.replace(b"check", path.encode())
        status, headers, body = send(server, request)
        assert (status, body) == (200, ""), path
        assert int(headers["content-length"]) > 0


# ------------------------------------------------------------------------------- what may be sent


@pytest.mark.parametrize(
    "kind",
    ["application/x-www-form-urlencoded", "application/json", "text/json", "text/plain", "a/b", ""],
)
def test_the_body_is_a_form_whatever_its_type(client: Make, kind: str) -> None:
    body = "text=We+go%3B+%26+%F0%9F%98%80+I+have+dog.&language=en-US&disabledRules="
    answer = client(token="0123456789abcdef").post(
        "/v2/check", data=f"{body}&apiKey=0123456789abcdef", content_type=kind
    )
    assert answer.status_code == 200, answer.text
    assert pairs("We go; & 😀 I have dog.", answer.get_json()) == EVERY


@pytest.mark.parametrize(
    ("path", "status"),
    [("//v2/check", 403), ("/v2//check", 403), ("///v2///words", 403), ("//api/v1//settings", 401)],
)
def test_more_slashes_need_the_token_too(client: Make, path: str, status: int) -> None:
    ours = client(token="0123456789abcdef")
    assert ours.get("/?text=a", environ_overrides={"PATH_INFO": path}).status_code == status


def test_forms_of_several_parts(client: Make) -> None:
    data = {"text": TEXT, "language": "en-US"}
    answer = client().post("/v2/check", data=data, content_type="multipart/form-data")
    assert pairs(TEXT, answer.get_json()) == EVERY
    other = b"language=en&text=go"  # some give the type to the usual form
    answer = client().post("/v2/check", data=other, content_type="multipart/form-data")
    assert len(answer.get_json()["matches"]) == 1


def test_the_query_overrides_the_body(client: Make) -> None:
    answer = client().post("/v2/check?language=en-GB", data=b"language=en-AU&text=a&language=en-US")
    assert answer.get_json()["language"]["code"] == "en-GB"
    twice = client().post("/v2/check", data=b"language=en-AU&text=a&language=en-US")
    assert twice.get_json()["language"]["code"] == "en-US"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "one of 'text' and 'data' must be given"),
        (b"\0", "one of 'text' and 'data' must be given"),
        (b"We go.", "one of 'text' and 'data' must be given"),
        (b'{"text": "We go.", "language": "en-US"}', "must be a form"),
        (b"&" * 2000, "more than 1000 parameters"),
        (b"text=a&language=en&motherTongue=de&preferredVariants=en-GB", "needs 'language=auto'"),
        (b"text=a&language=en-UK", "'en-UK' is not a language of this server"),
        (b"text=a&language=zz", "'zz' is not a language of this server"),
        (b"text=a", "'language' is missing"),
    ],
)
def test_what_is_refused_is_refused_in_one_line(client: Make, body: bytes, message: str) -> None:
    answer = client().post("/v2/check", data=body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.mimetype == "text/plain"
    assert answer.text.startswith("Error: ")
    assert message in answer.text
    assert "\n" not in answer.text


@pytest.mark.parametrize(
    "data",
    ["", '{"text": ""}', '{"annotation": []}', '{"annotation": [{"markup": "<p>"}]}', "text"],
)
def test_texts_without_text(client: Make, data: str) -> None:
    form = {"data": data} if data[:1] == "{" else {"text": "\n\n" if data else ""}
    for language in ("en-US", "auto"):
        answer = client().post("/v2/check", data={**form, "language": language})
        assert answer.status_code == 200, answer.text
        found = answer.get_json()
        assert (found["matches"], found["sentenceRanges"]) == ([], [])
        assert found["language"]["code"] == "en-US"


def test_half_a_surrogate_pair_counts_as_one(client: Make) -> None:
    """A client that cuts its text in the middle of a pair may send half of one in JSON."""
    text = "We go \ud83d far. I have dog."
    answer = client().post("/v2/check", data={"data": json.dumps({"text": text}), "language": "en"})
    assert answer.status_code == 200
    assert pairs(text, answer.get_json()) == EVERY
    assert client().post("/v2/check", data=b"language=en&text=a%ED%A0%BD+go").status_code == 200


def test_variants_in_order_with_several_of_one_language(client: Make) -> None:
    def variant(names: str, **more: str) -> str:
        form = {"text": "We go", "language": "auto", "preferredVariants": names, **more}
        code: str = client().post("/v2/check", data=form).get_json()["language"]["code"]
        return code

    assert variant("de-DE,en-GB,en-US") == "en-GB"
    assert variant("en-US,en-GB") == "en-US"
    assert variant("ca-ES-valencia, pt-BR") == "en-US"
    assert variant("en-GB", language="en-AU", multilingual="true") == "en-AU"


def test_a_text_at_the_limit_and_above(client: Make) -> None:
    ours = client(max_text=10)
    path = f"/v2/check?language=en&text={quote('😀' * 10)}"
    assert ours.get(path).status_code == 200
    for answer in (ours.get(path + "a"), ours.post(path + "a", data=b"")):
        assert answer.status_code == 413
        assert "text exceeds the limit of 10 characters (it's 11 characters)" in answer.text
    markup = json.dumps({"annotation": [{"markup": "<p>" * 50}, {"text": "We go"}]})
    found = ours.post("/v2/check", data={"data": markup, "language": "en"}).get_json()
    assert [(one["offset"], one["length"]) for one in found["matches"]] == [(153, 2)]


def test_markup_between_the_words_of_a_match(client: Make) -> None:
    pieces = [
        {"text": "I have"}, {"markup": "<i>", "interpretAs": " "}, {"text": "dog"},
        {"markup": "&nbsp;", "interpretAs": "\u00a0"}, {"text": "and we go."},
    ]  # fmt: skip
    data = json.dumps({"annotation": pieces})
    found = client().post("/v2/check", data={"data": data, "language": "en"}).get_json()
    full = "I have<i>dog&nbsp;and we go."
    assert pairs(full, found) == EVERY[::-1]
