"""`recollect context`."""

from __future__ import annotations

import os

import click

from recollect.cli.hooked import EVENTS, Event, HookOptions, answer_hook
from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import safe, write_json


@click.command()
@click.option("--cwd", metavar="DIR", default="", help="Where the agent works; by default the current folder.")
@click.option(
    "--event",
    type=click.Choice(EVENTS),
    default=None,
    help="start: what was worked on and what failed here. compact: what a compaction dropped of SESSION. prompt: what "
    "is known about a prompt, where the configuration turns it on.",
)
@click.option("--session", metavar="SESSION", default="", help="The present session; left out at its start.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="At most this many LLM tokens.")
@click.option("--hook", "agent", metavar="AGENT", default="", help="Answer a hook of this agent: JSON on stdin.")
@json_option
def command(cwd: str, event: Event | None, session: str, budget: int | None, agent: str, as_json: bool) -> int:
    """Show what an agent is given when a session starts here.

    \b
    Examples:
      recollect context
      recollect context --event compact --session claude:5f0c
    """
    if agent:
        return answer_hook(HookOptions(agent, event or "", cwd, session, budget))
    with open_memory() as memory:
        memory.refresh()
        uid = memory.session(session).session_uid if session else ""
        block = memory.context(cwd=cwd or os.getcwd(), event=event or "start", session=uid, budget=budget)
    if as_json:
        write_json(block)
    elif block.text:
        click.echo(safe(block.text))
    else:
        click.echo("nothing to say here yet", err=True)
    return 0 if block.text else 1
