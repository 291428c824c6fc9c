"""`recollect timeline`."""

from __future__ import annotations

from typing import Unpack

import click

from recollect.cli.options import (
    TimeRange,
    agent_option,
    json_option,
    limit_option,
    no_sync_option,
    open_memory,
    range_options,
)
from recollect.cli.terminal import console, write_json


@click.command()
@click.option("--session", metavar="SESSION", help="Only this session, in its own order.")
@agent_option
@click.option("--repo", metavar="NAME", help="Only repositories whose name has this.")
@range_options
@limit_option(100, "events")
@no_sync_option
@json_option
def command(
    session: str | None,
    agents: tuple[str, ...],
    repo: str | None,
    limit: int,
    no_sync: bool,
    as_json: bool,
    **within: Unpack[TimeRange],
) -> int:
    """Show what happened, in order, one line per event.

    \b
    Example:
      recollect timeline --repo shop-api --after yesterday
    """
    with open_memory() as memory:
        timeline = memory.timeline(session=session, agents=agents, repo=repo, limit=limit, sync=not no_sync, **within)
    if as_json:
        write_json(timeline)
    else:
        from recollect.cli.render.sessions import print_timeline

        print_timeline(console(), timeline)
    return 0 if timeline.entries else 1
