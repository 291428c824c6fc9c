"""`memory.upkeep.doctor` and `.fix`: what is wrong, found by checks, and what of it can safely be put right."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec

from recollect.clock import now_us
from recollect.config import Config
from recollect.errors import ArchiveError, RecollectError, SettingsError, StoreError
from recollect.ingest.keeper.client import ask_status
from recollect.ingest.keeper.instance import CARD_NAME, LOCK_NAME, is_alive, read_card
from recollect.ingest.report import SyncReport
from recollect.maintenance.doctor import diagnose
from recollect.maintenance.home_checks import DoctorContext, left_behind, open_to_others
from recollect.maintenance.repair import repair
from recollect.maintenance.reports import Check, DaemonSeen, DistillHealth, DoctorReport, Fix
from recollect.maintenance.service.service import Service
from recollect.maintenance.setup.manifest import load_manifest
from recollect.memory.embedding import EmbeddingFacet
from recollect.memory.setup import SetupFacet
from recollect.paths import DATABASE_NAME
from recollect.store.audit import add_audit
from recollect.store.home import make_home
from recollect.store.lock import IngestLock
from recollect.store.reader import Reader
from recollect.store.snapshots import give_back
from recollect.units import plural
from recollect.wire import RUN_FOLDER, SOCKET_NAME

if TYPE_CHECKING:
    from recollect.archive.archive import Archive
    from recollect.archive.keys import HomeKeys
    from recollect.memory.learnings.facet import LearnFacet
    from recollect.store.writer import Writer

Say = Callable[[Fix], None]


class HasHealth(Protocol):
    """What tells how far distilling is."""

    def health(self) -> DistillHealth: ...


class OpenHome(Protocol):
    """What doctor needs of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]

    @property
    def embedding(self) -> EmbeddingFacet: ...
    @property
    def distilling(self) -> HasHealth: ...
    @property
    def learn(self) -> LearnFacet: ...
    @property
    def setup(self) -> SetupFacet: ...
    def reader(self) -> Reader: ...
    def sync(self) -> SyncReport: ...
    def writing(self) -> AbstractContextManager[tuple[Writer, Archive, HomeKeys]]: ...
    def rebuild(self, what: Literal["index", "all"], *, authored: Path | None = None) -> SyncReport: ...
    def close(self) -> None: ...


def doctor(memory: OpenHome) -> DoctorReport:
    """Run every check now. Never raises for what it finds; creates nothing."""
    return diagnose(
        DoctorContext(
            memory.home,
            memory.config,
            memory.env,
            now_us(),
            open_reader=memory.reader,
            vectors=memory.embedding.coverage,
            entry_vectors=memory.embedding.entry_coverage,
            passages=memory.embedding.passage_coverage,
            distilled=memory.distilling.health,
            learning=memory.learn.status,
            daemon=lambda: daemon_seen(memory.home),
        )
    )


def daemon_seen(home: Path) -> DaemonSeen:
    """Return the daemon of a home as it is seen from outside."""
    card = read_card(home)
    if card is not None:
        told = ask_status(home) if not card.port else None
        no_http = told.http if told is not None and not told.url else ""
        return DaemonSeen(card.pid, card.version, no_http=no_http, no_socket=card.no_socket)
    return DaemonSeen(is_stale=(home / RUN_FOLDER / CARD_NAME).exists() and not is_alive(home))


class Remedy(NamedTuple):
    """What can safely be done about a check. does: said before it is done; do: returns what came of it."""

    ids: tuple[str, ...]
    does: Callable[[OpenHome, Check], str]
    do: Callable[[OpenHome], str]


def fix(memory: OpenHome, *, is_dry_run: bool = False, say: Say = lambda _: None) -> DoctorReport:
    """Do what is safe about what the checks find, say each step before it is done, then run the checks again.

    is_dry_run: says what it would do. Nothing that is stored is dropped: what is derived is derived anew, permissions
    are closed, leavings go. What was done is kept in the audit.
    """
    report = doctor(memory)
    fixes: list[Fix] = []
    tried: set[Remedy] = set()
    while True:
        found = {check.id: check for check in reversed(report.checks) if check.state != "ok"}
        todo = [(one, check) for one in REMEDIES if one not in tried and (check := _first(one, found)) is not None]
        if not todo:
            break
        for remedy, check in todo:
            step = Fix(check.id, remedy.does(memory, check), "would")
            say(step)
            fixes.append(step if is_dry_run else _done(memory, remedy, step))
            tried.add(remedy)
        if is_dry_run:
            break
        report = doctor(memory)  # what one thing put right may show another: events derived anew have no vectors yet
    if fixes and not is_dry_run:
        _note(memory, fixes)
    return msgspec.structs.replace(report, fixes=tuple(fixes))


def _first(remedy: Remedy, found: Mapping[str, Check]) -> Check | None:
    return next((found[one] for one in remedy.ids if one in found), None)


def _done(memory: OpenHome, remedy: Remedy, step: Fix) -> Fix:
    try:
        return msgspec.structs.replace(step, state="done", detail=remedy.do(memory))
    except (RecollectError, OSError) as error:
        return msgspec.structs.replace(step, state="failed", detail=str(error))


def _note(memory: OpenHome, fixes: list[Fix]) -> None:
    """Keep what was done. Where there is no database that could keep it, the report has it all the same."""
    if (memory.home / DATABASE_NAME).exists():
        with suppress(StoreError):
            add_audit(memory.home, "fix", {"fixes": [[step.id, step.state] for step in fixes]}, at=now_us())


def _close_to_others(memory: OpenHome) -> str:
    count = 0
    for path in list(open_to_others(memory.home)):
        mode = stat.S_IMODE(path.lstat().st_mode)
        path.chmod(mode & 0o700)
        count += 1
    return f"{count:,} closed"


def _remove_leavings(memory: OpenHome) -> str:
    """Remove what nothing needs; under the ingest lock, so that none of it is somebody's work in progress."""
    lock = IngestLock(memory.home)
    try:
        found = left_behind(memory.home)
        for path in found:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    finally:
        lock.release()
    run = memory.home / RUN_FOLDER
    if (run / CARD_NAME).exists() and not is_alive(memory.home):
        held = IngestLock(run, name=LOCK_NAME)
        try:
            for name in (CARD_NAME, SOCKET_NAME):
                with suppress(FileNotFoundError):
                    (run / name).unlink()
        finally:
            held.release()
    return f"{len(found):,} removed"


def _give_room_back(memory: OpenHome) -> str:
    memory.close()
    lock = IngestLock(memory.home)
    try:
        give_back(memory.home)
    finally:
        lock.release()
    return ""


def _sync(memory: OpenHome) -> str:
    report = memory.sync()
    if report.state == "busy":
        raise StoreError(report.notes[0] if report.notes else "another process is ingesting")
    return "; ".join(report.notes)


def _repair(memory: OpenHome) -> str:
    """What `recollect repair` does without a backup. Raises ArchiveError for what is left."""
    report = repair(memory)
    told = "; ".join(step.detail for step in report.steps if step.detail)
    if not report.ok:
        raise ArchiveError(told)
    return told


def _mend_index(memory: OpenHome) -> str:
    """A sync mends what is missing; what cannot be opened after it is made anew as a whole."""
    said = _sync(memory)
    still = next((c for c in doctor(memory).checks if c.id == "index" and c.state == "fail"), None)
    if still is None:
        return said
    memory.rebuild("index")
    return "the whole index was made anew"


def _embed(memory: OpenHome) -> str:
    report = memory.embedding.run()
    return f"{plural(report.chunks, 'vector')} made"


def _set_up_again(memory: OpenHome) -> str:
    """Bring what setup wrote to this version; what a person edited since is left to them."""
    told = []
    manifest = load_manifest(memory.home).agents
    for check in doctor(memory).checks:
        if check.id == "outdated":
            slug = check.name.split()[1]
            told.append(f"{slug}: {memory.setup.prepare(slug, manifest[slug].mode).do().state}")
    return ", ".join(told)


def _install_again(memory: OpenHome) -> str:
    """Have the service written and started as this version does it; what a person edited stays, and is an error."""
    home = memory.home
    report = Service(home, memory.env, make_home=partial(make_home, home)).install_again()
    if not report.ok:
        raise SettingsError(report.detail)
    return report.state


def _says(text: str) -> Callable[[OpenHome, Check], str]:
    return lambda _memory, check: f"{text} ({check.detail})"


REMEDIES: tuple[Remedy, ...] = (
    Remedy(("permissions", "home"), _says("close the home to others"), _close_to_others),
    Remedy(("keys", "database", "archive"), _says("repair what is damaged"), _repair),
    Remedy(("leftovers",), _says("remove what was left behind"), _remove_leavings),
    Remedy(("index",), _says("bring the search index in step"), _mend_index),
    Remedy(
        ("hooks", "parsers", "detectors", "analyses"),
        _says("ingest what waits, and derive anew what older rules made"),
        _sync,
    ),
    Remedy(("vectors",), _says("make the vectors that are missing"), _embed),
    Remedy(("outdated",), _says("write again what an older version set up in an agent's settings"), _set_up_again),
    Remedy(("service",), _says("install the service again"), _install_again),
    Remedy(("wal",), _says("give free room in the database back"), _give_room_back),
)
"""In this order: what others rest on comes first, giving room back last."""
