"""Exports sessions: exact bytes, events, or a form that people and other tools read; reveals events with their secrets.

Markers say what kind of secret they stand for and carry a keyed fingerprint of it. The record of an event is read and
searched again; a text found in it is taken for a secret only if it has the marker's fingerprint. So nothing is guessed,
and what was redacted by older detectors is found as well where it still is found at all.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, assert_never

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.packs import ChunkPlace
from recollect.erasure.records import lasting_pieces
from recollect.errors import StoreError, UnknownName, UsageError
from recollect.files import is_no_room, write_file
from recollect.insights.prov_export import to_prov
from recollect.maintenance.reports import Exported, ExportFormat, HoleInFile
from recollect.model.events import Event, SourceLocation
from recollect.model.ids import file_name, split_session_uid
from recollect.model.insights.signals import SIGNAL_KINDS
from recollect.model.marker import SECRET_MARKER, parts_of_marker
from recollect.model.payloads import AssistantMessage, Compaction, FileEdit, Thinking, ToolCall, ToolResult, UserMessage
from recollect.model.sessions import Session, forgotten_note, gone_note
from recollect.model.time import to_iso
from recollect.model.undone import UNDONE
from recollect.privacy.findings import finding_of, strip_private
from recollect.privacy.redact import Redactor
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.reader import Reader
from recollect.store.rows import SourceRow
from recollect.visible import complete, encode_json, fields_of, safe

_EXTENSION: dict[ExportFormat, str] = {
    "events": "events.ndjson", "claude-jsonl": "jsonl", "markdown": "md", "nodes": "nodes.ndjson", "prov": "prov.json",
}  # fmt: skip


class Stored(NamedTuple):
    """Where a session is read from; distilled: asked only for what it meant."""

    reader: Reader
    distilled: Callable[[], InsightReader]


class RawFile(NamedTuple):
    """One source of a session, ready to be given out exactly."""

    name: str
    source: SourceRow
    revision: int
    bytes: int


def raw_files(reader: Reader, session: Session, *, revision: int | None = None) -> list[RawFile]:
    """Return the sources of a session, its transcript first. Shared files (prompt histories) are left out.

    revision: that one of the transcript; default: the newest of every source. Raises UnknownName for one
    that was never seen.
    """
    slug, native = split_session_uid(session.session_uid)
    rows = [s for s in reader.sources(slug, session=native) if s.revision > 0]
    rows.sort(key=lambda s: (s.lane, s.container != "jsonl", s.path))
    stem = file_name(safe(session.session_uid), "")
    files: list[RawFile] = []
    for i, row in enumerate(rows):
        wanted = row.revision
        if revision is not None:
            if i > 0:
                break
            if not 1 <= revision <= row.revision:
                raise UnknownName("revision", str(revision), hint=f"there are revisions 1 to {row.revision}")
            wanted = revision
        name = os.path.basename(row.path.replace("\\", "/")).removesuffix(".zst").removesuffix(".zstd")
        suffix = "".join(Path(name).suffixes[-1:]) or ".txt"
        full = f"{stem.rstrip('.')}{suffix}" if i == 0 else f"{stem.rstrip('.')}.{row.role}.{name}"
        size = sum(place.plain for place, _ in reader.chunks(row.source_id, wanted))
        files.append(RawFile(full, row, wanted, size))
    return files


def raw_bytes(reader: Reader, archive: Archive, file: RawFile) -> Iterator[bytes]:
    """Yield the exact bytes of one revision of a source; those that were deleted on purpose are left out."""

    def places_now() -> list[ChunkPlace]:
        return [place for place, _ in reader.chunks(file.source.source_id, file.revision)]

    for piece in lasting_pieces(archive, places_now):
        if isinstance(piece, bytes):
            yield piece


def holes_in(reader: Reader, file: RawFile) -> tuple[HoleInFile, ...]:
    """Return what was deleted from a revision on purpose, in order."""
    for row in reader.ledgers(file.source.source_id):
        if row.revision == file.revision:
            return tuple(HoleInFile(hole.offset, hole.length, hole.reason, hole.removed_at) for hole in row.holes)
    return ()


def export(
    stored: Stored, archive: Archive, session: Session, *, form: ExportFormat, out: Path, revision: int | None = None
) -> tuple[Exported, ...]:
    """Write a session to the folder `out` and return what was written.

    Files are named `<slug>_<id>` and carry the session's end as their time. A file is complete or absent. Only its
    owner can read a raw one. Raises UsageError when `out` cannot be written, StoreError when the disk is full or fails,
    ArchiveError when bytes are damaged.
    """
    if revision is not None and form != "raw":
        raise UsageError("a revision can only be chosen for the raw format", hint="add --raw")
    written: list[Exported] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        if form == "raw":
            for file in raw_files(stored.reader, session, revision=revision):
                path = out / file.name
                size = _write(path, raw_bytes(stored.reader, archive, file), session, mode=0o600)
                missing = holes_in(stored.reader, file) if size < file.bytes else ()
                written.append(Exported(str(path), session.session_uid, form, size, len(missing), missing))
        else:
            path = out / file_name(safe(session.session_uid), _EXTENSION[form])
            size = _write(path, render(stored, session, form), session)
            written.append(Exported(str(path), session.session_uid, form, size))
    except OSError as error:
        is_disk = is_no_room(error) or error.errno == errno.EIO  # else the folder is one that nobody could write to
        raise (StoreError if is_disk else UsageError)(f"cannot write to {out}: {error.strerror}") from error
    return tuple(written)


def _write(path: Path, pieces: Iterable[bytes], session: Session, *, mode: int = 0o666) -> int:
    size = write_file(path, pieces, durable=True, mode=mode)
    if session.ended_at is not None:
        ns = session.ended_at * 1000
        os.utime(path, ns=(ns, ns))
    return size


def render(stored: Stored, session: Session, form: ExportFormat) -> Iterator[bytes]:
    """Yield a session as redacted events, as Claude-style JSONL, as Markdown, or what it meant; never raw bytes."""
    match form:
        case "nodes" | "prov":
            yield from _meaning(stored.distilled(), session, form)
        case "events":
            for event in stored.reader.events(session.session_uid, limit=None):
                yield encode_json(event) + b"\n"
        case "claude-jsonl":
            yield from _transcript_lines(session, stored.reader.events(session.session_uid, limit=None))
        case "markdown":
            gaps = (gone_note(session.evicted_at), forgotten_note(stored.reader.forgotten(session.session_uid)))
            yield from _markdown(session, stored.reader.events(session.session_uid, limit=None), gaps)
        case "raw":
            raise ValueError("exact bytes are not rendered")
        case _:
            assert_never(form)


def _meaning(distilled: InsightReader, session: Session, form: ExportFormat) -> Iterator[bytes]:
    """Yield a session's signals, nodes and digest as lines, or its nodes and links as one PROV-JSON document."""
    if distilled.digest(session.session_uid) is None:
        raise UsageError(
            f"{session.session_uid} is not analysed yet, so it has no insights to export",
            hint="`recollect sync` analyses it; `--format events` gives it as it is",
        )
    where = NodeFilter(sessions=(session.session_uid,))
    nodes = [kept.node for kept in distilled.nodes(where)]
    if form == "prov":
        kept = distilled.decisions(sessions=(session.session_uid,))
        links = {(of.link.newer, of.link.older): of.link for one in kept for of in one.links if of.revoked_at is None}
        yield msgspec.json.format(encode_json(to_prov(nodes, links.values())), indent=1) + b"\n"
        return
    signals = [signal for kept_signals in distilled.signals(SIGNAL_KINDS, where) for signal in kept_signals.signals]
    digest = distilled.digest(session.session_uid)
    for item in (*signals, *nodes, *([digest] if digest is not None else [])):
        yield encode_json(item) + b"\n"


def _transcript_lines(session: Session, events: Iterable[Event]) -> Iterator[bytes]:
    """Yield lines in the shape that readers of Claude Code transcripts know (format notes: Claude Code, 3 and 4)."""
    _, native = split_session_uid(session.session_uid)
    parent: str | None = None
    kept: str | None = None
    for event in events:
        message = _transcript_message(event)
        if message is None:
            continue
        uuid = event.event_id if event.part == 0 else f"{event.event_id}:{event.part}"
        line = {
            "parentUuid": parent if event.is_undone else kept,
            "isSidechain": event.is_sidechain,
            **({"isUndone": True} if event.is_undone else {}),
            "type": message["role"],
            "uuid": uuid,
            "timestamp": to_iso(event.ts) if event.ts is not None else None,
            "sessionId": native,
            "cwd": session.cwd,
            "gitBranch": session.git_branch,
            "version": session.tool_version,
            "message": message,
        }
        parent, kept = uuid, (kept if event.is_undone else uuid)
        yield encode_json(line) + b"\n"


def _transcript_message(event: Event) -> dict[str, object] | None:
    match event.payload:
        case UserMessage(text=text):
            return {"role": "user", "content": text}
        case AssistantMessage(text=text, model=model):
            return {"role": "assistant", "model": model, "content": [{"type": "text", "text": text}]}
        case Thinking(text=text) if text:
            return {"role": "assistant", "content": [{"type": "thinking", "thinking": text}]}
        case ToolCall(call_id=call_id, name=name, arguments=arguments):
            block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            return {"role": "assistant", "content": [block]}
        case ToolResult(call_id=call_id, text=text, ok=ok):
            result = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": ok is False}
            return {"role": "user", "content": [result]}
    return None


def _markdown(session: Session, events: Iterable[Event], gaps: Iterable[str]) -> Iterator[bytes]:
    facts = [
        ("Session", session.session_uid),
        ("Repository", session.repo),
        ("Branch", session.git_branch),
        ("Model", ", ".join(session.models)),
        ("Started", to_iso(session.started_at) if session.started_at is not None else ""),
        ("Ended", to_iso(session.ended_at) if session.ended_at is not None else ""),
    ]
    head = f"# {session.title or session.session_uid}\n\n"
    head += "".join(f"- {name}: {value}\n" for name, value in facts if value)
    yield safe(head).encode()
    yield from (f"\n*{gap}*\n".encode() for gap in gaps if gap)
    for event in events:
        text = _markdown_event(event)
        if text:
            yield safe(text).encode()


def _markdown_event(event: Event) -> str:
    """Return an event as Markdown, "" for nothing to show; marks an undone one after its number."""
    text = _markdown_of(event)
    return text.replace(f"(#{event.seq})", f"(#{event.seq}, {UNDONE})", 1) if event.is_undone else text


def _markdown_of(event: Event) -> str:
    at = f" · {to_iso(event.ts)[:16].replace('T', ' ')}" if event.ts is not None else ""
    match event.payload:
        case UserMessage(origin=origin) as payload if said := _said(payload):
            name = "User" if origin != "injected" else "Injected"
            return f"\n## {name}{at} (#{event.seq})\n\n{said}\n"
        case AssistantMessage() as payload if said := _said(payload):
            return f"\n## Assistant{at} (#{event.seq})\n\n{said}\n"
        case Thinking(text=text) if text:
            return f"\n<details><summary>Thinking (#{event.seq})</summary>\n\n{text}\n\n</details>\n"
        case ToolCall(name=name, arguments=arguments):
            return f"\n**{name}** (#{event.seq})\n\n{_fenced(_pretty(arguments), 'json')}\n"
        case ToolResult(text=text, ok=ok):
            state = " failed" if ok is False else ""
            return f"\nResult{state} (#{event.seq})\n\n{_fenced(text, '')}\n"
        case FileEdit(path=path, operation=operation, diff=diff) if operation != "checkpoint":
            return f"\n*{operation}* `{path}` (#{event.seq})\n" + (f"\n{_fenced(diff, 'diff')}\n" if diff else "")
        case Compaction(summary=summary):
            return f"\n---\n\n*Compacted{at}* (#{event.seq})\n\n{summary}\n"
    return ""


def _said(message: UserMessage | AssistantMessage) -> str:
    """Return the text of a message and the types of what else it has; "" for an empty one."""
    others = " ".join(f"*[{part.type}]*" for part in message.parts)
    return "\n\n".join(x for x in (message.text.strip("\n") if message.text.strip() else "", others) if x)


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _fenced(text: str, language: str) -> str:
    """Return a code block whose fence is longer than any run of backticks inside."""
    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


_MAX_SECRET_CHARS = 16_384
"""Longer secrets are not looked for (the longest kind, a private key of 16,384 bits, has some 13,000)."""


class RevealedEvent(msgspec.Struct, frozen=True):
    """An event with its original text. payload: as `event`'s, with the secrets.

    secrets: how many markers were replaced. left: markers for which no present detector finds a secret in the record;
    the record's exact bytes contain it.
    """

    session_uid: str
    seq: int
    event_id: str
    part: int
    kind: str
    role: str
    ts: int | None
    location: SourceLocation
    payload: Any
    secrets: int
    left: tuple[str, ...] = ()


def reveal(
    events: Iterable[Event], read_record: Callable[[SourceLocation], bytes], redactor: Redactor, marker_key: bytes
) -> Iterator[RevealedEvent]:
    """Yield events in their original words; only records of events with a marker are read.

    Raises what `read_record` raises: RawGone, ArchiveCorrupt, KeyUnavailable.
    """
    known: tuple[SourceLocation | None, dict[str, str]] = (None, {})
    for event in events:
        plain = complete(event.payload)
        markers = set(SECRET_MARKER.findall(" ".join(_strings(plain))))
        secrets: dict[str, str] = {}
        if markers:
            if known[0] != event.location:
                record = read_record(event.location)
                known = (event.location, secrets_of(record, redactor, marker_key))
            secrets = {m: known[1][name] for m in markers if (name := parts_of_marker(m)[1]) in known[1]}
        yield RevealedEvent(
            **fields_of(event, "session_uid seq event_id part kind role ts location"),
            payload=_replaced(plain, secrets),
            secrets=len(secrets),
            left=tuple(sorted(markers - secrets.keys())),
        )


def secrets_of(record: bytes, redactor: Redactor, marker_key: bytes) -> dict[str, str]:
    """Return the secrets in a record's bytes, by fingerprint."""
    found: dict[str, str] = {}
    for original, redacted in _pairs(record, redactor):
        found.update(_aligned(original, redacted, marker_key))
    return found


def _pairs(record: bytes, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Yield the strings of a record in which something is found, as they are and redacted; and the record's text."""
    text = record.decode("utf-8", "replace")
    waiting = [text]
    while waiting:
        original = waiting.pop()
        redacted, findings = redactor.redact_text(original)
        if findings:
            yield original, redacted
        value = _json(original)
        if value is None:
            continue
        clean, found = redactor.redact_value(value)
        if found:
            yield from ((a, b) for a, b in zip(_strings(value), _strings(clean), strict=True) if a != b)
        # Some agents write a tool's arguments as JSON in JSON.
        waiting += [inner for inner in _strings(value) if inner[:1] in "{[" and inner]


def _aligned(original: str, redacted: str, marker_key: bytes) -> dict[str, str]:
    """Return the original of each marker in a redacted text, by fingerprint: the text around markers is unchanged."""
    original, _ = strip_private(original)
    marks = list(SECRET_MARKER.finditer(redacted))
    if not marks:
        return {}
    edges = [0, *(edge for mark in marks for edge in mark.span()), len(redacted)]
    around = [redacted[a:b] for a, b in pairwise(edges)][::2]
    found: dict[str, str] = {}
    at = len(around[0])
    for mark, following in zip(marks, around[1:], strict=True):
        secret = _secret_at(original, at, mark[0], following, marker_key)
        if secret is None:
            break
        found[parts_of_marker(mark[0])[1]] = secret
        at += len(secret) + len(following)
    return found


def _secret_at(original: str, start: int, marker: str, following: str, marker_key: bytes) -> str | None:
    """Return the text from `start` on that a marker replaces, None if none has its fingerprint."""
    if original.startswith(marker, start):  # the agent wrote the marker itself
        return marker
    kind, _ = parts_of_marker(marker)
    stop, last = start, min(len(original), start + _MAX_SECRET_CHARS)
    while start < (stop := original.find(following, stop + 1)) <= last:
        secret = original[start:stop]
        if finding_of(kind, secret, marker_key).marker == marker:
            return secret
    return None


def _replaced(value: Any, secrets: dict[str, str]) -> Any:
    """Return a payload with the secrets in it."""
    if not secrets:
        return value
    if isinstance(value, str):
        return SECRET_MARKER.sub(lambda match: secrets.get(match[0], match[0]), value)
    if isinstance(value, dict):
        return {_replaced(key, secrets): _replaced(item, secrets) for key, item in value.items()}
    return [_replaced(item, secrets) for item in value] if isinstance(value, list | tuple) else value


def _strings(value: Any) -> Iterator[str]:
    """Yield every string of a decoded value, keys too, in an order that depends on its shape alone."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in item.items():
                waiting += [key, inner]
        elif isinstance(item, list | tuple):
            waiting.extend(item)


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
