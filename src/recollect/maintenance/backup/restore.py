"""`memory.maintenance.backup` and `.restore`."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.files import make_private_folder, write_error
from recollect.archive.journal import JournalTombstone as ArchivedTombstone
from recollect.archive.journal import burying
from recollect.archive.keys import WRAPPING_FILE, HomeKeys, change_wrapping, load_keys, read_envelope
from recollect.archive.sealer import Sealer
from recollect.clock import now_us
from recollect.erasure.forget import Opened, apply_tombstones
from recollect.errors import (
    ArchiveError,
    BackupUnusable,
    KeyUnavailable,
    SchemaTooNew,
    StoreError,
    StoreLocked,
    UsageError,
)
from recollect.files import DRAFT_SUFFIX, move, write_file
from recollect.ingest.daemon_status import LOCK_NAME
from recollect.ingest.rebuild import rebuild_all, rebuild_index_of, revisions_of
from recollect.ingest.restore_swap import aside_name, begin_staging, drop_staging, swap
from recollect.maintenance.backup import manifest as m
from recollect.maintenance.backup.contents import Progress, check_database, copy_stream
from recollect.maintenance.backup.create import back_up, open_members
from recollect.maintenance.backup.manifest import (
    BackupManifest,
    BackupReport,
    LastBackup,
    RestoreReport,
    StoredFile,
    remember,
)
from recollect.model.time import minute_of
from recollect.paths import DATABASE_NAME
from recollect.store.audit import add_audit
from recollect.store.connection import has_archive, has_database
from recollect.store.documents import path_mark
from recollect.store.erasure.note_rows import Keeping
from recollect.store.event_names import begin_above
from recollect.store.home import Home, Store, make_home
from recollect.store.lock import IngestLock
from recollect.store.migrations import SCHEMA_VERSION
from recollect.store.reader import open_reader
from recollect.store.snapshots import copy_authored, has_authored, open_copy, take_snapshot
from recollect.store.writer import open_writer
from recollect.units import plural
from recollect.wire import RUN_FOLDER

if TYPE_CHECKING:
    from recollect.ingest.open_home import OpenHome


class Staged(NamedTuple):
    """A backup that was copied beside a memory and found whole. chunks: that were opened."""

    folder: Path
    manifest: BackupManifest
    keys: HomeKeys
    chunks: int


class Loss(NamedTuple):
    """What a memory has that a backup has not. sessions: uid to how many events of it are lacking."""

    sessions: Mapping[str, int]

    @property
    def events(self) -> int:
        """How many events that are."""
        return sum(self.sessions.values())


def look_at(source: Path) -> BackupManifest | None:
    """Return the manifest of a folder backup; None for a file backup, which has it at its end.

    Raises BackupUnusable for anything but a whole backup.
    """
    if source.is_dir():
        manifest = m.read_manifest(source)
        if manifest is None:
            why = "was not finished" if (source / m.PARTIAL).exists() else "is no backup"
            raise BackupUnusable(f"{source} {why}: it has no {m.MANIFEST}")
        return manifest
    if not source.exists():
        raise BackupUnusable(f"{source} does not exist")
    return None


def stage(source: Path, folder: Path, *, keys_of: Path, progress: Progress | None = None) -> Staged:
    """Copy a backup into an empty folder as a home, and check all of it: hashes, pages, every chunk.

    keys_of: the keys folder of the present memory: used where the backup has no wrapping key.

    Raises:
        BackupUnusable: it is not whole, or damaged. SchemaTooNew: a newer version made it.
        KeyUnavailable: neither the backup nor this machine has the key that opens it.
        DiskFull, ArchiveError, StoreError: as named.
    """
    manifest = look_at(source)
    if manifest is None:
        manifest = _unpack(source, folder, progress)
    else:
        _copy(source, folder, manifest, progress)
    if manifest.schema > SCHEMA_VERSION:
        raise SchemaTooNew(manifest.schema, SCHEMA_VERSION)
    check_database(folder / DATABASE_NAME)
    keys = _keys(folder, keys_of)
    return Staged(folder, manifest, keys, _open_chunks(folder, keys, set(manifest.damaged), progress))


def loss(home: Path, staged: Path) -> Loss:
    """Return what the memory in `home` has and the one in `staged` lacks.

    Raises StoreError and its subclasses: the memory's database cannot be read.
    """
    if not (home / DATABASE_NAME).exists():
        return Loss({})
    with take_snapshot(home) as now:
        present = now.sessions()
    with take_snapshot(staged) as then:
        restored = then.sessions()
    lacking = {uid: count - restored.get(uid, 0) for uid, count in present.items()}
    return Loss({uid: lacks for uid, lacks in lacking.items() if lacks > 0 or uid not in restored})


def _copy(source: Path, folder: Path, manifest: BackupManifest, progress: Progress | None) -> None:
    done = 0
    for one in manifest.files:
        try:
            with (source / one.stored).open("rb") as stream:
                _place(stream, folder, one)
        except FileNotFoundError as error:
            raise BackupUnusable(f"{source} has lost {one.stored}") from error
        done += one.bytes
        if progress is not None:
            progress("copy", done, manifest.bytes)


def _place(stream: IO[bytes], folder: Path, one: StoredFile) -> None:
    path = folder / one.place
    make_private_folder(path.parent)
    if copy_stream(stream, path, one.bytes) != (one.bytes, one.sha256):
        raise BackupUnusable(f"{one.stored} in the backup is damaged")


def _unpack(source: Path, folder: Path, progress: Progress | None) -> BackupManifest:
    """Take a backup that is one file apart. What its members are shows only at the end, in the manifest."""
    unpacked = folder.with_name("unpacked")
    shutil.rmtree(unpacked, ignore_errors=True)
    found: dict[str, tuple[int, str]] = {}
    manifest: BackupManifest | None = None
    size = source.stat().st_size
    with open_members(source) as members:
        for name, stream in members:
            path = unpacked / name
            make_private_folder(path.parent)
            found[name] = copy_stream(stream, path, 1 << 62)
            if progress is not None:
                progress("copy", min(sum(length for length, _ in found.values()), size), size)
            if name == m.MANIFEST:
                manifest = m.decode_manifest(path.read_bytes(), where=str(source))
    if manifest is None:
        raise BackupUnusable(f"{source} is not a whole backup: it has no {m.MANIFEST}")
    for one in manifest.files:
        if found.get(one.stored) != (one.bytes, one.sha256):
            raise BackupUnusable(f"{one.stored} in the backup is missing or damaged")
        path = folder / one.place
        make_private_folder(path.parent)
        move(unpacked / one.stored, path, durable=True)
    shutil.rmtree(unpacked, ignore_errors=True)
    return manifest


def _keys(folder: Path, keys_of: Path) -> HomeKeys:
    """Return the keys of what is staged, which then has all it needs of them.

    Its own; else its data key with the wrapping key of the memory that it is for; else, where that memory has been
    given another wrapping key since, that memory's keys if they open the archive.
    """
    own = folder / "keys"
    try:
        return load_keys(own)
    except KeyUnavailable as error:
        why = error
    wrapping = keys_of / WRAPPING_FILE
    if wrapping.is_file() and not (own / WRAPPING_FILE).exists():
        make_private_folder(own)
        write_file(own / WRAPPING_FILE, wrapping.read_bytes(), durable=True)
        with suppress(KeyUnavailable):
            return load_keys(own)
    try:
        keys = load_keys(keys_of)
        with Archive.open(folder / "archive", keys, read_only=True) as archive:
            next(archive.entries(), None)
    except KeyUnavailable:
        hint = f"put the wrapping key that was kept elsewhere at {wrapping}"
        raise KeyUnavailable(f"the backup has no key that opens it ({why})", hint=hint) from why
    shutil.rmtree(own, ignore_errors=True)
    make_private_folder(own)
    for path in keys_of.iterdir():
        if path.is_file() and not path.name.endswith(DRAFT_SUFFIX):
            write_file(own / path.name, path.read_bytes(), durable=True)
    return keys


def _open_chunks(folder: Path, keys: HomeKeys, damaged: set[str], progress: Progress | None) -> int:
    """Open every chunk; return how many. damaged: those that did not open when the backup was made."""
    count = 0
    with (
        Archive.open(folder / "archive", keys, read_only=True) as archive,
        open_copy(folder / DATABASE_NAME) as database,
    ):
        places = list(database.chunks())
        total = sum(place.length for place in places)
        done = 0
        for place in places:
            try:
                for _ in archive.iter_bytes((place,)):
                    count += 1
            except ArchiveError as error:
                if place.name.hex() not in damaged:
                    raise BackupUnusable(f"the backup's archive is damaged: {error}") from error
            done += place.length
            if progress is not None:
                progress("check", done, total)
    return count


SHOWN_LOSSES = 100
EXCLUDED = "excluded"
"""The kind of tombstone that hangs on the configuration: kept in the database alone."""


def backup(
    memory: OpenHome, target: Path, *, with_key: bool = True, force: bool = False, progress: Progress | None = None
) -> BackupReport:
    """Back up the memory as of one moment; see `recollect.maintenance.backup.create.back_up`."""
    folders = Home(memory.home)
    try:
        sealer = Sealer(load_keys(folders.keys))
    except KeyUnavailable:
        sealer = None
    report = back_up(memory.home, target, sealer, with_key=with_key, force=force, progress=progress)
    try:
        remember(memory.home, LastBackup(report.target, report.made_at))
    except (ArchiveError, StoreError) as error:
        if os.access(memory.home, os.W_OK):
            raise
        note = f"the memory is read-only, so it cannot record that this backup was made ({error})"
        return msgspec.structs.replace(report, notes=(*report.notes, note))
    return report


def restore(
    memory: OpenHome, source: Path, *, force: bool = False, keep: bool = False, progress: Progress | None = None
) -> RestoreReport:
    """Let a backup take the place of the memory, or become one if there is none.

    force: a memory that is there is replaced. keep: it is kept aside then.

    It is copied beside the memory and checked whole first; what was forgotten here since is forgotten in it too; its
    index is made; only then the two change places, in steps that a crash cannot leave half done.

    Raises:
        UsageError: there is a memory already and `force` is not set; says what it has that the backup has not.
        StoreLocked: the memory is at work. BackupUnusable, KeyUnavailable, SchemaTooNew, DiskFull, StoreError: as
        named; the memory is then as it was.
    """
    started = time.perf_counter()
    look_at(source)
    make_home(memory.home)
    memory.close()
    notes: list[str] = []
    with _nobody_at_work(memory.home):
        try:
            new = begin_staging(memory.home)
            staged = stage(source, new, keys_of=memory.home / "keys", progress=progress)
            is_ahead = _archive_is_ahead(staged)
            forgotten = _forget_again(memory, staged, notes)
            begin_above(staged.folder, memory.home)
            said = len(notes)
            lost = _lost(memory.home, new, notes)
            _may_replace(memory, staged, lost, notes[said:], force=force)
            if not is_ahead:
                _make_index(memory, staged)
            aside = _aside(memory.home, keep=keep)
            _own_key(memory.home, staged, notes, is_kept=bool(aside))
            _add_audit(staged, lost, forgotten)
            swap(memory.home, aside=aside)
        except OSError as error:
            if error.filename and Path(os.fsdecode(error.filename)).is_relative_to(source):
                raise BackupUnusable(f"{error.filename} cannot be read: {error.strerror}") from error
            raise write_error(error, memory.home) from error
        finally:
            drop_staging(memory.home)
    if is_ahead:
        notes.append("the archive in the backup was ahead of its database, so everything was derived again from it")
        rebuild_all(Home(memory.home), staged.keys, memory.config)
    with take_snapshot(memory.home) as snapshot:
        counts = snapshot.counts()
    if lost.sessions:
        notes.append(
            "what their agents' files still hold of them comes back with the next `recollect sync`, but under other "
            "numbers: look up again what was cited as SESSION#SEQ since the backup was made"
        )
    return RestoreReport(
        home=str(memory.home), source=str(source), made_at=staged.manifest.made_at, version=staged.manifest.version,
        sessions=counts.sessions, events=counts.events, chunks=staged.chunks, lost_sessions=len(lost.sessions),
        lost_events=lost.events, lost=tuple(sorted(lost.sessions)[:SHOWN_LOSSES]), forgotten=forgotten,
        aside=str(memory.home / aside) if aside else "", seconds=time.perf_counter() - started, notes=tuple(notes),
    )  # fmt: skip


@contextmanager
def _nobody_at_work(home: Path) -> Iterator[None]:
    """Hold what a daemon and an ingester hold. Raises StoreLocked naming who does."""
    with ExitStack() as held:
        if (home / RUN_FOLDER).is_dir():
            try:
                daemon = IngestLock(home / RUN_FOLDER, name=LOCK_NAME, work="serving")
            except StoreLocked as error:
                raise StoreLocked(str(error), hint="stop it first: `recollect up --stop`") from error
            held.callback(daemon.release)
        held.callback(IngestLock(home).release)
        yield


def _archive_is_ahead(staged: Staged) -> bool:
    """Return whether the journal has more of a source than the database: it was ingested during the backup."""
    with Archive.open(staged.folder / "archive", staged.keys, read_only=True) as archive:
        with take_snapshot(staged.folder) as snapshot:
            taken = snapshot.committed()
        return any(
            found.committed_bytes > taken.get((found.row.source_id, found.row.revision), -1)
            for found in revisions_of(archive)
        )


def _lost(home: Path, new: Path, notes: list[str]) -> Loss:
    try:
        return loss(home, new)
    except StoreError as error:
        notes.append(f"what else this memory contains is unknown, because it cannot be read: {error}")
        return Loss({})


def _may_replace(memory: OpenHome, staged: Staged, lost: Loss, unknown: Sequence[str], *, force: bool) -> None:
    home = memory.home
    if force or not (has_archive(home) or _has_own(home)):
        return
    moment = minute_of(staged.manifest.made_at, memory.zone)
    what = next(iter(unknown), f"all its sessions are in the backup of {moment}")
    if lost.sessions:
        many = plural(len(lost.sessions), "session of it is", "sessions of it are")
        what = f"{many} not, or only in part, in the backup of {moment}"
    raise UsageError(
        f"{home} already holds a memory; {what}", hint="--force replaces it; --keep also keeps the old one"
    )


def _has_own(home: Path) -> bool:
    """Return whether a memory whose archive is empty has notes, collections and the like, or may have some."""
    try:
        if not has_database(home):
            return False
        with open_reader(home, None, None) as reader:
            return bool(reader.names("collection")) or has_authored(home)
    except StoreError:
        return True


def _make_index(memory: OpenHome, staged: Staged) -> None:
    folders = Home(staged.folder)
    with (
        Store.open(staged.folder, memory.config.privacy) as store,
        store.writer(domains=memory.config.repos.domains, own_folder=memory.home) as writer,
    ):
        rebuild_index_of(folders, writer, store.reader)


def _aside(home: Path, *, keep: bool) -> str:
    """Return the name under which the memory of before is kept; its database is copied for that, while it is whole."""
    if not keep or not (home / DATABASE_NAME).exists():
        return ""
    old = home / "restore" / "old"
    old.mkdir(mode=0o700)
    with take_snapshot(home) as snapshot:
        snapshot.copy_to(old / DATABASE_NAME)
    return aside_name(now_us())


def _forget_again(memory: OpenHome, staged: Staged, notes: list[str]) -> int:
    """Unite the tombstones of both memories, and apply them to the restored one; return how many sessions lost some.

    Includes the marks of forgotten notes, learnings, documents and tags. The audit log and the pins of the present
    memory are kept too.
    """
    try:
        copy_authored(memory.home, staged.folder, ("tombstone", "document_kept_out", "audit", "pin"))
    except StoreError as error:
        notes.append(f"what was forgotten since the backup is unknown, because this memory cannot be read: {error}")
    with open_writer(staged.folder, domains=memory.config.repos.domains, own_folder=memory.home) as writer:
        forgetting = writer.removing.forgetting
        with forgetting.overwriting(), writer.transaction():
            forgetting.written.remove_kept_out(Keeping(partial(path_mark, staged.keys.forget_key), now_us()))
        stones = {ArchivedTombstone(*stone) for stone in forgetting.tombstones()}
        stones |= _archived_stones(memory.home, staged, notes)
        if not stones:
            return 0
        with (
            Store.open(staged.folder, memory.config.privacy) as store,
            Archive.open(staged.folder / "archive", staged.keys) as archive,
        ):
            known = {stone.id for stone in archive.tombstones()}
            lacking = [one for one in stones if one.kind != EXCLUDED and one.id not in known]
            if lacking:
                archive.record([burying(lacking)])
                archive.flush()
            opened = Opened(Home(staged.folder), writer, store.reader, archive, staged.keys)
            report = apply_tombstones(opened, at=now_us())
        notes += report.notes
        return report.whole_sessions + report.partial_sessions


def _archived_stones(home: Path, staged: Staged, notes: list[str]) -> set[ArchivedTombstone]:
    """Return what the archive here says was forgotten: it knows that also where its database is lost."""
    if not (home / "archive" / "journal.log").exists():
        return set()
    try:
        keys = load_keys(home / "keys")
        if keys.forget_key != staged.keys.forget_key:
            notes.append("the backup is of another memory: what was forgotten here cannot be found in it")
        with Archive.open(home / "archive", keys, read_only=True) as archive:
            return set(archive.tombstones())
    except ArchiveError as error:
        notes.append(f"what the archive here says of things forgotten cannot be read: {error}")
        return set()


def _own_key(home: Path, staged: Staged, notes: list[str], *, is_kept: bool) -> None:
    """Give what is restored a wrapping key of its own where the keyring has one for another memory too: whoever gives
    that another key takes the old one out of the keyring. is_kept: the memory here is set aside, not replaced."""
    keys = staged.folder / "keys"
    envelope = read_envelope(keys)
    if envelope.kept != "keyring":
        return
    with suppress(KeyUnavailable):
        if not is_kept and read_envelope(home / "keys").wrapped_by == envelope.wrapped_by:
            return
    try:
        change_wrapping(keys, "keyring", is_shared=True)
    except KeyUnavailable as error:
        notes.append(
            "its wrapping key in the keyring is that of the memory that was backed up, and goes when that is given "
            f"another one: `recollect keys move file` gives this one a key of its own ({error})"
        )


def _add_audit(staged: Staged, lost: Loss, forgotten: int) -> None:
    value = {"made_at": staged.manifest.made_at, "lost_sessions": len(lost.sessions), "lost_events": lost.events}
    add_audit(staged.folder, "restore", {**value, "forgotten": forgotten}, at=now_us())
