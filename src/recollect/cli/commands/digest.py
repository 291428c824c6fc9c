"""`recollect digest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.errors import UnknownName
from recollect.model.time import day_of

if TYPE_CHECKING:
    from recollect.memory import Memory


@click.command()
@click.argument("session", metavar="SESSION")
@click.option(
    "--schema",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="Which form the JSON has. 1: times in microseconds, markers by rule, no active time.",
)
@json_option
def command(session: str, schema: Literal[1, 2], as_json: bool) -> int:
    """Show what one session came to.

    That is its outcome with the reasons, cost, tools, errors, first and last words. SESSION is a session's uid or a
    beginning of it that no other has. Nothing is ingested or analysed for this: a session that is under way, or was
    never seen, has no digest, and the exit code is 1.

    \b
    Examples:
      recollect digest claude:5f0c
      recollect digest claude:5f0c --json
      recollect digest claude:5f0c --json --schema 1
    """
    from recollect.model.insights.digests import as_schema_1

    with open_memory() as memory:
        digest = memory.digest(session)
        gone = _gone(memory, digest.session_uid) if digest is not None else _why_none(memory, session)
        told = None
        if digest is not None:
            told = memory.published(digest) if schema == 2 else as_schema_1(digest)
    if digest is None:
        click.echo(f"no digest: {gone}", err=True)
    if as_json:
        write_json(told)
    if as_json or digest is None:
        return 0 if digest is not None else 1
    from recollect.cli.render.insights.digests import print_digest
    from recollect.cli.render.notes import print_notes

    print_digest(console(), digest)
    print_notes(console(), [gone] if gone else [])
    return 0


def _why_none(memory: Memory, named: str) -> str:
    """Say why a session has no digest. Raises UnknownName where several sessions begin like that."""
    unknown = "the session is not known; `recollect sync` ingests what is there"
    if not memory.home.exists():
        return unknown
    near = memory.reader().nearest_sessions(named)
    if len(near) > 1 and all(named in (uid[: len(named)], uid.partition(":")[2][: len(named)]) for uid in near):
        raise UnknownName("session", named, nearest=near, hint="several begin like that; write more of it")
    try:
        session = memory.session(named)
    except UnknownName:
        return unknown
    if session.evicted_at is not None:
        return (
            f"its raw text was evicted on {day_of(session.evicted_at)}, before it was analysed, because the archive "
            "was over its hard cap; what it came to is lost"
        )
    return "the session is not analysed yet; `recollect sync` does that once it is over"


def _gone(memory: Memory, uid: str) -> str:
    """Say since when a session's raw text is gone; its digest may be all that is left of it."""
    from recollect.model.sessions import gone_note

    try:
        return gone_note(memory.session(uid).evicted_at)
    except UnknownName:
        return ""
