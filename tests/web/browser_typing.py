"""How long a key stroke takes to be on the screen in a text of 20,000 words.

    python tests/web/browser_typing.py [--words N] [--strokes N]

Rules stand in the model's place (fake_rules.py), since what is measured is the page: from the
key's event to the frame after the one that shows it, while the text is checked, too.
"""

from __future__ import annotations

import argparse
import statistics

from browser import Editor, chromium
from browser_server import running

PARAGRAPH = "The quick brown fox go to teh house of two book and they are happy about it. " * 5
WATCH = """() => {
  window.lags = [];
  document.getElementById("text").addEventListener("keydown", (event) => {
    requestAnimationFrame(() => setTimeout(() => lags.push(performance.now() - event.timeStamp)));
  }, true);
}"""
SENTENCE = "In the middle of it she go on with the story as if it was new. "


def measure(words: int, strokes: int) -> list[float]:
    """Return the milliseconds of each key stroke in the middle of a text."""
    text = "\n\n".join([PARAGRAPH.strip()] * (words // len(PARAGRAPH.split())))
    with chromium() as browser, running() as url:
        editor = Editor(browser, url)
        editor.drop("long.txt", text.encode())
        editor.page.wait_for_selector("#state:text('Checked')", timeout=120_000)
        editor.page.click("#text")
        editor.press("Control+Home", *["ArrowDown"] * 20, "End")
        editor.page.evaluate(WATCH)
        typed = (SENTENCE * (strokes // len(SENTENCE) + 1))[:strokes]
        editor.page.keyboard.type(typed, delay=80)
        editor.page.wait_for_function(f"() => lags.length >= {strokes}")
        found: list[float] = editor.page.evaluate("lags")
        assert typed.strip() in editor.text
        editor.context.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--strokes", type=int, default=200)
    args = parser.parse_args()
    lags = sorted(measure(args.words, args.strokes))
    middle, late = statistics.median(lags), lags[int(0.95 * (len(lags) - 1))]
    print(
        f"{len(lags)} key strokes in {args.words:,} words, on the screen after: "
        f"median {middle:.0f} ms, 95 % {late:.0f} ms, most {lags[-1]:.0f} ms"
    )


if __name__ == "__main__":
    main()
