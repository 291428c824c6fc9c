"""`recollect resume`, `handoff` and `context`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from recollect.cli.context_hook import EVENTS, Event, HookOptions, answer_hook
from recollect.cli.groups import noun
from recollect.cli.options import (
    NamedPath,
    choice_option,
    flag,
    limit_option,
    no_sync_option,
    number_option,
    open_memory,
    text_option,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.cli.terminal import safe, safe_line
from recollect.errors import UsageError
from recollect.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import ContextBlock, Handoff, Memory, ResumeCommand


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
@flag("--run", "Run the command in the session's folder.", key="is_run")
@no_sync_option
@prints
@examples("resume {0}:5f0c", "resume {0}:5f0c --run")
def resume(session: str, is_run: bool, no_sync: bool, as_json: bool) -> CommandResult | int:
    """Resume a session in its own agent.

    Prints the agent's own command and the folder to run it in. With --run, Recollect runs the command, without a shell,
    and returns its exit code. SESSION is a session's uid or a unique prefix of it.
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
@text_option("--to", "AGENT", "The agent that continues the work.", required=True)
@number_option("--budget", "Maximum number of LLM tokens.  [default: 2000]", least=1)
@click.option(
    "-o", "--out", type=NamedPath(dir_okay=False, path_type=Path), metavar="FILE", help="Write the brief to this file."
)
@no_sync_option
@prints
@examples("handoff {0}:5f0c --to {1}", "handoff {0}:5f0c --to {1} -o brief.md")
def handoff(session: str, to: str, budget: int | None, *, out: Path | None, no_sync: bool) -> CommandResult:
    """Write a brief about a session for another agent.

    The brief says what was asked, what was decided and whether that still holds, what was run and changed, what fails,
    what is left to do, and where the session stopped. Each line cites its source. The session may still be running.
    SESSION is a session's uid or a unique prefix of it.
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


LOG = ResultKind("context-shown", "ShownBlock", "learnings:print_given", listed="blocks")
BEGUN = ResultKind("context-init", "Begun", "learnings:print_begun")


@noun(default="show", replaced={"--shown": "log"})
@examples("context", "context --event compact --session {0}:5f0c", "context log --limit 5", "context init --dry-run")
def context() -> None:
    """Show the context that an agent gets when a session starts here."""


@context.command("show")
@text_option("--cwd", "DIR", "Where the agent works.  [default: the current folder]")
@choice_option(
    "--event",
    EVENTS,
    "start: what was learned, what was done and what failed here. compact: what a compaction dropped from "
    "SESSION. prompt: what is known about a prompt, if the configuration turns that on.",
)
@text_option("--session", "SESSION", "The current session.")
@number_option("--budget", "Maximum number of LLM tokens.", least=1)
@text_option("--hook", "AGENT", "Answer a hook of this agent, which sends JSON on stdin.", key="agent")
@prints
@examples("context show --cwd ~/src/shop-api")
def show(cwd: str, event: Event | None, session: str, budget: int | None, *, agent: str) -> CommandResult | int:
    """Show the block that an agent would get now."""
    if agent:
        return answer_hook(HookOptions(agent, event or "", cwd, session, budget))
    with open_memory() as memory:
        memory.refresh()
        uid = memory.session(session).session_uid if session else ""
        block = memory.context(cwd=cwd or os.getcwd(), event=event or "start", session=uid, budget=budget)
    return BLOCK(block, found=block.text)


def _print_block(_: object, block: ContextBlock) -> None:
    if block.text:
        click.echo(safe(block.text))
    else:
        click.echo("nothing to show here yet", err=True)


BLOCK = ResultKind("context", "ContextBlock", _print_block, is_plain=True)


@context.command("log")
@text_option("--session", "SESSION", "Only this session.")
@limit_option(20, "blocks")
@prints
@examples("context log --limit 5")
def log(memory: Memory, session: str, limit: int) -> CommandResult:
    """Show what agents were given, when, and whether they used it."""

    uid = memory.session(session).session_uid if session else ""
    blocks = memory.context_facet.shown(session=uid, limit=limit)
    return LOG(blocks)


@context.command("init")
@flag("--dry-run", "Show what would be written; write nothing.", key="is_dry_run")
@prints
@examples("context init --dry-run")
def init(memory: Memory, is_dry_run: bool) -> CommandResult:
    """Write `soul.md` and `user.md`, which agents get first.

    An existing file is never overwritten. Both files are yours to edit.
    """

    begun = memory.context_facet.begin(is_dry_run=is_dry_run)
    if not is_dry_run:
        memory.learn.write_user_file()  # what is known already
    return BEGUN(begun)
