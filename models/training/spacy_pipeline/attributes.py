"""From Penn Treebank tags to universal tags, features and lemmas: rules of the attribute ruler.

``TAG_MAP`` gives what a tag alone tells; ``PATTERNS`` refine it by word and dependency label, later
ones win. The tags are those of OntoNotes, the choices those of spaCy's English pipelines.
"""

from __future__ import annotations

from typing import Any

_TAGS = """
$ SYM | # SYM | SYM SYM | ADD X | FW X | GW X | LS X | XX X | NIL X | UH INTJ | CD NUM NumType=Card
'' PUNCT PunctSide=Fin|PunctType=Quot | `` PUNCT PunctSide=Ini|PunctType=Quot
-LRB- PUNCT PunctSide=Ini|PunctType=Brck | -RRB- PUNCT PunctSide=Fin|PunctType=Brck
, PUNCT PunctType=Comm | . PUNCT PunctType=Peri | : PUNCT | NFP PUNCT | HYPH PUNCT PunctType=Dash
AFX ADJ Hyph=Yes | JJ ADJ Degree=Pos | JJR ADJ Degree=Cmp | JJS ADJ Degree=Sup
RB ADV | RBR ADV Degree=Cmp | RBS ADV Degree=Sup | WRB SCONJ
NN NOUN Number=Sing | NNS NOUN Number=Plur | NNP PROPN Number=Sing | NNPS PROPN Number=Plur
VB VERB VerbForm=Inf | VBD VERB Tense=Past|VerbForm=Fin | VBP VERB Tense=Pres|VerbForm=Fin
VBZ VERB Number=Sing|Person=3|Tense=Pres|VerbForm=Fin
VBG VERB Aspect=Prog|Tense=Pres|VerbForm=Part | VBN VERB Aspect=Perf|Tense=Past|VerbForm=Part
MD AUX VerbForm=Fin | TO PART | POS PART Poss=Yes | RP ADP | IN ADP | CC CCONJ | EX PRON
DT DET | PDT DET | WDT DET | PRP PRON | PRP$ PRON Poss=Yes|PronType=Prs
WP PRON | WP$ PRON Poss=Yes
"""


def _tag_map() -> dict[str, dict[str, str]]:
    found = {}
    for entry in _TAGS.replace("\n", " | ").split(" | "):
        if fields := entry.split():
            tag, pos, *features = fields
            found[tag] = {"POS": pos, "MORPH": "".join(features)}
    return found


TAG_MAP: dict[str, dict[str, str]] = _tag_map()

VERB_TAGS = ["VB", "VBD", "VBG", "VBN", "VBP", "VBZ"]
_DETERMINING = ["det", "predet", "preconj", "advmod", "cc", "quantmod"]
_PRONOUNS = [
    some + thing for some in ("any", "every", "some", "no") for thing in ("body", "one", "thing")
]
_LEMMAS = {  # of closed classes, which the lemmatizer's tables do not have
    "be": "be am is are was were been being 'm ’m 're ’re m re",
    "have": "have has had having 've ’ve",
    "do": "do does did done doing",
    "get": "get gets got gotten getting",
}
_PRESENT_IS = ["'s", "’s"]
_MODALS = {"can": "ca", "will": "wo 'll ’ll", "shall": "sha", "would": "'d ’d"}
_PERSONAL = {"I": "i me", "he": "he him", "she": "she her", "we": "we us", "they": "they them"}


def _pattern(token: dict[str, Any], **attributes: str) -> dict[str, Any]:
    return {"patterns": [[token]], "attrs": attributes}


def _any(*values: str) -> dict[str, list[str]]:
    return {"IN": list(values)}


def _patterns() -> list[dict[str, Any]]:
    verb, auxiliary = _any(*VERB_TAGS), _any("aux", "auxpass")
    rules = [
        _pattern({"IS_SPACE": True}, TAG="_SP", POS="SPACE"),
        _pattern({"TAG": verb, "DEP": auxiliary}, POS="AUX"),
        _pattern({"TAG": "IN", "DEP": "mark"}, POS="SCONJ"),
        _pattern({"TAG": "DT", "DEP": {"NOT_IN": _DETERMINING}}, POS="PRON"),
        _pattern({"TAG": "WDT", "DEP": {"NOT_IN": ["det"]}}, POS="PRON"),
        _pattern({"TAG": "NN", "LOWER": _any(*_PRONOUNS)}, POS="PRON"),
        _pattern({"TAG": "RB", "LOWER": _any("not", "n't", "n’t", "nt")}, POS="PART", LEMMA="not"),
        _pattern({"TAG": "VBZ", "LOWER": _any(*_PRESENT_IS)}, POS="AUX", LEMMA="be"),
    ]
    for lemma, forms in _LEMMAS.items():
        always = {"POS": "AUX"} if lemma == "be" else {}
        rules.append(_pattern({"TAG": verb, "LOWER": _any(*forms.split())}, LEMMA=lemma, **always))
    for lemma, forms in _MODALS.items():
        rules.append(_pattern({"TAG": "MD", "LOWER": _any(*forms.split())}, LEMMA=lemma))
    for lemma, forms in _PERSONAL.items():
        rules.append(_pattern({"TAG": "PRP", "LOWER": _any(*forms.split())}, LEMMA=lemma))
    return rules


PATTERNS: list[dict[str, Any]] = _patterns()
