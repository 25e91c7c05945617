"""The non-autoregressive (NAT) drafter: the next k tokens in one pass.

Ge et al. 2022, section 4.1; Xia et al. 2022, section 3.2. An encoder-decoder whose decoder reads
``[decoded prefix ; k x MASK]`` and predicts a token at every MASK. Shapes: B rows, S source
length, P longest prefix (BOS included), k block size, T = P + k, D width, V vocabulary.

The papers name two options as future work: the drafter may read the verifier's encoder output
instead of encoding again, and its prefix may be causal, so that the states of the prefix do not
depend on the MASKs and are cached like the verifier's. A drafter of both kinds may also read what
the verifier made of the output so far (Cai et al. 2024, *Medusa*, section 3.1, has heads do so; Li
et al. 2024, *EAGLE*, section 4.1, a layer): all layers of the verifier stand behind its states.

Four more options give the network of the papers' release (fairseq's ``--arch block``), so that its
checkpoints can be read: MASK is a token of the vocabulary; a MASK is fed the embeddings that an
attention from its position copies from the source; the prefix has no BOS; and positions are added
anew before every layer of the decoder.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.network.cache import LayerCache, PassingCache, Positions
from gec.models.network.nat_config import NatConfig as NatConfig
from gec.models.network.transformer import Transformer, TransformerConfig


class NatTransformer(Transformer):
    """A :class:`Transformer` with a MASK, whose id is ``mask_id``, and block masks.

    Attributes:
        said: the ids [V] that the output layer scores; None: it scores all.
        places: where in ``said`` each id of the vocabulary stands, or -1.
    """

    said: Tensor | None
    places: Tensor | None

    def __init__(self, config: TransformerConfig, nat: NatConfig) -> None:
        nat.check(config)
        super().__init__(config)
        self.nat = nat
        if nat.mask_id is None:
            self.mask_id = config.vocab_size
            self.mask = nn.Parameter(torch.randn(config.width) * config.width**-0.5)
        else:
            self.mask_id = nat.mask_id
        if nat.copies_source:
            self.copy = nn.Linear(config.width, config.width, bias=False)
            nn.init.xavier_uniform_(self.copy.weight)
        self.register_buffer("said", None, persistent=False)
        self.register_buffer("places", None, persistent=False)
        if nat.output_ids:
            self.output = nn.Linear(config.width, len(nat.output_ids), bias=config.output_bias)
            self.restore_buffers()
        if nat.output_states:
            self.states = nn.Linear(config.width, config.width, bias=False)
            nn.init.eye_(self.states.weight)
            with torch.no_grad():
                self.states.weight *= config.width**-0.5  # a norm's output gets an embedding's size
        if nat.shared_encoder:
            self.encoder, self.encoder_norm = nn.ModuleList(), nn.Identity()
            if config.positions == "learned":
                del self.encoder_positions

    def restore_buffers(self) -> None:
        """As of a :class:`Transformer`."""
        super().restore_buffers()
        if self.nat.output_ids:
            self.said = torch.tensor(self.nat.output_ids, device=self.device)
            self.places = torch.full((self.config.vocab_size,), -1, device=self.device)
            self.places[self.said] = torch.arange(len(self.said), device=self.device)

    def likeliest(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the largest of logits [..., V] and the ids [...] that they are of."""
        best, tokens = logits.max(-1)
        return best, tokens if self.said is None else self.said[tokens]

    def embed(self, tokens: Tensor, index: Tensor, side: str) -> Tensor:
        if self.nat.mask_id is not None:  # a token like any other
            return super().embed(tokens, index, side)
        masked = tokens == self.mask_id
        x = super().embed(tokens.masked_fill(masked, self.config.pad_id), index, side)
        return x + masked[..., None] * self.mask.to(x.dtype)  # the pad's embedding is zero

    def copied_source(self, source: Tensor) -> list[LayerCache]:
        """Return one more cache, for what MASKs copy from source ids [B, S], or an empty list.

        The cache has one head: its values are the source's embeddings, its keys the embeddings
        plus positions. In a list of caches it stands after those of the layers.
        """
        if not self.nat.copies_source:
            return []
        values = self._tokens(source, "encoder")
        index = torch.arange(source.shape[1], device=source.device)
        keys = values + self._places(index, "encoder").to(values.dtype)
        return [LayerCache(keys[:, :, None], values[:, :, None])]

    def decode_block(
        self,
        tokens: Tensor,
        caches: list[LayerCache],
        positions: Positions,
        source_mask: Tensor | None = None,
        states: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states as :meth:`Transformer.decode_block` does.

        Args:
            caches: the layers' caches and then those of :meth:`copied_source`.
            states: [B, T, D], the verifier's states that are fed with the tokens.
        """
        if not self.nat.layer_positions:
            x = self.embed_block(tokens, positions)
            if states is not None:
                x = x + self.states(states.to(x.dtype))
            return self.final(self.decode_layers(x, caches, positions, source_mask))
        x = self._tokens(tokens, "decoder")
        index = positions.index.clamp_max(self.config.max_positions - 1)
        places = self._places(index, "decoder").to(x.dtype)  # [T, D] or [B, T, D]
        if self.nat.copies_source:
            *caches, source = caches
            copied = self._copied(places.expand_as(x), source, source_mask)
            x = torch.where((tokens == self.mask_id)[..., None], copied, x)
        for layer, cache in zip(self.decoder, caches, strict=True):
            x = x + places
            x = F.dropout(x, self.config.dropout) if self.training else x
            x = layer(x, cache, positions, source_mask)
        hidden: Tensor = self.decoder_norm(x)
        return hidden

    def _copied(self, places: Tensor, source: LayerCache, mask: Tensor | None) -> Tensor:
        """Return a mean [B, T, D] of the source's embeddings for each position [B, T, D].

        Attention with one head, without scaling, weighs the embeddings: the query is the position,
        the keys include their positions, the values do not.
        """
        keys, values = source.source_keys.squeeze(2), source.source_values.squeeze(2)  # [B, S, D]
        mask = None if mask is None else mask.squeeze(1)  # [B, 1, S]
        return F.scaled_dot_product_attention(
            self.copy(places), keys, values, attn_mask=mask, scale=1.0
        )

    def blocks(
        self,
        tokens: Tensor,
        prefixes: Tensor,
        caches: list[LayerCache],
        source_mask: Tensor | None,
        k: int,
        states: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states [B, k, D] of the blocks, computing every prefix anew.

        Args:
            tokens: [B, T]; row r is a prefix of ``prefixes[r]`` tokens, then k MASKs or (if shown
                in training) tokens, then padding.
            prefixes: [B] lengths of the prefixes.
            caches: the source's keys and values; the pass stores nothing in them.
            states: [B, at least longest prefix - 1, D], the verifier's of BOS and the tokens
                behind it.
        """
        width = tokens.shape[1]
        mask = block_mask(prefixes, k, width, causal_prefix=self.nat.causal_prefix)
        index = torch.arange(width, device=tokens.device)
        positions = Positions(index, 0, width, mask, False)
        passing = [PassingCache(cache) for cache in caches]
        fed = None if states is None else fed_states(states, prefixes, index.expand(tokens.shape))
        hidden = self.decode_block(
            tokens, cast(list[LayerCache], passing), positions, source_mask, fed
        )
        places = prefixes[:, None] + torch.arange(k, device=tokens.device)
        return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))

    def forward(  # type: ignore[override]
        self,
        source: Tensor,
        target: Tensor,
        prefixes: Tensor,
        k: int,
        glanced: float = 0.0,
        encoded: Tensor | None = None,
        states: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Predict the block of every row after its prefix, as in training.

        With ``glanced`` the network first predicts the block from MASKs. Then a share of the target
        tokens, ``glanced`` times the share of wrong predictions, is drawn token by token and shown
        in place of MASKs (glancing; Qian et al. 2021, section 3.2); only the other tokens are
        predicted.

        Args:
            source, target: [B, S] and [B, L] ids with EOS, padded.
            prefixes: [B M] lengths of the prefixes, from 1 (BOS alone) to the target's length; one
                less without BOS. Each target has M of them, one after another, and so M blocks.
            encoded: [B, S, D], if another network encodes.
            states: [B, L, D], the verifier's of BOS and the target but for its last token, if the
                drafter reads them.

        Returns:
            Logits [N, V] and targets [N] of the N predicted tokens, and ``wanted`` [B M, k], which
            marks these tokens. With output_ids, V and the targets are places among them, and tokens
            that are none of them are not predicted.
        """
        source_mask = (source != self.config.pad_id)[:, None, None, :]
        encoded = self.encode(source, source_mask) if encoded is None else encoded
        caches = self.caches(encoded) + self.copied_source(source)
        if (times := len(prefixes) // len(source)) > 1:  # the source is read once for all blocks
            source_mask, target = (x.repeat_interleave(times, 0) for x in (source_mask, target))
            states = None if states is None else states.repeat_interleave(times, 0)
            caches = [_repeated(cache, times) for cache in caches]
        tokens, truth = self._masked(target, prefixes, k)
        wanted, expected = truth != self.config.pad_id, truth
        if self.places is not None:
            expected = self.places[truth]
        if glanced:
            with torch.no_grad():
                guess = self.output(self.blocks(tokens, prefixes, caches, source_mask, k, states))
            wrong = ((guess.argmax(-1) != expected) & wanted).sum(1) / wanted.sum(1).clamp_min(1)
            shown = wanted & (torch.rand_like(truth, dtype=torch.float) < glanced * wrong[:, None])
            places = prefixes[:, None] + torch.arange(k, device=tokens.device)
            masks = torch.full_like(truth, self.mask_id)
            tokens = tokens.scatter(1, places, torch.where(shown, truth, masks))
            wanted &= ~shown
        wanted &= expected >= 0
        hidden = self.blocks(tokens, prefixes, caches, source_mask, k, states)
        return self.output(hidden[wanted]), expected[wanted], wanted

    def _masked(self, target: Tensor, prefixes: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return prefixes with k MASKs after them [B, T], and the hidden tokens or pad [B, k]."""
        config = self.config
        place = torch.arange(int(prefixes.max()) + k, device=target.device)
        first = int(self.nat.begins_with_bos)
        behind = F.pad(target, (first, k + 1), value=config.pad_id)  # long enough for every block
        behind[:, :first] = config.bos_id
        ends = prefixes[:, None]
        tokens = behind[:, : len(place)].masked_fill(place >= ends, self.mask_id)
        tokens = tokens.masked_fill(place >= ends + k, config.pad_id)
        return tokens, behind.gather(1, ends + torch.arange(k, device=target.device))


def _repeated(cache: LayerCache, times: int) -> LayerCache:
    """Return an empty cache that has each row of a source ``times`` times, one after another."""
    both = (cache.source_keys, cache.source_values)
    return LayerCache(*(part.repeat_interleave(times, 0) for part in both))


def fed_states(states: Tensor, prefixes: Tensor, places: Tensor) -> Tensor:
    """Return what is fed at places [B, T] of rows with so many prefix tokens [B]: [B, T, D].

    ``states`` [B, L, D] are the verifier's of BOS and the tokens behind it. A prefix token gets
    that of the token before it, BOS nothing; MASKs get what the prefix's last token gets.
    """
    shifted = F.pad(states, (0, 0, 1, 0))  # what BOS gets, then the states
    index = torch.minimum(places, prefixes[:, None] - 1)
    return shifted.gather(1, index[..., None].expand(-1, -1, states.shape[-1]))


def block_mask(prefixes: Tensor, k: int, width: int, *, causal_prefix: bool) -> Tensor:
    """Return the mask of visible positions, [B, 1, 1 or T, T] bool.

    Every position sees the prefix and the block; with a causal prefix, positions in the prefix see
    no position after them. No position sees padding, but padding sees something: attention to
    nothing would be NaN.
    """
    place = torch.arange(width, device=prefixes.device)
    seen = (place < prefixes[:, None] + k)[:, None, None]  # [B, 1, 1, T]
    if not causal_prefix:
        return seen
    in_block = place[:, None] >= prefixes[:, None, None, None]  # [B, 1, T, 1]
    return seen & (in_block | (place <= place[:, None]))
