"""Firefox, driven by its own Marionette protocol: no driver, and no package beyond Firefox.

A message is its length, a colon and JSON: ``[0, number, command, parameters]`` to Firefox and
``[1, number, error, result]`` back. Only what the editor's tests use is here, under the names that
Playwright gives it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "browser.safebrowsing.update.enabled": False,
}
KEYS = {
    "Backspace": "\ue003", "Tab": "\ue004", "Enter": "\ue007", "Shift": "\ue008",
    "Control": "\ue009", "Alt": "\ue00a", "Escape": "\ue00c", "Space": " ", "End": "\ue010",
    "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
    "ArrowDown": "\ue015", "Delete": "\ue017", "F8": "\ue038",
}  # fmt: skip
_CALL = "const found = ({}); return typeof found === 'function' ? found(arguments[0]) : found;"
_ERRORS = """url => Services.console.getMessageArray()
  .filter(one => one instanceof Ci.nsIScriptError && !(one.flags & Ci.nsIScriptError.warningFlag))
  .filter(one => one.sourceName.startsWith(url))
  .map(one => one.errorMessage)"""
_PLACE = """selector => {
  const one = document.querySelector(selector);
  if (!one?.checkVisibility() || one.matches(":disabled")) return null;
  const box = one.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}"""
_COPY = """text => Cc["@mozilla.org/widget/clipboardhelper;1"]
  .getService(Ci.nsIClipboardHelper).copyString(text)"""
# What an input method does: the text it would put in, then either more of it or the end.
_COMPOSE = """([text, commit]) => {
  const input = window.gecInput ??= Cc["@mozilla.org/text-input-processor;1"]
    .createInstance(Ci.nsITextInputProcessor);
  if (!input.beginInputTransactionForTests(window)) throw new Error("no input method");
  if (commit) return input.commitCompositionWith(text);
  input.setPendingCompositionString(text);
  if (text) input.appendClauseToPendingComposition(text.length, input.ATTR_RAW_CLAUSE);
  input.setCaretInPendingComposition(text.length);
  return input.flushPendingComposition();
}"""


class FirefoxError(Exception):
    """Firefox refused a command."""


class Firefox:
    """One Firefox with one tab."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rb")
        self._number = 0
        self._read()
        self.command("WebDriver:NewSession", capabilities={})

    def new_page(self) -> FirefoxPage:
        self.chrome("Services.console.reset()")
        return FirefoxPage(self)

    def command(self, name: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, result = self._read()
        if error is not None:
            raise FirefoxError(f"{name}: {error['error']}: {error['message']}")
        return result

    def script(self, expression: str, argument: Any = None) -> Any:
        """Evaluate an expression, or call the function that it is, where the context is."""
        script = _CALL.format(expression)
        return self.command("WebDriver:ExecuteScript", script=script, args=[argument])["value"]

    def chrome(self, expression: str, argument: Any = None) -> Any:
        """Do the same with the rights of the browser itself."""
        self.command("Marionette:SetContext", value="chrome")
        try:
            return self.script(expression, argument)
        finally:
            self.command("Marionette:SetContext", value="content")

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _read(self) -> Any:
        length = b""
        while (digit := self._file.read(1)) != b":":
            if not digit:
                raise FirefoxError("the connection was closed")
            length += digit
        return json.loads(self._file.read(int(length)))


class FirefoxPage:
    """The tab, as far as the tests ask Playwright's Page for the same."""

    def __init__(self, firefox: Firefox) -> None:
        self._firefox = firefox
        self.keyboard = self

    def goto(self, url: str) -> None:
        self._firefox.command("WebDriver:Navigate", url=url)

    def reload(self) -> None:
        self._firefox.command("WebDriver:Refresh")

    def evaluate(self, expression: str, arg: Any = None) -> Any:
        return self._firefox.script(expression, arg)

    def inner_text(self, selector: str) -> str:
        return str(self.evaluate("one => document.querySelector(one).innerText", selector))

    def click(self, selector: str) -> None:
        """Click into the middle of an element, as soon as it is there and can be clicked."""
        end = time.monotonic() + 30
        while not (place := self.evaluate(_PLACE, selector)):
            if time.monotonic() > end:
                raise TimeoutError(f"{selector} cannot be clicked")
            time.sleep(0.02)
        self.click_at(*place)

    def click_at(self, x: float, y: float) -> None:
        move = {"type": "pointerMove", "x": int(x), "y": int(y), "duration": 0}
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._act("pointer", [move, *press])

    def press(self, key: str) -> None:
        """Press a key as Playwright names it: ``Control+Shift+z``."""
        *held, last = [KEYS.get(part, part) for part in key.split("+")]
        if KEYS["Shift"] in held:
            last = last.upper()
        actions = [("keyDown", one) for one in (*held, last)]
        actions += [("keyUp", one) for one in (last, *reversed(held))]
        self._act("key", [{"type": kind, "value": value} for kind, value in actions])

    def type(self, text: str) -> None:
        values = [KEYS["Enter"] if letter == "\n" else letter for letter in text]
        kinds = ("keyDown", "keyUp")
        self._act("key", [{"type": kind, "value": one} for one in values for kind in kinds])

    def compose(self, *steps: str, commit: str) -> None:
        """Write with an input method: what it shows while it is asked, then what it puts in."""
        for step in steps:
            self._firefox.chrome(_COMPOSE, [step, False])
        if commit:
            self._firefox.chrome(_COMPOSE, [commit, True])

    def paste(self, text: str) -> None:
        self._firefox.chrome(_COPY, text)
        self.press("Control+v")

    def errors(self, url: str) -> list[str]:
        """Return what Firefox wrote about errors in the scripts of a server."""
        found: list[str] = self._firefox.chrome(_ERRORS, url)
        return found

    def prefer(self, name: str, value: bool) -> None:
        """Change a preference, for pages that are loaded from now on."""
        self._firefox.chrome("([name, on]) => Services.prefs.setBoolPref(name, on)", [name, value])

    def _act(self, kind: str, actions: list[dict[str, Any]]) -> None:
        source = {"type": kind, "id": kind, "actions": actions}
        self._firefox.command("WebDriver:PerformActions", actions=[source])


@contextmanager
def started(path: str) -> Iterator[Firefox]:
    """Start the Firefox at ``path`` with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory() as profile:
        lines = [f'user_pref("{k}", {json.dumps(v)});\n' for k, v in PREFERENCES.items()]
        (Path(profile) / "user.js").write_text("".join(lines))
        process = subprocess.Popen(
            [path, "--headless", "--no-remote", "--profile", profile, "--marionette",
             "--remote-allow-system-access", "--width", "1280", "--height", "900"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            firefox = Firefox(_port(Path(profile) / "MarionetteActivePort", process))
            yield firefox
            firefox.close()
        finally:
            process.terminate()
            process.wait(30)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if file.is_file() and (text := file.read_text()):
            return int(text)
        time.sleep(0.05)
    raise FirefoxError("Firefox did not start")
