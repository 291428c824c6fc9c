"""`recollect usage`."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.local_time import LOCAL
from recollect.cli.options import (
    TimeRange,
    agent_option,
    json_option,
    no_sync_option,
    open_memory,
    range_options,
    repo_option,
)
from recollect.cli.terminal import console, write_json

if TYPE_CHECKING:
    from recollect.memory import UsageBy

GROUPINGS: tuple[UsageBy, ...] = ("day", "session", "repo", "domain", "model", "agent", "total")


@click.command()
@click.option("--by", type=click.Choice(GROUPINGS), default="day", show_default=True, help="What a line stands for.")
@agent_option
@repo_option
@range_options
@no_sync_option
@json_option
def command(
    by: UsageBy,
    agents: tuple[str, ...],
    repos: tuple[str, ...],
    no_sync: bool,
    as_json: bool,
    **within: Unpack[TimeRange],
) -> int:
    """Show tokens and cost.

    Every response counts once, however often it was written, forked or replayed. Days are local ones, with --json they
    are UTC days.

    \b
    Example:
      recollect usage --by repo --after 30d
    """
    from recollect.memory import EventFilter

    where = EventFilter(agents=agents, repos=repos)
    with open_memory() as memory:
        if not no_sync:
            memory.refresh()
        report = memory.usage.report(by=by, where=where, zone=UTC if as_json else LOCAL, **within)
    if as_json:
        write_json(report)
    else:
        from recollect.cli.render.memory import print_usage

        print_usage(console(), report)
    return 0 if report.rows else 1
