"""protected_spans: what no correction may touch, and what it must not swallow."""

import doctest
import re
import time
from collections.abc import Collection

import pytest
from counting import growth
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.text import protection
from gec.text.protection import Overlaps, Span, mask, merged, protected_spans, unify_newlines


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


def occurrences(text: str, dictionary: Collection[str]) -> list[Span]:
    """The plain way: every entry at every word, the longest first."""
    spans = []
    for token in re.finditer(r"\w+|[^\w\s]", text):
        for entry in sorted((entry.strip() for entry in dictionary), key=len, reverse=True):
            head = re.match(r"\w+|[^\w\s]", entry)
            end = token.start() + len(entry)
            whole = not re.fullmatch(r"\w\w", text[end - 1 : end + 1])
            if head and head[0] == token[0] and text.startswith(entry, token.start()) and whole:
                spans.append((token.start(), end))
                break
    return spans


WORDS = st.lists(st.sampled_from(["a", "b", "ab", " ", " ", "  ", "-", "\n", "é"]), max_size=12)


@given(WORDS.map("".join), st.sets(WORDS.map("".join), max_size=8))
@settings(max_examples=500, deadline=None)
def test_dictionary_entries_are_found_wherever_they_are(text: str, dictionary: set[str]) -> None:
    expected = merged(text, occurrences(text, dictionary))
    assert merged(text, protection._phrases(frozenset(dictionary)).find(text)) == expected


@pytest.mark.parametrize("text", ["a ", "a a b "])
@pytest.mark.parametrize(
    "entry", ["a x{}", "a {}", "a a a a x{}"], ids=["ends apart", "one word", "begins alike"]
)
def test_work_is_linear_in_text_and_dictionary(text: str, entry: str) -> None:
    """Entries that all begin as the text does, none of which is in it."""

    def protect(size: int) -> list[Span]:
        return protected_spans(text * size, dictionary=[entry.format(n) for n in range(size)])

    assert growth(protect, 300) < 2.3


def test_a_long_entry_that_is_nearly_there_everywhere_is_linear_too() -> None:
    assert growth(lambda n: protected_spans("a " * n, dictionary=["a " * n + "b"]), 300) < 2.3


SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)).map(lambda p: (p[0], sum(p))))


@given(SPANS, st.integers(0, 25), st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_overlaps(spans: list[Span], start: int, length: int) -> None:
    end = start + length
    expected = any(first < end and start < last for first, last in spans)
    assert Overlaps(spans)(start, end) == expected


def test_examples() -> None:
    assert doctest.testmod(protection).failed == 0


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


_PIECES = (
    *"ab Aé1.:/@\\<>&;{}$%#()[]_-+'=\n\t",
    "http://a.b/(c)", "www.a", "a@b.c", "/usr/a", "C:\\a b", '<a href="b c">', "<A B>", "</a >",
    "{{ a }}", "{% a b %}", "${A}", "%(a)s", ":a_b:", "](a b)", "](a)", "1.2.3", "f()", "aB",
    "\u2028", "\u00a0",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
@settings(max_examples=1000, deadline=None)
def test_nothing_is_missed_for_want_of_a_hint(text: str) -> None:
    whole = [match.span() for match in protection._inline_pattern().finditer(text)]
    assert [match.span() for match in protection._inline_matches(text)] == whole
