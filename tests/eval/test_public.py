"""What gec.eval offers: every name exists, importing it is light, the examples are true."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import gec.eval


def test_every_public_name_exists() -> None:
    assert gec.eval.__all__ == sorted(gec.eval.__all__)
    assert gec.eval.__all__ == sorted(gec.eval._HOMES)
    for name in gec.eval.__all__:
        assert getattr(gec.eval, name) is not None
        assert name in dir(gec.eval)
    with pytest.raises(AttributeError, match="no attribute 'bleurt'"):
        gec.eval.bleurt  # noqa: B018


def test_importing_is_light() -> None:
    code = (
        "import sys, gec.eval; heavy = {'numpy', 'torch', 'spacy', 'errant'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (found.returncode, found.stderr) == (0, b"")


def test_examples() -> None:
    found = doctest.testmod(gec.eval)
    assert found.attempted > 4
    assert not found.failed
