"""`recollect doctor`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.option("--fix", "is_fixing", is_flag=True, help="Put right what can safely be put right; say each step first.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="With --fix: say what it would do, and do nothing.")
@json_option
def command(is_fixing: bool, is_dry_run: bool, as_json: bool) -> int:
    """Check the health of the memory.

    Every check is run now, has a name, and says what to do where it is not ok. --fix does what drops nothing that is
    stored: it closes permissions, ingests what waits, derives anew what older versions made, mends the index, writes
    the settings of agents again that `recollect setup` wrote, removes what crashes left, and gives room back.

    \b
    Examples:
      recollect doctor
      recollect doctor --fix --dry-run
    """
    if is_dry_run and not is_fixing:
        raise click.UsageError("--dry-run goes with --fix")
    from recollect.cli.render.maintenance.health import print_doctor, print_fix

    with open_memory() as memory:
        if is_fixing:
            out = console()
            say = (lambda _: None) if as_json else lambda step: print_fix(out, step)
            report = memory.upkeep.fix(is_dry_run=is_dry_run, say=say)
        else:
            report = memory.upkeep.doctor()
    if as_json:
        write_json(report)
    else:
        print_doctor(console(), report)
    return 0 if report.ok else 3
