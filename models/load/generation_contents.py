"""What a bundle that generates holds beside its weights: read, and checked, without torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from gec.decoding.decoder import LengthLimit
from gec.errors import ConfigError, ModelError
from gec.models.load.bundle import WEIGHTS, check_vocabulary, read_config
from gec.models.load.foreign import ForeignSubwords, TextTokenizer
from gec.models.load.places import find
from gec.models.load.sizes import check_sizes
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig
from gec.text.vocabulary import OwnVocabulary, TextCodec, load_vocabulary

TASKS = ("translation", "summarization", "simplification")


@dataclass(frozen=True, slots=True)
class GenerationContents:
    """What a bundle that generates holds beside its weights.

    Attributes:
        folder: where it lies; its name is the bundle's.
        config: ``config.json`` whole.
        architecture: the verifier's settings, checked against the file of its weights.
        vocabulary: its subwords.
    """

    folder: Path
    config: dict[str, Any]
    architecture: TransformerConfig
    vocabulary: TextCodec

    @property
    def weights(self) -> Path:
        """The file of the verifier's weights."""
        return self.folder / WEIGHTS

    @property
    def has_drafter(self) -> bool:
        """Whether it has a network that drafts blocks."""
        return (self.folder / "drafter" / "config.json").is_file()

    def drafter(self) -> tuple[TransformerConfig, NatConfig] | None:
        """Return the settings of the network that drafts blocks; None: there is none.

        Raises:
            ModelError: it has another vocabulary than the bundle, or settings that make no sense.
        """
        if not self.has_drafter:
            return None
        folder = self.folder / "drafter"
        config, network = drafter_config(
            folder, self.folder.name, self.vocabulary, self.architecture, "nat"
        )
        nat = NatConfig.from_dict(config.get("nat", {}))
        nat.check(network)
        check_sizes(network, folder / WEIGHTS, encoder=not nat.shared_encoder)
        return network, nat

    def smaller(self) -> dict[str, TransformerConfig]:
        """Return the settings of the smaller networks by name.

        Raises:
            ModelError: one has another vocabulary than the bundle.
        """
        found = {}
        for path in sorted(self.folder.glob("smaller/*/config.json")):
            _, own = drafter_config(
                path.parent, self.folder.name, self.vocabulary, self.architecture, "autoregressive"
            )
            check_sizes(own, path.parent / WEIGHTS)
            found[path.parent.name] = own
        return found


def read(name_or_path: str) -> GenerationContents:
    """Read a bundle that generates, but for its weights.

    Raises:
        ModelError: as of :func:`gec.models.load.generation.load`.
    """
    folder = find(name_or_path)
    config = read_config(folder)
    if config.get("task") not in TASKS:
        raise ModelError(
            f"{folder} is a bundle for {config.get('task')!r}, not for {', '.join(TASKS)}: "
            "use gec correct"
        )
    _check_config(folder, config)
    architecture = TransformerConfig.from_dict(config["network"])
    check_sizes(architecture, folder / WEIGHTS)
    foreign = config.get("tokenizer")
    vocabulary: TextCodec = (
        ForeignSubwords.of(folder, foreign).tokenizer if foreign else load_vocabulary(folder)
    )
    check_vocabulary(folder, len(vocabulary), architecture, exactly=not foreign)
    return GenerationContents(folder, config, architecture, vocabulary)


def limits(config: Mapping[str, Any], positions: int) -> tuple[LengthLimit, int, bool]:
    """Return a bundle's length limit, the most tokens of its sources, whether lines are cut.

    ``positions`` are those of the model.
    """
    most = positions - 1
    longest = min(config.get("longest", most), most)
    return LengthLimit(**config.get("limit", {})), longest, config.get("split", True)


def _check_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Raise ModelError if what the decoding is told by ``config.json`` makes no sense."""
    where = folder / "config.json"
    try:
        LengthLimit(**config.get("limit", {}))
    except (TypeError, ConfigError) as error:
        raise ModelError(f"{where}, limit: {error}") from error
    for name in ("longest", "early_exit"):
        if name in config and (type(config[name]) is not int or config[name] < 1):
            raise ModelError(f"{where}: {name} must be a positive integer, not {config[name]!r}")
    if not isinstance(config.get("split", True), bool):
        raise ModelError(f"{where}: split must be true or false, not {config['split']!r}")


def fingerprint(vocabulary: TextCodec) -> str:
    """Return a hash of any bundle's vocabulary; it differs if ids mean other tokens."""
    if isinstance(vocabulary, OwnVocabulary):
        return vocabulary.fingerprint
    foreign = cast(TextTokenizer, vocabulary)
    tokens = json.dumps([foreign.token(i) for i in range(len(foreign))])
    return hashlib.sha256(tokens.encode()).hexdigest()[:16]


def drafter_config(
    folder: Path, name: str, vocabulary: TextCodec, verifier: TransformerConfig, kind: str
) -> tuple[dict[str, Any], TransformerConfig]:
    """Return a drafter's ``config.json``, and its network's settings.

    Raises:
        ModelError: it is of another kind, or does not share the ids of the bundle ``name``.
    """
    config = read_config(folder)
    if config.get("kind") != kind:
        raise ModelError(f"{folder}: unknown kind of drafter {config.get('kind')!r}, not {kind!r}")
    if config.get("vocabulary") != fingerprint(vocabulary):
        raise ModelError(
            f"{folder} was made for another vocabulary than {name}'s: "
            "train the drafter on the verifier's own prepared data"
        )
    network_config = TransformerConfig.from_dict(config["network"])
    for setting in ("vocab_size", "pad_id", "bos_id", "eos_id"):
        mine, theirs = getattr(network_config, setting), getattr(verifier, setting)
        if mine != theirs:
            raise ModelError(f"{folder}: {setting} is {mine}, the verifier's is {theirs}")
    return config, network_config
