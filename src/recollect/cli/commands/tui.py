"""`recollect tui`."""

from __future__ import annotations

import os
import sys

import click

from recollect.cli.results import prints
from recollect.errors import UsageError


@click.command()
@prints
def tui(as_json: bool) -> int:
    """Search and read in the terminal.

    Shows search, sessions, transcripts and usage. The keys are those of the web page: `/` starts a query, `j` and `k`
    move, Enter opens, Escape goes back, `?` shows all keys, `q` quits.

    \b
    Example:
      recollect tui
    """
    has_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.__stdin__))
    if as_json or not has_terminal or os.environ.get("TERM") == "dumb":
        raise UsageError(
            "`recollect tui` needs a terminal, and prints nothing",
            hint="`recollect search`, `sessions` and `show` print the same",
        )
    from recollect.cli.first_run import open_to_look
    from recollect.cli.tui.app import RecollectApp

    with open_to_look() as memory:
        app = RecollectApp(memory)
        app.run()
    if app.failure is not None:
        raise app.failure
    return 0
