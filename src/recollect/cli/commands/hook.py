"""`recollect hook`. The program hands the verb over before this is imported, unless its help or JSON is asked for."""

from __future__ import annotations

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import write_json


@click.command()
@click.argument("agent")
@click.argument("event", type=click.Choice(["spool", "start", "compact", "prompt", "end"]))
@click.argument("spool", required=False)
@click.argument("program", required=False)
@json_option
def command(agent: str, event: str, spool: str | None, program: str | None, as_json: bool) -> int:
    """Handle one event of an agent: what its hooks call.

    What stands on stdin is kept for the next sync. `spool` does no more; `start`, `compact` and `prompt` print the
    agent's answer with context, or its empty answer; `end` tells the daemon. The exit code is always 0. `recollect
    setup` registers faster commands that do the same.

    \b
    Example:
      recollect hook claude spool < payload.json
    """
    from recollect.hook.__main__ import answer_to, main

    arguments = [value for value in (agent, event, spool, program) if value]
    if not as_json:
        return main(arguments)
    write_json({"answer": answer_to(arguments).decode("utf-8", "replace")})
    return 0
