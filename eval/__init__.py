"""Evaluation: scorers equal to the field's reference tools, and benchmarks.

What is named here may be relied on; a name is imported on first use. Every scorer takes lists and
returns a frozen dataclass with its signature:

>>> from gec.eval import Annotation, Block, cleme, gleu, green, imeasure, parse_blocks
>>> gleu(["He go home ."], ["He goes home ."], [["He goes home ."]]).estimates[0].mean
1.0
>>> green(["He go home ."], ["He go home ."], [["He goes home ."]]).recall
0.0
>>> gold = parse_blocks('''S He go home .
... A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0''', "gold.m2")
>>> imeasure(["He goes home ."], gold).i
1.0
>>> cleme([Block("He go home .", (Annotation(1, 2, "R:VERB:SVA", "goes", 0),))], gold).f
1.0
"""

from typing import TYPE_CHECKING

from gec.exports import lazily

if TYPE_CHECKING:
    from gec.eval.compare.meta import meta_sentence, meta_system
    from gec.eval.compare.ranking import rank
    from gec.eval.metrics.clean import needless
    from gec.eval.metrics.cleme import cleme
    from gec.eval.metrics.errant import (
        Annotation,
        Block,
        annotate,
        parse_blocks,
        read_blocks,
        score_errant,
    )
    from gec.eval.metrics.exact import score_exact
    from gec.eval.metrics.gleu import gleu
    from gec.eval.metrics.gotoscorer import gotoscorer
    from gec.eval.metrics.green import green
    from gec.eval.metrics.imeasure import imeasure
    from gec.eval.metrics.m2 import read_gold, score_m2
    from gec.eval.metrics.rates import error_rates
    from gec.eval.metrics.sari import sari
    from gec.eval.metrics.significance import assess
    from gec.eval.metrics.statistics import Statistics
    from gec.eval.metrics.summarization import rouge
    from gec.eval.metrics.translation import bleu, chrf

__all__ = [
    "Annotation",
    "Block",
    "Statistics",
    "annotate",
    "assess",
    "bleu",
    "chrf",
    "cleme",
    "error_rates",
    "gleu",
    "gotoscorer",
    "green",
    "imeasure",
    "meta_sentence",
    "meta_system",
    "needless",
    "parse_blocks",
    "rank",
    "read_blocks",
    "read_gold",
    "rouge",
    "sari",
    "score_errant",
    "score_exact",
    "score_m2",
]

_HOMES = {
    "Annotation": "gec.eval.metrics.errant",
    "Block": "gec.eval.metrics.errant",
    "Statistics": "gec.eval.metrics.statistics",
    "annotate": "gec.eval.metrics.errant",
    "assess": "gec.eval.metrics.significance",
    "bleu": "gec.eval.metrics.translation",
    "chrf": "gec.eval.metrics.translation",
    "cleme": "gec.eval.metrics.cleme",
    "error_rates": "gec.eval.metrics.rates",
    "gleu": "gec.eval.metrics.gleu",
    "gotoscorer": "gec.eval.metrics.gotoscorer",
    "green": "gec.eval.metrics.green",
    "imeasure": "gec.eval.metrics.imeasure",
    "meta_sentence": "gec.eval.compare.meta",
    "meta_system": "gec.eval.compare.meta",
    "needless": "gec.eval.metrics.clean",
    "parse_blocks": "gec.eval.metrics.errant",
    "rank": "gec.eval.compare.ranking",
    "read_blocks": "gec.eval.metrics.errant",
    "read_gold": "gec.eval.metrics.m2",
    "rouge": "gec.eval.metrics.summarization",
    "sari": "gec.eval.metrics.sari",
    "score_errant": "gec.eval.metrics.errant",
    "score_exact": "gec.eval.metrics.exact",
    "score_m2": "gec.eval.metrics.m2",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
