"""Parses and analyses any transcript without a home."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import IO, Any

import msgspec

from recollect.agents.registry import adapters_with
from recollect.capture.containers.jsonl import split_lines
from recollect.capture.decode import MAX_RECORD_BYTES
from recollect.capture.replay import LineReader, ReplayBatch, is_appended, is_rows, replay
from recollect.capture.sources import open_source
from recollect.capture.unzip import is_zip
from recollect.config import Config, PrivacyConfig
from recollect.errors import SourceRefused
from recollect.ingest.parse import FileParser, Recognised, parse_file, pieces_of, recognise_file
from recollect.insights.preparation import Analysis, analyse, default_stages, gate, relate
from recollect.insights.session_events import SessionEvents, by_session
from recollect.insights.stages import Stages
from recollect.model.events import Event, SourceLocation
from recollect.model.insights.nodes import Binding, Decision, Marker, Node
from recollect.model.records import ZSTD_SUFFIXES, Defect
from recollect.paths import BACKGROUND_VARIABLE
from recollect.units import size

_SQLITE = b"SQLite format 3\x00"
_HEAD_BYTES = 64 * 1024
_STEP_BYTES = 4 * 1024 * 1024


class Reading(msgspec.Struct):
    """The content of a file or folder. agent: its slug ("" for a folder, which may hold several), found by content or
    given.

    events: by session, without those that a newer version replaces, as the memory shows them.
    """

    path: str
    agent: str = ""
    is_told_by_content: bool = True
    records: int = 0
    bytes: int = 0
    """Of a single file; 0 for anything else."""
    events: dict[str, list[Event]] = {}
    defects: list[Defect] = []


class Meaning(msgspec.Struct, frozen=True):
    """The analysis of every session of a reading, and the bindings across sessions."""

    analyses: list[Analysis]
    across: list[Node]

    @property
    def nodes(self) -> list[Node]:
        """All nodes: of each session in turn, then those across sessions."""
        return [*(node for analysis in self.analyses for node in analysis.nodes), *self.across]


@contextmanager
def as_file(stdin: IO[bytes]) -> Iterator[Path]:
    """Yield a private copy of a pipe and delete it afterwards: recognising a transcript needs its beginning."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "stdin.jsonl"
        with copy.open("wb") as out:
            shutil.copyfileobj(stdin, out, _STEP_BYTES)
        yield copy


@contextmanager
def as_growing_file(stdin: IO[bytes]) -> Iterator[tuple[Path, Flag]]:
    """Yield a private file that receives a pipe's data, and an event that is set when the pipe ends."""
    ended = Flag()
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "stdin.jsonl"
        copy.touch(mode=0o600)

        def pump() -> None:
            with copy.open("ab", buffering=0) as out:
                while piece := os.read(stdin.fileno(), _STEP_BYTES):
                    out.write(piece)
            ended.set()

        # A daemon: a pipe that never ends must not keep the process alive.
        Thread(target=pump, name="stdin", daemon=True).start()
        yield copy, ended


def read_path(
    path: Path, *, agent: str | None = None, config: Config | None = None, redact: bool = True,
    told: Callable[[Recognised], None] | None = None,
) -> Reading:  # fmt: skip
    """Read a whole file, or a folder, database or export of an agent.

    agent None: recognise it by content. redact False: keep secrets, for a single file only; no surface offers that.
    told: called with the agent before reading. Raises UnknownName, SourceUnavailable, SourceRefused.
    """
    config = config or Config()
    found = _single(path, agent, config)
    if found is None:
        if not redact:
            raise SourceRefused(f"{path} is not a single transcript file", reason="not a file")
        return _read_in_a_memory(path, agent, config)
    if told is not None:
        told(found)
    with pieces_of(path, _STEP_BYTES) as pieces:
        return read_pieces(path, found, head_of(path), pieces, privacy=config.privacy if redact else None)


def events_of(
    path: Path, *, agent: str | None = None, config: Config | None = None,
    told: Callable[[Recognised], None] | None = None,
) -> Iterator[Event]:  # fmt: skip
    """Yield the events of a file as they are read, in all versions; of anything else as the memory shows them.

    Raises as `read_path`.
    """
    config = config or Config()
    if _single(path, agent, config) is None:
        for events in read_path(path, agent=agent, config=config).events.values():
            yield from events
    else:
        yield from parse_file(path, agent=agent, formats=config.formats(), privacy=config.privacy, told=told)


def stages_of(config: Config, *, is_ranked: bool = False) -> Stages:
    """Return the analysis stages with a configuration's rules. is_ranked: include what the scorer finds.

    Raises ConfigError for an invalid rule.
    """
    return default_stages(config.gate.rules, is_ranked=is_ranked)


def read_pieces(
    path: Path, found: Recognised, head: bytes, pieces: Iterable[bytes], *, privacy: PrivacyConfig | None
) -> Reading:
    """Read a file in pieces. privacy None: keep secrets."""
    parser = FileParser(found, path.name, head, privacy)
    current = Current()
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for piece in pieces:
            size += len(piece)
            yield piece

    for batch in replay(counted(), found.container):
        current.take(parser.take(batch))
    events = current.events(parser.replaced)
    slug = found.adapter.facts.slug
    return Reading(str(path), slug, found.is_told_by_content, parser.records, size, events, parser.defects)


def mean(sessions: Mapping[str, Sequence[Event]], *, stages: Stages | None = None) -> Meaning:
    """Analyse the events of sessions. Pure, as `distill.prepare`."""
    stages = stages or default_stages()
    analyses = [analyse(events, stages=stages) for events in sessions.values()]
    return Meaning(analyses, list(relate(analyses, stages).bindings))


class Growing:
    """Reads a file of lines from the last position. Made by `growing`."""

    def __init__(self, path: Path, found: Recognised, head: bytes, privacy: PrivacyConfig) -> None:
        self._path = path
        self._found = found
        self._parser = FileParser(found, path.name, head, privacy)
        self._lines = LineReader(found.container)
        self._current = Current()
        self._head = head
        self._offset = 0
        self._pending = b""

    def has_grown_only(self, size: int) -> bool:
        """Return False if the file was replaced: it is shorter or has another beginning."""
        if size < self._offset + len(self._pending):
            return False
        head = head_of(self._path)[: len(self._head)]
        return head == self._head[: len(head)]

    def read(self, *, is_end: bool) -> Reading:
        """Read what is new. is_end: accept a complete last line without its line end. Raises SourceError."""
        with pieces_of(self._path, _STEP_BYTES, start=self._offset + len(self._pending)) as pieces:
            for piece in pieces:
                self._pending += piece
                self._take(is_end=False)
        if is_end:
            self._take(is_end=True)
        if len(self._pending) > MAX_RECORD_BYTES:
            limit = size(MAX_RECORD_BYTES, binary=True)
            raise SourceRefused(f"{self._path} has a line of more than {limit}", reason="too large")
        events = self._current.events(self._parser.replaced)
        found = self._found
        return Reading(
            str(self._path), found.adapter.facts.slug, found.is_told_by_content, self._parser.records, self._offset,
            events, self._parser.defects,
        )  # fmt: skip

    def _take(self, *, is_end: bool) -> None:
        lines = split_lines(self._pending, is_end=is_end, is_start=self._offset == 0)
        if lines.lines:
            batch = ReplayBatch(self._offset, self._pending, self._lines.take(lines.lines))
            self._current.take(self._parser.take(batch))
        self._offset += lines.consumed
        self._pending = self._pending[lines.consumed :]


def growing(path: Path, *, agent: str | None, config: Config) -> Growing | None:
    """Return a reader of a growing file of lines, None for any other. Raises as `read_path`."""
    if is_made_of_many(path) or path.name.endswith(ZSTD_SUFFIXES):
        return None
    head = head_of(path)
    found = recognise_file(path, head, agent=agent, known=adapters_with(config.formats()))
    return Growing(path, found, head, config.privacy) if is_appended(found.container) else None


class Current:
    """Events as the memory would show them: each record once, and the newest version in the first one's place."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, int], Event] = {}

    def take(self, events: Iterable[Event]) -> None:
        """Add more events, in order."""
        for event in events:
            key = (event.session_uid, event.event_id, event.part)
            before = self._places.get(key)
            self._places[key] = event if before is None else msgspec.structs.replace(event, seq=before.seq)

    def events(self, replaced: Mapping[tuple[str, str, int], str]) -> dict[str, list[Event]]:
        """Return them by session. replaced: the events that others replace."""
        return by_session(event for key, event in self._places.items() if key not in replaced)


def head_of(path: Path) -> bytes:
    """Return the beginning of a file. Raises SourceUnavailable, SourceRefused."""
    with open_source(str(path), is_compressed=path.name.endswith(ZSTD_SUFFIXES)) as source:
        return source.read_at(0, _HEAD_BYTES)


def is_made_of_many(path: Path) -> bool:
    """Return whether a path is not a single transcript but a folder, a database or an archive."""
    return path.is_dir() or is_zip(path) or (path.is_file() and head_of(path).startswith(_SQLITE))


def _read_in_a_memory(path: Path, agent: str | None, config: Config) -> Reading:
    """Take it into a memory of its own that lives as long as the reading: there every container is known."""
    import os

    from recollect.memory.memory import Memory

    plain = msgspec.structs.replace(config, distill=msgspec.structs.replace(config.distill, enabled=False))
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        home = Path(folder) / "home"
        env: dict[str, Any] = {**os.environ, BACKGROUND_VARIABLE: "0"}
        with Memory.open(home, config=plain, env=env) as memory:
            report = memory.take_in([path], agents=(agent,) if agent else ())
            sessions = memory.sessions(limit=1_000_000, sync=False).sessions
            found = {s.session_uid: list(memory.events(s.session_uid, limit=None)) for s in reversed(sessions)}
            defects = [
                Defect(row.code, row.detail, row.record_index, row.offset_bytes) for row in memory.reader().defects()
            ]
    if not found:
        raise SourceRefused(f"{path} contains no transcript of a known agent", reason="not recognised")
    records = sum(line.records for line in report.agents.values())
    slugs = {uid.partition(":")[0] for uid in found}
    return Reading(str(path), slugs.pop() if len(slugs) == 1 else "", agent is None, records, 0, found, defects)


class Explanation(msgspec.Struct, frozen=True):
    """One gated message: its place, its speaker, the markers (rule, category, strength, words, range), and the
    decisions found, with the parts of their confidence.
    """

    session_uid: str
    event_id: str
    seq: int
    speaker: str
    text: str
    markers: tuple[Marker, ...]
    decisions: tuple[Decision, ...]


def explained(sessions: Mapping[str, Sequence[Event]], *, stages: Stages) -> Iterator[Explanation]:
    """Yield every message in which a rule matched, in order."""
    for events in sessions.values():
        stream = SessionEvents(events)
        gated = gate(stream, stages)
        conversations = stages.segmenter.conversations(stream, gated)
        decisions = stages.decider.decisions(stream, conversations)
        for event, text, speaker, markers in gated:
            of_it = tuple(
                d
                for d in decisions
                if d.evidence and (d.evidence[0].event_id, d.evidence[0].part) == (event.event_id, event.part)
            )
            yield Explanation(event.session_uid, event.event_id, event.seq, speaker, text, markers, of_it)


_PIECE_BYTES = 4 * 1024 * 1024
_PIECES = (1, 7, 4_093, 65_537)
"""Sizes of pieces that a transcript is cut into; the small ones for its beginning only, they are slow."""
_SMALL_BYTES = 64 * 1024
_encode = msgspec.json.Encoder(order="deterministic").encode


class FileCheck(msgspec.Struct, frozen=True):
    """One check. detail: what was found, "" if it passed."""

    name: str
    ok: bool
    detail: str = ""


class FileVerifyReport(msgspec.Struct, frozen=True):
    """The checks of a transcript. defects: content with problems, which are not failures."""

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
    """Verify that a transcript's bytes and records are all accounted for, and that parsing is deterministic.

    Reads a folder, database or export twice and checks the same, except for its bytes. Raises as `read_path`.
    """
    config = config or Config()
    reading = read_path(path, agent=agent, config=config)
    nodes = mean(reading.events, stages=stages).nodes
    checks = [_ids(reading), _again(reading, read_path(path, agent=agent, config=config))]
    size = 0
    found = _single(path, agent, config)
    if found is not None:
        with pieces_of(path, _PIECE_BYTES) as pieces:
            data = b"".join(pieces)
        size = len(data)
        checks += [
            _bytes(data, found),
            _cut_anywhere(path, data, found, reading, privacy=config.privacy),
            _provenance(data, reading, nodes),
        ]
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


def _bytes(data: bytes, found: Recognised) -> FileCheck:
    """Every byte lies in a record or is white space between records."""
    end, left = 0, 0
    for start, stop in _ranges(replay([data], found.container)):
        left += len(data[end:start].strip(b" \t\r\n,\xef\xbb\xbf\x00")) if start > end else 0
        end = max(end, stop)
    tail = len(data[end:].strip())
    left += 0 if found.container.startswith(("snapshot", "text")) else tail
    detail = f"{left:,} bytes of {len(data):,} lie in none: the file is damaged" if left else ""
    if left and left == tail:
        detail = f"all but the last {left:,} bytes of {len(data):,}, a line that was not finished"
    return FileCheck("every byte belongs to a record", not left or left == tail, detail)


def _ranges(batches: Iterable[ReplayBatch]) -> Iterator[tuple[int, int]]:
    for batch in batches:
        if batch.giant is not None:
            yield batch.giant.start, batch.giant.end
        for line in batch.lines:
            yield batch.base + line.start, batch.base + line.end


def _cut_anywhere(path: Path, data: bytes, found: Recognised, reading: Reading, *, privacy: PrivacyConfig) -> FileCheck:
    """The same events however the stream was cut into pieces."""
    name = "the same events, however it is cut"
    head = head_of(path)
    whole = _encode(reading.events)
    start = data[: data.rfind(b"\n", 0, _SMALL_BYTES) + 1] or data[:_SMALL_BYTES]
    of_start = _encode(read_pieces(path, found, head, [start], privacy=privacy).events)
    for length in _PIECES:
        part, wanted = (data, whole) if length > 1000 else (start, of_start)
        pieces_ = (part[i : i + length] for i in range(0, len(part), length))
        if _encode(read_pieces(path, found, head, pieces_, privacy=privacy).events) != wanted:
            return FileCheck(name, False, f"pieces of {length} bytes give others")
    return FileCheck(name, True)


def _provenance(data: bytes, reading: Reading, nodes: list[Node]) -> FileCheck:
    """Where an event or node says it comes from, bytes of that hash stand."""
    name = "every event and node resolves to its exact bytes"
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
