"""The process of one checker: loads it, and answers requests, a line of JSON each.

``python -m gec.eval.benchmark.checker_peers.program NAME OPTIONS``, with the options as JSON. The
first line that it writes is ``{"about": ...}``. A request is ``{"texts": [...], "setting": ...}``,
and its answer ``{"fixes": [[[start, end, replacement], ...], ...], "seconds": ...}``; or
``{"peak": true}``, which gets the most memory resident so far, in bytes. Errors are
``{"error": ...}`` and end the process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from gec.errors import GecError
from gec.eval.benchmark.checker_peers import Checker, load
from gec.eval.benchmark.memory import peak_memory
from gec.extras import missing


def main() -> int:
    """Serve standard input until it ends."""
    # what a checker prints must not come between the answers
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        checker = load(sys.argv[1], json.loads(sys.argv[2]))
        answer({"about": checker.about})
        for line in sys.stdin:
            answer(_answered(checker, json.loads(line)))
    except ModuleNotFoundError as error:
        answer({"error": missing(error.name or "")})
    except GecError as error:
        answer({"error": str(error)})
    return 0


def _answered(checker: Checker, request: dict[str, Any]) -> dict[str, Any]:
    if "peak" in request:
        return {"peak": peak_memory()}
    began = time.perf_counter()
    fixes = checker.check(request["texts"], request["setting"])
    return {"fixes": fixes, "seconds": time.perf_counter() - began}


if __name__ == "__main__":
    sys.exit(main())
