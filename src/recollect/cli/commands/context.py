"""`recollect context`."""

from __future__ import annotations

import os
from typing import TypedDict, Unpack

import click

from recollect.cli.hooked import EVENTS, Event, HookOptions, answer_hook
from recollect.cli.options import json_option, limit_option, open_memory
from recollect.cli.terminal import console, safe, write_json
from recollect.errors import UsageError


class Given(TypedDict):
    """The options of a block, and those of what else the verb tells."""

    cwd: str
    event: Event | None
    session: str
    budget: int | None
    agent: str
    shown: bool
    dry_run: bool
    limit: int


@click.command()
@click.argument("action", type=click.Choice(("show", "init")), default="show")
@click.option("--cwd", metavar="DIR", default="", help="Where the agent works; by default the current folder.")
@click.option(
    "--event",
    type=click.Choice(EVENTS),
    default=None,
    help="start: what was learned, worked on and what failed here. compact: what a compaction dropped of SESSION. "
    "prompt: what is known about a prompt, where the configuration turns it on.",
)
@click.option("--session", metavar="SESSION", default="", help="The present session; with --shown: only this one.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="At most this many LLM tokens.")
@click.option("--hook", "agent", metavar="AGENT", default="", help="Answer a hook of this agent: JSON on stdin.")
@click.option("--shown", is_flag=True, help="Show what agents were given, when, and whether it was of use.")
@click.option("--dry-run", is_flag=True, help="With init: say what would be written, and write nothing.")
@limit_option(20, "blocks, with --shown")
@json_option
def command(action: str, as_json: bool, **given: Unpack[Given]) -> int:
    """Show what an agent is given when a session starts here.

    `init` writes `soul.md` and `user.md`, which lead what agents are given, where there are none; it never overwrites
    one. They are yours to edit.

    \b
    Examples:
      recollect context
      recollect context --event compact --session claude:5f0c
      recollect context --shown --limit 5
      recollect context init --dry-run
    """
    if given["agent"]:
        return answer_hook(
            HookOptions(given["agent"], given["event"] or "", given["cwd"], given["session"], given["budget"])
        )
    if given["dry_run"] and action != "init":
        raise UsageError("--dry-run goes with `context init`", hint="recollect context init --dry-run")
    if action == "init":
        return _begin(is_dry_run=given["dry_run"], as_json=as_json)
    return _show_given(given, as_json=as_json) if given["shown"] else _show_block(given, as_json=as_json)


def _show_block(given: Given, *, as_json: bool) -> int:
    session = given["session"]
    with open_memory() as memory:
        memory.refresh()
        uid = memory.session(session).session_uid if session else ""
        block = memory.context(
            cwd=given["cwd"] or os.getcwd(), event=given["event"] or "start", session=uid, budget=given["budget"]
        )
    if as_json:
        write_json(block)
    elif block.text:
        click.echo(safe(block.text))
    else:
        click.echo("nothing to say here yet", err=True)
    return 0 if block.text else 1


def _show_given(given: Given, *, as_json: bool) -> int:
    from recollect.memory import ContextFacet

    with open_memory() as memory:
        uid = memory.session(given["session"]).session_uid if given["session"] else ""
        blocks = ContextFacet.of(memory).shown(session=uid, limit=given["limit"])
    if as_json:
        write_json(blocks)
    else:
        from recollect.cli.render.learned.given import print_given

        print_given(console(), blocks)
    return 0 if blocks else 1


def _begin(*, is_dry_run: bool, as_json: bool) -> int:
    from recollect.memory import ContextFacet

    with open_memory() as memory:
        begun = ContextFacet.of(memory).begin(is_dry_run=is_dry_run)
        if not is_dry_run:
            memory.learn.write_user_file()  # what is known already
    if as_json:
        write_json(begun)
    else:
        from recollect.cli.render.learned.given import print_begun

        print_begun(console(), begun)
    return 0
