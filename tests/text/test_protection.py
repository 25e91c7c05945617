"""protected_spans: what no correction may touch, and what it must not swallow."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.text import protection
from gec.text.protection import mask, protected_spans, unify_newlines


def found(text: str, *dictionary: str) -> list[str]:
    return [text[a:b] for a, b in protected_spans(text, dictionary=dictionary)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See http://x.com/a. Then", ["http://x.com/a"]),
        ("(see https://x.com/a_(b)), or", ["https://x.com/a_(b)"]),
        ("Is it www.foo.org/x?! Yes", ["www.foo.org/x"]),
        ("<https://x.org/y?z=1&q=2>,", ["https://x.org/y?z=1&q=2"]),
        ("example.com/a/b; amazon.com!", ["example.com/a/b", "amazon.com"]),
        ("me@x.co.uk. a.b+c@d.com, @ home", ["me@x.co.uk", "a.b+c@d.com"]),
        ("/usr/x, ./a/b.py; ~/y.", ["/usr/x", "./a/b.py", "~/y"]),
        ("C:\\x\\y.txt. \\\\srv\\a, ok", ["C:\\x\\y.txt", "\\\\srv\\a"]),
        ("src/gec/a.py. README.md.", ["src/gec/a.py", "README.md"]),
        ("`a b` and ``c ` d``", ["`a b`", "``c ` d``"]),
        ("a `b\nc` d", ["`b\nc`"]),
        ("a `b\n\nc` d", []),
        ("x\n```py\na = b\n```\ny", ["```py\na = b\n```"]),
        ("x\r\n~~~\r\na\r\n~~~\r\ny", ["~~~\r\na\r\n~~~"]),
        ("````\n```\n````\nx", ["````\n```\n````"]),
        ("```\nnever closed.\n", ["```\nnever closed."]),
        ("---\ntitle: a b\n---\ntext", ["---\ntitle: a b\n---"]),
        ("---\nHe go.\n---\n", []),
        ("[a text](b.md#c) and ![i](x.y)", ["(b.md#c)", "(x.y)"]),
        ('<b>x</b> <a href="b c">y</a><br/>', ["<b>", "</b>", '<a href="b c">', "</a><br/>"]),
        ("a < b and c > d, 3<4 >5", []),
        ("<!-- a\n b --> x", ["<!-- a\n b -->"]),
        ("<code>x y</code> <PRE>a</PRE>", ["<code>x y</code>", "<PRE>a</PRE>"]),
        ("&nbsp;a &#39; AT&T; R&D", ["&nbsp;", "&#39;"]),
        ("{name} {{ user name }} {a b}", ["{name}", "{{ user name }}"]),
        ("%s, %(x)s ${VAR} $HOME %d. $5", ["%s", "%(x)s", "${VAR}", "$HOME", "%d"]),
        ("50% of, 100% sure", []),
        ("<NAME>, <YOUR NAME>", ["<NAME>", "<YOUR NAME>"]),
        (":smile: at 10:30:15 a:b:c", [":smile:"]),
        ("@me. @scope/pkg, #topic! C# # x", ["@me", "@scope/pkg", "#topic"]),
        ("v1.2.3, 1.2.3-rc1. v2 3.14", ["v1.2.3", "1.2.3-rc1", "v2"]),
        ("3D 10km H2O 3D-printed non-MP3", ["3D", "10km", "H2O", "3D-printed", "non-MP3"]),
        ("2nd 1990s 21st-century 10-year-old COVID-19", []),
        ("snake_case _x_ camelCase iPhone foo()", ["snake_case", "camelCase", "iPhone", "foo()"]),
        ("he /she his/her and/or it.but home.He tHe", []),
        ("U.S. e.g. i.e. p.m. Yahoo! don't A/B 1/2 ____", []),
    ],
)
def test_spans(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <!-- gec: off --> b <!-- gec: on --> c", ["<!-- gec: off --> b <!-- gec: on -->"]),
        ("a\n# gec: off\nb\n# gec: on\nc", ["# gec: off\nb\n# gec: on"]),
        ("a // gec: off\nb, to the end.\n", ["// gec: off\nb, to the end."]),
        ("write gec: off in a comment", []),
        ("Write `<!-- gec: off -->` here.\nb", ["`<!-- gec: off -->`"]),
        ("Write ``# gec: off`` (`# gec: on` ends it).", ["``# gec: off``", "`# gec: on`"]),
        ("a `b` # gec: off `c`\nd", ["`b`", "# gec: off `c`\nd"]),
        ("```\n# gec: off\n```\nb", ["```\n# gec: off\n```"]),
        ("a ``b''\n% gec: off\nc ``d''", ["% gec: off\nc ``d''"]),
        ("# gec: off\nWrite `# gec: on`.\nb", ["# gec: off\nWrite `# gec: on`.\nb"]),
    ],
)
def test_regions_switched_off(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_dictionary_is_whole_words_in_their_case() -> None:
    text = "gec Gec gecs New York, C++ co-op gec's newyork"
    entries = ("gec", "New York", "C++", "co", "", " ")
    assert found(text, *entries) == ["gec", "New York", "C++", "co", "gec"]


def test_dictionary_prefers_the_longest_entry() -> None:
    assert found("in New York City", "New York", "New York City", "New") == ["New York City"]


@given(st.text(alphabet="ab1/.:@<>`{}%#\n\r -_\"'()[]\\~&;\u2028é"), st.sets(st.text(max_size=3)))
@settings(max_examples=200, deadline=None)
def test_spans_are_sorted_apart_and_trimmed(text: str, dictionary: set[str]) -> None:
    at = -1
    for start, end in protected_spans(text, dictionary=dictionary):
        assert at < start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        at = end


ATTACKS = [
    *(
        "a",
        "<",
        "<a ",
        "<a x=",
        "<A ",
        "<!--",
        "<code>",
        "&",
        "{",
        "{{",
        "%(",
        "$a",
        "#",
        "# gec: ",
    ),
    *(
        "`",
        "``` ",
        "` `` ",
        "`\n",
        "~~~\n",
        "\n",
        "\n ",
        "\r\n",
        "> ",
        "---\na:",
        "<!-- gec: off -->",
    ),
    *("a@", "a.", "a.a@", "/", "/a", "~/", "a/", "a/.", "w.w/", "C:\\", "\\\\a", "@a", ":a", "x("),
    *(
        "http://",
        "http://(",
        "www.(",
        ")",
        "(",
        "](",
        "](a",
        "1.",
        "a-",
        "1a-",
        "_",
        "a_",
        "A1",
        "aA",
        "`# gec: off` ",
        "`gec:\n",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_time_is_linear(attack: str) -> None:
    """200 kB take 0.1 s or so; a quadratic rule would need 4e10 steps, which is hours."""
    started = time.process_time()
    protected_spans(attack * (200_000 // len(attack)) + "!", dictionary=["a", "(", "a a"])
    assert time.process_time() - started < 20


def test_mask_and_newlines_keep_offsets() -> None:
    assert mask("abcdef", [(1, 3), (4, 5)], "X") == "aXXdXf"
    assert unify_newlines("a\r\nb\rc\u2028d\x0ce\x85") == "a \nb\nc\nd\ne\n"


@given(st.text("ab Aé1.:/@\\<>&;{}$%#()[]_-+'\n", max_size=60))
@settings(max_examples=500, deadline=None)
def test_nothing_is_missed_for_want_of_a_hint(text: str) -> None:
    if not protection._HINT.search(text):
        assert not protection._INLINE.search(text)
