"""`recollect digest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UnknownName

if TYPE_CHECKING:
    from recollect.memory import Memory


@click.command()
@click.argument("session", metavar="SESSION")
@json_option
def command(session: str, as_json: bool) -> int:
    """Show what one session came to.

    That is its outcome with the reasons, cost, tools, errors, first and last words. SESSION is a session's uid or a
    beginning of it that no other has. Nothing is ingested or analysed for this: a session that is under way, or was
    never seen, has no digest, and the exit code is 1.

    \b
    Examples:
      recollect digest claude:5f0c
      recollect digest claude:5f0c --json
    """
    with open_memory() as memory:
        digest = memory.digest(session)
        gone = _gone(memory, digest.session_uid) if digest is not None else _must_be_one(memory, session)
    if digest is None and as_json:
        write_json(None)
        return 1
    if digest is None:
        click.echo("no digest: the session is not known or not analysed yet; `recollect sync` does that", err=True)
        return 1
    if as_json:
        write_json(digest)
    else:
        from recollect.cli.render.insights.digests import print_digest
        from recollect.cli.render.notes import print_notes

        print_digest(console(), digest)
        print_notes(console(), [gone] if gone else [])
    return 0


def _must_be_one(memory: Memory, named: str) -> str:
    """Raise UnknownName where several sessions begin like that; else there is nothing to say."""
    if not memory.home.exists():
        return ""
    near = memory.reader().nearest_sessions(named)
    if len(near) > 1 and all(named in (uid[: len(named)], uid.partition(":")[2][: len(named)]) for uid in near):
        raise UnknownName("session", named, nearest=near, hint="several begin like that; write more of it")
    return ""


def _gone(memory: Memory, uid: str) -> str:
    """Say since when a session's raw text is gone; its digest may be all that is left of it."""
    from recollect.model.sessions import gone_note

    try:
        return gone_note(memory.session(uid).evicted_at)
    except UnknownName:
        return ""
