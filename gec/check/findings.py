"""``gec correct --check``: which files, by which rules, and which findings are new."""

from __future__ import annotations

import argparse
import glob
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gec.check.baseline import Baseline, Known, known
from gec.check.project import CHECK_CONFIDENCE, Project, Rules, Strictness, find_project, match
from gec.errors import ConfigError, InputError

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector
    from gec.correct.options import Options
    from gec.correct.result import Correction
    from gec.edits.edits import Edit
    from gec.files import Document

PROSE = frozenset({"markdown", "rst", "html", "latex", "lines"})
"""Kinds of files that are checked in a folder; source code where ``include`` names it."""
MOST_WORDS = 3
"""So many words more or less than before may a finding propose."""


@dataclass
class Check:
    """One run: its rules, and what it has found so far.

    Attributes:
        project: the settings of the project.
        asked: what the command line says about strictness, over all that the project says.
        files: what is to be checked, in order.
        baseline: the findings that are known.
        baseline_file: where they stand; None without.
    """

    project: Project
    asked: Strictness
    files: tuple[str, ...]
    baseline: Baseline
    baseline_file: str | None
    writes: bool
    tokenized: bool
    batch_size: int
    _seen: dict[str, Counter[Known]] = field(default_factory=dict)
    _checked: int = 0
    _found: int = 0
    _with_findings: int = 0
    _gone: int = 0

    def strictness(self, rules: Rules) -> Strictness:
        """Return how strict the command is with a file: the default, the project, the options."""
        default = Strictness(min_confidence=CHECK_CONFIDENCE)
        return default.under(rules.strictness).under(self.asked)

    def correct(
        self, corrector: Corrector, document: Document
    ) -> tuple[list[str | Correction], Correction]:
        """Return the pieces of a document (passages, lines) with their new findings, and it whole.

        Raises:
            DataError: it is not of the kind that its name says.
        """
        from gec.correct.result import join
        from gec.documents.prose import correct_lines, correct_prose, in_source

        rules = self.project.rules_of(document.name)
        options = self._options(rules)
        size = self.batch_size
        parts: list[str | Correction]
        if self.tokenized:
            parts = correct_lines(corrector, document.text, options, batch_size=size)
        else:
            pairs = correct_prose(corrector, document.text, document.name, options, batch_size=size)
            parts = [correction for _, correction in pairs]
        for n, part in enumerate(parts):
            if not isinstance(part, str):
                found = {e for e in part.edits if is_finding(part.original, e)}
                parts[n] = part.with_edits({e for e in found if rules.counts(e.type)})
        parts = self._new(document.name, parts)
        if self.tokenized:
            whole = join(parts)
        else:
            kept = [part for part in parts if not isinstance(part, str)]
            own = zip((passage for passage, _ in pairs), kept, strict=True)
            whole = in_source(document.text, [*own])
        self._checked += 1
        self._found += len(whole.edits)
        self._with_findings += bool(whole.edits)
        return parts, whole

    def end(self) -> tuple[bool, list[str]]:
        """Return whether the findings are a failure, and what is to be said; write the baseline."""
        name = self.baseline_file
        if name is not None and self.writes:
            self.baseline = self.baseline.replaced(self._seen, Path(name).resolve().parent)
            self.baseline.write(name)
            return False, [f"gec: {name}: {_count(len(self.baseline), 'known finding')}"]
        said = []
        if self._checked > 1 or name is not None:
            said.append(
                f"gec: {_count(self._found, 'new finding' if name else 'finding')} in "
                f"{self._with_findings:,} of {_count(self._checked, 'file')}"
            )
        if self._gone:
            said.append(
                f"gec: {_count(self._gone, 'known finding')} gone from the text; "
                "renew the baseline with --write-baseline"
            )
        return self._found > 0, said

    def _options(self, rules: Rules) -> Options | None:
        """Return the options of a file that differ from the corrector's; None if none does."""
        from gec.correct.needless import Budget
        from gec.correct.options import Options

        strictness, common = self.strictness(rules), self.strictness(self.project.rules)
        options = Options(dictionary=rules.ignored_words)
        if strictness != common:
            # without a setting of its own a file has that of all, so numbers suffice
            options = replace(
                options,
                setting=strictness.setting,
                tolerance=strictness.tolerance,
                min_confidence=strictness.min_confidence,
                max_needless=Budget.read(budget) if (budget := strictness.max_needless) else None,
            )
        return options if options != Options() else None

    def _new(self, file: str, parts: Sequence[str | Correction]) -> list[str | Correction]:
        """Leave out what the baseline knows."""
        if self.baseline_file is None:
            return [*parts]
        name = self._baseline_name(file)
        found = [[*_known(part)] if not isinstance(part, str) else [] for part in parts]
        flat = [finding for own in found for finding in own]
        self._seen[name] = Counter(flat)
        if self.writes:
            return [*parts]
        self._gone += self.baseline.gone(name, flat)
        verdicts = iter(self.baseline.new(name, flat))
        return [
            part
            if isinstance(part, str)
            else part.with_edits({e for e in part.edits if next(verdicts)})
            for part in parts
        ]

    def _baseline_name(self, file: str) -> str:
        """Return how the baseline calls a file: from its own folder."""
        if file == "-" or self.baseline_file is None:
            return file
        return replace(self.project, root=Path(self.baseline_file).resolve().parent).inner(file)


def is_finding(text: str, edit: Edit) -> bool:
    """Whether an edit of a passage is one to fail for, however sure the model is of it.

    Not where it takes out or puts in a whole clause, of which confidences know little; nor where
    a line lacks its final period: what ends there is rarely a sentence, and was nearly all that
    was found in good documentation.
    """
    if abs(len(edit.original.split()) - len(edit.replacement.split())) > MOST_WORDS:
        return False
    final = not edit.original and edit.replacement.strip() in (".", "!", "?")
    return not (final and _LINE_END.match(text, edit.end))


_LINE_END = re.compile(r"[ \t]*(?:[\r\n]|\Z)")


def _known(part: Correction) -> Iterator[Known]:
    spans = iter(part.sentences)
    span = next(spans, None)
    for edit in part.edits:
        while span is not None and span.end < edit.start:
            span = next(spans, None)
        around = (span.start, span.end) if span else (edit.start, edit.end)
        yield known(part.original, edit.start, edit.end, edit.replacement, around)


# ----------------------------------------------------------------------------------------- options


def begin(args: argparse.Namespace) -> Check:
    """Make a check of the options of ``gec correct`` and of the project's settings.

    Raises:
        InputError: a file that is named does not exist, or there is nothing to check.
        ConfigError: the settings are wrong, or options contradict each other.
    """
    project = find_project(args.config)
    baseline_file = args.baseline or (project.path(project.baseline) if project.baseline else None)
    if args.write_baseline and baseline_file is None:
        raise ConfigError("--write-baseline needs --baseline FILE, or baseline in [tool.gec]")
    return Check(
        project=project,
        asked=Strictness(
            setting=args.setting,
            tolerance=args.tolerance,
            min_confidence=args.min_confidence,
            max_needless=args.max_needless,
        ),
        files=tuple(find_files(args.files, project)),
        baseline=_read_baseline(baseline_file, args.write_baseline),
        baseline_file=baseline_file,
        writes=args.write_baseline,
        tokenized=args.tokenized,
        batch_size=args.batch_size,
    )


def load_options(check: Check) -> dict[str, Any]:
    """Return the options of a corrector for all files, as ``gec correct`` names them."""
    strictness = check.strictness(check.project.rules)
    options: dict[str, Any] = {
        "setting": strictness.setting,
        "tolerance": strictness.tolerance,
        "min_confidence": strictness.min_confidence,
        "max_needless": strictness.max_needless,
    }
    if check.project.dictionary:
        options["dictionary"] = check.project.path(check.project.dictionary)
    return options


def find_files(named: Iterable[str], project: Project) -> list[str]:
    """Return the files to check: those named, in folders those with prose; else the project's.

    Raises:
        InputError: nothing is named and the project has no paths, or a path does not exist.
    """
    named = [*named]
    source = "named"
    if not named:
        if not project.paths:
            return ["-"]
        named, source = [project.path(name) for name in project.paths], f"paths in {project.file}"
    files: dict[str, None] = {}
    for name in named:
        files.update(dict.fromkeys(_files(name, project)))
    if not files and any(Path(name).is_dir() for name in named):
        raise InputError(f"{', '.join(named)} ({source}): no files to check here")
    return [*files]


def _files(name: str, project: Project) -> Iterator[str]:
    from gec.documents.folders import expand, walk
    from gec.documents.kinds import kind_of

    if Path(name).is_dir():
        for file in (str(Path(name, inner)) for inner in walk(Path(name), lambda _: True)):
            chosen = (
                match(project.include, project.inner(file))
                if project.include
                else kind_of(file) in PROSE
            )
            if chosen and not _excluded(file, project):
                yield file
    elif glob.has_magic(name) and not Path(name).exists():
        found = [*expand(name)]
        if not found:
            raise InputError(f"{name}: no file matches")
        yield from (file for file in found if not _excluded(file, project))
    elif name == "-" or not _excluded(name, project):
        yield name


def _excluded(file: str, project: Project) -> bool:
    return bool(project.exclude) and match(project.exclude, project.inner(file))


def _read_baseline(name: str | None, writes: bool) -> Baseline:
    if name is None or (writes and not Path(name).exists()):
        return Baseline()
    if not Path(name).exists():
        raise InputError(f"{name}: no such baseline; make it with --write-baseline")
    return Baseline.read(name)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
