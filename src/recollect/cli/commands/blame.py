"""`recollect blame`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, no_sync_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.units import size

if TYPE_CHECKING:
    from recollect.memory import BlameQuestion

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A larger file has no lines that a person asks about."""


@click.command()
@click.argument("place", metavar="PATH[:LINE]")
@no_sync_option
@json_option
def command(place: str, no_sync: bool, as_json: bool) -> int:
    """Show which session, turn and decision led to a line.

    PATH is a file as you would name it here; LINE counts from 1, and its text is read from the file. Without LINE it is
    the last recorded edit of the file. Told from what recorded edits added and removed; where these do not show it, the
    answer is "no proof" and the exit code is 1.

    \b
    Examples:
      recollect blame src/app.py:42
      recollect blame README.md --json
    """
    from recollect.cli.render.progress import StageLine

    path, number = _parts(place)
    with open_memory() as memory, StageLine() as line:
        answer = memory.blame(_question(path, number), sync=not no_sync, tell=line.show)
    if as_json:
        write_json(answer)
    else:
        from recollect.cli.render.insights.blame import print_blame

        print_blame(console(), answer, number=number, now_us=now_us())
    return 0 if answer.blame.found is not None else 1


def _parts(place: str) -> tuple[Path, int | None]:
    """Return (path, line or None) of `PATH[:LINE]`; a file whose name ends so is that file."""
    path, mark, line = place.rpartition(":")
    if not mark or not path or not (line.isascii() and line.isdecimal()) or Path(place).exists():
        return Path(place), None
    return Path(path), int(line)


def _question(path: Path, number: int | None) -> BlameQuestion:
    """Return what to ask: the path below its repository, the line's text, the lines beside it. Raises UsageError."""
    from recollect.memory import BlameQuestion, repository_of

    whole = Path(os.path.abspath(path))
    if whole.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file, or a line of it: PATH:LINE")
    root, names = repository_of(whole)
    told = whole.relative_to(root).as_posix() if root is not None else whole.as_posix()
    top = str(root) if root is not None else ""
    if number is None:
        return BlameQuestion(told, repos=names, root=top)
    lines = _lines(whole, path)
    if not 1 <= number <= len(lines):
        raise UsageError(f"{path} has {len(lines):,} lines, and no line {number}")
    around = (*lines[max(0, number - 2) : number - 1], *lines[number : number + 1])
    return BlameQuestion(told, lines[number - 1], around, names, top)


def _lines(path: Path, shown: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{shown} is larger than {size(MAX_FILE_BYTES, binary=True)}")
        text = path.read_text("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"cannot read {shown}: {error.strerror}", hint="without :LINE, the last edit of the file is told"
        ) from error
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]
