"""Draw the diagrams of the pages for the site (``make diagrams``), and show them there.

The repository's host draws a page's Mermaid itself. The site has pictures of it, so that no reader
fetches Mermaid: in the page's own colours, light or dark, and from top to bottom, because a page is
narrow. The name of a picture is made of its diagram's text, so a diagram that was changed is one
without a picture.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Stand-ins that Mermaid can compute with, and what takes their places.
COLOURS = {
    "#fefdfc": "var(--md-default-bg-color)",
    "#123456": "var(--md-default-fg-color)",
    "#345678": "var(--md-default-fg-color--light)",
    "#e1e2e3": "var(--md-code-bg-color)",
}
PAPER, INK, LINE, BOX = COLOURS
SETTINGS = {
    "theme": "base",
    "htmlLabels": False,
    "flowchart": {"htmlLabels": False, "wrappingWidth": 400},
    "themeCSS": ".edgeLabel rect { opacity: 1 }",
    "fontFamily": "sans-serif",
    "themeVariables": {
        "background": PAPER,
        "primaryColor": BOX,
        "primaryTextColor": INK,
        "primaryBorderColor": LINE,
        "lineColor": LINE,
        "textColor": INK,
        "edgeLabelBackground": PAPER,
        "fontSize": "15px",
    },
}


def picture(diagram: str) -> Path:
    """Return where a diagram's picture is."""
    name = hashlib.sha256(diagram.encode()).hexdigest()[:12]
    return DOCS / "images" / "diagrams" / f"{name}.svg"


def diagrams() -> Iterator[str]:
    """Yield the text of every diagram of docs/."""
    for page in sorted(DOCS.rglob("*.md")):
        yield from DIAGRAM.findall(page.read_text(encoding="utf-8"))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the pictures in the places of their diagrams; MkDocs calls this."""
    return DIAGRAM.sub(lambda found: figure(found[1]), markdown)


def figure(diagram: str) -> str:
    """Return a diagram's picture as HTML. A warning ends ``make site``."""
    path = picture(diagram)
    if not path.exists():
        logging.getLogger("mkdocs.diagrams").warning(
            "a diagram has no picture, draw it with 'make diagrams': %s", diagram.split("\n")[1]
        )
        return f"```\n{diagram}```"
    return f'<figure class="diagram">{path.read_text(encoding="utf-8").strip()}</figure>'


def draw(program: Path) -> None:
    """Draw every diagram with Mermaid's program for browsers; remove pictures of none."""
    from playwright.sync_api import sync_playwright

    wanted = {picture(text): text for text in diagrams()}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.add_script_tag(path=program)
        page.evaluate("settings => mermaid.initialize(settings)", SETTINGS)
        for path, text in wanted.items():
            drawn = page.evaluate(
                "async ([name, text]) => (await mermaid.render(name, text)).svg",
                [f"d{path.stem}", text.replace("flowchart LR", "flowchart TB")],
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(coloured(drawn) + "\n", encoding="utf-8")
        browser.close()
    for path in (DOCS / "images" / "diagrams").glob("*.svg"):
        if path not in wanted:
            path.unlink()


def coloured(drawn: str) -> str:
    """Return a drawing in the page's own colours, on one line."""
    for stand_in, colour in COLOURS.items():
        red, green, blue = (int(stand_in[i : i + 2], 16) for i in (1, 3, 5))
        drawn = re.sub(
            rf"{stand_in}|rgba?\({red}, ?{green}, ?{blue}(?:, ?[\d.]+)?\)",
            colour,
            drawn,
            flags=re.I,
        )
    drawn = re.sub(r' width="100%"|; ?(?="[^>]*viewBox)|(?<=style=")max-(?=width)', "", drawn)
    return re.sub(r"\s*\n\s*", " ", drawn).strip()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
