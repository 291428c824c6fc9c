"""`recollect sessions`."""

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
    repo_option,
)
from recollect.cli.terminal import console, write_json


@click.command()
@agent_option
@repo_option
@range_options
@limit_option(20, "sessions")
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out the first N.")
@no_sync_option
@json_option
def command(
    agents: tuple[str, ...],
    repos: tuple[str, ...],
    limit: int,
    offset: int,
    no_sync: bool,
    as_json: bool,
    **within: Unpack[TimeRange],
) -> int:
    """List sessions, newest first.

    \b
    Example:
      recollect sessions --repo shop-api --after 2w
    """
    from recollect.memory import EventFilter

    where = EventFilter(agents=agents, repos=repos)
    with open_memory() as memory:
        page = memory.sessions(where=where, limit=limit, offset=offset, sync=not no_sync, **within)
    if as_json:
        write_json(page)
    else:
        from recollect.cli.render.sessions import print_sessions

        print_sessions(console(), page, offset=offset)
    return 0 if page.sessions else 1
