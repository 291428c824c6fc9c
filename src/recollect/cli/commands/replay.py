"""`recollect replay`."""

from __future__ import annotations

from typing import Unpack

import click

from recollect.cli.pipes import Piped, config_of_user, input_path, piped_options, told_on_stderr, writing


@click.command()
@click.argument("file", metavar="FILE|-")
@piped_options
@click.option("--steps", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N",
              help="At most so many moments, evenly spread over the turns.")  # fmt: skip
@click.option("--signals", is_flag=True, help="Give signals besides nodes.")
@click.option("--digest", "digests", is_flag=True, help="Give digests besides nodes.")
def command(file: str, steps: int, signals: bool, digests: bool, **piped: Unpack[Piped]) -> int:
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
        stages = stages_of(config)
        for items in play(reading.events, steps=steps, stages=stages, signals=signals, digests=digests):
            out.write(items, {})
            found = found or bool(items)
    return 0 if found else 1
