"""How much memory was in use at most. Nothing heavy is imported: measured processes read this."""

from __future__ import annotations

import sys
from pathlib import Path

from gec.errors import ConfigError


def peak_memory() -> int:
    """Return the most bytes this process had resident.

    Linux's getrusage also counts what the parent had when it forked, so it is asked only elsewhere.

    Raises:
        ConfigError: there is no getrusage (Windows).
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        found = next(line for line in lines if line.startswith("VmHWM:"))
        return int(found.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        raise ConfigError("memory cannot be measured here: there is no getrusage") from None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def reset_device_peak() -> None:
    """Let :func:`device_peak` look at what comes from now on, if there is a GPU."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def device_peak() -> float | None:
    """Return MB: of the GPU since the last reset, or of the process; None if it is not known."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e6
    try:
        return peak_memory() / 1e6
    except ConfigError:
        return None
