"""`recollect backup`, `restore`, `export`, `doctor`, `verify` and `repair`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
import msgspec

from recollect.cli.options import (
    NamedPath,
    SessionScope,
    as_option,
    choice_option,
    flag,
    number_option,
    open_memory,
    path_option,
    scope_options,
    text_option,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import console, write_bytes
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import Exported, ExportFormat, Fix, Memory

BACKUP = ResultKind("backup", "BackupReport", "maintenance:print_backup")
RESTORED = ResultKind("restore", "RestoreReport", "maintenance:print_restored")
EXPORTED = ResultKind("export", "Exported", "maintenance:print_exported", listed="files")


FORMATS: tuple[ExportFormat, ...] = ("raw", "events", "claude-jsonl", "markdown", "nodes", "prov")
_STREAMS = ("events", "claude-jsonl", "markdown", "nodes")
"""Formats that may stand one behind the other in one stream."""
_AT_ONCE = 500


@click.command()
@click.argument("target", type=NamedPath(path_type=Path))
@flag("--without-key", "Leave out the wrapping key. Without that key, nobody can open the backup's archive.")
@flag("--force", "Replace the backup even if it is of another memory.")
@prints
@examples("backup /media/disk/memory", "backup memory.tar.zst --without-key")
def backup(target: Path, without_key: bool, force: bool) -> CommandResult:
    """Make a consistent copy of the memory.

    TARGET is a folder, or a file whose name ends in .tar.zst. You can ingest and search meanwhile. The backup is read
    back and every chunk is opened before it counts as done. If you interrupt it, an earlier backup in the same place
    stays as it was. A second backup to the same folder copies only what is new. The backup of another memory stays,
    unless you use --force. A backup leaves out the index and the vectors: `recollect restore` rebuilds the index, and
    `recollect embed` rebuilds the vectors.
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("copying") as progress:
        report = memory.maintenance.backup(target, with_key=not without_key, force=force, progress=progress.stage_done)
    return BACKUP(report)


@click.command()
@click.argument("source", type=NamedPath(path_type=Path))
@path_option("--home", "FOLDER", "Restore to this home instead of yours.")
@flag("--force", "Replace the existing memory.")
@flag("--keep", "Keep the replaced memory in a folder of the home.")
@prints
@examples("restore /media/disk/memory")
def restore(source: Path, home: Path | None, force: bool, keep: bool) -> CommandResult:
    """Replace the memory with a backup.

    SOURCE is a backup made by `recollect backup`. It is copied and checked completely before anything changes. If a
    memory already exists, the command shows what the backup lacks, and continues only with --force. What you forgot
    since the backup then stays forgotten; if the memory that knows of it no longer exists, it comes back. The vectors
    are computed later, in the background. Events that are then ingested again from agents' files get new numbers
    (SESSION#SEQ), because the backup does not know the old ones.
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory(home) as memory, ProgressLine("copying") as progress:
        report = memory.maintenance.restore(source, force=force, keep=keep, progress=progress.stage_done)
    with open_memory(home) as restored:
        note = _vectors_note(restored)
    return RESTORED(msgspec.structs.replace(report, notes=(*report.notes, *note)))


def _vectors_note(memory: Memory) -> tuple[str, ...]:
    """Have the vectors made that a backup does not have; return what is to be said of it."""
    if memory.embedding.start_in_background():
        return ("vectors are made in the background; until then a search goes by words alone",)
    stats = memory.embedding.stats()
    if stats is None or not memory.embedding.is_on or stats.covered >= stats.total:
        return ()
    return ("a search goes by words alone until vectors are made: run `recollect embed`",)


@click.command()
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@scope_options
@choice_option("--format", FORMATS, "What to write. Default: events.", key="form")
@flag("--raw", "The exact bytes, secrets included; needs --out.")
@text_option(
    "--out",
    "DIR|-",
    "Folder for the files; - writes to standard output. Required with --raw, and where you name no session.  "
    "[default: the current folder]",
    default=None,
)
@number_option("--revision", "Export this revision.  [default: the newest]", least=1)
@prints
@examples(
    "export {0}:5f0c --format markdown --out notes",
    "export --repo shop-api --after 2w --format markdown --out notes",
    "export {0}:5f0c --format prov --out -",
    "export {1}:0197 --raw --out - | wc -c",
)
def export(
    sessions: tuple[str, ...], form: ExportFormat | None, raw: bool, out: str | None, revision: int | None, *,
    as_json: bool, **scope: Unpack[SessionScope],
) -> CommandResult | int:  # fmt: skip
    """Write sessions to files, redacted or as exact bytes.

    Name sessions, or select them by agent, repository and time. Every format except `raw` replaces secrets with
    markers, as `recollect show` does. `events` writes one JSON object per line, `nodes` writes signals, nodes and the
    digest, and `prov` writes nodes as PROV-JSON. `raw` writes the bytes that the agent wrote, secrets included; it
    needs --out, and the audit log records it. Files are named AGENT_ID; their modification time is the end of the
    session.
    """
    is_choice = any(value not in ((), None) for value in scope.values())
    chosen = _format(form, out, is_raw=raw, is_json=as_json)
    if bool(sessions) == is_choice:
        message = "name sessions or select them, not both" if sessions else "no session named"
        raise UsageError(message, hint="name sessions, or select them with --repo, --agent, --after, --before")
    if is_choice and out is None:
        message = "a selection may be many files, so you must say where to write them"
        raise UsageError(message, hint="add --out DIR, or name one session: `recollect export SESSION`")
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("exporting", counted="session") as progress:
        if sessions:
            uids = list(dict.fromkeys(memory.session(name).session_uid for name in sessions))
        else:
            uids = _chosen(memory, scope)
        if len(uids) > 1 and revision is not None:
            raise UsageError("--revision needs exactly one session", hint="name one session")
        if out == "-":
            return _stream(memory, uids, chosen, revision)
        files: list[Exported] = []
        for number, uid in enumerate(uids):
            progress.items_done(number, len(uids))
            files += memory.maintenance.export(uid, format=chosen, out=Path(out or "."), revision=revision)
    return EXPORTED(files)


def _format(form: ExportFormat | None, out: str | None, *, is_raw: bool, is_json: bool) -> ExportFormat:
    """Return what is to be written. Raises UsageError for options that exclude each other."""
    if is_raw and form not in (None, "raw"):
        raise UsageError(f"--raw and --format {form} exclude each other", hint="leave one out")
    chosen: ExportFormat = "raw" if is_raw else form or "events"
    if chosen == "raw" and out is None:
        message = "raw bytes contain the session's secrets, so you must say where to write them"
        raise UsageError(message, hint="add --out DIR, or --out - for standard output")
    if out == "-" and is_json:
        raise UsageError("--json and --out - both write to stdout", hint="name a folder with --out")
    return chosen


def _stream(memory: Memory, uids: Sequence[str], form: ExportFormat, revision: int | None) -> int:
    """Write sessions to standard output, one behind the other; return the exit code."""
    if len(uids) > 1 and form not in _STREAMS:
        raise UsageError(f"{form} of several sessions cannot be written to one stream", hint="name a folder with --out")
    for uid in uids:
        for piece in memory.maintenance.export_bytes(uid, format=form, revision=revision):
            write_bytes(piece)
    return 0 if uids else 1


def _chosen(memory: Memory, scope: SessionScope) -> list[str]:
    """Return the uids of all sessions that a choice gives, oldest first."""
    from recollect.memory import EventFilter

    where, after, before = EventFilter(scope["agents"], scope["repos"]), scope["after"], scope["before"]
    found: list[str] = []
    while True:
        page = memory.sessions(
            where=where, after=after, before=before, limit=_AT_ONCE, offset=len(found), sync=not found
        )
        found += [session.session_uid for session in page.sessions]
        if len(page.sessions) < _AT_ONCE:
            return found[::-1]


DOCTOR = ResultKind("doctor", "DoctorReport", "maintenance:print_doctor")
VERIFY = ResultKind("verify", "VerifyReport", "maintenance:print_verify")
FILE_VERIFY = ResultKind("verify-file", "FileVerifyReport", "maintenance:print_file_verify")
REPAIR = ResultKind("repair", "RepairReport", "maintenance:print_repair")


@click.command()
@flag("--fix", "Repair what is safe to repair; show each step first.", key="is_fixing")
@flag("--dry-run", "With --fix: show the steps; change nothing.", key="is_dry_run")
@prints
@examples("doctor", "doctor --fix --dry-run")
def doctor(is_fixing: bool, is_dry_run: bool, as_json: bool) -> CommandResult:
    """Check the health of the memory.

    A check that fails says what to do. --fix repairs what it can without deleting anything that is stored: it restricts
    permissions, ingests pending data, replaces the results of older versions, repairs the index, restores the agent
    settings that `recollect setup` wrote, removes what crashes left behind, and frees disk space.
    """
    if is_dry_run and not is_fixing:
        raise click.UsageError("--dry-run needs --fix")
    with open_memory() as memory:
        if is_fixing:
            report = memory.maintenance.fix(is_dry_run=is_dry_run, say=_print_steps(as_json=as_json))
        else:
            report = memory.maintenance.doctor()
    return DOCTOR(report, code=0 if report.ok else 3)


def _print_steps(*, as_json: bool) -> Callable[[Fix], None]:
    """Return what prints each step before it is done; nothing stands beside JSON."""
    if as_json:
        return lambda _: None
    from recollect.cli.render.maintenance import print_fix

    out = console()
    return lambda step: print_fix(out, step)


@click.command()
@click.argument("file", metavar="[FILE|-]", type=NamedPath(), required=False)
@as_option
@flag("--deep", "Also rebuild everything in memory and compare it with what is stored.")
@prints
@examples("verify", "verify --deep", "verify session.jsonl")
def verify(file: str | None, agent: str | None, deep: bool) -> CommandResult:
    """Prove that every stored byte can be restored.

    Reads the whole archive, recomputes every hash, and compares what was ingested with what can be restored. With FILE,
    it checks only that transcript and needs no memory: every byte must be accounted for, and parsing and analysing it
    in pieces must give the same result.

    --deep takes as long as ingesting everything, and nothing else can be ingested meanwhile. It derives everything
    again from the archive and compares events, token usage, digests, the index and the vectors with what is stored.
    """
    if file is not None:
        if deep:
            raise click.UsageError("--deep cannot be used with a FILE")
        return _verify_file(file, agent)
    if agent is not None:
        raise click.UsageError("--as needs a FILE")
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("verifying") as progress:
        if deep:
            report = memory.maintenance.verify_deep(progress=progress.stage_done)
        else:
            report = memory.maintenance.verify(progress=progress.bytes_done)
    return VERIFY(report, code=0 if report.ok else 3)


def _verify_file(file: str, agent: str | None) -> CommandResult:
    from recollect.cli.commands.pipes import input_path
    from recollect.config import load_config
    from recollect.memory import stages_of, verify_path

    config = load_config()
    with input_path(file) as path:
        report = verify_path(path, agent=agent, config=config, stages=stages_of(config))
    return FILE_VERIFY(report, code=0 if report.ok else 3)


@click.command()
@path_option("--from", "BACKUP", "Also restore from this backup.", key="source")
@flag("--dry-run", "Show what is damaged and what would be done; change nothing.", key="is_dry_run")
@prints
@examples("repair --dry-run", "repair --from /media/disk/memory")
def repair(memory: Memory, source: Path | None, is_dry_run: bool, as_json: bool) -> CommandResult:
    """Repair what is damaged in the memory.

    Opens every chunk of the archive, checks keys, journal and database, and shows what is damaged before it changes
    anything. It restores damaged parts of the archive from your agents' files or, with --from, from a backup. It
    derives a damaged or missing database again from the archive, and rewrites a damaged journal from the database. The
    exit code is 3 while something is still missing.
    """
    report = memory.maintenance.repair(source=source, is_dry_run=is_dry_run, say=_print_steps(as_json=as_json))
    return REPAIR(report, code=0 if report.ok else 3)
