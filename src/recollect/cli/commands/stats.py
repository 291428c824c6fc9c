"""`recollect stats`, `usage` and `retro`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
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
from recollect.cli.terminal import Plain, write_bytes
from recollect.client import UsageRequest
from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.local_time import LOCAL

if TYPE_CHECKING:
    from rich.console import Console

    from recollect.memory import Memory, Retro, UsageBy
    from recollect.model.team_messages import TeamUsageBy

_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000
STATS = ResultKind("stats", "Stats", "stats:print_stats")
RECALL_STATS = ResultKind("stats-recall", "RecallStats", "stats:print_recall_stats")
STORAGE = ResultKind("stats-storage", "StorageReport", "stats:print_storage")
FIGURES = ResultKind("stats-sessions", "Retro", "stats:print_figures")
USAGE = ResultKind("usage", "recollect.model.usage:UsageReport", "stats:print_usage", is_plain=True, asks_memory=True)


GROUPINGS: tuple[UsageBy, ...] = ("day", "session", "repo", "domain", "model", "agent", "total")
OF_TEAMS: tuple[TeamUsageBy, ...] = ("group", "week")
_SUFFIXES = (".md", ".html")
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


@click.command()
@span_options("7d")
@repo_option
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE.md|FILE.html", help="Write the report to this file."
)
@no_sync_option
@prints
@examples("retro --since 30d --repo shop-api", "retro --since 2026-11-01 --out november.html")
def retro(
    since: int, until: int | None, repos: tuple[str, ...], out: Path | None, no_sync: bool, as_json: bool
) -> CommandResult:
    """Report on a period: outcomes, cost, errors, decisions.

    Prints tables on a terminal and Markdown elsewhere. Lines cite their evidence (`recollect show` opens it). An HTML
    file contains plots; for a Markdown file, they are written next to it as images. The report compares the period with
    the previous one of the same length. If nothing happened, it says so and the exit code is 1.
    `recollect sync --retro-out FOLDER` writes a report every week.
    """
    if out is not None and out.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--out {out} is neither {' nor '.join(_SUFFIXES)}", hint="name FILE.html or FILE.md")
    from recollect.cli.render.progress import StageLine

    end = until if until is not None else now_us()
    if since % _SECOND_US:  # counted back from now: the commands that show its figures name whole minutes
        since -= since % _MINUTE_US
    end += -end % _MINUTE_US if until is None else 0
    if end <= since:
        raise UsageError("--until is not after --since" if until is not None else "--since is in the future")
    with open_memory() as memory, StageLine() as line:
        zone = UTC if as_json else LOCAL
        report = memory.retro(since=since, until=end, repos=repos, sync=not no_sync, tell=line.show, zone=zone)
        written: list[Path] = []
        if out is not None and not report.is_empty:
            line.show("drawing plots")
            from recollect.cli.render.retro_page import write_report

            written = write_report(out, report, memory.home / "cache")
    return RETRO(report, found=not report.is_empty, span=(since, end), repos=repos, written=written)


def _print_retro(
    out: Console | Plain, retro: Retro, *, span: tuple[int, int], repos: Sequence[str], written: Sequence[Path]
) -> None:
    """Print a retrospective, as Markdown unless it is for a terminal, or which files it was written to."""
    from recollect.cli.render.layout import stamp
    from recollect.cli.render.retro_report import document_of, to_markdown

    if retro.is_empty:
        where = f" in {' or '.join(repos)}" if repos else ""
        click.echo(f"nothing happened{where} from {stamp(span[0])} to {stamp(span[1])}")
    elif written:
        click.echo("\n".join(f"wrote {path}" for path in written))
    elif not isinstance(out, Plain):
        from recollect.cli.render.retro_terminal import print_document

        print_document(out, document_of(retro))
    else:
        write_bytes(to_markdown(document_of(retro)).encode("utf-8", "backslashreplace"))


RETRO = ResultKind("retro", "Retro", _print_retro, is_plain=True, asks_memory=True)
