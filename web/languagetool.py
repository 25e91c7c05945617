"""The LanguageTool HTTP API, version 2, so that its clients work with this server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, g, jsonify, request
from flask.typing import ResponseReturnValue

from gec import __version__
from gec.edits.messages import MESSAGES
from gec.text.lines import Positions
from gec.web.annotated import Annotated, parse
from gec.web.calls import Call, Engine
from gec.web.config import Config
from gec.web.forms import parameters
from gec.web.language import foreign
from gec.web.matches import category_of, matches, rule_id
from gec.web.problems import Problem
from gec.web.schemas import LANGUAGES, LEVELS, MODES

if TYPE_CHECKING:
    from gec.correct.options import Options
    from gec.correct.result import Correction
    from gec.text.segmentation import Sentence

OLD_NAMES = {
    "enabled": "enabledRules",
    "disabled": "disabledRules",
    "preferredvariants": "preferredVariants",
    "autodetect": "language=auto",
}
ALWAYS_PICKY = ("webextension", "standalone")
"""How ``useragent`` begins in clients that send level=picky whatever the writer wants.

They are LanguageTool's browser add-on and its editor on the web.
"""
NO_LANGUAGE = {"name": "NoopLanguage", "code": "zz"}
"""LanguageTool's code for text in a language without rules."""
_SOFTWARE = {
    "name": "gec",
    "version": __version__,
    "buildDate": "",
    "apiVersion": 1,
    "premium": False,
    "status": "",
}


@dataclass(frozen=True, slots=True)
class Check:
    """The parameters of a check."""

    text: Annotated
    language: str
    detect: bool
    picky: bool
    text_level_only: bool
    incomplete: bool
    enabled_only: bool
    enabled_rules: frozenset[str]
    disabled_rules: frozenset[str]
    enabled_categories: frozenset[str]
    disabled_categories: frozenset[str]

    def wants(self, type: str) -> bool:
        """Whether the client has left on the rule of an error type.

        As in LanguageTool, a rule overrides its category, and what is enabled overrides what is
        disabled.
        """
        names = {rule_id(type)}
        if type == "R:SPELL":  # clients that leave spelling to others name LanguageTool's rule
            names.add(f"MORFOLOGIK_RULE_{self.language.upper().replace('-', '_')}")
        category = category_of(type)[1]
        if names & self.enabled_rules:
            return True
        if self.enabled_only:
            return category in self.enabled_categories
        if names & self.disabled_rules:
            return False
        return category in self.enabled_categories or category not in self.disabled_categories


def blueprint(config: Config, engine: Engine) -> Blueprint:
    """Return the routes under /v2."""
    api = Blueprint("languagetool", __name__, url_prefix="/v2")

    @api.route("/check", methods=["GET", "POST"])
    def check() -> ResponseReturnValue:
        asked = read_check(parameters(), config)
        picky = asked.picky and config.picky in engine.corrector.settings
        setting = config.picky if picky else None
        options = engine.options({"setting": setting}, asked.text.protected())
        client = request.remote_addr or ""
        with _in_time(config.timeout), engine.call(g.began, client) as call:
            g.call = call
            other = foreign(asked.text.plain, engine.corrector.knows)
            # the model checks English sentences only, and nothing beyond a sentence
            if asked.text_level_only or (asked.detect and other):
                return jsonify(_empty(asked, other, call.sentences(asked.text.plain)))
            parts, complete = _parts(call, asked, options)
            return jsonify(_answer(asked, other, parts, complete))

    @api.get("/languages")
    def languages() -> ResponseReturnValue:
        return jsonify(
            [{"name": name, "code": code[:2], "longCode": code} for code, name in LANGUAGES.items()]
        )

    @api.get("/healthcheck")
    def healthcheck() -> ResponseReturnValue:
        reason = engine.not_ready()
        if reason:
            raise Problem(503, "not_ready", reason, retry_after=5)
        return _plain("OK")

    @api.route("/maxtextlength", methods=["GET", "POST"])
    def maxtextlength() -> ResponseReturnValue:
        return _plain(str(config.max_text))

    @api.get("/info")
    def info() -> ResponseReturnValue:
        names = ("name", "version", "buildDate", "premium")
        return jsonify({"software": {name: _SOFTWARE[name] for name in names}})

    @api.route("/configinfo", methods=["GET", "POST"])
    def configinfo() -> ResponseReturnValue:
        _language(parameters().get("language"))
        rules = [_rule(type) for type in MESSAGES]
        limits = {"maxTextLength": config.max_text}
        return jsonify({"software": _SOFTWARE, "parameter": limits, "rules": rules})

    @api.route("/words", methods=["GET"])
    @api.route("/words/add", methods=["POST"])
    @api.route("/words/delete", methods=["POST"])
    def words() -> ResponseReturnValue:
        raise Problem(403, "no_accounts", "this server keeps no dictionaries: it has no accounts")

    return api


def _plain(text: str) -> Response:
    return Response(text, content_type="text/plain; charset=utf-8")


# ------------------------------------------------------------------------------------ parameters


def read_check(values: Mapping[str, str], config: Config) -> Check:
    """Return the parameters of /v2/check.

    Raises:
        Problem: 400, a parameter is missing or wrong; 413, the text is too long.
    """
    for old, new in OLD_NAMES.items():
        if old in values:
            raise _bad(f"the parameter '{old}' is now called '{new}'")
    text = _text(values)
    _check_length(text, config)
    detect = values.get("language") == "auto"
    language = "en-US" if detect else _language(values.get("language"))
    variants = _names(values, "preferredVariants")
    if variants and not detect and values.get("multilingual", "false") == "false":
        raise _bad("'preferredVariants' needs 'language=auto'")
    if any("-" not in variant for variant in variants):
        raise _bad("'preferredVariants' takes codes with a dash, such as en-GB")
    enabled_rules, enabled_categories, disabled_rules, disabled_categories = (
        frozenset(_names(values, name))
        for name in ("enabledRules", "enabledCategories", "disabledRules", "disabledCategories")
    )
    only = _flag(values, "enabledOnly")
    nothing_on = not (enabled_rules or enabled_categories)
    if only and (nothing_on or disabled_rules or disabled_categories):
        raise _bad("'enabledOnly' needs enabled rules or categories, and no disabled ones")
    mode = _choice(values, "mode", MODES)
    return Check(
        text=text,
        language=_variant(variants) or language if detect else language,
        detect=detect,
        picky=_picky(values),
        text_level_only=mode == "textLevelOnly",
        incomplete=_flag(values, "allowIncompleteResults"),
        enabled_only=only,
        enabled_rules=enabled_rules,
        disabled_rules=disabled_rules,
        enabled_categories=enabled_categories,
        disabled_categories=disabled_categories,
    )


def _text(values: Mapping[str, str]) -> Annotated:
    if ("text" in values) == ("data" in values):
        both = "text" in values
        raise _bad(f"{'only one' if both else 'one'} of 'text' and 'data' must be given")
    return Annotated([(values["text"], None)]) if "text" in values else parse(values["data"])


def _check_length(text: Annotated, config: Config) -> None:
    length, limit = len(text.plain), config.max_text
    if length > limit:
        raise Problem(
            413,
            "text_too_long",
            f"Your text exceeds the limit of {limit} characters (it's {length} characters). "
            "Please submit a shorter text.",
        )


def _known(code: str) -> str | None:
    return next((known for known in LANGUAGES if known.lower() == code.lower()), None)


def _variant(codes: list[str]) -> str | None:
    return next((known for known in map(_known, codes) if known), None)


def _language(code: str | None) -> str:
    if not code:
        raise _bad("the parameter 'language' is missing")
    found = _known(code)
    if found is None:
        raise _bad(
            f"'{code[:20]}' is not a language of this server; it has {', '.join(LANGUAGES)}, auto"
        )
    return found


def _names(values: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in values.get(name, "").split(",") if part.strip()]


def _flag(values: Mapping[str, str], name: str) -> bool:
    return values.get(name, "").lower() in ("true", "yes")


def _picky(values: Mapping[str, str]) -> bool:
    """Whether the writer has asked for more than the usual corrections."""
    level = _choice(values, "level", LEVELS)
    return level == "picky" and not values.get("useragent", "").startswith(ALWAYS_PICKY)


def _choice(values: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    value = values.get(name) or known[0]
    if value not in known:
        raise _bad(f"'{name}' must be one of {', '.join(known)}")
    return value


def _bad(message: str) -> Problem:
    return Problem(400, "invalid_request", message)


# --------------------------------------------------------------------------------------- answers


def _parts(call: Call, asked: Check, options: Options) -> tuple[list[Correction], bool]:
    """Return the corrected parts of the text, and whether the text is complete."""
    if not asked.incomplete:
        return call.correct([asked.text.plain], options), True
    parts: list[Correction] = []
    try:
        for part in call.stream(asked.text.plain, options):
            parts.append(part)
    except Problem as problem:
        if problem.status != 504:
            raise
        return parts, False
    return parts, True


@contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Turn the end of the time into LanguageTool's error for it: 500 and its message."""
    try:
        yield
    except Problem as problem:
        if problem.status != 504:
            raise
        text = f"Checking took longer than {seconds:g} seconds"
        raise Problem(500, "timeout", text) from None


def _answer(asked: Check, other: float, parts: list[Correction], complete: bool) -> dict[str, Any]:
    text = asked.text
    sentences = [sentence for part in parts for sentence in part.sentences]
    edits = [edit for part in parts for edit in part.edits if asked.wants(edit.type)]
    words = sum(len(sentence.source) for sentence in sentences)
    english = sum(len(sentence.source) for sentence in sentences if sentence.trace)
    positions = Positions(text.full)
    ranges = [
        tuple(map(positions.utf16, text.span(sentence.start, sentence.end)))
        for sentence in sentences
    ]
    rates = [float(sentence.trace is not None) for sentence in sentences]
    return {
        "software": _SOFTWARE,
        "warnings": _warnings(complete),
        "language": _language_of(asked, other, english / words if words else 1.0),
        "matches": list(matches(text, edits, sentences)),
        "sentenceRanges": ranges,
        "extendedSentenceRanges": [
            {
                "from": start,
                "to": end,
                "detectedLanguages": [{"language": "en", "rate": rate}],
            }
            for (start, end), rate in zip(ranges, rates, strict=True)
        ],
    }


def _empty(asked: Check, other: float, sentences: list[Sentence]) -> dict[str, Any]:
    """Return the answer without matches, for another language or for rules of whole texts only."""
    positions = Positions(asked.text.full)
    spans = (asked.text.span(sentence.start, sentence.end) for sentence in sentences)
    return {
        "software": _SOFTWARE,
        "warnings": _warnings(True),
        "language": _language_of(asked, other, 1.0),
        "matches": [],
        "sentenceRanges": [tuple(map(positions.utf16, span)) for span in spans],
    }


def _warnings(complete: bool) -> dict[str, Any]:
    if complete:
        return {"incompleteResults": False}
    return {"incompleteResults": True, "incompleteResultsReason": "the time was up"}


def _language_of(asked: Check, other: float, english: float) -> dict[str, Any]:
    """Return the language that was asked for and the language that was detected.

    ``other`` is the confidence that the text is not English, ``english`` the share of its words
    in English sentences.
    """
    english_variant = {"name": LANGUAGES[asked.language], "code": asked.language}
    found: dict[str, Any] = dict(NO_LANGUAGE if other else english_variant)
    language = found if asked.detect else english_variant
    detected = {**found, "confidence": round(other or english, 3), "source": "gec"}
    return {**language, "detectedLanguage": detected}


def _rule(type: str) -> dict[str, str]:
    issue, category, name = category_of(type)
    spelling = {"isDictionaryBasedSpellingRule": "yes"} if type == "R:SPELL" else {}
    return {
        "ruleId": rule_id(type),
        "description": MESSAGES[type].short,
        **spelling,
        "categoryId": category,
        "categoryName": name,
        "locQualityIssueType": issue,
    }
