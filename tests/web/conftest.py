"""Fixtures for the server: an app with a fake corrector, and one that listens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fake_web import WebCorrector
from flask.testing import FlaskClient

from gec.web.app import create_app, engine_of
from gec.web.config import Config
from gec.web.server import Server


@pytest.fixture
def corrector() -> Iterator[WebCorrector]:
    fake = WebCorrector()
    yield fake
    fake.model.go.set()


@pytest.fixture
def client(corrector: WebCorrector) -> Iterator[Callable[..., FlaskClient]]:
    """Return a client of an app with these settings and the fake corrector."""
    with ExitStack() as stack:

        def make(**settings: Any) -> FlaskClient:
            app = create_app(Config(**settings), corrector=corrector)  # type: ignore[arg-type]
            corrector.model.batches.clear()
            stack.callback(engine_of(app).close)
            stack.callback(corrector.model.go.set)
            return app.test_client()

        yield make


@pytest.fixture
def listening(corrector: WebCorrector) -> Iterator[Callable[..., Server]]:
    """Return a server with these settings that listens, in a thread."""
    with ExitStack() as stack:

        def make(**settings: Any) -> Server:
            config = Config(port=0, **{"rate": 0.0, "client_requests": 0, **settings})
            app = create_app(config, corrector=corrector)  # type: ignore[arg-type]
            corrector.model.batches.clear()
            server = Server(app, config)
            thread = threading.Thread(target=server.run)
            thread.start()
            stack.callback(thread.join, 30)
            stack.callback(server.stop)
            stack.callback(corrector.model.go.set)
            return server

        yield make
