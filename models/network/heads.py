"""Extra heads on a verifier for blockwise parallel decoding (Stern et al. 2018).

Head j (from 1) predicts the token j places beyond the next one, from the decoder's hidden state
through a feed-forward layer of its own with a skip connection, then the verifier's own output
layer (section 6). Two things differ from the paper: the untouched verifier predicts the next token
itself, so the output is that of the verifier alone; and each head has its own layer rather than a
slice of one dense layer over all k, whose size grows with the square of k.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from gec.errors import ModelError


class Heads(nn.Module):
    """``count`` heads over hidden states of ``width``; a block has k = count + 1 tokens."""

    def __init__(self, count: int, width: int, hidden: int) -> None:
        super().__init__()
        if min(count, width, hidden) < 1:
            raise ModelError(f"heads need sizes of at least 1, not {(count, width, hidden)}")
        self.count, self.width, self.hidden = count, width, hidden
        self.norm = nn.LayerNorm(width)
        self.up = nn.ModuleList(nn.Linear(width, hidden) for _ in range(count))
        self.down = nn.ModuleList(nn.Linear(hidden, width) for _ in range(count))

    def forward(self, states: Tensor, head: int) -> Tensor:
        """Return the hidden states [..., D] of head ``head`` (from 0) for ``states`` [..., D]."""
        return states + self.down[head](F.relu(self.up[head](self.norm(states))))
