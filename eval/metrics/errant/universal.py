"""ERRANT's edits with types for any language that has a spaCy pipeline with UD tags.

Alignment and merging are ERRANT's (Felice, Bryant and Briscoe 2016; Bryant, Felice and Briscoe
2017), which read coarse tags, lemmas and characters only. ERRANT's classifier knows English; this
one knows no language. A type is an operation, ``M`` missing, ``R`` replacement or ``U``
unnecessary, and one of

- ``ORTH``: case or blanks; ``WO``: word order; ``SPELL``: a word that is not in the list of words,
  instead of a word that looks like it;
- a UD tag such as ``NOUN`` or ``ADP`` that all tokens on both sides share; ``VERB``, ``AUX`` and
  ``PART`` together count as ``VERB``;
- the tag with ``:FORM``: another form of the same lemma; with ``:INFL``: the same, but the list
  does not have the form that was written;
- ``MORPH``: the same lemma with another tag; ``OTHER``: none of these; ``UNK``: no change.

``SPELL`` and ``:INFL`` need a list of words, or a pipeline with word vectors, whose words are then
the list. Without either, a misspelt word gets the type that its tag and lemma give.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from gec.errors import ConfigError
from gec.eval.metrics.errant.annotator import Annotator, Merge
from gec.eval.metrics.pipeline import chosen_pipeline, describe
from gec.eval.metrics.score import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spacy.language import Language
    from spacy.tokens import Doc, Token

_VERBAL = frozenset({"VERB", "AUX", "PART"})
_SAYS_LITTLE = frozenset({"", "X", "SYM", "SPACE"})


class UniversalAnnotator(Annotator):
    """ERRANT's annotator with the types of this module.

    Args:
        nlp: a pipeline that sets ``pos_``; without lemmas there is no ``:FORM`` and ``MORPH``.
        words: the language's words, in all their forms; None takes those with vectors, if any.
    """

    def __init__(
        self,
        nlp: Language,
        *,
        words: Collection[str] | None = None,
        lev: bool = False,
        merge: Merge = "rules",
    ) -> None:
        import errant
        from errant.annotator import Annotator as Original
        from errant.en import merger

        self.nlp = nlp
        self.lev = lev
        self.merge = merge
        known = "list" if words is not None else "vectors" if nlp.vocab.vectors.n_keys else "none"
        self.settings = {
            "errant": errant.__version__, "types": "ud", "words": known, "spacy": describe(nlp),
        }  # fmt: skip
        self._errant = Original(nlp.lang, nlp, merger, Classifier(words))

    def parse(self, texts: Iterable[str], *, tokenize: bool = False) -> dict[str, Doc]:
        """Return the parsed texts as :meth:`Annotator.parse` does.

        Raises:
            ConfigError: the pipeline sets no tag on any token.
        """
        docs = super().parse(texts, tokenize=tokenize)
        if docs and not any(token.pos for doc in docs.values() for token in doc):
            name = self.settings["spacy"]
            raise ConfigError(f"the spaCy pipeline {name} gives no parts of speech (pos_)")
        return docs


class Classifier:
    """Gives an edit of the package ``errant`` its type."""

    def __init__(self, words: Collection[str] | None = None) -> None:
        self._words = None if words is None else frozenset(words)

    def classify(self, edit: Any) -> Any:
        """Set ``edit.type`` and return the edit, as ERRANT's annotator expects."""
        edit.type = self.type(list(edit.o_toks), list(edit.c_toks))
        return edit

    def type(self, original: Sequence[Token], correction: Sequence[Token]) -> str:
        """Return the type of the edit that puts ``correction`` in the place of ``original``."""
        if _texts(original) == _texts(correction):
            return "UNK"
        if not original:
            return f"M:{_tag(correction)}"
        if not correction:
            return f"U:{_tag(original)}"
        if len(original) + len(correction) > 2 and original[-1].lower == correction[-1].lower:
            return self.type(original[:-1], correction[:-1])  # as in ERRANT: [Cat -> The cat]
        return f"R:{self._replaced(original, correction)}"

    def _replaced(self, original: Sequence[Token], correction: Sequence[Token]) -> str:
        lower = [[token.lower_ for token in side] for side in (original, correction)]
        if "".join(lower[0]) == "".join(lower[1]):
            return "ORTH"
        if sorted(lower[0]) == sorted(lower[1]):
            return "WO"
        if len(original) == len(correction) == 1:
            return self._word(original[0], correction[0])
        tag = _tag([*original, *correction])
        same = {t.lemma for t in original if t.pos_ == "VERB" and t.lemma} == {
            t.lemma for t in correction if t.pos_ == "VERB" and t.lemma
        }
        has_verb = any(t.pos_ == "VERB" and t.lemma for t in original)
        return "VERB:FORM" if tag == "VERB" and same and has_verb else tag

    def _word(self, original: Token, correction: Token) -> str:
        from errant.en.merger import char_cost  # likeness, from 0 to 1

        tag = _tag([original, correction])
        same_lemma = original.lemma != 0 and original.lemma == correction.lemma
        if self._is_unknown(original):
            if same_lemma and tag != "OTHER":
                return f"{tag}:INFL"
            if char_cost(original, correction) > 0.5:
                return "SPELL"
        if same_lemma:
            return "MORPH" if tag == "OTHER" else f"{tag}:FORM"
        return tag

    def _is_unknown(self, token: Token) -> bool:
        """Whether a word is missing in the list; False for numbers and signs, or without a list."""
        text = token.text
        if not any(c.isalpha() for c in text) or any(c.isdigit() for c in text):
            return False
        if self._words is not None:
            return text not in self._words and token.lower_ not in self._words
        return bool(token.vocab.vectors.n_keys) and token.is_oov


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]


def _tag(tokens: Sequence[Token]) -> str:
    """Return the tag that all tokens share, else OTHER."""
    tags = {token.pos_ for token in tokens}
    if len(tags) > 1 and tags <= _VERBAL:
        return "VERB"
    return next(iter(tags)) if len(tags) == 1 and not tags & _SAYS_LITTLE else "OTHER"


def read_words(name: str) -> frozenset[str]:
    """Return the words of a file, one on each line; blanks around them do not count.

    Raises:
        InputError: the file is missing, unreadable or not UTF-8.
        ConfigError: the file has no word.
    """
    words = frozenset(line.strip() for line in read_lines(name)) - {""}
    if not words:
        raise ConfigError(f"{name}: no words")
    return words


def universal_annotator(args: argparse.Namespace) -> UniversalAnnotator:
    """Make the annotator of ``--types ud`` from a command's options.

    Raises:
        ConfigError: as :func:`~gec.eval.metrics.pipeline.chosen_pipeline`, or ``--words`` without
        words.
    """
    nlp = chosen_pipeline(args, types=False, any_language=True)
    words = None if args.words is None else read_words(args.words)
    lev: bool = getattr(args, "lev", False)
    merge: Merge = getattr(args, "merge", "rules")
    return UniversalAnnotator(nlp, words=words, lev=lev, merge=merge)
