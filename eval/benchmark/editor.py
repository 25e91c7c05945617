"""An editor without a screen: it talks to a language server through pipes, message by message."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

Message = dict[str, Any]
PATIENCE = 120.0


class Editor:
    """Starts a server and speaks the Language Server Protocol with it.

    Args:
        command: the server's command line; without one ``gec lsp`` of this installation.
        capabilities: what the editor says that it can do.
        answers: what it answers to the server's requests, by their method.

    Attributes:
        told: every notification of the server, in order.
    """

    def __init__(
        self,
        command: Sequence[str] = (),
        capabilities: Mapping[str, Any] | None = None,
        answers: Mapping[str, Callable[[Any], Any]] | None = None,
        **popen: Any,
    ) -> None:
        self._answers = dict(answers or {})
        self._capabilities = capabilities or {"textDocument": {"publishDiagnostics": {}}}
        self.process = subprocess.Popen(
            [*(command or (sys.executable, "-m", "gec", "lsp"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **popen,
        )
        self.told: list[Message] = []
        self._replies: dict[int, Message] = {}
        self._arrived: queue.Queue[Message | None] = queue.Queue()
        self._last = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    # --------------------------------------------------------------------------------- messages

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> int:
        """Send a request, and return its number."""
        self._last += 1
        message: Message = {"id": self._last, "method": method}
        self.send(message | ({"params": params} if params else {}))
        return self._last

    def reply(self, number: int) -> Message:
        """Wait for the answer to a request."""
        self.wait(lambda: number in self._replies)
        return self._replies.pop(number)

    def request(self, method: str, **params: Any) -> Any:
        """Send a request, and return its result; an error of the server is a RuntimeError."""
        answer = self.reply(self.ask(method, **params))
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def wait(self, done: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Take messages until something is so.

        Raises:
            TimeoutError: it is not so in that time.
            EOFError: the server has gone.
        """
        deadline = time.monotonic() + seconds
        while not done():
            try:
                message = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"nothing in {seconds:g} s") from None
            if message is None:
                raise EOFError(f"the server has gone: {self.process.wait()}")
            self._take(message)

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self._replies[message["id"]] = message
        elif "id" in message:
            answer = self._answers.get(message["method"])
            result = answer(message.get("params")) if answer else None
            self.send({"id": message["id"], "result": result})
        else:
            self.told.append(message)

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = self.process.stdout.readline()
            self._arrived.put(cast(Message, json.loads(self.process.stdout.read(length))))
        self._arrived.put(None)

    # --------------------------------------------------------------------------------- a session

    def begin(self, **more: Any) -> Message:
        """Initialize the server; return its capabilities."""
        given = {"processId": None, "rootUri": None, "capabilities": self._capabilities}
        result = self.request("initialize", **(given | more))
        self.notify("initialized")
        return cast(Message, result["capabilities"])

    def open(self, uri: str, text: str, language: str = "plaintext", version: int = 1) -> None:
        """Open a document."""
        document = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", textDocument=document)

    def change(self, uri: str, version: int, *changes: Message) -> None:
        """Change a document."""
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=[*changes])

    def diagnostics(self, uri: str, version: int | None = None) -> list[Message]:
        """Wait until diagnostics of a version are sent, and return those that were sent last."""

        def sent() -> list[Message]:
            return [
                told["params"]["diagnostics"]
                for told in self.told
                if told["method"] == "textDocument/publishDiagnostics"
                and told["params"]["uri"] == uri
                and told["params"].get("version") == version
            ]

        self.wait(sent)
        return cast(list[Message], sent()[-1])

    def said(self) -> list[str]:
        """Return what the server showed to the user."""
        shown = (told for told in self.told if told["method"] == "window/showMessage")
        return [told["params"]["message"] for told in shown]

    def end(self) -> int:
        """Let the server end; return its exit status."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(PATIENCE)
