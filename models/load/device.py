"""Devices to run on."""

from __future__ import annotations

import torch

from gec.errors import ConfigError


def device_of(name: str | None) -> torch.device:
    """Return a device that can be used; None takes CUDA if there is any.

    Raises:
        ConfigError: it cannot be used.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device
