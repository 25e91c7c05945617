"""Networks of another shape that begin with a trained one's layers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from fake_models import tiny_network

from gec.errors import ConfigError
from gec.models.network.llama import Llama, LlamaConfig
from gec.models.network.transformer import Transformer
from gec.models.training.carry import Carry

LLAMA = LlamaConfig(
    vocab_size=40,
    width=16,
    heads=2,
    kv_heads=1,
    ffn_width=24,
    layers=3,
    max_positions=32,
    separator=(3,),
)


def outputs(network: Transformer) -> torch.Tensor:
    source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
    with torch.no_grad():
        return network.eval()(source, target)


def test_a_deeper_network_begins_as_the_same_function() -> None:
    network = tiny_network(encoder_layers=2, decoder_layers=2)
    carry = Carry(encoder=(0, 0, 1, 1, 1), decoder=(0, 1, 1))
    deeper = Transformer(replace(network.config, encoder_layers=5, decoder_layers=3))
    deeper.double().load_state_dict(carry.of(network.state_dict()))
    torch.testing.assert_close(outputs(deeper), outputs(network))
    assert deeper.encoder[1].ffn.up.weight.equal(network.encoder[0].ffn.up.weight)


def test_a_shallower_network_has_the_layers_that_were_named() -> None:
    network = tiny_network(encoder_layers=3, decoder_layers=2)
    state = Carry(encoder=(0, 2), decoder=(1,)).of(network.state_dict())
    other = Transformer(replace(network.config, encoder_layers=2, decoder_layers=1))
    other.load_state_dict(state)
    theirs = network.state_dict()
    assert state["encoder.1.ffn.up.weight"].equal(theirs["encoder.2.ffn.up.weight"])
    assert state["decoder.0.cross.out.weight"].equal(theirs["decoder.1.cross.out.weight"])
    assert state["embedding.weight"].equal(theirs["embedding.weight"])


def test_a_decoder_alone() -> None:
    network = Llama(LLAMA).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    deeper = Llama(replace(LLAMA, layers=4)).eval()
    deeper.load_state_dict(Carry(layers=(0, 1, 1, 2)).of(network.state_dict()))
    ids = torch.tensor([[3, 9, 4, 7]])
    with torch.no_grad():
        wanted = torch.ones_like(ids, dtype=torch.bool)
        torch.testing.assert_close(deeper(ids, wanted), network(ids, wanted))


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"\[carry\] decoder: there is no layer 2"):
        Carry(decoder=(0, 2)).of(tiny_network(decoder_layers=2).state_dict())
