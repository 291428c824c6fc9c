"""Builds what a worker hands to the store, from short lines, without agents, archive or files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from recollect.model.payloads import KINDS, AssistantMessage, Payload, TokenUsage, UserMessage
from recollect.model.sessions import SessionPatch
from recollect.model.text import summary_of
from recollect.store.bodies import BlockEntry, encode_block, encode_body, large_strings
from recollect.store.rows import (
    EventDraft,
    RecordPlace,
    SessionPart,
    SliceResult,
    SourceRow,
    UsageSighting,
    WriteOutcome,
)
from recollect.store.writer import Writer

START = 1_780_000_000_000_000


class Line(NamedTuple):
    """One record with `parts` events. name None: the event is named by its record's hash."""

    text: str
    name: str | None = None
    parts: int = 1
    session: str = "one"
    is_human: bool = False
    tool: str = ""
    replaces: tuple[str, int] | None = None
    parent: str | None = None
    usage: UsageSighting | None = None
    minute: int | None = 0

    @property
    def raw(self) -> bytes:
        """The record's bytes; the name counts, the number of parts does not."""
        return json.dumps({"id": self.name, "session": self.session, "text": self.text}).encode()


class Source(NamedTuple):
    """A source and the revision it is at."""

    key: str = "a"
    revision: int = 1
    lane: int = 0
    agent: str = "claude"
    session: str = "one"
    patch: Mapping[str, Any] = MappingProxyType({})

    @property
    def row(self) -> SourceRow:
        """The row that a worker would send."""
        return SourceRow(
            source_id=f"s-{self.key}",
            agent=self.agent,
            role="transcript",
            key=self.key,
            path=f"/agent/{self.key}.jsonl",
            container="jsonl",
            lane=self.lane,
            session=self.session,
            revision=self.revision,
        )


A = Source()


def make_slices(lines: Sequence[Line], source: Source = A, *, cuts: Iterable[int] = ()) -> list[SliceResult]:
    """Return the slices of a source whose records are `lines`, cut before the given records."""
    borders = sorted({0, len(lines), *(cut for cut in cuts if 0 < cut < len(lines))})
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line.raw) + 1)
    return [_slice(lines, first, last, offsets, source) for first, last in pairwise(borders)]


def write_all(writer: Writer, slices: Iterable[SliceResult], *, observed_at: int = START) -> list[WriteOutcome]:
    """Write slices, each in a transaction of its own."""
    outcomes = []
    for slice_ in slices:
        with writer.transaction():
            outcomes.append(writer.write(slice_, [], observed_at=observed_at))
    return outcomes


def sighting(key: str, output: int, *, model: str = "claude-sonnet-4-5", minute: int = 0, **more: Any) -> UsageSighting:
    """Return a usage sighting of an event that `make_slices` fills in."""
    values: dict[str, Any] = {"input_tokens": 10, "model": model, "output_tokens": output, "dedupe_key": key, **more}
    return UsageSighting(0, START + minute * 60_000_000, TokenUsage(**values))


def _slice(lines: Sequence[Line], first: int, last: int, offsets: list[int], source: Source) -> SliceResult:
    records: list[RecordPlace] = []
    parts: dict[str, tuple[SessionPart, list[BlockEntry]]] = {}
    for index in range(first, last):
        line = lines[index]
        records.append(RecordPlace(index, offsets[index], len(line.raw), hashlib.sha256(line.raw).digest()))
        if line.session not in parts:
            patch = SessionPatch(**source.patch)
            parts[line.session] = (SessionPart(line.session, patch, [], b"", usage=[]), [])
        part, entries = parts[line.session]
        for number in range(line.parts):
            _add(part, entries, line, number, len(records) - 1)
    for part, entries in parts.values():
        part.block = encode_block(entries)
    return SliceResult(
        source=source.row,
        from_bytes=offsets[first],
        to_bytes=offsets[last],
        bytes_seen=offsets[last],
        records=records,
        sessions=[part for part, _entries in parts.values()],
        defects=[],
        blobs=[],
        chunks=[],
        keep_chunks=0,
        is_last=last == len(lines),
    )


def _add(part: SessionPart, entries: list[BlockEntry], line: Line, number: int, record: int) -> None:
    payload: Payload = UserMessage(text=line.text) if line.is_human else AssistantMessage(text=line.text)
    ts = None if line.minute is None else START + line.minute * 60_000_000
    part.patch.take(payload, ts)
    body = encode_body(payload, large_strings(json.loads(line.raw)))
    part.events.append(
        EventDraft(
            event_id=line.name,
            part=number,
            kind=KINDS.index("user_message" if line.is_human else "assistant_message"),
            role=0 if line.is_human else 1,
            ts=ts,
            ts_quality=2 if ts is None else 0,
            turn=1,
            flags=0,
            parent_id=line.parent,
            record=record,
            tool=line.tool,
            body=len(entries),
            docs=(f'"text":{json.dumps(line.text)}}}',),
            text_sha=hashlib.blake2b(line.text.encode(), digest_size=8).digest() if line.is_human else b"",
            replaces=line.replaces if number == 0 else None,
        )
    )
    entries.append(BlockEntry(body, summary_of(payload), ""))
    if line.usage is not None and number == 0:
        part.usage.append(line.usage._replace(event=len(part.events) - 1))
