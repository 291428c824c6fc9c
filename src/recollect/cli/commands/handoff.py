"""`recollect resume` and `recollect handoff`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from recollect.cli.options import NamedPath, no_sync_option, open_memory
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import safe, safe_line
from recollect.errors import UsageError
from recollect.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import Handoff, ResumeCommand


def _print_command(_: object, found: ResumeCommand) -> None:
    from recollect.memory import command_line

    click.echo(safe(command_line(found.command, found.folder)))
    _print_notes(found.notes)


def _print_brief(_: object, brief: Handoff) -> None:
    if not brief.file:
        click.echo(safe(brief.text), nl=bool(brief.text))
    elif brief.text:
        click.echo(f"wrote {safe_line(brief.file)}: {len(brief.lines):,} lines, about {brief.tokens:,} tokens")
        if brief.start:
            from recollect.memory import command_line

            click.echo(f"start it with: {safe(command_line(brief.start, brief.folder))}")
    _print_notes(brief.notes)


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(f"note: {safe_line(note)}", err=True)


RESUME = ResultKind("resume", "ResumeCommand", _print_command, is_plain=True)
HANDOFF = ResultKind("handoff", "Handoff", _print_brief, is_plain=True)


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("--run", "is_run", is_flag=True, help="Run the command in the session's folder.")
@no_sync_option
@prints
def resume(session: str, is_run: bool, no_sync: bool, as_json: bool) -> CommandResult | int:
    """Resume a session in its own agent.

    Prints the agent's own command and the folder to run it in. With --run, Recollect runs the command, without a shell,
    and returns its exit code. SESSION is a session's uid or a unique prefix of it.

    \b
    Examples:
      recollect resume claude:5f0c
      recollect resume claude:5f0c --run
    """
    if is_run and as_json:
        raise UsageError("use --run or --json, not both")
    with open_memory() as memory:
        if not no_sync:
            memory.refresh()
        found = memory.handoff.resume(session)
    return _run(found) if is_run else RESUME(found)


def _run(found: ResumeCommand) -> int:
    """Run the command of an agent in the session's folder and return its exit code. Raises UsageError."""
    from recollect.memory import command_line

    if not found.is_folder_there:
        raise UsageError(found.notes[0], hint=f"run it yourself where the work is now: {command_line(found.command)}")
    program, *arguments = found.command
    # Only folders that are named in full: the working directory may be a repository that somebody else has written.
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    path = shutil.which(program, path=os.pathsep.join(folders))
    if path is None or not os.path.isabs(path):
        raise UsageError(
            f"`{program}` is not on the PATH of this machine", hint="install the agent, or start it by hand"
        )
    # Interrupting is the agent's business: this process only waits. A handler is not inherited; SIG_IGN would be.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with subprocess.Popen([path, *arguments], cwd=found.folder) as agent:  # noqa: S603 - no shell
            code = agent.wait()
    except OSError as error:
        raise UsageError(f"`{program}` cannot be started: {error.strerror}") from error
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("--to", metavar="AGENT", required=True, help="The agent that continues the work.")
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="Maximum number of LLM tokens.  [default: 2000]"
)  # fmt: skip
@click.option(
    "-o", "--out", type=NamedPath(dir_okay=False, path_type=Path), metavar="FILE", help="Write the brief to this file."
)
@no_sync_option
@prints
def handoff(session: str, to: str, budget: int | None, *, out: Path | None, no_sync: bool) -> CommandResult:
    """Write a brief about a session for another agent.

    The brief says what was asked, what was decided and whether that still holds, what was run and changed, what fails,
    what is left to do, and where the session stopped. Each line cites its source. The session may still be running.
    SESSION is a session's uid or a unique prefix of it.

    \b
    Examples:
      recollect handoff claude:5f0c --to codex
      recollect handoff claude:5f0c --to codex -o brief.md
    """
    file = str(out.absolute()) if out is not None else ""
    from recollect.cli.render.progress import StageLine
    from recollect.memory import BRIEF_TOKENS

    with open_memory() as memory, StageLine() as line:
        notes: tuple[str, ...] = ()
        if not no_sync:
            line.show("ingesting what changed")
            notes = memory.refresh()
            line.show("analysing the session")
            notes += memory.handoff.analyse(session)
        brief = memory.handoff.brief(session, to=to, budget=budget or BRIEF_TOKENS, file=file)
        brief = msgspec.structs.replace(brief, notes=(*notes, *brief.notes))
    if out is not None and brief.text:
        try:
            write_file(out, f"{safe(brief.text)}\n".encode(), durable=True)
        except OSError as error:
            raise UsageError(f"cannot write {out}: {error.strerror}") from error
    return HANDOFF(brief, found=brief.text)
