"""`recollect verify`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Prove that every stored byte and record can be given back.

    Reads the whole archive, recomputes every hash, and holds what came in against what can come out.

    \b
    Example:
      recollect verify
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("verifying") as progress:
        report = memory.upkeep.verify(progress=progress.bytes_done)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_verify

        print_verify(console(), report)
    return 0 if report.ok else 3
