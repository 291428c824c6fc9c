"""`recollect replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.options import NamedPath
from recollect.cli.pipes import Piped, config_of_user, input_path, piped_options, ranked_option, told_on_stderr, writing

if TYPE_CHECKING:
    from recollect.memory import Item


@click.command()
@click.argument("file", metavar="FILE|-", type=NamedPath())
@piped_options
@click.option("--steps", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N",
              help="At most so many moments, evenly spread over the turns.")  # fmt: skip
@click.option("--signals", is_flag=True, help="Give signals besides nodes.")
@click.option("--digest", "digests", is_flag=True, help="Give digests besides nodes.")
@ranked_option
def command(file: str, steps: int, signals: bool, digests: bool, *, is_ranked: bool, **piped: Unpack[Piped]) -> int:
    """Play a transcript back as it grew.

    Gives the nodes that a watcher would have been given, in order, as NDJSON. What changed since the step before is
    given again; what no longer holds comes as {"node": "retracted"}. The last step gives what one pass over the whole
    gives. --json is accepted and changes nothing.

    \b
    Examples:
      recollect replay session.jsonl --steps 5
      recollect replay session.jsonl --sink sqlite:nodes.db
    """
    from recollect.memory import play, read_path, stages_of

    config = config_of_user()
    found = False
    with input_path(file) as path, writing(piped["sink"]) as out:
        reading = read_path(path, agent=piped["agent"], config=config, told=told_on_stderr)
        # Whoever is sent lines is sent each step as it comes; a sink gets all of it at once, and once.
        name, is_sunk = _name(path, signals=signals, digests=digests), piped["sink"] is not None
        if is_sunk and out.offsets().get(name) == reading.bytes:
            return 0
        kept: list[Item] = []
        given = out.given()
        stages = stages_of(config, is_ranked=is_ranked)
        for items in play(reading.events, steps=steps, stages=stages, signals=signals, digests=digests, given=given):
            found = found or bool(items)
            if is_sunk:
                kept += items
            else:
                out.write(items, {})
        if is_sunk:
            out.write(kept, {name: reading.bytes})
    return 0 if found else 1


def _name(path: Path, *, signals: bool, digests: bool) -> str:
    """Return by what a sink knows that this was played; `parse` goes by the path alone."""
    kinds = ("nodes", *(("signals",) if signals else ()), *(("digests",) if digests else ()))
    return f"replay of {', '.join(kinds)}: {path.resolve()}"
