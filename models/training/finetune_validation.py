"""What a fine-tuned decoder says of pairs that its run does not train on.

``gec data prepare`` holds them out sentence by sentence (:func:`held_out` in ``finetune_data``):
their neighbours in a text are trained on, and the weights that a run begins from (``--init``) may
have seen them. So these scores tell whether a run still learns, not how good a release is.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gec.models.training.finetune_batches import Batch
from gec.models.training.finetune_data import Examples
from gec.models.training.finetune_network import Trainer


@dataclass(slots=True)
class Scores:
    """Teacher-forced scores of one part's held-out pairs.

    Attributes:
        edited_loss, kept_loss: mean nats a token, of target tokens that differ from the source and
            of the others.
        edited_accuracy: share of the differing tokens that are the network's first choice.
        exact: share of the pairs with an edit of which every target token is its first choice.
        changed: share of the pairs without an edit of which at least one token is not.
    """

    pairs: int
    edited_loss: float
    kept_loss: float
    edited_accuracy: float
    exact: float
    changed: float


@torch.no_grad()
def validate(trainer: Trainer, examples: Examples) -> dict[str, Scores]:
    """Return the scores of each part of ``examples`` that has a pair, in the parts' order.

    A pair that is longer than the recipe's last width is left out. The layers are not compiled: a
    pass without gradients would be another graph for each width.
    """
    rows: dict[int, list[_Row]] = {}
    extra = len(trainer.config.separator) + 2
    lengths, least = examples.lengths() + extra, 0
    for width in trainer.training.widths:
        fitting = ((lengths > least) & (lengths <= width)).nonzero()[0].tolist()
        size = trainer.training.batch_tokens // width
        for start in range(0, len(fitting), size):
            chosen = fitting[start : start + size]
            batch = Batch.of(examples, chosen, width, trainer.config)
            for i, row in zip(chosen, _rows(trainer, batch), strict=True):
                rows.setdefault(examples.parts[i], []).append(row)
        least = width
    return {examples.names[part]: _scores(found) for part, found in sorted(rows.items())}


@dataclass(slots=True)
class _Row:
    """Sums over one pair's target tokens: (edited, kept)."""

    tokens: tuple[int, int]
    losses: tuple[float, float]
    right: tuple[int, int]


def _rows(trainer: Trainer, batch: Batch) -> list[_Row]:
    losses, right = trainer.scores(batch)
    edited, row_of = batch.edited[batch.wanted], batch.wanted.nonzero()[:, 0]
    found = []
    for row in range(len(batch.tokens)):
        own = row_of == row
        kinds = own & edited, own & ~edited
        found.append(
            _Row(
                (int(kinds[0].sum()), int(kinds[1].sum())),
                (float(losses[kinds[0]].sum()), float(losses[kinds[1]].sum())),
                (int(right[kinds[0]].sum()), int(right[kinds[1]].sum())),
            )
        )
    return found


def _scores(rows: list[_Row]) -> Scores:
    changes = [row for row in rows if row.tokens[0]]
    same = [row for row in rows if not row.tokens[0]]
    edited, kept = (sum(row.tokens[k] for row in rows) for k in (0, 1))
    return Scores(
        len(rows),
        _share(sum(row.losses[0] for row in rows), edited),
        _share(sum(row.losses[1] for row in rows), kept),
        _share(sum(row.right[0] for row in rows), edited),
        _share(sum(row.right == row.tokens for row in changes), len(changes)),
        _share(sum(row.right != row.tokens for row in same), len(same)),
    )


def _share(total: float, count: int) -> float:
    return total / count if count else 0.0
