"""`recollect evict`, `pin` and `forget`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import open_memory, when_option
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
@click.option("--dry-run", is_flag=True, help="Only show what would go, and why.")
@click.option("--force", is_flag=True, help="Evict although the clock moved by more than a day; check it first.")
@prints
def evict(dry_run: bool, force: bool) -> CommandResult:
    """Bring the memory within its bounds.

    These are the `[retention]` of the configuration (docs/retention.md).

    Of analysed sessions that are older than may be, or above the soft cap, the raw bytes go; digest, decisions and the
    events that these rest on stay and are found. Nothing else is taken.

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
@click.option("--remove", is_flag=True, help="Spare it no longer.")
@prints
def pin(session: str | None, remove: bool) -> CommandResult:
    """Have a session kept whole.

    Retention never takes it, nor those of its subagents.

    Without SESSION, list what is pinned.

    \b
    Examples:
      recollect pin claude:6f0d
      recollect pin claude:6f0d --remove
      recollect pin --json
    """
    if remove and session is None:
        raise UsageError("name the session that is to be spared no longer")
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
    since: int | None
    before: int | None
    path: str
    pattern: str


FORGET_EXIT_CODES = {"planned": 0, "done": 0, "nothing": 1, "busy": 3}


@click.command()
@click.option("--session", default="", metavar="UID", help="This session, with its subagents.")
@click.option("--repo", default="", metavar="NAME|PATTERN", help="A repository, by name or by a pattern of its path.")
@when_option("--since", "What was from this time on.", also="--after")
@when_option("--before", "What was before this time begins.", also="--until")
@click.option("--path", default="", metavar="PATH", help="What is about this file or folder.")
@click.option("--pattern", default="", metavar="REGEX", help="Every record that has this text.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--list", "is_list", is_flag=True, help="Show how much was ever forgotten, and when.")
@prints
def forget(*, dry_run: bool, yes: bool, is_list: bool, as_json: bool, **meant: Unpack[ForgetOptions]) -> CommandResult:
    """Take sessions or records out of the memory, for good.

    What is given narrows: `--repo api --before 2026-01-01` is what happened in that repository before then. It goes
    from the archive, the database, the search index, vectors, distilled and spooled data; your agents' own files are
    not touched. What stays is a keyed hash, so that no sync, rebuild or restore brings it back.

    \b
    Examples:
      recollect forget --session claude:5f0c --dry-run
      recollect forget --pattern 'hunter[0-9]+' --yes
      recollect forget --list
    """
    from recollect.memory import ForgetSelection

    selection = ForgetSelection(
        meant["session"], meant["repo"], meant["since"], meant["before"], meant["path"], meant["pattern"]
    )
    if is_list and (dry_run or not selection.is_empty):
        raise UsageError("--list stands alone", hint="leave the rest out")
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
            "this takes data away for good and nobody can be asked", hint="add --yes, or --dry-run to look"
        )
    if is_asking or dry_run:
        with ProgressLine() as progress:
            planned = memory.maintenance.forgetting.plan(selection, progress=progress.stage_done)
        if dry_run or planned.state == "nothing":
            return planned
        from recollect.cli.render.maintenance import print_forgotten

        print_forgotten(error_console(), planned)
        if not click.confirm("Forget it for good?", default=False, err=True):
            return msgspec.structs.replace(planned, sessions=[], notes=["nothing was forgotten"])
    with ProgressLine() as progress:
        return memory.maintenance.forgetting.run(selection, progress=progress.stage_done)
