"""`recollect undo`."""

from __future__ import annotations

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json, write_list
from recollect.errors import UsageError
from recollect.model.learnings.notes import Batch


@click.command()
@click.argument("batch", required=False)
@click.option("--list", "is_list", is_flag=True, help="List what can be undone, and what was.")
@json_option
def command(batch: str | None, is_list: bool, as_json: bool) -> int:
    """Retire all that one run learned, derived or imported.

    BATCH: as the run said it, or a beginning of it. What it added counts no more and is not given to agents; its
    history is kept. What you confirmed or ended yourself since stays as you said. Harmless when done twice.

    \b
    Examples:
      recollect undo --list
      recollect undo b41c9a02d77e3
    """
    if batch is not None and is_list:
        raise UsageError("either a batch, or --list")
    with open_memory() as memory:
        if batch is None:
            return _list(memory.notes.batches.list(), as_json=as_json)
        report = memory.notes.batches.undo(batch)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.learnings.notes import print_undone

        print_undone(console(), report)
    return 0


def _list(batches: tuple[Batch, ...], *, as_json: bool) -> int:
    if as_json:
        write_list("batches", batches)
    else:
        from recollect.cli.render.learnings.notes import print_batches

        print_batches(console(), batches)
    return 0 if batches else 1
