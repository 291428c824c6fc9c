"""`memory.maintenance.repair`: finds damage, plans the repair and carries it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import load_keys
from recollect.clock import now_us
from recollect.errors import ArchiveError, KeyUnavailable, RecollectError, SchemaTooNew, StoreError
from recollect.files import write_file
from recollect.ingest.damage import Damage, begin_again, behind, check, elsewhere, heal, known_damage, opens, untold
from recollect.ingest.operations import rebuild, sync
from recollect.ingest.reconciliation import bring_in_step
from recollect.ingest.restore_swap import begin_staging, drop_staging
from recollect.maintenance.backup.restore import Staged, look_at, stage
from recollect.maintenance.reports import Fix
from recollect.store.connection import has_archive, quick_check
from recollect.store.home import Home
from recollect.store.lock import IngestLock
from recollect.store.snapshots import chunks_of_packs, has_authored, pack_ends
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome

Say = Callable[[Fix], None]


class RepairReport(msgspec.Struct, frozen=True):
    """What was damaged, and whether it was repaired. ok: no damage that is known is left. left: what is still damaged.

    steps: in their order; `does` says what is damaged and what is done about it.
    """

    ok: bool
    steps: tuple[Fix, ...] = ()
    left: Damage = Damage()


def repair(
    memory: OpenHome, *, source: Path | None = None, is_dry_run: bool = False, say: Say = lambda _: None
) -> RepairReport:
    """Look at everything that could be damaged, one thing after the other, say what is, and put it right.

    source: a backup to take from what is in no other place. is_dry_run: only say it.

    Every chunk of the archive is opened. What one step puts right the next one rests on. Nothing that is stored is
    dropped. source: a backup, for what is in no other place. is_dry_run: only say it.
    Raises StoreLocked, BackupUnusable, SchemaTooNew.
    """
    if source is not None:
        look_at(source)
    job = _Job(memory, source)
    steps: list[Fix] = []
    try:
        for step in STEPS:
            damage = step.find(job)
            if not damage:
                continue
            fix = Fix(step.id, f"{damage}: {step.does(job)}", "would")
            say(fix)
            steps.append(fix if is_dry_run else _done(step, job, fix))
            if steps[-1].state != "done" and step.is_needed:
                break
    finally:
        job.close()
    left = _left(memory)
    is_done = all(fix.state == "done" for fix in steps)
    return RepairReport(ok=is_done and not left.chunks, steps=tuple(steps), left=left)


class _Job:
    """One repair. The backup is copied beside the memory, and checked, when something of it is first needed."""

    def __init__(self, memory: OpenHome, source: Path | None) -> None:
        self.memory = memory
        self.source = source
        self.folders = Home(memory.home)
        self._staged: Staged | None = None

    def staged(self) -> Staged | None:
        """Return the backup, None if none is named."""
        if self.source is not None and self._staged is None:
            with IngestLock(self.memory.home):
                folder = begin_staging(self.memory.home)
                self._staged = stage(self.source, folder, keys_of=self.folders.keys)
        return self._staged

    def archive(self) -> Archive:
        """Open the archive for reading."""
        return Archive.open(self.folders.archive, load_keys(self.folders.keys), read_only=True)

    def close(self) -> None:
        """Remove what was copied of a backup."""
        if self._staged is not None:
            drop_staging(self.memory.home)


class RepairStep(NamedTuple):
    """One kind of damage. find: says what is damaged, "" for nothing. is_needed: the next steps rest on it."""

    id: str
    find: Callable[[_Job], str]
    does: Callable[[_Job], str]
    do: Callable[[_Job], str]
    is_needed: bool = True


def _done(step: RepairStep, job: _Job, fix: Fix) -> Fix:
    try:
        return msgspec.structs.replace(fix, state="done", detail=step.do(job))
    except (RecollectError, OSError) as error:
        hint = f"; {error.hint}" if isinstance(error, RecollectError) and error.hint else ""
        return msgspec.structs.replace(fix, state="failed", detail=f"{error}{hint}")


def _left(memory: OpenHome) -> Damage:
    folders = Home(memory.home)
    if not has_archive(memory.home):
        return Damage()
    try:
        with Archive.open(folders.archive, load_keys(folders.keys), read_only=True) as archive:
            return known_damage(memory.home, archive)
    except RecollectError:
        return Damage()  # it is told as a step that failed, or that would be done


def _keys_damage(job: _Job) -> str:
    if not has_archive(job.memory.home):
        return ""
    try:
        keys = load_keys(job.folders.keys)
    except KeyUnavailable as error:
        return str(error)
    archive = Archive.open(job.folders.archive, keys, read_only=True)
    try:
        if not archive.journal.is_of_other_keys():
            return ""
        places = chunks_of_packs(job.memory.home, sorted(pack_ends(job.memory.home)))[:8]
        if any(opens(archive, place) for place in places):
            return ""
    except StoreError:
        return ""
    finally:
        archive.close()
    return "the keys of this home are not those of its archive"


def _put_keys_back(job: _Job) -> str:
    staged = job.staged()
    if staged is None:
        raise KeyUnavailable(
            "nothing else opens the archive; what the database says can still be searched",
            hint="name a backup with --from, or put the file back from where you keep it",
        )
    with Archive.open(job.folders.archive, staged.keys, read_only=True) as archive:
        if archive.journal.is_of_other_keys():
            raise KeyUnavailable("the backup is of another memory: its keys do not open this archive")
    for path in sorted((staged.folder / "keys").iterdir()):
        target = job.folders.keys / path.name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        write_file(target, path.read_bytes(), durable=True)
    load_keys(job.folders.keys)
    return "the keys of the backup open the archive"


def _database_damage(job: _Job) -> str:
    home = job.memory.home
    if not has_archive(home) and not job.folders.database.exists():
        return ""
    try:
        problems = quick_check(home, limit=1)
        if problems:
            return f"the memory's database is damaged ({problems[0]})"
        staged = job.staged() if has_archive(home) and not has_authored(home) else None
        if staged is not None and has_authored(staged.folder):
            return "the memory's database has no notes, facts, diaries or pins"
    except SchemaTooNew:
        raise
    except StoreError as error:
        return str(error)
    return ""


def _what_becomes_of_the_database(job: _Job) -> str:
    if job.source is not None:
        return "derive it again from the archive, and take notes, facts, diaries and pins from the backup"
    return (
        "derive it again from the archive; what cannot be read any more of notes, facts, diaries and pins is lost "
        "(--from takes them from a backup)"
    )


def _derive_database(job: _Job) -> str:
    staged = job.staged()
    job.memory.close()
    report = rebuild(job.memory, "all", authored=staged.folder if staged is not None else None)
    return "; ".join(report.notes)


def _archive_damage(job: _Job) -> str:
    if not has_archive(job.memory.home):
        return ""
    reader = job.memory.reader()
    with job.archive() as archive:
        rows = list(reader.ledgers())
        told_of = archive.sizes()
        lacking, broken = len(untold(told_of, rows)), archive.journal.damaged
        ahead = behind(told_of, reader.ledgers())
    told = [f"{plural(broken, 'entry of the journal is', 'entries of the journal are')} damaged"] * bool(broken)
    told += [f"the journal does not tell of {plural(lacking, 'revision')}"] * bool(lacking)
    told += [f"the database does not have {plural(ahead, 'revision')} that the archive has"] * bool(ahead)
    return ", ".join(told)


def _bring_in_step(job: _Job) -> str:
    with job.memory.writing() as opened:
        with opened.writer.transaction():
            opened.writer.mark_journal(-1)  # so that all is compared
        return "; ".join(bring_in_step(opened, job.memory.config.privacy, at=now_us()))


def _chunk_damage(job: _Job) -> str:
    if not has_archive(job.memory.home):
        return ""
    home = job.memory.home
    with job.archive() as archive:
        check(archive, chunks_of_packs(home, sorted(pack_ends(home))))
        return known_damage(home, archive).told()


def _archive_again(job: _Job) -> str:
    home = job.memory.home
    with job.memory.writing() as (_, writer, _, archive, _):
        before = archive.condition.damaged
        heal(archive, writer, elsewhere(archive, archive, before))
    notes = sync(job.memory).notes if archive.condition.damaged else []
    if archive.condition.damaged and (staged := job.staged()) is not None:
        with (
            Archive.open(staged.folder / "archive", staged.keys, read_only=True) as other,
            job.memory.writing() as (_, writer, _, archive, _),
        ):
            heal(archive, writer, elsewhere(archive, other, archive.condition.damaged))
        notes = []
    with job.memory.writing() as opened:
        begin_again(opened.archive, opened.writer, list(opened.reader.sources()))
    sync(job.memory)  # what could not be derived of them before
    with job.archive() as archive:
        left = known_damage(home, archive)
    back = f"{len(before) - left.chunks:,} of {len(before):,} chunks are back"
    if left.chunks:
        raise ArchiveError(f"{back}. {left.told()}", hint="a backup of this memory may hold them: `--from BACKUP`")
    return "; ".join([back, *notes])


def _how_keys_return(job: _Job) -> str:
    return "take them from the backup" if job.source else "a backup is needed for that"


STEPS: tuple[RepairStep, ...] = (
    RepairStep("keys", _keys_damage, _how_keys_return, _put_keys_back),
    RepairStep("database", _database_damage, _what_becomes_of_the_database, _derive_database),
    RepairStep("archive", _archive_damage, lambda _: "bring journal and database in step again", _bring_in_step),
    RepairStep(
        "chunks",
        _chunk_damage,
        lambda _: "archive again what the packs, the agents' files or the backup still hold",
        _archive_again,
        is_needed=False,
    ),
)
