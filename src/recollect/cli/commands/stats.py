"""`recollect stats`."""

from __future__ import annotations

from recollect.cli.groups import noun, replaced_option
from recollect.cli.options import json_option, no_sync_option, open_memory, repo_option, span_options
from recollect.cli.terminal import console, write_json
from recollect.clock import now_us

unused_no_sync_option = replaced_option("--no-sync", instead="leave it out")


@noun(default="overview")
def command() -> None:
    """Show what is in the memory, its use, or what sessions came to.

    \b
    Examples:
      recollect stats --json
      recollect stats recall
      recollect stats storage --json
      recollect stats sessions --since 30d --json
    """


@command.command()
@unused_no_sync_option
@json_option
def overview(as_json: bool) -> int:
    """Show how much is in the memory.

    \b
    Example:
      recollect stats overview --json
    """
    with open_memory() as memory:
        stats = memory.stats()
    if as_json:
        write_json(stats)
    else:
        from recollect.cli.render.memory import print_stats

        print_stats(console(), stats)
    return 0


@command.command()
@unused_no_sync_option
@json_option
def recall(as_json: bool) -> int:
    """Show how often agents were given something, used it, and asked by themselves.

    \b
    Example:
      recollect stats recall
    """

    with open_memory() as memory:
        recalled = memory.context_facet.stats()
    if as_json:
        write_json(recalled)
    else:
        from recollect.cli.render.memory import print_recall_stats

        print_recall_stats(console(), recalled)
    return 0


@command.command()
@unused_no_sync_option
@json_option
def storage(as_json: bool) -> int:
    """Show what each tier, agent and repository takes.

    It also says how far that is from the caps of `[retention]`.

    \b
    Example:
      recollect stats storage --json
    """
    with open_memory() as memory:
        found = memory.upkeep.retention.storage()
    if as_json:
        write_json(found)
    else:
        from recollect.cli.render.maintenance.retention import print_storage

        print_storage(console(), found)
    return 0


@command.command()
@span_options("7d")
@repo_option
@no_sync_option
@json_option
def sessions(since: int, until: int | None, repos: tuple[str, ...], no_sync: bool, as_json: bool) -> int:
    """Show what the sessions of a span came to, as figures.

    These are outcomes, cost, errors, retries and decisions; `recollect retro` tells them in words.

    \b
    Example:
      recollect stats sessions --since 30d --json
    """
    from recollect.cli.render.progress import StageLine

    with open_memory() as memory, StageLine() as line:
        retro = memory.retro(since=since, until=until or now_us(), repos=repos, sync=not no_sync, tell=line.show)
    if as_json:
        write_json(retro)
    else:
        from recollect.cli.render.retro.figures import print_figures

        print_figures(console(), retro)
    return 1 if retro.is_empty else 0
