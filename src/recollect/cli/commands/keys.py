"""`recollect keys`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from recollect.cli.groups import noun
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json

if TYPE_CHECKING:
    from recollect.memory import KeyChange


@noun()
def command() -> None:
    """Show, change or move the key that seals the archive.

    The archive is sealed by a data key, and that by a wrapping key: in a file of the memory's home, or in the keyring
    of the operating system. Backups that were made before a change open with the keys in them.

    \b
    Examples:
      recollect keys status
      recollect keys rotate
      recollect keys move keyring
    """


@command.command()
@json_option
def status(as_json: bool) -> int:
    """Show where the wrapping key is and whether it opens the archive.

    \b
    Example:
      recollect keys status
    """
    with open_memory() as memory:
        found = memory.upkeep.keys.status()
    if as_json:
        write_json(found)
    else:
        from recollect.cli.render.maintenance.secrets import print_key_status

        print_key_status(console(), found)
    return 0 if found.opens else 3


@command.command()
@json_option
def rotate(as_json: bool) -> int:
    """Make a new wrapping key; nothing of the archive is rewritten.

    \b
    Example:
      recollect keys rotate
    """
    with open_memory() as memory:
        return _show(memory.upkeep.keys.rotate(), as_json=as_json)


@command.command()
@click.argument("place", type=click.Choice(("keyring", "file")))
@json_option
def move(place: Literal["keyring", "file"], as_json: bool) -> int:
    """Move the wrapping key to the keyring of the system, or to a file.

    \b
    Example:
      recollect keys move keyring
    """
    with open_memory() as memory:
        return _show(memory.upkeep.keys.move(place), as_json=as_json)


def _show(change: KeyChange, *, as_json: bool) -> int:
    if as_json:
        write_json(change)
    else:
        from recollect.cli.render.maintenance.secrets import print_key_change

        print_key_change(console(), change)
    return 0
