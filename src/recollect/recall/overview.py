"""Summarises a session before its pages: beginning, end, changes, failures.

What rewinds left behind is not told.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, ToolCall, ToolResult, UserMessage
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter, TimelineEntry

MAX_ROWS = 20_000
"""Events looked at; of a longer session the first ones, and its last answer."""
MAX_FAILURES = 5
MAX_FILES = 200
_PAGE = 2_000
_CALLS_BEFORE = 40
"""Events before a failed result among which its call is looked for."""
_LAST_EVENTS = 200
_FAILED = re.compile(r"failed: |exit [1-9]\d*: ")


class Cited(msgspec.Struct, frozen=True):
    """A text and the event it is from."""

    seq: int
    ts: int | None
    text: str


class TouchedFile(msgspec.Struct, frozen=True):
    """A file that was edited. seq: of the last edit."""

    path: str
    edits: int
    seq: int


class Overview(msgspec.Struct, frozen=True):
    """A session in short. files: most edited first. failures: the last ones, `command → outcome`.

    failure_count: all of them among the events looked at. is_whole: False where the session has more events than were
    looked at.
    """

    first_prompt: Cited | None
    last_answer: Cited | None
    files: tuple[TouchedFile, ...]
    failures: tuple[Cited, ...]
    failure_count: int
    is_whole: bool


def overview(reader: Reader, uid: str, *, event_count: int) -> Overview:
    """Return the overview of a session. uid: of a session that exists."""
    first: TimelineEntry | None = None
    last: TimelineEntry | None = None
    edited: dict[str, TouchedFile] = {}
    failed: deque[TimelineEntry] = deque(maxlen=MAX_FAILURES)
    failures = 0
    for row in _rows(reader, uid):
        if row.kind == "user_message" and row.turn_index and first is None:
            first = row
        elif row.kind == "assistant_message":
            last = row
        elif row.kind == "file_edit":
            _touch(edited, row)
        elif row.kind == "tool_result" and _FAILED.match(row.summary):
            failed.append(row)
            failures += 1
    is_whole = event_count <= MAX_ROWS
    answer = None if last is None else _event(reader, uid, last.seq)
    if not is_whole:
        answer = _last_said(reader.events(uid, first_seq=event_count - _LAST_EVENTS, limit=None)) or answer
    prompt = None if first is None else _event(reader, uid, first.seq)
    files = sorted(edited.values(), key=lambda f: (-f.edits, f.path))
    return Overview(
        first_prompt=_cited(prompt),
        last_answer=_cited(answer),
        files=tuple(files[:MAX_FILES]),
        failures=tuple(_failure(reader, uid, row) for row in failed),
        failure_count=failures,
        is_whole=is_whole,
    )


def _rows(reader: Reader, uid: str) -> Iterator[TimelineEntry]:
    where = EventFilter(sessions=(uid,))
    for offset in range(0, MAX_ROWS, _PAGE):
        rows, _total = reader.timeline(where, limit=_PAGE, offset=offset)
        yield from (row for row in rows if not row.is_undone)
        if len(rows) < _PAGE:
            return


def _touch(edited: dict[str, TouchedFile], row: TimelineEntry) -> None:
    operation, _space, path = row.summary.partition(" ")
    if path and operation != "checkpoint":
        known = edited.get(path)
        edited[path] = TouchedFile(path, 1 + (known.edits if known else 0), row.seq)


def _event(reader: Reader, uid: str, seq: int) -> Event | None:
    return next(islice(reader.events(uid, first_seq=seq, limit=1), 1), None)


def _last_said(events: Iterable[Event]) -> Event | None:
    said = [e for e in events if isinstance(e.payload, AssistantMessage) and e.payload.text and not e.is_undone]
    return said[-1] if said else None


def _cited(event: Event | None) -> Cited | None:
    if event is None or not isinstance(event.payload, UserMessage | AssistantMessage):
        return None
    return Cited(event.seq, event.ts, event.payload.text or event.summary)


def _failure(reader: Reader, uid: str, row: TimelineEntry) -> Cited:
    """Return the call and how it failed; the result alone if its call is not near."""
    near = list(reader.events(uid, first_seq=max(0, row.seq - _CALLS_BEFORE), limit=_CALLS_BEFORE + 1))
    result = next((e.payload for e in near if e.seq == row.seq and isinstance(e.payload, ToolResult)), None)
    calls = [
        e
        for e in near
        if e.seq < row.seq and isinstance(e.payload, ToolCall) and result and e.payload.call_id == result.call_id
    ]
    called = f"{calls[-1].summary} → " if calls and result is not None and result.call_id else ""
    return Cited(row.seq, row.ts, called + row.summary)
