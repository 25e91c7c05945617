"""Chromium, driven by Playwright, and Firefox; what the editor's tests ask of a page in them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import SkipTest

from browser_firefox import Firefox, started
from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
KINDS = ("spelling", "grammar", "punctuation", "style")

# Lines are blocks, the first perhaps none; a <br> at a block's end only keeps it open.
_TEXT = """() => {
  const blocks = [];
  let inside = false;
  for (const node of document.getElementById("text").childNodes) {
    if (node.nodeName === "DIV") blocks.push([...node.childNodes]);
    else if (inside) blocks.at(-1).push(node);
    else blocks.push([node]);
    inside = node.nodeName !== "DIV";
  }
  return blocks.map((nodes) => {
    if (nodes.at(-1)?.nodeName === "BR") nodes.pop();
    return nodes.map(node => node.nodeName === "BR" ? "\\n" : node.data).join("");
  }).join("\\n");
}"""
# What stands under each kind of underline, in the order of the text.
_UNDERLINED = """kinds => Object.fromEntries(kinds.map(kind => [kind,
  [...(CSS.highlights.get(`gec-${kind}`) ?? [])]
    .sort((a, b) => a.compareBoundaryPoints(Range.START_TO_START, b))
    .map(range => range.toString())]).filter(([, words]) => words.length))"""

_PASTE = """([text, html]) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  data.setData("text/html", html);
  document.getElementById("text").dispatchEvent(
    new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""
_SHOWN = """([selector, text]) => [...document.querySelectorAll(selector)].some(
  one => one.checkVisibility() && one.innerText.includes(text))"""


@contextmanager
def chromium() -> Iterator[Browser]:
    path = _path("Chromium", "chromium", "chromium-browser", "google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def firefox() -> Iterator[Firefox]:
    with started(_path("Firefox", "firefox-esr", "firefox")) as found:
        yield found


def _path(browser: str, *names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    raise SkipTest(f"{browser} is not installed: apt-get install {names[0]}")


class Editor:
    """The editor in one tab. Console errors and requests to other servers are collected."""

    page: Any

    def __init__(self, browser: Browser, url: str, **context: Any) -> None:
        options = {"viewport": {"width": 1280, "height": 800}, **context}
        self.context = browser.new_context(**options)
        self.url = url
        self.errors: list[str] = []
        self.page = self.tab()

    def tab(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._said)
        page.on("request", self._request)
        page.goto(self.url)
        page.wait_for_selector("#state[data-kind=idle]:not(:text('Connecting'))")
        return page

    def close(self) -> None:
        """Close the tab; nothing may have gone wrong in it unseen."""
        self.context.close()
        assert not self.errors, self.errors  # named here: pytest does not rewrite helpers

    def _said(self, message: Any) -> None:
        # Chromium itself tries to carry styles along when it joins lines; the policy stops it.
        own = message.text.startswith("Applying inline style violates")
        if message.type == "error" and not own:
            self.errors.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "blob:", "data:")):
            self.errors.append(f"request to {request.url}")

    def type(self, text: str) -> None:
        self.page.click("#text")
        self.page.keyboard.type(text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def text(self) -> str:
        """The text as the page's own nodes have it: a line a block."""
        return str(self.page.evaluate(_TEXT))

    def underlined(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = self.page.evaluate(_UNDERLINED, list(KINDS))
        return found

    def wait_underlined(self, **expected: list[str]) -> None:
        """Wait until exactly these words are underlined."""
        wanted = {kind: expected[kind] for kind in KINDS if kind in expected}
        self.until(lambda: self.underlined() == wanted, lambda: f"{self.underlined()}: {wanted}")

    def wait_text(self, selector: str, text: str = "") -> None:
        """Wait until an element that can be seen has this in its text."""
        self.until(lambda: self.page.evaluate(_SHOWN, [selector, text]), f"{text} in {selector}")

    def until(self, condition: Callable[[], object], what: str | Callable[[], str]) -> None:
        """Wait until something is so; ``what`` says what was waited for."""
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"waited for {what if isinstance(what, str) else what()}")
            time.sleep(0.02)

    def stop_clock(self) -> None:
        """From now on time passes in the page only where a test lets it: page.clock.run_for."""
        self.page.clock.install()
        self.page.reload()
        self.page.wait_for_selector("#state:text('Ready')")
        self.page.clock.pause_at(self.page.evaluate("Date.now() + 1000"))

    def click(self, kind: str) -> None:
        """Click into the middle of the first word with this kind of underline."""
        box = self.page.evaluate(
            """kind => {
              const box = [...CSS.highlights.get(`gec-${kind}`)][0].getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }""",
            kind,
        )
        self._click_at(*box)

    def _click_at(self, x: float, y: float) -> None:
        self.page.mouse.click(x, y)

    def compose(self, *steps: str, commit: str) -> None:
        """Write with an input method: what it shows while it is asked, then what it puts in."""
        session = self.context.new_cdp_session(self.page)
        for text in steps:
            place = {"selectionStart": len(text), "selectionEnd": len(text)}
            session.send("Input.imeSetComposition", {"text": text, **place})
        if commit:
            session.send("Input.insertText", {"text": commit})
        session.detach()

    def paste(self, text: str, html: str) -> None:
        self.page.evaluate(_PASTE, [text, html])

    def drop(self, name: str, content: bytes) -> None:
        """Drop a file on the page."""
        transfer = self.page.evaluate_handle(
            """([name, bytes]) => {
              const transfer = new DataTransfer();
              transfer.items.add(new File([new Uint8Array(bytes)], name, { type: "text/plain" }));
              return transfer;
            }""",
            [name, list(content)],
        )
        for event in ("dragenter", "dragover", "drop"):
            self.page.dispatch_event("#page", event, {"dataTransfer": transfer})

    def shot(self, path: Path) -> None:
        self.page.screenshot(path=path)


class FirefoxEditor(Editor):
    """The editor in Firefox, for what is not the same in every browser."""

    def __init__(self, browser: Firefox, url: str) -> None:
        self.url = url
        self.page = browser.new_page()
        self.page.goto(url)
        self.wait_text("#state", "Ready")

    def close(self) -> None:
        assert self.page.errors(self.url) == []

    def compose(self, *steps: str, commit: str) -> None:
        self.page.compose(*steps, commit=commit)

    def paste(self, text: str, html: str) -> None:
        self.page.paste(text)

    def _click_at(self, x: float, y: float) -> None:
        self.page.click_at(x, y)
