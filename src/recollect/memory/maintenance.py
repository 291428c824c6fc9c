"""`memory.maintenance`: verify, doctor, repair, backup, export, rebuild, keys, reveal."""

from __future__ import annotations

import heapq
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import KeyChange, KeyPlace, KeyStatus, change_wrapping, key_status, load_keys, read_envelope
from recollect.archive.packs import ChunkPlace
from recollect.clock import now_us
from recollect.config import ConfigEntry
from recollect.erasure.selection import erasing, excluded_repos, is_of
from recollect.errors import KeyUnavailable, StoreError, UnknownName, UsageError
from recollect.ingest.report import SyncReport
from recollect.maintenance.export import Stored, export, raw_bytes, raw_files, render
from recollect.maintenance.reports import DoctorReport, Exported, ExportFormat, Fix, VerifyReport
from recollect.maintenance.verify import verify
from recollect.memory.facets import HomeFacet, facet
from recollect.model.events import Event, SourceLocation
from recollect.model.sessions import Session
from recollect.paths import HOME_VARIABLE, STORE_VARIABLE, home_dir
from recollect.store.audit import AuditEntry, add_audit, read_audit
from recollect.store.home import Home
from recollect.store.insights import NodeFilter
from recollect.store.lock import IngestLock
from recollect.store.reader import Reader
from recollect.store.rows import EventFilter, LedgerRow

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome
    from recollect.ingest.retention import RetentionFacet
    from recollect.maintenance.backup.manifest import BackupReport, RestoreReport
    from recollect.maintenance.export import RevealedEvent
    from recollect.maintenance.repair import RepairReport
    from recollect.maintenance.service.service import Service
    from recollect.memory.forget import ForgettingFacet


Progress = Callable[[int, int], None]


_ALL_SESSIONS = 1_000_000


class ExcludedView(msgspec.Struct, frozen=True):
    """The exclusions of the configuration. stored_sessions: sessions of these repositories ingested earlier."""

    exclude_repos: tuple[str, ...]
    stored_sessions: int = 0
    stored_repos: tuple[str, ...] = ()

    @property
    def erasing(self) -> str:
        """The command that erases what is stored of them."""
        return erasing(self.exclude_repos)


class SettingsView(msgspec.Struct, frozen=True):
    """The configuration in force, without secrets. home_from: the variable that names the home, "" for none.

    path: of the file, "" for none; exists: whether the file exists.
    """

    home: str
    home_from: str
    path: str
    exists: bool
    entries: tuple[ConfigEntry, ...]


class MaintenanceFacet(HomeFacet):
    """Maintains the memory: verifies, checks, exports, backs up and rebuilds it."""

    retention: RetentionFacet = facet("recollect.ingest.retention", of="_home")
    """What is kept how long: evict, what everything takes, pins."""
    forgetting: ForgettingFacet = facet("recollect.memory.forget", of="_home")
    """Take sessions, records or whole repositories out of the memory, for good."""
    keys: KeysFacet = facet("recollect.memory.maintenance", of="_home")
    """The wrapping key of the home: which it is, another one, another place for it."""
    reveal: Reveal = facet("recollect.memory.maintenance", of="_home")
    """The original text of events. Everything shown is logged."""

    def verify(self, *, progress: Progress | None = None) -> VerifyReport:
        """Read back every stored byte, and recompute every hash and the completeness ledger."""
        reader = self._home.reader()
        if next(reader.ledgers(), None) is None:  # nothing was ever ingested: there is no archive, and no key either
            return VerifyReport(True, 0, 0, 0, 0, 0, 0, 0, (), (), 0.0)
        with self._home.archive() as archive:
            kept = (item.node for item in self._home.distilled().nodes(NodeFilter(with_revoked=True)))
            added = (item.decision for item in self._home.distilled().decisions() if item.decision.origin == "added")
            return verify(reader, archive, nodes=chain(kept, added), progress=progress)

    def verify_deep(self, *, progress: Callable[[str, int, int], None] | None = None) -> VerifyReport:
        """Verify; then derive everything again and compare it with what is stored: events, index, digests.

        Takes as long as ingesting everything, and holds the ingest lock. progress: called with (stage, done, total).
        Raises StoreLocked when another process is ingesting; else as `verify`.
        """
        from recollect.maintenance.deep_verify import verify_deep

        show = None if progress is None else lambda done, total: progress("verifying", done, total)
        report = self.verify(progress=show)
        if not report.sources:
            return report
        deep = verify_deep(self._home, progress)
        return msgspec.structs.replace(report, ok=report.ok and all(part.ok for part in deep), deep=deep)

    def excluded(self) -> ExcludedView:
        """Return the excluded repositories and how many of their sessions are stored."""
        from recollect.config import load_config

        config = load_config(self._config_path())
        patterns = excluded_repos(config, self._home.env)
        if not patterns or not self._home.is_there():
            return ExcludedView(config.privacy.exclude_repos)
        sessions, _total = self._home.reader().sessions(EventFilter(), limit=_ALL_SESSIONS)
        stored = [s for s in sessions if is_of(patterns, repo=s.repo, repo_root=s.repo_root, cwd=s.cwd)]
        return ExcludedView(config.privacy.exclude_repos, len(stored), tuple(sorted({s.repo for s in stored})))

    def exclude(self, repos: Sequence[str], *, is_removal: bool = False) -> list[str]:
        """Have nothing of some repositories ingested from the next sync on, or what their agents still have again.

        repos: names, or folders where they have a `/` or begin with `.` or `~`; `*` stands for any characters. Returns
        what one should know: a name that no repository has may be a slip. Raises UsageError for an empty name,
        UnknownName for the removal of one that is not excluded, ConfigError, StoreError.
        """
        from recollect.config import load_config
        from recollect.config.load import set_list

        for repo in () if is_removal else repos:
            if not repo.strip().strip("*?/\\"):
                raise UsageError(
                    f"{repo!r} names no repository", hint="name one, or a folder: recollect exclude payroll"
                )
        path = self._config_path()
        before = load_config(path).privacy.exclude_repos
        named = tuple(_as_folder(repo) for repo in repos)
        for repo in named if is_removal else ():
            if repo not in before:
                raise UnknownName("excluded repository", repo, nearest=before, hint="`recollect exclude` lists them")
        after = [repo for repo in before if repo not in named]
        if not is_removal:
            after = [*before, *(repo for repo in dict.fromkeys(named) if repo not in before)]
        set_list(path, "privacy", "exclude_repos", after)
        return [] if is_removal or not self._home.is_there() else [*self._unknown(named)]

    def _unknown(self, names: Sequence[str]) -> Iterator[str]:
        for name in names:
            if re.search(r"[/\\*?]", name) is None:
                try:
                    self._home.known_names().repository(name)
                except UnknownName as unknown:
                    yield f"excluded all the same: {unknown}"

    def settings(self) -> SettingsView:
        """Return every configuration key with its value in force and the origin of that value."""
        from recollect.config import listed_config
        from recollect.privacy.redact import without_secrets

        home, path = self._home.home, self._home.config_path
        unnamed = {**self._home.env, HOME_VARIABLE: ""}  # the environment of an open home always names it
        named_by = (
            "" if home == home_dir({**unnamed, STORE_VARIABLE: ""}).absolute()
            else STORE_VARIABLE if home == home_dir(unnamed).absolute() else HOME_VARIABLE
        )  # fmt: skip
        entries = listed_config(self._home.config, path)
        return SettingsView(
            str(home),
            named_by,
            str(path) if path is not None else "",
            path is not None and path.exists(),
            tuple(
                msgspec.structs.replace(one, value=without_secrets(one.value, self._home.config.privacy))
                if one.origin == "file"
                else one
                for one in entries
            ),
        )

    def log(self, *, limit: int | None = None) -> tuple[AuditEntry, ...]:
        """Return manual changes, deletions and failures, newest first. Raises StoreError."""
        return tuple(read_audit(self._home.home, limit=limit)) if self._home.is_there() else ()

    def latest_sources(self, *, limit: int) -> tuple[LedgerRow, ...]:
        """Return the last ingested sources, newest first."""
        return tuple(heapq.nlargest(limit, self._home.reader().ledgers(), key=lambda row: row.observed_at))

    def _config_path(self) -> Path:
        if self._home.config_path is None:
            raise UsageError("this memory was opened without a configuration file")
        return self._home.config_path

    def doctor(self) -> DoctorReport:
        """Run every health check now. Never raises because of findings; creates nothing."""
        from recollect.memory.doctor import doctor

        return doctor(self._home)

    def fix(self, *, is_dry_run: bool = False, say: Callable[[Fix], None] = lambda _: None) -> DoctorReport:
        """Apply safe fixes for what the checks find, announce each one first, then run the checks again.

        is_dry_run: only announce.
        """
        from recollect.memory.doctor import fix

        return fix(self._home, is_dry_run=is_dry_run, say=say)

    def repair(
        self, *, source: Path | None = None, is_dry_run: bool = False, say: Callable[[Fix], None] = lambda _: None
    ) -> RepairReport:
        """Find all damage, announce the repair of each and carry it out.

        source: a backup, for what exists nowhere else. is_dry_run: only announce. Raises StoreLocked, BackupUnusable.
        """
        from recollect.maintenance.repair import repair

        return repair(self._home, source=source, is_dry_run=is_dry_run, say=say)

    def export(
        self,
        uid: str,
        *,
        format: ExportFormat = "events",  # noqa: A002 (the word of the command line)
        out: Path,
        revision: int | None = None,
    ) -> tuple[Exported, ...]:
        """Write a session to a folder; see `maintenance.export.export`. Redacted unless `raw` is given.

        Exact bytes contain the session's secrets, so the audit log records the export first.
        """
        session = self._home.session(uid)
        if format == "raw":
            self._log_raw(session)
        with self._home.archive() as archive:
            return export(self._stored(), archive, session, form=format, out=out, revision=revision)

    def export_bytes(
        self,
        uid: str,
        *,
        format: ExportFormat = "events",  # noqa: A002 (the word of the command line)
        revision: int | None = None,
    ) -> Iterator[bytes]:
        """Yield one session as bytes: redacted, or with `raw` the exact transcript, which the audit log records first.

        Raises UsageError if nothing of the session is archived.
        """
        session = self._home.session(uid)
        reader = self._home.reader()
        if format != "raw":
            yield from render(self._stored(), session, format)
            return
        files = raw_files(reader, session, revision=revision)
        if not files:
            raise UsageError(f"no transcript of {session.session_uid} is archived")
        self._log_raw(session)
        with self._home.archive() as archive:
            yield from raw_bytes(reader, archive, files[0])

    def _log_raw(self, session: Session) -> None:
        """Keep that the exact bytes of a session are given, secrets included. Raises StoreError: then they are not."""
        value = {"session_uid": session.session_uid, "as": "export", "events": session.event_count, "by": who()}
        add_audit(self._home.home, "reveal", value, at=now_us())

    def _stored(self) -> Stored:
        return Stored(self._home.reader(), self._home.distilled)

    def backup(
        self, target: Path, *, with_key: bool = True, force: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> BackupReport:  # fmt: skip
        """Copy the memory as it is now to a folder or a file `….tar.zst`, and read the copy back.

        with_key False: leave the wrapping key out. force: also replace the backup of another memory. progress: called
        with (stage, bytes done, total bytes). Raises UsageError, BackupUnusable, DiskFull, StoreError; the target is
        then no backup, or still the previous one.
        """
        from recollect.maintenance.backup.restore import backup

        return backup(self._home, target, with_key=with_key, force=force, progress=progress)

    def restore(
        self, source: Path, *, force: bool = False, keep: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> RestoreReport:  # fmt: skip
        """Replace this memory with a backup; see `recollect.maintenance.backup.restore.restore`.

        force: also replace an existing memory; keep: keep that one aside. Raises UsageError, StoreLocked,
        BackupUnusable, KeyUnavailable, SchemaTooNew; the memory is then unchanged.
        """
        from recollect.maintenance.backup.restore import restore

        return restore(self._home, source, force=force, keep=keep, progress=progress)

    @property
    def service(self) -> Service:
        """Recollect as a system service."""
        from recollect.maintenance.service.service import Service
        from recollect.store.home import make_home

        return Service(self._home.home, self._home.env, make_home=partial(make_home, self._home.home))

    def rebuild(self, what: Literal["index", "all"] = "all", *, progress: Progress | None = None) -> SyncReport:
        """Derive the index, or database and index, again from what is kept; then ingest changes.

        Raises StoreLocked when another process is ingesting.
        """
        from recollect.ingest.operations import rebuild

        return rebuild(self._home, what, progress=progress)


class KeysFacet:
    """The wrapping key of a home. The audit log records every change."""

    def __init__(self, home: OpenHome) -> None:
        self._home = home.home
        self._keys = home.folders.keys

    def status(self) -> KeyStatus:
        """Return the key in force, where it is kept and whether it is readable now. Raises KeyUnavailable."""
        self._check_there()
        return key_status(self._keys)

    def rotate(self) -> KeyChange:
        """Replace the wrapping key with a new one; rewrites no chunk. May prompt a person.

        Raises:
            KeyUnavailable: the present key cannot be read, or the keyring does not accept the new one.
            StoreLocked: another process is changing the keys.
            DiskFull, ArchiveError: a file cannot be written. The present key then stays in force.
        """
        self._check_there()
        return self._change(read_envelope(self._keys).kept)

    def move(self, kept: KeyPlace) -> KeyChange:
        """Replace the wrapping key and keep the new one elsewhere. Raises UsageError if it exists already; else as
        `rotate`.
        """
        self._check_there()
        if read_envelope(self._keys).kept == kept:
            where = "in a file" if kept == "file" else "in the keyring"
            raise UsageError(f"the key is already {where}", hint="`recollect keys rotate` makes a new one")
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
            return msgspec.structs.replace(
                change, notes=(*change.notes, f"the change could not be written to the log: {error}")
            )
        return change


class Reveal(HomeFacet):
    """Shows original text. Logs every access first; no server offers this."""

    def events(self, events: Iterable[Event]) -> tuple[RevealedEvent, ...]:
        """Return events with their original text, after logging who saw which.

        Raises:
            KeyUnavailable: the archive's key cannot be read.
            RawGone: the record was evicted or forgotten. ArchiveCorrupt: it is damaged.
            StoreLocked, StoreError: the log cannot be written. Nothing is shown then.
        """
        from recollect.maintenance.export import reveal
        from recollect.privacy.redact import redactor_of  # the detectors take a while to be made

        keys = load_keys(self._home.folders.keys)
        redactor = redactor_of(keys.marker_key, self._home.config.privacy)
        with self._home.archive() as archive:
            records = _Records(self._home.reader(), archive)
            shown = tuple(reveal(events, records.read, redactor, keys.marker_key))
        self._log(shown, "text")
        return shown

    def records(self, events: Iterable[Event]) -> tuple[bytes, ...]:
        """Return the exact records of events, each once, after logging that. Raises as `events`."""
        known = tuple(events)
        with self._home.archive() as archive:
            records = _Records(self._home.reader(), archive)
            found = tuple(records.read(place) for place in dict.fromkeys(event.location for event in known))
        self._log(known, "records")
        return found

    def log(self, *, limit: int | None = None) -> tuple[AuditEntry, ...]:
        """Return what was shown, newest first. Raises StoreError."""
        self._home.reader()  # makes an empty memory if there is none
        return tuple(read_audit(self._home.home, actions=("reveal",), limit=limit))

    def _log(self, shown: tuple[Event, ...] | tuple[RevealedEvent, ...], form: str) -> None:
        by_session: dict[str, list[Any]] = {}
        for event in shown:
            by_session.setdefault(event.session_uid, []).append(event)
        for uid, events in by_session.items():
            value: dict[str, Any] = {"session_uid": uid, "as": form, "events": len(events), "by": who()}
            value |= {"first_seq": min(e.seq for e in events), "last_seq": max(e.seq for e in events)}
            if form == "text":
                value["secrets"] = sum(event.secrets for event in events)
            add_audit(self._home.home, "reveal", value, at=now_us())


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
    """Return the user of this process as the system names them."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _as_folder(repo: str) -> str:
    """Return a folder as the configuration has it: whole, but for the `~` that it begins with."""
    if repo.startswith("~") or ("/" not in repo and os.sep not in repo and not repo.startswith(".")):
        return repo
    return os.path.abspath(repo)
