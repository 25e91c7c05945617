"""best_of: the same as torch's max, whatever the vocabulary's size."""

from __future__ import annotations

import pytest
import torch

from gec.models.engines.scores import best_of


@pytest.mark.parametrize("shape", [(1, 64), (5, 7), (5, 16), (3, 2, 96), (2, 3, 640), (0, 64)])
@pytest.mark.parametrize("levels", [2, 1000])
def test_the_largest_and_the_first_that_has_it(shape: tuple[int, ...], levels: int) -> None:
    """Few levels make ties, within a group of ids and across groups."""
    logits = torch.randint(levels, shape, generator=torch.Generator().manual_seed(0)).float()
    top, best = best_of(logits)
    want, place = logits.max(-1)
    assert torch.equal(top, want)
    assert torch.equal(best, place)
    assert torch.equal(best, logits.argmax(-1))
