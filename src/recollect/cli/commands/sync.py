"""`recollect sync`."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.cli.local_time import LOCAL
from recollect.cli.options import agent_option, json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.clock import now_us

EXIT_CODES = {"done": 0, "interrupted": 130, "busy": 3, "degraded": 3}


@click.command()
@agent_option
@click.option("--force", is_flag=True, help="Derive all events again from the archive, also of unchanged sources.")
@click.option(
    "--retro-out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Then write the retrospective of the last whole week there, once.",
)
@json_option
def command(agents: tuple[str, ...], force: bool, retro_out: Path | None, as_json: bool) -> int:
    """Ingest what is new or changed.

    While another process is ingesting into the same memory, nothing is done and the exit code is 3.

    \b
    Examples:
      recollect sync
      recollect sync --agent codex --json
      recollect sync --retro-out ~/retros
    """
    from recollect.cli.render.progress import ProgressLine, StageLine

    with open_memory() as memory, ProgressLine() as progress:
        report = memory.sync(agents=agents, force=force, progress=progress)
        memory.embedding.start_in_background()
    written: Path | None = None
    if retro_out is not None and report.state in ("done", "degraded"):
        from recollect.cli.render.retro.files import write_last_week

        with open_memory() as memory, StageLine() as line:
            written = write_last_week(memory, retro_out, now=now_us(), zone=LOCAL, tell=line.show)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_sync

        print_sync(console(), report)
    if written is not None:
        click.echo(f"wrote {written}", err=as_json)
    return exit_code(report.state)


def exit_code(state: str) -> int:
    """Return the exit code of a sync's state: 0 only where everything that was asked is done."""
    return EXIT_CODES[state]
