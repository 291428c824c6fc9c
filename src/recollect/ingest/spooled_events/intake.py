"""Takes the drops of hooks in: each becomes a line of the file of its session, which is then a source like others.

A drop is a file in the spool, see `recollect.wire`. Its line is written and synced before it goes. It goes to
`hooks/<agent>/<day>.<session>.<drop>.hooks.jsonl` in the spool, which `ingest.spool` deletes once the archive has
it; no such name is ever used again. What cannot be taken (no JSON object, no session, too large, torn, foreign) is put
aside in `bad/`, by reason, at most so many bytes of it for seven days, and counted: it is never read again and stops
nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from recollect.agents.base import Adapter
from recollect.agents.kit.hooks import SESSION, event_of, first_text, payload_of
from recollect.agents.registry import slug_of
from recollect.capture.decode import MAX_RECORD_BYTES
from recollect.capture.hook_spool import drop_aside, put_aside
from recollect.erasure.schedule import doubt
from recollect.errors import UnknownName
from recollect.ingest.spooled_events.files import (
    append,
    file_of,
    forget_taking,
    hooks_folder,
    write_taking,
    written_before,
)
from recollect.ingest.spooled_events.rejects import Aside, take_torn
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
_HOSTS = (
    # An agent that runs hooks registered with another is known by how it writes; sources: `recollect.hook.forms`.
    ("grok", "hookEventName", ""),
    ("cursor", "cursor_version", ""),
    ("vscode", "transcript_path", "workspaceStorage"),
)
_CROSS_READ = {"grok": ("claude", "cursor"), "cursor": ("claude",), "vscode": ("claude",)}
"""Whose hooks an agent runs beside its own."""


class _Drop(NamedTuple):
    """A drop as it lies in the spool."""

    path: str
    name: str
    agent: str
    host: str
    at_us: int
    process: int
    """Tells the order within a tick of the file system's clock: processes are numbered as they start."""
    size: int


class _Told(NamedTuple):
    """A drop that can be taken: how the path of its file begins, what it is equal by, and its line."""

    begins: str
    at_us: int
    same: bytes
    line: dict[str, Any]


def take_drops(spool: str, known: Mapping[str, Adapter], *, now_us: int) -> list[str]:
    """Move all drops into the files of their sessions; return what a person should know of it.

    The caller holds the ingest lock. Idempotent; may be stopped anywhere. Never raises for what lies in the spool.
    """
    if not os.path.isdir(spool):
        return []
    aside = Aside(spool, now_us=now_us)
    try:
        if put_aside(spool) and not doubt(Path(spool).parent, now_us=now_us):
            drop_aside(spool, now_us=now_us)
        take_torn(spool, aside, now_us=now_us)
        _finish_taking(spool, known, now_us=now_us)
        for batch in _batches(_drops_in(spool, aside, now_us=now_us)):
            _take_batch(batch, known, aside)
    except OSError as error:
        return [f"the spool of hooks could not be ingested: {error.strerror}; the next sync tries again"]
    finally:
        aside.close()
    return []


def _drops_in(spool: str, aside: Aside | None, *, now_us: int) -> list[_Drop]:
    """Return the drops, oldest first. Whatever else lies there is put aside, where it is said how."""
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
                drops.append(_Drop(entry.path, entry.name, name["agent"], name["host"], at_us, process, info.st_size))
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


def _batches(drops: Iterable[_Drop]) -> Iterator[list[_Drop]]:
    batch: list[_Drop] = []
    size = 0
    for drop in drops:
        if batch and size + drop.size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(drop)
        size += drop.size
    if batch:
        yield batch


def _take_batch(batch: list[_Drop], known: Mapping[str, Adapter], aside: Aside) -> None:
    by_file: dict[str, list[_Told]] = {}
    taken = []
    spool = os.path.dirname(batch[0].path)
    for drop in batch:
        told = _told(drop, known)
        if isinstance(told, str):
            aside.take(drop.path, told)
            continue
        by_file.setdefault(told.begins, []).append(told)
        taken.append(drop.path)
    lines = {file_of(begins, all_told[0].line["drop"]): _once(all_told) for begins, all_told in by_file.items()}
    write_taking(spool, list(lines))
    for path, of_file in lines.items():
        append(path, b"".join(msgspec.json.encode(line) + b"\n" for line in of_file))
    for path in taken:
        os.unlink(path)
    forget_taking(spool)


def _finish_taking(spool: str, known: Mapping[str, Adapter], *, now_us: int) -> None:
    """After a crash: delete the drops whose lines were written; the others wait."""
    written = written_before(spool)
    if written is None:
        return
    for drop in _drops_in(spool, None, now_us=now_us) if written else ():
        told = _told(drop, known)
        if not isinstance(told, str) and told.line["drop"] in written:
            os.unlink(drop.path)
    forget_taking(spool)


def _told(drop: _Drop, known: Mapping[str, Adapter]) -> _Told | str:
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
    slug = _host_of(drop, payload)
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
    return _Told(begins, drop.at_us, digest, line)


def _slug_of(name: str, known: Mapping[str, Adapter]) -> str:
    try:
        return slug_of(name, known)
    except UnknownName:
        return name


def _host_of(drop: _Drop, payload: Mapping[str, Any]) -> str:
    """Return the agent that ran the hook, which may have been registered with another."""
    if drop.host != drop.agent:
        return drop.host
    for slug, field, part in _HOSTS:
        value = payload.get(field)
        if isinstance(value, str) and part in value:
            # Our own hooks of these agents may carry the same marks.
            return slug if drop.agent in _CROSS_READ.get(slug, ()) else drop.agent
    return drop.agent


def _once(all_told: list[_Told]) -> list[dict[str, Any]]:
    """Return the lines, oldest first; what was told several times at once is one line that says so. all_told: in the
    order of the drops, which those of one time keep."""
    lines: list[dict[str, Any]] = []
    newest: dict[bytes, _Told] = {}
    for told in sorted(all_told, key=lambda t: t.at_us):
        first = newest.get(told.same)
        if first is not None and told.at_us - first.at_us <= _AGAIN_US:
            first.line.setdefault("again", []).append({"drop": told.line["drop"], "at_us": told.at_us})
            continue
        newest[told.same] = told
        lines.append(told.line)
    return lines
