"""`recollect sync`."""

from __future__ import annotations

import click

from recollect.cli.options import agent_option, json_option, open_memory
from recollect.cli.terminal import console, write_json

EXIT_CODES = {"done": 0, "interrupted": 130, "busy": 3, "degraded": 3}


@click.command()
@agent_option
@click.option("--force", is_flag=True, help="Derive all events again from the archive, also of unchanged sources.")
@json_option
def command(agents: tuple[str, ...], force: bool, as_json: bool) -> int:
    """Take in what is new or changed.

    While another process is ingesting into the same memory, nothing is done and the exit code is 3.

    \b
    Examples:
      recollect sync
      recollect sync --agent codex --json
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine() as progress:
        report = memory.sync(agents=agents, force=force, progress=progress)
        memory.embedding.start_in_background()
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_sync

        print_sync(console(), report)
    return exit_code(report.state)


def exit_code(state: str) -> int:
    """Return the exit code of a sync's state: 0 only where everything that was asked is done."""
    return EXIT_CODES[state]
