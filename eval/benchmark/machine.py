"""What a measurement was made on, so that another can be compared with it."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import torch

import gec
from gec.models.engines import native

FLAGS = "avx2 avx512f avx512_vnni avx_vnni avx512_bf16 amx_int8 amx_bf16 asimddp i8mm".split()
PACKAGES = ("torch", "ctranslate2", "transformers", "numpy")
BUSY = 0.25
"""Load average a core above which times mean little."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware and software of a run.

    Attributes:
        flags: the CPU features that matter for matrix products.
        native: whether int8 networks compute by gec.models.engines.native.
        memory_gib: of the whole machine; None if it is unknown.
        versions: of Python, gec and the packages that compute.
    """

    cpu: str
    cores: int
    threads: int
    flags: tuple[str, ...]
    native: bool
    memory_gib: float | None
    accelerator: str | None
    system: str
    versions: dict[str, str]
    date: str

    def line(self) -> str:
        """Return all of it but the versions of Python and numpy, as one line."""
        parts = [self.cpu, f"{self.cores} cores", f"{self.threads} threads"]
        parts += [" ".join(self.flags)] if self.flags else []
        parts += ["native kernels" if self.native else "no native kernels"]
        parts += [f"{self.memory_gib:.0f} GiB"] if self.memory_gib else []
        parts += [self.accelerator] if self.accelerator else []
        shown = {k: v for k, v in self.versions.items() if k not in ("python", "numpy")}
        versions = [f"{name} {version}" for name, version in shown.items()]
        return ", ".join([*parts, self.system, *versions, self.date])


def describe() -> Machine:
    """Describe the machine as it is now, with the threads that torch is set to."""
    info = _cpu_info()
    found = set(info.get("flags", info.get("Features", "")).split())
    return Machine(
        cpu=info.get("model name") or platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        flags=tuple(flag for flag in FLAGS if flag in found),
        native=native.available(),
        memory_gib=_memory(),
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        system=f"{platform.system()} {platform.release()}",
        versions=_versions(),
        date=datetime.now(UTC).date().isoformat(),
    )


def load_average() -> float | None:
    """Return the processes that wanted a core in the last minute, None where nobody counts."""
    with suppress(OSError, AttributeError):
        return round(os.getloadavg()[0], 2)
    return None


def is_busy(load: float | None) -> bool:
    """Tell whether others leave the benchmark too little."""
    return load is not None and load > BUSY * (os.cpu_count() or 1)


def _cpu_info() -> dict[str, str]:
    """Return the first processor's lines of Linux's /proc/cpuinfo; nothing elsewhere."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
    pairs = (line.partition(":")[::2] for line in lines)
    return {name.strip(): value.strip() for name, value in pairs}


def _memory() -> float | None:
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "gec": gec.__version__}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
