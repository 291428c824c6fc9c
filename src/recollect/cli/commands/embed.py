"""`recollect embed`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, open_memory
from recollect.cli.terminal import console, write_json
from recollect.clock import now_us

if TYPE_CHECKING:
    from types import FrameType

    from recollect.memory import EmbeddingFacet

EXIT_CODES = {"done": 0, "off": 0, "removed": 0, "busy": 3, "interrupted": 130}


@click.command()
@click.option("--anew", is_flag=True, help="Delete this model's vectors first and make all of them again.")
@click.option("--remove", is_flag=True, help="Delete the vectors of every model; nothing else is touched.")
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this time; go on next time.")
@click.option("--background", is_flag=True, hidden=True)
@click.option("--home", type=click.Path(path_type=Path), hidden=True)
@json_option
def command(
    anew: bool, remove: bool, max_seconds: float | None, background: bool, home: Path | None, as_json: bool
) -> int:
    """Make the vectors that searching by meaning needs.

    Only what has none yet is embedded. `sync` starts this by itself in the background. It can be stopped at any time
    and goes on where it was.

    \b
    Examples:
      recollect embed
      recollect embed --anew --json
    """
    from recollect.cli.render.progress import ProgressLine
    from recollect.memory import Memory

    with Memory.open(home) if home is not None else open_memory() as memory:
        if remove:
            report = memory.embedding.remove()
        else:
            with ProgressLine("making vectors", counted="event") as progress, _interruptible(memory.embedding):
                report = memory.embedding.run(
                    anew=anew, max_seconds=max_seconds, gently=background,
                    progress=None if background else progress.items_done,
                )  # fmt: skip
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.upkeep import print_embedded

        if background:  # its output is a log
            from recollect.cli.render.figures import stamp

            console().print(stamp(now_us()))
        print_embedded(console(), report)
    return EXIT_CODES[report.state]


@contextmanager
def _interruptible(embedding: EmbeddingFacet) -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop after the batch under way; a second one raises."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, _frame: FrameType | None) -> None:
        embedding.stop()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
