"""What a bundle that generates holds beside its weights: read, and checked, without torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gec.decoding.decoder import LengthLimit
from gec.errors import ConfigError, ModelError
from gec.models.load.bundle import WEIGHTS, architecture_of, check_vocabulary, read_config
from gec.models.load.foreign import ForeignSubwords, TextTokenizer
from gec.models.load.places import find
from gec.models.load.sizes import check_sizes
from gec.models.network.llama_config import LlamaConfig
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer_config import TransformerConfig
from gec.text.vocabulary import (
    OwnVocabulary,
    PretrainedVocabulary,
    TextCodec,
    load_vocabulary,
)

if TYPE_CHECKING:
    from gec.decoding.drafters.reentry import Vocabulary

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
    architecture: TransformerConfig | LlamaConfig
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
        config = drafter_config(folder, self.folder.name, self.vocabulary, "nat")
        network = TransformerConfig.from_dict(config["network"])
        check_ids(folder, network, self.architecture)
        nat = NatConfig.from_dict(config.get("nat", {}))
        nat.check(network)
        theirs = self.architecture
        prefixes = getattr(theirs, "source_prefix", ()), getattr(theirs, "decoder_prefix", ())
        if nat.shared_encoder and any(prefixes):
            raise ModelError(f"{folder}: a drafter without an encoder knows no prefixes")
        if isinstance(self.architecture, LlamaConfig) and not nat.shared_encoder:
            raise ModelError(f"{folder}: the drafter of a decoder alone must share its encoder")
        least = replace(network, tie_embeddings=True) if nat.output_ids else network
        check_sizes(least, folder / WEIGHTS, encoder=not nat.shared_encoder)
        return network, nat

    def smaller(self) -> dict[str, TransformerConfig | LlamaConfig]:
        """Return the settings of the smaller networks by name, each of the family it names.

        Raises:
            ModelError: one has another vocabulary than the bundle.
        """
        found = {}
        for path in sorted(self.folder.glob("smaller/*/config.json")):
            folder = path.parent
            config = drafter_config(folder, self.folder.name, self.vocabulary, "autoregressive")
            own = architecture_of(config["network"], folder / WEIGHTS)
            check_ids(folder, own, self.architecture)
            found[folder.name] = own
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
    architecture = architecture_of(config["network"], folder / WEIGHTS)
    foreign = config.get("tokenizer")
    vocabulary = _codec(folder, architecture, foreign)
    check_vocabulary(folder, len(vocabulary), architecture, exactly=not foreign)
    found = GenerationContents(folder, config, architecture, vocabulary)
    _check_parts(found)
    return found


def _codec(folder: Path, architecture: TransformerConfig | LlamaConfig, foreign: Any) -> TextCodec:
    if foreign:
        return ForeignSubwords.of(folder, foreign).tokenizer
    if isinstance(architecture, LlamaConfig):
        return PretrainedVocabulary.load(folder)
    return load_vocabulary(folder)


def _check_parts(contents: GenerationContents) -> None:
    """Raise ModelError if a bundle has a part that its network does not run with."""
    network = contents.architecture
    if not isinstance(network, LlamaConfig):
        beside = {"heads", "early_exit"} & contents.config.keys()
        if beside and (network.source_prefix or network.decoder_prefix):
            raise ModelError(
                f"{contents.folder}: {' and '.join(sorted(beside))} do not know the prefixes of "
                "this network: take them out of the bundle"
            )
        return
    if "early_exit" in contents.config:
        raise ModelError(
            f"{contents.folder} is a decoder alone, which has no early_exit: take it out of the "
            "bundle"
        )


def limits(config: Mapping[str, Any], positions: int) -> tuple[LengthLimit, int, bool]:
    """Return a bundle's length limit, the most tokens of its sources, whether lines are cut.

    ``positions`` are those of the model.
    """
    most = positions - 1
    longest = min(config.get("longest", most), most)
    return LengthLimit(**config.get("limit", {})), longest, config.get("split", True)


def words_of(vocabulary: TextCodec) -> Vocabulary | None:
    """Return the words of a pretrained decoder's vocabulary, for the drafts that copy."""
    return vocabulary.words if isinstance(vocabulary, PretrainedVocabulary) else None


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


def drafter_config(folder: Path, name: str, vocabulary: TextCodec, kind: str) -> dict[str, Any]:
    """Return a drafter's ``config.json``.

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
    return config


def check_ids(
    folder: Path,
    drafter: TransformerConfig | LlamaConfig,
    verifier: TransformerConfig | LlamaConfig,
) -> None:
    """Raise ModelError if special ids of the drafter in ``folder`` mean others to the verifier."""
    for setting in ("vocab_size", "pad_id", "bos_id", "eos_id"):
        mine, theirs = (_special(config, setting) for config in (drafter, verifier))
        if mine != theirs and None not in (mine, theirs):  # a decoder alone pads with any id
            raise ModelError(f"{folder}: {setting} is {mine}, the verifier's is {theirs}")


def _special(config: TransformerConfig | LlamaConfig, setting: str) -> Any:
    """Return a setting as the loop sees it: an output of a decoder alone begins at a separator."""
    if isinstance(config, LlamaConfig) and setting == "bos_id":
        return config.separator[-1]
    return getattr(config, setting, None)
