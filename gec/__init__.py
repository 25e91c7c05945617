"""Grammatical error correction: draft, verify, accept.

>>> import gec
>>> corrector = gec.load("en")                                         # doctest: +SKIP
>>> corrector.correct("She go to school every day .").text             # doctest: +SKIP
'She goes to school every day .'

Names are imported on first use, so that ``import gec`` and ``gec --help`` do not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gec.errors import ConfigError, DataError, GecError, InputError, ModelError

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector
    from gec.correct.options import Options
    from gec.correct.result import Correction
    from gec.edits.edits import Edit
    from gec.loading import load

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "Correction",
    "Corrector",
    "DataError",
    "Edit",
    "GecError",
    "InputError",
    "ModelError",
    "Options",
    "__version__",
    "load",
]

_HOMES = {
    "Correction": "gec.correct.result",
    "Corrector": "gec.correct.corrector",
    "Edit": "gec.edits.edits",
    "Options": "gec.correct.options",
    "load": "gec.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gec' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
