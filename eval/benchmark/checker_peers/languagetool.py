"""A LanguageTool server, or any that answers as one does (version 2 of its API)."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from itertools import accumulate
from typing import Any

from gec.errors import ModelError
from gec.eval.benchmark.checker_peers import Fix

TIMEOUT = 60.0
"""Seconds to wait for an answer."""


class LanguageTool:
    """A server at an address; one request a text, all its rules at the level "default".

    Raises:
        ModelError: nothing answers there, or what answers is no LanguageTool.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/").removesuffix("/check").removesuffix("/v2") + "/v2/check"
        software = self._asked("Hello.")["software"]
        name, version = software.get("name", "LanguageTool"), software.get("version", "unknown")
        self.about = f"{name} {version} (its server's answer); en-US, level default"

    def check(self, texts: Sequence[str], setting: str) -> list[list[Fix]]:
        return [fixes(text, self._asked(text)["matches"]) for text in texts]

    def _asked(self, text: str) -> dict[str, Any]:
        data = urllib.parse.urlencode({"text": text, "language": "en-US"}).encode()
        try:
            with urllib.request.urlopen(self._url, data, TIMEOUT) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read(300).decode(errors="replace").strip() or error.reason
            raise ModelError(f"{self._url} refused a text: {error.code}, {said}") from error
        except (ValueError, HTTPException) as error:
            raise ModelError(f"{self._url} is no LanguageTool server: {error}") from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise ModelError(
                f"no LanguageTool server answers at {self._url} ({reason}); start one there, or "
                "leave out --languagetool"
            ) from error
        if not (isinstance(found, dict) and {"matches", "software"} <= found.keys()):
            raise ModelError(f"{self._url} is no LanguageTool server: its answer has no matches")
        return found


def fixes(text: str, matches: Sequence[Mapping[str, Any]]) -> list[Fix]:
    """Return the first replacement of every match; offsets of LanguageTool are UTF-16 units."""
    units = [0, *accumulate(1 + (ord(character) > 0xFFFF) for character in text)]
    found = []
    for match in matches:
        if match["replacements"]:
            start = bisect_left(units, match["offset"])
            end = bisect_left(units, match["offset"] + match["length"])
            found.append(Fix(start, end, match["replacements"][0]["value"]))
    return found


def load(url: str) -> LanguageTool:
    return LanguageTool(url)
