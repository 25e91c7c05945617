"""The LanguageTool HTTP API, version 2, so that its clients work with this server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, g, jsonify, request
from flask.typing import ResponseReturnValue

from gec import __version__
from gec.formats import Positions
from gec.messages import MESSAGES
from gec.text.segmentation import segment
from gec.web.annotated import Annotated, parse
from gec.web.calls import Call, Engine
from gec.web.config import Config
from gec.web.matches import category_of, matches, rule_id
from gec.web.problems import Problem
from gec.web.schemas import LANGUAGES, LEVELS, MODES

if TYPE_CHECKING:
    from gec.corrector import Correction, Options

OLD_NAMES = {
    "enabled": "enabledRules",
    "disabled": "disabledRules",
    "preferredvariants": "preferredVariants",
    "autodetect": "language=auto",
}
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
    enabled: frozenset[str]
    disabled: frozenset[str]

    def wants(self, type: str) -> bool:
        """Whether rules of this kind are on."""
        names = {rule_id(type), category_of(type)[1]}
        return not names & self.disabled and (not self.enabled_only or bool(names & self.enabled))


def blueprint(config: Config, engine: Engine) -> Blueprint:
    api = Blueprint("languagetool", __name__, url_prefix="/v2")

    @api.route("/check", methods=["GET", "POST"])
    def check() -> ResponseReturnValue:
        asked = read_check({**request.args.to_dict(), **request.form.to_dict()}, config)
        if asked.text_level_only:  # we look at sentences
            return jsonify(_empty(asked))
        setting = "thorough" if asked.picky and "thorough" in engine.corrector.settings else None
        options = engine.options({"setting": setting}, asked.text.protected())
        with engine.call(g.began) as call:
            parts, complete = _parts(call, asked, options, config.timeout)
            return jsonify(_answer(asked, parts, complete))

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

    @api.get("/maxtextlength")
    def maxtextlength() -> ResponseReturnValue:
        return _plain(str(config.max_text))

    @api.get("/info")
    def info() -> ResponseReturnValue:
        names = ("name", "version", "buildDate", "premium")
        return jsonify({"software": {name: _SOFTWARE[name] for name in names}})

    @api.get("/configinfo")
    def configinfo() -> ResponseReturnValue:
        _language(request.args.get("language"))
        rules = [_rule(type) for type in MESSAGES]
        parameters = {"maxTextLength": config.max_text}
        return jsonify({"software": _SOFTWARE, "parameter": parameters, "rules": rules})

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
        Problem: 400, one is missing or wrong; 413, the text is too long.
    """
    for old, new in OLD_NAMES.items():
        if old in values:
            raise _bad(f"the parameter '{old}' is now called '{new}'")
    text = _text(values)
    _check_length(text, config)
    detect = values.get("language") == "auto"
    language = "en-US" if detect else _language(values.get("language"))
    variants = _names(values, "preferredVariants")
    if variants and not detect:
        raise _bad("'preferredVariants' needs 'language=auto'")
    if any("-" not in variant for variant in variants):
        raise _bad("'preferredVariants' takes codes with a dash, such as en-GB")
    enabled = _names(values, "enabledRules") | _names(values, "enabledCategories")
    disabled = _names(values, "disabledRules") | _names(values, "disabledCategories")
    only = _flag(values, "enabledOnly")
    if only and (not enabled or disabled):
        raise _bad("'enabledOnly' needs enabled rules or categories, and no disabled ones")
    mode = _choice(values, "mode", MODES)
    return Check(
        text=text,
        language=next((known for known in map(_known, sorted(variants)) if known), language),
        detect=detect,
        picky=_choice(values, "level", LEVELS) == "picky",
        text_level_only=mode == "textLevelOnly",
        incomplete=_flag(values, "allowIncompleteResults"),
        enabled_only=only,
        enabled=enabled,
        disabled=disabled,
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


def _language(code: str | None) -> str:
    if not code:
        raise _bad("the parameter 'language' is missing")
    found = _known(code)
    if found is None:
        raise _bad(
            f"'{code[:20]}' is not a language of this server; it has {', '.join(LANGUAGES)}, auto"
        )
    return found


def _names(values: Mapping[str, str], name: str) -> frozenset[str]:
    return frozenset(part.strip() for part in values.get(name, "").split(",") if part.strip())


def _flag(values: Mapping[str, str], name: str) -> bool:
    return values.get(name, "").lower() in ("true", "yes")


def _choice(values: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    value = values.get(name) or known[0]
    if value not in known:
        raise _bad(f"'{name}' must be one of {', '.join(known)}")
    return value


def _bad(message: str) -> Problem:
    return Problem(400, "invalid_request", message)


# --------------------------------------------------------------------------------------- answers


def _parts(
    call: Call, asked: Check, options: Options, seconds: float
) -> tuple[list[Correction], bool]:
    """Return the corrected parts of the text, and whether they are all."""
    parts: list[Correction] = []
    try:
        if asked.incomplete:
            for part in call.stream(asked.text.plain, options):
                parts.append(part)
        else:
            parts = call.correct([asked.text.plain], options)
    except Problem as problem:
        if problem.status != 504:
            raise
        if not asked.incomplete:
            text = f"Checking took longer than {seconds:g} seconds"
            raise Problem(500, "timeout", text) from None
        return parts, False
    return parts, True


def _answer(asked: Check, parts: list[Correction], complete: bool) -> dict[str, Any]:
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
        "language": _language_of(asked, english / words if words else 1.0),
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


def _empty(asked: Check) -> dict[str, Any]:
    """The answer to a request for what concerns more than a sentence: nothing does."""
    positions = Positions(asked.text.full)
    spans = (asked.text.span(s.start, s.end) for s in segment(asked.text.plain))
    return {
        "software": _SOFTWARE,
        "warnings": _warnings(True),
        "language": _language_of(asked, 1.0),
        "matches": [],
        "sentenceRanges": [tuple(map(positions.utf16, span)) for span in spans],
    }


def _warnings(complete: bool) -> dict[str, Any]:
    if complete:
        return {"incompleteResults": False}
    return {"incompleteResults": True, "incompleteResultsReason": "the time was up"}


def _language_of(asked: Check, confidence: float) -> dict[str, Any]:
    language = {"name": LANGUAGES[asked.language], "code": asked.language}
    detected = {**language, "confidence": round(confidence, 3), "source": "gec"}
    return {**language, "detectedLanguage": detected}


def _rule(type: str) -> dict[str, str]:
    _, category, name = category_of(type)
    return {
        "ruleId": rule_id(type),
        "description": MESSAGES[type].short,
        "categoryId": category,
        "categoryName": name,
    }
