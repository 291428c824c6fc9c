"""`memory.maintenance.retention`: keeps the memory within its limits, after a sync, by daemon or by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from recollect.clock import now_us
from recollect.config import NotifyConfig
from recollect.erasure.copies import renew_index
from recollect.erasure.reports import DiskBytes, EvictReport, Pin, StorageReport, storage_of
from recollect.erasure.retention import RetentionSweep, SweepContext, limits_of, look, preview
from recollect.erasure.schedule import doubt, is_due, observe, swept, swept_at
from recollect.errors import ArchiveError, StoreError, StoreLocked, UsageError
from recollect.ingest.distill import distill
from recollect.ingest.run_limits import deadline
from recollect.paths import DATABASE_NAME
from recollect.store.erasure import evict_rows as policy
from recollect.store.erasure.evict_rows import read_holdings, read_table_bytes
from recollect.store.meta import read_mark, write_mark
from recollect.units import duration, plural, size

if TYPE_CHECKING:
    from recollect.erasure.forget import Opened
    from recollect.ingest.open_home import OpenHome
    from recollect.ingest.report import SyncReport
    from recollect.store.erasure.evict_rows import Holdings


NoticeName = Literal["session_memory.data_loss", "session_memory.distilled_cap", "session_memory.failure"]
_MARK = "notified"
_DAY_US = 24 * 3600 * 1_000_000
_decode = msgspec.json.Decoder(dict[str, int]).decode


class Notice(msgspec.Struct, frozen=True):
    """One thing to tell. value: counts, uids, reasons; never content."""

    event: NoticeName
    value: Mapping[str, Any]


def notify(home: Path, config: NotifyConfig, notice: Notice, *, now_us: int) -> str:
    """Run the configured program with a notice as one JSON object on its standard input; return what went wrong, or "".

    Does nothing where no program is configured, or it was told of the same thing within a day. Waits no longer than the
    configuration says; a program that takes longer is ended. Never raises.
    """
    if not config.command:
        return ""
    try:
        told = _told(home)
        last = told.get(notice.event)
        if last is not None and 0 <= now_us - last < _DAY_US:
            return ""
        write_mark(home, _MARK, msgspec.json.encode({**told, notice.event: now_us}).decode())
    except StoreError as error:
        return f"nobody was told of {notice.event}: {error}"
    said = {"event": notice.event, "at": now_us, "home": str(home), **notice.value}
    try:
        done = subprocess.run(  # noqa: S603 - the user's own program, without a shell
            list(config.command), input=msgspec.json.encode(said) + b"\n", timeout=config.timeout_seconds, check=False,
            cwd=home,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"`[notify] command` took longer than {duration(config.timeout_seconds)} and was ended"
    except (OSError, ValueError) as error:
        return f"`[notify] command` could not be run: {error}"
    return f"`[notify] command` ended with {done.returncode}" if done.returncode else ""


def _told(home: Path) -> dict[str, int]:
    try:
        return _decode(read_mark(home, _MARK) or "{}")
    except ValueError:
        return {}


SYNC_SECONDS = 30.0
"""How long a sync or the daemon stays at it; the next one continues."""
_DISTILLED_CAP = "analysed data takes {}, more than `retention.distilled_cap_bytes` ({}); it is kept"


class RetentionFacet:
    """Evicts raw bytes by the configuration's bounds, tells what everything takes, and what is spared."""

    def __init__(self, home: OpenHome, clock: Callable[[], int] = now_us) -> None:
        self._home = home
        self._now_us = clock

    def preview(self) -> EvictReport:
        """Return exactly what `evict` would do now, and why. Changes nothing."""
        if not self._home.is_there():
            return EvictReport(is_dry_run=True, sessions=[], notes=["nothing is stored yet"])
        return self._preview(self._look())

    def _preview(self, held: Holdings) -> EvictReport:
        return preview(held, limits_of(self._home.config.retention), now_us=self._now_us())

    def _look(self) -> Holdings:
        return look(self._home.home, limits_of(self._home.config.retention))

    def evict(
        self, *, max_seconds: float | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> EvictReport:
        """Sweep now, whatever the schedule, and notify as configured. Busy: another process is writing.

        Raises StoreError, ArchiveError, DiskFull; completed steps stay.
        """
        if not self._home.is_there():
            return EvictReport(sessions=[], notes=["nothing is stored yet"])
        try:
            with self._home.writing() as opened:
                report = self._sweep(opened, max_seconds, should_stop)
        except StoreLocked as error:
            return EvictReport("busy", sessions=[], notes=[str(error)])
        self.tell(report)
        return report

    def sweep(
        self, *, max_seconds: float | None = SYNC_SECONDS, should_stop: Callable[[], bool] = lambda: False
    ) -> EvictReport:
        """Sweep when the cadence says so and the clock can be believed; else do nothing (state `not_due`).

        For the daemon. Raises as `evict`.
        """
        held_up = self._held_up()
        return held_up if held_up is not None else self.evict(max_seconds=max_seconds, should_stop=should_stop)

    def is_due(self) -> bool:
        """Return whether a sweep is scheduled now."""
        if not self._home.is_there():
            return False
        return is_due(self._home.home, self._home.config.retention.cadence, now_us=self._now_us())

    def swept_at(self) -> int | None:
        """Return when the last whole sweep was, UTC microseconds."""
        return swept_at(self._home.home) if self._home.is_there() else None

    def sweep_with(self, opened: Opened, pace: float = SYNC_SECONDS) -> EvictReport:
        """Sweep with the ingest lock held, as `sweep` does; `tell` afterwards, without the lock."""
        held_up = self._held_up()
        return held_up if held_up is not None else self._sweep(opened, pace, is_shown=False)

    def clock_doubt(self) -> str:
        """Return why the clock cannot be believed, "" if it can: then nothing is evicted unattended."""
        return doubt(self._home.home, now_us=self._now_us()) if self._home.is_there() else ""

    def _held_up(self) -> EvictReport | None:
        """Return what an unattended sweep says that does nothing, None where there is something to do."""
        if not self._home.is_there():
            return EvictReport("not_due", sessions=[], notes=[])
        doubted = observe(self._home.home, now_us=self._now_us())
        if not self.is_due():
            return EvictReport("not_due", sessions=[], notes=[])
        if not doubted:
            return None
        waiting = len(self.preview().sessions)
        notes = [f"{plural(waiting, 'session')} would be evicted, but {doubted}"] if waiting else []
        return EvictReport("not_due", sessions=[], notes=notes)

    def tell(self, report: EvictReport) -> None:
        """Run the configured program for what a sweep found that should not wait; a failure is a note of the report."""
        lost = [session for session in report.sessions if session.reason == "data_loss"]
        home, config = self._home.home, self._home.config
        notices = []
        if lost:
            value = {"sessions": [s.session_uid for s in lost], "bytes": sum(s.bytes for s in lost)}
            notices.append(Notice("session_memory.data_loss", value))
        cap = config.retention.distilled_cap_bytes
        if report.distilled_bytes > cap:
            value = {"distilled_bytes": report.distilled_bytes, "cap_bytes": cap}
            notices.append(Notice("session_memory.distilled_cap", value))
        for notice in notices:
            if problem := notify(home, config.notify, notice, now_us=self._now_us()):
                report.notes.append(problem)

    def tell_failure(self, work: str, *, code: str, times: int) -> str:
        """Notify as configured that some work has failed so many times in a row; return what went wrong.

        code: of the error; never its text, which may quote content. At most once a day, whatever fails.
        """
        notice = Notice("session_memory.failure", {"work": work, "code": code, "times": times})
        return notify(self._home.home, self._home.config.notify, notice, now_us=self._now_us())

    def storage(self) -> StorageReport:
        """Return what each tier, agent and repository takes, measured now."""
        self._home.reader()
        return self._storage(read_holdings(self._home.home))

    def storage_and_preview(self) -> tuple[StorageReport, EvictReport]:
        """Return what `storage` and `preview` do, from one look at what every session takes."""
        self._home.reader()
        held = self._look()
        return self._storage(held), self._preview(held)

    def _storage(self, held: Holdings) -> StorageReport:
        m = self._home
        folders = m.folders
        archive = folders.archive_bytes()
        packs = sum(path.stat().st_size for path in (folders.archive / "packs").glob("*") if path.is_file())
        log = sum(path.stat().st_size for path in m.home.glob(f"{DATABASE_NAME}-wal"))
        disk = DiskBytes(archive, packs, folders.index_bytes(), folders.vectors_bytes(), log)
        return storage_of(held, read_table_bytes(m.home), disk, m.config.retention, swept_at=self.swept_at())

    def pins(self) -> tuple[Pin, ...]:
        """Return the sessions that are spared, the newest pin first."""
        if not self._home.is_there():
            return ()
        reader = self._home.reader()
        found = []
        for uid, at in policy.read_pins(self._home.home):
            session = reader.session(uid)
            found.append(Pin(uid, at, session.title if session is not None else ""))
        return tuple(found)

    def pin(self, uid: str) -> Pin:
        """Protect a session and those below it. Raises UnknownName; UsageError for an evicted one."""
        session = self._home.session(uid)
        if session.evicted_at is not None:
            raise UsageError(f"the raw text of {session.session_uid} was already evicted: there is nothing to pin")
        at = self._now_us()
        policy.pin(self._home.home, session.session_uid, at=at)
        return Pin(session.session_uid, at, session.title)

    def unpin(self, uid: str) -> bool:
        """End a session's protection; return whether it had any. Raises UnknownName."""
        return policy.unpin(self._home.home, self._home.session(uid).session_uid)

    def _sweep(
        self, opened: Opened, max_seconds: float | None, should_stop: Callable[[], bool] | None = None,
        *, is_shown: bool = True,
    ) -> EvictReport:  # fmt: skip
        memory, writer = self._home, opened.writer
        is_over = deadline(max_seconds, should_stop)
        notes: list[str] = []

        def analyse(uids: Sequence[str]) -> None:
            notes.extend(distill(memory, opened, uids, now_us=self._now_us, should_stop=is_over).notes)

        def renew() -> None:
            notes.extend(renew_index(opened.home, writer, opened.reader))

        if writer.distilled.has_changes():  # what changed since its analysis is known to have changed
            with writer.transaction():
                writer.distilled.note_changes()
        limits = limits_of(memory.config.retention)
        context = SweepContext(
            memory.home,
            writer,
            opened.archive,
            opened.reader,
            memory.distilled(),
            self._now_us,
            analyse,
            renew,
            is_over,
        )
        report = RetentionSweep(context, limits).run()
        report.notes += notes
        cap = memory.config.retention.distilled_cap_bytes
        if is_shown or memory.folders.database_bytes() > cap:  # to count them takes as long as a small sync
            tables = read_table_bytes(memory.home)
            report.distilled_bytes = tables.distilled + tables.kept
        if report.distilled_bytes > cap:
            report.notes.append(_DISTILLED_CAP.format(size(report.distilled_bytes), size(cap)))
        if report.data_loss:
            report.notes.append(
                f"data loss: {plural(report.data_loss, 'session')} evicted before analysis, because the archive "
                "was above the hard cap; raise `retention.raw_hard_cap_bytes`, or see what fails with "
                "`recollect doctor`"
            )
        if report.state == "done":
            swept(memory.home, now_us=self._now_us())
        return report


def retain_after(home: OpenHome, opened: Opened, report: SyncReport) -> EvictReport:
    """Sweep after a sync if due, and add the result to the sync's notes. Never raises for a full disk.

    When the ingest lock is free again, the caller runs `RetentionFacet.tell` with what this returns.
    """
    facet = RetentionFacet(home)
    try:
        done = facet.sweep_with(opened)
    except (StoreError, ArchiveError) as error:
        report.notes.append(f"retention could not finish ({error}); the next sync continues")
        return EvictReport("interrupted", sessions=[], notes=[])
    if done.sessions:
        report.notes.append(
            f"retention: {plural(len(done.sessions), 'session')} evicted, {size(done.freed_bytes)} freed"
        )
    report.notes += done.notes
    return done
