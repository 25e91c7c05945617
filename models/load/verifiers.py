"""Networks as the decoding loop's models: which engine runs which network."""

from __future__ import annotations

from gec.decoding.model import Model
from gec.models.engines import graphs
from gec.models.engines.eager import EagerEngine
from gec.models.engines.engine import LayeredEngine
from gec.models.engines.inference import Network
from gec.models.engines.llama_engine import LlamaEngine
from gec.models.engines.verifier import Verifier
from gec.models.load.prefixes import prefixed
from gec.models.network.llama import Llama
from gec.models.network.transformer import Transformer


def verifier(network: Network) -> Model:
    """Return the network as the loop's model, with the prefixes its settings name."""
    if isinstance(network, Llama):
        return Verifier(LlamaEngine(network))
    return prefixed(Verifier(engine(network)), network.config)


def engine(network: Transformer) -> LayeredEngine:
    """Return what runs an encoder-decoder.

    On a GPU its passes are CUDA graphs if GEC_GRAPHS=on asks for them.
    """
    if graphs.wanted(network.device):
        return graphs.GraphEngine(network)
    return EagerEngine(network)
