"""Decoding: draft, verify, accept.

A :class:`Decoder` is put together of a :class:`Model`, a :class:`Drafter` and an
:class:`Acceptance` rule, or made by name with :func:`make_decoder`.
"""

from typing import TYPE_CHECKING

from gec.exports import lazily

if TYPE_CHECKING:
    from gec.decoding.acceptance import Acceptance, Conservative, Exact, TopBeta
    from gec.decoding.beam import BeamSearch
    from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
    from gec.decoding.drafters import Drafter, NoDraft
    from gec.decoding.drafters.copy import CopyDrafter
    from gec.decoding.drafters.reentry import ReentryDrafter
    from gec.decoding.drafters.small_model import SmallModelDrafter
    from gec.decoding.model import Model
    from gec.decoding.sampling import Sampling, SpeculativeSampling
    from gec.decoding.scores import Scores
    from gec.decoding.strategies import Parts, make_decoder
    from gec.decoding.trace import Trace

__all__ = [
    "Acceptance",
    "BeamSearch",
    "Conservative",
    "CopyDrafter",
    "Decoder",
    "Drafter",
    "Exact",
    "Hypothesis",
    "LengthLimit",
    "Model",
    "NoDraft",
    "Parts",
    "ReentryDrafter",
    "Sampling",
    "Scores",
    "SmallModelDrafter",
    "SpeculativeSampling",
    "TopBeta",
    "Trace",
    "make_decoder",
]

_HOMES = {
    "Acceptance": "gec.decoding.acceptance",
    "BeamSearch": "gec.decoding.beam",
    "Conservative": "gec.decoding.acceptance",
    "CopyDrafter": "gec.decoding.drafters.copy",
    "Decoder": "gec.decoding.decoder",
    "Drafter": "gec.decoding.drafters",
    "Exact": "gec.decoding.acceptance",
    "Hypothesis": "gec.decoding.decoder",
    "LengthLimit": "gec.decoding.decoder",
    "Model": "gec.decoding.model",
    "NoDraft": "gec.decoding.drafters",
    "Parts": "gec.decoding.strategies",
    "ReentryDrafter": "gec.decoding.drafters.reentry",
    "Sampling": "gec.decoding.sampling",
    "Scores": "gec.decoding.scores",
    "SmallModelDrafter": "gec.decoding.drafters.small_model",
    "SpeculativeSampling": "gec.decoding.sampling",
    "TopBeta": "gec.decoding.acceptance",
    "Trace": "gec.decoding.trace",
    "make_decoder": "gec.decoding.strategies",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
