"""`recollect restore`."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.cli.options import NamedPath, json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.argument("source", type=NamedPath(path_type=Path))
@click.option("--home", type=click.Path(path_type=Path), metavar="FOLDER", help="Restore to this home, not to yours.")
@click.option("--force", is_flag=True, help="Replace the memory that is there.")
@click.option("--keep", is_flag=True, help="Keep the memory that is replaced, in a folder of the home.")
@json_option
def command(source: Path, home: Path | None, force: bool, keep: bool, as_json: bool) -> int:
    """Let a backup take the memory's place.

    SOURCE is what `recollect backup` made. It is copied and checked whole before anything is touched. What was
    forgotten since stays forgotten. Where there is a memory already it says what that has and the backup has not, and
    goes on only with --force. What the agents' files bring back then gets other numbers than it had (SESSION#SEQ):
    the backup does not know them.

    \b
    Example:
      recollect restore /media/disk/memory
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory(home) as memory, ProgressLine("copying") as progress:
        report = memory.upkeep.restore(source, force=force, keep=keep, progress=progress.stage_done)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.maintenance.copies import print_restored

        print_restored(console(), report)
    return 0
