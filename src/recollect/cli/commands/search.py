"""`recollect search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.options import (
    TimeRange,
    agent_option,
    asks_team_option,
    limit_option,
    no_sync_option,
    open_memory,
    range_options,
    repo_option,
)
from recollect.cli.questions import ask
from recollect.cli.results import CommandResult, ResultKind, prints
from recollect.client import SearchRequest
from recollect.clock import now_us
from recollect.model.time import to_iso

if TYPE_CHECKING:
    from recollect.memory import Memory

SEARCH = ResultKind("search", "SearchAnswer", "search:print_answer", is_plain=True, asks_memory=True)
TEAM_SEARCH = ResultKind("search-team", "TeamAnswer", "search:print_answer", is_plain=True)


class Filters(TimeRange):
    """Options that stand for filters of the query language."""

    agents: tuple[str, ...]
    repos: tuple[str, ...]
    kinds: tuple[str, ...]


class QueryCommand(click.Command):
    """A command whose words may begin with a dash: `-word` means "not word". An unknown `--option` stays a mistake."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse unknown long options, then parse; short ones pass through as words."""
        known = {name for param in self.get_params(ctx) for name in param.opts}
        for arg in args[: args.index("--") if "--" in args else len(args)]:
            if arg.startswith("--") and arg.partition("=")[0] not in known:
                raise click.NoSuchOption(arg, ctx=ctx)
        return super().parse_args(ctx, args)


@click.command(cls=QueryCommand, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, metavar="QUERY…")
@limit_option(None, "hits")
@agent_option
@repo_option
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only events of this kind (repeatable).")
@range_options
@no_sync_option
@asks_team_option
@prints
def search(
    words: tuple[str, ...],
    limit: int | None,
    no_sync: bool,
    is_team: bool,
    **filters: Unpack[Filters],
) -> CommandResult:
    """Search everything your agents did.

    A query can have words, "phrases", OR, -not, *infix*, /regex/, and filters such as repo: kind: tool: path: after:
    (`recollect help query-language`). The options below add filters to it. Everything after -- is part of the query.

    \b
    Examples:
      recollect search 'flaky checkout test' --repo shop-api
      recollect search '"connection refused" kind:tool_result after:2026-08-01'
    """
    # Filters first: a quote that the words leave open must not swallow them.
    query = " ".join((*_as_query(filters), *words))
    if is_team:
        with open_memory() as memory:
            found = memory.team.search(query, limit=limit)
        return TEAM_SEARCH(found, found=found.hits, now_us=now_us())
    from recollect.memory import SearchAnswer

    def from_disk(memory: Memory) -> SearchAnswer:
        found = memory.search(query, limit=limit, sync=not no_sync)
        memory.recall.check_names(query)  # last: what a sync has brought in is known
        return found

    answer = ask(SearchRequest(query, limit=limit, sync=not no_sync), SearchAnswer, from_disk)
    return SEARCH(answer, found=answer.hits or answer.learned, now_us=now_us())


def _as_query(filters: Filters) -> list[str]:
    """Return the options as filters of the query language."""
    named = [("agent", a) for a in filters["agents"]]
    named += [("repo", r) for r in filters["repos"]]
    named += [("kind", k) for k in filters["kinds"]]
    named += [("after", to_iso(filters["after"]))] if filters["after"] is not None else []
    named += [("before", to_iso(filters["before"]))] if filters["before"] is not None else []
    return [f"{name}:{value}" if value.split() == [value] else f'{name}:"{value}"' for name, value in named]
