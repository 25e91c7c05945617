"""``gec serve``: runs the application in waitress until SIGTERM or Ctrl-C, then drains."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import fields
from types import FrameType
from typing import Any

from flask import Flask
from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import ErrorTask
from waitress.wasyncore import dispatcher

from gec.errors import InputError
from gec.web import logs
from gec.web.app import create_app, engine_of
from gec.web.config import Config, configure, read_token
from gec.web.problems import Problem, render
from gec.web.security import HEADERS

log = logging.getLogger("gec.web")
HEADER_BYTES = 2**18
TICK = 0.2
"""Seconds within which the main loop looks after anything but connections."""


class _ErrorTask(ErrorTask):  # type: ignore[misc]
    """Gives errors that waitress finds before the application the shape of all other errors."""

    def execute(self) -> None:
        error = self.request.error
        codes = {413: "body_too_large", 431: "headers_too_large"}
        text = {413: "Request size limit exceeded", 431: "the headers are too large"}
        code, message = codes.get(error.code, "bad_request"), text.get(error.code, "not HTTP")
        path = getattr(self.request, "path", "")  # missing if the first line is not HTTP
        body, kind = render(Problem(error.code, code, message), path)
        self.status = f"{error.code} {error.reason}"
        id = logs.refused(getattr(self.request, "command", None) or "", error.code)
        self.response_headers += [("Content-Type", kind), *HEADERS.items(), (logs.REQUEST_ID, id)]
        self.set_close_on_finish()
        data = body.encode()
        self.content_length = len(data)
        self.write(data)


class _Channel(HTTPChannel):  # type: ignore[misc]
    error_task_class = _ErrorTask

    def readable(self) -> bool:
        """Whether to read more requests; a draining server only serves those that have come in."""
        return not self.server.draining and bool(super().readable())


class Server:
    """One listening socket, the threads behind it, and an orderly end.

    Args:
        app: what :func:`gec.web.app.create_app` made.
        config: the settings.
        listening: a bound socket to use, which other processes may use, too.
        tick: called by :meth:`run` several times a second.
    """

    def __init__(
        self,
        app: Flask,
        config: Config,
        listening: socket.socket | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        self._app = app
        self._config = config
        self._stopping = False
        self._tick = tick or (lambda: None)
        self._ticked = 0.0
        listening = listening or listen(config.host, config.port)
        self._waitress = create_server(
            app,
            sockets=[listening],
            threads=config.threads,
            connection_limit=config.connections,
            max_request_body_size=config.max_body + 2**16,  # the app refuses slightly larger ones
            max_request_header_size=HEADER_BYTES,
            channel_timeout=int(config.timeout) + 60,
            ident=None,
            clear_untrusted_proxy_headers=False,  # gec.web.proxies does that
        )
        self._waitress.channel_class = _Channel
        self._waitress.draining = False
        self.address = address_of(listening)

    def stop(self) -> None:
        """Make :meth:`run` end soon; safe in a signal handler and from another thread."""
        self._stopping = True

    def run(self) -> None:
        """Serve until :meth:`stop`; then finish the requests that have come in."""
        self._loop(lambda: not self._stopping)
        engine = engine_of(self._app)
        engine.draining = self._waitress.draining = True
        dispatcher.close(self._waitress)  # closes only the listening socket
        deadline = time.monotonic() + self._config.drain
        self._loop(lambda: self._busy() and time.monotonic() < deadline)
        cut = sum(bool(channel.requests) for channel in self._channels())
        if cut:
            log.warning("gave up on %d requests after %g seconds", cut, self._config.drain)
        self._waitress.task_dispatcher.shutdown(timeout=1)
        self._waitress.asyncore.close_all(self._waitress._map, ignore_all=True)
        engine.close()

    def _loop(self, go_on: Callable[[], bool]) -> None:
        while go_on():
            self._waitress.asyncore.loop(
                timeout=TICK, use_poll=True, map=self._waitress._map, count=1
            )
            if time.monotonic() - self._ticked >= TICK:
                self._ticked = time.monotonic()
                self._tick()

    def _channels(self) -> list[Any]:
        return list(self._waitress.active_channels.values())

    def _busy(self) -> bool:
        """Whether requests are in progress; closes the connections without a request."""
        busy = False
        for channel in self._channels():
            if channel.requests or channel.total_outbufs_len:
                busy = True
            else:
                channel.will_close = True
        return busy


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket.

    Raises:
        InputError: the address cannot be listened on.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen on {host} port {port}: {reason}") from None
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the address of a bound socket, for people."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def announce(address: str) -> None:
    """Say on standard output that requests are served."""
    print(f"gec serves {address}/ (Ctrl-C ends it)", flush=True)


def main(args: argparse.Namespace) -> int:
    """``gec serve``"""
    config = configuration(args)
    logs.set_up(args.log_level, config.log_format)
    if config.workers > 1:
        from gec.web.workers import serve

        return serve(config, args.log_level)
    server = Server(create_app(config), config)

    def stop(number: int, frame: FrameType | None) -> None:
        server.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    announce(server.address)
    server.run()
    return 0


def configuration(args: argparse.Namespace) -> Config:
    """Return the settings of a command line, which override the environment and the file."""
    options = {setting.name: getattr(args, setting.name, None) for setting in fields(Config)}
    options |= {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    if args.token_file is not None:
        options["token"] = read_token(args.token_file)
    return configure(options, os.environ, args.config)
