"""`recollect context`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from recollect.cli.groups import noun
from recollect.cli.hooked import EVENTS, Event, HookOptions, answer_hook
from recollect.cli.options import limit_option, open_memory
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.cli.terminal import safe

if TYPE_CHECKING:
    from recollect.memory import ContextBlock

LOG = ResultKind("context-shown", "ShownBlock", "learnings:print_given", listed="blocks")
BEGUN = ResultKind("context-init", "Begun", "learnings:print_begun")


@noun(default="show", replaced={"--shown": "log"})
def context() -> None:
    """Show the context that an agent gets when a session starts here.

    \b
    Examples:
      recollect context
      recollect context --event compact --session claude:5f0c
      recollect context log --limit 5
      recollect context init --dry-run
    """


@context.command("show")
@click.option("--cwd", metavar="DIR", default="", help="Where the agent works.  [default: the current folder]")
@click.option(
    "--event",
    type=click.Choice(EVENTS),
    default=None,
    help="start: what was learned, what was done and what failed here. compact: what a compaction dropped from "
    "SESSION. prompt: what is known about a prompt, if the configuration turns that on.",
)
@click.option("--session", metavar="SESSION", default="", help="The current session.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Maximum number of LLM tokens.")
@click.option(
    "--hook", "agent", metavar="AGENT", default="", help="Answer a hook of this agent, which sends JSON on stdin."
)
@prints
def show(cwd: str, event: Event | None, session: str, budget: int | None, *, agent: str) -> CommandResult | int:
    """Show the block that an agent would get now.

    \b
    Example:
      recollect context show --cwd ~/src/shop-api
    """
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
@click.option("--session", metavar="SESSION", default="", help="Only this session.")
@limit_option(20, "blocks")
@prints
def log(session: str, limit: int) -> CommandResult:
    """Show what agents were given, when, and whether they used it.

    \b
    Example:
      recollect context log --limit 5
    """

    with open_memory() as memory:
        uid = memory.session(session).session_uid if session else ""
        blocks = memory.context_facet.shown(session=uid, limit=limit)
    return LOG(blocks)


@context.command("init")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would be written; write nothing.")
@prints
def init(is_dry_run: bool) -> CommandResult:
    """Write `soul.md` and `user.md`, which agents get first.

    An existing file is never overwritten. Both files are yours to edit.

    \b
    Example:
      recollect context init --dry-run
    """

    with open_memory() as memory:
        begun = memory.context_facet.begin(is_dry_run=is_dry_run)
        if not is_dry_run:
            memory.learn.write_user_file()  # what is known already
    return BEGUN(begun)
