"""Count the findings of ``gec correct --check`` in 1,000 words at several least confidences.

    python tests/batch/findings.py docs/ README.md
    python tests/batch/findings.py --show 0.7 docs/

On good documentation this is about the rate of false alarms. Words are those of the prose.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gec.batch.markup import passages
from gec.check import find_files, is_finding
from gec.formats import to_findings
from gec.loading import load
from gec.project import Project
from gec.prose import correct_prose, in_source, prose_kind, with_edits

THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--show", type=float, metavar="P", help="print the findings from P on")
    parser.add_argument("--words", type=int, default=10**9, help="stop after so many words")
    args = parser.parse_args()
    corrector = load("en", min_confidence=0.0)
    words = files = 0
    confidences: list[float] = []
    for name in find_files(args.paths, Project(root=Path.cwd())):
        source = Path(name).read_text(encoding="utf-8")
        found = passages(prose_kind(name), source, name)
        words += sum(len(passage.text(source).split()) for passage in found)
        files += 1
        pairs = [
            (own, with_edits(c, {e for e in c.edits if is_finding(c.original, e)}))
            for own, c in correct_prose(corrector, source, name)
        ]
        whole = in_source(source, pairs)
        confidences += [edit.confidence for edit in whole.edits]
        if args.show is not None:
            sure = {edit for edit in whole.edits if edit.confidence >= args.show}
            shown = with_edits(whole, sure)
            for edit, line in zip(shown.edits, to_findings(name, shown).splitlines(), strict=True):
                print(f"{edit.confidence:.2f} {line}", flush=True)
        if words >= args.words:
            break
    print(f"{words:,} words in {files} files\n\nat least  findings  in 1,000 words")
    for threshold in THRESHOLDS:
        count = sum(confidence >= threshold for confidence in confidences)
        print(f"{threshold:8.2f}  {count:8d}  {1000 * count / max(1, words):8.2f}")


if __name__ == "__main__":
    main()
