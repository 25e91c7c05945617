"""Metrics for Prometheus: counts and times, nothing of any text."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gec.web.decoding import DecodingService

log = logging.getLogger("gec.web")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class Metrics:
    """The metrics of one application, in a registry of their own."""

    def __init__(self) -> None:
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

    def watch(self, app: Flask, service: DecodingService) -> None:
        """Count an application's requests, and read its decoding service at every scrape."""
        self._registry.register(_ServiceCollector(service))
        app.after_request(self.on_response)

    def on_response(self, response: Response) -> Response:
        """Count the present request and its time; return the response unchanged."""
        route = request.url_rule.rule if request.url_rule else "none"
        method = request.method if request.method in _METHODS else "other"
        seconds = time.monotonic() - g.began
        self._requests.labels(route, method, response.status_code).inc()
        self._seconds.labels(route).observe(seconds)
        log.info("%s %s %d %.0f ms", method, route, response.status_code, 1000 * seconds)
        return response

    def on_batch(self, size: int, seconds: float) -> None:
        """Count a batch of ``size`` sentences that took ``seconds``."""
        self._batches.observe(size)
        self._decoding.observe(seconds)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class _ServiceCollector(Collector):
    def __init__(self, service: DecodingService) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        service = self._service
        yield GaugeMetricFamily("gec_queue_sentences", "Sentences waiting", service.queued)
        yield GaugeMetricFamily("gec_cache_sentences", "Sentences known", len(service.cache))
        yield CounterMetricFamily("gec_cache_hits", "Sentences not decoded again", service.hits)
        yield CounterMetricFamily("gec_cache_misses", "Sentences to decode", service.misses)
        yield CounterMetricFamily(
            "gec_decode_failures", "Sentences the model failed at", service.failures
        )
