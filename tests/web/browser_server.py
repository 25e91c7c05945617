"""The real server for the browser tests, with rules for a model.

Run it alone to look at the page: ``python tests/web/browser_server.py [PORT]``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for those who run it without pytest

from fake_rules import RuleCorrector

from gec.correct.corrector import Corrector
from gec.web.app import create_app
from gec.web.config import Config
from gec.web.server import Server


@contextmanager
def running(corrector: RuleCorrector | Corrector | None = None, **settings: Any) -> Iterator[str]:
    """Serve in a thread, with the settings of ``gec serve``; yields the address."""
    corrector = corrector or RuleCorrector()
    # requests that the page gave up while the rules were held back keep their places
    config = Config(**{"port": 0, "rate": 0.0, "client_requests": 0, **settings})
    server = Server(create_app(config, corrector=corrector), config)  # type: ignore[arg-type]
    if isinstance(corrector, RuleCorrector):
        corrector.clear()  # the server's own first sentence
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"{server.address}/"
    finally:
        if isinstance(corrector, RuleCorrector):
            corrector.gate.set()  # nothing may wait when it ends
        server.stop()
        thread.join(60)


if __name__ == "__main__":
    with running(port=int(sys.argv[1]) if sys.argv[1:] else 8000) as address:
        print(address)
        threading.Event().wait()
