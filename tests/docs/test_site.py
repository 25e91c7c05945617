"""The documentation as a site: whole, linked, and read without a network."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from browser import chromium
from markdown_it import MarkdownIt
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
# What the theme's script would ask for: programs for old browsers and for diagrams, if a page has
# one of its kind, and facts about a repository, if the configuration names one.
UNUSED = {
    "http://www.w3.org/2000/svg",  # a name, never asked for
    "https://${e}/api/v4/projects/${encodeURIComponent(t)}",
    "https://api.github.com/repos/${e}/${t}",
    "https://api.github.com/users/${e}",
    "https://unpkg.com/mermaid@11/dist/mermaid.min.js",
    "https://unpkg.com/resize-observer-polyfill",
}
LOADED = {"audio", "embed", "iframe", "img", "input", "link", "object", "script", "source", "video"}
# What Markdown makes of a page. Paragraphs in lists differ: loose on one side, tight on the other.
STRUCTURE = {"a", "blockquote", "code", "em", "h1", "h2", "h3", "h4", "img", "li", "ol", "pre"}
STRUCTURE |= {"strong", "table", "td", "th", "tr", "ul"}


class Html(HTMLParser):
    """The addresses, anchors and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.elements: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given.get("id", "")} - {""}
        found = [given[name] for name in ("href", "src", "data", "poster") if name in given]
        self.links += found
        if tag in LOADED and given.get("rel") not in ("next", "prev", "canonical"):
            self.loads += found + [given[name] for name in ("srcset",) if name in given]
        if tag in STRUCTURE and given.get("class") != "headerlink" and (tag != "a" or found):
            self.elements[tag] += 1


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as ``make site`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*command, "--site-dir", str(folder)], cwd=ROOT, capture_output=True, text=True,
        check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    said = re.sub(r"^INFO .*\n", "", done.stdout + done.stderr, flags=re.MULTILINE)
    assert (done.returncode, said) == (0, "")
    return folder


@pytest.fixture(scope="module")
def html(site: Path) -> dict[str, Html]:
    return {
        path.relative_to(site).as_posix(): Html(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
    }


def test_every_page_is_in_the_navigation(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    shown = {*re.findall(r'<a href="([^"]+)" class="md-nav__link', text)}
    assert {re.sub(r"\.md$", ".html", page) for page in PAGES} <= {"index.html", *shown}
    assert len(shown) > 25


def test_every_link_leads_somewhere(site: Path, html: dict[str, Html]) -> None:
    broken, followed = [], 0
    for page, found in html.items():
        if page == "404.html":  # its addresses begin at the top of a server
            continue
        for link in found.links:
            address, anchor = urldefrag(link)
            if urlsplit(address).scheme:
                continue
            followed += 1
            target = ((site / page).parent / unquote(address)).resolve() if address else site / page
            name = target.relative_to(site.resolve()).as_posix() if address else page
            if not target.is_file() or (anchor and unquote(anchor) not in html[name].ids | {"__"}):
                broken.append(f"{page}: {link}")
    assert not broken
    assert followed > 1000


def test_nothing_is_loaded_from_another_server(site: Path, html: dict[str, Html]) -> None:
    assert [*foreign(site, html)] == []


def test_what_would_be_loaded_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@import 'https://a.org/a.css'; a {b: url(//b.org/b.woff)}")
    (tmp_path / "a.js").write_text("// see https://c.org\nfetch(`https://d.org/${x}`)")
    (tmp_path / "a.html").write_text(
        "<script src=//e.org/e.js></script><a href=https://f.org>f</a>"
    )
    pages = {"a.html": Html((tmp_path / "a.html").read_text())}
    found = " ".join(foreign(tmp_path, pages))
    assert re.findall(r"(\w)\.org", found) == ["e", "a", "b", "d"]


def foreign(site: Path, html: dict[str, Html]) -> Iterator[str]:
    """What pages, styles and scripts would load."""
    for page, found in html.items():
        yield from (f"{page}: {link}" for link in found.loads if re.match(r"(\w+:)?//", link))
        if 'class="mermaid' in (site / page).read_text(encoding="utf-8"):
            yield f"{page}: a diagram that the theme would fetch a program for"
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        yield from re.findall(r"(?:@import|url\()[\s\"']*((?:\w+:)?//[^\s\"')]+)", text)
    for path in site.rglob("*.js"):
        if path.name != "search_index.js":  # that holds the texts of the pages
            strings = re.findall(r"""([\"'`])((?:https?|wss?)://.*?)\1""", path.read_text("utf-8"))
            yield from (f"{path.name}: {link}" for _, link in strings if link not in UNUSED)


def test_links_across_the_border_of_docs() -> None:
    examples = doctest.DocTestFinder().find(pages := _hook("pages"), globs=vars(pages))
    runner = doctest.DocTestRunner()
    assert sum(runner.run(each).attempted for each in examples) == 2
    assert not runner.failures


def _hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES)
def test_the_site_shows_what_the_repository_shows(page: str, site: Path) -> None:
    """Python-Markdown here, CommonMark with tables there."""
    text = PAGES[page].read_text(encoding="utf-8")
    text = re.sub(r"^```mermaid\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    built = (site / page).with_suffix(".html").read_text(encoding="utf-8")
    article = re.search(r"<article[^>]*>(.*?)</article>", built, re.DOTALL)
    assert article
    expected = Html(MarkdownIt("commonmark").enable("table").render(text)).elements
    assert Html(article[1]).elements == expected


def test_diagrams_are_pictures_in_the_colours_of_the_page(site: Path) -> None:
    text = PAGES["architecture.md"].read_text(encoding="utf-8")
    built = (site / "architecture.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<figure class="diagram"><svg .*?</svg></figure>', built)
    assert len(pictures) == text.count("```mermaid") >= 4
    assert "drafter.propose" in pictures[0]
    assert all("fill:var(--md-default-fg-color)" in picture for picture in pictures)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_it_is_read_and_searched_from_the_disk(site: Path, browser: Browser) -> None:
    asked: list[str] = []
    wrong: list[str] = []
    page = browser.new_page(color_scheme="dark")
    page.set_default_timeout(60_000)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / "index.html").as_uri())
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    page.fill(".md-search__input", "DNS rebinding")
    page.locator(".md-search-result__link").first.click()
    page.wait_for_url("**/security.html*")
    page.goto((site / "architecture.html").as_uri())
    page.wait_for_selector("article")
    page.close()
    assert not wrong
    assert {url.partition(":")[0] for url in asked} == {"file"}
