"""The application factory."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from flask import Flask

from gec.web import api, languagetool, logs, operations, pages, problems, security
from gec.web.calls import Engine
from gec.web.config import Config, configure
from gec.web.feedback import Store
from gec.web.metrics import Metrics
from gec.web.proxies import Forwarded, SingleSlashes
from gec.web.rates import Limits, limits_of
from gec.web.schemas import Validators, schemas
from gec.web.shared import Shared

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector


def create_app(
    config: Config | None = None,
    *,
    corrector: Corrector | None = None,
    shared: Shared | None = None,
) -> Flask:
    """Return the server as a WSGI application whose model is loaded and warm.

    Args:
        config: the settings; None takes them from the environment.
        corrector: a corrector to use instead of the configured model.
        shared: what this process shares with other workers of the same server.

    Raises:
        GecError: the settings, the model or the feedback file cannot be used.
    """
    config = config or configure({}, os.environ)
    corrector = corrector or _load(config)
    metrics = Metrics(shared)
    limits = limits_of(config, shared.buckets if shared else None)
    engine = Engine(corrector, config, metrics.on_batch)
    found = schemas(config, tuple(corrector.settings))
    validators = Validators(found)
    store = _store(config, limits) if config.feedback else None
    if store is not None:
        engine.closing.append(store.close)
    engine.warm_up()
    app = Flask(__name__)
    app.url_map.strict_slashes = False
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.config["MAX_FORM_MEMORY_SIZE"] = config.max_body  # the default is smaller
    app.extensions["gec"] = engine
    engine.ticks.append(metrics.read)
    wsgi_app = Forwarded(app.wsgi_app, config.trusted_proxy)
    app.wsgi_app = SingleSlashes(wsgi_app)  # type: ignore[assignment,method-assign]
    problems.register(app)
    logs.register(app)
    security.register(app, config, limits)
    metrics.watch(app, engine.service)
    app.register_blueprint(pages.blueprint(config, engine, found))
    app.register_blueprint(api.blueprint(config, engine, validators, store))
    app.register_blueprint(languagetool.blueprint(config, engine))
    app.register_blueprint(operations.blueprint(config, engine, metrics, found))
    return app


def engine_of(app: Flask) -> Engine:
    """Return the engine of an application."""
    engine: Engine = app.extensions["gec"]
    return engine


def check(config: Config) -> None:
    """Raise GecError if the application could not be made for another reason than its model."""
    if config.feedback:
        _store(config, limits_of(config)).close()


def _store(config: Config, limits: Limits) -> Store:
    return Store(str(config.feedback), days=config.feedback_days, quota=limits.feedback)


def _load(config: Config) -> Corrector:
    from gec.loading import load, use_threads
    from gec.memory import reuse_memory

    reuse_memory()
    if config.torch_threads is not None:
        use_threads(config.torch_threads)
    return load(
        config.model,
        device=config.device,
        precision=config.precision,
        setting=config.setting,
    )


def load_to_share(config: Config) -> Corrector:
    """Load the model for processes that will be forked from this one.

    One thread computes meanwhile: a pool of threads would not outlive a fork, and a process that
    has the pool's memory without its threads waits for them for ever.
    """
    return _load(replace(config, torch_threads=1, device="cpu"))


def use_threads(count: int) -> None:
    """Let a model that has been loaded compute on so many threads from now on."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(count)
