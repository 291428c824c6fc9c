"""`recollect sync-folder`."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import click

from recollect.cli.options import NamedPath, open_memory
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.errors import UsageError

FOLDER = ResultKind("sync-folder", "FolderReport", "team:print_folder")


@click.command("sync-folder")
@click.argument("folder", metavar="DIR", type=NamedPath(path_type=Path))
@click.option(
    "--passphrase-file",
    type=NamedPath(path_type=Path),
    metavar="FILE",
    help="Read the passphrase from the first line of FILE.",
)
@click.option(
    "--remember/--no-remember",
    "is_remembered",
    default=None,
    help="Store the key in your memory's home, where only you can read it, and let the daemon sync; --no-remember "
    "undoes both.",
)
@click.option("--machine", default="", metavar="NAME", help="A name for this machine.  [default: its host name]")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what would be sent and received; change nothing.")
@prints
def sync_folder(
    folder: Path,
    passphrase_file: Path | None,
    is_remembered: bool | None,
    machine: str,
    is_dry_run: bool,
) -> CommandResult:
    """Share sessions between your machines, through a folder.

    DIR is a folder that all your machines can reach: in Dropbox, on a network drive or on a USB stick. Its contents are
    encrypted with your passphrase. The command ingests what is new on this machine, adds it to the folder, and gets
    what the other machines have added. Sessions of excluded repositories stay on this machine. What you forget on one
    machine is forgotten on the others. The passphrase comes from RECOLLECT_SYNC_PASSPHRASE, a file or a pipe; otherwise
    the command asks for it.

    \b
    Examples:
      recollect sync-folder ~/Dropbox/recollect
      recollect sync-folder /media/stick --dry-run
    """
    from recollect.cli.render.progress import ProgressLine

    with open_memory() as memory, ProgressLine("syncing") as progress:
        report = memory.shared_folder.sync(
            folder, partial(_read, passphrase_file), name=machine, is_remembered=is_remembered, is_dry_run=is_dry_run,
            progress=progress.stage_done,
        )  # fmt: skip
    return FOLDER(report, code=3 if report.refused else 0)


def _read(file: Path | None, is_new: bool) -> str:
    if file is not None:
        try:
            return file.read_text("utf-8").partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the passphrase from {file}: {error}") from error
    if given := os.environ.get("RECOLLECT_SYNC_PASSPHRASE"):
        return given
    if sys.stdin.isatty():
        return str(click.prompt("passphrase", hide_input=True, err=True, confirmation_prompt=is_new))
    return sys.stdin.readline().rstrip("\r\n")
