"""Metrics for Prometheus: counts and times, nothing of any text.

If several workers serve, each keeps its numbers in files of its own, and whichever is asked for
the metrics adds up all of them. A worker that takes another's place goes on with its numbers.
"""

from __future__ import annotations

import os
import threading
import time

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from gec.web.decoding import DecodingService
from gec.web.logs import method_of
from gec.web.shared import Shared

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one application, in a registry of their own.

    A worker of several (``shared``) makes them once in its process: prometheus_client has one
    place for a process's files.
    """

    def __init__(self, shared: Shared | None = None) -> None:
        self._shared = shared
        self._service: DecodingService | None = None
        self._lock = threading.Lock()
        self._counted = [0, 0, 0]
        if shared is not None:
            worker = shared.worker
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(shared.folder)
            in_files = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]
            values.ValueClass = in_files
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "gec_requests",
            "Requests answered",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "gec_request_seconds",
            "From a request to the beginning of its answer",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            "gec_batch_sentences",
            "Sentences decoded together",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=self._registry,
        )
        self._decoding = Histogram(
            "gec_batch_seconds",
            "Decoding of a batch",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._queued = self._gauge("gec_queue_sentences", "Sentences waiting")
        self._known = self._gauge("gec_cache_sentences", "Sentences known")
        self._counters = (
            self._counter("gec_cache_hits", "Sentences not decoded again"),
            self._counter("gec_cache_misses", "Sentences to decode"),
            self._counter("gec_decode_failures", "Sentences the model failed at"),
        )
        restarts = self._counter("gec_worker_restarts", "Workers started for one that ended")
        if shared is not None and shared.restarts:
            restarts.inc()

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(name, help, registry=self._registry, multiprocess_mode="sum")

    def _counter(self, name: str, help: str) -> Counter:
        return Counter(name, help, registry=self._registry)

    def watch(self, app: Flask, service: DecodingService) -> None:
        """Count an application's requests, and read its decoding service at every scrape."""
        self._service = service
        app.after_request(self.on_response)

    def read(self) -> None:
        """Take over the decoding service's numbers; workers do so often, for one another."""
        service = self._service
        if service is None:
            return
        with self._lock:
            self._queued.set(service.queued)
            self._known.set(len(service.cache))
            now = [service.hits, service.misses, service.failures]
            for counter, count, before in zip(self._counters, now, self._counted, strict=True):
                counter.inc(count - before)
            self._counted = now

    def on_response(self, response: Response) -> Response:
        """Count the present request and its time; return the response unchanged."""
        route = request.url_rule.rule if request.url_rule else "none"
        method = method_of(request.method)
        seconds = time.monotonic() - g.began
        self._requests.labels(route, method, response.status_code).inc()
        self._seconds.labels(route).observe(seconds)
        return response

    def on_batch(self, size: int, seconds: float) -> None:
        """Count a batch of ``size`` sentences that took ``seconds``."""
        self._batches.observe(size)
        self._decoding.observe(seconds)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format, those of all workers added up."""
        self.read()
        if self._shared is None:
            return generate_latest(self._registry)
        everybody = CollectorRegistry()
        folder = str(self._shared.folder)
        MultiProcessCollector(everybody, folder)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)
