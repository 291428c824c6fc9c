"""`recollect backup`."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.cli.options import NamedPath, json_option, open_memory
from recollect.cli.terminal import console, write_json


@click.command()
@click.argument("target", type=NamedPath(path_type=Path))
@click.option(
    "--without-key",
    is_flag=True,
    help="Leave the wrapping key out: the backup then opens only where that key is, and keeps its secret.",
)
@json_option
def command(target: Path, without_key: bool, as_json: bool) -> int:
    """Copy the memory, as it is at one moment.

    TARGET is a folder, or a file whose name ends in .tar.zst. Taking in and searching go on meanwhile. What was written
    is read again and every chunk opened before it counts; a backup that was interrupted is none. A second one to the
    same folder copies what is new. Index and vectors are left out: `recollect restore` makes them anew.

    \b
    Examples:
      recollect backup /media/disk/memory
      recollect backup memory.tar.zst --without-key
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("copying") as progress:
        report = memory.upkeep.backup(target, with_key=not without_key, progress=progress.stage_done)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.maintenance.copies import print_backup

        print_backup(console(), report)
    return 0
