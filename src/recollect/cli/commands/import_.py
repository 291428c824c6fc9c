"""`recollect import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.commands.sync import exit_code
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, safe_line, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import SyncReport

_FAILED = 3


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--as", "agent", metavar="SLUG", help="Whose the files are, where their content doesn't tell.")
@json_option
def command(paths: tuple[Path, ...], agent: str | None, as_json: bool) -> int:
    """Take in files and folders that you name.

    These are transcripts in any layout, and exports of ChatGPT, Claude.ai and Slack.

    Each file is told by its content; zip archives are unpacked for the time. What is of no known agent is listed and
    left alone; the exit code is 1 when nothing at all could be taken in.

    \b
    Examples:
      recollect import ~/Downloads/chatgpt-export.zip
      recollect import --as aider notes/.aider.chat.history.md
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine() as progress:
        report = memory.take_in(paths, agents=(agent,) if agent else (), progress=progress)
    is_found = any(line.found or line.skipped for line in report.agents.values())
    if as_json:
        write_json(report)
    else:
        _print(report, paths, is_found=is_found)
    if report.state != "done":
        return exit_code(report.state)
    if any(skipped.is_failure for skipped in report.untaken):
        return _FAILED
    return 0 if any(line.found for line in report.agents.values()) else 1


def _print(report: SyncReport, paths: Sequence[Path], *, is_found: bool) -> None:
    """Print what was taken in, and what was not and why; of nothing at all, in one line."""
    from rich.text import Text

    from recollect.cli.render.upkeep import SHOWN, print_sync

    out = console()
    if is_found or report.state != "done":
        print_sync(out, report)
        return
    named = ", ".join(map(str, paths))
    out.print(safe_line(f"nothing in {named} is of an agent or an export that is known"), soft_wrap=True)
    for skipped in report.untaken[:SHOWN]:
        out.print(Text(safe_line(f"not taken {skipped.path}: {skipped.reason}"), style="dim"), soft_wrap=True)
    if len(report.untaken) > SHOWN:
        out.print(Text(f"not taken {len(report.untaken) - SHOWN:,} more; --json lists them", style="dim"))
