"""`recollect repair`."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.cli.options import NamedPath, json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.option("--from", "source", type=NamedPath(path_type=Path), metavar="BACKUP", help="Also take from this backup.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Say what is damaged and what would be done, no more.")
@json_option
def command(source: Path | None, is_dry_run: bool, as_json: bool) -> int:
    """Repair what is damaged in the memory.

    Opens every chunk of the archive, checks keys, journal and database, and says what is damaged before it does
    anything. Damaged parts of the archive are restored from your agents' files or, with --from, from a backup. A
    damaged or missing database is derived again from the archive, a damaged journal is written again from the
    database. Exits with 3 while something is still missing, and says what.

    \b
    Examples:
      recollect repair --dry-run
      recollect repair --from /media/disk/memory
    """
    from recollect.cli.render.maintenance.health import print_fix, print_repair

    with open_memory() as memory:
        out = console()
        say = (lambda _: None) if as_json else lambda step: print_fix(out, step)
        report = memory.upkeep.repair(source=source, is_dry_run=is_dry_run, say=say)
    if as_json:
        write_json(report)
    else:
        print_repair(out, report)
    return 0 if report.ok else 3
