"""`recollect stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json

if TYPE_CHECKING:
    from recollect.memory import Memory


@click.command()
@click.argument("what", required=False, type=click.Choice(["recall"]), metavar="[recall]")
@json_option
def command(what: str | None, as_json: bool) -> int:
    """Show what is in the memory, or how agents use it.

    `recall`: how often agents were given something, how often they used it, and how often they asked by themselves.

    \b
    Examples:
      recollect stats --json
      recollect stats recall
    """
    with open_memory() as memory:
        if what == "recall":
            return _show_recall(memory, as_json=as_json)
        stats = memory.stats()
    if as_json:
        write_json(stats)
    else:
        from recollect.cli.render.memory import print_stats

        print_stats(console(), stats)
    return 0


def _show_recall(memory: Memory, *, as_json: bool) -> int:
    from recollect.memory import ContextFacet

    recalled = ContextFacet.of(memory).stats()
    if as_json:
        write_json(recalled)
    else:
        from recollect.cli.render.memory import print_recall_stats

        print_recall_stats(console(), recalled)
    return 0
