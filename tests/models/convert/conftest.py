"""The transformers library keeps quiet in these tests."""

from __future__ import annotations

import pytest
import transformers


@pytest.fixture(autouse=True)
def quiet() -> None:
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
