"""Our part of pygls: documents that we keep ourselves, and nothing of the user's in any log.

pygls keeps documents, too, but ends their lines where no editor does (form feeds, U+2028), walks
through all of them at every change, and logs messages with their text.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

LOG = logging.getLogger("gec.lsp")


class OwnDocuments(LanguageServerProtocol):
    """The protocol, in which the server's own handlers alone see documents."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: Any) -> None:
        """Tell the server that a document was opened."""
        self._tell(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: Any) -> None:
        """Tell the server that a document was changed."""
        self._tell(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: Any) -> None:
        """Tell the server that a document was closed."""
        self._tell(types.TEXT_DOCUMENT_DID_CLOSE, params)

    def _tell(self, method: str, params: Any) -> None:
        handler: Callable[[Any], None] = self.fm.features[method]
        handler(params)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Make a message of what came; a request that is malformed is answered with an error."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def send(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification whose parameters are as the protocol has them."""
        if self.writer is None:
            return
        body = json.dumps({"jsonrpc": self.VERSION, "method": method, "params": params})
        self.writer.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode(self.CHARSET))
