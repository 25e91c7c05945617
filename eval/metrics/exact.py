"""``gec score exact``: the number of sentences that become exactly an accepted answer.

Each line holds a sentence and then, after tabs, its accepted corrections; a line without any is a
correct sentence that must not change. Answers are compared word by word; blanks do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gec.correct.corrector import Corrector
from gec.text.words import tokenize_line


@dataclass(frozen=True, slots=True)
class ExactScore:
    """Counts over the erroneous and over the correct sentences.

    Attributes:
        right, wrong: numbers of erroneous sentences that became an accepted answer, or did not.
        unchanged, changed: numbers of correct sentences that were left alone, or were not.
        misses: (source, output, accepted answers) of the wrong and the changed sentences.
    """

    right: int
    wrong: int
    unchanged: int
    changed: int
    misses: tuple[tuple[str, str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        parts = []
        if with_errors := self.right + self.wrong:
            parts.append(f"{self.right} of {with_errors} sentences with errors come out right")
        if correct := self.unchanged + self.changed:
            parts.append(f"{self.changed} of {correct} correct sentences changed")
        return "; ".join(parts)


def score_exact(corrector: Corrector, lines: Sequence[str]) -> ExactScore:
    """Return the score of correcting the first column of every line, against the others."""
    rows = [line.split("\t") for line in lines if line.strip()]
    right = wrong = unchanged = changed = 0
    misses = []
    outputs = corrector.correct_many(row[0] for row in rows)
    for (source, *answers), output in zip(rows, outputs, strict=True):
        accepted = [tokenize_line(answer) for answer in answers]
        if tokenize_line(output.text) in accepted if answers else output.text == source:
            right += bool(answers)
            unchanged += not answers
            continue
        wrong += bool(answers)
        changed += not answers
        misses.append((source, output.text, tuple(answers)))
    return ExactScore(right, wrong, unchanged, changed, tuple(misses))
