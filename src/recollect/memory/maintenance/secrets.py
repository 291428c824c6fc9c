"""What of a memory is secret: its keys (`memory.upkeep.keys`), and the original text (`memory.upkeep.reveal`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.chunks import ChunkPlace
from recollect.archive.envelope import KeyPlace, read_envelope
from recollect.archive.keys import load_keys
from recollect.archive.rewrap import KeyChange, KeyStatus, change_wrapping, key_status
from recollect.clock import now_us
from recollect.config import Config
from recollect.errors import KeyUnavailable, StoreError, UsageError
from recollect.model.events import Event, SourceLocation
from recollect.store.audit import AuditEntry, add_audit, read_audit
from recollect.store.home import Home
from recollect.store.lock import IngestLock
from recollect.store.reader import Reader

if TYPE_CHECKING:
    from recollect.maintenance.reveal import RevealedEvent


class OpenMemory(Protocol):
    """What this needs of an open memory."""

    home: Path
    config: Config

    def reader(self) -> Reader: ...


class KeysFacet:
    """The wrapping key of a home. Every change is logged."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._keys = Home(home).keys

    def status(self) -> KeyStatus:
        """Return which key is in force, where it is kept and whether it can be read now. Raises KeyUnavailable."""
        self._check_there()
        return key_status(self._keys)

    def rotate(self) -> KeyChange:
        """Make a new wrapping key in the place of the present one; no chunk is rewritten. May ask a person.

        Raises:
            KeyUnavailable: the present key cannot be read, or the keyring doesn't take the new one.
            StoreLocked: another process is changing the keys.
            DiskFull, ArchiveError: a file cannot be written. The present key is then still in force.
        """
        self._check_there()
        return self._change(read_envelope(self._keys).kept)

    def move(self, kept: KeyPlace) -> KeyChange:
        """Make a new wrapping key and keep it elsewhere. Raises UsageError where it is there already; else as
        `rotate`."""
        self._check_there()
        if read_envelope(self._keys).kept == kept:
            where = "in a file" if kept == "file" else "in the keyring"
            raise UsageError(f"the key is kept {where} already", hint="`recollect keys rotate` makes a new one")
        return self._change(kept)

    def _check_there(self) -> None:
        """Raise KeyUnavailable for a memory that never had a key: nothing is lost then."""
        if not self._keys.exists() and not Home(self._home).archive.exists():
            raise KeyUnavailable("nothing is stored yet, so there is no key", hint="run `recollect sync`")

    def _change(self, kept: KeyPlace) -> KeyChange:
        lock = IngestLock(self._keys, name="lock", work="changing the keys of")
        try:
            change = change_wrapping(self._keys, kept)
        finally:
            lock.release()
        try:
            value = {"key_id": change.key_id, "kept": kept, "before": change.key_id_before, "by": who()}
            add_audit(self._home, "rotate", value, at=now_us())
        except StoreError as error:
            return msgspec.structs.replace(change, notes=(*change.notes, f"the change could not be logged: {error}"))
        return change


class Reveal:
    """Shows original text. Nothing is given before it is logged; no server offers this."""

    def __init__(self, memory: OpenMemory) -> None:
        self._memory = memory
        self._folders = Home(memory.home)

    def events(self, events: Iterable[Event]) -> tuple[RevealedEvent, ...]:
        """Return events in their original words, after logging who was shown which.

        Raises:
            KeyUnavailable: the archive's key cannot be read.
            RawGone: the record was evicted or forgotten. ArchiveCorrupt: it is damaged.
            StoreLocked, StoreError: the log cannot be written. Nothing is shown then.
        """
        from recollect.maintenance.reveal import reveal
        from recollect.privacy.redact import redactor_of  # the detectors take a while to be made

        keys = load_keys(self._folders.keys)
        redactor = redactor_of(keys.marker_key, self._memory.config.privacy)
        archive = Archive.open(self._folders.archive, keys, read_only=True)
        try:
            records = _Records(self._memory.reader(), archive)
            shown = tuple(reveal(events, records.read, redactor, keys.marker_key))
        finally:
            archive.close()
        self._log(shown, "text")
        return shown

    def records(self, events: Iterable[Event]) -> tuple[bytes, ...]:
        """Return the exact records of events, each once, after logging that. Raises as `events`."""
        archive = Archive.open(self._folders.archive, load_keys(self._folders.keys), read_only=True)
        known = tuple(events)
        try:
            records = _Records(self._memory.reader(), archive)
            found = tuple(records.read(place) for place in dict.fromkeys(event.location for event in known))
        finally:
            archive.close()
        self._log(known, "records")
        return found

    def log(self, *, limit: int | None = None) -> tuple[AuditEntry, ...]:
        """Return what was shown, newest first. Raises StoreError."""
        self._memory.reader()  # makes an empty memory where there is none
        return tuple(read_audit(self._memory.home, actions=("reveal",), limit=limit))

    def _log(self, shown: tuple[Event, ...] | tuple[RevealedEvent, ...], form: str) -> None:
        by_session: dict[str, list[Any]] = {}
        for event in shown:
            by_session.setdefault(event.session_uid, []).append(event)
        for uid, events in by_session.items():
            value: dict[str, Any] = {"session_uid": uid, "as": form, "events": len(events), "by": who()}
            value |= {"first_seq": min(e.seq for e in events), "last_seq": max(e.seq for e in events)}
            if form == "text":
                value["secrets"] = sum(event.secrets for event in events)
            add_audit(self._memory.home, "reveal", value, at=now_us())


def log_export(home: Path, session_uid: str, events: int) -> None:
    """Keep that a session's exact bytes are given. Raises StoreError: then they must not be."""
    value = {"session_uid": session_uid, "as": "export", "events": events, "by": who()}
    add_audit(home, "reveal", value, at=now_us())


class _Records:
    """Reads records from the archive; knows the chunks of what it has read."""

    def __init__(self, reader: Reader, archive: Archive) -> None:
        self._reader = reader
        self._archive = archive
        self._places: dict[tuple[str, int], list[ChunkPlace]] = {}

    def read(self, at: SourceLocation) -> bytes:
        """Return the exact bytes of a record."""
        key = (at.source_id, at.revision)
        if key not in self._places:
            self._places[key] = [place for place, _ in self._reader.chunks(*key)]
        return self._archive.read_range(self._places[key], at.offset_bytes, at.length_bytes)


def who() -> str:
    """Return who runs this process, as the system names them."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
