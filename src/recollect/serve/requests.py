"""Answers requests on the daemon's socket, one function per kind. See `recollect.client`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING

import msgspec

from recollect import __version__, wire
from recollect.client import (
    EntryRequest,
    IngestRequest,
    ReplyLine,
    Request,
    RequestLine,
    SearchRequest,
    SessionsRequest,
    ShowRequest,
    UsageRequest,
    local_zone,
)
from recollect.errors import BrokenInvariant, RecollectError
from recollect.local_time import LOCAL
from recollect.memory import EventFilter, Memory
from recollect.visible import safe_json

if TYPE_CHECKING:
    from recollect.memory import (
        EntryView,
        SearchAnswer,
        SessionPage,
        SessionView,
        SyncProgress,
        SyncReport,
        UsageReport,
    )

CHANGED = "its configuration was changed since it started"
BUSY_S = 5.0
"""So long does a sync wait for other work of the daemon: most of it takes moments."""
AGAIN_S = 0.02
Tell = Callable[[bytes], None]


class Responder:
    """The answers of one daemon to requests. Safe from many threads."""

    def __init__(
        self, memory: Memory, started_at: int, *, has_looked: Callable[[], bool] = lambda: False
    ) -> None:  # fmt: skip
        """started_at: of the daemon, UTC microseconds. has_looked: whether it has looked at everything since; before
        that, and in a helper process, who asks for a sync does it himself, and sees how far it is."""
        self._memory = memory
        self._started_at = started_at
        self._has_looked = has_looked
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(RequestLine).decode

    def answer(self, line: bytes, tell: Tell = lambda _line: None) -> bytes:
        """Return the line that answers one. tell: takes lines that say how far it is. Raises nothing of the memory's
        own errors: who asks meets them himself."""
        try:
            asked = self._decode(line)
        except ValueError:
            return self._encode(ReplyLine(text="it does not know this question")) + b"\n"
        if refused := self._refused(asked):
            return self._encode(ReplyLine(text=refused)) + b"\n"
        try:
            reply: ReplyLine[object] = ReplyLine(reply=self._answer(asked, tell))
        except RecollectError:
            reply = ReplyLine(reply=None)
        return safe_json(self._encode(reply)) + b"\n"  # who asks knows no hidden names

    def _refused(self, asked: RequestLine) -> str:
        """Return why who asks might get another answer from the disk, "" where that cannot be."""
        if asked.version != wire.VERSION or asked.program != __version__:
            return f"it is of version {__version__}"
        if asked.zone != local_zone():
            return "it runs in another time zone"
        return CHANGED if self._has_other_config(asked.config) else ""

    def _has_other_config(self, path: str) -> bool:
        """Return whether a configuration file is not what this memory was opened with."""
        own = self._memory.config_path
        if own is None or os.path.abspath(own) != path:
            return True
        try:
            return own.stat().st_mtime_ns // 1000 > self._started_at
        except OSError:
            return False

    def _answer(self, asked: RequestLine, tell: Tell) -> object:
        request, memory = asked.request, self._memory
        if not isinstance(request, IngestRequest):
            return answer(memory, request, (asked.folder,) if asked.folder else ())
        return sync(memory, tell) if self._has_looked() and memory.live.looks_where(request.variables) else None


def answer(memory: Memory, request: Request, folders: tuple[str, ...] | None = None) -> object:
    """Return the answer to a question. folders: as in `Memory.search`. Raises UnknownName."""
    match request:
        case SearchRequest():
            return search(memory, request, folders)
        case SessionsRequest():
            return sessions(memory, request, folders)
        case ShowRequest():
            return show(memory, request)
        case EntryRequest():
            return show_entry(memory, request)
        case UsageRequest():
            return usage(memory, request, folders)
        case IngestRequest():
            raise BrokenInvariant("ingesting is no question")


def search(memory: Memory, request: SearchRequest, folders: tuple[str, ...] | None = ()) -> SearchAnswer:
    """Answer a query. Raises UnknownName for a name in it that nobody knows."""
    answer = memory.search(request.query, limit=request.limit, sync=request.sync, folders=folders, zone=LOCAL)
    memory.recall.check_names(request.query, folders=folders)  # last: what a sync has brought in is known
    return answer


def sessions(memory: Memory, request: SessionsRequest, folders: tuple[str, ...] | None = ()) -> SessionPage:
    """List sessions. Raises UnknownName."""
    return memory.sessions(
        where=EventFilter(agents=request.agents, repos=request.repos), after=request.after, before=request.before,
        limit=request.limit, offset=request.offset, sync=request.sync, folders=folders,
    )  # fmt: skip


def show(memory: Memory, request: ShowRequest) -> SessionView:
    """Show a page of a session. Raises UnknownName."""
    notes = memory.refresh() if request.sync else ()
    return memory.recall.page(request.session, first=request.first, limit=request.limit, notes=notes)


def show_entry(memory: Memory, request: EntryRequest) -> EntryView:
    """Show an entry. Raises UnknownName."""
    notes = memory.refresh() if request.sync else ()
    view = memory.recall.entry(request.uid, first=request.first, limit=request.limit)
    return msgspec.structs.replace(view, notes=notes)


def sync(memory: Memory, tell: Tell) -> SyncReport:
    """Ingest what is new, analyse and learn from it, beside the daemon's loop."""

    def show(progress: SyncProgress) -> None:
        tell(wire.PROGRESS + safe_json(msgspec.json.encode(progress)) + b"\n")

    ends = time.monotonic() + BUSY_S
    while (report := memory.sync(progress=show)).state == "busy" and time.monotonic() < ends:
        time.sleep(AGAIN_S)
    memory.embedding.start_in_background()
    return report


def usage(memory: Memory, request: UsageRequest, folders: tuple[str, ...] | None = ()) -> UsageReport:
    """Report tokens and cost. Raises UnknownName."""
    if request.sync:
        memory.refresh()
    return memory.usage.report(
        by=request.by, where=EventFilter(agents=request.agents, repos=request.repos), after=request.after,
        before=request.before, zone=LOCAL if request.is_local else UTC, folders=folders,
    )  # fmt: skip
