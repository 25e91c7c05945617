"""Devices to run on, and how to learn of them without torch, which takes a second to import."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gec.errors import ConfigError

if TYPE_CHECKING:
    import torch

_DRIVERS = ("/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/dxg", "/dev/kfd")
"""What Linux has if there may be a GPU: NVIDIA's, Tegra's, Windows' below it, AMD's."""


def device_of(name: str | None) -> torch.device:
    """Return a device that can be used; None takes CUDA if there is any.

    Raises:
        ConfigError: it cannot be used.
    """
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


def type_of(name: str | None) -> str:
    """Return the type of the device that :func:`device_of` returns: "cpu", "cuda".

    Raises:
        ConfigError: it cannot be used.
    """
    if name == "cpu" or (name is None and not may_have_gpu()):
        return "cpu"
    return device_of(name).type


def count_gpus() -> int:
    """Return how many GPUs torch could use."""
    if not may_have_gpu():
        return 0
    import torch

    return torch.cuda.device_count()


def may_have_gpu() -> bool:
    """Whether torch is there and the machine has the driver of a GPU that torch uses."""
    if sys.platform == "win32":
        driver = Path(os.environ.get("SYSTEMROOT", ""), "System32", "nvcuda.dll").exists()
    else:
        driver = sys.platform == "linux" and any(map(os.path.exists, _DRIVERS))
    return driver and find_spec("torch") is not None
