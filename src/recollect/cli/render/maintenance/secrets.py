"""Keys and their changes, original text, and the log of what was shown, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.text import Text

from recollect.cli.render.figures import stamp
from recollect.cli.render.notes import print_notes
from recollect.cli.render.tables import plain_table
from recollect.cli.terminal import safe, safe_line
from recollect.model.payloads import Payload
from recollect.model.text import flatten, searchable
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.memory import AuditEntry, KeyChange, KeyStatus, RevealedEvent

_PLACES = {"file": "in a file of the memory's home (keys/wrapping.key)", "keyring": "in the system's keyring"}


def print_key_status(out: Console, status: KeyStatus) -> None:
    """Print which key is in force, where it is, and whether it opens."""
    out.print(Text(f"wrapping key {safe_line(status.key_id)}, kept {_PLACES[status.kept]}"), soft_wrap=True)
    if status.opens:
        out.print(Text("the archive can be opened", style="green"))
    else:
        out.print(Text(safe_line(f"the archive CANNOT be opened: {status.problem}"), style="red"), soft_wrap=True)
        if status.hint:
            out.print(Text(safe_line(status.hint), style="dim"), soft_wrap=True)
    keyring = f"keyring here: {status.keyring}" if status.keyring else "there is no keyring here that can be used"
    out.print(Text(safe_line(keyring), style="dim"), soft_wrap=True)
    if status.is_unfinished:
        print_notes(out, ("a change of keys was interrupted; `recollect keys rotate` ends it",))


def print_key_change(out: Console, change: KeyChange) -> None:
    """Print what was changed."""
    out.print(Text(f"new wrapping key {change.key_id}, kept {_PLACES[change.kept]}", style="green"), soft_wrap=True)
    out.print(Text(f"the one before ({change.key_id_before}) opens only backups made before", style="dim"))
    print_notes(out, change.notes)


def print_revealed(out: Console, shown: tuple[RevealedEvent, ...]) -> None:
    """Print events in their original words; nothing in them can control the terminal."""
    for event in shown:
        head = f"{event.session_uid}#{event.seq}  {stamp(event.ts)}  {event.kind}"
        out.print(Text(safe_line(head), style="cyan"), soft_wrap=True)
        payload = msgspec.convert(event.payload, Payload)
        text = searchable(payload)[1].strip() or flatten(event.payload)
        out.print(Text(safe(text)), soft_wrap=True)
        if event.left:
            note = f"{plural(len(event.left), 'secret')} of it cannot be told from its record; --raw has its bytes"
            print_notes(out, (note,))
        out.print()
    secrets = sum(event.secrets for event in shown)
    summary = f"{plural(len(shown), 'event')} with {plural(secrets, 'secret')} shown; logged"
    out.print(Text(summary, style="dim"), soft_wrap=True)


def print_log(out: Console, entries: tuple[AuditEntry, ...]) -> None:
    """Print what was revealed, one line each."""
    if not entries:
        out.print("nothing was ever revealed")
        return
    rows = [
        (
            stamp(entry.at),
            safe_line(str(entry.value.get("by", ""))),
            safe_line(f"{entry.value.get('session_uid', '')}#{entry.value.get('first_seq', '')}"),
            str(entry.value.get("events", "")),
            str(entry.value.get("secrets", "")),
            str(entry.value.get("as", "")),
        )
        for entry in entries
    ]
    out.print(plain_table(("when", "by", "from", "events", "secrets", "as"), rows))
