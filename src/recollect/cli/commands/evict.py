"""`recollect evict`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError

EXIT_CODES = {"done": 0, "not_due": 0, "interrupted": 130, "busy": 3}


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would go, and why.")
@click.option("--force", is_flag=True, help="Evict although the clock moved by more than a day; check it first.")
@json_option
def command(dry_run: bool, force: bool, as_json: bool) -> int:
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
        retention = memory.upkeep.retention
        doubt = retention.clock_doubt()
        if doubt and not dry_run and not force:
            raise UsageError(doubt, hint="check the date; if it is right, run `recollect evict --force`")
        report = retention.preview() if dry_run else retention.evict()
        if doubt:
            report.notes.append(doubt)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.maintenance.retention import print_evicted

        print_evicted(console(), report)
    return EXIT_CODES[report.state]
