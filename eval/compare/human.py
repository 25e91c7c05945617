"""Human judgments of systems, in the formats of GJG15 and SEEDA, and scores of metrics.

GJG15 (Grundkiewicz, Junczys-Dowmunt and Gillian 2015, "Human Evaluation of Grammatical Error
Correction Systems") ranks the outputs of a sentence in XML; SEEDA (Kobayashi, Mita and Komachi
2024, "Revisiting Meta-evaluation for Grammatical Error Correction") has the same XML::

    <ranking-item src-id="307" user="annotator01">
      <translation rank="4" system="CAMB"/>
      <translation rank="2" system="RAC SJTU"/>
    </ranking-item>

Systems in one element gave the same output; rank 1 is the best. Scores of systems are either lines
of numbers in the alphabetical order of SEEDA's 15 systems, or lines with the system's name.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from gec.errors import ConfigError, DataError
from gec.eval.metrics.score import read_lines
from gec.files import read_document

SEEDA_SYSTEMS = (
    "BART", "BERT-fuse", "GECToR-BERT", "GECToR-ens", "GPT-3.5", "INPUT", "LM-Critic", "PIE",
    "REF-F", "REF-M", "Riken-Tohoku", "T5", "TemplateGEC", "TransGEC", "UEDIN-MS",
)  # fmt: skip
LEFT_OUT: Mapping[str, frozenset[str]] = {
    "base": frozenset({"INPUT", "REF-F", "GPT-3.5"}),
    "+INPUT": frozenset({"REF-F", "GPT-3.5"}),
    "+REF-F_GPT-3.5": frozenset({"INPUT"}),
    "all": frozenset(),
}
"""The sets of systems in SEEDA's tables, by the systems that each leaves out."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """One annotator's ranking of the outputs for a sentence; rank 1 is the best.

    ``source`` is the file's ``src-id``, the sentence's position in the test set.
    """

    source: int
    ranks: Mapping[str, int]


def read_judgments(name: str) -> list[Judgment]:
    """Return the rankings of an XML file, in its order; those of the user ``admin`` do not count.

    Raises:
        InputError: missing, unreadable or not UTF-8.
        DataError: not XML, or not of this format.
    """
    text = read_document(name).text
    if "<!ENTITY" in text:
        raise DataError(f"{name}: defines XML entities, which are not read")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"{name}: not XML ({error})") from None
    items = [item for item in root.iter("ranking-item") if item.get("user") != "admin"]
    if not items:
        raise DataError(f"{name}: no <ranking-item>; is this a file of judgments?")
    return [_judgment(name, number, item) for number, item in enumerate(items, 1)]


def _judgment(name: str, number: int, item: ElementTree.Element) -> Judgment:
    try:
        source = int(item.attrib["src-id"])
        ranks = {
            system: int(translation.attrib["rank"])
            for translation in item.iter("translation")
            for system in translation.attrib["system"].split()
        }
    except (KeyError, ValueError) as error:
        raise DataError(
            f"{name}: ranking-item {number} (id {item.get('id', '?')}): "
            f"a whole number for 'src-id' and 'rank' and a 'system' are needed ({error})"
        ) from None
    return Judgment(source, ranks)


def expected_wins(judgments: Sequence[Judgment]) -> dict[str, float]:
    """Return every system's Expected Wins (Bojar et al. 2013).

    The mean, over the other systems, of the share of decided comparisons that it wins; equal ranks
    decide nothing, and a pair that was never decided does not count.
    """
    wins: Counter[tuple[str, str]] = Counter()
    for judgment in judgments:
        for a, b in combinations(judgment.ranks, 2):
            if judgment.ranks[a] != judgment.ranks[b]:
                wins[(a, b) if judgment.ranks[a] < judgment.ranks[b] else (b, a)] += 1
    systems = sorted({system for judgment in judgments for system in judgment.ranks})
    found = {}
    for a in systems:
        decided = [(wins[a, b], wins[b, a]) for b in systems if wins[a, b] + wins[b, a]]
        if decided:
            found[a] = math.fsum(won / (won + lost) for won, lost in decided) / len(decided)
    return found


def read_system_scores(name: str, names: Sequence[str] | None = None) -> dict[str, float]:
    """Return scores by system, of one of three kinds of files.

    A judgments file (``.xml``) gives Expected Wins. Lines such as ``AMU 0.3510 0.4147 0.2174`` or
    ``AMU 0.628 (1, 1)`` begin with the system and its score; ``0.273 1 AMU`` holds a score, a
    range of ranks and the system. Lines of one number each belong to ``names``, by default SEEDA's
    systems in alphabetical order.

    Raises:
        InputError: missing, unreadable or not UTF-8.
        DataError: malformed; says the line.
    """
    if name.endswith(".xml"):
        return expected_wins(read_judgments(name))
    lines = [(number, line.split()) for number, line in enumerate(read_lines(name), 1)]
    lines = [(number, fields) for number, fields in lines if fields and set(fields[0]) != {"+"}]
    if lines and all(len(fields) == 1 for _, fields in lines):
        values = [_number(name, number, fields[0]) for number, fields in lines]
        expected = SEEDA_SYSTEMS if names is None else names
        if len(values) != len(expected):
            raise DataError(
                f"{name}: {len(values)} scores without names for {len(expected)} systems; "
                "name the systems in the file or with --names"
            )
        return dict(zip(expected, values, strict=True))
    found: dict[str, float] = {}
    for number, fields in lines:
        first_is_name = _float(fields[0]) is None
        system, value = (fields[0], fields[1:2]) if first_is_name else (fields[-1], fields[:1])
        if not value or _float(system) is not None:
            raise DataError(f"{name}, line {number}: expected a system and its score")
        if system in found:
            raise DataError(f"{name}, line {number}: a second score for {system}")
        found[system] = _number(name, number, value[0])
    if not found:
        raise DataError(f"{name}: no scores")
    return found


def read_sentence_scores(name: str) -> dict[str, list[float]]:
    """Return every system's scores by sentence.

    A folder holds ``SYSTEM.txt``, a number a line, as SEEDA's; a file holds the systems' names in
    its first line and a line of their numbers for every sentence, separated by tabs.

    Raises:
        InputError: missing, unreadable or not UTF-8.
        DataError: malformed, or files of different lengths; says which or where.
    """
    if Path(name).is_dir():
        paths = sorted(Path(name).glob("*.txt"))
        found = {
            path.stem: [
                _number(str(path), n, line) for n, line in enumerate(read_lines(str(path)), 1)
            ]
            for path in paths
        }
    else:
        found = _columns(name)
    if not found:
        raise DataError(
            f"{name}: no scores; a folder of SYSTEM.txt or a table with a head is needed"
        )
    (first, scores), *others = found.items()
    for system, other in others:
        if len(other) != len(scores):
            raise DataError(f"{name}: {len(other)} scores of {system}, {len(scores)} of {first}")
    return found


def _columns(name: str) -> dict[str, list[float]]:
    head, *rows = [line.split("\t") for line in read_lines(name)] or [[""]]
    for number, row in enumerate(rows, 2):
        if len(row) != len(head):
            raise DataError(f"{name}, line {number}: {len(row)} columns, the head has {len(head)}")
    if len(set(head)) != len(head):
        raise DataError(f"{name}, line 1: the same system twice")
    return {
        system: [_number(name, number, row[i]) for number, row in enumerate(rows, 2)]
        for i, system in enumerate(head)
        if rows
    }


def chosen(names: Sequence[str], wanted: str) -> list[str]:
    """Return the systems of a set of SEEDA's, or those that ``wanted`` names, in their order.

    Raises:
        ConfigError: a name that is not there.
    """
    if wanted in LEFT_OUT:
        return [name for name in names if name not in LEFT_OUT[wanted]]
    listed = [name.strip() for name in wanted.split(",")]
    if missing := [name for name in listed if name not in names]:
        raise ConfigError(
            f"no system {missing[0]!r} here; there are {', '.join(names)}, "
            f"and the sets {', '.join(LEFT_OUT)}"
        )
    return [name for name in names if name in listed]


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(name: str, line: int, text: str) -> float:
    value = _float(text)
    if value is None or not math.isfinite(value):
        raise DataError(f"{name}, line {line}: not a number: {text!r}")
    return value
