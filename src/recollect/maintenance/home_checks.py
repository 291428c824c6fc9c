"""Checks of machine and home: versions, disk space, permissions, leftovers, service, recent failures."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from recollect.agents.base import Adapter
from recollect.agents.registry import adapters_with
from recollect.archive.keys import drafts
from recollect.config import Config
from recollect.erasure.retention import limits_of, look
from recollect.errors import RecollectError
from recollect.files import DRAFT_SUFFIX
from recollect.index.vectors.vector_index import VectorCoverage
from recollect.ingest.distill import DistillHealth
from recollect.ingest.learnings.status import LearnStatus
from recollect.ingest.restore_swap import kept_memories
from recollect.maintenance.backup.manifest import last_backup
from recollect.maintenance.reports import Check, DaemonSeen
from recollect.maintenance.service.service import Service
from recollect.ready_blocks import PROGRAM
from recollect.store.audit import read_audit
from recollect.store.home import Home
from recollect.store.reader import Reader
from recollect.units import plural, size


@dataclass(frozen=True)
class DoctorContext:
    """One home on one machine, and what is asked above this package; asking may raise, which is a finding.

    now_us: the time, UTC microseconds. vectors, entry_vectors: of events and of entries. passages: sessions that the
    contextual model has read.
    """

    folder: Path
    config: Config
    env: Mapping[str, str]
    now_us: int
    open_reader: Callable[[], Reader]
    vectors: Callable[[], VectorCoverage | None]
    entry_vectors: Callable[[], VectorCoverage | None]
    passages: Callable[[], VectorCoverage | None]
    distilled: Callable[[], DistillHealth]
    learning: Callable[[], LearnStatus]
    daemon: Callable[[], DaemonSeen]

    @cached_property
    def known(self) -> dict[str, Adapter]:
        """The agents that are known, with those of the configuration."""
        return adapters_with(self.config.formats())


OLDEST_PYTHON = (3, 11)
_LOW_DISK_BYTES = 500_000_000
BACKUP_DAYS = 30
"""Where a backup was ever made, one that is older than this is worth a word."""
_DAY_US = 24 * 3600 * 1_000_000
_SHOWN = 3
_INDEX = "index"


def machine_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield what there is to say without opening anything that is stored."""
    yield python()
    yield home(context)
    yield disk(context)
    if context.folder.exists():
        yield permissions(context)
        yield leftovers(context)
    yield daemon(context)
    last = backup(context)
    if last is not None:
        yield last
    for folder in kept_memories(context.folder):
        held = f"{folder} ({size(Home(folder).size_bytes())})"
        yield Check("kept memory", "ok", f"a restore kept {held}; delete it when you no longer need it")


def python() -> Check:
    """Say whether the interpreter is new enough."""
    here = f"{platform.python_version()} on {sys.platform}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Check("python", "fail", f"{here}; {oldest} or newer is needed", f"install Python {oldest} or newer")
    return Check("python", "ok", here)


def home(context: DoctorContext) -> Check:
    """Say whether the folder can be written, by its owner alone."""
    if not context.folder.exists():
        return Check("home", "ok", f"{context.folder} (not made yet)")
    mode = stat.S_IMODE(context.folder.stat().st_mode)
    if not os.access(context.folder, os.R_OK | os.W_OK | os.X_OK):
        return Check("home", "fail", f"{context.folder} cannot be written", f"chmod u+rwx {context.folder}")
    if os.name == "posix" and mode & 0o077:
        return Check(
            "home", "warn", f"{context.folder} can be read by others ({mode:o})", f"chmod 700 {context.folder}"
        )
    return Check("home", "ok", str(context.folder))


def disk(context: DoctorContext) -> Check:
    """Say whether there is room."""
    folder = context.folder
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        return Check("disk", "fail", f"{size(free)} free", "free some space; what is stored stays")
    return Check("disk", "ok", f"{size(free)} free")


def open_to_others(folder: Path) -> Iterator[Path]:
    """Yield what in a home others may read or write, the home itself first. POSIX only: elsewhere nothing.

    Of the index only folders: its engine makes files with the rights that the process gives, in closed folders.
    """
    if os.name != "posix":
        return
    for root, folders, names in os.walk(folder):
        is_index = Path(root).relative_to(folder).parts[:1] == (_INDEX,)
        for path in (Path(root), *(Path(root, name) for name in names if not is_index)):
            if not path.is_symlink() and _mode(path) & 0o077:
                yield path
        folders.sort()


def permissions(context: DoctorContext) -> Check:
    """Say whether anything in the home is open to others."""
    found = list(open_to_others(context.folder))
    if not found:
        return Check("permissions", "ok", "nothing in the home is open to others")
    keys = any("keys" in path.relative_to(context.folder).parts for path in found)
    named = ", ".join(str(path.relative_to(context.folder) or ".") for path in found[:_SHOWN])
    text = f"{plural(len(found), 'place')} can be read by others: {named}"
    hint = "`recollect doctor --fix` closes them"
    return Check("permissions", "fail" if keys else "warn", text, hint, tuple(map(str, found)))


def left_behind(folder: Path) -> list[Path]:
    """Return what crashes and older versions left in a home that nothing needs any more."""
    text = folder / "index" / "text"
    found = [folder / name for name in ("rebuild", "restore", "verify")]
    found = [path for path in found if path.is_dir() and not (path / "READY").exists()]
    found += sorted(text.glob("*.damaged")) if text.is_dir() else []
    found += [path for path in (folder / "memory.damaged.db",) if path.exists()]
    return found + sorted({*drafts(folder / "keys"), *folder.rglob(f"*{DRAFT_SUFFIX}")})


def leftovers(context: DoctorContext) -> Check:
    """Say what crashes and older versions left behind, and what a daemon that was killed did not take along."""
    found = [str(path.relative_to(context.folder)) for path in left_behind(context.folder)]
    if context.daemon().is_stale:
        found.append("run/daemon.json of a daemon that no longer runs")
    if not found:
        return Check("leftovers", "ok", "none")
    text = f"left by a crash or an older version: {', '.join(found)}"
    return Check("leftovers", "warn", text, "`recollect doctor --fix` removes them", tuple(found))


def daemon(context: DoctorContext) -> Check:
    """Say whether a daemon is at work, whether it is of this version, and whether it serves what it should."""
    seen = context.daemon()
    if not seen.pid:
        return Check(
            "daemon", "ok", "not running; searches, and hooks that `recollect setup` installs, ingest what is new"
        )
    if seen.version != PROGRAM:
        text = f"one of version {seen.version} is running (pid {seen.pid}), this is {PROGRAM}"
        return Check("daemon", "warn", text, "`recollect up --stop`, then `recollect up --detach`")
    if seen.no_http and context.config.daemon.http:
        text = f"running (pid {seen.pid}), but without MCP over HTTP and the status page: {seen.no_http}"
        return Check("daemon", "warn", text, "stop the program that uses the port, or set another [daemon] port; "
        "the daemon takes the port once it is free")  # fmt: skip
    if seen.no_socket:
        text = f"running (pid {seen.pid}), but hooks and searches cannot reach it: {seen.no_socket}"
        return Check("daemon", "warn", text, "set RECOLLECT_HOME to a shorter path on a local disk; until then "
        "hooks and searches work without the daemon")  # fmt: skip
    return Check("daemon", "ok", f"running (pid {seen.pid})")


def backup(context: DoctorContext) -> Check | None:
    """Report the age of the newest backup; None without one."""
    last = last_backup(context.folder)
    if last is None:
        return None
    days = (context.now_us - last.made_at) / _DAY_US
    text = f"the newest is {plural(round(days), 'day')} old, in {last.target}"
    if days > BACKUP_DAYS:
        return Check("backup", "warn", text, f"run `recollect backup {last.target}`")
    if not os.path.exists(last.target):
        return Check("backup", "warn", f"{last.target} is not available", "mount it, or make another backup")
    return Check("backup", "ok", text)


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return 0


_HINT = "`recollect doctor --fix` or `recollect service install` repairs it"


def service(context: DoctorContext) -> Iterator[Check]:
    """Report the state of the installed service; having none is no fault."""
    try:
        findings = Service(context.folder, context.env, make_home=lambda: None).findings()
    except RecollectError as error:
        yield Check("service", "fail", f"cannot find out what is installed: {error}", error.hint or "")
        return
    if findings is None:
        return
    changed = [found.text for found in findings if found.kind == "changed"]
    wrong = [found for found in findings if found.kind != "changed"]
    if changed:
        hint = "move it away and run `recollect service install`, or leave it: nothing overwrites it"
        yield Check("service files", "warn", "; ".join(changed), hint, id="service-files")
    if wrong:
        is_at_work = all(found.kind == "outdated" for found in wrong)
        yield Check("service", "warn" if is_at_work else "fail", "; ".join(found.text for found in wrong), _HINT)
    elif not changed:
        yield Check("service", "ok", "installed, and its manager runs it")


FAILURES_DAYS = 7
LOSS_DAYS = 30
REBUILD = "run `recollect rebuild all`: it rebuilds everything from the archive"


def lately_checks(context: DoctorContext) -> Iterator[Check]:
    """Yield what the audit and the caps say."""
    for check in (failures, losses, caps):
        try:
            yield check(context)
        except RecollectError as error:
            yield Check(check.__name__, "fail", str(error), error.hint or REBUILD)


def failures(context: DoctorContext) -> Check:
    """Report unattended work that keeps failing."""
    since = context.now_us - FAILURES_DAYS * _DAY_US
    found = [entry for entry in read_audit(context.folder, actions=("failure",)) if entry.at >= since]
    if not found:
        return Check("failures", "ok", f"nothing kept failing in the last  {FAILURES_DAYS} days")
    kinds = Counter(str(entry.value.get("code") or entry.value.get("what") or "unknown") for entry in found)
    named = ", ".join(f"{kind} ({number:,})" for kind, number in kinds.most_common())
    text = f"{plural(len(found), 'failure')} in the last {FAILURES_DAYS} days: {named}"
    return Check("failures", "warn", text, "run `recollect sync` and read its notes")


def losses(context: DoctorContext) -> Check:
    """Report what was lost for lack of space, or with the database."""
    since = context.now_us - LOSS_DAYS * _DAY_US
    if any(entry.at >= since for entry in read_audit(context.folder, actions=("recover",))):
        text = f"the database was lost in the last {LOSS_DAYS} days, with everything that only it contained "
        "(notes, facts, pins …)"
        return Check("losses", "warn", text, "`recollect repair --from BACKUP` restores it from a backup")
    found = [entry for entry in read_audit(context.folder, actions=("data_loss",)) if entry.at >= since]
    if not found:
        return Check("losses", "ok", f"nothing was evicted before it was analysed in the last  {LOSS_DAYS} days")
    text = f"original text was evicted before it was analysed,  {plural(len(found), 'time')} in {LOSS_DAYS} days"
    return Check("losses", "warn", text, "raise [retention] raw_hard_cap_bytes, or free some space")


def caps(context: DoctorContext) -> Check:
    """Report how close sizes are to their caps."""
    limits = limits_of(context.config.retention)
    held = look(context.folder, limits).raw_bytes
    text = f"{size(held)} of {size(limits.soft_cap_bytes)} of original text"
    if held > limits.hard_cap_bytes:
        return Check("retention", "fail", f"{text}, above the hard cap", "run `recollect evict`")
    if held > limits.soft_cap_bytes:
        return Check("retention", "warn", f"{text}: the oldest analysed sessions go next", "run `recollect evict`")
    return Check("retention", "ok", text)
