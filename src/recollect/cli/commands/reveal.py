"""`recollect reveal`."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from recollect.cli.options import json_option, limit_option, open_memory
from recollect.cli.terminal import console, write_bytes, write_list
from recollect.errors import UnknownName, UsageError
from recollect.visible import hide_nothing

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.model.events import Event


class Flags(TypedDict):
    """The switches of the verb."""

    is_raw: bool
    is_log: bool
    is_agreed: bool


@click.command()
@click.argument("session", metavar="[SESSION[#SEQ]]", required=False)
@limit_option(100, "events")
@click.option("--from", "first", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Begin with this event.")
@click.option("--raw", "is_raw", is_flag=True, help="Write the exact bytes of the records instead.")
@click.option("--log", "is_log", is_flag=True, help="Show what was revealed, when and by whom; newest first.")
@click.option("--yes", "is_agreed", is_flag=True, help="Don't ask.")
@json_option
def command(session: str | None, limit: int, first: int, as_json: bool, **flags: Unpack[Flags]) -> int:
    """Show original text, secrets included, and log that.

    Everywhere else markers stand for secrets. This reads the sealed archive and puts the secrets back: in the whole
    of a session, or in one event. It asks first and keeps a log; no server offers it.

    \b
    Examples:
      recollect reveal claude:5f0c#12
      recollect reveal claude:5f0c#12 --raw --yes
      recollect reveal --log
    """
    with open_memory() as memory:
        if flags["is_log"]:
            return _log(memory, limit, as_json=as_json)
        if session is None:
            raise UsageError("name a session, or an event as hits are cited", hint="recollect reveal claude:5f0c#12")
        events = _events(memory, session, first=first, limit=limit)
        _ask(events, is_agreed=flags["is_agreed"], as_json=as_json)
        if flags["is_raw"]:
            records = memory.upkeep.reveal.records(events)
            write_bytes(b"".join(record if record.endswith(b"\n") else record + b"\n" for record in records))
            return 0
        shown = memory.upkeep.reveal.events(events)
    hide_nothing()  # the original text may say the secret of its session's name
    if as_json:
        write_list("events", shown)
    else:
        from recollect.cli.render.maintenance.secrets import print_revealed

        print_revealed(console(), shown)
    return 0


def _events(memory: Memory, session: str, *, first: int, limit: int) -> tuple[Event, ...]:
    name, mark, seq = session.partition("#")
    if mark and not seq.isdecimal():
        raise UsageError(f"{seq!r} is not the number of an event", hint="write SESSION#12, as hits are cited")
    first, limit = (int(seq), 1) if mark else (first, limit)
    events = tuple(islice(memory.events(name, first_seq=first, limit=limit), limit))
    if not events or (mark and events[0].seq != int(seq)):
        raise UnknownName("event", session, hint=f"`recollect show {name}` lists its events")
    return events


def _ask(events: tuple[Event, ...], *, is_agreed: bool, as_json: bool) -> None:
    if is_agreed:
        return
    if not sys.stdin.isatty() or as_json:
        raise UsageError("there is nobody to ask here", hint="add --yes")
    what = f"{events[0].session_uid}#{events[0].seq}"
    what += f" to #{events[-1].seq}" if len(events) > 1 else ""
    if not click.confirm(f"Show the original text of {what}, secrets included? This is logged.", default=False):
        raise click.Abort


def _log(memory: Memory, limit: int, *, as_json: bool) -> int:
    entries = memory.upkeep.reveal.log(limit=limit)
    if as_json:
        write_list("entries", entries)
    else:
        from recollect.cli.render.maintenance.secrets import print_log

        print_log(console(), entries)
    return 0 if entries else 1
