"""Which layers of a trained network the layers of another shape begin as: a recipe's ``[carry]``.

A deeper network begins as the same function as the one it is made of: a layer that repeats the one
before adds nothing at first (its branches' last matrices are zero), as in Chen et al. 2016,
*Net2Net*, section 2.3. A shallower one is made of some of the layers and has to learn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gec.errors import ConfigError

_LAST = ("attention.out", "cross.out", "ffn.down")
"""What ends a layer's branches, before they are added to what the layer was given."""


@dataclass(frozen=True, slots=True)
class Carry:
    """Numbers of the layers to begin as, in their new order; of what is empty, all are taken.

    Attributes:
        encoder, decoder: of an encoder-decoder.
        layers: of a decoder alone.
    """

    encoder: tuple[int, ...] = ()
    decoder: tuple[int, ...] = ()
    layers: tuple[int, ...] = ()

    def of(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weights of the other shape.

        Raises:
            ConfigError: the network has no such layer.
        """
        chosen = {"encoder": self.encoder, "decoder": self.decoder, "layers": self.layers}
        taken = dict(state)
        for stack, numbers in chosen.items():
            if numbers:
                taken = _restacked(taken, stack, numbers)
        return taken


def _restacked(
    state: Mapping[str, Tensor], stack: str, numbers: Sequence[int]
) -> dict[str, Tensor]:
    prefix = f"{stack}."
    layers: dict[str, dict[str, Tensor]] = {}
    kept = {}
    for name, x in state.items():
        if name.startswith(prefix):
            own, _, rest = name.removeprefix(prefix).partition(".")
            layers.setdefault(own, {})[rest] = x
        else:
            kept[name] = x
    if missing := [n for n in numbers if str(n) not in layers]:
        raise ConfigError(f"[carry] {stack}: there is no layer {missing[0]}")
    for place, number in enumerate(numbers):
        repeats = place > 0 and numbers[place - 1] == number
        for rest, x in layers[str(number)].items():
            silent = repeats and rest.rpartition(".")[0] in _LAST
            kept[f"{prefix}{place}.{rest}"] = torch.zeros_like(x) if silent else x.clone()
    return kept
