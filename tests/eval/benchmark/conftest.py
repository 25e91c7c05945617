"""A tiny bundle with random weights, and its sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_models import tiny_network

from gec.models.load import bundle
from gec.models.load.bundle import Bundle
from gec.text.inflection import Inflections
from gec.text.subwords import Subwords

SENTENCES = ["she goes home", "he goes", "she", "she goes she goes home home", "goes home , she"]


@pytest.fixture(scope="module")
def tiny() -> Bundle:
    subwords = Subwords.train([["she", "goes", "home"]] * 3, size=280, inflections=Inflections())
    network = tiny_network(3, vocab_size=len(subwords), max_positions=60).float()
    config = {"name": "tiny", "task": "gec", "language": "en", "network": network.config.to_dict()}
    return Bundle("tiny", config, network, subwords)


@pytest.fixture(scope="module")
def folder(tiny: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "tiny"
    bundle.save(tiny, path)
    return path


@pytest.fixture(scope="module")
def sources(tiny: Bundle) -> list[tuple[int, ...]]:
    return [tuple(tiny.subwords.encode(sentence.split())) for sentence in SENTENCES]
