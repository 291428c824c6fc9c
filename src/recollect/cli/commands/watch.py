"""`recollect watch`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.options import NamedPath, when_option
from recollect.cli.pipes import MeantAndPiped, config_of_user, meant_options, piped_options, ranked_option, writing
from recollect.cli.terminal import safe_line
from recollect.errors import SourceUnavailable, UsageError

if TYPE_CHECKING:
    from recollect.memory import Sink, Watcher


@click.command()
@click.argument("paths", metavar="[FILE|DIR|-]...", type=NamedPath(), nargs=-1)
@piped_options
@meant_options
@ranked_option
@click.option("--new", "only_new", is_flag=True, help="Leave out what is there already.")
@click.option("--once", is_flag=True, help="Give what is there and end.")
@when_option("--since", "Of the memory: begin with what happened from then on.", also="--after")
@click.option("--idle", "idle_s", type=click.FloatRange(min=0), default=2.0, show_default=True, metavar="SECONDS",
              help="How long a file must be quiet before it is distilled.")  # fmt: skip
def command(
    paths: tuple[str, ...], only_new: bool, once: bool, since: int | None, idle_s: float, *, is_ranked: bool,
    **options: Unpack[MeantAndPiped],
) -> int:  # fmt: skip
    """Follow the memory, or transcripts, as they grow.

    Gives new events, or what they mean, as NDJSON. Without paths: whatever any agent does from now on, or from --since,
    with its secrets replaced; sessions are distilled when they have ended. With paths no memory is needed: folders are
    followed with everything in them, also files that come later; --nodes and the like come when a file has been quiet
    for --idle seconds. Ctrl-C ends it. With --sink, what was written is remembered with how far that was. --json is
    accepted and changes nothing.

    \b
    Examples:
      recollect watch --since today
      recollect watch ~/.claude/projects --new
      recollect watch session.jsonl --nodes --sink ndjson:nodes.ndjson
      tail -f session.jsonl | recollect watch - --nodes
    """
    if not paths:
        from recollect.cli.live.following import follow_memory

        return follow_memory(options, since=since, once=once, is_ranked=is_ranked)
    if since is not None:
        raise UsageError("--since is for the memory: leave the paths out", hint="recollect watch --since today")
    from recollect.memory import Followed, Pace, Wanted, Watcher, as_growing_file, stages_of

    missing = [path for path in paths if path != "-" and not Path(path).exists()]
    if missing:
        raise SourceUnavailable(f"{missing[0]} is not there")
    config = config_of_user()
    with ExitStack() as stack:
        followed = [Path(path) for path in paths if path != "-"]
        is_ended: Callable[[], bool] = never
        if "-" in paths:
            copy, ended = stack.enter_context(as_growing_file(sys.stdin.buffer))
            followed.append(copy)
            is_ended = ended.is_set if len(paths) == 1 else never
        out = stack.enter_context(writing(options["sink"]))
        wanted = Wanted(False, options["nodes"], options["signals"], options["digests"], is_ranked)
        watcher = Watcher(
            Followed(tuple(followed), options["agent"], config), wanted=wanted if any(wanted) else Wanted(),
            stages=stages_of(config, is_ranked=is_ranked), before=out, pace=Pace(idle_s, not only_new), unread=_unread,
        )  # fmt: skip
        return 0 if _follow(watcher, out, once=once, is_ended=is_ended) else 1


def never() -> bool:
    """Files have no end: who follows them decides."""
    return False


def _follow(watcher: Watcher, out: Sink, *, once: bool, is_ended: Callable[[], bool]) -> bool:
    """Look again and again until there is an end, or Ctrl-C; return whether anything was given."""
    from recollect.memory import EVERY_S

    found = False
    try:
        while not once and not is_ended():
            found = _look(watcher, out, is_end=False) or found
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        found = True
    return _look(watcher, out, is_end=True) or found


def _look(watcher: Watcher, out: Sink, *, is_end: bool) -> bool:
    found = False
    for batch in watcher.look(is_end=is_end):
        out.write(batch.items, {batch.path: batch.size})
        found = True
    return found


def _unread(path: str, why: str) -> None:
    print(safe_line(f"not read: {path}: {why}"), file=sys.stderr)
