"""Ingests spooled hook events: each becomes a line of its session's file, a source like others.

A drop is a file in the spool, see `recollect.wire`. Its line is written and synced before it goes. It goes to
`hooks/<agent>/<day>.<session>.<drop>.hooks.jsonl` in the spool, which `ingest.spool` deletes once the archive has
it; no such name is ever used again. What cannot be taken (no JSON object, no session, too large, torn, foreign) is put
aside in `bad/`, by reason, at most so many bytes of it for seven days, and counted: it is never read again and stops
nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.kit.hooks import SESSION, event_of, first_text, payload_of
from recollect.agents.registry import slug_of
from recollect.capture.decode import MAX_RECORD_BYTES
from recollect.capture.discover import FoundSource
from recollect.capture.rejected_events import COUNTS, drop_aside, is_older, put_aside
from recollect.erasure.schedule import doubt
from recollect.errors import UnknownName
from recollect.files import move, sync_folder, write_all, write_file
from recollect.model.capabilities import HOOK_PLACE
from recollect.model.time import day_of
from recollect.wire import (
    BAD_FOLDER,
    FIRINGS_FOLDER,
    HOOKS_FOLDER,
    IMPORT_FOLDER,
    LOST_SUFFIX,
    OTLP_FOLDER,
    PARTIAL_FOLDER,
    WHOLE_SUFFIX,
)

_NAME = re.compile(
    r"(?P<agent>[A-Za-z0-9_-]+)\.(?P<host>[A-Za-z0-9_-]+)\.(?P<process>\d+)(?:\.[0-9a-f-]+)?\+*"
    rf"(?P<kind>{re.escape(WHOLE_SUFFIX)}|{re.escape(LOST_SUFFIX)})"
)
_MOST_DIGITS = 12
"""Of a process number that is read; a longer one is nobody's."""
_AGAIN_US = 2_000_000
"""Equal payloads of one session within two seconds are one event that several hooks were run for."""
_BATCH_BYTES = 16 * 1024 * 1024
_MARGIN_BYTES = 4096
_OTHERS = frozenset((PARTIAL_FOLDER, FIRINGS_FOLDER, HOOKS_FOLDER, OTLP_FOLDER, IMPORT_FOLDER, BAD_FOLDER))


class _SpooledEvent(NamedTuple):
    """A spooled event as it is in the spool."""

    path: str
    name: str
    agent: str
    host: str
    at_us: int
    process: int
    """Tells the order within a tick of the file system's clock: processes are numbered as they start."""
    size: int


class _EventLine(NamedTuple):
    """A drop that can be taken: how the path of its file begins, what it is equal by, and its line."""

    begins: str
    at_us: int
    same: bytes
    line: dict[str, Any]


def take_spooled_events(spool: str, known: Mapping[str, Adapter], *, now_us: int) -> list[str]:
    """Move all spooled events into the files of their sessions; return notes for people.

    The caller holds the ingest lock. Idempotent; may be stopped anywhere. Never raises because of the spool's content.
    """
    if not os.path.isdir(spool):
        return []
    aside = Rejects(spool, now_us=now_us)
    try:
        if put_aside(spool) and not doubt(Path(spool).parent, now_us=now_us):
            drop_aside(spool, now_us=now_us)
        _take_torn(spool, aside, now_us=now_us)
        _finish_taking(spool, known, now_us=now_us)
        for batch in _batches(_spooled_in(spool, aside, now_us=now_us)):
            _take_batch(batch, known, aside)
    except OSError as error:
        return [f"the spool of hooks could not be ingested: {error.strerror}; the next sync tries again"]
    finally:
        aside.close()
    return []


def _spooled_in(spool: str, aside: Rejects | None, *, now_us: int) -> list[_SpooledEvent]:
    """Return the spooled events, oldest first. Sets everything else aside and reports how."""
    drops = []
    with os.scandir(spool) as entries:
        for entry in entries:
            if entry.name in _OTHERS:
                continue
            info = entry.stat(follow_symlinks=False)
            name = _NAME.fullmatch(entry.name)
            reason = _problem(info, name)
            if reason and aside is not None:
                aside.take(entry.path, reason, is_file=stat.S_ISREG(info.st_mode))
            elif not reason and name is not None:
                at_us = min(info.st_mtime_ns // 1000, now_us)
                process = int(name["process"][:_MOST_DIGITS])
                drops.append(
                    _SpooledEvent(entry.path, entry.name, name["agent"], name["host"], at_us, process, info.st_size)
                )
    return sorted(drops, key=lambda drop: (drop.at_us, drop.process, drop.name))


def _problem(info: os.stat_result, name: re.Match[str] | None) -> str:
    """Return why a file in the spool cannot be taken, "" when it can."""
    if not stat.S_ISREG(info.st_mode) or name is None:
        return "foreign"
    if name["kind"] == LOST_SUFFIX:
        return "lost"
    if not info.st_size:
        return "empty"
    return "too_large" if info.st_size > MAX_RECORD_BYTES - _MARGIN_BYTES else ""


def _batches(drops: Iterable[_SpooledEvent]) -> Iterator[list[_SpooledEvent]]:
    batch: list[_SpooledEvent] = []
    size = 0
    for drop in drops:
        if batch and size + drop.size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(drop)
        size += drop.size
    if batch:
        yield batch


def _take_batch(batch: list[_SpooledEvent], known: Mapping[str, Adapter], aside: Rejects) -> None:
    by_file: dict[str, list[_EventLine]] = {}
    taken = []
    spool = os.path.dirname(batch[0].path)
    for drop in batch:
        told = _line_of(drop, known)
        if isinstance(told, str):
            aside.take(drop.path, told)
            continue
        by_file.setdefault(told.begins, []).append(told)
        taken.append(drop.path)
    lines = {_session_file(begins, all_told[0].line["drop"]): _once(all_told) for begins, all_told in by_file.items()}
    _write_taking(spool, list(lines))
    for path, of_file in lines.items():
        append_synced(Path(path), b"".join(msgspec.json.encode(line) + b"\n" for line in of_file))
    for path in taken:
        os.unlink(path)
    _forget_taking(spool)


def _finish_taking(spool: str, known: Mapping[str, Adapter], *, now_us: int) -> None:
    """After a crash: delete the drops whose lines were written; the others wait."""
    written = _written_before(spool)
    if written is None:
        return
    for drop in _spooled_in(spool, None, now_us=now_us) if written else ():
        told = _line_of(drop, known)
        if not isinstance(told, str) and told.line["drop"] in written:
            os.unlink(drop.path)
    _forget_taking(spool)


def _line_of(drop: _SpooledEvent, known: Mapping[str, Adapter]) -> _EventLine | str:
    """Return what to write of a drop, or the reason why nothing can be."""
    try:
        with open(drop.path, "rb") as handle:
            data = handle.read(MAX_RECORD_BYTES)
    except OSError:
        return "unreadable"
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "not_json"
    payload = payload_of(value)
    drop = drop._replace(agent=_slug_of(drop.agent, known), host=_slug_of(drop.host, known))
    slug = _host_of(drop, payload, known)
    adapter = known.get(slug)
    if adapter is None or adapter.facts.hooks is None:
        return "unknown_agent"
    session = first_text(payload, SESSION)
    if not session or len(session) > 1000:
        return "no_session" if payload else "not_json"
    if not event_of(payload):
        return "no_event"
    # The name alone would do, but where no random names are a process number may come back.
    name = hashlib.blake2b(f"{drop.name}\0{drop.at_us}".encode(), digest_size=12).hexdigest()
    line = {
        "drop": name, "agent": drop.agent, "host": slug, "session": session, "at_us": drop.at_us,
        "payload": msgspec.Raw(msgspec.json.format(data, indent=-1)),
    }  # fmt: skip
    digest = hashlib.sha256(msgspec.json.encode([slug, value], order="sorted")).digest()
    file = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    begins = os.path.join(hooks_folder(os.path.dirname(drop.path), slug), f"{day_of(drop.at_us)}.{file}.")
    return _EventLine(begins, drop.at_us, digest, line)


def _slug_of(name: str, known: Mapping[str, Adapter]) -> str:
    try:
        return slug_of(name, known)
    except UnknownName:
        return name


def _host_of(drop: _SpooledEvent, payload: Mapping[str, Any], known: Mapping[str, Adapter]) -> str:
    """Return the agent that ran the hook, which may have been registered with another: its payloads have a mark."""
    if drop.host != drop.agent:
        return drop.host
    for slug, hooks in ((slug, a.facts.hooks) for slug, a in known.items()):
        field, part = hooks.mark if hooks is not None else ("", "")
        value = payload.get(field)
        if hooks is not None and field and isinstance(value, str) and part in value:
            # Our own hooks of these agents may carry the same marks.
            return slug if drop.agent in hooks.runs_hooks_of else drop.agent
    return drop.agent


def _once(all_told: list[_EventLine]) -> list[dict[str, Any]]:
    """Return the lines, oldest first; several reports of one event become one line. all_told: in the order of
    arrival, which those of one time keep.
    """
    lines: list[dict[str, Any]] = []
    newest: dict[bytes, _EventLine] = {}
    for told in sorted(all_told, key=lambda t: t.at_us):
        first = newest.get(told.same)
        if first is not None and told.at_us - first.at_us <= _AGAIN_US:
            first.line.setdefault("again", []).append({"drop": told.line["drop"], "at_us": told.at_us})
            continue
        newest[told.same] = told
        lines.append(told.line)
    return lines


SUFFIX = HOOK_PLACE.patterns[0].removeprefix("*")
_TAKING = "taking.json"


def hooks_folder(spool: str, slug: str) -> str:
    """Return the folder in which what an agent's hooks told waits for a sync."""
    return os.path.join(spool, HOOKS_FOLDER, slug)


def sources_of_hooks(spool: str, slug: str) -> list[FoundSource]:
    """Return the files of what an agent's hooks told."""
    folder = hooks_folder(spool, slug)
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                info = entry.stat(follow_symlinks=False)
                found.append(
                    FoundSource(slug, entry.path, entry.name, HOOK_PLACE, info.st_size, info.st_mtime_ns, info.st_ino)
                )
    return found


def _session_file(begins: str, drop: str) -> str:
    """Return the file whose path begins so, or a name for one that was never used, after its first drop."""
    folder, prefix = os.path.split(begins)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        found = min((e.name for e in entries if e.name.startswith(prefix) and e.name.endswith(SUFFIX)), default="")
        if found:
            return os.path.join(folder, found)
    return f"{begins}{drop[:16]}{SUFFIX}"


def append_synced(path: Path, data: bytes) -> None:
    """Append lines to a file of a spool and sync them. When that fails, the file is as it was before.

    Raises OSError, also where a sync deleted the file meanwhile.
    """
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    for name in ("O_BINARY", "O_NOFOLLOW", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    is_new = not path.exists()
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, _end_of_torn_line(descriptor, size) + data)
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        if os.fstat(descriptor).st_nlink == 0:
            raise OSError(errno.ENOENT, "a sync deleted the file meanwhile")
    finally:
        os.close(descriptor)
    if is_new:
        sync_folder(path.parent)


class _Target(msgspec.Struct, frozen=True):
    """A file that is about to be appended to, and its size before."""

    path: str
    size: int


def _write_taking(spool: str, targets: list[str]) -> None:
    folder = os.path.join(spool, HOOKS_FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    sizes = [_Target(path, os.path.getsize(path) if os.path.exists(path) else 0) for path in targets]
    path = os.path.join(folder, _TAKING)
    write_file(path, msgspec.json.encode(sizes), durable=True)


def _forget_taking(spool: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(spool, HOOKS_FOLDER, _TAKING))


def _written_before(spool: str) -> set[str] | None:
    """Return the drops that were written when a crash came, None when none came. Cuts half a line off an end."""
    path = os.path.join(spool, HOOKS_FOLDER, _TAKING)
    if not os.path.exists(path):
        return None
    written: set[str] = set()
    with suppress(msgspec.MsgspecError), open(path, "rb") as handle:
        for target in msgspec.json.decode(handle.read(), type=list[_Target]):
            written |= _written(target)
    return written


def _written(target: _Target) -> set[str]:
    """Return the drops that a file has from a place on, and cut half a line off its end."""
    written: set[str] = set()
    with suppress(FileNotFoundError), open(target.path, "r+b") as handle:
        handle.seek(target.size)
        data = handle.read()
        whole = data[: data.rfind(b"\n") + 1]
        handle.truncate(target.size + len(whole))
        for line in whole.splitlines():
            with suppress(msgspec.MsgspecError):
                told = msgspec.json.decode(line, type=_Line)
                written.update((told.drop, *(other.drop for other in told.again)))
    return written


class _Again(msgspec.Struct):
    drop: str


class _Line(msgspec.Struct):
    """What is read of a line that was written."""

    drop: str
    again: list[_Again] = []


def _end_of_torn_line(descriptor: int, size: int) -> bytes:
    if not size:
        return b""
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return b"" if os.read(descriptor, 1) == b"\n" else b"\n"


MAX_BAD_BYTES = 64 * 1024 * 1024
"""Of what is set aside, the oldest goes first."""
_TORN_US = 3600 * 1_000_000
"""A drop that was not renamed for so long never will be: its hook was killed."""
_EMPTY = frozenset(("lost", "empty", "torn"))
"""Reasons for which nothing is worth keeping."""


def _take_torn(spool: str, aside: Rejects, *, now_us: int) -> None:
    """Count the drops of hooks that were killed, and delete what there is of them."""
    folder = os.path.join(spool, PARTIAL_FOLDER)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) and is_older(info, _TORN_US, now_us=now_us):
                aside.take(entry.path, "torn")


class Rejects:
    """Where drops go that cannot be taken."""

    def __init__(self, spool: str, *, now_us: int) -> None:
        self._now_us = now_us
        self._folder = os.path.join(spool, BAD_FOLDER)
        self._counts = put_aside(spool)
        self._is_changed = False

    def take(self, path: str, reason: str, *, is_file: bool = True) -> None:
        """Set a file aside, or delete an empty one. Anything but a file stays, and is never opened."""
        if not is_file:
            return
        if reason in _EMPTY:
            os.unlink(path)
            self._count(reason)
            return
        folder = os.path.join(self._folder, reason)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        kept = os.path.join(folder, os.path.basename(path))
        move(path, kept, durable=False)
        os.utime(kept, ns=(self._now_us * 1000, self._now_us * 1000))  # from here on it has seven days
        self._count(reason)

    def _count(self, reason: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._is_changed = True

    def close(self) -> None:
        """Write the counts and keep what was set aside within its limits."""
        if not self._is_changed:
            return
        with suppress(OSError):  # a full disk: the drops themselves are told of again
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            path = os.path.join(self._folder, COUNTS)
            write_file(path, msgspec.json.encode(self._counts), durable=True)
            self._bound()

    def _bound(self) -> None:
        files = []
        for folder in os.scandir(self._folder):
            if folder.is_dir(follow_symlinks=False):
                files += [(entry.stat(follow_symlinks=False), entry.path) for entry in os.scandir(folder.path)]
        files.sort(key=lambda file: file[0].st_mtime_ns)
        total = sum(info.st_size for info, _ in files)
        for info, path in files:
            if total <= MAX_BAD_BYTES:
                return
            os.unlink(path)
            total -= info.st_size
