"""`recollect parse`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

from recollect.cli.options import json_option
from recollect.cli.terminal import encode_json
from recollect.errors import SourceUnavailable


@click.command()
@click.argument("file", metavar="FILE|-")
@click.option("--as", "agent", metavar="SLUG", help="The agent that wrote it, where the content doesn't tell.")
@json_option
def command(file: str, agent: str | None, as_json: bool) -> int:
    """Turn a transcript into events as NDJSON, without a memory.

    One event per line, redacted like everything Recollect shows. --json is accepted and changes nothing.

    \b
    Example:
      recollect parse session.jsonl | head -3
    """
    if file != "-":
        return _print_events(Path(file), agent)
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "stdin.jsonl"
        with copy.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        return _print_events(copy, agent)


def _print_events(path: Path, agent: str | None) -> int:
    from recollect.config import load_config
    from recollect.memory import parse_file

    if path.is_dir():
        raise SourceUnavailable(f"{path} is a directory", hint="name one transcript file")
    out = sys.stdout.buffer
    found = False
    for event in parse_file(path, agent=agent, formats=load_config().formats()):
        out.write(encode_json(event) + b"\n")
        found = True
    out.flush()
    return 0 if found else 1
