"""Networks, what makes them, and models of other libraries."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gec.models.engines.transformers_model import load_huggingface

__all__ = ["load_huggingface"]


def __getattr__(name: str) -> Any:
    if name != "load_huggingface":
        raise AttributeError(f"module 'gec.models' has no attribute {name!r}")
    from gec.models.engines.transformers_model import load_huggingface

    return load_huggingface
