"""Networks, what makes them, and models of other libraries."""

from typing import TYPE_CHECKING

from gec.exports import lazily

if TYPE_CHECKING:
    from gec.models.convert.ctranslate2 import to_ctranslate2
    from gec.models.convert.fairseq import from_fairseq, to_fairseq
    from gec.models.convert.huggingface import from_huggingface, to_huggingface
    from gec.models.convert.onnx import load_onnx, to_onnx
    from gec.models.convert.transformers_model import generate, input_guided, load_huggingface
    from gec.models.load.bundle import Bundle
    from gec.models.load.bundle import load as load_bundle

__all__ = [
    "Bundle",
    "from_fairseq",
    "from_huggingface",
    "generate",
    "input_guided",
    "load_bundle",
    "load_huggingface",
    "load_onnx",
    "to_ctranslate2",
    "to_fairseq",
    "to_huggingface",
    "to_onnx",
]

_HOMES = {
    "Bundle": "gec.models.load.bundle",
    "from_fairseq": "gec.models.convert.fairseq",
    "from_huggingface": "gec.models.convert.huggingface",
    "generate": "gec.models.convert.transformers_model",
    "input_guided": "gec.models.convert.transformers_model",
    "load_bundle": "gec.models.load.bundle:load",
    "load_huggingface": "gec.models.convert.transformers_model",
    "load_onnx": "gec.models.convert.onnx",
    "to_ctranslate2": "gec.models.convert.ctranslate2",
    "to_fairseq": "gec.models.convert.fairseq",
    "to_huggingface": "gec.models.convert.huggingface",
    "to_onnx": "gec.models.convert.onnx",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
