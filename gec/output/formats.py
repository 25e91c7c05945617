"""What ``gec correct`` prints: pure functions from a file's name and its Correction to a string.

Each format is a file of its own in this folder.
"""

from gec.output.diff import to_diff
from gec.output.github import to_github
from gec.output.json import document, to_json, to_jsonl
from gec.output.junit import to_junit
from gec.output.m2 import to_m2
from gec.output.sarif import to_sarif
from gec.output.terminal import to_findings, to_summary, to_timing
from gec.output.wording import label

__all__ = [
    "document",
    "label",
    "to_diff",
    "to_findings",
    "to_github",
    "to_json",
    "to_jsonl",
    "to_junit",
    "to_m2",
    "to_sarif",
    "to_summary",
    "to_timing",
]
