"""`recollect export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.options import TimeRange, agent_option, json_option, open_memory, range_options, repo_option
from recollect.cli.terminal import console, write_bytes, write_list
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import EventFilter, Exported, ExportFormat, Memory

FORMATS: tuple[ExportFormat, ...] = ("raw", "events", "claude-jsonl", "markdown", "nodes", "prov")
_STREAMS = ("events", "claude-jsonl", "markdown", "nodes")
"""Formats that may stand one behind the other in one stream."""
_AT_ONCE = 500


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
@click.option("--revision", type=click.IntRange(min=1), metavar="N", help="This revision instead of the newest.")
@json_option
def command(
    sessions: tuple[str, ...],
    agents: tuple[str, ...],
    repos: tuple[str, ...],
    form: ExportFormat | None,
    raw: bool,
    out: str | None,
    revision: int | None,
    as_json: bool,
    **within: Unpack[TimeRange],
) -> int:
    """Write sessions to files: redacted, or their exact bytes.

    Name sessions, or choose them by agent, repository and time. Every format but `raw` shows what `recollect show`
    shows: secrets are replaced by markers. `events` is one JSON object a line, `nodes` gives signals, nodes and the
    digest, `prov` gives nodes as PROV-JSON. `raw` gives the bytes that the agent wrote, secrets included. It needs
    --out, and the audit log records it. Files are named AGENT_ID, and their time is the end of the session.

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
        message = "sessions are named or chosen, not both" if sessions else "no session named"
        raise UsageError(message, hint="name sessions, or choose them by --repo, --agent, --after, --before")
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import EventFilter

    with open_memory() as memory, ProgressLine("exporting", counted="session") as progress:
        if sessions:
            uids = list(dict.fromkeys(memory.session(name).session_uid for name in sessions))
        else:
            uids = _chosen(memory, EventFilter(agents, repos), within)
        if len(uids) > 1 and revision is not None:
            raise UsageError("--revision is of one session", hint="name one session")
        if out == "-":
            return _stream(memory, uids, chosen, revision)
        files: list[Exported] = []
        for number, uid in enumerate(uids):
            progress.items_done(number, len(uids))
            files += memory.upkeep.export(uid, format=chosen, out=Path(out or "."), revision=revision)
    if as_json:
        write_list("files", files)
    elif files:
        from recollect.cli.render.upkeep import print_exported

        print_exported(console(), files)
    else:
        click.echo("no session matches", err=True)
    return 0 if files else 1


def _format(form: ExportFormat | None, out: str | None, *, is_raw: bool, is_json: bool) -> ExportFormat:
    """Return what is to be written. Raises UsageError for options that exclude each other."""
    if is_raw and form not in (None, "raw"):
        raise UsageError(f"--raw and --format {form} exclude each other", hint="leave one out")
    chosen: ExportFormat = "raw" if is_raw else form or "events"
    if chosen == "raw" and out is None:
        message = "raw bytes contain the session's secrets, so they are written only to a place that you name"
        raise UsageError(message, hint="add --out DIR, or --out - for standard output")
    if out == "-" and is_json:
        raise UsageError("--json and --out - both write to stdout", hint="name a folder with --out")
    return chosen


def _stream(memory: Memory, uids: Sequence[str], form: ExportFormat, revision: int | None) -> int:
    """Write sessions to standard output, one behind the other; return the exit code."""
    if len(uids) > 1 and form not in _STREAMS:
        raise UsageError(f"{form} of several sessions is no one stream", hint="name a folder with --out")
    for uid in uids:
        for piece in memory.upkeep.export_bytes(uid, format=form, revision=revision):
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
