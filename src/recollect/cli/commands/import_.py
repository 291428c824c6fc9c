"""`recollect import`."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.cli.commands.sync import exit_code
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--as", "agent", metavar="SLUG", help="Whose the files are, where their content doesn't tell.")
@json_option
def command(paths: tuple[Path, ...], agent: str | None, as_json: bool) -> int:
    """Take in files and folders that you name: transcripts in any layout, exports of ChatGPT, Claude.ai and Slack.

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
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_sync

        print_sync(console(), report)
    if report.state == "done" and not any(line.found for line in report.agents.values()):
        return 1
    return exit_code(report.state)
