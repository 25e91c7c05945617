"""Documents as they change: their kinds, their passages, their sentences."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.check.project import Strictness
from gec.documents.markup import passages
from gec.documents.passage import Passage
from gec.lsp.buffer import Buffer, Change, path_of, uri_of
from gec.lsp.languages import kind_of
from gec.lsp.outline import Outline
from gec.lsp.positions import Text
from gec.lsp.recut import recut
from gec.lsp.sentences import Demand, Reading, Results
from gec.text.segmentation import cut

SENTENCES = (
    "She go to school every day.", "They have `code` and **bold** words in it!", "Is it (so)?",
    "See https://example.com/a for more.", "The cat, the dog and the bird.", "Version 1.2.3 is.",
)  # fmt: skip


def paragraphs(count: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(SENTENCES, k=chance.randint(1, 6))) for _ in range(count)]


SOURCES = {
    "plain": "\n\n".join(paragraphs(5)),
    "markdown": "# A title\n\n> A quote of *two*\n> lines in it.\n\n- One thing\n- Other things\n\n"
    + "\n\n".join(paragraphs(5)) + "\n\n| a cell | more |\n|---|---|\n| they go | so |\n",
    "html": "<h1>Title here</h1>" + "".join(f"<p>{p}</p>\n" for p in paragraphs(5)),
    "latex": "\\begin{document}\nWords\\footnote{A note here.} go on.\n\n"
    + "\n\n".join(paragraphs(4)).replace("`code`", "$x$") + "\n\\end{document}\n",
    "rst": "Title\n=====\n\n" + "\n\n".join(paragraphs(5)).replace("`code`", "``code``") + "\n",
    "code": "".join(f"# {p}\nx = 1\n\n" for p in paragraphs(5)) + '"""The docs\n\nof it."""\n',
    "commit": "Add the words\n\n" + "\n".join(paragraphs(3)) + "\n\nSigned-off-by: A B <a@b.c>\n",
}  # fmt: skip


def kept(passage: Passage, source: str) -> Sequence[tuple[int, int]]:
    """What no edit of a passage may touch: code and the like are looked for a second time."""
    return cut(passage.seen(source), spans=passage.protected).protected


@pytest.mark.parametrize("kind", SOURCES)
def test_a_guessed_outline_is_what_the_parser_finds(kind: str) -> None:
    """Typed words, at every place where no parser is asked."""
    source = SOURCES[kind]
    name = "a.py" if kind == "code" else "a"
    outline = Outline.parsed(source, kind, name)
    guessed = 0
    for at in range(len(source)):
        for new in (source[:at] + " often" + source[at:], source[:at] + source[at + 1 :]):
            found = outline.after(new)
            if found is None or found is outline:
                continue
            guessed += 1
            ours = [p for p in found.found if re.search(r"[^\W\d_]{2}", p.text(new))]
            parsed = Outline.parsed(new, kind, name).found
            assert [p.pieces for p in ours] == [p.pieces for p in parsed], (at, new)
            assert [p.text(new) for p in ours] == [p.text(new) for p in parsed]
            assert [p.end for p in ours] == [p.end for p in parsed]
            assert [kept(p, new) for p in ours] == [kept(p, new) for p in parsed]
    assert guessed > len(source) / 3


@pytest.mark.parametrize("new", ["`", "*", "#", "<", "\n", "\\", "gec: off", '"', "_", "|", "-"])
def test_markup_is_parsed(new: str) -> None:
    source = SOURCES["markdown"]
    at = source.index("Other things") + 3
    assert Outline.parsed(source, "markdown", "a").after(source[:at] + new + source[at:]) is None


PIECES = st.lists(
    st.sampled_from((*SENTENCES, "\n", "\n\n", " ", "- ", "1. ", "Mr. ", "e.g. ", "“So.” ", "Or\n"))
)


@settings(max_examples=500)
@given(PIECES, PIECES, st.data())
def test_sentences_cut_again_are_those_cut_at_once(
    before: list[str], behind: list[str], data: st.DataObject
) -> None:
    old = " ".join([*SENTENCES, *before, *SENTENCES, *behind, *SENTENCES])
    start = data.draw(st.integers(0, len(old)))
    end = data.draw(st.integers(start, min(len(old), start + 5)))
    new = old[:start] + data.draw(st.sampled_from(("", "x", ". Y", " word", ".", "!"))) + old[end:]
    found = recut(cut(old), new)
    if found is None:
        return
    whole = cut(new)
    assert [*found.cuts.spans] == [*whole.spans]
    assert [*found.cuts.protected] == [*whole.protected]
    assert found.same + found.rest <= len(whole.spans)


def test_most_of_a_long_text_is_not_cut_again() -> None:
    old = " ".join(SENTENCES * 50)
    at = old.index("every day", len(old) // 2)
    found = recut(cut(old), old[:at] + "nearly " + old[at:])
    assert found is not None
    assert found.same + found.rest > 250
    assert recut(cut("One. Two."), "One. Two. Three.") is None


def test_the_nearest_sentences_are_the_first() -> None:
    """Of a sentence that stands there twice, the nearer one counts."""
    source = "It is so. One is here. Two are here. Three are here. It is so."
    reading = Reading(Outline.parsed(source, "plain", "a"), Demand(Strictness()))
    places = [number for _, number in reading.missing(Results(), source.index("Three"))]
    assert places == [3, 2, 4, 1]


# --------------------------------------------------------------------------------------- documents


def test_changes_are_made_one_after_the_other() -> None:
    buffer = Buffer("untitled:a", 1, "", Text.of("a\nb😀c\n"))
    buffer = buffer.changed(
        2, [Change(((1, 1), (1, 3)), "x"), Change(((0, 0), (0, 0)), "1\r\n"), Change(None, "é\n")]
    )
    assert (buffer.version, buffer.text) == (2, Text.of("é\n"))
    wrong = buffer.changed(3, [Change(((9, 9), (0, 0)), "z")])  # ends before it begins
    assert wrong.text.value == "z"


def test_paths_and_uris() -> None:
    assert path_of(uri_of("/a b/ü.md")) == "/a b/ü.md"
    assert path_of("untitled:Untitled-1") == "Untitled-1"
    assert path_of("git:/a/b.md?x") == "b.md"


@pytest.mark.parametrize(
    ("language", "name", "kind"),
    [
        ("plaintext", "a.txt", "plain"), ("plaintext", "a.md", "markdown"), ("", "a", "plain"),
        ("markdown", "a.txt", "markdown"), ("restructuredtext", "a", "rst"), ("tex", "a", "latex"),
        ("gitcommit", "x", "commit"), ("", "COMMIT_EDITMSG", "commit"), ("html", "a", "html"),
        ("python", "a", "code"), ("typescriptreact", "a.tsx", "code"), ("rust", "a", "code"),
        ("json", "a.json", None), ("csv", "a.csv", None), ("plaintext", "a.csv", None),
        ("no such language", "a.xyz", None), ("markdown.mdx", "a", "markdown"),
    ],
)  # fmt: skip
def test_kinds_of_documents(language: str, name: str, kind: str | None) -> None:
    found = kind_of(language, name)
    assert (found and found[0]) == kind


def test_prose_of_a_commit_message() -> None:
    source = (
        "feat(cli): add option\n\nThe option go here.\nIt is so.\n\nFixes: 12\n"
        "Signed-off-by: Me <me@example.com>\n# Please enter\n#\tgo\n"
        "# ------------------------ >8 ------------------------\ndiff go\n"
    )
    found = passages("commit", source)
    assert [(p.text(source), p.fragment) for p in found] == [
        ("add option\n", True), ("The option go here.\nIt is so.\n", False),
    ]  # fmt: skip
    ignored = passages("commit", "Go\n\n# gec: ignore\nThey go.\nWe go.\n")
    assert [len(p.ignored) for p in ignored] == [0, 1]
