"""`memory.browse`: what a view of sessions needs beside the questions of `memory.recall`: lists in any order, parts of
a transcript, a text within it, its outline, family, records and pictures."""

from __future__ import annotations

import binascii
import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from recollect.errors import ArchiveError, UnknownName
from recollect.insights.retro.fixes import repairs_of
from recollect.memory.facets import HomeFacet
from recollect.model.events import Event
from recollect.model.insights.signals import ErrorSeen, Signal
from recollect.model.payloads import AssistantMessage, Part, ToolResult, UserMessage
from recollect.model.sessions import Session
from recollect.store.bodies import decode_record
from recollect.store.insights import NodeFilter
from recollect.store.rows import EventFilter, TimelineEntry
from recollect.store.sessions import ListedSession, Relative, SessionQuestion

if TYPE_CHECKING:
    pass

SHOWN_CHARS = 65_536
"""Of a string that lies in the archive, in a part of a transcript."""
WHOLE_CHARS = 1_000_000
"""Of such a string where one event is shown or looked through."""
FIND_S = 0.3
"""A look for a text within a session goes on in the next request after so long."""
MAX_FOUND = 2_000
_RECORD_STRING = 20_000
_RECORD_CHARS = 400_000
_MARGIN = 20_000
_MAX_DECODED = 8_000_000
"""Bytes of a record that is laid out as JSON; of a longer one its beginning is shown as it stands."""
_MAX_IMAGE_BYTES = 20_000_000
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)  # fmt: skip
MarkKind = Literal["turn", "decision", "error", "edit", "compaction", "rewind", "subagent"]


class OutlineMark(msgspec.Struct, frozen=True):
    """A line of an outline. fixed_at: of an error, where the same call worked again. session_uid: of a subagent."""

    seq: int
    kind: MarkKind
    text: str
    fixed_at: int | None = None
    session_uid: str = ""


class Outline(msgspec.Struct, frozen=True):
    """A part of an outline. earlier, later: a place in what comes before or after it; None at the ends."""

    marks: tuple[OutlineMark, ...]
    earlier: int | None = None
    later: int | None = None


class FoundWithin(msgspec.Struct, frozen=True):
    """The events that hold a text. next_seq: where to look on; None once all was looked through."""

    seqs: tuple[int, ...]
    next_seq: int | None


class RecordView(msgspec.Struct, frozen=True):
    """The record of an event as the agent wrote it, without its secrets. bytes: of all of it."""

    text: str
    bytes: int
    is_cut: bool


class Picture(msgspec.Struct, frozen=True):
    """A raster image, as the bytes say, whatever the agent called it."""

    media_type: str
    data: bytes


class BrowseFacet(HomeFacet):
    """Reads only, and is safe from many threads."""

    def sessions(self, asked: SessionQuestion, *, limit: int, offset: int = 0) -> tuple[tuple[ListedSession, ...], int]:
        """Return a page of sessions in the order asked for, and how many there are. Raises UnknownName."""
        known = self._home.known_names().filter(asked.where)
        costs = self._costs(EventFilter()) if asked.by == "cost" else {}
        lines, total = self._home.reader().listed(asked._replace(where=known), costs=costs, limit=limit, offset=offset)
        if lines and not costs:
            costs = self._costs(EventFilter(sessions=tuple(line.session.session_uid for line in lines)))
        priced = (msgspec.structs.replace(line, cost_usd=costs.get(line.session.session_uid)) for line in lines)
        return tuple(priced), total

    def _costs(self, where: EventFilter) -> dict[str, float]:
        report = self._home.reader().usage(by="session", where=where, after=None, before=None)
        return {row.key: row.totals.cost_usd for row in report.rows if row.totals.cost_usd is not None}

    def agents(self) -> tuple[str, ...]:
        """Return the agents of stored sessions, the one with the most first."""
        return self._home.reader().agents()

    def change_mark(self) -> str:
        """Return a text that is another one after something was ingested, analysed or forgotten."""
        return self._home.reader().change_mark()

    def transcript(
        self, session: Session, *, first: int, limit: int, behind: int = 0, max_chars: int = SHOWN_CHARS
    ) -> Iterator[Event]:
        """Yield events from number `first` on, and so many before it; at most `limit`.

        max_chars: of strings that lie in the archive.
        """
        return self._home.reader().transcript(
            session.session_uid, first_seq=first, limit=limit, max_chars=max_chars, behind=behind
        )

    def find(self, session: Session, text: str, *, first: int = 0) -> FoundWithin:
        """Return which events of a session hold a text, in any case, in order, from number `first` on."""
        seqs: list[int] = []
        ends = time.monotonic() + FIND_S
        last = None
        for seq, holds in self._home.reader().holding(
            session.session_uid, text, first_seq=first, max_chars=WHOLE_CHARS
        ):
            if last is not None and (time.monotonic() > ends or len(seqs) >= MAX_FOUND):
                return FoundWithin(tuple(seqs), seq)
            last = seq
            if holds:
                seqs.append(seq)
        return FoundWithin(tuple(seqs), None)

    def family(self, session: Session) -> tuple[Relative, ...]:
        """Return the sessions that this one came from and all that came from them, in the order of a tree."""
        return tuple(self._home.reader().family(session))

    # The outline

    def outline(
        self,
        session: Session,
        *,
        family: Sequence[Relative],
        decided: Sequence[tuple[int, str]],
        at: int = 0,
        limit: int,
    ) -> Outline:
        """Return about `limit` lines of an outline around an event: what people asked, edits, errors and where they
        were fixed, what was decided, where the context was cut or gone back, subagents.

        decided: seqs and texts of decisions. family: where subagents are looked for.
        """
        uid = session.session_uid
        reader = self._home.reader()
        lines, earlier, later = reader.outline_rows(uid, at=at, limit=limit)
        marks = [*_of_lines(lines), *(OutlineMark(seq, "decision", text) for seq, text in decided)]
        marks += self._errors(uid)
        first_turn = next((mark.seq for mark in marks if mark.kind == "turn"), 0)
        begun = [one.session for one in family if one.how == "subagent" and one.session.parent_session == uid]
        marks += [
            OutlineMark(
                max(first_turn, reader.seq_at(uid, child.started_at or 0)), "subagent", child.title or child.agent_name,
                session_uid=child.session_uid,
            )
            for child in begun
        ]  # fmt: skip
        first = 0 if earlier is None else lines[0].seq
        last = 1 << 62 if later is None else lines[-1].seq
        shown = sorted((mark for mark in marks if first <= mark.seq <= last), key=lambda mark: mark.seq)
        return Outline(tuple(shown), earlier, later)

    def _errors(self, uid: str) -> Iterator[OutlineMark]:
        kept = self._home.distilled().signals(("error", "retry"), NodeFilter(sessions=(uid,)))
        signals: list[Signal] = [signal for one in kept for signal in one.signals]
        fixed = {repair.error.evidence[0].seq: repair.worked.seq for repair in repairs_of(signals)}
        for signal in signals:
            if isinstance(signal, ErrorSeen) and signal.evidence:
                seq = signal.evidence[0].seq
                yield OutlineMark(seq, "error", signal.sample or signal.tool, fixed.get(seq))

    # One event

    def event(self, session: Session, seq: int) -> tuple[Event, ...]:
        """Return an event and those around it that may belong to it; of long strings `WHOLE_CHARS`. Raises UnknownName
        where the session has no such event."""
        found = tuple(self.transcript(session, first=seq, limit=1, max_chars=WHOLE_CHARS))
        if not found or found[0].seq != seq:
            why = self._home.reader().why_missing(session.session_uid, seq)
            raise UnknownName("event", f"{session.session_uid}#{seq}", hint=why or "the session has no such event")
        return found

    def record(self, session: Session, seq: int) -> RecordView:
        """Return the record of an event, its secrets redacted. Raises UnknownName, ArchiveError, RawGone."""
        self.event(session, seq)
        raw = self._home.reader().record(session.session_uid, seq)
        value = decode_record(raw) if len(raw) <= _MAX_DECODED else None
        if isinstance(value, dict | list):
            text = msgspec.json.format(msgspec.json.encode(self._home.redacted_value(_shortened(value))), indent=2)
            shown = text.decode("utf-8", "replace")
        else:
            shown = raw[: _RECORD_CHARS + _MARGIN].decode("utf-8", "replace")
        shown = self._home.redacted(shown[: _RECORD_CHARS + _MARGIN])  # what is split over two strings of it, too
        return RecordView(shown[:_RECORD_CHARS], len(raw), len(shown) > _RECORD_CHARS)

    def picture(self, session: Session, seq: int, sha256: str) -> Picture | None:
        """Return an image that an event has, None where its bytes are gone or are no PNG, JPEG, GIF or WebP.

        Raises UnknownName for an event that has no such image.
        """
        parts = {part.sha256: part for event in self.event(session, seq) for part in pictures_of(event)}
        if sha256 not in parts:
            raise UnknownName("image", sha256, hint="the event has no such image")
        try:
            value = decode_record(self._home.reader().record(session.session_uid, seq))
        except ArchiveError:
            return None
        for data in _decoded(value, parts[sha256].bytes):
            if hashlib.sha256(data).hexdigest() == sha256:
                media_type = _media_type(data)
                return Picture(media_type, data) if media_type else None
        return None


def pictures_of(event: Event) -> tuple[Part, ...]:
    """Return the images of an event whose bytes are in the archive."""
    payload = event.payload
    if not isinstance(payload, UserMessage | AssistantMessage | ToolResult):
        return ()
    return tuple(
        part for part in payload.parts if part.sha256 and 0 < part.bytes <= _MAX_IMAGE_BYTES and _is_image(part)
    )


def _is_image(part: Part) -> bool:
    return part.type == "image" or part.media_type.startswith("image/")


def _media_type(data: bytes) -> str:
    """Return the type of a raster image by its first bytes, "" for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _MAGIC if data.startswith(magic)), "")


def _decoded(value: Any, size: int) -> Iterator[bytes]:
    """Yield what strings of a record hold as base64, those of the right length for so many bytes."""
    length = (size + 2) // 3 * 4
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and len(item) >= size:
            data = item.partition(";base64,")[2] if item.startswith("data:") else item
            if abs(len(data) - length) <= 4 + length // 32:  # line breaks may stand in it
                try:
                    yield binascii.a2b_base64(data)
                except ValueError:
                    continue
        elif isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item


def _shortened(value: Any) -> Any:
    """Return decoded JSON with long strings cut: an image would fill the page with base64."""
    if isinstance(value, str):
        left = len(value) - _RECORD_STRING
        return value if left <= 0 else f"{value[:_RECORD_STRING]} … {left:,} characters more"
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return [_shortened(item) for item in value] if isinstance(value, list) else value


def _of_lines(lines: Sequence[TimelineEntry]) -> Iterator[OutlineMark]:
    """Yield the marks of events: of edits in a row one."""
    turn: int | None = None
    edits: list[TimelineEntry] = []
    for line in lines:
        if line.kind == "file_edit":
            edits.append(line)
            continue
        if line.kind == "user_message" and line.turn_index == turn:
            continue  # what the harness adds in the user's role starts no turn
        yield from _edited(edits)
        edits = []
        if line.kind == "user_message":
            turn = line.turn_index
            yield OutlineMark(line.seq, "turn", line.summary)
        else:
            yield OutlineMark(line.seq, "compaction" if line.kind == "compaction" else "rewind", line.summary)
    yield from _edited(edits)


def _edited(edits: Sequence[TimelineEntry]) -> Iterator[OutlineMark]:
    if edits:
        names = dict.fromkeys(line.summary.replace("\\", "/").rpartition("/")[2] for line in edits)
        yield OutlineMark(edits[0].seq, "edit", ", ".join(names))
