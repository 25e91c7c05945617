"""What a pass of the verifier says: the questions that acceptance rules ask it.

A pass scores blocks of tokens, one block a row. A *place* is one token of a row's block, and its
scores are those of the token that follows it. Scores stay where the model computed them. A rule
asks for *columns*, numbers for every place, and fetches all that it needs with one
:meth:`Scores.read`, which is one transfer from a device. ``gec.models.engines.scores`` implements
this with torch, :mod:`gec.decoding.numpy_scores` with numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gec.decoding.sampling import Sampling

Rows = Sequence[Sequence[int]]
"""Per row the tokens of its first places; places behind them have none."""

Column = Any
"""A number, or a list of numbers, for every place; not yet fetched."""

Part = Any
"""The distributions of some places of one row."""


class Distributions(Protocol):
    """The distribution p of the next token at every place."""

    def part(self, row: int, count: int) -> Part:
        """Return what the tokens at a row's first ``count`` places were drawn from."""

    def speculate(
        self,
        drafts: Rows,
        drawn: Sequence[Sequence[Part]] | None,
        chances: Sequence[Sequence[float]],
        last: Sequence[float],
    ) -> list[tuple[int, int]]:
        """Accept or redraw drafts as :mod:`gec.decoding.sampling` says.

        Args:
            drafts: the drafted tokens.
            drawn: per row the parts of q, what its drafted tokens were drawn from, one after
                another; None: each token was chosen with probability 1.
            chances: for each drafted token a number from 0 to below 1 that decides if it stands.
            last: for each row a number that draws its last token.

        Returns:
            Per row how many drafted tokens stand, and the token after them.

        Raises:
            ModelError: p and q have not the same vocabulary.
        """

    def draw(self, numbers: Sequence[float]) -> list[int]:
        """Draw a token at the first place of every row, each with its number of 0 to below 1."""


class Scores(Protocol):
    """The scores of the next token at every place of a pass.

    Attributes:
        lengths: how many places each row has.
    """

    lengths: Sequence[int]

    def best(self) -> Column:
        """Return the likeliest token, of equals the one with the smallest id."""

    def behind(self, tokens: Rows) -> Column:
        """Return by how many nats the tokens are less likely than the likeliest; infinity for none.

        Greedy decoding needs no logarithm of a sum for it: it is a difference of logits.
        """

    def rank(self, tokens: Rows) -> Column:
        """Return how many tokens are likelier than the given ones, at least 0; for none, all."""

    def logprobs(self, *tokens: Rows | Column) -> list[Column]:
        """Return the log-probabilities (nats) of some tokens or columns of tokens."""

    def certainty(self) -> Column:
        """Return the probability of the likeliest token."""

    def read(self, *columns: Column) -> list[list[list[Any]]]:
        """Fetch columns in one transfer; return of each its numbers by row and place."""

    def top(self, count: int) -> list[Column]:
        """Return the log-probabilities (nats) and the ids of the ``count`` likeliest tokens.

        Both are columns of lists, likeliest first; a smaller vocabulary makes shorter ones.
        """

    def distribution(self, sampling: Sampling) -> Distributions:
        """Return what ``sampling`` draws the next tokens from."""

    def after(self, counts: Sequence[int]) -> Scores:
        """Return the scores without the first ``counts[r]`` places of each row r."""

    def at(self, places: Sequence[int]) -> Scores:
        """Return the scores of one place of every row."""
