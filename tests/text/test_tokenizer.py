"""The tokenizer against spaCy's with the same rules, and where no spaCy is installed, its own."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gec.text import letters, tokenizer
from gec.text.letters import letter_class, small_letters
from gec.text.tokenizer import SPECIAL_CASES, cut
from gec.text.words import _SEEN

# These smileys of spaCy are more often something else: "(see item 8)", "Note (:".
NOT_SMILEYS = " 8) 8D :1 :3 :0 0.0 =3 ): (: (; (= [: [= ]= :x :X :o :O :p :P "
PIECES = [
    *"aAbzZ019. .'\"()-,:;!?/$%&*+<>=_[]{}#@`~^|\\ \n\t",
    *"éÉщЩ字ಠ°…—–²«»¿€₽♫（）～。〈¯ツ\u03a2ǅªกԱ\u3000\xa0",
    *"n't N'T 's 'll US$ etc. Mr. don Do I i 've how km http:// www. com .. -- `` '' °C.".split(),
    *SPECIAL_CASES,
]


@cache
def reference() -> Any:
    """spaCy's tokenizer with our changes."""
    spacy = pytest.importorskip("spacy")
    from spacy.lang import char_classes as cc
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    nlp = spacy.blank("en")
    suffixes = [
        *(rule for rule in nlp.Defaults.suffixes if "km|" not in str(rule)),  # 10km
        r"(?<=[0-9])%",
        r"(?<=[A-Za-z])(?:n't|N'T)",
        r"(?<=[A-Za-z])'(?:ll|LL|re|RE|ve|VE|[dDmM])",
    ]
    infixes = [
        *cc.LIST_ELLIPSES,
        *cc.LIST_ICONS,
        r"--+|—|``|''",
        r"[\"()\[\]]",
        rf"(?<=[{cc.ALPHA_LOWER}])\.(?=[{cc.ALPHA_UPPER}])",
        rf"(?<=[{cc.ALPHA}])[,?!;](?=[{cc.ALPHA}])",
        rf"(?<=[{cc.ALPHA}0-9])[:<>=](?=[{cc.ALPHA}])",
        r"(?<=[^\W_])[,.;:!?](?=[\"(])",
    ]
    nlp.tokenizer.prefix_search = compile_prefix_regex(["``", *nlp.Defaults.prefixes]).search
    nlp.tokenizer.suffix_search = compile_suffix_regex(suffixes).search
    nlp.tokenizer.infix_finditer = compile_infix_regex(infixes).finditer
    nlp.tokenizer.rules = {
        form: pieces
        for form, pieces in nlp.tokenizer.rules.items()
        if f" {form} " not in NOT_SMILEYS
        and not (len(pieces) > 1 and "'" not in form)  # cannot, gonna, dont, 5pm
        and not re.fullmatch(r"[a-zäöü]\.|Ill\.", form)  # vitamin c.
    }
    nlp.tokenizer.add_special_case("etc.", [{"ORTH": "etc."}])
    return nlp.tokenizer


def expected(text: str) -> list[tuple[int, int]]:
    return [(t.idx, t.idx + len(t)) for t in reference()(text) if not t.is_space]


def seen(text: str) -> str:
    return text.translate(_SEEN)


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
@settings(max_examples=1500, deadline=None)
@example("Well ,I'm:-)) not")
@example("he 's it's: - )")  # a blank in a special case hides those in it
@example("(www.x.org).Then 3.5.Then e.g.Then U.S.A.")
@example("o 'clock o'clock's ma'am.")
@example("1US$ US$1 10°C. 5²+")
def test_like_spacy(text: str) -> None:
    assert cut(seen(text)) == expected(seen(text))


@given(st.text(max_size=12))
@settings(max_examples=500, deadline=None)
def test_like_spacy_in_all_scripts(text: str) -> None:
    assert cut(seen(text)) == expected(seen(text))


def test_like_spacy_in_real_texts() -> None:
    folder = Path(__file__).parents[1] / "data"
    lines = [
        line for path in sorted(folder.glob("*.t*")) for line in path.read_text("utf-8").split("\n")
    ]
    assert len(lines) > 100
    assert [line for line in lines if cut(seen(line)) != expected(seen(line))] == []


def test_the_special_cases_are_spacys() -> None:
    rules = {
        form: tuple(len(piece.get(65) or piece["ORTH"]) for piece in pieces)
        for form, pieces in reference().rules.items()
        if not form.isspace() and seen(form) == form
    }
    ours = {
        form: tuple(b - a for a, b in zip((0, *ends), ends, strict=False))
        for form, ends in SPECIAL_CASES.items()
    }
    assert ours == rules


def test_the_rules_cut_contractions_as_they_should() -> None:
    for case, ends in SPECIAL_CASES.items():
        if len(ends) > 1 and tokenizer._SUFFIX.search(case):
            assert (*tokenizer._cut(case, {}),) == ends, case


def test_the_classes_are_spacys() -> None:
    cc = pytest.importorskip("spacy.lang.char_classes")
    kinds = {"l": "ALPHA_LOWER", "u": "ALPHA_UPPER", "t": "ALPHA", "i": "CONCAT_ICONS"}
    members = {
        kind: {ord(c) for c in re.findall(f"[{getattr(cc, name)}]", EVERY)}
        for kind, name in kinds.items()
    }
    for code in range(128, 0x110000):
        if code in _SEEN or 0xD800 <= code < 0xE000:
            continue
        lower, upper, alpha, icon = (code in members[kind] for kind in "luti")
        assert (
            letter_class(code)
            == {
                (True, False, True, False): "l",
                (False, True, True, False): "u",
                (True, True, True, False): "n",
                (True, True, True, True): "j",
                (False, False, True, False): "t",
                (False, False, False, True): "i",
                (False, False, False, False): "-",
            }[lower, upper, alpha, icon]
        ), hex(code)
    small = {ord(c) for c in re.findall(f"[{small_letters()}]", EVERY)}
    assert {c for c in small if c not in _SEEN} == {
        c for c in members["l"] if c > 127 and c not in _SEEN and not 0xD800 <= c < 0xE000
    }


EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)


def test_a_run_of_punctuation_takes_no_longer_than_its_square() -> None:
    for piece in ("(", "'", ".", "a.", "\u266b", "don't"):
        assert cut(piece * 60)[-1][1] == 60 * len(piece)


def test_no_spacy() -> None:
    code = (
        "import sys; sys.modules['spacy'] = None\n"
        "from gec.text.segmentation import segment\n"
        "found = segment('It isn\u2019t so, Mr. X: caf\u00e9.Then (yes)!')\n"
        "print(*(word.text for sentence in found for word in sentence.words))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == "It is n't so , Mr. X : café . Then ( yes ) !".split()


@pytest.mark.parametrize("module", [letters, tokenizer])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
