"""gec.web.languagetool: the protocol of LanguageTool's clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fake_web import WebCorrector
from flask.testing import FlaskClient

Make = Callable[..., FlaskClient]


def check(client: FlaskClient, **parameters: str) -> dict[str, Any]:
    answer = client.post("/v2/check", data={"language": "en-US", **parameters})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    found: dict[str, Any] = answer.get_json()
    return found


def corrected(text: str, matches: list[dict[str, Any]]) -> str:
    """Make the first replacement of each match, in UTF-16 code units."""
    units = text.encode("utf-16-le")
    for match in reversed(matches):
        start, end = 2 * match["offset"], 2 * (match["offset"] + match["length"])
        value = match["replacements"][0]["value"].encode("utf-16-le")
        units = units[:start] + value + units[end:]
    return units.decode("utf-16-le")


def refusal(answer: Any, status: int) -> str:
    assert answer.status_code == status
    assert answer.mimetype == "text/plain"
    assert answer.text.startswith("Error: ")
    text: str = answer.text.removeprefix("Error: ")
    return text


TEXT = "😀 We go.\nI have dog, much very big 😀.\nFine."


def test_a_check(client: Make) -> None:
    found = check(client(), text=TEXT)
    assert list(found) == [
        "software", "warnings", "language", "matches", "sentenceRanges", "extendedSentenceRanges"
    ]  # fmt: skip
    assert found["software"]["apiVersion"] == 1
    assert found["software"]["version"]
    assert found["warnings"] == {"incompleteResults": False}
    assert found["language"] == {
        "name": "English (US)",
        "code": "en-US",
        "detectedLanguage": {
            "name": "English (US)", "code": "en-US", "confidence": 1.0, "source": "gec",
        },
    }  # fmt: skip
    assert len(found["matches"]) == 3
    assert all(match["length"] > 0 for match in found["matches"])
    assert corrected(TEXT, found["matches"]) == "😀 We goes.\nI have a dog, very big 😀.\nFine."
    assert found["matches"][1]["sentence"] == "I have dog, much very big 😀."
    assert found["sentenceRanges"] == [[0, 9], [10, 39], [40, 45]]
    first = found["extendedSentenceRanges"][0]
    assert first == {"from": 0, "to": 9, "detectedLanguages": [{"language": "en", "rate": 1.0}]}


def test_get_and_post_and_both(client: Make) -> None:
    ours = client()
    query = {"text": TEXT, "language": "en-US"}
    expected = check(ours, text=TEXT)
    assert ours.get("/v2/check", query_string=query).json == expected
    assert ours.post("/v2/check", query_string=query).json == expected
    mixed = ours.post("/v2/check", query_string={"language": "en-US"}, data={"text": TEXT})
    assert mixed.json == expected
    assert check(ours, data=json.dumps({"text": TEXT})) == expected


def test_markup(client: Make, corrector: WebCorrector) -> None:
    pieces = [
        {"markup": "<p>", "interpretAs": "\n"},
        {"text": "😀 We "},
        {"markup": "<b>"},
        {"text": "go"},
        {"markup": "</b>"},
        {"text": " and have dog."},
        {"markup": "$go$", "interpretAs": "go"},
    ]
    found = check(client(), data=json.dumps({"annotation": pieces}))
    full = "".join(piece.get("text") or piece["markup"] for piece in pieces)
    assert corrected(full, found["matches"]) == "<p>😀 We <b>goes</b> and have a dog.$go$"
    assert corrector.asked[-1].protected == ((22, 24),)


def test_long_texts(client: Make) -> None:
    line = "😀 They go to town, and that is all there is to say 💚.\n"
    text = (line * (20_000 // len(line) + 1))[:20_000]
    found = check(client(), text=text)
    assert len(found["matches"]) == text.count(" go ")
    assert corrected(text, found["matches"]) == text.replace(" go ", " goes ")
    data = json.dumps(
        {"annotation": [{"text": text[:9000]}, {"markup": "<hr>"}, {"text": text[9000:]}]}
    )
    assert len(check(client(), data=data)["matches"]) == len(found["matches"])


def test_rules_can_be_chosen(client: Make) -> None:
    ours = client()

    def ids(**parameters: str) -> list[str]:
        return [match["rule"]["id"] for match in check(ours, text=TEXT, **parameters)["matches"]]

    every = ["GEC_R_VERB_SVA", "GEC_M_DET", "GEC_U_ADV"]
    assert ids() == ids(enabledRules="", disabledRules="", enabledCategories="") == every
    assert ids(disabledRules="GEC_M_DET, GEC_U_ADV") == every[:1]
    assert ids(disabledCategories="GRAMMAR") == []
    assert ids(enabledRules="GEC_M_DET") == every
    assert ids(enabledRules="GEC_M_DET", enabledOnly="true") == ["GEC_M_DET"]
    assert ids(enabledCategories="GRAMMAR", enabledOnly="yes") == every
    assert ids(enabledCategories="TYPOS", enabledOnly="yes") == []


def test_the_add_ons_two_requests(client: Make, corrector: WebCorrector) -> None:
    ours = client()
    rest = {"language": "auto", "preferredVariants": "en-GB,de-DE", "text": TEXT}
    assert check(ours, mode="textLevelOnly", **rest)["matches"] == []
    assert not corrector.model.batches
    found = check(ours, mode="allButTextLevelOnly", **rest)
    assert len(found["matches"]) == 3
    assert found["language"]["code"] == "en-GB"


def test_the_first_variant_that_is_known_counts(client: Make) -> None:
    ours = client()

    def variant(names: str) -> str:
        found = check(ours, text="We go", language="auto", preferredVariants=names)
        code: str = found["language"]["code"]
        return code

    assert variant("en-GB,en-AU") == "en-GB"
    assert variant("en-AU,en-GB") == "en-AU"
    assert variant("de-DE, pt-BR, en-ZA, en-AU") == "en-ZA"
    assert variant("de-DE") == variant("") == "en-US"


FRENCH = "Nous go à l'école demain matin parce que le chat est dans le jardin."


def test_what_is_not_english_has_no_matches(client: Make, corrector: WebCorrector) -> None:
    ours = client()
    found = check(ours, text=FRENCH, language="auto", preferredVariants="en-GB")
    assert found["matches"] == []
    assert not corrector.model.batches
    detected = found["language"].pop("detectedLanguage")
    assert 0.9 < detected.pop("confidence") <= 1
    assert detected == {"name": "NoopLanguage", "code": "zz", "source": "gec"}
    assert found["language"] == {"name": "NoopLanguage", "code": "zz"}
    assert found["sentenceRanges"] == [[0, len(FRENCH)]]
    for text in ("We go to school and they go, too.", "milk, bread, eggs, cheese, apples"):
        found = check(ours, text=text, language="auto")
        assert found["language"]["code"] == "en-US"
        assert found["language"]["detectedLanguage"]["code"] == "en-US"
        assert len(found["matches"]) == text.count("go")


def test_a_language_that_is_named_counts(client: Make) -> None:
    found = check(client(), text=FRENCH, language="en-GB")
    assert found["language"]["code"] == "en-GB"
    assert found["language"]["detectedLanguage"]["code"] == "zz"
    assert len(found["matches"]) == 1  # a corrector without a network takes everything for English


def test_picky_may_be_another_setting(client: Make, corrector: WebCorrector) -> None:
    ours = client(picky="balanced")
    check(ours, text="a", level="picky")
    assert corrector.asked[-1].setting == "balanced"


def test_picky_is_thorough(client: Make, corrector: WebCorrector) -> None:
    ours = client()
    check(ours, text="a", level="picky")
    assert corrector.asked[-1].setting == "thorough"
    check(ours, text="a", level="default")
    assert corrector.asked[-1].setting is None


def test_what_is_ignored_does_no_harm(client: Make) -> None:
    rest = dict.fromkeys(
        "motherTongue noopLanguages preferredLanguages altLanguages username apiKey dicts "
        "useragent textSessionId inputLogging c callback enableTempOffRules "
        "enableHiddenRules".split(),
        "x",
    )
    assert len(check(client(), text=TEXT, **rest)["matches"]) == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "'text' and 'data'"),
        ({"text": "a", "data": "{}"}, "only one of"),
        ({"data": "{"}, "'data' is not JSON"),
        ({"text": "a", "language": ""}, "'language' is missing"),
        ({"text": "a", "language": "xx"}, "'xx' is not a language"),
        ({"text": "a", "preferredVariants": "en-GB"}, "language=auto"),
        ({"text": "a", "language": "auto", "preferredVariants": "en"}, "dash"),
        ({"text": "a", "enabledOnly": "true"}, "enabledOnly"),
        ({"text": "a", "enabledOnly": "yes", "enabledRules": "A", "disabledRules": "B"}, "no dis"),
        ({"text": "a", "mode": "fast"}, "'mode' must be"),
        ({"text": "a", "level": "high"}, "'level' must be"),
        ({"text": "a", "enabled": "A"}, "'enabledRules'"),
        ({"text": "a", "disabled": "A"}, "'disabledRules'"),
        ({"text": "a", "autodetect": "1"}, "language=auto"),
        ({"text": "a", "preferredvariants": "en-GB"}, "'preferredVariants'"),
    ],
)
def test_bad_parameters(client: Make, parameters: dict[str, str], message: str) -> None:
    answer = client().post("/v2/check", data={"language": "en-US", **parameters})
    assert message in refusal(answer, 400)


def test_limits_have_the_words_that_clients_know(client: Make) -> None:
    ours = client(max_text=10, max_body=2048)
    answer = ours.post("/v2/check", data={"language": "en", "text": "a" * 11})
    assert "text exceeds the limit of 10 characters (it's 11 characters)" in refusal(answer, 413)
    answer = ours.post("/v2/check", data={"language": "en", "text": "a" * 2048})
    assert "Request size limit of" in refusal(answer, 413)
    assert ours.get("/v2/maxtextlength").text == "10"


def test_bodies_above_flasks_own_limit(client: Make) -> None:
    text = "😀 " * 50_000  # 650 kB as a form
    found = check(client(), text=text)
    assert found["matches"] == []


def test_time_is_up(client: Make) -> None:
    ours = client(timeout=0.1)
    answer = ours.post("/v2/check", data={"language": "en", "text": "We go\nWAIT"})
    assert "took longer than 0.1 seconds" in refusal(answer, 500)
    found = check(client(timeout=0.1), text="We go\nWAIT", allowIncompleteResults="true")
    assert found["warnings"]["incompleteResults"] is True
    assert found["warnings"]["incompleteResultsReason"]
    assert len(found["matches"]) == 1


def test_a_decode_that_raises(client: Make) -> None:
    answer = client().post("/v2/check", data={"language": "en", "text": "RAISE"})
    assert refusal(answer, 500)


def test_the_other_routes(client: Make) -> None:
    ours = client()
    languages = ours.get("/v2/languages").json
    assert {"name": "English (US)", "code": "en", "longCode": "en-US"} in languages
    assert [language["longCode"] for language in languages if "-" not in language["longCode"]] == [
        "en"
    ]
    assert ours.get("/v2/healthcheck").text == "OK"
    assert ours.get("/v2/healthcheck").mimetype == "text/plain"
    assert ours.get("/v2/maxtextlength").text == "100000"
    assert ours.get("/v2/info").json["software"]["name"] == "gec"
    info = ours.get("/v2/configinfo?language=en-US").json
    assert info["parameter"]["maxTextLength"] == 100_000
    assert {"ruleId": "GEC_R_SPELL_SPELLER_RULE", "categoryId": "TYPOS"}.items() <= next(
        rule.items() for rule in info["rules"] if "SPELL" in rule["ruleId"]
    )
    refusal(ours.get("/v2/words"), 403)
    refusal(ours.post("/v2/words/add", data={"word": "a"}), 403)
    refusal(ours.get("/v2/nothing"), 404)
    refusal(ours.post("/v2/nothing/at/all"), 404)
    assert refusal(ours.delete("/v2/check"), 405)


def test_cors_is_as_configured(client: Make) -> None:
    origin = {"Origin": "https://friend.example"}
    query = "/v2/check?text=a&language=en"
    assert "Access-Control-Allow-Origin" not in client().get(query, headers=origin).headers
    allowed = client(cors=("*",)).get(query, headers=origin)
    assert allowed.headers["Access-Control-Allow-Origin"] == "*"
    assert allowed.headers["Content-Type"] == "application/json"
