"""Our own loop over torch: what the engine without torch is compared with."""

from __future__ import annotations

from gec.errors import ModelError
from gec.eval.benchmark.contenders import Contender, Floor, Ours, model_of
from gec.eval.benchmark.peers import Setup


def contenders(setup: Setup) -> list[Contender]:
    """Return our strategies as torch runs them.

    Raises:
        ModelError: outputs have lengths of their own (replay).
    """
    if setup.lengths is not None:
        raise ModelError("the same loop under torch is timed with the bundle's own weights only")
    return [
        Ours(model, strategy, precision, setup.limit, "torch", setup.bundle.subwords)
        for precision in setup.precisions
        for model in [model_of(setup.bundle.network, precision, setup.device, in_torch=True)]
        for strategy in setup.strategies
        if strategy != Floor.strategy
    ]
