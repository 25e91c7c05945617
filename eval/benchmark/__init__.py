"""``gec bench``: how fast each strategy decodes beside its peers, and that nothing is lost.

Nothing heavy is imported here: :mod:`.process` runs as a program and is measured itself, and
:mod:`.peers.fairseq_program` runs where only fairseq is installed.
"""

from __future__ import annotations

import argparse


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench``; exit status 1 when outputs differ that should not."""
    from gec.eval.benchmark.bench import main as run

    return run(args)
