"""Bodies of work on static buffers, made repeatable as CUDA graphs or left as they are."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from typing import Any

import torch
from torch import Tensor

Body = Callable[[], Tensor]
"""Work on static buffers only; doing it again changes nothing."""

_log = logging.getLogger(__name__)
_CAPTURING = Lock()  # PyTorch captures one graph at a time


def uncaptured(body: Body) -> Body:
    """Return what repeats a body: the body."""
    return body


class CudaGraphs:
    """Captures bodies as CUDA graphs of one device that share one pool of memory.

    The first replay is compared with the body itself. Where capturing fails or the results differ
    there is one warning, and nothing is captured from then on.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: Any = None  # one: libraries keep a workspace for every stream
        self._pool: Any = None
        self._broken = False

    def __call__(self, body: Body) -> Body:
        if self._broken:
            return body
        with _CAPTURING, torch.cuda.device(self._device):
            return self._captured(body)

    def _captured(self, body: Body) -> Body:
        if self._stream is None:
            self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.stream(self._stream):  # it is left even where a capture fails
                body()  # libraries make their workspaces before the capture
                expected = body().clone()
                result = self._capture(graph, body)
                result.fill_(torch.nan)
                graph.replay()
                torch.testing.assert_close(result, expected, equal_nan=True)
        except (RuntimeError, AssertionError) as error:
            self._broken = True
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            _log.warning("passes are not captured as CUDA graphs: %s", reason)
            return body
        finally:
            current.wait_stream(self._stream)

        def replay() -> Tensor:
            graph.replay()
            return result

        return replay

    def _capture(self, graph: torch.cuda.CUDAGraph, body: Body) -> Tensor:
        options: Any = {
            "pool": self._pool,
            "stream": self._stream,  # the default one may be another device's
            "capture_error_mode": "thread_local",
        }
        # what torch itself makes for a capture must be of use outside inference mode, too
        with (
            torch.inference_mode(False),
            torch.cuda.graph(graph, **options),
            torch.inference_mode(),
        ):
            result = body()
        self._pool = graph.pool()
        return result
