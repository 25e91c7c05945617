"""Signals that ask a run to save and end."""

from __future__ import annotations

import signal
from types import FrameType


class Stop:
    """Listens to signals within the block.

    A signal to the process group ends the workers of the data, too, and torch raises their end
    wherever the run just is. Once the run is asked to end, that error ends the block and nothing
    more: the step may be half done, so the last checkpoint stands.
    """

    def __enter__(self) -> Stop:
        self._asked = self._resumed = False
        handlers = {signal.SIGTERM: self._ask, signal.SIGINT: self._ask}
        if hasattr(signal, "SIGCONT"):
            handlers[signal.SIGCONT] = self._go_on
        self._before = {name: signal.signal(name, handlers[name]) for name in handlers}
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        for name, handler in self._before.items():
            signal.signal(name, handler)
        return self._asked and isinstance(error, RuntimeError) and "DataLoader worker" in str(error)

    def asked(self) -> bool:
        """Return whether SIGTERM or SIGINT asked the run to save and end."""
        return self._asked

    def resumed(self) -> bool:
        """Return whether the process was stopped (SIGSTOP) and went on since the last call."""
        resumed, self._resumed = self._resumed, False
        return resumed

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True

    def _go_on(self, _number: int, _frame: FrameType | None) -> None:
        self._resumed = True


def deaf(_worker: int) -> None:
    """Let a worker outlive a SIGTERM to the process group: the run ends it, once it has saved."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
