"""`recollect stats` and `usage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.groups import noun, replaced_option
from recollect.cli.options import (
    SessionScope,
    ask,
    asks_team_option,
    choice_option,
    no_sync_option,
    open_memory,
    repo_option,
    scope_options,
    span_options,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.client import UsageRequest
from recollect.clock import now_us
from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.memory import Memory, UsageBy
    from recollect.model.team_messages import TeamUsageBy

STATS = ResultKind("stats", "Stats", "stats:print_stats")
RECALL_STATS = ResultKind("stats-recall", "RecallStats", "stats:print_recall_stats")
STORAGE = ResultKind("stats-storage", "StorageReport", "stats:print_storage")
FIGURES = ResultKind("stats-sessions", "Retro", "stats:print_figures")
USAGE = ResultKind("usage", "recollect.model.usage:UsageReport", "stats:print_usage", is_plain=True, asks_memory=True)


GROUPINGS: tuple[UsageBy, ...] = ("day", "session", "repo", "domain", "model", "agent", "total")
OF_TEAMS: tuple[TeamUsageBy, ...] = ("group", "week")
unused_no_sync_option = replaced_option("--no-sync", instead="leave it out")


@noun(default="overview")
@examples("stats --json", "stats recall", "stats storage --json", "stats sessions --since 30d --json")
def stats() -> None:
    """Show how much is stored, how often it is used and what it cost."""


@stats.command("overview")
@unused_no_sync_option
@prints
@examples("stats overview --json")
def overview(memory: Memory) -> CommandResult:
    """Show how much is in the memory."""
    return STATS(memory.stats())


@stats.command("recall")
@unused_no_sync_option
@prints
@examples("stats recall")
def recall(memory: Memory) -> CommandResult:
    """Show how often agents were given context, used it, and searched."""

    return RECALL_STATS(memory.context_facet.stats())


@stats.command("storage")
@unused_no_sync_option
@prints
@examples("stats storage --json")
def storage(memory: Memory) -> CommandResult:
    """Show how much disk space each kind of content, agent and repository takes up.

    It also shows how close this is to the limits in `[retention]`.
    """
    return STORAGE(memory.maintenance.retention.storage())


@stats.command("sessions")
@span_options("7d")
@repo_option
@no_sync_option
@prints
@examples("stats sessions --since 30d --json")
def session_stats(since: int, until: int | None, repos: tuple[str, ...], no_sync: bool) -> CommandResult:
    """Show figures about the sessions of a period.

    The figures are outcomes, cost, errors, retries and decisions; `recollect retro` explains them.
    """
    from recollect.cli.render.progress import StageLine

    with open_memory() as memory, StageLine() as line:
        found = memory.retro(since=since, until=until or now_us(), repos=repos, sync=not no_sync, tell=line.show)
    return FIGURES(found, found=not found.is_empty)


@click.command()
@choice_option(
    "--by",
    (*GROUPINGS, *OF_TEAMS),
    "How to group the figures. With --team, group and week are possible, but not day, session or domain.  "
    "[default: day; with --team: repo]",
)
@scope_options
@no_sync_option
@asks_team_option
@prints
@examples("usage --by repo --after 30d")
def usage(
    by: UsageBy | TeamUsageBy | None, no_sync: bool, is_team: bool, as_json: bool, **scope: Unpack[SessionScope]
) -> CommandResult:
    """Show tokens and cost.

    Each response counts once, however often it was written, forked or replayed. Days are local days; with --json, UTC
    days.
    """
    if is_team:
        return _team_usage(by or "repo", scope)
    from recollect.memory import UsageReport

    grouping = _grouping(by or "day")
    report = ask(UsageRequest(grouping, **scope, is_local=not as_json, sync=not no_sync), UsageReport)
    return USAGE(report, found=report.rows)


def _team_usage(by: str, scope: SessionScope) -> CommandResult:
    from recollect.memory import EventFilter
    from recollect.model.team_messages import TEAM_USAGE_BY

    grouping = next((one for one in TEAM_USAGE_BY if one == by), None)
    if grouping is None:
        raise UsageError(f"a team has no figures by {by}", hint=f"--by {', '.join(TEAM_USAGE_BY)}")
    with open_memory() as memory:
        where = EventFilter(agents=scope["agents"], repos=scope["repos"])
        report = memory.team.usage(grouping, where, after=scope["after"], before=scope["before"])
    return USAGE(report, found=report.rows)


def _grouping(by: str) -> UsageBy:
    found = next((one for one in GROUPINGS if one == by), None)
    if found is None:
        raise UsageError(f"only a team has figures by {by}", hint="add --team")
    return found
