r"""Run fairseq 0.12.2, which is unmaintained, on Python 3.11 and later with a current PyTorch.

Call :func:`load_fairseq` before the first ``import fairseq``; nothing else is needed, and the
``--user-dir`` plugin (models/fairseq_plugin) and ``python -m gec.models.convert.fairseq_compat
TOOL`` do it themselves::

    python -m gec.models.convert.fairseq_compat generate DATA --path checkpoint_best.pt --beam 5
    python -m gec.models.convert.fairseq_compat train DATA --user-dir gec --task gec \
        --arch gec_block ...

``--user-dir gec`` is the plugin's folder, wherever it is installed.

What has to be put right, each in a function below:

1. fairseq, hydra 1.0 and omegaconf 2.0 declare dataclass fields like ``common: Common = Common()``.
   Python 3.11 refuses a default whose class has no hash. The classes get one while they import.
2. numpy has had no ``np.float`` and ``np.int`` since 1.24, Python no ``typing.io`` since 3.13.
3. ``torch.load`` reads weights only since PyTorch 2.6. fairseq's own checkpoints need a few plain
   classes besides; they are allowed by name, and pickles that run code stay refused.
4. fairseq sends post-norm encoders through PyTorch's fused layer, whose nested tensors fairseq
   cannot put back into a batch that holds padding (batched generation fails or differs).

Installing has traps of its own, see the target ``.venv-fairseq`` of the Makefile: the metadata of
omegaconf 2.0.6 is refused by pip 24.1 and later, and fairseq must be built without isolation.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from gec.errors import ConfigError

VERSION = "0.12.2"
TOOLS = ("preprocess", "train", "generate", "interactive", "validate", "score")
_OLD_STYLE = ("fairseq", "hydra", "omegaconf")


def load_fairseq() -> ModuleType:
    """Import fairseq with everything put right and return it; later calls cost nothing.

    Raises:
        ConfigError: fairseq is not installed, or was imported before without the repairs.
    """
    if "fairseq" in sys.modules:
        return sys.modules["fairseq"]
    _restore_names()
    try:
        with _hashable_dataclasses():
            import fairseq
            import fairseq.checkpoint_utils
            import fairseq.tasks.translation
    except ImportError as error:
        raise ConfigError(
            f"fairseq {VERSION} cannot be imported ({error}); 'make .venv-fairseq/.ready' builds "
            "an environment of its own for it"
        ) from error
    _allow_checkpoint_classes()
    _leave_fast_path()
    module: ModuleType = fairseq
    return module


@contextmanager
def _hashable_dataclasses() -> Iterator[None]:
    """Give the dataclasses of fairseq, hydra and omegaconf ``unsafe_hash`` while they import.

    Python 3.11 takes a default without a hash for a mutable one and raises ValueError. These
    defaults are never changed in place: fairseq copies its configuration before it fills it in.
    """
    original: Callable[..., Any] = dataclasses.dataclass

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        def decorate(cls: type) -> Any:
            if cls.__module__.partition(".")[0] in _OLD_STYLE and not options.get("frozen"):
                return original(cls, **{"unsafe_hash": True, **options})
            return original(cls, **options)

        return decorate if cls is None else decorate(cls)

    dataclasses.dataclass = dataclass
    try:
        yield
    finally:
        dataclasses.dataclass = original


def _restore_names() -> None:
    """Put back names that numpy and Python have dropped and fairseq or antlr still use."""
    import numpy

    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in vars(numpy):
            setattr(numpy, name, kind)
    if sys.version_info >= (3, 13):
        sys.modules.setdefault("typing.io", typing)


def _allow_checkpoint_classes() -> None:
    """Let ``torch.load`` read fairseq's checkpoints with ``weights_only``, its default."""
    import torch
    from fairseq import meters

    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            collections.OrderedDict,
            meters.AverageMeter,
            meters.StopwatchMeter,
            meters.TimeMeter,
        ]
    )


def _leave_fast_path() -> None:
    """Run every encoder layer by fairseq's own code.

    The flag is set in each layer's constructor; a property that ignores it wins over the instance.
    """
    from fairseq.modules.transformer_layer import TransformerEncoderLayerBase

    TransformerEncoderLayerBase.can_use_fastpath = property(
        lambda layer: False, lambda layer, value: None
    )


def main(arguments: list[str] | None = None) -> int | None:
    """Run one of fairseq's command line tools, as ``python -m`` this module ``TOOL ...`` does."""
    from importlib import import_module

    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] not in TOOLS:
        raise ConfigError(f"the first argument must be one of {', '.join(TOOLS)}")
    load_fairseq()
    with _hashable_dataclasses():
        tool = import_module(f"fairseq_cli.{arguments[0]}")
    sys.argv = [f"fairseq-{arguments[0]}", *_with_plugin(arguments[1:])]
    status: int | None = tool.cli_main()
    return status


def _with_plugin(arguments: list[str]) -> list[str]:
    """Put the plugin's folder behind ``--user-dir gec``."""
    folder = str(Path(__file__).parents[1] / "fairseq_plugin")
    before = [None, *arguments]
    return [
        folder if (last, given) == ("--user-dir", "gec") else given
        for last, given in zip(before, arguments, strict=False)
    ]


if __name__ == "__main__":
    sys.exit(main())
