"""`recollect rebuild`."""

from __future__ import annotations

from typing import Literal

import click

from recollect.cli.commands.sync import exit_code
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.argument("what", type=click.Choice(("index", "all")), default="index")
@json_option
def command(what: Literal["index", "all"], as_json: bool) -> int:
    """Derive the index, or everything, again from the archive.

    The agents' own files are not needed: what they deleted is rebuilt too.

    \b
    Example:
      recollect rebuild index
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine(f"rebuilding {what}") as progress:
        report = memory.upkeep.rebuild(what, progress=progress.bytes_done)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_rebuilt

        print_rebuilt(console(), report, what)
    return exit_code(report.state)
