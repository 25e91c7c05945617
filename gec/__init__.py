"""Grammatical error correction: draft, verify, accept.

>>> import gec
>>> corrector = gec.load("en")                                         # doctest: +SKIP
>>> corrector.correct("She go to school every day .").text             # doctest: +SKIP
'She goes to school every day .'

Names are imported on first use, so that ``import gec`` and ``gec --help`` do not wait for torch.
"""

from typing import TYPE_CHECKING

from gec.errors import ConfigError, DataError, GecError, InputError, ModelError
from gec.exports import lazily

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

__getattr__, __dir__ = lazily(__name__, _HOMES)
