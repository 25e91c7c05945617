"""The JSON schemas of the API, which check the requests and describe them in /openapi.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from gec.web.config import Config
from gec.web.feedback import DECISIONS, MAX_TOKEN
from gec.web.problems import Problem

Schema = dict[str, Any]

LANGUAGES = {
    "en": "English",
    "en-US": "English (US)",
    "en-GB": "English (GB)",
    "en-AU": "English (Australian)",
    "en-CA": "English (Canadian)",
    "en-NZ": "English (New Zealand)",
    "en-ZA": "English (South African)",
}
MODES = ("all", "textLevelOnly", "allButTextLevelOnly")
LEVELS = ("default", "picky")
CATEGORIES = ("spelling", "grammar", "punctuation", "style")
MAX_TOLERANCE = 100
MAX_WORDS, MAX_WORD = 20_000, 200
MAX_SPANS = 10_000


def _object(properties: Schema, optional: tuple[str, ...] = (), **more: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
        **more,
    }


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_OFFSET: Schema = {"type": "integer", "minimum": 0}
_POSITIVE: Schema = {"type": "integer", "minimum": 1}
_PROBABILITY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_TOLERANCE: Schema = {
    "type": "number",
    "minimum": 0,
    "maximum": MAX_TOLERANCE,
    "description": "nats by which the model must prefer another word before it changes one; "
    "more means fewer and surer corrections",
}
_OFFSETS: Schema = {
    "enum": ["code_points", "utf16"],
    "default": "code_points",
    "description": "what all offsets of request and answer count",
}
_MODEL = _object(
    {
        "name": {"type": "string", "description": "the bundle"},
        "gec": {"type": "string", "description": "version of the software"},
    }
)
_STRING: Schema = {"type": "string"}


def _options(settings: tuple[str, ...]) -> Schema:
    properties: Schema = {
        "setting": {
            "enum": list(settings),
            "description": "a pair of tolerance and min_confidence of the model's",
        },
        "tolerance": _TOLERANCE,
        "min_confidence": {
            **_PROBABILITY,
            "description": "corrections less certain than this are left out",
        },
        "ignore_words": _list(
            {"type": "string", "maxLength": MAX_WORD},
            maxItems=MAX_WORDS,
            description="words never to change; case counts",
        ),
        "protect": _list(
            _list({**_OFFSET, "maximum": 2**53 - 1}, minItems=2, maxItems=2),
            maxItems=MAX_SPANS,
            description="spans [start, end] never to change, with a single text only; what lies "
            "beyond the text, or is empty, protects nothing",
        ),
        "spelling": {"type": "boolean", "description": "correct misspelt words by dictionary too"},
        "offsets": _OFFSETS,
        "trace": {"type": "boolean", "description": "show how each sentence was decoded"},
        "feedback": {
            "type": "boolean",
            "description": "the user has agreed to have decisions stored: give each sentence with "
            "edits what /api/v1/feedback takes",
        },
    }
    return _object(properties, tuple(properties))


def _text(config: Config) -> Schema:
    limit = f"the text to correct; at most {config.max_text} characters in a request"
    return {"description": limit}


def schemas(config: Config, settings: tuple[str, ...]) -> dict[str, Schema]:
    """Return the schemas by name, with this server's limits and the model's settings."""
    many: Schema = {
        "type": ["string", "array"],
        **_text(config),
        "items": _STRING,
        "maxItems": config.max_texts,
    }
    return {
        "CorrectRequest": _object(
            {"text": many, "options": _ref("Options")},
            ("options",),
            **{
                "if": {"properties": {"text": {"type": "array"}}},
                "then": {"properties": {"options": {"properties": {"protect": {"maxItems": 0}}}}},
            },
        ),
        "StreamRequest": _object(
            {"text": {"type": "string", **_text(config)}, "options": _ref("Options")},
            ("options",),
        ),
        "Options": _options(settings),
        "CorrectResponse": _object(
            {"version": {"const": 1}, "model": _MODEL, "results": _list(_ref("Result"))}
        ),
        "Result": _object(
            {
                "text": _STRING,
                "corrected": _STRING,
                "edits": _list(_ref("Edit")),
                "sentences": _list(_ref("Sentence")),
                "warnings": _list(_STRING),
            }
        ),
        "Edit": _object(
            {
                "start": _OFFSET,
                "end": _OFFSET,
                "original": _STRING,
                "replacement": _STRING,
                "type": {"type": "string", "description": "in ERRANT's notation: R:VERB:SVA"},
                "category": {"enum": list(CATEGORIES)},
                "confidence": _PROBABILITY,
                "message": _STRING,
            }
        ),
        "Sentence": _object(
            {
                "start": _OFFSET,
                "end": _OFFSET,
                "passes": {**_OFFSET, "description": "of the model"},
                "drafted": {**_OFFSET, "description": "tokens copied as a draft"},
                "accepted": {**_OFFSET, "description": "drafted tokens that stood"},
                "tokens": {**_OFFSET, "description": "tokens of the output"},
                "milliseconds": {"type": "number", "minimum": 0},
                "cached": {"type": "boolean", "description": "the sentence was known"},
                "blocks": _list(
                    _object({"kind": {"enum": ["drafted", "decided"]}, "text": _STRING}),
                    description="only with the option trace",
                ),
                "shown": _object(
                    {
                        "token": _STRING,
                        "edits": _list(
                            _OFFSET, description="where its edits are among the answer's edits"
                        ),
                    },
                    description="only with the option feedback, where decisions can be stored",
                ),
            },
            ("blocks", "shown"),
        ),
        "StreamEvent": _object(
            {
                "event": {"enum": ["sentence", "done", "error"]},
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "description": "a SentenceEvent, a DoneEvent or an Error",
                },
            },
            description="one event of the stream",
        ),
        "SentenceEvent": _object({"sentence": _ref("Sentence"), "edits": _list(_ref("Edit"))}),
        "DoneEvent": _object({"warnings": _list(_STRING), "sentences": _OFFSET}),
        "Settings": _object(
            {
                "settings": {
                    "type": "object",
                    "additionalProperties": _object(
                        {"tolerance": _TOLERANCE, "min_confidence": _PROBABILITY}
                    ),
                },
                "default": _STRING,
                "limits": _object({"text": _OFFSET, "texts": _OFFSET, "body": _OFFSET}),
                "feedback": {"type": "boolean"},
                "model": _MODEL,
            }
        ),
        "Feedback": _object(
            {
                "shown": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_TOKEN,
                    "description": "the token of a sentence",
                },
                "edit": {**_OFFSET, "description": "which of the sentence's edits, from 0"},
                "decision": {
                    "enum": list(DECISIONS),
                    "description": "undecided takes an earlier decision back",
                },
                "consent": {
                    "const": True,
                    "description": "the user has agreed to have the sentence stored",
                },
            },
        ),
        "FeedbackResponse": _object(
            {"id": {"type": "string", "description": "by which the sentence can be deleted"}}
        ),
        "Status": _object({"status": _STRING}),
        "CheckRequest": _check_request(),
        "CheckResponse": _check_response(),
        "Languages": _list(
            _object(
                {"name": _STRING, "code": _STRING, "longCode": _STRING}, description="a variant"
            )
        ),
        "Error": _object(
            {"error": _object({"status": _OFFSET, "code": _STRING, "message": _STRING})}
        ),
    }


def _check_request() -> Schema:
    names = {"type": "string", "description": "names separated by commas"}
    properties: Schema = {
        "text": _STRING,
        "language": {"enum": [*LANGUAGES, "auto"]},
        "enabledRules": names,
        "disabledRules": names,
        "enabledCategories": names,
        "disabledCategories": names,
        "level": {"enum": list(LEVELS), "description": "picky is the setting thorough"},
        "mode": {"enum": list(MODES)},
        "allowIncompleteResults": {
            "type": "string",
            "description": "true: on a timeout answer what is there",
        },
    }
    return {
        "type": "object",
        "properties": properties,
        "required": ["text", "language"],
        "description": "in place of text, data may hold JSON with markup set apart: "
        '{"annotation": [{"text": "A "}, {"markup": "<b>"}, ...]}',
    }


def _check_response() -> Schema:
    software: Schema = {"type": "object", "required": ["name", "version", "apiVersion"]}
    language = {"type": "object", "required": ["name", "code", "detectedLanguage"]}
    context = _object({"text": _STRING, "offset": _OFFSET, "length": _POSITIVE})
    rule = {"type": "object", "required": ["id", "description", "issueType", "category"]}
    match = {
        "type": "object",
        "properties": {
            "message": _STRING,
            "shortMessage": _STRING,
            "replacements": _list({"type": "object", "required": ["value"]}),
            "offset": _OFFSET,
            "length": _POSITIVE,
            "context": context,
            "sentence": _STRING,
            "rule": rule,
        },
        "required": ["message", "replacements", "offset", "length", "context", "rule"],
    }
    return {
        "type": "object",
        "properties": {
            "software": software,
            "language": language,
            "matches": _list(match),
            "sentenceRanges": _list(_list(_OFFSET, minItems=2, maxItems=2)),
        },
        "required": ["software", "warnings", "language", "matches"],
        "description": "offsets and lengths count UTF-16 code units",
    }


class Validators:
    """The compiled schemas of one server."""

    def __init__(self, found: Mapping[str, Schema]) -> None:
        root = {"components": {"schemas": dict(found)}}
        self._validators = {name: Draft202012Validator({**root, **_ref(name)}) for name in found}

    def check(self, name: str, value: Any) -> None:
        """Raise a Problem if ``value`` does not fit the schema; its one line names the place."""
        error = next(self._validators[name].iter_errors(value), None)
        if error is not None:
            where = ".".join(map(str, error.absolute_path)) or "the body"
            raise Problem(400, "invalid_request", f"{where} {_explain(error)}")


def _explain(error: ValidationError) -> str:
    """Return one line about an error that quotes at most a name of the value."""
    wanted: Any = error.validator_value
    rule = str(error.validator)
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        return f"must be of the type {' or '.join(kinds)}"
    if rule == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        unknown = next(name for name in error.instance if name not in known)
        return f"has an unknown member {unknown[:40]!r}; known are {', '.join(known)}"
    if rule == "required" and isinstance(error.instance, dict):
        return f"lacks {', '.join(name for name in wanted if name not in error.instance)}"
    texts = {
        "enum": "must be one of {}",
        "const": "must be {}",
        "minimum": "must be at least {}",
        "maximum": "must be at most {}",
        "minLength": "must have at least {} characters",
        "maxLength": "must have at most {} characters",
        "minItems": "must have at least {} items",
        "maxItems": "must have at most {} items",
        "pattern": "must match {}",
    }
    shown = ", ".join(map(str, wanted)) if rule == "enum" else str(wanted).lower()
    return texts.get(rule, "is not valid").format(wanted if rule == "pattern" else shown)
