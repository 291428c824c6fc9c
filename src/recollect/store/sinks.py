# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Sinks: write insights outside the store, as JSON lines or into a database.

An own sink: docs/development/insight-rules.md, "Sinks".
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import apsw
import msgspec

from recollect.errors import DiskFull, StoreCorrupt, StoreError, StoreLocked
from recollect.files import is_no_room, write_all, write_file
from recollect.model.events import Event
from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Node
from recollect.model.insights.signals import Signal
from recollect.store.connection import BUSY_TIMEOUT_MS
from recollect.store.lock import IngestLock
from recollect.visible import complete, safe_json


class Retracted(msgspec.Struct, frozen=True, tag_field="node", tag="retracted"):
    """Something that was given before and holds no longer: its evidence changed."""

    id: str
    session_uid: str


Item = Event | Node | Signal | Digest | Retracted
"""What a sink takes. As JSON: events have `kind` and `payload`, nodes `node`, signals `signal`, digests `flavor`."""
Offsets = Mapping[str, int]
"""How far each input was read when something was written, by a name that the writer chooses."""
Given = tuple[str, bytes]
"""What a sink holds of one item: its session, and the fingerprint of its JSON."""
Group = Literal["nodes", "signals", "digests"]
"""What is asked for together; a run says nothing about the groups that it was not asked for."""


class Sink(Protocol):
    """Stores items together with the input offsets that gave them.

    A writer reads `offsets` first, continues there, and calls `write`; killed at any instruction, nothing is lost or
    doubled.
    """

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new sink."""
        ...

    def given(self) -> dict[str, Given]:
        """Return what was written and not retracted, by `id_of_item`, without events: a writer that restarts
        delivers only what is new or changed.
        """
        ...

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Keep all items and the offsets, or nothing of both. Raises StoreError."""
        ...

    def close(self) -> None:
        """Give the sink free."""
        ...


def refuse_folder(path: Path) -> None:
    """Raise StoreError if a folder has the wanted file's name."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder", hint="name a file in it")


def encode_item(item: object) -> bytes:
    """Return the JSON of an item as every sink writes it: the same for equal items, with every field."""
    return safe_json(msgspec.json.encode(complete(item, is_sorted=True)))


def fingerprint(data: bytes) -> bytes:
    """Return 16 bytes that tell two JSON texts apart."""
    import hashlib  # brings OpenSSL, which who only reads does not need

    return hashlib.blake2b(data, digest_size=16).digest()


def kind_of_item(item: Item) -> str:
    """Return "event", "digest", "retracted", or the kind of a node or signal."""
    if isinstance(item, Event):
        return "event"
    if isinstance(item, Digest):
        return "digest"
    return str(item.__struct_config__.tag)


def id_of_item(item: Item) -> str:
    """Return the id that stays the same when the same thing is given again."""
    if isinstance(item, Conversation | Decision | Episode | Binding | Retracted):
        return item.id
    if isinstance(item, Event):
        return f"{item.session_uid}/{item.event_id}/{item.part}"
    if isinstance(item, Digest):
        return item.session_uid
    return _signal_id(item.session_uid, kind_of_item(item), [(e.event_id, e.part) for e in item.evidence])


def id_of_json(value: Mapping[str, Any]) -> str | None:
    """Return the id of an item decoded from JSON, as `id_of_item` gives it; None for an event or a stranger."""
    uid = value.get("session_uid")
    if not isinstance(uid, str):
        return None
    if "node" in value:
        return str(value.get("id", ""))
    if "signal" in value:
        places = [(e["event_id"], e["part"]) for e in value.get("evidence", ())]
        return _signal_id(uid, str(value["signal"]), places)
    return uid if "flavor" in value else None


def group_of_id(name: str, session_uid: str) -> Group:
    """Return what an id of `id_of_item` or `id_of_json` is of, events left out."""
    if name == session_uid:
        return "digests"
    return "signals" if name.startswith(f"{session_uid}/") else "nodes"


def _signal_id(uid: str, kind: str, places: Iterable[tuple[str, int]]) -> str:
    return f"{uid}/{kind}/" + ";".join(f"{event_id}/{part}" for event_id, part in places)


_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _Mark(msgspec.Struct, frozen=True):
    """What the file beside the lines holds: bytes of the lines that count, and the offsets that belong to them."""

    bytes: int
    offsets: dict[str, int] = {}


class LinesSink:
    """Appends one line per item to `path`; `path`.offsets records the progress.

    Lines are written and synced first, then the mark is replaced. Lines after the mark were never finished, so opening
    cuts them off: the file belongs to its sink. One writer at a time; private to its owner.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises StoreLocked while another process writes it, StoreCorrupt for a broken mark,
        StoreError."""
        refuse_folder(path)
        self._path = path
        self._mark_path = path.with_name(path.name + ".offsets")
        self._lock = _locked(path)
        try:
            with _file_errors(path):
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            try:
                with _file_errors(path):
                    self._mark = self._read_mark()
                    os.ftruncate(self._file, self._mark.bytes)
                    os.lseek(self._file, 0, os.SEEK_END)
            except BaseException:
                os.close(self._file)
                raise
        except BaseException:
            self._lock.release()
            raise

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new file."""
        return dict(self._mark.offsets)

    def given(self) -> dict[str, Given]:
        """Return what was written and not retracted, read from the file; skips foreign lines."""
        found: dict[str, Given] = {}
        with _file_errors(self._path), self._path.open("rb") as file:
            for line in file:
                data = line.rstrip(b"\n")
                try:
                    value = _decode(data)
                    name = id_of_json(value)
                except (msgspec.MsgspecError, KeyError, TypeError, UnicodeError):
                    continue
                if name is not None and value.get("node") == "retracted":
                    found.pop(name, None)
                elif name is not None:
                    found[name] = (value["session_uid"], fingerprint(data))
        return found

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Append the items and keep the offsets, or nothing of both. Raises DiskFull, StoreError."""
        data = b"".join(encode_item(item) + b"\n" for item in items)
        mark = _Mark(self._mark.bytes + len(data), {**self._mark.offsets, **offsets})
        with _file_errors(self._path):
            try:
                write_all(self._file, data)
                os.fsync(self._file)
                self._replace_mark(mark)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, self._mark.bytes)
                    os.lseek(self._file, 0, os.SEEK_END)
                raise
        self._mark = mark

    def close(self) -> None:
        """Close the file. Repeating it is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._lock.release()

    def _read_mark(self) -> _Mark:
        size = os.fstat(self._file).st_size
        try:
            mark = msgspec.json.decode(self._mark_path.read_bytes(), type=_Mark)
        except FileNotFoundError:
            mark = _Mark(size)  # lines of before are somebody's own: they stay
            self._replace_mark(mark)
            return mark
        except (OSError, ValueError) as error:
            raise StoreCorrupt(
                f"{self._mark_path} cannot be read ({error})", hint="delete it, and everything in the file counts"
            ) from error
        if mark.bytes > size:
            raise StoreCorrupt(
                f"{self._path} is shorter than what was written to it",
                hint=f"delete it and {self._mark_path.name} to start over",
            )
        return mark

    def _replace_mark(self, mark: _Mark) -> None:
        write_file(self._mark_path, msgspec.json.encode(mark), durable=True)


def _locked(path: Path) -> IngestLock:
    try:
        return IngestLock(path.parent, name=path.name + ".lock")
    except StoreLocked as error:
        raise StoreLocked(f"another process is writing to {path}", hint="wait for it, or name another file") from error
    except StoreError as error:
        why = getattr(error.__cause__, "strerror", None) or str(error)
        raise StoreError(
            f"{path} cannot be written: {why}", hint="name a file in a folder that you can write to"
        ) from error


@contextlib.contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = DiskFull if is_no_room(error) else StoreError
        raise kind(f"{path} cannot be written: {error.strerror}") from error


APPLICATION_ID = 0x5245_434E
"""`RECN`: Recollect's nodes."""
SINK_VERSION = 1
_NODES = "('conversation', 'decision', 'episode', 'binding')"
_OTHERS = "('event', 'digest', 'conversation', 'decision', 'episode', 'binding')"
_STATEMENTS = (
    """CREATE TABLE item (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        session_uid TEXT NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX item_session ON item (session_uid)",
    "CREATE TABLE position (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE VIEW events AS SELECT session_uid, id, json FROM item WHERE kind = 'event'",
    "CREATE VIEW digests AS SELECT session_uid, json FROM item WHERE kind = 'digest'",
    f"CREATE VIEW nodes AS SELECT session_uid, kind, id, json FROM item WHERE kind IN {_NODES}",
    f"CREATE VIEW signals AS SELECT session_uid, kind, json FROM item WHERE kind NOT IN {_OTHERS}",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SINK_VERSION}",
)


class SqliteSink:
    """Keeps each item once, by kind and id, as JSON text; the newest wins. Views: events, nodes, signals, digests."""

    def __init__(self, path: Path) -> None:
        """Open or make the database. Raises StoreError for another program's file, StoreLocked, StoreCorrupt."""
        refuse_folder(path)
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path} cannot be created: {error.strerror}") from error
        with _errors(self._path):
            self._db = apsw.Connection(str(path))
            try:
                self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
                self._prepare(path)
            except BaseException:
                self._db.close()
                raise

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new database."""
        with _errors(self._path):
            rows: list[Any] = self._db.execute("SELECT name, value FROM position").fetchall()
            return dict(rows)

    def given(self) -> dict[str, Given]:
        """Return what was written and not retracted."""
        with _errors(self._path):
            rows = self._db.execute("SELECT id, session_uid, json FROM item WHERE kind <> 'event'")
            return {str(name): (str(uid), fingerprint(str(text).encode())) for name, uid, text in rows}

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Keep the items and the offsets in one transaction. Raises DiskFull, StoreLocked, StoreError."""
        with _errors(self._path), self._db:
            for item in items:
                if isinstance(item, Retracted):
                    self._db.execute("DELETE FROM item WHERE id = ? AND kind <> 'event'", (item.id,))
                    continue
                row = (kind_of_item(item), id_of_item(item), item.session_uid, encode_item(item).decode())
                self._db.execute("INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?)", row)
            self._db.executemany("INSERT OR REPLACE INTO position VALUES (?, ?)", list(offsets.items()))

    def close(self) -> None:
        """Close the database. Repeating it is harmless."""
        self._db.close()

    def _prepare(self, path: Path) -> None:
        with self._db:
            if self._db.pragma("application_id") == APPLICATION_ID:
                version = self._db.pragma("user_version")
                if version != SINK_VERSION:
                    raise StoreError(f"{path} has version {version}; this Recollect writes version {SINK_VERSION}")
                return
            if self._db.execute("SELECT count(*) FROM sqlite_schema").get:
                raise StoreError(f"{path} is the database of another program", hint="name a new file")
            for statement in _STATEMENTS:
                self._db.execute(statement)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turn SQLite's exceptions into ours, told of this file: they say nothing of the memory."""
    try:
        yield
    except apsw.Error as error:
        raise _told(error, path) from error


def _told(error: apsw.Error, path: Path) -> StoreError:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreLocked(f"another process is writing to {path}", hint="try again in a moment")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreCorrupt(f"{path} is not a database, or it is damaged", hint="name a new file")
    if isinstance(error, apsw.FullError):
        return DiskFull(f"no space left for {path}", hint="free some space and run the same command again")
    return StoreError(f"{path} cannot be used ({error})")
