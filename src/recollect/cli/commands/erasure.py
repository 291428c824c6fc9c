"""`recollect evict`, `pin` and `forget`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import open_memory, range_options
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import error_console
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import ForgetReport, ForgetSelection, Memory

EVICTED = ResultKind("evict", "EvictReport", "stats:print_evicted")
PINS = ResultKind("pin", "Pin", "stats:print_pins", listed="pins")
FORGOTTEN = ResultKind("forget", "ForgetReport", "maintenance:print_forgotten")
TOMBSTONES = ResultKind("forget-list", "ForgottenList", "maintenance:print_tombstones")


EVICT_EXIT_CODES = {"done": 0, "not_due": 0, "interrupted": 130, "busy": 3}


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be evicted, and why; delete nothing.")
@click.option(
    "--force", is_flag=True, help="Evict even though the clock moved by more than a day. Check the clock first."
)
@prints
def evict(dry_run: bool, force: bool) -> CommandResult:
    """Delete raw text that is over the limits.

    The limits are in `[retention]` of the configuration (`recollect help retention`).

    Analysed sessions that are too old, or above the soft cap, lose their raw bytes. Searches still find their digests
    and decisions, and the events that these cite. Nothing else is deleted.

    \b
    Examples:
      recollect evict --dry-run
      recollect evict --json
    """
    with open_memory() as memory:
        retention = memory.maintenance.retention
        doubt = retention.clock_doubt()
        if doubt and not dry_run and not force:
            raise UsageError(doubt, hint="check the date; if it is right, run `recollect evict --force`")
        report = retention.preview() if dry_run else retention.evict()
        if doubt:
            report.notes.append(doubt)
    return EVICTED(report, code=EVICT_EXIT_CODES[report.state])


@click.command()
@click.argument("session", required=False)
@click.option("--remove", is_flag=True, help="Unpin the session.")
@prints
def pin(session: str | None, remove: bool) -> CommandResult:
    """Pin a session, so that it is never evicted.

    The subagents of a pinned session are not evicted either.

    Without SESSION, the command lists the pinned sessions.

    \b
    Examples:
      recollect pin claude:6f0d
      recollect pin claude:6f0d --remove
      recollect pin --json
    """
    if remove and session is None:
        raise UsageError("name the session to unpin")
    with open_memory() as memory:
        retention = memory.maintenance.retention
        is_found = True
        if session is not None and remove:
            is_found = retention.unpin(session)
        elif session is not None:
            retention.pin(session)
        pins = retention.pins()
    return PINS(pins, found=is_found and (pins or session is not None))


class ForgetOptions(TypedDict):
    """What the options say is meant: texts, "" for none, and UTC microseconds."""

    session: str
    repo: str
    after: int | None
    before: int | None
    path: str
    pattern: str


FORGET_EXIT_CODES = {"planned": 0, "done": 0, "nothing": 1, "busy": 3}


@click.command()
@click.option("--session", default="", metavar="UID", help="This session and its subagents.")
@click.option(
    "--repo", default="", metavar="NAME|PATTERN", help="A repository, by its name or by a pattern of its path."
)
@range_options
@click.option("--path", default="", metavar="PATH", help="Records about this file or folder.")
@click.option("--pattern", default="", metavar="REGEX", help="Every record whose text matches this; case matters.")
@click.option("--dry-run", is_flag=True, help="Show what would be erased; erase nothing.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--list", "is_list", is_flag=True, help="Show what was forgotten, how much, and when.")
@prints
def forget(*, dry_run: bool, yes: bool, is_list: bool, as_json: bool, **meant: Unpack[ForgetOptions]) -> CommandResult:
    """Erase sessions or records for good.

    Options narrow the selection: `--repo api --before 2026-01-01` selects what happened in that repository before that
    day. Recollect erases it from the archive, the database, the search index, the vectors, and from analysed and
    spooled data. It does not touch your agents' own files. A keyed hash stays, so that no sync, rebuild or restore
    brings the content back.

    \b
    Examples:
      recollect forget --session claude:5f0c --dry-run
      recollect forget --pattern 'hunter[0-9]+' --yes
      recollect forget --list
    """
    from recollect.memory import ForgetSelection

    selection = ForgetSelection(
        meant["session"], meant["repo"], meant["after"], meant["before"], meant["path"], meant["pattern"]
    )
    if is_list and (dry_run or not selection.is_empty):
        raise UsageError("--list takes no other option", hint="leave the rest out")
    with open_memory() as memory:
        if is_list:
            found = memory.maintenance.forgetting.listed()
            return TOMBSTONES(found, found=found.groups)
        report = _forget(memory, selection, dry_run=dry_run, yes=yes, as_json=as_json)
    return FORGOTTEN(report, code=FORGET_EXIT_CODES[report.state])


def _forget(memory: Memory, selection: ForgetSelection, *, dry_run: bool, yes: bool, as_json: bool) -> ForgetReport:
    import msgspec

    from recollect.cli.render.progress import ProgressLine

    is_asking = not dry_run and not yes
    if is_asking and not selection.is_empty and (as_json or not sys.stdin.isatty()):
        raise UsageError(
            "this erases data for good, and this is not a terminal, so it cannot ask you",
            hint="add --yes, or --dry-run to see what would be erased",
        )
    if is_asking or dry_run:
        with ProgressLine() as progress:
            planned = memory.maintenance.forgetting.plan(selection, progress=progress.stage_done)
        if dry_run or planned.state == "nothing":
            return planned
        from recollect.cli.render.maintenance import print_forgotten

        print_forgotten(error_console(), planned)
        if not click.confirm("Erase it for good?", default=False, err=True):
            return msgspec.structs.replace(planned, sessions=[], notes=["nothing was forgotten"])
    with ProgressLine() as progress:
        return memory.maintenance.forgetting.run(selection, progress=progress.stage_done)
