"""`recollect keys`, `exclude`, `redact` and `reveal`."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from recollect.cli.groups import noun
from recollect.cli.options import NamedPath, limit_option, open_memory
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import write_bytes
from recollect.errors import SourceUnavailable, UnknownName, UsageError
from recollect.visible import encode_json, hide_nothing

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.model.events import Event

KEY_STATUS = ResultKind("keys-status", "KeyStatus", "maintenance:print_key_status")
KEY_CHANGE = ResultKind("keys-change", "KeyChange", "maintenance:print_key_change")
EXCLUDED = ResultKind("exclude", "ExcludedView", "maintenance:print_excluded")
REVEALED = ResultKind("reveal", "RevealedEvent", "maintenance:print_revealed", listed="events")
REVEAL_LOG = ResultKind("reveal-log", "AuditEntry", "maintenance:print_log", listed="entries")


@click.command()
@click.argument("repos", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--remove", "is_removal", is_flag=True, help="Ingest these repositories again.")
@prints
def exclude(repos: tuple[str, ...], is_removal: bool) -> CommandResult:
    """Keep a repository out of the memory.

    From now on, its sessions are not ingested. Name the repository, or a folder: `*` stands for any characters.
    Without names, it lists what is excluded. Stored sessions stay until you run `recollect forget --repo`.

    \b
    Examples:
      recollect exclude payroll
      recollect exclude ~/clients/*
      recollect exclude payroll --remove
    """
    notes: list[str] = []
    with open_memory() as memory:
        if repos:
            notes = memory.maintenance.exclude(repos, is_removal=is_removal)
        elif is_removal:
            raise UsageError("--remove needs a name", hint="`recollect exclude` lists what is excluded")
        return EXCLUDED(memory.maintenance.excluded(), notes=notes)


@noun()
def keys() -> None:
    """Show, rotate or move the archive's key.

    A data key encrypts the archive, and a wrapping key encrypts the data key. The wrapping key is in a file in the
    home, or in the keyring of the operating system. Earlier backups still open with the keys that they contain.

    \b
    Examples:
      recollect keys status
      recollect keys rotate
      recollect keys move keyring
    """


@keys.command("status")
@prints
def status() -> CommandResult:
    """Show where the wrapping key is, and whether it opens the archive.

    \b
    Example:
      recollect keys status
    """
    with open_memory() as memory:
        found = memory.maintenance.keys.status()
    return KEY_STATUS(found, code=0 if found.opens else 3)


@keys.command("rotate")
@prints
def rotate() -> CommandResult:
    """Make a new wrapping key. The archive is not rewritten.

    \b
    Example:
      recollect keys rotate
    """
    with open_memory() as memory:
        return KEY_CHANGE(memory.maintenance.keys.rotate())


@keys.command("move")
@click.argument("place", type=click.Choice(("keyring", "file")))
@prints
def move(place: Literal["keyring", "file"]) -> CommandResult:
    """Move the wrapping key to the system's keyring, or to a file.

    \b
    Example:
      recollect keys move keyring
    """
    with open_memory() as memory:
        return KEY_CHANGE(memory.maintenance.keys.move(place))


@click.command()
@click.argument("file", metavar="[FILE|-]", type=NamedPath(), default="-")
@prints
def redact(file: str, as_json: bool) -> int:
    """Replace the secrets in a text with markers.

    Reads FILE or a pipe, writes to standard output, and reports what it found on standard error (as JSON with --json).
    It needs no memory. `[privacy]` in the configuration adds your own patterns and exceptions.

    \b
    Examples:
      recollect redact build.log > build.clean.log
      env | recollect redact
    """
    from recollect.config import load_config
    from recollect.memory import redact_stream

    privacy = load_config().privacy
    out = sys.stdout.buffer
    if file == "-":
        found = redact_stream(sys.stdin.buffer, out, privacy)
    else:
        try:
            with Path(file).open("rb") as source:
                found = redact_stream(source, out, privacy)
        except OSError as error:
            raise SourceUnavailable(f"cannot read {file}: {error.strerror}") from error
    if as_json:
        sys.stderr.buffer.write(encode_json({"replaced": found}) + b"\n")
    elif found:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
        print(f"replaced: {kinds}", file=sys.stderr)
    return 0


class RevealFlags(TypedDict):
    """The switches of the verb."""

    is_raw: bool
    is_log: bool
    is_agreed: bool


@click.command()
@click.argument("session", metavar="[SESSION[#SEQ]]", required=False)
@limit_option(100, "events")
@click.option("--from", "first", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Begin with this event.")
@click.option("--raw", "is_raw", is_flag=True, help="Write the exact bytes of the records.")
@click.option("--log", "is_log", is_flag=True, help="Show what was revealed, when and by whom, newest first.")
@click.option("--yes", "is_agreed", is_flag=True, help="Don't ask.")
@prints
def reveal(
    session: str | None, limit: int, first: int, as_json: bool, **flags: Unpack[RevealFlags]
) -> CommandResult | int:
    """Show original text, secrets included; this is logged.

    Everywhere else, markers replace secrets. This command reads the encrypted archive and shows the secrets of a
    session, or of one event. It asks first and writes a log entry. No server offers this command.

    \b
    Examples:
      recollect reveal claude:5f0c#12
      recollect reveal claude:5f0c#12 --raw --yes
      recollect reveal --log
    """
    with open_memory() as memory:
        if flags["is_log"]:
            return REVEAL_LOG(memory.maintenance.reveal.log(limit=limit))
        if session is None:
            raise UsageError("name a session, or an event as SESSION#SEQ", hint="recollect reveal SESSION#SEQ")
        events = _events(memory, session, first=first, limit=limit)
        _ask(events, is_agreed=flags["is_agreed"], as_json=as_json)
        if flags["is_raw"]:
            records = memory.maintenance.reveal.records(events)
            write_bytes(b"".join(record if record.endswith(b"\n") else record + b"\n" for record in records))
            return 0
        shown = memory.maintenance.reveal.events(events)
    hide_nothing()  # the original text may say the secret of its session's name
    return REVEALED(shown, found=True)


def _events(memory: Memory, session: str, *, first: int, limit: int) -> tuple[Event, ...]:
    name, mark, seq = session.partition("#")
    if mark and not seq.isdecimal():
        raise UsageError(f"{seq!r} is not the number of an event", hint="write SESSION#12, as in a search result")
    first, limit = (int(seq), 1) if mark else (first, limit)
    events = tuple(islice(memory.events(name, first_seq=first, limit=limit), limit))
    if not events or (mark and events[0].seq != int(seq)):
        raise UnknownName("event", session, hint=f"`recollect show {name}` lists its events")
    return events


def _ask(events: tuple[Event, ...], *, is_agreed: bool, as_json: bool) -> None:
    if is_agreed:
        return
    if not sys.stdin.isatty() or as_json:
        raise UsageError("cannot ask you: this is not a terminal", hint="add --yes")
    what = f"{events[0].session_uid}#{events[0].seq}"
    what += f" to #{events[-1].seq}" if len(events) > 1 else ""
    if not click.confirm(f"Show the original text of {what}, secrets included? This is logged.", default=False):
        raise click.Abort
