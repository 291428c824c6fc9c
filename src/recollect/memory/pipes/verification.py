"""Proves for one transcript what `recollect verify` proves for a memory, without one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from recollect.agents.registry import adapters_with
from recollect.capture.replay import ReplayBatch, is_rows, replay
from recollect.config import Config, PrivacyConfig
from recollect.ingest.parse import Recognised, pieces_of, recognise_file
from recollect.insights.stages import Stages
from recollect.memory.pipes.reader import Reading, head_of, is_made_of_many, mean, read_path, read_pieces
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Binding, Node

_PIECE_BYTES = 4 * 1024 * 1024
_CUTS = (1, 7, 4_093, 65_537)
"""Sizes of pieces that a transcript is cut into; the small ones for its beginning only, they are slow."""
_SMALL_BYTES = 64 * 1024
_encode = msgspec.json.Encoder(order="deterministic").encode


class FileCheck(msgspec.Struct, frozen=True):
    """One thing that must hold. detail: what was found, "" where it holds."""

    name: str
    ok: bool
    detail: str = ""


class FileVerifyReport(msgspec.Struct, frozen=True):
    """What was checked of a transcript. defects: content that could not be read as it should; no failure."""

    ok: bool
    path: str
    agent: str
    is_told_by_content: bool
    bytes: int
    records: int
    sessions: int
    events: int
    nodes: int
    defects: dict[str, int]
    checks: tuple[FileCheck, ...]


def verify_path(
    path: Path, *, agent: str | None = None, config: Config | None = None, stages: Stages | None = None
) -> FileVerifyReport:
    """Check that every byte and record of a transcript is accounted for, and that reading it is deterministic.

    A folder, database or export is read twice and held to the same, but for its bytes. Raises as `read_path`.
    """
    config = config or Config()
    reading = read_path(path, agent=agent, config=config)
    nodes = mean(reading.events, stages=stages).nodes
    checks = [_ids(reading), _again(reading, read_path(path, agent=agent, config=config))]
    size = 0
    found = _single(path, agent, config)
    if found is not None:
        size, accounted = _bytes(path, found)
        checks += [accounted, *_cuts(path, found, reading, config.privacy), _provenance(path, found, reading, nodes)]
    checks.append(_same_nodes(reading, nodes, stages))
    counts: dict[str, int] = {}
    for defect in reading.defects:
        counts[defect.code] = counts.get(defect.code, 0) + 1
    return FileVerifyReport(
        all(check.ok for check in checks), reading.path, reading.agent, reading.is_told_by_content, size,
        reading.records, len(reading.events), sum(map(len, reading.events.values())), len(nodes), counts, tuple(checks),
    )  # fmt: skip


def _single(path: Path, agent: str | None, config: Config) -> Recognised | None:
    if is_made_of_many(path):
        return None
    found = recognise_file(path, head_of(path), agent=agent, known=adapters_with(config.formats()))
    return None if is_rows(found.container) else found


def _ids(reading: Reading) -> FileCheck:
    for uid, events in reading.events.items():
        names = {(e.event_id, e.part) for e in events}
        if len(names) != len(events):
            return FileCheck("every event has an id of its own", False, f"{uid} has one twice")
    return FileCheck("every event has an id of its own", True)


def _again(one: Reading, other: Reading) -> FileCheck:
    is_same = _encode(one.events) == _encode(other.events)
    return FileCheck("read twice, the same events", is_same, "" if is_same else "they differ")


def _bytes(path: Path, found: Recognised) -> tuple[int, FileCheck]:
    """Every byte lies in a record or is white space between records."""
    name = "every byte lies in a record"
    with pieces_of(path, _PIECE_BYTES) as pieces:
        data = b"".join(pieces)
    end, left = 0, 0
    for start, stop in _ranges(replay([data], found.container)):
        left += len(data[end:start].strip(b" \t\r\n,\xef\xbb\xbf\x00")) if start > end else 0
        end = max(end, stop)
    tail = len(data[end:].strip())
    left += 0 if found.container.startswith(("snapshot", "text")) else tail
    detail = f"{left:,} bytes of {len(data):,} lie in none: the file is damaged" if left else ""
    if left and left == tail:
        detail = f"all but the last {left:,} bytes of {len(data):,}, a line that was not finished"
    return len(data), FileCheck(name, not left or left == tail, detail)


def _ranges(batches: Iterable[ReplayBatch]) -> Iterator[tuple[int, int]]:
    for batch in batches:
        if batch.giant is not None:
            yield batch.giant.start, batch.giant.end
        for line in batch.lines:
            yield batch.base + line.start, batch.base + line.end


def _cuts(path: Path, found: Recognised, reading: Reading, privacy: PrivacyConfig) -> list[FileCheck]:
    """The same events however the stream was cut into pieces."""
    with pieces_of(path, _PIECE_BYTES) as pieces:
        data = b"".join(pieces)
    head = head_of(path)
    whole = _encode(reading.events)
    start = data[: data.rfind(b"\n", 0, _SMALL_BYTES) + 1] or data[:_SMALL_BYTES]
    of_start = _encode(read_pieces(path, found, head, [start], privacy=privacy).events)
    for size in _CUTS:
        part, wanted = (data, whole) if size > 1000 else (start, of_start)
        pieces_ = (part[i : i + size] for i in range(0, len(part), size))
        if _encode(read_pieces(path, found, head, pieces_, privacy=privacy).events) != wanted:
            return [FileCheck("however it is cut, the same events", False, f"pieces of {size} bytes give others")]
    return [FileCheck("however it is cut, the same events", True)]


def _provenance(path: Path, found: Recognised, reading: Reading, nodes: list[Node]) -> FileCheck:
    """Where an event or node says it comes from, bytes of that hash stand."""
    name = "every event and node resolves to its exact bytes"
    with pieces_of(path, _PIECE_BYTES) as pieces:
        data = b"".join(pieces)
    places: dict[SourceLocation, str] = {e.location: e.event_id for events in reading.events.values() for e in events}
    known = set(places)
    for node in nodes:
        if not node.evidence and not isinstance(node, Binding):
            return FileCheck(name, False, f"{node.id} has no evidence")
        for evidence in node.evidence:
            if evidence.location not in known:
                return FileCheck(name, False, f"{node.id} cites a record that is not there")
    for place, event_id in places.items():
        raw = data[place.offset_bytes : place.offset_bytes + place.length_bytes]
        if hashlib.sha256(raw).hexdigest() != place.record_sha256:
            return FileCheck(name, False, f"event {event_id} does not")
    return FileCheck(name, True)


def _same_nodes(reading: Reading, nodes: list[Node], stages: Stages | None) -> FileCheck:
    name = "distilled twice, the same nodes"
    is_same = _encode(mean(reading.events, stages=stages).nodes) == _encode(nodes)
    if not is_same:
        return FileCheck(name, False, "they differ")
    twice = {node.id for node in nodes}
    return FileCheck(name, len(twice) == len(nodes), "" if len(twice) == len(nodes) else "two nodes share an id")
