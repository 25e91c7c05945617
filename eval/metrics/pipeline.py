"""The spaCy pipeline that gives ERRANT its tags, lemmas and trees.

ERRANT's rules were written for ``en_core_web_sm``; if that is not installed, the pipeline that
ships with this package stands in. A score's signature says which pipeline was used, because the
edits' types and, less often, their spans depend on the pipeline.
"""

from __future__ import annotations

import argparse
import warnings
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from gec.errors import ConfigError
from gec.eval.metrics.score import warn

if TYPE_CHECKING:
    from spacy.language import Language

PREFERRED = "en_core_web_sm"
SHIPPED = "en_pipeline"


@lru_cache(maxsize=4)
def load_pipeline(name: str | None = None, *, any_language: bool = False) -> Language:
    """Load a spaCy pipeline, once a process.

    Args:
        name: an installed package, a folder, or ``"en_pipeline"`` for the shipped one; None takes
            ``en_core_web_sm`` if it is installed, else the shipped one.
        any_language: take a pipeline for any language, whatever it sets.

    Raises:
        ConfigError: no pipeline has that name, it cannot be loaded, or it is not for English or
            lacks what ERRANT's rules read (fine tags, coarse tags, lemmas, dependency labels).
    """
    if name is None:
        name = PREFERRED if _preferred_is_installed() else SHIPPED
    try:
        with warnings.catch_warnings():
            # the signature, not a warning on every run, says that another spaCy 3 made it
            warnings.filterwarnings("ignore", message=r"\[W095\]")
            nlp = _load(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).split("\n")[0]
        raise ConfigError(f"cannot load the spaCy pipeline {name!r}: {reason}") from error
    if not any_language:
        _check(nlp, name)
    return nlp


def chosen_pipeline(
    args: argparse.Namespace, *, types: bool, any_language: bool = False
) -> Language:
    """Load the pipeline that ``--spacy-model`` names, or the default one.

    Args:
        types: whether the result depends on error types; if so, the command warns if the shipped
            pipeline stands in for ``en_core_web_sm``.
        any_language: as for :func:`load_pipeline`.

    Raises:
        ConfigError: as :func:`load_pipeline`, and with ``--require-spacy-model`` if
            ``en_core_web_sm`` is not installed.
    """
    if args.spacy_model is None and not _preferred_is_installed():
        if args.require_spacy_model:
            raise ConfigError(
                f"the spaCy pipeline {PREFERRED} is not installed; install it, or leave out "
                f"--require-spacy-model to use {SHIPPED}"
            )
        if types:
            warn(
                f"{PREFERRED} is not installed: error types come from {SHIPPED} and differ in a "
                "few edits of a hundred (--require-spacy-model refuses instead)"
            )
    return load_pipeline(args.spacy_model, any_language=any_language)


def _preferred_is_installed() -> bool:
    import spacy

    return spacy.util.is_package(PREFERRED)


def _load(name: str) -> Language:
    import spacy

    if name != SHIPPED:
        return spacy.load(name, exclude=["ner"])
    with as_file(files("gec.models") / "bundles" / SHIPPED) as folder:
        return spacy.load(folder)


def _check(nlp: Language, name: str) -> None:
    if nlp.lang != "en":
        raise ConfigError(
            f"the spaCy pipeline {name!r} is for {nlp.lang!r}, ERRANT needs English; "
            "gec score errant and gec errant take other languages with --types ud"
        )
    doc = nlp("It works .")
    missing = [what for what in ("TAG", "POS", "LEMMA", "DEP") if not doc.has_annotation(what)]
    if missing:
        raise ConfigError(f"the spaCy pipeline {name!r} gives no {', '.join(missing)}")


def describe(nlp: Language) -> str:
    """Return a pipeline's name and version and, for ours, what it was trained on.

    For example ``en_core_web_sm-3.8.0`` or ``en_pipeline-1.0.0(ud)``.
    """
    meta = nlp.meta
    trained_on = f"({meta['trained_on']})" if meta.get("trained_on") else ""
    return f"{meta['lang']}_{meta['name']}-{meta['version']}{trained_on}"
