"""The events of any transcript, and what they mean, without a memory of one's own."""

from __future__ import annotations

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
from recollect.capture.unpack import is_zip
from recollect.config import Config, PrivacyConfig
from recollect.errors import SourceRefused
from recollect.ingest.parse import FileParser, Recognised, parse_file, pieces_of, recognise_file
from recollect.insights.preparation import Analysis, analyse, default_stages, relate
from recollect.insights.stages import GateRule, Stages
from recollect.insights.stream import by_session
from recollect.model.events import Event
from recollect.model.insights.nodes import Node
from recollect.model.records import ZSTD_SUFFIXES, Defect
from recollect.paths import BACKGROUND_VARIABLE
from recollect.units import size

_SQLITE = b"SQLite format 3\x00"
_HEAD_BYTES = 64 * 1024
_STEP_BYTES = 4 * 1024 * 1024


class Reading(msgspec.Struct):
    """What a file or folder gave. agent: its slug ("" for a folder, which may hold several), told by its content or by
    the caller. events: by session, those that a newer version stands for left out, as the memory shows them."""

    path: str
    agent: str = ""
    is_told_by_content: bool = True
    records: int = 0
    bytes: int = 0
    """Of a single file; 0 for anything else."""
    events: dict[str, list[Event]] = {}
    defects: list[Defect] = []


class Meaning(msgspec.Struct, frozen=True):
    """What all sessions of a reading mean: one analysis each, and the bindings that reach over sessions."""

    analyses: list[Analysis]
    across: list[Node]

    @property
    def nodes(self) -> list[Node]:
        """All nodes: of each session in turn, then those over sessions."""
        return [*(node for analysis in self.analyses for node in analysis.nodes), *self.across]


@contextmanager
def as_file(stdin: IO[bytes]) -> Iterator[Path]:
    """Yield a private copy of a pipe, removed afterwards: whose a transcript is must be told from its beginning."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "stdin.jsonl"
        with copy.open("wb") as out:
            shutil.copyfileobj(stdin, out, _STEP_BYTES)
        yield copy


@contextmanager
def as_growing_file(stdin: IO[bytes]) -> Iterator[tuple[Path, Flag]]:
    """Yield a private file into which a pipe is copied as it comes, and what is set when the pipe has ended."""
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
    """Read a file, or a folder, database or export of an agent, whole.

    agent None: the content decides. redact False: secrets stay as they stand, for a single file only; no surface
    offers that. told: is given whose a file is before it is read. Raises UnknownName, SourceUnavailable, SourceRefused.
    """
    config = config or Config()
    if is_made_of_many(path):
        if not redact:
            raise SourceRefused(f"{path} is not a single transcript file", reason="not a file")
        return _read_in_a_memory(path, agent, config)
    head = head_of(path)
    found = recognise_file(path, head, agent=agent, known=adapters_with(config.formats()))
    if is_rows(found.container):
        return _read_in_a_memory(path, agent, config)
    if told is not None:
        told(found)
    with pieces_of(path, _STEP_BYTES) as pieces:
        return read_pieces(path, found, head, pieces, privacy=config.privacy if redact else None)


def events_of(
    path: Path, *, agent: str | None = None, config: Config | None = None,
    told: Callable[[Recognised], None] | None = None,
) -> Iterator[Event]:  # fmt: skip
    """Yield events of a file as they are read, all versions; of anything else as the memory shows them.

    Raises as `read_path`.
    """
    config = config or Config()
    formats = config.formats()
    if is_made_of_many(path) or is_rows(
        recognise_file(path, head_of(path), agent=agent, known=adapters_with(formats)).container
    ):
        for events in read_path(path, agent=agent, config=config).events.values():
            yield from events
    else:
        yield from parse_file(path, agent=agent, formats=formats, privacy=config.privacy, told=told)


def stages_of(config: Config, *, is_ranked: bool = False) -> Stages:
    """Return the stages with the rules of a configuration. is_ranked: with what learned weights find.

    Raises ConfigError for a rule that cannot be used.
    """
    rules = [msgspec.convert(msgspec.to_builtins(rule), GateRule) for rule in config.gate.rules]
    return default_stages(rules, is_ranked=is_ranked)


def read_pieces(
    path: Path, found: Recognised, head: bytes, pieces: Iterable[bytes], *, privacy: PrivacyConfig | None
) -> Reading:
    """Read the bytes of a file, in whatever pieces they come. privacy None: secrets stay as they stand."""
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
    """Return what the events of sessions mean. Pure, as `distill.prepare`."""
    stages = stages or default_stages()
    analyses = [analyse(events, stages=stages) for events in sessions.values()]
    return Meaning(analyses, list(relate(analyses, stages).bindings))


class Growing:
    """Reads a file of lines on from where it was read last. Made by `growing`."""

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
        """Return False where the file is another than the one that was read: it is shorter, or begins otherwise."""
        if size < self._offset + len(self._pending):
            return False
        head = head_of(self._path)[: len(self._head)]
        return head == self._head[: len(head)]

    def read(self, *, is_end: bool) -> Reading:
        """Read what is new. is_end: a last line without its end is taken if it is whole. Raises SourceError."""
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
    """Return a reader of a file that grows by lines, None for any other. Raises as `read_path`."""
    if is_made_of_many(path) or path.name.endswith(ZSTD_SUFFIXES):
        return None
    head = head_of(path)
    found = recognise_file(path, head, agent=agent, known=adapters_with(config.formats()))
    return Growing(path, found, head, config.privacy) if is_appended(found.container) else None


class Current:
    """Events as the memory would show them: one record once, and the newest version where the first stood."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, int], Event] = {}

    def take(self, events: Iterable[Event]) -> None:
        """Take more events, in order."""
        for event in events:
            key = (event.session_uid, event.event_id, event.part)
            before = self._places.get(key)
            self._places[key] = event if before is None else msgspec.structs.replace(event, seq=before.seq)

    def events(self, replaced: Mapping[tuple[str, str, int], str]) -> dict[str, list[Event]]:
        """Return them by session. replaced: the events that another stands for."""
        return by_session(event for key, event in self._places.items() if key not in replaced)


def head_of(path: Path) -> bytes:
    """Return the beginning of a file. Raises SourceUnavailable, SourceRefused."""
    with open_source(str(path), is_compressed=path.name.endswith(ZSTD_SUFFIXES)) as source:
        return source.read_at(0, _HEAD_BYTES)


def is_made_of_many(path: Path) -> bool:
    """Return True for what is no single transcript: a folder, a database, an archive of files."""
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
        raise SourceRefused(f"{path} holds no transcript of a known agent", reason="not recognised")
    records = sum(line.records for line in report.agents.values())
    slugs = {uid.partition(":")[0] for uid in found}
    return Reading(str(path), slugs.pop() if len(slugs) == 1 else "", agent is None, records, 0, found, defects)
