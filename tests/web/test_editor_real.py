"""The editor page on the real server with the shipped model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Editor, chromium
from browser_server import running

import gec


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with chromium() as browser, running(gec.load("en", device="cpu")) as url:
        editor = Editor(browser, url)
        yield editor
        editor.close()


def test_a_learners_text_is_corrected_while_it_is_written(editor: Editor) -> None:
    editor.type("😀 She go to school every day. I has a apple. Run `teh code` now.\n\nTeh end. ")
    editor.page.wait_for_selector("#groups [data-key='all grammar']")
    editor.page.wait_for_selector("#groups [data-key='all spelling']")
    editor.page.wait_for_selector("#state:text('Checked')")
    under = editor.underlined()
    assert "go" in under["grammar"]
    assert under["spelling"] == ["Teh"]
    editor.page.click("#accept-all")
    assert editor.text == (
        "😀 She goes to school every day. I have an apple. Run `teh code` now.\n\nThe end. "
    )
    editor.page.click("#text")
    editor.press("Control+z")
    assert editor.text.startswith("😀 She go to school")


def test_its_decoding_is_shown(editor: Editor) -> None:
    editor.page.click("#tab-decoding")
    editor.page.wait_for_selector("#decoding-list .decided")
    rows = editor.page.locator("#decoding-list li")
    assert rows.count() >= 3
    first = rows.first.inner_text()
    assert "passes" in first
    assert "per pass" in first
    assert float(editor.page.inner_text("#decoding-rate")) > 1
