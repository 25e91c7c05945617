"""Time from the last key stroke to the underline, in a text of 200 words.

    python tests/web/browser_latency.py [--address URL] [--times N]

Without an address it starts ``gec serve`` itself. Prints one line; the page's pause before it asks
(250 ms after the last key stroke) is part of what is measured and shown apart.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from browser import Editor, chromium

PAUSE = 250
WORDS = (
    "The harbour lies north of the old town and is open all year. In spring the boats are painted "
    "and the nets are mended by hand. Visitors walk along the quay and talk with the fishermen."
)
NAMES = "Anna Bella Clara Diana Emma Fiona Grace Helen Irene Julia Karen Laura Maria Nora Olivia "
NAMES += "Paula Rita Sarah Tina Vera"

# Waits for one more underline than there was, from the key stroke that ends the sentence on.
WATCH = """() => {
  const count = () => ["spelling", "grammar", "punctuation", "style"]
    .reduce((sum, kind) => sum + (CSS.highlights.get(`gec-${kind}`)?.size ?? 0), 0);
  const before = count();
  window.shown = new Promise((resolve) => {
    addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      const began = event.timeStamp;
      const look = (now) => count() > before ? resolve(now - began) : requestAnimationFrame(look);
      requestAnimationFrame(look);
    }, true);
  });
}"""


@contextmanager
def serving() -> Iterator[str]:
    command = [sys.executable, "-c", "from gec.cli import main; raise SystemExit(main())"]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", "--rate", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                yield found[0].rstrip("/.,") + "/"
                return
        raise SystemExit("gec serve did not start")
    finally:
        process.terminate()
        process.wait()


def measure(address: str, times: int) -> list[float]:
    """Return milliseconds for each of ``times`` sentences written into the text."""
    paragraph = " ".join((WORDS.split() * 2)[:40])
    with chromium() as browser:
        editor = Editor(browser, address)
        editor.page.click("#text")
        editor.page.evaluate(
            "text => document.execCommand('insertText', false, text)",
            "\n\n".join([f"{paragraph}."] * 5) + "\n\n",
        )
        editor.page.wait_for_selector("#state:text('Checked')")
        found = []
        for name in NAMES.split()[: times + 1]:
            editor.page.keyboard.type(
                f"Every day {name} says she go to the market with two book.", delay=30
            )
            editor.page.evaluate(WATCH)
            editor.page.keyboard.press("Enter")
            found.append(float(editor.page.evaluate("window.shown")))
            editor.page.wait_for_timeout(200)
        editor.context.close()
    return found[1:]  # the first one warms the model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--address", help="of a running server")
    parser.add_argument("--times", type=int, default=15)
    args = parser.parse_args()
    if args.address:
        found = measure(args.address.rstrip("/") + "/", args.times)
    else:
        with serving() as address:
            found = measure(address, args.times)
    middle, most = statistics.median(found), max(found)
    print(
        f"last key stroke to underline, {len(found)} times in 200 words: median {middle:.0f} ms, "
        f"most {most:.0f} ms; without the pause of {PAUSE} ms {middle - PAUSE:.0f} and "
        f"{most - PAUSE:.0f} ms"
    )


if __name__ == "__main__":
    main()
