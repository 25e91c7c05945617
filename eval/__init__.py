"""Evaluation: scorers equal to the field's reference tools, and benchmarks."""

from typing import TYPE_CHECKING

from gec.exports import lazily

if TYPE_CHECKING:
    from gec.eval.metrics.cleme import cleme
    from gec.eval.metrics.errant import annotate
    from gec.eval.metrics.exact import score_exact
    from gec.eval.metrics.gleu import gleu
    from gec.eval.metrics.gotoscorer import gotoscorer
    from gec.eval.metrics.green import green
    from gec.eval.metrics.imeasure import imeasure
    from gec.eval.metrics.m2 import read_gold, score_m2
    from gec.eval.metrics.rates import error_rates, needless
    from gec.eval.metrics.sari import sari
    from gec.eval.metrics.summarization import rouge
    from gec.eval.metrics.translation import bleu, chrf

__all__ = [
    "annotate",
    "bleu",
    "chrf",
    "cleme",
    "error_rates",
    "gleu",
    "gotoscorer",
    "green",
    "imeasure",
    "needless",
    "read_gold",
    "rouge",
    "sari",
    "score_exact",
    "score_m2",
]

_HOMES = {
    "annotate": "gec.eval.metrics.errant",
    "bleu": "gec.eval.metrics.translation",
    "chrf": "gec.eval.metrics.translation",
    "cleme": "gec.eval.metrics.cleme",
    "error_rates": "gec.eval.metrics.rates",
    "gleu": "gec.eval.metrics.gleu",
    "gotoscorer": "gec.eval.metrics.gotoscorer",
    "green": "gec.eval.metrics.green",
    "imeasure": "gec.eval.metrics.imeasure",
    "needless": "gec.eval.metrics.rates",
    "read_gold": "gec.eval.metrics.m2",
    "rouge": "gec.eval.metrics.summarization",
    "sari": "gec.eval.metrics.sari",
    "score_exact": "gec.eval.metrics.exact",
    "score_m2": "gec.eval.metrics.m2",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
