"""`recollect export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_bytes, write_json
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import ExportFormat

FORMATS: tuple[ExportFormat, ...] = ("raw", "events", "claude-jsonl", "markdown", "nodes", "prov")


@click.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice(FORMATS), default=None, help="What to write. Default: raw.")
@click.option("--raw", is_flag=True, help="The exact bytes; the same as --format raw.")
@click.option(
    "--out",
    default=".",
    show_default=True,
    metavar="DIR|-",
    help="Folder for the files; - writes the transcript to stdout.",
)
@click.option("--revision", type=click.IntRange(min=1), metavar="N", help="This revision instead of the newest.")
@json_option
def command(session: str, form: ExportFormat | None, raw: bool, out: str, revision: int | None, as_json: bool) -> int:
    """Write a session to files, exactly or converted.

    `raw` gives the agent's own bytes, secrets included; the other formats are redacted. `nodes`: signals, nodes and the
    digest, a line each; `prov`: nodes as PROV-JSON. Files are named AGENT_ID and carry the end of the session as their
    time.

    \b
    Examples:
      recollect export claude:5f0c --format markdown --out notes
      recollect export claude:5f0c --format prov --out -
      recollect export codex:0197 --raw --out - | wc -c
    """
    if raw and form not in (None, "raw"):
        raise UsageError(f"--raw and --format {form} exclude each other", hint="leave one out")
    if out == "-" and as_json:
        raise UsageError("--json and --out - both write to stdout", hint="name a folder with --out")
    with open_memory() as memory:
        if out == "-":
            for piece in memory.upkeep.export_bytes(session, format=form or "raw", revision=revision):
                write_bytes(piece)
            return 0
        files = memory.upkeep.export(session, format=form or "raw", out=Path(out), revision=revision)
    if as_json:
        write_json(files)
    else:
        from recollect.cli.render.upkeep import print_exported

        print_exported(console(), files)
    return 0 if files else 1
