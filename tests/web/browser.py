"""Debian's Chromium, driven by Playwright, and what the editor's tests ask of a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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

# Lines are blocks, the first perhaps none; a line break at a block's end only keeps it open.
_TEXT = """() => {
  const lines = [];
  let inside = false;
  for (const node of document.getElementById("text").childNodes) {
    const piece = node.nodeName === "BR" ? "\\n" : node.nodeName === "DIV"
      ? [...node.childNodes].map(n => n.nodeName === "BR" ? "\\n" : n.data).join("") : node.data;
    if (node.nodeName === "DIV" || !inside) lines.push(piece);
    else lines[lines.length - 1] += piece;
    inside = node.nodeName !== "DIV";
  }
  return lines.map(line => line.replace(/\\n$/, "")).join("\\n");
}"""
# What stands under each kind of underline, in the order of the text.
_UNDERLINED = """kinds => Object.fromEntries(kinds.map(kind => [kind,
  [...(CSS.highlights.get(`gec-${kind}`) ?? [])]
    .sort((a, b) => a.compareBoundaryPoints(Range.START_TO_START, b))
    .map(range => range.toString())]).filter(([, words]) => words.length))"""


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "the browser tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Editor:
    """The editor in one tab. Console errors and requests to other servers are collected."""

    def __init__(self, browser: Browser, url: str, **context: Any) -> None:
        options = {"viewport": {"width": 1280, "height": 800}, **context}
        self.context = browser.new_context(**options)
        self.url = url
        self.errors: list[str] = []
        self.page = self.tab()

    def tab(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._said)
        page.on("request", self._request)
        page.goto(self.url)
        page.wait_for_selector("#state[data-kind=idle]:not(:text('Connecting'))")
        return page

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
        self.page.wait_for_function(
            f"([kinds, expected]) => JSON.stringify(({_UNDERLINED})(kinds)) === expected",
            arg=[list(KINDS), _json(expected)],
        )

    def click(self, kind: str) -> None:
        """Click into the middle of the first word with this kind of underline."""
        box = self.page.evaluate(
            """kind => {
              const box = [...CSS.highlights.get(`gec-${kind}`)][0].getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }""",
            kind,
        )
        self.page.mouse.click(*box)

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


def _json(value: dict[str, list[str]]) -> str:
    import json

    ordered = {kind: value[kind] for kind in KINDS if kind in value}
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
