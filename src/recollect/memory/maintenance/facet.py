"""`memory.upkeep`: verify, doctor, export, rebuild."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from recollect.archive.archive import Archive
from recollect.config import Config
from recollect.errors import UsageError
from recollect.ingest.insights.distill import DistillReport
from recollect.ingest.report import SyncReport
from recollect.maintenance.export import Stored, export, raw_bytes, raw_files, render
from recollect.maintenance.reports import DistillHealth, DoctorReport, Exported, ExportFormat, Fix, VerifyReport
from recollect.maintenance.verify import verify
from recollect.memory.embedding import EmbeddingFacet
from recollect.memory.setup import SetupFacet
from recollect.model.sessions import Session
from recollect.store.insights import InsightReader, NodeFilter
from recollect.store.reader import Reader

if TYPE_CHECKING:
    from recollect.archive.keys import HomeKeys
    from recollect.maintenance.backup.manifest import BackupReport, RestoreReport
    from recollect.maintenance.repair import RepairReport
    from recollect.maintenance.service.service import Service
    from recollect.memory.known_names import KnownNames
    from recollect.memory.learnings.facet import LearnFacet
    from recollect.memory.maintenance.forget import ForgettingFacet
    from recollect.memory.maintenance.retention import RetentionFacet
    from recollect.memory.maintenance.secrets import KeysFacet, Reveal
    from recollect.store.writer import Writer

Progress = Callable[[int, int], None]


class HasHealth(Protocol):
    """What distils, and tells how far that is."""

    def health(self) -> DistillHealth: ...
    def run(self, *, sessions: Sequence[str] | None = None) -> DistillReport: ...


class OpenHome(Protocol):
    """What upkeep needs of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]
    zone: tzinfo

    @property
    def embedding(self) -> EmbeddingFacet: ...
    @property
    def distilling(self) -> HasHealth: ...
    @property
    def learn(self) -> LearnFacet: ...
    def reader(self) -> Reader: ...
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames: ...
    def distilled(self) -> InsightReader: ...
    def archive(self) -> AbstractContextManager[Archive]: ...
    def writing(self) -> AbstractContextManager[tuple[Writer, Archive, HomeKeys]]: ...
    @property
    def setup(self) -> SetupFacet: ...
    def sync(self) -> SyncReport: ...
    def session(self, uid: str) -> Session: ...
    def take_changes(self, scope: None, *, should_stop: Callable[[], bool]) -> SyncReport: ...
    def make_ready(self) -> None: ...
    def rebuild(
        self, what: Literal["index", "all"], *, progress: Progress | None = None, authored: Path | None = None
    ) -> SyncReport: ...
    def close(self) -> None: ...


class UpkeepFacet:
    """Looks after the memory: proves it complete, tells its health, gives sessions back, derives it anew."""

    def __init__(self, memory: OpenHome) -> None:
        self._memory = memory

    def verify(self, *, progress: Progress | None = None) -> VerifyReport:
        """Read every stored byte back, recompute every hash and the completeness ledger."""
        reader = self._memory.reader()
        if next(reader.ledgers(), None) is None:  # nothing was ever taken in: there is no archive, and no key either
            return VerifyReport(True, 0, 0, 0, 0, 0, 0, 0, (), (), 0.0)
        with self._memory.archive() as archive:
            kept = (item.node for item in self._memory.distilled().nodes(NodeFilter(with_revoked=True)))
            added = (item.decision for item in self._memory.distilled().decisions() if item.decision.origin == "added")
            return verify(reader, archive, nodes=chain(kept, added), progress=progress)

    def verify_deep(self, *, progress: Callable[[str, int, int], None] | None = None) -> VerifyReport:
        """Verify, then derive everything derived again and hold it against what is there: events, index, digests.

        Takes as long as taking everything in, and holds the ingest lock. progress: (what is done, done, in all).
        Raises StoreLocked when another process is ingesting; else as `verify`.
        """
        from recollect.maintenance.deep_verify import verify_deep

        show = None if progress is None else lambda done, total: progress("verifying", done, total)
        report = self.verify(progress=show)
        if not report.sources:
            return report
        deep = verify_deep(self._memory, progress)
        return msgspec.structs.replace(report, ok=report.ok and all(part.ok for part in deep), deep=deep)

    def doctor(self) -> DoctorReport:
        """Run every health check now. Never raises for what it finds; creates nothing."""
        from recollect.memory.maintenance.doctor import doctor

        return doctor(self._memory)

    def fix(self, *, is_dry_run: bool = False, say: Callable[[Fix], None] = lambda _: None) -> DoctorReport:
        """Do what is safe about what the checks find, each step said before, then run them again.

        is_dry_run: says what it would do, and does nothing.
        """
        from recollect.memory.maintenance.doctor import fix

        return fix(self._memory, is_dry_run=is_dry_run, say=say)

    def repair(
        self, *, source: Path | None = None, is_dry_run: bool = False, say: Callable[[Fix], None] = lambda _: None
    ) -> RepairReport:
        """Find everything that is damaged, say what would be done about each, and do it.

        source: a backup, for what is in no other place. is_dry_run: only says it. Raises StoreLocked, BackupUnusable.
        """
        from recollect.maintenance.repair import repair

        return repair(self._memory, source=source, is_dry_run=is_dry_run, say=say)

    def export(
        self,
        uid: str,
        *,
        format: ExportFormat = "events",  # noqa: A002 (the word of the command line)
        out: Path,
        revision: int | None = None,
    ) -> tuple[Exported, ...]:
        """Write a session into a folder, see `maintenance.export.export`: redacted, unless `raw` is asked for.

        Exact bytes contain the session's secrets, so giving them is logged first.
        """
        session = self._memory.session(uid)
        if format == "raw":
            self._log_raw(session)
        with self._memory.archive() as archive:
            return export(self._stored(), archive, session, form=format, out=out, revision=revision)

    def export_bytes(
        self,
        uid: str,
        *,
        format: ExportFormat = "events",  # noqa: A002 (the word of the command line)
        revision: int | None = None,
    ) -> Iterator[bytes]:
        """Yield one session as bytes: redacted, or for `raw` exactly those of its transcript, which is logged first.

        Raises UsageError when nothing of the session is archived.
        """
        session = self._memory.session(uid)
        reader = self._memory.reader()
        if format != "raw":
            yield from render(self._stored(), session, format)
            return
        files = raw_files(reader, session, revision=revision)
        if not files:
            raise UsageError(f"no transcript of {session.session_uid} is archived")
        self._log_raw(session)
        with self._memory.archive() as archive:
            yield from raw_bytes(reader, archive, files[0])

    def _log_raw(self, session: Session) -> None:
        """Keep that the exact bytes of a session are given, secrets included. Raises StoreError: then they are not."""
        from recollect.memory.maintenance.secrets import log_export

        log_export(self._memory.home, session.session_uid, session.event_count)

    def _stored(self) -> Stored:
        return Stored(self._memory.reader(), self._memory.distilled)

    def backup(
        self, target: Path, *, with_key: bool = True, progress: Callable[[str, int, int], None] | None = None
    ) -> BackupReport:
        """Copy the memory as it is now to a folder, or to one file `….tar.zst`, and read all of it again.

        with_key False: the wrapping key is left out. progress: called with (stage, bytes done, bytes in all). Raises
        UsageError, BackupUnusable, DiskFull, StoreError; the target is then no backup, or the one before.
        """
        from recollect.maintenance.backup.restore import backup

        return backup(self._memory, target, with_key=with_key, progress=progress)

    def restore(
        self, source: Path, *, force: bool = False, keep: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> RestoreReport:  # fmt: skip
        """Let a backup take this memory's place, see `recollect.maintenance.backup.restore.restore`.

        force: also where there is a memory already; keep: which is then kept aside. Raises UsageError, StoreLocked,
        BackupUnusable, KeyUnavailable, SchemaTooNew; the memory is then as it was.
        """
        from recollect.maintenance.backup.restore import restore

        return restore(self._memory, source, force=force, keep=keep, progress=progress)

    @property
    def retention(self) -> RetentionFacet:
        """What is kept how long: evict, what everything takes, pins."""
        from recollect.memory.maintenance.retention import RetentionFacet

        return RetentionFacet(self._memory)

    @property
    def forgetting(self) -> ForgettingFacet:
        """Take sessions, records or whole repositories out of the memory, for good."""
        from recollect.memory.maintenance.forget import ForgettingFacet

        return ForgettingFacet(self._memory)

    @property
    def service(self) -> Service:
        """Recollect as a service of the system."""
        from recollect.maintenance.service.service import Service
        from recollect.store.home import make_home

        return Service(self._memory.home, self._memory.env, make_home=partial(make_home, self._memory.home))

    @property
    def keys(self) -> KeysFacet:
        """The wrapping key of the home: which it is, another one, another place for it."""
        from recollect.memory.maintenance.secrets import KeysFacet

        return KeysFacet(self._memory.home)

    @property
    def reveal(self) -> Reveal:
        """The original text of events. Everything shown is logged."""
        from recollect.memory.maintenance.secrets import Reveal

        return Reveal(self._memory)

    def rebuild(self, what: Literal["index", "all"] = "all", *, progress: Progress | None = None) -> SyncReport:
        """Derive the index, or database and index, anew from what is kept; then take in what is new.

        Raises StoreLocked when another process is ingesting.
        """
        return self._memory.rebuild(what, progress=progress)
