"""`recollect evict`, `pin`, `forget`, `keys`, `exclude`, `redact` and `reveal`."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import click

from recollect.cli.groups import noun
from recollect.cli.options import NamedPath, flag, limit_option, number_option, open_memory, range_options, text_option
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import error_console, write_bytes
from recollect.errors import SourceUnavailable, UnknownName, UsageError
from recollect.visible import encode_json, hide_nothing

if TYPE_CHECKING:
    from recollect.memory import ForgetReport, ForgetSelection, Memory
    from recollect.model.events import Event

EVICTED = ResultKind("evict", "EvictReport", "stats:print_evicted")
PINS = ResultKind("pin", "Pin", "stats:print_pins", listed="pins")
FORGOTTEN = ResultKind("forget", "ForgetReport", "maintenance:print_forgotten")
TOMBSTONES = ResultKind("forget-list", "ForgottenList", "maintenance:print_tombstones")


EVICT_EXIT_CODES = {"done": 0, "not_due": 0, "interrupted": 130, "busy": 3}


@click.command()
@flag("--dry-run", "Show what would be evicted, and why; delete nothing.")
@flag("--force", "Evict even though the clock moved by more than a day. Check the clock first.")
@prints
@examples("evict --dry-run", "evict --json")
def evict(memory: Memory, dry_run: bool, force: bool) -> CommandResult:
    """Delete raw text that is over the limits.

    The limits are under `[retention]` in the configuration (`recollect help retention`).

    Analysed sessions that are too old, or above the soft cap, lose their raw bytes. Searches still find their digests
    and decisions, and the events that these cite. Nothing else is deleted.
    """
    retention = memory.maintenance.retention
    doubt = retention.clock_doubt()
    if doubt and not dry_run and not force:
        raise UsageError(doubt, hint="check the date; if it is right, run `recollect evict --force`")
    report = retention.preview() if dry_run else retention.evict()
    if doubt:
        report.notes.append(doubt)
    return EVICTED(report, code=EVICT_EXIT_CODES[report.state])


@click.command()
@click.argument("session", required=False)
@flag("--remove", "Unpin the session.")
@prints
@examples("pin {0}:6f0d", "pin {0}:6f0d --remove", "pin --json")
def pin(session: str | None, remove: bool) -> CommandResult:
    """Pin a session, so that it is never evicted.

    The subagents of a pinned session are not evicted either.

    Without SESSION, the command lists the pinned sessions.
    """
    if remove and session is None:
        raise UsageError("name the session to unpin")
    with open_memory() as memory:
        retention = memory.maintenance.retention
        is_found = True
        if session is not None and remove:
            is_found = retention.unpin(session)
        elif session is not None:
            retention.pin(session)
        pins = retention.pins()
    return PINS(pins, found=is_found and (pins or session is not None))


FORGET_EXIT_CODES = {"planned": 0, "done": 0, "nothing": 1, "busy": 3}


@click.command()
@text_option("--session", "UID", "This session and its subagents.")
@text_option("--repo", "NAME|PATTERN", "A repository, by its name or by a pattern of its path.")
@range_options
@text_option("--path", "PATH", "Records about this file or folder.")
@text_option("--pattern", "REGEX", "Every record whose text matches this; case matters.")
@flag("--dry-run", "Show what would be erased; erase nothing.")
@flag("--yes", "Don't ask.")
@flag("--list", "Show what was forgotten, how much, and when.", key="is_list")
@prints
@examples("forget --session {0}:5f0c --dry-run", "forget --pattern 'hunter[0-9]+' --yes", "forget --list")
def forget(*, dry_run: bool, yes: bool, is_list: bool, as_json: bool, **meant: Any) -> CommandResult:
    """Erase sessions or records for good.

    Options narrow the selection: `--repo api --before 2026-01-01` selects what happened in that repository before that
    day. Recollect erases it from the archive, the database, the search index, the vectors, and from analysed and
    spooled data. It does not touch your agents' own files. A keyed hash stays, so that no sync, rebuild or restore
    brings the content back.
    """
    from recollect.memory import ForgetSelection

    selection = ForgetSelection(**meant)
    if is_list and (dry_run or not selection.is_empty):
        raise UsageError("--list takes no other option", hint="leave the rest out")
    with open_memory() as memory:
        if is_list:
            found = memory.maintenance.forgetting.listed()
            return TOMBSTONES(found, found=found.groups)
        report = _forget(memory, selection, dry_run=dry_run, yes=yes, as_json=as_json)
    return FORGOTTEN(report, code=FORGET_EXIT_CODES[report.state])


def _forget(memory: Memory, selection: ForgetSelection, *, dry_run: bool, yes: bool, as_json: bool) -> ForgetReport:
    import msgspec

    from recollect.cli.render.progress import ProgressLine

    memory.maintenance.forgetting.check(selection)
    is_asking = not dry_run and not yes
    if is_asking and (as_json or not sys.stdin.isatty()):
        raise UsageError(
            "this erases data for good, and this is not a terminal, so it cannot ask you",
            hint="add --yes, or --dry-run to see what would be erased",
        )
    if is_asking or dry_run:
        with ProgressLine() as progress:
            planned = memory.maintenance.forgetting.plan(selection, progress=progress.stage_done, is_dry=dry_run)
        if dry_run or planned.state == "nothing":
            return planned
        from recollect.cli.render.maintenance import print_forgotten

        print_forgotten(error_console(), planned)
        if not click.confirm("Erase it for good?", default=False, err=True):
            return msgspec.structs.replace(planned, sessions=[], notes=["nothing was forgotten"])
    with ProgressLine() as progress:
        return memory.maintenance.forgetting.run(selection, progress=progress.stage_done)


KEY_STATUS = ResultKind("keys-status", "KeyStatus", "maintenance:print_key_status")
KEY_CHANGE = ResultKind("keys-change", "KeyChange", "maintenance:print_key_change")
EXCLUDED = ResultKind("exclude", "ExcludedView", "maintenance:print_excluded")
REVEALED = ResultKind("reveal", "RevealedEvent", "maintenance:print_revealed", listed="events")
REVEAL_LOG = ResultKind("reveal-log", "AuditEntry", "maintenance:print_log", listed="entries")


@click.command()
@click.argument("repos", nargs=-1, metavar="[NAME|PATH]...")
@flag("--remove", "Ingest these repositories again.", key="is_removal")
@prints
@examples("exclude payroll", "exclude ~/clients/*", "exclude payroll --remove")
def exclude(repos: tuple[str, ...], is_removal: bool) -> CommandResult:
    """Keep a repository out of the memory.

    From now on, its sessions are not ingested. Name the repository, or a folder: `*` stands for any characters.
    Without names, it lists what is excluded. Stored sessions stay until you run `recollect forget --repo`.
    """
    notes: list[str] = []
    with open_memory() as memory:
        if repos:
            notes = memory.maintenance.exclude(repos, is_removal=is_removal)
        elif is_removal:
            raise UsageError("--remove needs a name", hint="`recollect exclude` lists what is excluded")
        return EXCLUDED(memory.maintenance.excluded(), notes=notes)


@noun()
@examples("keys status", "keys rotate", "keys move keyring")
def keys() -> None:
    """Show, rotate or move the archive's key.

    A data key encrypts the archive, and a wrapping key encrypts the data key. The wrapping key is in a file in the
    home, or in the keyring of the operating system. Earlier backups still open with the keys that they contain.
    """


@keys.command("status")
@prints
@examples("keys status")
def status(memory: Memory) -> CommandResult:
    """Show where the wrapping key is, and whether it opens the archive."""
    found = memory.maintenance.keys.status()
    return KEY_STATUS(found, code=0 if found.opens else 3)


@keys.command("rotate")
@prints
@examples("keys rotate")
def rotate(memory: Memory) -> CommandResult:
    """Make a new wrapping key. The archive is not rewritten."""
    return KEY_CHANGE(memory.maintenance.keys.rotate())


@keys.command("move")
@click.argument("place", type=click.Choice(("keyring", "file")))
@prints
@examples("keys move keyring")
def move(memory: Memory, place: Literal["keyring", "file"]) -> CommandResult:
    """Move the wrapping key to the system's keyring, or to a file."""
    return KEY_CHANGE(memory.maintenance.keys.move(place))


@click.command()
@click.argument("file", metavar="[FILE|-]", type=NamedPath(), default="-")
@prints
@examples("redact build.log > build.clean.log", "env | recollect redact")
def redact(file: str, as_json: bool) -> int:
    """Replace the secrets in a text with markers.

    Reads FILE or a pipe, writes to standard output, and reports what it found on standard error (as JSON with --json).
    It needs no memory. `[privacy]` in the configuration adds your own patterns and exceptions.
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
@number_option("--from", "Begin with this event.", key="first", least=0, metavar="SEQ", default=0)
@flag("--raw", "Write the exact bytes of the records.", key="is_raw")
@flag("--log", "Show what was revealed, when and by whom, newest first.", key="is_log")
@flag("--yes", "Don't ask.", key="is_agreed")
@prints
@examples("reveal {0}:5f0c#12", "reveal {0}:5f0c#12 --raw --yes", "reveal --log")
def reveal(
    session: str | None, limit: int, first: int, as_json: bool, **flags: Unpack[RevealFlags]
) -> CommandResult | int:
    """Show original text, secrets included; this is logged.

    Everywhere else, markers replace secrets. This command reads the encrypted archive and shows the secrets of a
    session, or of one event. It asks first and writes a log entry. No server offers this command.
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
