"""`memory.maintenance.doctor` and `.fix`: runs checks, and fixes what is safe to fix."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.clock import now_us
from recollect.errors import ArchiveError, RecollectError, SettingsError, StoreError
from recollect.ingest.daemon_status import CARD_NAME, LOCK_NAME, ask_status, is_alive, read_card
from recollect.ingest.distill import DistillingFacet
from recollect.ingest.learnings.run import LearnFacet
from recollect.ingest.open_home import OpenHome
from recollect.ingest.operations import rebuild, sync
from recollect.maintenance.home_checks import DoctorContext, left_behind, open_to_others
from recollect.maintenance.memory_checks import diagnose
from recollect.maintenance.repair import repair
from recollect.maintenance.reports import Check, DaemonSeen, DoctorReport, Fix
from recollect.maintenance.service.service import Service
from recollect.maintenance.setup.agent_settings import load_manifest
from recollect.memory.setup import SetupFacet
from recollect.paths import DATABASE_NAME
from recollect.store.audit import add_audit
from recollect.store.home import make_home
from recollect.store.lock import IngestLock
from recollect.store.snapshots import give_back
from recollect.units import plural
from recollect.wire import RUN_FOLDER, SOCKET_NAME

Say = Callable[[Fix], None]


def doctor(home: OpenHome) -> DoctorReport:
    """Run every check now. Never raises because of findings; creates nothing."""
    return diagnose(
        DoctorContext(
            home.home,
            home.config,
            home.env,
            now_us(),
            open_reader=home.reader,
            vectors=home.embedding.coverage,
            entry_vectors=home.embedding.entry_coverage,
            passages=home.embedding.passage_coverage,
            distilled=DistillingFacet(home).health,
            learning=LearnFacet(home).status,
            daemon=lambda: daemon_seen(home.home),
        )
    )


def daemon_seen(home: Path) -> DaemonSeen:
    """Return the state of a home's daemon as seen from outside."""
    card = read_card(home)
    if card is not None:
        told = ask_status(home) if not card.port else None
        no_http = told.http if told is not None and not told.url else ""
        return DaemonSeen(card.pid, card.version, no_http=no_http, no_socket=card.no_socket)
    return DaemonSeen(is_stale=(home / RUN_FOLDER / CARD_NAME).exists() and not is_alive(home))


class Remedy(NamedTuple):
    """A safe fix for a check. does: announced before it runs; do: runs it and returns the result."""

    ids: tuple[str, ...]
    does: Callable[[OpenHome, Check], str]
    do: Callable[[OpenHome], str]


def fix(home: OpenHome, *, is_dry_run: bool = False, say: Say = lambda _: None) -> DoctorReport:
    """Apply safe fixes for what the checks find, announce each one first, then run the checks again.

    is_dry_run: only announce. Deletes nothing that is stored: derives data again, closes permissions, removes
    leftovers. The audit log records every fix.
    """
    report = doctor(home)
    fixes: list[Fix] = []
    tried: set[Remedy] = set()
    while True:
        found = {check.id: check for check in reversed(report.checks) if check.state != "ok"}
        todo = [(one, check) for one in REMEDIES if one not in tried and (check := _first(one, found)) is not None]
        if not todo:
            break
        for remedy, check in todo:
            step = Fix(check.id, remedy.does(home, check), "would")
            say(step)
            fixes.append(step if is_dry_run else _done(home, remedy, step))
            tried.add(remedy)
        if is_dry_run:
            break
        report = doctor(home)  # what one thing put right may show another: events derived again have no vectors yet
    if fixes and not is_dry_run:
        _note(home, fixes)
    return msgspec.structs.replace(report, fixes=tuple(fixes))


def _first(remedy: Remedy, found: Mapping[str, Check]) -> Check | None:
    return next((found[one] for one in remedy.ids if one in found), None)


def _done(home: OpenHome, remedy: Remedy, step: Fix) -> Fix:
    try:
        return msgspec.structs.replace(step, state="done", detail=remedy.do(home))
    except (RecollectError, OSError) as error:
        return msgspec.structs.replace(step, state="failed", detail=str(error))


def _note(home: OpenHome, fixes: list[Fix]) -> None:
    """Keep what was done. Where there is no database that could keep it, the report has it all the same."""
    if (home.home / DATABASE_NAME).exists():
        with suppress(StoreError):
            add_audit(home.home, "fix", {"fixes": [[step.id, step.state] for step in fixes]}, at=now_us())


def _close_to_others(home: OpenHome) -> str:
    count = 0
    for path in list(open_to_others(home.home)):
        mode = stat.S_IMODE(path.lstat().st_mode)
        path.chmod(mode & 0o700)
        count += 1
    return f"{count:,} closed"


def _remove_leavings(home: OpenHome) -> str:
    """Remove what nothing needs; under the ingest lock, so that none of it is somebody's work in progress."""
    lock = IngestLock(home.home)
    try:
        found = left_behind(home.home)
        for path in found:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    finally:
        lock.release()
    run = home.home / RUN_FOLDER
    if (run / CARD_NAME).exists() and not is_alive(home.home):
        held = IngestLock(run, name=LOCK_NAME)
        try:
            for name in (CARD_NAME, SOCKET_NAME):
                with suppress(FileNotFoundError):
                    (run / name).unlink()
        finally:
            held.release()
    return f"{len(found):,} removed"


def _give_room_back(home: OpenHome) -> str:
    home.close()
    lock = IngestLock(home.home)
    try:
        give_back(home.home)
    finally:
        lock.release()
    return ""


def _sync(home: OpenHome) -> str:
    report = sync(home)
    if report.state == "busy":
        raise StoreError(report.notes[0] if report.notes else "another process is ingesting")
    return "; ".join(report.notes)


def _repair(home: OpenHome) -> str:
    """What `recollect repair` does without a backup. Raises ArchiveError for what is left."""
    report = repair(home)
    told = "; ".join(step.detail for step in report.steps if step.detail)
    if not report.ok:
        raise ArchiveError(told)
    return told


def _mend_index(home: OpenHome) -> str:
    """A sync mends what is missing; what cannot be opened after it is made again as a whole."""
    said = _sync(home)
    still = next((c for c in doctor(home).checks if c.id == "index" and c.state == "fail"), None)
    if still is None:
        return said
    rebuild(home, "index")
    return "the whole index was rebuilt"


def _embed(home: OpenHome) -> str:
    report = home.embedding.run()
    return f"{plural(report.chunks, 'vector')} made"


def _set_up_again(home: OpenHome) -> str:
    """Bring what setup wrote to this version; what a person edited since is left to them."""
    told = []
    manifest = load_manifest(home.home).agents
    for check in doctor(home).checks:
        if check.id == "outdated":
            slug = check.name.split()[1]
            told.append(f"{slug}: {SetupFacet(home).prepare(slug, manifest[slug].mode).do().state}")
    return ", ".join(told)


def _install_again(home: OpenHome) -> str:
    """Have the service written and started as this version does it; what a person edited stays, and is an error."""
    report = Service(home.home, home.env, make_home=partial(make_home, home.home)).install_again()
    if not report.ok:
        raise SettingsError(report.detail)
    return report.state


def _says(text: str) -> Callable[[OpenHome, Check], str]:
    return lambda _memory, check: f"{text} ({check.detail})"


REMEDIES: tuple[Remedy, ...] = (
    Remedy(("permissions", "home"), _says("make the home private"), _close_to_others),
    Remedy(("keys", "database", "archive"), _says("repair what is damaged"), _repair),
    Remedy(("leftovers",), _says("remove what was left behind"), _remove_leavings),
    Remedy(("index",), _says("update the search index"), _mend_index),
    Remedy(
        ("hooks", "parsers", "detectors", "analyses"),
        _says("ingest what waits, and derive again what older versions derived"),
        _sync,
    ),
    Remedy(("vectors",), _says("compute the missing vectors"), _embed),
    Remedy(("outdated",), _says("update what an older version wrote into an agent's settings"), _set_up_again),
    Remedy(("service",), _says("install the service again"), _install_again),
    Remedy(("wal",), _says("free unused space of the database"), _give_room_back),
)
"""In this order: what others rest on comes first, giving room back last."""
