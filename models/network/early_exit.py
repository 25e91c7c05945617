"""Early exit: a Transformer that learns to predict behind an early decoder layer, too.

Kim et al. 2023, *Speculative Decoding with Big Little Decoder*, section 4.4. The network is trained
with the mean of the losses after an early layer and after the last. Both share one output layer.
:class:`gec.models.engines.exit_verifier.EarlyExitVerifier` decodes with it.

Shapes: B rows, T block length, D model width, V vocabulary.
"""

from __future__ import annotations

from torch import Tensor, nn

from gec.errors import ModelError
from gec.models.network.cache import LayerCache, PassingCache, Positions
from gec.models.network.transformer import Transformer, TransformerConfig


def check_exit(config: TransformerConfig, layers: int) -> None:
    """Raise ModelError unless there are layers before and behind the exit."""
    if not 1 <= layers < config.decoder_layers:
        raise ModelError(
            f"an early exit must lie behind decoder layer 1 to "
            f"{config.decoder_layers - 1}, not {layers}"
        )


class EarlyExitTrainee(nn.Module):
    """A Transformer in training that also predicts from its ``layers``-th decoder layer."""

    def __init__(self, network: Transformer, layers: int = 1) -> None:
        super().__init__()
        check_exit(network.config, layers)
        self.network, self.layers = network, layers

    def forward(self, source: Tensor, target_in: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits [N, V] of the first layers and of all layers.

        ``wanted`` [B, T] bool marks the N positions to score. The loss is the mean of both
        cross-entropies.
        """
        network = self.network
        mask = (source != network.config.pad_id)[:, None, None, :]
        encoded = network.encode(source, mask)
        caches: list[LayerCache] = [PassingCache(cache) for cache in network.caches(encoded)]
        positions = Positions.of([0], target_in.shape[1], source.device)
        x = network.embed_block(target_in, positions)  # [B, T, D]
        early = network.decode_layers(x, caches, positions, mask, slice(self.layers))
        last = network.decode_layers(early, caches, positions, mask, slice(self.layers, None))
        return self._logits(early[wanted]), self._logits(last[wanted])

    def _logits(self, x: Tensor) -> Tensor:
        """Map states [N, D] of a decoder layer to logits [N, V] by the shared norm and output."""
        return self.network.output(self.network.final(x))
