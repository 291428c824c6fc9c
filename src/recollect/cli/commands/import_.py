"""`recollect import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.commands.sync import exit_code
from recollect.cli.options import NamedPath, json_option, open_memory, when_option
from recollect.cli.terminal import console, safe_line, write_json
from recollect.errors import UsageError
from recollect.model.time import TIME_FORMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import SyncReport

_FAILED = 3


class Wanted(TypedDict):
    """The options that say which sessions are meant."""

    since: int | None
    least: int | None
    session: str | None


@click.command()
@click.argument("paths", nargs=-1, type=NamedPath(path_type=Path), metavar="[PATH]...")
@click.option("--as", "agent", metavar="SLUG", help="Whose the files are, where their content doesn't tell.")
@when_option("--since", f"Only sessions whose last message is of this time or later: {TIME_FORMS}.", also="--after")
@click.option(
    "--min-messages",
    "least",
    type=click.IntRange(min=0),
    metavar="N",
    help="Sessions with fewer messages of you and the model are archived, but not indexed.  "
    "[default: `min_messages` of the configuration, 0; 0 for exports and single files]",
)
@click.option("--session", metavar="UID", help="Only this session (its uid, or the beginning of it), however short.")
@click.option("--dry-run", is_flag=True, help="Only say which sessions are new, changed or skipped; write nothing.")
@click.option("--mempalace", "is_palace", is_flag=True, help="PATH is a MemPalace directory: take that over.")
@json_option
def command(
    paths: tuple[Path, ...], agent: str | None, *, dry_run: bool, is_palace: bool, as_json: bool,
    **wanted: Unpack[Wanted],
) -> int:  # fmt: skip
    """Ingest what you name; without PATH, what your agents wrote.

    Files and folders: transcripts in any layout, and exports of ChatGPT, Claude.ai and Slack.

    Each file is told by its content, a database by its tables and columns; zip archives are unpacked for the time.
    What is of no known agent is listed and left alone; the exit code is 1 when nothing at all could be ingested. A
    folder without sessions that is a MemPalace directory is taken over as one.

    With --min-messages, a search doesn't find what was said in shorter sessions; one that grows past that number is
    indexed whole, and so is one that you name with --session. What changed since the last
    time is ingested, nothing else: to run it again costs nothing.

    \b
    Examples:
      recollect import ~/Downloads/chatgpt-export.zip
      recollect import --as aider notes/.aider.chat.history.md
      recollect import --since 2026-06-01 --dry-run
      recollect import --mempalace ~/.mempalace
    """
    if is_palace:
        if agent is not None or any(wanted.values()):
            raise UsageError("--mempalace goes with --dry-run and --json only", hint="a palace has no sessions")
        return _palace(paths, dry_run=dry_run, as_json=as_json)
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import ImportOptions

    least = wanted["least"]
    if least is None and paths and all(path.is_file() for path in paths):
        least = 0
    wish = ImportOptions(wanted["since"], least, wanted["session"] or "")
    agents = (agent,) if agent else ()
    with open_memory() as memory, ProgressLine() as progress:
        report = memory.take_in(paths, agents=agents, options=wish, is_dry_run=dry_run, progress=progress)
        palaces = tuple(path for path in paths if memory.notes.palace.is_palace(path))
    is_plain = agent is None and not any(wanted.values()) and report.state == "done"
    if is_plain and len(paths) == 1 and palaces and not any(line.found for line in report.agents.values()):
        return _palace(paths, dry_run=dry_run, as_json=as_json)
    report.notes += [f"{path} is a MemPalace directory: --mempalace takes it over" for path in palaces]
    if as_json:
        write_json(report)
    elif dry_run:
        _print_dry_run(report)
    else:
        _print(report, paths)
    if report.state != "done":
        return exit_code(report.state)
    if any(skipped.is_failure for skipped in report.untaken):
        return _FAILED
    return 0 if any(line.found for line in report.agents.values()) else 1


def _palace(paths: tuple[Path, ...], *, dry_run: bool, as_json: bool) -> int:
    """Take a MemPalace directory over; 1 where nothing of it could be taken."""
    from recollect.cli.render.learnings.palace import PalaceProgress, print_palace

    if len(paths) != 1:
        raise UsageError("name one MemPalace directory", hint="recollect import --mempalace ~/.mempalace")
    with open_memory() as memory, PalaceProgress() as progress:
        report = memory.notes.palace.take(paths[0], is_dry_run=dry_run, told=progress)
    if as_json:
        write_json(report)
    else:
        print_palace(console(), report)
    return 0 if report.added + report.known else 1


def _print(report: SyncReport, paths: Sequence[Path]) -> None:
    """Print what was ingested, and what was not and why; of nothing at all, in one line."""
    from rich.text import Text

    from recollect.cli.render.upkeep import SHOWN, print_sync

    out = console()
    is_found = any(line.found or line.skipped for line in report.agents.values())
    if not paths or is_found or report.state != "done":
        print_sync(out, report)
        _print_sessions(report)
        return
    named = ", ".join(map(str, paths))
    out.print(safe_line(f"nothing in {named} is of an agent or an export that is known"), soft_wrap=True)
    for skipped in report.untaken[:SHOWN]:
        out.print(Text(safe_line(f"not taken {skipped.path}: {skipped.reason}"), style="dim"), soft_wrap=True)
    if len(report.untaken) > SHOWN:
        out.print(Text(f"not taken {len(report.untaken) - SHOWN:,} more; --json lists them", style="dim"))


def _print_dry_run(report: SyncReport) -> None:
    """Print which sessions would be ingested, which not and why, and the sum."""
    from recollect.units import plural, size

    _print_sessions(report, all_of_them=True)
    out = console()
    counts = {state: sum(one.state == state for one in report.imported) for state in ("new", "changed", "skipped")}
    unchanged = sum(line.unchanged for line in report.agents.values())
    told = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    sums = f"{told}; {plural(unchanged, 'source')} unchanged; {size(report.bytes)} to ingest. Nothing was written."
    out.print(sums, soft_wrap=True)


def _print_sessions(report: SyncReport, *, all_of_them: bool = False) -> None:
    from rich.text import Text

    from recollect.cli.render.upkeep import SHOWN
    from recollect.units import plural

    out = console()
    shown = report.imported if all_of_them else report.imported[:SHOWN]
    for one in shown:
        line = f"{one.state} {one.session_uid} ({plural(one.messages, 'message')})"
        line += f": {one.reason}" if one.reason else ""
        out.print(Text(safe_line(line), style="dim" if one.state == "skipped" else ""), soft_wrap=True)
    if len(report.imported) > len(shown):
        out.print(Text(f"skipped {len(report.imported) - len(shown):,} more sessions; --json lists them", style="dim"))
