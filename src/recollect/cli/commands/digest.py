"""`recollect digest`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.argument("session", metavar="SESSION")
@json_option
def command(session: str, as_json: bool) -> int:
    """Show what one session came to.

    That is its outcome with the reasons, cost, tools, errors, first and last words. SESSION is a session's uid or a
    beginning of it that no other has. Nothing is taken in or analysed for this: a session that is under way, or was
    never seen, has no digest, and the exit code is 1.

    \b
    Examples:
      recollect digest claude:5f0c
      recollect digest claude:5f0c --json
    """
    with open_memory() as memory:
        digest = memory.digest(session)
    if digest is None and as_json:
        write_json(None)
        return 1
    if digest is None:
        click.echo("no digest: the session is not known or not analysed yet; `recollect sync` does that", err=True)
        return 1
    if as_json:
        write_json(digest)
    else:
        from recollect.cli.render.meaning.digests import print_digest

        print_digest(console(), digest)
    return 0
