"""The server on the official SDK: tools, instructions, bounded calls that never break the connection."""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.errors import RecollectError, UnknownName, UsageError
from recollect.model.own import SERVER
from recollect.serve.mcp.freshness import Freshness
from recollect.serve.mcp.tools import INSTRUCTIONS, TOOLS, WRITING_INSTRUCTIONS, WRITING_TOOLS, tool_json
from recollect.serve.token import home_token
from recollect.units import duration

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.context import ServerRequestContext

    from recollect.serve.mcp.bounded_answer import Cursors

ROOTS_WAIT_S = 1.0
"""How long a client may take to say where it works; without an answer the folder of this process counts."""
LISTED_S = 0.05
"""How long after the question for the tools the memory is opened: by then the answer is on its way."""
_ERROR_CHARS = 600
_CODES = {UnknownName: "not_found", UsageError: "invalid_request"}


class MemoryServer:
    """One MCP server over one memory.

    folder: where the caller works if its client does not say; "" if that is not this process's folder (HTTP). writes:
    the person turned the writing tools on (`mcp.writing_tools`); without that they do not exist.
    """

    def __init__(
        self, freshness: Freshness, *, folder: str = "", admission: Admission | None = None, writes: bool = False
    ) -> None:
        self._freshness = freshness
        self._folder = folder
        self._admission = admission or Admission()
        self._cursors: Cursors | None = None
        self._folders: WeakKeyDictionary[object, tuple[str, ...]] = WeakKeyDictionary()
        """By connection."""
        self._writing = frozenset(tool.name for tool in WRITING_TOOLS) if writes else frozenset()
        specs = (*TOOLS, *WRITING_TOOLS) if writes else TOOLS
        self._tools = [types.Tool.model_validate(tool_json(tool)) for tool in specs]
        self.protocol: Server[dict[str, Any]] = Server(
            SERVER,
            version=__version__,
            title="Recollect",
            instructions=INSTRUCTIONS + WRITING_INSTRUCTIONS if writes else INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        # Traces of a local server go to nobody; the SDK's own look for a place to send them at every message.
        self.protocol.middleware = []
        self.protocol.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._forget_folders
        )

    async def _list_tools(
        self, _context: ServerRequestContext[dict[str, Any]], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        # Whoever lists tools is about to call one. What that loads would stand in front of this answer, though.
        asyncio.get_running_loop().call_later(LISTED_S, self._freshness.start)
        return types.ListToolsResult(tools=self._tools)

    async def _call_tool(
        self, context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if all(params.name != tool.name for tool in self._tools):
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!a}")
        folders = await self._folders_of(context)

        told = context.session.client_params
        agent = told.client_info.name if told is not None else ""

        def answer() -> str:
            from recollect.serve.mcp.bounded_answer import Caller
            from recollect.serve.mcp.handler import ToolHandler

            notes = self._freshness.refreshed()
            memory = self._freshness.memory()
            cursors = self._cursors_of(memory.home)
            handler = ToolHandler
            if params.name in self._writing:
                from recollect.serve.mcp.write_handler import WriteHandler

                handler = WriteHandler
            return handler(memory, cursors, Caller(folders, agent), notes).answer(params.name, params.arguments)

        try:
            return _said(await self._admission.run(answer))
        except RecollectError as error:
            code = next((name for kind, name in _CODES.items() if isinstance(error, kind)), error.code)
            hint = f" ({error.hint})" if error.hint else ""
            return _failed(code, f"{error}{hint}")
        except Exception as error:  # noqa: BLE001 - the outermost frame of a call: a bug of ours must not end the session
            traceback.print_exception(error, file=sys.stderr)
            return _failed("internal_error", f"{type(error).__name__}; this is a bug of Recollect, please report it")

    def _cursors_of(self, home: Path) -> Cursors:
        from recollect.serve.mcp.bounded_answer import Cursors

        if self._cursors is None:
            try:
                key = home_token(home).encode()
            except RecollectError:
                key = secrets.token_bytes(32)  # a home that cannot be written: cursors live as long as this process
            self._cursors = Cursors(key)
        return self._cursors

    # Where the caller works

    async def _folders_of(self, context: ServerRequestContext[dict[str, Any]]) -> tuple[str, ...]:
        """Return the folders that the client says it works in, asked once a connection; else this process's."""
        here = (self._folder,) if self._folder else ()
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.roots is None or not context.session.can_send_request:
            return here
        key = context.session._connection
        if key not in self._folders:
            found: tuple[str, ...] = ()
            with suppress(MCPError, TimeoutError, ValueError), anyio.move_on_after(ROOTS_WAIT_S):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # roots are on their way out of the protocol; clients have them
                    answer = await context.session.list_roots()
                found = tuple(path for root in answer.roots if (path := _path_of(str(root.uri))))
            self._folders[key] = found
        return self._folders[key] or here

    async def _forget_folders(
        self, context: ServerRequestContext[dict[str, Any]], _params: types.NotificationParams
    ) -> None:
        self._folders.pop(context.session._connection, None)


def _said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def _failed(code: str, message: str) -> types.CallToolResult:
    from recollect.memory import clean

    text = f"error {code}: {' '.join(clean(message, limit=_ERROR_CHARS).split())}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _path_of(uri: str) -> str:
    """Return the path of a `file:` URI, "" of any other."""
    from urllib.request import url2pathname  # which brings a client of HTTP along

    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else ""


PARALLEL = 4
QUEUED = 16
DEADLINE_S = 20.0


class Busy(RecollectError):
    """More calls are under way than the server takes."""

    code = "busy"
    retryable = True


class DeadlineExceeded(RecollectError):
    """A call took longer than a caller should wait."""

    code = "deadline_exceeded"
    retryable = True


class Admission:
    """Runs calls in threads of its own.

    The answer of a cancelled or late call goes to nobody; a thread cannot be stopped, so its slot is free only when it
    has ended, and the limit holds whatever callers do.
    """

    def __init__(self, *, parallel: int = PARALLEL, queued: int = QUEUED, deadline_s: float = DEADLINE_S) -> None:
        self._most = parallel + queued
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(parallel, thread_name_prefix="recollect-call")
        self._lock = threading.Lock()
        self._under_way = 0

    async def run(self, call: Callable[[], str]) -> str:
        """Return what a call returns. Raises Busy, DeadlineExceeded, or what the call raises."""
        with self._lock:
            if self._under_way >= self._most:
                raise Busy(f"{self._most} calls are under way", hint="try again in a moment")
            self._under_way += 1
        future = self._threads.submit(call)
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._deadline_s)
        except TimeoutError as error:
            if future.done() and not future.cancelled():
                return future.result()  # it ended at the last moment, or the call itself raised this
            raise DeadlineExceeded(
                f"no answer within {duration(self._deadline_s)}", hint="ask for less: a smaller limit, a narrower query"
            ) from error

    def close(self) -> None:
        """Accept no more calls, and drop the waiting ones."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _done: Future[str]) -> None:
        with self._lock:
            self._under_way -= 1
