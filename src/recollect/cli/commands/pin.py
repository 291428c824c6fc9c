"""`recollect pin`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_list
from recollect.errors import UsageError


@click.command()
@click.argument("session", required=False)
@click.option("--remove", is_flag=True, help="Spare it no longer.")
@json_option
def command(session: str | None, remove: bool, as_json: bool) -> int:
    """Have a session kept whole.

    Retention never takes it, nor those of its subagents.

    Without SESSION, list what is pinned.

    \b
    Examples:
      recollect pin claude:6f0d
      recollect pin claude:6f0d --remove
      recollect pin --json
    """
    if remove and session is None:
        raise UsageError("name the session that is to be spared no longer")
    with open_memory() as memory:
        retention = memory.upkeep.retention
        is_found = True
        if session is not None and remove:
            is_found = retention.unpin(session)
        elif session is not None:
            retention.pin(session)
        pins = retention.pins()
    if as_json:
        write_list("pins", pins)
    else:
        from recollect.cli.render.maintenance.retention import print_pins

        print_pins(console(), pins)
    return 0 if is_found and (pins or session is not None) else 1
