"""`recollect forget`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import json_option, open_memory, when_option
from recollect.cli.terminal import console, error_console, write_json
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import ForgetReport, ForgetSelection, Memory


class Meant(TypedDict):
    """What the options say is meant: texts, "" for none, and UTC microseconds."""

    session: str
    repo: str
    since: int | None
    before: int | None
    path: str
    pattern: str


EXIT_CODES = {"planned": 0, "done": 0, "nothing": 1, "busy": 3}


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
@json_option
def command(*, dry_run: bool, yes: bool, is_list: bool, as_json: bool, **meant: Unpack[Meant]) -> int:
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
            return _list(memory, as_json=as_json)
        report = _forget(memory, selection, dry_run=dry_run, yes=yes, as_json=as_json)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.maintenance.erasure import print_forgotten

        print_forgotten(console(), report)
    return EXIT_CODES[report.state]


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
            planned = memory.upkeep.forgetting.plan(selection, progress=progress.stage_done)
        if dry_run or planned.state == "nothing":
            return planned
        from recollect.cli.render.maintenance.erasure import print_forgotten

        print_forgotten(error_console(), planned)
        if not click.confirm("Forget it for good?", default=False, err=True):
            return msgspec.structs.replace(planned, sessions=[], notes=["nothing was forgotten"])
    with ProgressLine() as progress:
        return memory.upkeep.forgetting.run(selection, progress=progress.stage_done)


def _list(memory: Memory, *, as_json: bool) -> int:
    found = memory.upkeep.forgetting.listed()
    if as_json:
        write_json(found)
    else:
        from recollect.cli.render.maintenance.erasure import print_tombstones

        print_tombstones(console(), found)
    return 0 if found.groups else 1
