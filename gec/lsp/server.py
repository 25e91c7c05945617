"""The language server: the protocol's messages in, a session's answers out."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from gec import __version__
from gec.check.baseline import Known
from gec.check.wordfiles import PROJECT_WORDS
from gec.errors import GecError
from gec.lsp import actions
from gec.lsp.buffer import Change, path_of
from gec.lsp.positions import UTF16
from gec.lsp.preferences import read_preferences
from gec.lsp.protocol import OwnDocuments
from gec.lsp.session import Session

if TYPE_CHECKING:
    from gec.correct.corrector import Corrector

LOG = logging.getLogger("gec.lsp")
SECTION = "gec"
OK, ABANDONED = 0, 1
"""Exit statuses: the editor asked to shut down, or told to exit without."""
SELDOM = (50_000, 50, 50)
"""When to look for garbage: there is little, and a look takes longer than a keystroke's check."""
PATIENCE = 1.0
"""Seconds that the last batch of sentences gets."""
T = TypeVar("T")


class Server(LanguageServer):
    """Answers one editor.

    Args:
        load: makes the corrector.
    """

    protocol: OwnDocuments

    def __init__(self, load: Callable[[], Corrector]) -> None:
        super().__init__("gec", __version__, protocol_cls=OwnDocuments, max_workers=2)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.status: int | None = None
        self.session = Session(self, load, self._call)
        _add_handlers(self)

    # what a session tells its editor

    def publish(self, uri: str, version: int | None, diagnostics: list[dict[str, Any]]) -> None:
        """Send the diagnostics of a document."""
        params: dict[str, Any] = {"uri": uri, "diagnostics": diagnostics}
        if version is not None:
            params["version"] = version
        self.protocol.send(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def say(self, message: str, *, error: bool = False) -> None:
        """Show a line to the user."""
        kind = types.MessageType.Error if error else types.MessageType.Warning
        self.window_show_message(types.ShowMessageParams(kind, message))

    def refresh(self) -> None:
        """Let the editor ask for diagnostics again, if it asks for them."""
        if _of(self.client_capabilities, "workspace", "diagnostics", "refresh_support"):
            self.later(self.workspace_diagnostic_refresh_async(None))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong, without what the message held."""
        LOG.error("a message cannot be handled: %s", type(error).__name__)

    # how it begins

    def begin(self, params: types.InitializeParams) -> None:
        """Take what the editor can do, its folders and its settings."""
        self._loop = asyncio.get_running_loop()
        session, can = self.session, params.capabilities
        session.encoding = _plain(self.workspace.position_encoding) or UTF16
        session.versioned = bool(_of(can, "workspace", "workspace_edit", "document_changes"))
        uris = [folder.uri for folder in params.workspace_folders or ()]
        uris += [params.root_uri] if params.root_uri and not uris else []
        session.workspace.folders = [Path(path_of(uri)) for uri in uris]
        found, wrong = read_preferences(_plain(params.initialization_options))
        session.first = session.workspace.preferences = found
        if wrong:
            self.say(f"gec: {wrong}")
        pushes = _of(can, "text_document", "publish_diagnostics") is not None
        session.pulled = _of(can, "text_document", "diagnostic") is not None and (
            found.pull or not pushes
        )
        if session.pulled:
            _add_pull(self)
        session.start()

    async def settle(self) -> None:
        """Ask for settings, and to be told when files with settings or words change."""
        can = self.client_capabilities
        if _of(can, "workspace", "did_change_watched_files", "dynamic_registration"):
            watchers = [
                types.FileSystemWatcher(glob_pattern=f"**/{name}")
                for name in ("pyproject.toml", PROJECT_WORDS)
            ]
            registration = types.Registration(
                "gec-files",
                types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                types.DidChangeWatchedFilesRegistrationOptions(watchers),
            )
            await self.client_register_capability_async(types.RegistrationParams([registration]))
        await self.ask_settings()

    async def ask_settings(self) -> None:
        """Take the settings that the editor has in its section of ours, if it tells them."""
        if _of(self.client_capabilities, "workspace", "configuration"):
            item = types.ConfigurationItem(section=SECTION)
            answer = await self.workspace_configuration_async(types.ConfigurationParams([item]))
            if answer and answer[0]:
                self.session.configure(_plain(answer[0]))

    def later(self, work: Any) -> None:
        """Do something that waits for the editor, without waiting here."""
        task = asyncio.ensure_future(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _call(self, function: Callable[[], None]) -> None:
        """Run a function in the thread that reads the editor's messages."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function)


async def _quietly(work: Any) -> None:
    try:
        await work
    except Exception as error:  # an editor that refuses what we ask for
        LOG.warning("the editor answers with %s", type(error).__name__)


def _add_handlers(server: Server) -> None:
    """Register what the server answers."""
    session, feature = server.session, server.feature

    @feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        server.later(server.settle())

    @feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        session.opened(document.uri, document.version, document.language_id, document.text)

    @feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        changes = [_change(change) for change in params.content_changes]
        session.changed(params.text_document.uri, params.text_document.version, changes)

    @feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        session.closed(params.text_document.uri)

    @feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        session.saved(params.text_document.uri)

    @feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        given = _plain(params.settings)
        if isinstance(given, Mapping) and given.get(SECTION):
            session.configure(given[SECTION])
        else:
            server.later(server.ask_settings())

    @feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        if any(session.workspace.watches(path_of(change.uri)) for change in params.changes):
            session.renew()

    @feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        folders = server.workspace.folders.values()
        session.workspace.folders = [Path(path_of(folder.uri)) for folder in folders]

    @feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.status = OK
        session.close()

    @feature(types.EXIT)
    def leave(params: None) -> None:
        server.status = ABANDONED if server.status is None else server.status

    _add_requests(server)
    _add_commands(server)


def _add_requests(server: Server) -> None:
    session, feature = server.session, server.feature
    kinds = [types.CodeActionKind.QuickFix, actions.FIX_ALL]

    @feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def code_action(params: types.CodeActionParams) -> list[dict[str, Any]]:
        return await session.actions(
            params.text_document.uri,
            _place(params.range.start),
            _place(params.range.end),
            params.context.only,
        )

    @feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> dict[str, Any] | None:
        return await session.hover(params.text_document.uri, _place(params.position))


def _add_pull(server: Server) -> None:
    """Register that the editor may ask for diagnostics."""

    @server.feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(
            inter_file_dependencies=False, workspace_diagnostics=False, identifier=SECTION
        ),
    )
    async def diagnostic(params: types.DocumentDiagnosticParams) -> dict[str, Any]:
        shown = await server.session.current(params.text_document.uri, None)
        items = shown.diagnostics if shown else []
        name = str(hash(repr(items)))
        if params.previous_result_id == name:
            return {"kind": "unchanged", "resultId": name}
        return {"kind": "full", "resultId": name, "items": items}


def _add_commands(server: Server) -> None:
    """Register what code actions and an editor's keys may call."""
    session = server.session

    @server.command(actions.ADD_TO_USER)
    def add_to_user(*arguments: Any) -> str:
        word, uri = _strings(arguments, 2)
        return _or_error(lambda: session.add_word(word, uri, project=False))

    @server.command(actions.ADD_TO_PROJECT)
    def add_to_project(*arguments: Any) -> str:
        word, uri = _strings(arguments, 2)
        return _or_error(lambda: session.add_word(word, uri, project=True))

    @server.command(actions.IGNORE)
    def ignore(*arguments: Any) -> None:
        uri, *finding = _strings(arguments, 5)
        session.ignore(uri, Known(*finding))

    @server.command(actions.IGNORE_TYPE)
    def ignore_type(*arguments: Any) -> None:
        uri, type = _strings(arguments, 2)
        _or_error(lambda: session.ignore_type(uri, type))

    @server.command(actions.FIX)
    async def fix(*arguments: Any) -> int:
        uri = _strings(arguments[:1], 1)[0]
        given = _plain(arguments[1]) if len(arguments) > 1 else None
        wanted: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        least, type = wanted.get("confidence", 0.0), wanted.get("type")
        if not isinstance(least, int | float) or not (type is None or isinstance(type, str)):
            raise JsonRpcInvalidParams("confidence must be a number, type a string")
        found = await session.fixes(uri, type, least)
        if found is None:
            return 0
        count, change = found
        edit = get_converter().structure(change, types.WorkspaceEdit)
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "gec"))
        return count


def _or_error(function: Callable[[], T]) -> T:
    try:
        return function()
    except GecError as error:
        raise JsonRpcInvalidParams(f"gec: {error}") from None


def _strings(arguments: Any, count: int) -> list[str]:
    if len(arguments) != count or not all(isinstance(value, str) for value in arguments):
        raise JsonRpcInvalidParams(f"expected {count} strings as arguments")
    return [*arguments]


def _place(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _change(change: Any) -> Change:
    where = getattr(change, "range", None)
    return Change(None if where is None else (_place(where.start), _place(where.end)), change.text)


def _of(value: Any, *names: str) -> Any:
    """Return an attribute of an attribute ...; None where one is missing."""
    for name in names:
        value = getattr(value, name, None)
    return value


def _plain(value: Any) -> Any:
    """Return what came from JSON as dictionaries, which pygls may have made objects of."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


# ------------------------------------------------------------------------------------------ running


def serve(load: Callable[[], Corrector], address: tuple[str, int] | None = None) -> int:
    """Answer one editor, through standard input and output or at an address, until it leaves.

    Return the exit status that the protocol asks for.
    """
    gc.set_threshold(*SELDOM)
    server = Server(load)
    try:
        if address is None:
            server.start_io(stdin=sys.stdin.buffer, stdout=_own_output())
        else:
            server.start_tcp(*address)
    finally:
        ended = server.session.close(PATIENCE)
    status = server.status or OK
    if not ended:  # in the middle of loading a model, beneath which the interpreter cannot end
        sys.stderr.flush()
        os._exit(status)
    return status


def _own_output() -> BinaryIO:
    """Return standard output for the protocol alone; all other prints go to standard error."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own
