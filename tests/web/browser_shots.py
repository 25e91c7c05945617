"""Take the screenshots of the documentation.

    python tests/web/browser_shots.py ADDRESS [FOLDER]

``ADDRESS`` is a running ``gec serve``; the folder is docs/images.
"""

from __future__ import annotations

import sys
from pathlib import Path

from browser import Editor, chromium

WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {
    "viewport": {"width": 390, "height": 780},
    "device_scale_factor": 1.5,
    "has_touch": True,
    "is_mobile": True,
}


def sample(editor: Editor) -> None:
    """Put in the page's own example and wait for its corrections."""
    page = editor.page
    page.click("#sample")
    page.wait_for_selector("#state:text('Checked')", timeout=60_000)
    page.wait_for_selector("#groups .row", state="attached")
    page.mouse.move(5, 400)
    page.wait_for_timeout(400)


def card(editor: Editor, number: int) -> None:
    editor.page.focus("#text")
    editor.press("Control+Home", *["F8"] * number)
    editor.page.wait_for_timeout(400)


def main(address: str, folder: Path) -> None:
    with chromium() as browser:
        editor = Editor(browser, address, **WIDE)
        sample(editor)
        editor.shot(folder / "editor-light.png")
        card(editor, 3)
        editor.shot(folder / "editor-card.png")
        editor.press("Enter")
        editor.page.wait_for_timeout(1500)
        for view in ("changes", "decoding"):
            editor.page.click(f"#tab-{view}")
            if view == "decoding":
                editor.page.check("#decoding-decided")
            editor.page.evaluate("document.getElementById('page').scrollTop = 0")
            editor.page.wait_for_timeout(500)
            editor.shot(folder / f"editor-{view}.png")
        editor = Editor(browser, address, color_scheme="dark", **WIDE)
        sample(editor)
        card(editor, 2)
        editor.shot(folder / "editor-dark.png")
        editor = Editor(browser, address, **PHONE)
        sample(editor)
        editor.shot(folder / "editor-phone.png")
        editor.page.tap("#next")
        editor.page.wait_for_timeout(400)
        editor.shot(folder / "editor-phone-card.png")


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    main(
        sys.argv[1].rstrip("/") + "/",
        Path(sys.argv[2]) if sys.argv[2:] else root / "docs" / "images",
    )
