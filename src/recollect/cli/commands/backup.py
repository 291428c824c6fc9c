"""`recollect backup`, `restore` and `export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
import msgspec

from recollect.cli.options import (
    NamedPath,
    TimeRange,
    agent_option,
    open_memory,
    range_options,
    repo_option,
)
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import write_bytes
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import EventFilter, Exported, ExportFormat, Memory

BACKUP = ResultKind("backup", "BackupReport", "maintenance:print_backup")
RESTORED = ResultKind("restore", "RestoreReport", "maintenance:print_restored")
EXPORTED = ResultKind("export", "Exported", "ingest:print_exported", listed="files")


FORMATS: tuple[ExportFormat, ...] = ("raw", "events", "claude-jsonl", "markdown", "nodes", "prov")
_STREAMS = ("events", "claude-jsonl", "markdown", "nodes")
"""Formats that may stand one behind the other in one stream."""
_AT_ONCE = 500


@click.command()
@click.argument("target", type=NamedPath(path_type=Path))
@click.option(
    "--without-key",
    is_flag=True,
    help="Leave out the wrapping key. Without that key, nobody can open the backup's archive.",
)
@prints
def backup(target: Path, without_key: bool) -> CommandResult:
    """Make a consistent copy of the memory.

    TARGET is a folder, or a file whose name ends in .tar.zst. You can ingest and search meanwhile. The backup is read
    back and every chunk is opened before it counts as done. If you interrupt it, an earlier backup in the same place
    stays as it was. A second backup to the same folder copies only what is new. A backup leaves out the index and the
    vectors: `recollect restore` rebuilds the index, and `recollect embed` rebuilds the vectors.

    \b
    Examples:
      recollect backup /media/disk/memory
      recollect backup memory.tar.zst --without-key
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("copying") as progress:
        report = memory.maintenance.backup(target, with_key=not without_key, progress=progress.stage_done)
    return BACKUP(report)


@click.command()
@click.argument("source", type=NamedPath(path_type=Path))
@click.option(
    "--home", type=click.Path(path_type=Path), metavar="FOLDER", help="Restore to this home instead of yours."
)
@click.option("--force", is_flag=True, help="Replace the existing memory.")
@click.option("--keep", is_flag=True, help="Keep the replaced memory in a folder of the home.")
@prints
def restore(source: Path, home: Path | None, force: bool, keep: bool) -> CommandResult:
    """Replace the memory with a backup.

    SOURCE is a backup made by `recollect backup`. It is copied and checked completely before anything changes. If a
    memory already exists, the command shows what the backup lacks, and continues only with --force. What you forgot
    since the backup then stays forgotten; if the memory that knows of it no longer exists, it comes back. The vectors
    are computed later, in the background. Events that are then ingested again from agents' files get new numbers
    (SESSION#SEQ), because the backup does not know the old ones.

    \b
    Example:
      recollect restore /media/disk/memory
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
@agent_option
@repo_option
@range_options
@click.option("--format", "form", type=click.Choice(FORMATS), default=None, help="What to write. Default: events.")
@click.option("--raw", is_flag=True, help="The exact bytes, secrets included; needs --out.")
@click.option(
    "--out",
    metavar="DIR|-",
    help="Folder for the files; - writes to standard output.  [default: the current folder; none for --raw]",
)
@click.option(
    "--revision", type=click.IntRange(min=1), metavar="N", help="Export this revision.  [default: the newest]"
)
@prints
def export(
    sessions: tuple[str, ...],
    agents: tuple[str, ...],
    repos: tuple[str, ...],
    form: ExportFormat | None,
    raw: bool,
    out: str | None,
    revision: int | None,
    as_json: bool,
    **within: Unpack[TimeRange],
) -> CommandResult | int:
    """Write sessions to files, redacted or as exact bytes.

    Name sessions, or select them by agent, repository and time. Every format except `raw` replaces secrets with
    markers, as `recollect show` does. `events` writes one JSON object per line, `nodes` writes signals, nodes and the
    digest, and `prov` writes nodes as PROV-JSON. `raw` writes the bytes that the agent wrote, secrets included; it
    needs --out, and the audit log records it. Files are named AGENT_ID; their modification time is the end of the
    session.

    \b
    Examples:
      recollect export claude:5f0c --format markdown --out notes
      recollect export --repo shop-api --after 2w --format markdown --out notes
      recollect export claude:5f0c --format prov --out -
      recollect export codex:0197 --raw --out - | wc -c
    """
    is_choice = bool(agents or repos or any(value is not None for value in within.values()))
    chosen = _format(form, out, is_raw=raw, is_json=as_json)
    if bool(sessions) == is_choice:
        message = "name sessions or select them, not both" if sessions else "no session named"
        raise UsageError(message, hint="name sessions, or select them with --repo, --agent, --after, --before")
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import EventFilter

    with open_memory() as memory, ProgressLine("exporting", counted="session") as progress:
        if sessions:
            uids = list(dict.fromkeys(memory.session(name).session_uid for name in sessions))
        else:
            uids = _chosen(memory, EventFilter(agents, repos), within)
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


def _chosen(memory: Memory, where: EventFilter, within: TimeRange) -> list[str]:
    """Return the uids of all sessions that a choice gives, oldest first."""
    found: list[str] = []
    while True:
        page = memory.sessions(where=where, limit=_AT_ONCE, offset=len(found), sync=not found, **within)
        found += [session.session_uid for session in page.sessions]
        if len(page.sessions) < _AT_ONCE:
            return found[::-1]
