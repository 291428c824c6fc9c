"""`recollect up`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option
from recollect.errors import UsageError


@click.command()
@click.option("--once", is_flag=True, help="Take everything in now and return.")
@click.option("--detach", is_flag=True, help="Start it apart from this terminal and return.")
@click.option("--stop", is_flag=True, help="Stop the one that is running.")
@click.option("--status", is_flag=True, help="Ask the one that is running how it is.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    metavar="N",
    help="Where to serve MCP and the status page, in place of [daemon] port; 0: any free port.",
)
@json_option
def command(once: bool, detach: bool, stop: bool, status: bool, port: int | None, as_json: bool) -> int:
    """Take in what your agents wrote and go on writing.

    Runs until Ctrl-C: watches what agents write, takes it in at once, analyses sessions that have ended, keeps the
    memory within its bounds, answers hooks, and serves MCP and a status page on this machine. One runs for each memory.
    With --once it takes everything in and returns; where no agent has written anything, a small bundled sample then
    goes into a demo home of its own. --status exits with 1 where none is running.

    \b
    Examples:
      recollect up --once
      recollect up --detach
      recollect up --status
    """
    if once + detach + stop + status > 1:
        raise UsageError("--once, --detach, --stop and --status exclude each other", hint="recollect up --help")
    if port is not None and (once or stop or status):
        raise UsageError(
            "--port is for the daemon: it goes alone or with --detach", hint="recollect up --detach --port 4319"
        )
    if once:
        from recollect.cli.commands.sync import exit_code
        from recollect.cli.live.once import run_once

        return exit_code(run_once(as_json=as_json))
    from recollect.cli.live import running

    if stop:
        return running.stop(as_json=as_json)
    if status:
        return running.tell_status(as_json=as_json)
    return running.detach(port, as_json=as_json) if detach else running.run(port, as_json=as_json)
