"""`recollect hook`. The program hands the verb over before this is imported, unless its help or JSON is asked for."""

from __future__ import annotations

from typing import TypedDict, Unpack

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import write_json


class _Closing(TypedDict):
    """The options that only `session-end` has."""

    export_env: bool
    session: str


@click.command()
@click.argument("agent")
@click.argument("event", required=False, type=click.Choice(["spool", "start", "compact", "prompt", "end"]))
@click.argument("spool", required=False)
@click.argument("program", required=False)
@click.option("--export-env", is_flag=True, help="session-end: print the session's variables as shell lines.")
@click.option("--session", default="", metavar="UID", help="session-end: this session, not the one that stdin names.")
@json_option
def command(
    agent: str, event: str | None, spool: str | None, program: str | None, as_json: bool, **closing: Unpack[_Closing]
) -> int:
    """Handle one event of an agent: what its hooks call.

    What stands on stdin is kept for the next sync. `spool` does no more; `start`, `compact` and `prompt` print the
    agent's answer with context, or its empty answer; `end` tells the daemon. The exit code is always 0. `recollect
    setup` registers faster commands that do the same.

    `recollect hook session-end --export-env` is for programs that follow sessions: it ingests and analyses the session
    that the hook's JSON on stdin, or --session, names, and prints `export HELIX_…` lines (docs/correlation.md), or
    nothing where that takes longer than 15 seconds.

    \b
    Examples:
      recollect hook claude spool < payload.json
      eval "$(recollect hook session-end --export-env --session claude:5f0c)"
    """
    if agent == "session-end":
        from recollect.cli.closing import ClosingOptions, close_session

        return close_session(ClosingOptions(**closing, as_json=as_json))
    if event is None:
        raise click.UsageError("Missing argument 'EVENT'.")
    from recollect.hook.handle import answer_to, main

    arguments = [value for value in (agent, event, spool, program) if value]
    if not as_json:
        return main(arguments)
    write_json({"answer": answer_to(arguments).decode("utf-8", "replace")})
    return 0
