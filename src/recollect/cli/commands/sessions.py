"""`recollect search`, `sessions`, `show` and `timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from recollect.cli.options import (
    SessionScope,
    TimeRange,
    agent_option,
    ask,
    asks_team_option,
    limit_option,
    many_option,
    no_sync_option,
    number_option,
    open_memory,
    range_options,
    repo_option,
    scope_options,
    text_option,
)
from recollect.cli.results import CommandResult, ResultKind, examples, prints
from recollect.client import EntryRequest, SearchRequest, SessionsRequest, ShowRequest
from recollect.clock import now_us
from recollect.errors import EventMissing, UnknownName, UsageError
from recollect.model.time import to_iso

if TYPE_CHECKING:
    from recollect.memory import Memory

SESSIONS = ResultKind("sessions", "SessionPage", "session_list:print_sessions", is_plain=True, asks_memory=True)
TEAM_SESSIONS = ResultKind("sessions-team", "TeamSessionPage", "session_list:print_sessions", is_plain=True)
TEAM_SESSION = ResultKind("show-team", "TeamSessionView", "team:print_team_session")
SESSION = ResultKind("show", "SessionView", "sessions:print_session")
ENTRY = ResultKind("show-entry", "EntryView", "sessions:print_entry")
TIMELINE = ResultKind("timeline", "Timeline", "sessions:print_timeline", asks_memory=True)
ResultKind("session", "recollect.model.sessions:Session")
ResultKind("event", "recollect.model.events:Event")


@click.command()
@scope_options
@limit_option(20, "sessions")
@number_option("--offset", "Skip the first N.", least=0, default=0)
@no_sync_option
@asks_team_option
@prints
@examples("sessions --repo shop-api --after 2w")
def sessions(limit: int, offset: int, no_sync: bool, is_team: bool, **scope: Unpack[SessionScope]) -> CommandResult:
    """List sessions, newest first."""
    if is_team:
        from recollect.memory import EventFilter

        where = EventFilter(agents=scope["agents"], repos=scope["repos"])
        with open_memory() as memory:
            found = memory.team.sessions(
                where, after=scope["after"], before=scope["before"], limit=limit, offset=offset
            )
        return TEAM_SESSIONS(found, found=found.sessions, offset=offset)
    from recollect.memory import SessionPage

    page = ask(SessionsRequest(**scope, limit=limit, offset=offset, sync=not no_sync), SessionPage)
    return SESSIONS(page, found=page.sessions, offset=offset)


NEIGHBOURS = 5
"""Events shown before and after the one that `#SEQ` names."""


@click.command()
@click.argument("session", metavar="SESSION[#SEQ]")
@limit_option(100, "events")
@number_option("--from", "Begin with this event.", key="first", least=0, metavar="SEQ", default=0)
@no_sync_option
@prints
@examples("show {0}:5f0c --limit 50", "show {0}:5f0c#12", "show document:docs/README.md#3")
def show(session: str, limit: int, first: int, no_sync: bool) -> CommandResult:
    """Show a session, or one event and its neighbours.

    SESSION is a session's uid or a unique prefix of it; search results cite SESSION#SEQ. You can also name a learning,
    a note, a document or a decision by its uid, or a shared session by its team citation (`team:…`).
    """
    from recollect.model.learnings.entries import is_entry_uid

    if is_entry_uid(session):
        return _show_entry(session, limit=limit, first=first, no_sync=no_sync)
    if session.startswith("team:"):
        from recollect.model.team_citation import read_citation

        with open_memory() as memory:
            shared = memory.team.show(session, first=first, limit=limit)
        return TEAM_SESSION(shared, now_us=now_us(), focus=read_citation(session))
    if session.startswith("decision:"):
        from recollect.cli.commands.insights import show_decision

        return show_decision(session)
    from recollect.memory import SessionView
    from recollect.model.sessions import gone_note

    name, focus = _parts(session)
    if focus is not None:
        first, limit = max(0, focus - NEIGHBOURS), 2 * NEIGHBOURS + 1

    view = ask(ShowRequest(name, first, limit, not no_sync), SessionView)
    found = view.session
    if focus is not None and all(event.seq != focus for event in view.events):
        with open_memory() as memory:
            why = memory.reader().why_missing(memory.session(name).session_uid, focus)
        gone = gone_note(found.evicted_at)
        hint = f"`recollect show {found.session_uid}` lists its events"
        hint = f"{gone}; {hint}" if gone else hint
        if why:
            raise EventMissing(f"{found.session_uid}#{focus}", why, hint=hint)
        raise UnknownName("event", session, hint=hint)
    return SESSION(view, now_us=now_us(), focus=focus)


def _show_entry(cited: str, *, limit: int, first: int, no_sync: bool) -> CommandResult:
    """Show an entry, or one part of it with its neighbours."""
    from recollect.memory import EntryView
    from recollect.model.learnings.entries import parts_of_citation

    uid, focus = parts_of_citation(cited)
    if focus is not None:
        first, limit = max(0, focus - 1), 3

    view = ask(EntryRequest(uid, first, limit, not no_sync), EntryView)
    if focus is not None and all(part.part != focus for part in view.parts):
        raise UnknownName("part", cited, hint=f"{view.uid} has {view.part_count}, from #0 on")
    return ENTRY(view, now_us=now_us(), focus=focus)


def _parts(session: str) -> tuple[str, int | None]:
    """Return (session, seq or None) of `SESSION[#SEQ]`."""
    name, mark, seq = session.partition("#")
    if not mark:
        return name, None
    if not seq.isdecimal():
        raise UsageError(f"{seq!r} is not the number of an event", hint="write SESSION#12, as in a search result")
    return name, int(seq)


@click.command()
@click.argument("filters", metavar="[FILTER]...", nargs=-1)
@text_option("--session", "SESSION", "Only this session, in the session's own order.", default=None)
@agent_option
@text_option("--repo", "NAME", "Only repositories whose name contains this.", default=None)
@range_options
@limit_option(100, "events")
@no_sync_option
@prints
@examples("timeline --repo shop-api --after yesterday", "timeline repo:shop-api kind:edit after:1w")
def timeline(
    memory: Memory,
    filters: tuple[str, ...],
    session: str | None,
    agents: tuple[str, ...],
    repo: str | None,
    limit: int,
    no_sync: bool,
    **within: Unpack[TimeRange],
) -> CommandResult:
    """List events in order, one line each.

    FILTER is a filter as in a search, such as repo:shop, kind:edit or on:yesterday.
    """
    timeline = memory.timeline(
        session=session, agents=agents, repo=repo, limit=limit, sync=not no_sync, filters=" ".join(filters),
        **within,
    )  # fmt: skip
    return TIMELINE(timeline, found=timeline.entries)


SEARCH = ResultKind("search", "SearchAnswer", "search:print_answer", is_plain=True, asks_memory=True)
TEAM_SEARCH = ResultKind("search-team", "TeamAnswer", "search:print_answer", is_plain=True)


class Filters(SessionScope):
    """Options that stand for filters of the query language."""

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
@many_option("--kind", "KIND", "Only events of this kind (repeatable).", key="kinds")
@range_options
@no_sync_option
@asks_team_option
@prints
@examples(
    "search 'flaky checkout test' --repo shop-api", "search '\"connection refused\" kind:tool_result after:2026-08-01'"
)
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
    """
    # Filters first: a quote that the words leave open must not swallow them.
    query = " ".join((*_as_query(filters), *words))
    if is_team:
        with open_memory() as memory:
            found = memory.team.search(query, limit=limit)
        return TEAM_SEARCH(found, found=found.hits, now_us=now_us())
    from recollect.memory import SearchAnswer

    answer = ask(SearchRequest(query, limit=limit, sync=not no_sync), SearchAnswer)
    return SEARCH(answer, found=answer.hits or answer.learned, now_us=now_us())


def _as_query(filters: Filters) -> list[str]:
    """Return the options as filters of the query language."""
    named = [("agent", a) for a in filters["agents"]]
    named += [("repo", r) for r in filters["repos"]]
    named += [("kind", k) for k in filters["kinds"]]
    named += [("after", to_iso(filters["after"]))] if filters["after"] is not None else []
    named += [("before", to_iso(filters["before"]))] if filters["before"] is not None else []
    return [f"{name}:{value}" if value.split() == [value] else f'{name}:"{value}"' for name, value in named]
