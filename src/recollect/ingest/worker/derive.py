"""Turns records into events: the pure middle of a sync, a rebuild and `parse`.

Order for every record: decode → the adapter's parse → redact → bodies, summaries, index documents. What is
redacted here is redacted everywhere: nothing unredacted leaves this module but the sealed chunks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import msgspec

from recollect.agents.base import Adapter
from recollect.archive.sealer import NAME_BYTES, Sealer
from recollect.capture.containers.jsonl import Line
from recollect.capture.decode import guess_type, readable_text
from recollect.erasure.tombstones import NOTHING as NOTHING_FORGOTTEN
from recollect.erasure.tombstones import Forgotten
from recollect.errors import ArchiveError
from recollect.index.text.document_builder import DocumentBuilder
from recollect.ingest.worker.order import reordered
from recollect.ingest.worker.trail import Trail
from recollect.model.events import Draft
from recollect.model.ids import call_key, session_uid
from recollect.model.own import BLOCK_TAG, is_own_call, is_own_tool, without_own_blocks
from recollect.model.payloads import (
    KINDS,
    AssistantMessage,
    Compaction,
    FileEdit,
    Lifecycle,
    Payload,
    Rewind,
    SessionStart,
    Thinking,
    TokenUsage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from recollect.model.records import Defect, Drift, Parsed, Record, SourceInfo
from recollect.model.sessions import SessionPatch
from recollect.model.text import searchable, summary_of
from recollect.privacy.redact import Redactor
from recollect.store.bodies import LARGE_CHARS, BlockEntry, encode_block, encode_body, is_whole, large_strings
from recollect.store.row_keys import FLAG_FAILED, FLAG_OWN, FLAG_SIDECHAIN
from recollect.store.rows import BlobSighting, DriftCount, EventDraft, RecordPlace, SessionPart, UsageSighting

MAX_STATE_BYTES = 1024 * 1024
KIND_CODE: dict[type, int] = {payload_type: code for code, payload_type in enumerate(get_args(Payload))}
"""The stored code of every payload type: its position in `KINDS`, which lists them in the order of the union."""
_TALK = (UserMessage, AssistantMessage, Thinking, ToolCall, ToolResult, FileEdit)
"""What a conversation consists of: what a shorter version of a source keeps ends with one of them."""
_PROSE = (UserMessage, AssistantMessage, Thinking)
"""What people and models say stays whole in the store, however long; it outlives an eviction of the archive."""
_Noted = tuple[str, bytes, int]
_NOTHING: _Noted = ("", b"", 0)
_ROLE = {"user": 0, "assistant": 1, "tool": 2, "system": 3}
_QUALITY = {"exact": 0, "inferred": 1, "missing": 2}
_to_builtins = msgspec.to_builtins
_encode = msgspec.json.Encoder().encode
_sha256 = hashlib.sha256


class Derived(NamedTuple):
    """The result of some records: places, one part per session, defects, blobs, and the state to continue with."""

    records: list[RecordPlace]
    sessions: list[SessionPart]
    defects: list[Defect]
    blobs: list[BlobSighting]
    state: Any
    turn: int
    unknown_count: int
    redactions: dict[str, int]
    drift: list[DriftCount]
    left_out: list[int]


class _Part:
    """One session's share of the slice while it grows."""

    __slots__ = ("ended", "entries", "events", "follows", "kinds", "patch", "started", "usage")

    def __init__(self) -> None:
        self.patch = SessionPatch()
        self.events: list[EventDraft] = []
        self.entries: list[BlockEntry] = []
        self.follows: dict[int, str | int] = {}
        """The places of events that are told late, and the names or places of those behind which they belong."""
        self.usage: list[UsageSighting] = []
        self.kinds = [0] * len(KINDS)
        self.started: int | None = None
        self.ended: int | None = None


class Resume(NamedTuple):
    """Where deriving continues: the parser's state, the turn, and the trail of a rewritten source.

    forgotten: what must not be derived; such a record is treated as missing.
    """

    state: Any
    turn: int = 0
    trail: Trail | None = None
    forgotten: Forgotten = NOTHING_FORGOTTEN


class Deriver:
    """Derives the events of one slice of one source. Use once: `add` every record in order, then `finish`."""

    def __init__(
        self, adapter: Adapter, info: SourceInfo, redactor: Redactor, resume: Resume, *, documents: bool = True
    ) -> None:
        self._adapter = adapter
        self._parse = adapter.parse
        self._session = info.session
        self._redactor = redactor
        self._carries_text = adapter.facts.carries_text
        self._state, self._turn, self._trail, self._forgotten = resume
        self._agent = info.agent
        self._left_out: list[int] = []
        self._drift: dict[Drift, list[int]] = {}
        self._documents = DocumentBuilder() if documents else None
        self._places: list[RecordPlace] = []
        self._parts: dict[str, _Part] = {}
        self._indexed: list[tuple[EventDraft, int]] = []
        self._defects: list[Defect] = []
        self._blobs: list[BlobSighting] = []
        self._redactions: dict[str, int] = {}
        self._unknown = 0
        self._new_at = self._talk_end = -1

    def add_lines(
        self, lines: Sequence[Line], hashes: Sequence[bytes], *, base: int, first_index: int, data: bytes
    ) -> None:
        """Add the records of data at offset `base` of its revision.

        hashes: their sha256 (`hashes_of`). Which records may hold a secret is determined once for all of the data.
        """
        suspects = set() if self._carries_text else set(self._redactor.suspects(data, [line.end for line in lines]))
        for i, (line, sha) in enumerate(zip(lines, hashes, strict=True)):
            index = first_index + i
            offset = base + line.start
            self._places.append(RecordPlace(index, offset, line.end - line.start, sha))
            self._add(line, index, offset, is_suspect=i in suspects)

    def add_giant(self, head: bytes, *, offset: int, length: int, index: int, sha256: bytes) -> None:
        """Take a record that is too large to decode: one unknown event of its first 64 KiB and a defect."""
        self._places.append(RecordPlace(index, offset, length, sha256))
        if self._is_forgotten((), sha256):
            self._left_out.append(len(self._places) - 1)
            return
        self._defects.append(Defect("too_large", f"{length} bytes", index, offset))
        self._see_unreadable()
        draft = Draft(payload=Unknown(type=guess_type(head), text=readable_text(head)))
        self._emit((draft,), None, is_suspect=True)

    def _is_forgotten(self, drafts: Sequence[Draft], sha256: bytes) -> bool:
        """Return whether a record must not be derived: by its bytes, its sessions, or the id of one of its events."""
        forgotten = self._forgotten
        if forgotten.is_empty:
            return False
        names = {self._session if draft.session is None else draft.session for draft in drafts} or {self._session}
        uids = {name: session_uid(self._agent, name) for name in names}
        if any(forgotten.has_session(uid) or forgotten.has_record(uid, sha256) for uid in uids.values()):
            return True
        return any(
            draft.native_id is not None
            and forgotten.has_event(uids[self._session if draft.session is None else draft.session], draft.native_id)
            for draft in drafts
        )

    def _pass_over(self, drafts: Sequence[Draft]) -> None:
        """Omit the newest record. Its turns still exist, which is no rewind, so the trail has them."""
        self._left_out.append(len(self._places) - 1)
        for draft in drafts:
            if self._trail is not None and draft.session is None and _is_turn(draft.payload):
                self._trail.take_turn(self._name_of(draft))

    def _add(self, line: Line, index: int, offset: int, *, is_suspect: bool) -> None:
        decoded = line.decoded
        if not decoded.is_json and self._is_forgotten((), self._places[-1].sha256):
            self._left_out.append(len(self._places) - 1)
            return
        if decoded.code:
            self._defects.append(Defect(decoded.code, self._clean(decoded.detail), index, offset))
        if not decoded.is_json:
            self._see_unreadable()
            draft = Draft(payload=Unknown(type=guess_type(line.raw), text=readable_text(line.raw)))
            self._emit((draft,), None, is_suspect=True)
            return
        before = self._state
        try:
            parsed: Parsed[Any] = self._parse(
                Record(decoded.value, line.raw, index, line.at, line.changed), self._state
            )
            if self._is_forgotten(parsed.events, self._places[-1].sha256):
                self._pass_over(parsed.events)
                return
            self._state = parsed.state
            for defect in parsed.defects:
                detail = self._clean(defect.detail) if defect.detail else ""
                self._defects.append(Defect(defect.code, detail, index, offset))
            for found in parsed.drift:
                self._drift.setdefault(found, [0, index, offset])[0] += 1
            self._emit(parsed.events, decoded.value, is_suspect=is_suspect)
        except (RecursionError, UnicodeError) as error:
            self._state = before
            code = "too_deep" if isinstance(error, RecursionError) else "lone_surrogate"
            self._defects.append(Defect(code, "kept as an unknown record", index, offset))
            draft = Draft(payload=Unknown(type=guess_type(line.raw), text=readable_text(line.raw)))
            self._emit((draft,), None, is_suspect=True)

    def _see_unreadable(self) -> None:
        if self._trail is not None:
            self._trail.take_unreadable()

    def _clean(self, text: str) -> str:
        return self._redactor.redact_text(text)[0]

    def _emit(self, drafts: Sequence[Draft], value: Any, *, is_suspect: bool) -> None:
        record = len(self._places) - 1
        large: dict[str, str] | None = None
        parts: dict[str | None, int] = {}
        for draft in drafts:
            part_number = parts.get(draft.native_id, 0)
            parts[draft.native_id] = part_number + 1
            payload = draft.payload
            body = _encode(payload)
            if is_suspect or (self._carries_text and self._redactor.suspects(body, [len(body)])):
                payload = self._redacted(payload)
                body = _encode(payload)
            if len(body) >= LARGE_CHARS and type(payload) not in _PROSE and value is not None:
                if large is None:
                    large = large_strings(value)
                body = encode_body(payload, large)
            self._emit_one(draft, payload, body, part_number, record)

    def _emit_one(self, draft: Draft, payload: Payload, body: bytes, part_number: int, record: int) -> None:
        part = self._part_of(draft)
        if type(payload) is UserMessage and BLOCK_TAG in payload.text:
            payload, body = self._said_by_nobody(payload, body)
        if self._trail is not None and draft.session is None and not draft.is_sidechain:
            self._follow(self._trail, draft, payload, record)
        if draft.follows is not None:
            part.follows[len(part.events)] = draft.follows
        ts = draft.ts
        if ts is not None:
            if part.started is None or ts < part.started:
                part.started = ts
            if part.ended is None or ts > part.ended:
                part.ended = ts
        kind = KIND_CODE[type(payload)]
        part.kinds[kind] += 1
        noted = _NOTES[kind]
        tool, sha, flags = noted(self, part, payload, ts, record) if noted is not None else _NOTHING
        is_own = flags & FLAG_OWN
        text_class, text, paths = searchable(payload)
        path = paths[0] if paths else ""
        event = EventDraft(
            draft.native_id,
            part_number,
            kind,
            _ROLE[draft.role],
            ts,
            _QUALITY[draft.ts_quality],
            self._turn,
            flags | FLAG_SIDECHAIN if draft.is_sidechain else flags,
            draft.parent_id,
            record,
            tool,
            len(part.entries),
            (),
            sha if kind == _USER else b"",
            draft.replaces,
            b"" if kind == _USER else sha,
        )
        part.events.append(event)
        part.entries.append(BlockEntry(body, "" if is_whole(body) else summary_of(payload), path))
        if self._documents is not None and (text or paths) and not is_own:
            ordinal = self._documents.add(text_class, text, paths, kind=KINDS[kind], tool=tool, ts=ts)
            self._indexed.append((event, ordinal))

    @staticmethod
    def _said_by_nobody(payload: UserMessage, body: bytes) -> tuple[UserMessage, bytes]:
        """A message that is nothing but a block of ours was put there by a hook: no person's words, no turn."""
        if payload.origin == "injected" or payload.parts or without_own_blocks(payload.text).strip():
            return payload, body
        injected = msgspec.structs.replace(payload, origin="injected")
        return injected, _encode(injected)

    def _follow(self, trail: Trail, draft: Draft, payload: Payload, record: int) -> None:
        if _is_turn(payload):
            found = trail.take_turn(self._name_of(draft))
            if trail.begins_anew:
                self._new_at = len(self._part_of(draft).events) - 1
            if found is not None:
                rewind = Draft(found[1], ts=draft.ts, ts_quality=draft.ts_quality, native_id=found[0])
                self._emit_one(rewind, found[1], _encode(found[1]), 0, record)
        if isinstance(payload, _TALK):
            trail.take_talk(draft.native_id or "")
            self._talk_end = len(self._part_of(draft).events)
        elif isinstance(payload, Compaction | Rewind) and not (draft.native_id or "").startswith("rewind-"):
            trail.take_shortening(self._name_of(draft))

    def _name_of(self, draft: Draft) -> bytes:
        return draft.native_id.encode("utf-8", "surrogatepass") if draft.native_id else self._places[-1].sha256

    def _part_of(self, draft: Draft) -> _Part:
        name = self._session if draft.session is None else draft.session
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _Part()
        return part

    def _note_call(self, _part: _Part, p: ToolCall, _ts: int | None, _record: int) -> _Noted:
        return p.name, call_key(p.call_id), FLAG_OWN if is_own_call(p.name, p.canonical, p.arguments) else 0

    def _note_result(self, _part: _Part, p: ToolResult, _ts: int | None, record: int) -> _Noted:
        if p.parts:
            self._see_parts(p.parts, record)
        flags = FLAG_FAILED if p.ok is False or p.exit_code else 0
        if is_own_tool(p.name):
            flags |= FLAG_OWN
        return p.name, call_key(p.call_id), flags

    def _note_reply(self, part: _Part, p: AssistantMessage, _ts: int | None, record: int) -> _Noted:
        if p.model:
            part.patch.saw_model(p.model)
        if p.parts:
            self._see_parts(p.parts, record)
        return _NOTHING

    def _note_user(self, part: _Part, p: UserMessage, _ts: int | None, record: int) -> _Noted:
        part.patch.take(p, None)
        if p.parts:
            self._see_parts(p.parts, record)
        if p.origin != "injected":
            self._turn += 1
        text = without_own_blocks(p.text).strip()
        return "", hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), 0

    def _note_usage(self, part: _Part, p: TokenUsage, ts: int | None, _record: int) -> _Noted:
        part.usage.append(UsageSighting(len(part.events), ts, p))
        return _NOTHING

    def _note_session(self, part: _Part, p: SessionStart | Lifecycle, _ts: int | None, _record: int) -> _Noted:
        part.patch.take(p, None)
        return _NOTHING

    def _note_unknown(self, _part: _Part, _p: Unknown, _ts: int | None, _record: int) -> _Noted:
        self._unknown += 1
        return _NOTHING

    def _see_parts(self, parts: Sequence[Any], record: int) -> None:
        for p in parts:
            if p.sha256:
                self._blobs.append(BlobSighting(bytes.fromhex(p.sha256), p.media_type, p.bytes, record, ""))

    def _redacted(self, payload: Payload) -> Payload:
        value = _to_builtins(payload)
        clean, findings = self._redactor.redact_value(value)
        if not findings:
            return payload
        for finding in findings:
            self._redactions[finding.kind] = self._redactions.get(finding.kind, 0) + 1
        redacted: Payload = msgspec.convert(clean, type(payload))
        return redacted

    @property
    def trail(self) -> bytes:
        """The present trail, as stored."""
        return self._trail.encoded() if self._trail is not None else b""

    def end_revision(self) -> None:
        """Say what the revision left behind of the one before it. Call once, after its last record."""
        if self._trail is None:
            return
        if not self._places:
            self._trail.of_nothing()
            return
        found = self._trail.end()
        if found is not None:
            name, rewind = found
            draft = Draft(payload=rewind, native_id=name)
            part = self._part_of(draft)
            part.follows[len(part.events)] = self._new_at if self._trail.ends_anew else self._talk_end
            self._emit((draft,), None, is_suspect=False)

    def finish(self) -> Derived:
        """Return everything derived. The documents of the whole slice are prepared together, which is faster."""
        if self._documents is not None:
            docs = self._documents.finish()
            for event, ordinal in self._indexed:
                event.docs = docs[ordinal]
        sessions = []
        is_undated = self._adapter.facts.capabilities.timestamps == "no"
        for native_id, part in self._parts.items():
            if part.follows:
                self._reorder(part)
            part.patch.started_at, part.patch.ended_at = part.started, part.ended
            counts = {KINDS[i]: n for i, n in enumerate(part.kinds) if n}
            block = encode_block(part.entries)
            sessions.append(SessionPart(native_id, part.patch, part.events, block, part.usage, counts, is_undated))
        return Derived(
            self._places,
            sessions,
            self._defects,
            self._blobs,
            self._state,
            self._turn,
            self._unknown,
            self._redactions,
            [
                DriftCount(found.kind, self._clean(found.name), count, index, offset)
                for found, (count, index, offset) in self._drift.items()
            ],
            self._left_out,
        )

    def _reorder(self, part: _Part) -> None:
        """Put a part's events in the order in which they happened. What a rewind out of its place undid is not known:
        what it follows came in an earlier slice."""
        found = reordered(part.events, part.follows, user_kind=_USER)
        part.events = found.events
        part.usage = [sighting._replace(event=found.places[sighting.event]) for sighting in part.usage]
        for place in found.lost:
            event = part.events[place]
            if event.kind == KIND_CODE[Rewind]:
                part.entries[event.body] = BlockEntry(_encode(Rewind()), "", "")


_NOTERS: dict[type, Callable[[Deriver, _Part, Any, int | None, int], _Noted]] = {
    ToolCall: Deriver._note_call,
    ToolResult: Deriver._note_result,
    AssistantMessage: Deriver._note_reply,
    UserMessage: Deriver._note_user,
    TokenUsage: Deriver._note_usage,
    SessionStart: Deriver._note_session,
    Lifecycle: Deriver._note_session,
    Unknown: Deriver._note_unknown,
}
"""What a payload tells about its session, usage and turns. Gives the tool's name, a hash (of a user's text, or of the
id that joins a call and its result), and flags."""
_NOTES = [_NOTERS.get(payload_type) for payload_type in KIND_CODE]
_USER = KIND_CODE[UserMessage]


def _is_turn(payload: Payload) -> bool:
    return isinstance(payload, UserMessage) and payload.origin != "injected"


def hashes_of(lines: Sequence[Line]) -> list[bytes]:
    """Return the sha256 of each record's exact bytes."""
    return [_sha256(line.raw).digest() for line in lines]


def encode_state(adapter: Adapter, state: Any, sealer: Sealer) -> bytes:
    """Return a parser's state as stored: sealed, because it holds ids, names and paths as the agent wrote them.

    b"" if it is too large: the source is then parsed again from its start.
    """
    encoded = msgspec.msgpack.encode(state)
    if len(encoded) > MAX_STATE_BYTES:
        return b""
    return sealed_state(encoded, sealer)


def sealed_state(encoded: bytes, sealer: Sealer) -> bytes:
    """Return a stored state sealed; a sealed one stays. Earlier versions stored some in clear."""
    try:
        sealer.open(encoded[:NAME_BYTES], encoded[NAME_BYTES:])
        return encoded
    except ArchiveError:
        sealed = sealer.seal(encoded)
        return sealed.name + sealed.blob


def decode_state(adapter: Adapter, encoded: bytes, sealer: Sealer) -> Any | None:
    """Return a stored state, or None when there is none, it no longer fits, or it cannot be unsealed."""
    if not encoded:
        return None
    try:
        encoded = sealer.open(encoded[:NAME_BYTES], encoded[NAME_BYTES:])
        return msgspec.msgpack.decode(encoded, type=adapter.state_type)
    except (ValueError, ArchiveError):
        return None
