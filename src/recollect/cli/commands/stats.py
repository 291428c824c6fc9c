"""`recollect stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recollect.cli.options import json_option, no_sync_option, open_memory, repo_option, when_option
from recollect.cli.terminal import console, write_json
from recollect.clock import now_us
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import Memory

WEEK_US = 7 * 86_400_000_000


@click.command()
@click.argument(
    "what", required=False, type=click.Choice(["recall", "sessions", "storage"]), metavar="[recall|sessions|storage]"
)
@when_option("--since", "sessions: begin with this time.  [default: 7d]")
@when_option("--until", "sessions: end with this time, which is included; by default now.")
@repo_option
@no_sync_option
@json_option
def command(
    what: str | None, since: int | None, until: int | None, repos: tuple[str, ...], no_sync: bool, as_json: bool
) -> int:
    """Show what is in the memory, its use, or what sessions came to.

    `recall`: how often agents were given something, how often they used it, and how often they asked by themselves.
    `storage`: what each tier, agent and repository takes, and how far that is from the caps of `[retention]`.
    `sessions`: outcomes, cost, errors, retries, decisions of a span, as figures; `recollect retro` tells them.

    \b
    Examples:
      recollect stats --json
      recollect stats recall
      recollect stats storage --json
      recollect stats sessions --since 30d --json
    """
    if what != "sessions" and (since is not None or until is not None or repos):
        raise UsageError("--since, --until and --repo are for `recollect stats sessions`")
    with open_memory() as memory:
        if what == "recall":
            return _show_recall(memory, as_json=as_json)
        if what == "storage":
            return _show_storage(memory, as_json=as_json)
        if what == "sessions":
            return _show_sessions(memory, (since, until), repos, as_json=as_json, no_sync=no_sync)
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


def _show_storage(memory: Memory, *, as_json: bool) -> int:
    storage = memory.upkeep.retention.storage()
    if as_json:
        write_json(storage)
    else:
        from recollect.cli.render.looking_after.retention import print_storage

        print_storage(console(), storage)
    return 0


def _show_sessions(
    memory: Memory, span: tuple[int | None, int | None], repos: tuple[str, ...], *, as_json: bool, no_sync: bool
) -> int:
    from recollect.cli.render.progress import StageLine

    since, until = span
    with StageLine() as line:
        end = now_us() if until is None else until
        begin = now_us() - WEEK_US if since is None else since
        retro = memory.retro(since=begin, until=end, repos=repos, sync=not no_sync, tell=line.show)
    if as_json:
        write_json(retro)
    else:
        from recollect.cli.render.retro.figures import print_figures

        print_figures(console(), retro)
    return 1 if retro.is_empty else 0
