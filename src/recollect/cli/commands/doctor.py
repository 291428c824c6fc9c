"""`recollect doctor`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Check the health of the memory.

    \b
    Example:
      recollect doctor
    """
    with open_memory() as memory:
        report = memory.upkeep.doctor()
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_doctor

        print_doctor(console(), report)
    return 0 if report.ok else 3
