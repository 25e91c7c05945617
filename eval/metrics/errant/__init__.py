"""ERRANT: edits with their types, and systems compared by them (Bryant, Felice and Briscoe 2017).

:func:`annotate` finds the edits between two sentences, :func:`compare` counts those that two sets
of edits share. The commands write what ``errant_parallel``, ``errant_m2`` and ``errant_compare`` of
ERRANT 3.0.2 write with the same spaCy pipeline, byte for byte, except that a last sentence without
an empty line after it is kept.

>>> [[edit.type for edit in edits] for edits in annotate(["He go ."], ["He goes ."])]
[['R:VERB:SVA']]
"""

from gec.eval.metrics.errant.annotator import Annotator, Edit, annotate
from gec.eval.metrics.errant.blocks import Annotation, Block, outside, parse_blocks, read_blocks
from gec.eval.metrics.errant.comparison import (
    Counts,
    ErrantScore,
    compare,
    score_errant,
    statistics,
)
from gec.eval.metrics.errant.tools import (
    agreement_main,
    compare_main,
    m2_main,
    parallel_main,
    score_main,
)
from gec.eval.metrics.errant.two_annotations import AnnotationAgreement, agreement
from gec.eval.metrics.errant.writing import parallel, reannotate

__all__ = [
    "Annotation",
    "AnnotationAgreement",
    "Annotator",
    "Block",
    "Counts",
    "Edit",
    "ErrantScore",
    "agreement",
    "agreement_main",
    "annotate",
    "compare",
    "compare_main",
    "m2_main",
    "outside",
    "parallel",
    "parallel_main",
    "parse_blocks",
    "read_blocks",
    "reannotate",
    "score_errant",
    "score_main",
    "statistics",
]
