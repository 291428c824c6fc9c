"""`recollect tag`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_list
from recollect.errors import UsageError


@click.command()
@click.argument("session", required=False)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--remove", is_flag=True, help="Take these tags away; without NAME all of the session.")
@click.option("--list", "name", metavar="NAME", default="", help="List the sessions that have this tag.")
@json_option
def command(session: str | None, names: tuple[str, ...], remove: bool, name: str, as_json: bool) -> int:
    """Give sessions tags, to find them again with tag:NAME.

    Without NAME, list the tags of a session; without SESSION all tags. Tags are kept in small letters, words joined by
    a hyphen.

    \b
    Examples:
      recollect tag claude:6f0d release migration
      recollect tag claude:6f0d release --remove
      recollect tag --list release
    """
    if session is None and remove:
        raise UsageError("name the session that is to lose its tags")
    if session is not None and name:
        raise UsageError("--list NAME needs no session")
    with open_memory() as memory:
        if session is not None and remove:
            tags = memory.notes.untag(session, names)
        elif session is not None and names:
            tags = memory.notes.tag(session, names)
        else:
            tags = memory.notes.tags(session=session or "", name=name)
    if as_json:
        write_list("tags", tags)
    else:
        from recollect.cli.render.learnings.notes import print_tags

        print_tags(console(), tags)
    return 0 if tags or remove else 1
