"""The editor page on the real server, with rules in the model's place (fake_rules.py).

What browsers do differently runs in Chromium and in Firefox; everything else in Chromium alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from browser import Editor, FirefoxEditor, chromium, firefox
from browser_firefox import Firefox
from browser_server import running
from fake_rules import RuleCorrector
from playwright.sync_api import Browser

from gec.web.problems import Problem

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
LETTER = "We was here. She go to teh shop. However it is very very late."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def fox() -> Iterator[Firefox]:
    with firefox() as found:
        yield found


@pytest.fixture
def corrector() -> RuleCorrector:
    return RuleCorrector()


@pytest.fixture
def start(browser: Browser, corrector: RuleCorrector) -> Iterator[Callable[..., Editor]]:
    """Open the editor; nothing may go wrong in it unseen, and it may call no other server."""
    with ExitStack() as stack:
        urls: list[str] = []

        def make(settings: dict[str, Any] | None = None, **context: Any) -> Editor:
            if not urls or settings:
                urls.append(stack.enter_context(running(corrector, **(settings or {}))))
            editor = Editor(browser, urls[-1], **context)
            stack.callback(editor.close)
            return editor

        yield make


@pytest.fixture
def editor(start: Callable[..., Editor]) -> Editor:
    return start()


@pytest.fixture(params=["chromium", "firefox"])
def anywhere(request: pytest.FixtureRequest, corrector: RuleCorrector) -> Iterator[Editor]:
    """The editor in one browser after the other."""
    with running(corrector) as url:
        if request.param == "firefox":
            editor: Editor = FirefoxEditor(request.getfixturevalue("fox"), url)
        else:
            editor = Editor(request.getfixturevalue("browser"), url)
        yield editor
        editor.close()


@pytest.fixture(scope="module")
def shared(browser: Browser) -> Iterator[Editor]:
    """One page for what needs no page of its own."""
    with running() as url:
        editor = Editor(browser, url)
        yield editor
        editor.close()


def wait_checked(editor: Editor, corrector: RuleCorrector, paragraph: str) -> None:
    """Wait until the server has read a new paragraph and the page has its answer."""
    editor.until(lambda: paragraph in corrector.texts, f"a request with {paragraph!r}")
    editor.wait_text("#state", "Checked")


def wait_stored(editor: Editor, text: str) -> None:
    """Wait until the page has put exactly this text away."""
    stored = "JSON.parse(sessionStorage.getItem('gec.draft'))?.text"
    editor.until(lambda: editor.page.evaluate(stored) == text, f"{text!r} in the storage")


# ------------------------------------------------------------------------------------ writing


def test_errors_are_underlined_by_kind_without_touching_the_text(anywhere: Editor) -> None:
    anywhere.type(LETTER + " ")
    anywhere.wait_underlined(
        grammar=["was", "go"], spelling=["teh"], punctuation=["However"], style=["very"]
    )
    nodes = "[...document.querySelectorAll('#text *')].map(e => e.nodeName).join()"
    assert anywhere.page.evaluate(nodes) in ("", "DIV")
    assert anywhere.text == LETTER + " "
    anywhere.wait_text("#count", "5")


def test_each_kind_has_a_line_of_its_own_shape(editor: Editor) -> None:
    shapes = editor.page.evaluate(
        """() => ["spelling", "grammar", "punctuation", "style"].map(kind =>
          getComputedStyle(document.getElementById("text"), `::highlight(gec-${kind})`)
            .textDecorationStyle)"""
    )
    assert sorted(shapes) == ["dashed", "dotted", "double", "wavy"]


def test_a_word_is_left_alone_until_it_is_written_or_the_writer_pauses(
    editor: Editor, corrector: RuleCorrector
) -> None:
    editor.stop_clock()
    editor.type("It is teh")
    editor.page.clock.run_for(300)
    wait_checked(editor, corrector, "It is teh")
    assert editor.underlined() == {}
    editor.press("Space")
    editor.wait_underlined(spelling=["teh"])
    editor.press("Backspace")
    editor.wait_underlined()
    editor.page.clock.run_for(1600)
    editor.wait_underlined(spelling=["teh"])


def test_underlines_move_with_the_text(editor: Editor, corrector: RuleCorrector) -> None:
    editor.type("It is teh end. ")
    editor.wait_underlined(spelling=["teh"])
    corrector.gate.clear()  # from now on there is no answer
    editor.press("Home")
    editor.page.keyboard.type("Well, now. ")
    editor.wait_underlined(spelling=["teh"])


def test_lines_and_blank_lines_are_kept(anywhere: Editor) -> None:
    anywhere.type("one\ntwo\n\n\nthree")
    assert anywhere.text == "one\ntwo\n\n\nthree"
    anywhere.press("Backspace", "Backspace", "Backspace", "Backspace", "Backspace", "Backspace")
    assert anywhere.text == "one\ntwo\n\n"
    anywhere.press("Control+a", "Delete")
    assert anywhere.text == ""
    anywhere.type("new")
    assert anywhere.text == "new"


def test_pasted_text_is_plain(anywhere: Editor) -> None:
    anywhere.page.click("#text")
    anywhere.paste("a <b>teh</b>\r\n\r\nend & more", "<h1 style='color: red'>rich</h1>")
    assert anywhere.text == "a <b>teh</b>\n\nend & more"
    anywhere.wait_underlined(spelling=["teh"])
    anywhere.press("Control+z")
    assert anywhere.text == ""


def test_text_of_an_input_method(anywhere: Editor, corrector: RuleCorrector) -> None:
    anywhere.type("She go home \n")
    anywhere.wait_underlined(grammar=["go"])
    anywhere.compose("k", "か", "かn", "かんj", commit="漢字")
    anywhere.compose("ㅎ", "하", commit="한")
    wait_checked(anywhere, corrector, "She go home \n漢字한")
    wait_stored(anywhere, "She go home \n漢字한")
    assert anywhere.text == "She go home \n漢字한"
    anywhere.press("Control+Home", "F8", "Enter")
    assert anywhere.text == "She goes home \n漢字한"
    anywhere.press("Control+z")
    assert anywhere.text == "She go home \n漢字한"


def test_nothing_is_asked_about_half_a_word(anywhere: Editor, corrector: RuleCorrector) -> None:
    """An input method shows what it might put in: that is no text yet."""
    anywhere.page.click("#text")
    asked = anywhere.page.evaluate(
        """async () => {
          const asked = [];
          const own = window.fetch;
          window.fetch = (path, options) => {
            asked.push(options.body ?? "");
            return own(path, options);
          };
          document.getElementById("text").dispatchEvent(new CompositionEvent("compositionstart"));
          document.execCommand("insertText", false, "nihon");
          // timers are in order: what 250 ms without a key stroke ask for comes before this
          await new Promise(done => setTimeout(done, 600));
          return asked;
        }"""
    )
    assert asked == []
    anywhere.page.evaluate(
        """() => document.getElementById("text").dispatchEvent(
          new CompositionEvent("compositionend"))"""
    )
    wait_checked(anywhere, corrector, "nihon")


def test_the_key_that_ends_a_composition_accepts_nothing(editor: Editor) -> None:
    editor.type("It is teh end. ")
    editor.wait_underlined(spelling=["teh"])
    editor.click("spelling")
    editor.wait_text("#card")
    # Safari tells of this key when the composition has ended already
    editor.page.evaluate(
        """() => document.getElementById("text").dispatchEvent(new KeyboardEvent(
          "keydown", {key: "Enter", keyCode: 229, bubbles: true, cancelable: true}))"""
    )
    assert editor.text == "It is teh end. "


def test_markup_stays_text_everywhere(start: Callable[..., Editor]) -> None:
    editor = start()
    evil = "<script>document.title='x'</script><img src=x onerror=alert(1)>"
    editor.type(f"{evil} teh Gecko ")
    editor.wait_underlined(spelling=["teh", "Gecko"])
    assert editor.text == f"{evil} teh Gecko "
    editor.press("F8")
    assert editor.page.inner_text("#card-phrase").endswith("teh the Gecko")
    editor.press("Escape")
    editor.page.evaluate(
        "evil => localStorage.setItem('gec.dictionary', JSON.stringify([evil]))", evil
    )
    editor.page.reload()
    editor.page.click("#open-preferences")
    editor.page.click("#open-dictionary")
    assert editor.page.inner_text("#dictionary-list") == evil
    editor.press("Escape")
    for view in ("changes", "decoding"):
        editor.page.click(f"#tab-{view}")
        editor.wait_text(f"#view-{view} .text, #view-{view} li", "<img src=x")
    assert editor.page.evaluate("document.querySelectorAll('#page img, #page script').length") == 0
    assert editor.page.title() != "x"


def test_code_is_protected(editor: Editor, corrector: RuleCorrector) -> None:
    block = "```\nteh code\n\nteh rest\n```"
    editor.page.click("#text")
    editor.page.evaluate(
        "t => document.execCommand('insertText', false, t)",
        f"Teh end.\n\n{block}\n\nIt is `teh` and teh. ",
    )
    editor.wait_underlined(spelling=["teh"])
    assert block in corrector.texts  # whole, blank line included


# ------------------------------------------------------------------------------ accepting, undoing


def test_accept_by_keyboard_and_undo(anywhere: Editor) -> None:
    anywhere.type("She go to teh shop. ")
    anywhere.wait_underlined(grammar=["go"], spelling=["teh"])
    anywhere.press("Control+Home", "F8")
    page = anywhere.page
    assert page.inner_text("#card-title") == "Grammar"
    assert page.inner_text("#card-phrase") == "She go goes to teh shop."
    assert "agree" in page.inner_text("#card-message")
    assert page.inner_text("#card-type") == "R:VERB:SVA"
    assert page.inner_text("#card-sure") == "very sure, 95 %"
    assert page.evaluate("document.activeElement.id") == "card-accept"
    anywhere.press("Enter")
    assert anywhere.text == "She goes to teh shop. "
    assert page.evaluate("document.activeElement.id") == "text"
    anywhere.wait_underlined(spelling=["teh"])
    anywhere.press("Control+z")
    assert anywhere.text == "She go to teh shop. "
    anywhere.wait_underlined(grammar=["go"], spelling=["teh"])
    anywhere.press("Control+Shift+z")
    assert anywhere.text == "She goes to teh shop. "
    page.keyboard.type("X")
    assert anywhere.text == "She goesX to teh shop. "  # the caret is where it was


def test_enter_accepts_what_a_click_has_opened(anywhere: Editor) -> None:
    anywhere.type("She go to teh shop. ")
    anywhere.wait_underlined(grammar=["go"], spelling=["teh"])
    anywhere.click("spelling")
    anywhere.wait_text("#card")
    anywhere.press("Enter")
    assert anywhere.text == "She go to the shop. "
    anywhere.press("Enter")  # the card is closed: a line break again
    assert anywhere.text == "She go to the\n shop. "


def test_typing_closes_the_card_and_loses_nothing(editor: Editor) -> None:
    editor.type("It is teh end. ")
    editor.wait_underlined(spelling=["teh"])
    editor.click("spelling")
    editor.page.wait_for_selector("#card:visible")
    editor.press("Home")
    editor.page.keyboard.type("abc")
    editor.page.wait_for_selector("#card", state="hidden")
    assert editor.text == "abcIt is teh end. "
    editor.click("spelling")
    editor.page.wait_for_selector("#card:visible")
    editor.page.keyboard.type("x")
    editor.page.wait_for_selector("#card", state="hidden")
    assert editor.text.replace("x", "") == "abcIt is teh end. "
    assert "x" in editor.text


def test_insertions_and_deletions(anywhere: Editor) -> None:
    anywhere.type("I have dog. It is very very late. ")
    anywhere.wait_underlined(grammar=["dog"], style=["very"])
    anywhere.press("Control+Home", "F8", "Enter")
    assert anywhere.text == "I have a dog. It is very very late. "
    anywhere.wait_underlined(style=["very"])
    anywhere.press("F8", "Enter")
    assert anywhere.text == "I have a dog. It is very late. "
    anywhere.press("Control+z")
    assert anywhere.text == "I have a dog. It is very very late. "


def test_accept_all_is_one_step_of_undo(anywhere: Editor) -> None:
    text = "We was here.\n\nShe go to teh shop.\nThey was very very late. \n\nEnd of teh text. "
    anywhere.type(text)
    anywhere.wait_underlined(grammar=["was", "go"], spelling=["teh", "teh"], style=["very"])
    anywhere.page.click("#accept-all")
    better = "We were here.\n\nShe goes to the shop.\nThey was very late. \n\nEnd of the text. "
    assert anywhere.text == better
    anywhere.wait_text("#groups", "Nothing to correct")
    assert anywhere.page.inner_text("#groups details .number") == "5"
    anywhere.page.click("#text")
    anywhere.press("Control+z")
    assert anywhere.text == text
    anywhere.wait_underlined(grammar=["was", "go"], spelling=["teh", "teh"], style=["very"])


def test_accept_all_of_a_kind_and_undo_of_one(editor: Editor) -> None:
    editor.type("She go to teh shop. We was in teh sun. ")
    editor.wait_underlined(grammar=["go", "was"], spelling=["teh", "teh"])
    editor.page.click("[data-key='all spelling']")
    assert editor.text == "She go to the shop. We was in the sun. "
    editor.wait_underlined(grammar=["go", "was"])
    editor.page.click("#groups summary")
    editor.page.click("details[data-name=accepted] li:first-child button")  # the last accepted
    assert editor.text == "She go to the shop. We was in teh sun. "
    editor.wait_underlined(grammar=["go", "was"], spelling=["teh"])


def test_next_and_previous_go_round(editor: Editor) -> None:
    editor.type(LETTER + " ")
    editor.wait_underlined(
        grammar=["was", "go"], spelling=["teh"], punctuation=["However"], style=["very"]
    )
    editor.press("Control+Home")
    seen = []
    for key in ("F8", "F8", "Alt+ArrowDown", "F8", "F8", "F8", "Shift+F8", "Alt+ArrowUp"):
        editor.press(key)
        seen.append(editor.page.inner_text("#card-place"))
    assert seen == [f"{n} of 5" for n in (1, 2, 3, 4, 5, 1, 5, 4)]
    editor.press("Escape")
    assert editor.page.evaluate("document.activeElement.id") == "text"


def test_offsets_after_emoji(anywhere: Editor) -> None:
    anywhere.type("👩‍👩‍👧 naïve 𝒳 😀 she go to teh shop 😀. ")
    anywhere.wait_underlined(grammar=["go"], spelling=["teh"])
    anywhere.page.click("#accept-all")
    assert anywhere.text == "👩‍👩‍👧 naïve 𝒳 😀 she goes to the shop 😀. "


# ---------------------------------------------------------------------------------------- ignoring


def test_ignored_once_stays_ignored_while_the_text_changes(editor: Editor) -> None:
    editor.type("It is teh end. And teh start. ")
    editor.wait_underlined(spelling=["teh", "teh"])
    editor.press("Control+Home", "F8")
    editor.page.click("#card-ignore")
    editor.wait_underlined(spelling=["teh"])
    editor.press("Control+Home")
    editor.page.keyboard.type("New words. Again ")
    editor.press("Control+End")
    editor.page.keyboard.type("More. ")
    editor.page.wait_for_selector("#state:text('Checked')")
    editor.wait_underlined(spelling=["teh"])
    editor.page.reload()  # kept in the tab
    editor.wait_underlined(spelling=["teh"])
    assert editor.text.startswith("New words. Again It is teh end.")
    editor.page.click("#groups summary")
    editor.page.click("details[data-name=ignored] button")
    editor.wait_underlined(spelling=["teh", "teh"])


def test_ignored_words_move_with_cut_and_paste(editor: Editor, corrector: RuleCorrector) -> None:
    editor.type("It is teh end of all. \n\nOther.")
    editor.wait_underlined(spelling=["teh"])
    editor.press("F8")
    editor.page.click("#card-ignore")
    editor.wait_underlined()
    editor.press("Control+Home", "Shift+End", "Delete", "Control+End", "Enter")
    editor.page.keyboard.type("It is teh end of all. ")
    wait_checked(editor, corrector, "\nOther.\nIt is teh end of all. ".strip("\n"))
    editor.wait_text("#groups", "Nothing to correct")
    assert editor.underlined() == {}


def test_the_dictionary_is_kept_and_can_be_moved(
    start: Callable[..., Editor], corrector: RuleCorrector, tmp_path: Path
) -> None:
    editor = start()
    editor.type("Gecko and Gecko and teh. ")
    editor.wait_underlined(spelling=["Gecko", "Gecko", "teh"])
    editor.press("Control+Home", "F8")
    assert editor.page.inner_text("#card-never") == "Always ignore “Gecko”"
    editor.page.click("#card-never")
    editor.wait_underlined(spelling=["teh"])
    editor.page.reload()
    editor.wait_underlined(spelling=["teh"])
    assert corrector.asked[-1].dictionary == {"Gecko"}
    editor.page.click("#open-preferences")
    editor.page.click("#open-dictionary")
    with editor.page.expect_download() as download:
        editor.page.click("#dictionary-export")
    download.value.save_as(tmp_path / "words.txt")
    assert (tmp_path / "words.txt").read_text() == "Gecko\n"
    editor.page.click("[aria-label='Remove Gecko']")
    editor.press("Escape")
    editor.wait_underlined(spelling=["Gecko", "Gecko", "teh"])
    (tmp_path / "more.txt").write_text("teh\nGecko\nnaïve\n")
    editor.page.set_input_files("#dictionary-file", tmp_path / "more.txt")
    editor.page.wait_for_function(
        "() => document.getElementById('toast').innerText.startsWith('3 new words')"
    )
    editor.wait_underlined()


# ------------------------------------------------------------------------------------ other parts


def test_strictness(editor: Editor, corrector: RuleCorrector) -> None:
    editor.type("She bought Gecko and she go. ")
    editor.wait_underlined(grammar=["go"], spelling=["Gecko"])
    slider = editor.page.locator("#strictness")
    slider.focus()
    editor.press("ArrowRight")
    editor.wait_underlined(grammar=["go"], spelling=["Gecko"], style=["bought"])
    assert slider.get_attribute("aria-valuetext") == "Thorough"
    editor.press("ArrowLeft", "ArrowLeft")
    editor.wait_underlined(grammar=["go"])
    assert [options.setting for options in corrector.asked[-2:]] == ["thorough", "precise"]
    editor.page.reload()
    editor.wait_underlined(grammar=["go"])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"She go home.\r\n\r\nTeh end.\r\n", "She go home.\n\nTeh end.\n"),
        (b"\xef\xbb\xbfShe go caf\xc3\xa9 \xf0\x9f\x98\x80", "She go café \U0001f600"),
        ("She go".encode("utf-16"), "She go"),
        (b"She go caf\xe9", "She go café"),
    ],
)
def test_a_dropped_file_is_opened(editor: Editor, content: bytes, text: str) -> None:
    editor.type("Something else.")
    editor.drop("letter.md", content)
    editor.wait_underlined(grammar=["go"])
    assert editor.text == text
    assert editor.page.inner_text("#file-name") == "letter.md"
    editor.page.click("#toast button")
    assert editor.text == "Something else."


def test_binary_files_are_refused(editor: Editor) -> None:
    editor.type("Mine.")
    editor.drop("photo.txt", b"\x89PNG\x00\x00\x01")
    editor.page.wait_for_selector("#toast :text('photo.txt is not a text file.')")
    assert editor.text == "Mine."


def test_open_and_save(editor: Editor, tmp_path: Path) -> None:
    original = b"\xef\xbb\xbfShe go home.\r\n\r\n\tTeh end.\r\n"
    (tmp_path / "notes.md").write_bytes(original)
    editor.page.set_input_files("#file", tmp_path / "notes.md")
    editor.wait_underlined(grammar=["go"])
    with editor.page.expect_download() as download:
        editor.press("Control+s")
    assert download.value.suggested_filename == "notes.md"
    download.value.save_as(tmp_path / "saved.md")
    assert (tmp_path / "saved.md").read_bytes() == original


def test_copy_corrected_text(start: Callable[..., Editor]) -> None:
    editor = start(permissions=["clipboard-read", "clipboard-write"])
    editor.type("She go to teh shop.\n\n😀 We was. ")
    editor.wait_underlined(grammar=["go", "was"], spelling=["teh"])
    editor.page.click("[data-copy]")
    editor.page.wait_for_selector("#toast :text('Copied, with 3 corrections made.')")
    copied = editor.page.evaluate("navigator.clipboard.readText()")
    assert copied == "She goes to the shop.\n\n😀 We were. "
    assert editor.text == "She go to teh shop.\n\n😀 We was. "


def test_changes_view(editor: Editor) -> None:
    editor.type("She go to teh shop. ")
    editor.wait_underlined(grammar=["go"], spelling=["teh"])
    editor.press("Control+Home", "F8", "Enter")
    editor.wait_underlined(spelling=["teh"])
    editor.page.click("#tab-changes")
    editor.page.wait_for_selector("#changes-text ins.open")
    marks = editor.page.evaluate(
        """() => [...document.querySelectorAll("#changes-text :is(del, ins)")]
          .map(e => e.className + e.nodeName + e.textContent)"""
    )
    assert marks == ["madeDELgo", "madeINSgoes", "openDELteh", "openINSthe"]
    assert editor.page.inner_text("#changes-summary") == "1 open correction, 1 accepted."


def test_decoding_view(editor: Editor) -> None:
    editor.type("She go to teh shop. It is late. ")
    editor.wait_underlined(grammar=["go"], spelling=["teh"])
    editor.page.click("#tab-decoding")
    editor.page.wait_for_selector("#decoding-list li")
    rows = editor.page.evaluate(
        """() => [...document.querySelectorAll("#decoding-list .line")].map(line =>
          [...line.querySelectorAll(".drafted, .decided")].map(e => e.className))"""
    )
    assert rows == [
        ["drafted", "decided", "drafted again", "decided", "drafted again"],
        ["drafted"],
    ]
    facts = editor.page.inner_text("#decoding-list li:first-child .facts")
    assert "3 passes" in facts
    assert "6 tokens" in facts
    assert "2.0 per pass" in facts
    assert re.search(r"\d ms$", facts)
    assert editor.page.inner_text("#decoding-rate") == "2.5"  # 10 tokens in 4 passes
    editor.page.check("#decoding-decided")
    assert editor.page.locator("#decoding-list li").count() == 1
    editor.page.click("[aria-label='Show in the text']")
    assert editor.page.evaluate("getSelection().toString()") == "She go to teh shop."


def test_dark_and_light(start: Callable[..., Editor]) -> None:
    editor = start(color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = editor.page.evaluate(colour)
    editor.page.click("#open-preferences")
    editor.page.check("input[name=theme][value=dark]", force=True)
    dark = editor.page.evaluate(colour)
    assert dark != light
    editor.page.reload()
    assert editor.page.evaluate(colour) == dark
    system = start(color_scheme="dark")
    assert system.page.evaluate(colour) == dark


def test_counts(editor: Editor) -> None:
    editor.type("It's one. And two, mother-in-law!\n\n# Three\n")
    editor.page.wait_for_selector("#size:text('6 words · 3 sentences')")


# ------------------------------------------------------------------------------- what is kept


def kept(page: Any) -> list[str]:
    """Return the texts that the browser keeps when all tabs are closed."""
    found: list[str] = page.evaluate(
        """() => Object.keys(localStorage).filter(key => key.startsWith("gec.draft"))
          .map(key => JSON.parse(localStorage.getItem(key)).text).sort()"""
    )
    return found


def keep(editor: Editor) -> None:
    editor.page.click("#open-preferences")
    editor.page.check("#keep")
    editor.press("Escape")


def test_text_is_kept_in_the_tab_only_unless_wanted(start: Callable[..., Editor]) -> None:
    editor = start()
    editor.type("Secret. ")
    wait_stored(editor, "Secret. ")
    assert kept(editor.page) == []
    editor.page.reload()
    editor.until(lambda: editor.text == "Secret. ", "the text in the tab")
    other = editor.tab()
    assert other.inner_text("#text").strip() == ""
    keep(editor)
    editor.until(lambda: kept(editor.page) == ["Secret. "], "the text in the browser")
    editor.page.close()
    other.close()
    editor.page = editor.tab()
    editor.until(lambda: editor.text == "Secret. ", "the text of the closed tab")
    editor.page.click("#open-preferences")
    editor.page.uncheck("#keep")
    assert kept(editor.page) == []


def test_two_tabs_keep_a_text_each(editor: Editor) -> None:
    keep(editor)
    editor.type("First. ")
    first = editor.page
    editor.until(lambda: kept(first) == ["First. "], "the first text")
    editor.page = second = editor.tab()
    assert editor.text == ""  # the other tab has its text open
    editor.type("Second. ")
    editor.until(lambda: kept(first) == ["First. ", "Second. "], "both texts")
    first.close()
    second.close()
    editor.page = editor.tab()
    editor.until(lambda: editor.text == "Second. ", "the newest text")
    toast = editor.page.text_content("#toast")
    assert toast == "1 more text kept in this browser: a new tab opens the next."
    editor.page = editor.tab()
    editor.until(lambda: editor.text == "First. ", "the next text")


def test_two_tabs_keep_a_text_each_without_locks(editor: Editor) -> None:
    """A page without TLS has none: then a tab cannot tell what another has open."""
    script = "Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })"
    editor.context.add_init_script(script)
    editor.page.reload()
    keep(editor)
    editor.type("First. ")
    first = editor.page
    editor.until(lambda: kept(first) == ["First. "], "the first text")
    editor.page = editor.tab()
    editor.until(lambda: editor.text == "First. ", "the newest text")
    editor.page.click("#text")
    editor.press("Control+End")
    editor.page.keyboard.type("Second. ")
    editor.until(lambda: kept(first) == ["First. ", "First. Second. "], "both texts")


def test_leaving_a_text_that_is_nowhere_else_is_asked_about(editor: Editor) -> None:
    asked: list[str] = []

    def answer(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    editor.page.on("dialog", answer)
    editor.type("My essay. ")
    editor.page.close(run_before_unload=True)
    editor.until(lambda: editor.page.evaluate("1") and asked, "the browser's question")
    assert asked == ["beforeunload"]
    assert editor.text == "My essay. "
    with editor.page.expect_download():
        editor.press("Control+s")
    editor.page.close(run_before_unload=True)
    if not editor.page.is_closed():
        editor.page.wait_for_event("close")
    assert asked == ["beforeunload"]


def test_a_full_storage_is_said(editor: Editor) -> None:
    keep(editor)
    editor.page.evaluate(
        """() => {
          for (let size = 2 ** 22; size >= 1; size /= 2) {
            try {
              for (let i = 0; ; i++) localStorage.setItem(`${size} ${i}`, "x".repeat(size));
            } catch {
              // it is as full as this
            }
          }
        }"""
    )
    editor.type("My essay, which is a little longer than what is left. ")
    editor.wait_text("#toast", "This browser stores no more: your text is only here.")
    assert kept(editor.page) == []


# ---------------------------------------------------------------------------------------- feedback


def test_no_feedback_is_offered_where_none_is_wanted(editor: Editor) -> None:
    editor.page.click("#open-preferences")
    assert not editor.page.is_visible("#feedback-choice")


def agree(editor: Editor) -> None:
    """Turn feedback on and wait until the text was read again for it."""
    editor.page.click("#open-preferences")
    with editor.page.expect_response("**/api/v1/correct"):
        editor.page.check("#feedback")
    editor.press("Escape")
    editor.wait_text("#state", "Checked")


def wait_decided(editor: Editor, sent: list[Any], count: int) -> None:
    """Wait until so many decisions were answered; asking the page lets its events in."""
    editor.until(lambda: editor.page.evaluate("1") and len(sent) == count, f"{count} decisions")


def test_feedback_needs_consent(start: Callable[..., Editor], tmp_path: Path) -> None:
    editor = start({"feedback": str(tmp_path / "feedback.sqlite")})
    sent: list[Any] = []
    asked: list[Any] = []
    editor.page.on("response", lambda r: "/feedback" in r.url and sent.append(r))
    editor.page.on("request", lambda r: "/correct" in r.url and asked.append(r.post_data_json))
    editor.type("😀 She go. We was here. Is teh end. ")
    editor.wait_underlined(grammar=["go", "was"], spelling=["teh"])
    editor.press("Control+Home", "F8", "Enter")
    editor.wait_underlined(grammar=["was"], spelling=["teh"])
    assert sent == []
    assert not any("feedback" in body["options"] for body in asked)
    agree(editor)
    assert asked[-1]["options"]["feedback"] is True
    editor.page.click("[aria-label='Ignore: was to were']")
    editor.wait_underlined(spelling=["teh"])
    editor.page.click("[aria-label='Accept: teh to the']")
    wait_decided(editor, sent, 2)
    bodies = [response.request.post_data_json for response in sent]
    assert [body["decision"] for body in bodies] == ["ignored", "accepted"]
    assert {response.status for response in sent} == {200}
    assert all(body["consent"] is True and body["edit"] == 0 for body in bodies)
    assert bodies[0]["shown"] != bodies[1]["shown"]  # two sentences
    editor.page.click("#open-preferences")
    editor.page.uncheck("#feedback")
    editor.press("Escape")
    editor.page.click("#text")
    editor.press("Control+z")
    editor.wait_underlined(spelling=["teh"])
    editor.page.click("[aria-label='Accept: teh to the']")
    editor.wait_underlined()
    assert len(sent) == 2


def test_all_edits_of_a_sentence_are_decided_as_it_was_first_shown(
    start: Callable[..., Editor], tmp_path: Path
) -> None:
    editor = start({"feedback": str(tmp_path / "feedback.sqlite")})
    sent: list[Any] = []
    editor.page.on("response", lambda r: "/feedback" in r.url and sent.append(r))
    editor.type("She go to teh shop and teh inn. ")
    editor.wait_underlined(grammar=["go"], spelling=["teh", "teh"])
    agree(editor)
    for left in (2, 1):
        with editor.page.expect_response("**/api/v1/correct"):
            editor.press("Control+Home", "F8", "Enter")
        editor.wait_text("#count", str(left))
        editor.wait_text("#state", "Checked")
    editor.press("Control+Home", "F8")
    editor.page.click("#card-ignore")
    wait_decided(editor, sent, 3)
    editor.press("Control+z")  # the second acceptance
    wait_decided(editor, sent, 4)
    bodies = [response.request.post_data_json for response in sent]
    assert len({body["shown"] for body in bodies}) == 1
    assert [(body["edit"], body["decision"]) for body in bodies] == [
        (0, "accepted"), (1, "accepted"), (2, "ignored"), (1, "undecided"),
    ]  # fmt: skip
    assert {response.status for response in sent} == {200}


# ------------------------------------------------------------------------------------------ server


PARAGRAPHS = [
    ("One.\n\nTwo\nlines.\n\n\n Three ", ["One.", "Two\nlines.", " Three "]),
    ("a\n\n```\nx\n\ny\n```\n\nb", ["a", "```\nx\n\ny\n```", "b"]),
    ("a\n\n~~~~\n```\n\n~~~\n\n~~~~\nb", ["a", "~~~~\n```\n\n~~~\n\n~~~~\nb"]),
    ("---\ntitle: x\n\nmore: y\n---\n\nText", ["---\ntitle: x\n\nmore: y\n---", "Text"]),
    ("---\n\nA rule.", ["---", "A rule."]),
    ("a <!-- b\n\nc --> d\n\ne", ["a <!-- b\n\nc --> d", "e"]),
    ("a <!-- never closed\n\nb", ["a <!-- never closed", "b"]),
    ("<pre>\n\nx</pre>\n\ny <code>z</code>\n\nq", ["<pre>\n\nx</pre>", "y <code>z</code>", "q"]),
    ("# gec: off\n\nx\n\n# gec: on\n\ny", ["# gec: off\n\nx\n\n# gec: on", "y"]),
    ("", []),
    (" \n\t\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PARAGRAPHS)
def test_paragraphs_are_cut_where_the_server_would_not_read_on(
    shared: Editor, text: str, expected: list[str]
) -> None:
    assert paragraphs(shared, text) == expected


def test_endless_paragraphs_are_cut_and_nothing_is_lost(shared: Editor) -> None:
    for text in ("This is 😀 a sentence. " * 1000, "word " * 5000, "x" * 20_001, "😀" * 9000):
        pieces = paragraphs(shared, text)
        assert "".join(pieces) == text
        assert max(len(piece) for piece in pieces) <= 8000
        for piece in pieces:
            piece.encode()  # no emoji was cut in two


def paragraphs(editor: Editor, text: str) -> list[str]:
    found: list[dict[str, Any]] = editor.page.evaluate(
        """async text => {
          const { paragraphs } = await import("./static/js/paragraphs.js");
          const found = paragraphs(text);
          for (const { start, text: own } of found) {
            if (text.slice(start, start + own.length) !== own) throw new Error("wrong start");
          }
          return found;
        }""",
        text,
    )
    return [one["text"] for one in found]


@pytest.mark.parametrize("seed", range(3))
def test_no_character_is_ever_lost(anywhere: Editor, seed: int) -> None:
    """Random deleting, pasting, accepting and undoing, against a plain string.

    Where Firefox misplaces a line the page puts the text in anew, and nothing is there to undo.
    """
    anywhere.page.click("#text")
    found = anywhere.page.evaluate(
        """async seed => {
          const { Surface } = await import("./static/js/surface.js");
          const root = document.createElement("div");
          root.contentEditable = "plaintext-only";
          root.className = "text";
          document.getElementById("page").prepend(root);
          const surface = new Surface(root);
          let [state, text] = [seed + 1, ""];
          const random = (n) => (state = (state * 48271) % 2147483647) % n;
          const words = ["a", "teh ", "\\n", "😀", "two\\nlines\\n", " ", "\\n\\n", "é-"];
          for (let step = 0; step < 150; step++) {
            const place = () => {
              let at = random(text.length + 1); // not between the halves of an emoji
              return /[\\udc00-\\udfff]/.test(text[at] ?? "") ? at - 1 : at;
            };
            const [start, end] = [place(), place()].sort((a, b) => a - b);
            const word = words[random(words.length)];
            const before = text;
            const expect = (kind) => {
              if (surface.text !== text) {
                const facts = [seed, step, kind, before, start, end, word, surface.text, text];
                return JSON.stringify(facts);
              }
            };
            root.focus();
            let wrong;
            if (random(3)) {
              surface.edit([{ start, end, replacement: word }]);
              text = text.slice(0, start) + word + text.slice(end);
              wrong = expect("edit");
            } else {
              surface.select(start, end);
              const at = surface.selection();
              if (at.start !== start || at.end !== end) wrong = `selection ${start} ${end}`;
              const paste = new Event("paste", { cancelable: true });
              paste.clipboardData = { getData: () => word };
              root.dispatchEvent(paste);
              text = text.slice(0, start) + word + text.slice(end);
              wrong ??= expect("type");
            }
            if (!wrong && random(4) === 0 && text !== before) {
              surface.undo();
              const undone = surface.text;
              document.execCommand("redo");
              const fox = navigator.userAgent.includes("Firefox") && undone === text;
              if (undone !== before && !fox) {
                wrong = JSON.stringify(["undo", seed, step, before, undone]);
              }
              text = surface.text;
            }
            if (wrong) return wrong;
          }
          root.remove();
          return "";
        }""",
        seed,
    )
    assert found == ""


def test_only_changed_paragraphs_are_sent(editor: Editor, corrector: RuleCorrector) -> None:
    editor.type("First one.\n\nSecond one.\n\nThird one.")
    wait_checked(editor, corrector, "Third one.")
    corrector.texts.clear()
    editor.press("Control+Home", "End")
    editor.page.keyboard.type(" More.")
    wait_checked(editor, corrector, "First one. More.")
    assert corrector.texts[-1] == "First one. More."
    assert not {"Second one.", "Third one."} & set(corrector.texts)


def test_a_late_answer_changes_nothing(editor: Editor, corrector: RuleCorrector) -> None:
    corrector.gate.clear()
    editor.type("She go to teh shop. ")
    editor.until(corrector.waiting.is_set, "a request")
    editor.press("Control+a")
    editor.page.keyboard.type("All new. ")
    corrector.gate.set()
    wait_checked(editor, corrector, "All new. ")
    assert editor.underlined() == {}
    assert editor.text == "All new. "


def test_a_server_that_fails_is_asked_again(
    start: Callable[..., Editor], corrector: RuleCorrector
) -> None:
    editor = start()
    corrector.failing = [Problem(503, "busy", "too much to do"), RuntimeError("a fault")]
    editor.type("She go home. ")
    editor.page.wait_for_selector("#state[data-kind=waiting]")
    assert "Your text is safe" in editor.page.inner_text("#state")
    editor.wait_underlined(grammar=["go"])
    assert len(editor.errors) == 2  # the browser's own lines about 503 and 500
    editor.errors.clear()


def test_a_paragraph_that_always_fails_does_not_hold_up_the_others(
    start: Callable[..., Editor], corrector: RuleCorrector
) -> None:
    editor = start()
    editor.page.click("#text")
    editor.paste("She go home.\n\nCRASH it.\n\nWe was here. ", "")
    editor.wait_underlined(grammar=["go", "was"])
    editor.wait_text("#state", "Not all was read: ")
    assert corrector.texts.count("CRASH it.") == 3  # twice with the others, once alone
    editor.press("Control+End")
    editor.page.keyboard.type("\n\nI have dog. ")
    editor.wait_underlined(grammar=["go", "was", "dog"])
    editor.wait_text("#state", "Not all was read: ")
    assert corrector.texts.count("CRASH it.") == 3
    editor.errors.clear()  # the browser's own lines about 500


def test_what_the_server_refuses_is_said(start: Callable[..., Editor]) -> None:
    editor = start({"max_sentences": 1})
    editor.type("She go home. We was here. ")
    editor.wait_text("#state", "Not all was read: a request may have 1 sentences, not more")
    editor.errors.clear()


def test_a_token_is_asked_for(browser: Browser) -> None:
    with ExitStack() as stack:
        context = browser.new_context()
        page = context.new_page()
        with running(token="a-secret-of-the-server-1") as url:
            page.goto(url)
            page.wait_for_selector("#token[open]")
            assert page.inner_text("#token-wrong") == ""
            for wrong in ("wrong", "ключ"):
                page.keyboard.insert_text(wrong)  # the focus is there
                page.keyboard.press("Enter")
                page.wait_for_selector("#token[open] >> text=did not accept that token")
            page.keyboard.press("Escape")  # one may write all the same, and come back to it
            page.wait_for_selector("#state:text('This server needs a token')")
            page.click("#text")
            page.keyboard.type("She go home. ")
            page.click("#enter-token")
            page.fill("#token-value", "a-secret-of-the-server-1")
            page.keyboard.press("Enter")
            page.wait_for_selector("#state:text('Checked')")
            page.wait_for_function("() => document.getElementById('count').textContent === '1'")
            assert page.is_hidden("#enter-token")
            page.reload()  # kept in the tab
            page.wait_for_selector("#state:text('Checked')")
        port = int(url.rstrip("/").rpartition(":")[2])  # started again, while the page is open
        stack.enter_context(running(token="a-secret-of-the-server-2", port=port))
        page.click("#text")
        page.keyboard.type("We was here. ")
        page.wait_for_selector("#token[open]")
        page.fill("#token-value", "a-secret-of-the-server-2")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.getElementById('count').textContent === '2'")
        context.close()


def test_the_policy_forbids_anything_inline(shared: Editor) -> None:
    with urlopen(shared.url) as response:
        policy = response.headers["Content-Security-Policy"]
        page = response.read().decode()
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert " style=" not in page
    assert "<style" not in page
    assert " on" not in {part[:3] for part in page.split("<")}
    assert page.count("<script") == page.count("<script src=") + page.count(
        '<script type="module" src='
    )


# ------------------------------------------------------------------------------- everybody's page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(
    start: Callable[..., Editor], tmp_path: Path, scheme: str, width: int
) -> None:
    settings = {"feedback": str(tmp_path / "feedback.sqlite")}
    editor = start(settings, color_scheme=scheme, viewport={"width": width, "height": 800})
    page = editor.page
    page.evaluate(AXE)

    def check(state: str) -> None:
        page.wait_for_function(
            "() => document.getAnimations().every(one => one.playState !== 'running')"
        )
        found = page.evaluate(
            "axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html)]))"
        )
        assert [v for v in found if v[0] in ("serious", "critical", "moderate")] == [], state

    check("empty")
    editor.type(LETTER + " ")
    editor.wait_underlined(
        grammar=["was", "go"], spelling=["teh"], punctuation=["However"], style=["very"]
    )
    check("corrections")
    editor.press("Control+Home", "F8")
    check("card")
    editor.press("Enter")
    editor.wait_underlined(
        grammar=["go"], spelling=["teh"], punctuation=["However"], style=["very"]
    )
    if width == 390:
        page.click("#panel-toggle")
        check("sheet")
    for view in ("changes", "decoding"):
        page.click(f"#tab-{view}")
        editor.wait_text(f"#view-{view} .text, #view-{view} li", "here")
        check(view)
    page.click("#open-preferences")
    check("preferences")
    page.click("#open-dictionary")
    page.fill("#dictionary-word", "gec")
    page.keyboard.press("Enter")
    check("dictionary")


def test_everything_can_be_reached_by_keyboard(editor: Editor) -> None:
    editor.type("She go to teh shop. ")
    editor.wait_underlined(grammar=["go"], spelling=["teh"])
    page = editor.page
    editor.wait_text("#count", "2")
    stops = []
    page.focus(".skip")
    for _ in range(30):
        stops.append(
            page.evaluate(
                """() => {
                  const { id, dataset, className, textContent } = document.activeElement;
                  return id || dataset.key || className || textContent;
                }"""
            )
        )
        page.keyboard.press("Tab")
    order = [stop.split(" ")[0] if " " in stop else stop for stop in stops]
    wanted = [
        "skip",
        "tab-write",
        "open",
        "save",
        "open-preferences",
        "text",
        "next",
        "accept-all",
        "strictness",
        "all",
    ]
    positions = [order.index(name) for name in wanted]
    assert positions == sorted(positions)
    verbs = {stop.split(" ")[0] for stop in stops}
    assert {"open", "accept", "ignore"} <= verbs


def test_a_card_lets_the_focus_go(editor: Editor) -> None:
    editor.type("It is teh end. ")
    editor.wait_underlined(spelling=["teh"])
    editor.wait_text("#count", "1")  # the panel has its buttons
    page, focus = editor.page, "document.activeElement.id"
    editor.press("F8", "Shift+Tab", "Shift+Tab")
    assert page.evaluate(focus) == "text"
    assert page.is_visible("#card")
    editor.press("Tab")
    assert page.evaluate(focus) == "card-accept"
    for _ in range(5):
        editor.press("Tab")
    assert page.evaluate(focus) == "previous"
    assert not page.is_visible("#card")


def test_a_card_that_a_click_opens_is_spoken_of(editor: Editor) -> None:
    editor.type("It is teh end. ")
    editor.wait_underlined(spelling=["teh"])
    editor.page.wait_for_selector("#voice:text('1 correction: 1 spelling')", state="attached")
    editor.click("spelling")
    editor.page.wait_for_selector(
        "#voice:text('Spelling: teh to the. Enter accepts, Tab goes to the card.')",
        state="attached",
    )
    assert editor.page.evaluate("document.activeElement.id") == "text"


def test_nobody_must_hurry_to_undo(editor: Editor) -> None:
    editor.stop_clock()
    editor.type("It is teh end of teh day. ")
    editor.page.clock.run_for(300)
    editor.wait_underlined(spelling=["teh", "teh"])
    editor.page.clock.run_for(300)
    editor.page.click("#accept-all")
    assert editor.text == "It is the end of the day. "
    editor.page.clock.run_for(600_000)
    editor.page.click("#toast button:text('Undo')")
    assert editor.text == "It is teh end of teh day. "
    editor.page.clock.run_for(300)
    editor.page.click("#accept-all")
    editor.type("x")
    assert editor.page.is_visible("#toast button")
    editor.page.clock.run_for(9000)
    editor.press("x")
    editor.until(lambda: editor.page.is_hidden("#toast"), "the end of the offer")


def test_keys_of_a_mac(start: Callable[..., Editor]) -> None:
    editor = start()
    page = editor.page
    shortcuts = "document.getElementById('{}').getAttribute('aria-keyshortcuts')"
    assert page.evaluate(shortcuts.format("next")) == "F8 Alt+ArrowDown"
    editor.context.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'platform', { value: 'MacIntel' })"
    )
    page.reload()
    assert page.evaluate(shortcuts.format("next")) == "F8"
    assert page.evaluate(shortcuts.format("save")) == "Meta+S"
    assert page.get_attribute("#save", "title") == "Save as a file (⌘ S)"
    editor.type("It is teh end. ")
    editor.wait_underlined(spelling=["teh"])
    editor.press("Control+Home", "Alt+ArrowDown")  # moves the caret there, and nothing else
    assert not page.is_visible("#card")
    editor.press("Escape", "Control+Home", "Meta+.")
    editor.press("F8")
    assert page.is_visible("#card")


def test_accept_in_the_panel_keeps_the_focus_there(editor: Editor) -> None:
    editor.type("She go to teh shop. We was in teh sun. ")
    editor.wait_underlined(grammar=["go", "was"], spelling=["teh", "teh"])
    page = editor.page
    page.focus("[aria-label='Accept: teh to the'] >> nth=0")
    editor.press("Enter")
    editor.wait_underlined(grammar=["go", "was"], spelling=["teh"])
    assert page.evaluate("document.activeElement.ariaLabel") == "Accept: teh to the"
    editor.press("Enter")
    editor.wait_underlined(grammar=["go", "was"])
    assert editor.text == "She go to the shop. We was in the sun. "


def test_a_correction_is_made_once_however_often_it_is_clicked(editor: Editor) -> None:
    editor.type("I have dog. I have dog. ")
    editor.wait_underlined(grammar=["dog", "dog"])
    editor.page.wait_for_selector("[aria-label='Accept: add a']", state="attached")
    editor.page.evaluate(
        """() => {
          const button = document.querySelector("[aria-label='Accept: add a']");
          for (let i = 0; i < 3; i++) button.click();
        }"""
    )
    editor.wait_underlined(grammar=["dog"])
    assert editor.text == "I have a dog. I have dog. "


def test_counts_are_spoken(editor: Editor) -> None:
    editor.type("She go to teh shop. ")
    editor.page.wait_for_selector(
        "#voice:text('2 corrections: 1 spelling, 1 grammar')", state="attached"
    )


def test_phone(start: Callable[..., Editor]) -> None:
    editor = start(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    page = editor.page
    editor.type("She go to teh shop. ")
    editor.wait_underlined(grammar=["go"], spelling=["teh"])
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.wait_for_selector("#sheet-count:text('2 corrections')")
    assert not page.is_visible("#strictness")
    page.tap("#panel-toggle")
    assert page.is_visible("#strictness")
    page.tap("[aria-label='Accept: go to goes']")
    assert editor.text == "She goes to teh shop. "
    page.tap("[data-key^='open ']")
    page.wait_for_selector("#card:visible")
    box = page.locator("#card").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] + box["height"] <= 780
    page.tap("#card-accept")
    assert editor.text == "She goes to the shop. "


def test_twenty_thousand_words(
    editor: Editor, record_property: Callable[[str, object], None]
) -> None:
    paragraph = "The quick brown fox go to teh house of two book and they are happy about it. " * 5
    text = "\n\n".join([paragraph.strip()] * 250)
    assert len(text.split()) >= 20_000
    editor.drop("long.txt", text.encode())
    page = editor.page
    page.wait_for_function(
        "() => document.getElementById('count').textContent === '2500'", timeout=60_000
    )
    assert editor.text == text
    page.evaluate(
        """() => {
          window.lags = [];
          document.getElementById("text").addEventListener("keydown", () => {
            const began = performance.now();
            requestAnimationFrame(() => setTimeout(() => lags.push(performance.now() - began)));
          }, true);
        }"""
    )
    page.mouse.click(400, 300)
    editor.press("Home")
    for letter in "hello":
        page.keyboard.press(letter)
    page.wait_for_function("() => lags.length === 6")
    record_property("key strokes, ms", page.evaluate("lags.map(Math.round)"))
    assert "hello" in editor.text
    assert len(editor.text) == len(text) + 5
    page.click("#accept-all", timeout=60_000)
    page.wait_for_selector("#groups :text('Nothing to correct')", timeout=60_000)
    assert "teh" not in editor.text
    assert len(editor.text.split("\n")) == 499
