"""Drafters that were trained in fairseq, beside the verifier that they draft for.

Two architectures: that of the release of GAD and SpecDec (Ge et al. 2022; Xia et al. 2022),
``--arch block``, and our plugin's, ``--arch gec_block``. Neither checkpoint holds a dictionary: a
drafter's ids are those of the folder that is given for both, which is checked as far as sizes and
languages tell.

The released one differs from ours in four things, which :class:`gec.models.network.nat.NatConfig`
has as options: MASK is the dictionary's ``<unk>``; with ``--src-embedding-copy`` it is fed a mean
of the source's embeddings, weighted by an attention whose query is its place; the prefix has no
BOS; positions are added before every layer. Embeddings are not scaled, on either side.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch import Tensor

from gec.errors import ModelError
from gec.models.convert.fairseq import fill, languages_of, read_vocabulary
from gec.models.convert.fairseq_checkpoint import Checkpoint, find_dictionaries, read_checkpoint
from gec.models.convert.fairseq_numbering import SOURCE, TARGET, renumbered
from gec.models.convert.fairseq_settings import (
    DRAFTERS,
    PLUGIN,
    Sizes,
    architecture,
    drafter_settings,
    to_config,
)
from gec.models.convert.fairseq_weights import renewed, weights_from_fairseq
from gec.models.load.bundle import Bundle
from gec.models.load.fairseq_symbols import EOS, PAD, UNK
from gec.models.load.fairseq_tokenizer import FairseqTokenizer
from gec.models.load.foreign import ForeignSubwords
from gec.models.network.nat import NatConfig, NatTransformer
from gec.models.network.transformer import Transformer, TransformerConfig

_PREFIX = "network."
_COPY = "decoder.copy_attn.weight"
_LENGTHS = "decoder.embed_length.weight"
"""Of the length predictor in fairseq's other NAT models; a block's length is given."""


def with_drafter(
    bundle: Bundle, checkpoint: str | Path, data: str | Path
) -> tuple[Bundle, NatTransformer]:
    """Read a drafter for a bundle that :func:`.fairseq.from_fairseq` made with the same ``data``.

    Returns:
        The bundle, with fewer positions if the drafter has fewer, and the drafter in evaluation
        mode; its ids are the bundle's.

    Raises:
        ModelError: the file cannot be read, is of another architecture, lacks weights or holds
            other ones; the dictionaries, languages or special tokens are not the verifier's.
    """
    found, folder = read_checkpoint(Path(checkpoint)), Path(data)
    arch = architecture(found.settings)
    if arch not in (*DRAFTERS, PLUGIN):
        known = ", ".join((*DRAFTERS, PLUGIN))
        raise ModelError(f"{found.path} is a {arch!r}, not a drafter (one of {known})")
    symbols = _symbols(bundle)
    found = _of_languages(found, bundle)
    try:
        if arch == PLUGIN:
            _check_single_dictionary(found, folder, symbols)
            network = _trained_here(found)
        else:
            network = _released(found, folder, symbols)
        _check_ids(network.config, bundle.transformer.config)
    except ModelError as error:
        raise ModelError(f"{found.path}: {error}") from None
    return _with_positions(bundle, network.config.max_positions), network.eval()


def drafter_from_fairseq(checkpoint: str | Path) -> NatTransformer:
    """Read a drafter that our plugin trained, in evaluation mode; its ids are its dictionary's.

    Raises:
        ModelError: the file cannot be read, is of another architecture, or lacks weights.
    """
    found = read_checkpoint(Path(checkpoint))
    if (arch := architecture(found.settings)) != PLUGIN:
        raise ModelError(f"{found.path} is a {arch!r}, not a drafter ({PLUGIN!r})")
    try:
        return _trained_here(found).eval()
    except ModelError as error:
        raise ModelError(f"{found.path}: {error}") from None


# ---------------------------------------------------------------------------------- architectures


def _trained_here(found: Checkpoint) -> NatTransformer:
    options = {
        name.removeprefix("drafter_"): value
        for name, value in found.settings.items()
        if name.startswith("drafter_")
    }
    weights = {name.removeprefix(_PREFIX): value for name, value in found.weights.items()}
    try:
        nat = NatConfig(block=options.pop("block"), causal_prefix=options.pop("causal_prefix"))
        config = TransformerConfig(
            vocab_size=len(weights["embedding.weight"]),
            positions="learned",
            activation="gelu",
            pad_id=PAD,
            bos_id=EOS,
            eos_id=EOS,
            **options,
        )
        network = NatTransformer(config, nat)
        network.load_state_dict(weights)
    except (KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"no complete drafter: {reason}") from None
    return network


def _released(found: Checkpoint, folder: Path, symbols: list[str]) -> NatTransformer:
    theirs, numbering = read_vocabulary(found, folder)
    if theirs != symbols:
        raise ModelError(f"its dictionaries in {folder} are not the verifier's")
    settings, weights = drafter_settings(found.settings), renewed(found.weights)
    copies = bool(settings.get("src_embedding_copy"))
    copy = _copy(weights) if copies else None
    weights.pop(_LENGTHS, None)
    sizes = Sizes(*(len(weights[f"{s}.embed_tokens.weight"]) for s in ("encoder", "decoder")))
    config = to_config(settings, sizes, own_source=not settings["share_all_embeddings"])
    config, state = renumbered(config, weights_from_fairseq(weights, config), numbering)
    if copy is not None:
        state["copy.weight"] = copy
    nat = NatConfig(
        block=_block(found),
        mask_id=UNK,
        begins_with_bos=False,
        layer_positions=True,
        copies_source=copies,
    )
    network = NatTransformer(config, nat)
    fill(network, state)
    return network


def _copy(weights: dict[str, Tensor]) -> Tensor:
    if _COPY not in weights:
        raise ModelError(f"the checkpoint lacks {_COPY}")
    return weights.pop(_COPY).float()


def _block(found: Checkpoint) -> int:
    """Return k, which is an option of the release's task."""
    noise = str(found.task.get("noise", "block_mask"))
    if noise != "block_mask":
        raise ModelError(f"it was trained with --noise {noise}, not to predict blocks (block_mask)")
    block = found.task.get("block_size")
    if type(block) is not int:
        raise ModelError("its settings do not name the block's size (block_size)")
    return block


# ------------------------------------------------------------------------------ beside its verifier


def _symbols(bundle: Bundle) -> list[str]:
    """Return the verifier's dictionary; one that is not fairseq's is refused."""
    subwords = bundle.subwords
    if not isinstance(subwords, ForeignSubwords) or not isinstance(
        subwords.tokenizer, FairseqTokenizer
    ):
        raise ModelError(
            f"{bundle.name} was exported from gec, and its ids are not those of a fairseq "
            "dictionary: --drafter needs a verifier that was trained in fairseq"
        )
    return subwords.tokens(len(subwords))


def _of_languages(found: Checkpoint, bundle: Bundle) -> Checkpoint:
    """Return the checkpoint with the verifier's languages, if it does not name others."""
    known = languages_of(found)
    for name, theirs in known.items():
        ours = bundle.config.get(name)
        if ours is not None and ours != theirs:
            raise ModelError(
                f"{found.path}: the drafter's {name.replace('_', ' ')} is {theirs}, the "
                f"verifier's {ours}"
            )
    if known:
        return found
    sides = {f"{side}_lang": bundle.config.get(f"{side}_language") for side in (SOURCE, TARGET)}
    return replace(found, task=found.task | sides)


def _check_single_dictionary(found: Checkpoint, folder: Path, symbols: list[str]) -> None:
    source, target = find_dictionaries(folder, found.task)
    if source != target or target != symbols:
        raise ModelError(
            f"{PLUGIN} drafts with one dictionary for source and target, the same as the "
            f"verifier's; those in {folder} are others"
        )


def _check_ids(drafter: TransformerConfig, verifier: TransformerConfig) -> None:
    if verifier.source_prefix or verifier.decoder_prefix:
        raise ModelError(
            "the verifier's task puts symbols before sources and outputs, which its drafter was "
            "not trained with"
        )
    for name, what in (
        ("vocab_size", "number of symbols"),
        ("pad_id", "pad"),
        ("bos_id", "first symbol"),
        ("eos_id", "EOS"),
    ):
        mine, theirs = getattr(drafter, name), getattr(verifier, name)
        if mine != theirs:
            raise ModelError(f"the drafter's {what} is {mine}, the verifier's {theirs}")


def _with_positions(bundle: Bundle, count: int) -> Bundle:
    """Return the bundle with at most so many positions: longer sources cannot be drafted for."""
    network = bundle.transformer
    if count >= network.config.max_positions:
        return bundle
    shorter = Transformer(replace(network.config, max_positions=count))
    state = dict(network.state_dict())
    for name in ("encoder_positions.weight", "decoder_positions.weight"):
        if name in state:
            state[name] = state[name][:count]
    shorter.load_state_dict(state)
    config = bundle.config | {"network": shorter.config.to_dict()}
    return replace(bundle, network=shorter.eval(), config=config)
