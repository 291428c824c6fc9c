"""`recollect keys`."""

from __future__ import annotations

from typing import Literal

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UsageError


@click.command()
@click.argument("action", type=click.Choice(("status", "rotate", "move")))
@click.argument("place", type=click.Choice(("keyring", "file")), required=False)
@json_option
def command(
    action: Literal["status", "rotate", "move"], place: Literal["keyring", "file"] | None, as_json: bool
) -> int:
    """Show, change or move the key that seals the archive.

    The archive is sealed by a data key, and that by a wrapping key: in a file of the memory's home, or in the keyring
    of the operating system (`move keyring`). `rotate` makes a new wrapping key; nothing of the archive is rewritten.
    Backups that were made before open with the keys in them.

    \b
    Examples:
      recollect keys status
      recollect keys rotate
      recollect keys move keyring
    """
    if (action == "move") != (place is not None):
        what = "`move` needs a place: keyring or file" if action == "move" else f"`{action}` takes no place"
        raise UsageError(what, hint="recollect keys move keyring")
    with open_memory() as memory:
        keys = memory.upkeep.keys
        if action == "status":
            status = keys.status()
            if as_json:
                write_json(status)
            else:
                from recollect.cli.render.looking_after.secrets import print_key_status

                print_key_status(console(), status)
            return 0 if status.opens else 3
        change = keys.move(place) if place is not None else keys.rotate()
    if as_json:
        write_json(change)
    else:
        from recollect.cli.render.looking_after.secrets import print_key_change

        print_key_change(console(), change)
    return 0
