"""`recollect redact`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from recollect.cli.options import NamedPath, json_option
from recollect.cli.pipes import config_of_user
from recollect.errors import SourceUnavailable
from recollect.visible import encode_json


@click.command()
@click.argument("file", metavar="[FILE|-]", type=NamedPath(), default="-")
@json_option
def command(file: str, as_json: bool) -> int:
    """Write any text with its secrets replaced by markers.

    Reads FILE or a pipe, writes to standard output, and says on standard error what was found; with --json
    that is JSON. Needs no memory; patterns and exceptions of one's own come from `[privacy]` in the configuration.

    \b
    Examples:
      recollect redact build.log > build.clean.log
      env | recollect redact
    """
    from recollect.memory import redact_stream

    privacy = config_of_user().privacy
    out = sys.stdout.buffer
    if file == "-":
        found = redact_stream(sys.stdin.buffer, out, privacy)
    else:
        try:
            with Path(file).open("rb") as source:
                found = redact_stream(source, out, privacy)
        except OSError as error:
            raise SourceUnavailable(f"cannot read {file}: {error.strerror}") from error
    if as_json:
        sys.stderr.buffer.write(encode_json({"replaced": found}) + b"\n")
    elif found:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
        print(f"replaced: {kinds}", file=sys.stderr)
    return 0
