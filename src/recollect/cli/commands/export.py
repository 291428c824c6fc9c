"""`recollect export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_bytes, write_list
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import ExportFormat

FORMATS: tuple[ExportFormat, ...] = ("raw", "events", "claude-jsonl", "markdown", "nodes", "prov")


@click.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice(FORMATS), default=None, help="What to write. Default: events.")
@click.option("--raw", is_flag=True, help="The exact bytes, secrets included; needs --out.")
@click.option(
    "--out",
    metavar="DIR|-",
    help="Folder for the files; - writes to standard output.  [default: the current folder; none for --raw]",
)
@click.option("--revision", type=click.IntRange(min=1), metavar="N", help="This revision instead of the newest.")
@json_option
def command(
    session: str, form: ExportFormat | None, raw: bool, out: str | None, revision: int | None, as_json: bool
) -> int:
    """Write a session to files: redacted, or its exact bytes.

    Every format but `raw` shows what `recollect show` shows: secrets are replaced by markers. `events` is one JSON
    object a line, `nodes` gives signals, nodes and the digest, `prov` gives nodes as PROV-JSON. `raw` gives the bytes
    that the agent wrote, secrets included. It needs --out, and the audit log records it. Files are named AGENT_ID, and
    their time is the end of the session.

    \b
    Examples:
      recollect export claude:5f0c --format markdown --out notes
      recollect export claude:5f0c --format prov --out -
      recollect export codex:0197 --raw --out - | wc -c
    """
    if raw and form not in (None, "raw"):
        raise UsageError(f"--raw and --format {form} exclude each other", hint="leave one out")
    chosen: ExportFormat = "raw" if raw else form or "events"
    if chosen == "raw" and out is None:
        message = "raw bytes contain the session's secrets, so they are written only to a place that you name"
        raise UsageError(message, hint="add --out DIR, or --out - for standard output")
    if out == "-" and as_json:
        raise UsageError("--json and --out - both write to stdout", hint="name a folder with --out")
    with open_memory() as memory:
        if out == "-":
            for piece in memory.upkeep.export_bytes(session, format=chosen, revision=revision):
                write_bytes(piece)
            return 0
        files = memory.upkeep.export(session, format=chosen, out=Path(out or "."), revision=revision)
    if as_json:
        write_list("files", files)
    else:
        from recollect.cli.render.upkeep import print_exported

        print_exported(console(), files)
    return 0 if files else 1
