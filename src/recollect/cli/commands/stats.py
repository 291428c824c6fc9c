"""`recollect stats`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Show what is in the memory.

    \b
    Example:
      recollect stats --json
    """
    with open_memory() as memory:
        stats = memory.stats()
    if as_json:
        write_json(stats)
    else:
        from recollect.cli.render.memory import print_stats

        print_stats(console(), stats)
    return 0
