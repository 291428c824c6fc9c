"""`recollect sessions`, `show` and `timeline`."""

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
from recollect.client import EntryRequest, SessionsRequest, ShowRequest
from recollect.clock import now_us
from recollect.errors import EventMissing, UnknownName, UsageError

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
@agent_option
@repo_option
@range_options
@limit_option(20, "sessions")
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N.")
@no_sync_option
@asks_team_option
@prints
def sessions(
    agents: tuple[str, ...],
    repos: tuple[str, ...],
    limit: int,
    offset: int,
    no_sync: bool,
    is_team: bool,
    **within: Unpack[TimeRange],
) -> CommandResult:
    """List sessions, newest first.

    \b
    Example:
      recollect sessions --repo shop-api --after 2w
    """
    if is_team:
        from recollect.memory import EventFilter

        with open_memory() as memory:
            found = memory.team.sessions(EventFilter(agents=agents, repos=repos), limit=limit, offset=offset, **within)
        return TEAM_SESSIONS(found, found=found.sessions, offset=offset)
    from recollect.memory import SessionPage

    def from_disk(memory: Memory) -> SessionPage:
        from recollect.memory import EventFilter

        where = EventFilter(agents=agents, repos=repos)
        return memory.sessions(where=where, limit=limit, offset=offset, sync=not no_sync, **within)

    request = SessionsRequest(agents, repos, within["after"], within["before"], limit, offset, not no_sync)
    page = ask(request, SessionPage, from_disk)
    return SESSIONS(page, found=page.sessions, offset=offset)


NEIGHBOURS = 5
"""Events shown before and after the one that `#SEQ` names."""


@click.command()
@click.argument("session", metavar="SESSION[#SEQ]")
@limit_option(100, "events")
@click.option("--from", "first", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Begin with this event.")
@no_sync_option
@prints
def show(session: str, limit: int, first: int, no_sync: bool) -> CommandResult:
    """Show a session, or one event and its neighbours.

    SESSION is a session's uid or a unique prefix of it; search results cite SESSION#SEQ. You can also name a learning,
    a note, a document or a decision by its uid, or a shared session by its team citation (`team:…`).

    \b
    Examples:
      recollect show claude:5f0c --limit 50
      recollect show claude:5f0c#12
      recollect show document:docs/README.md#3
    """
    from recollect.model.learnings.entries import is_entry_uid

    if is_entry_uid(session):
        return _show_entry(session, limit=limit, first=first, no_sync=no_sync)
    if session.startswith("team:"):
        return _show_shared(session, limit=limit, first=first)
    if session.startswith("decision:"):
        from recollect.cli.commands.insights import show_decision

        return show_decision(session)
    from recollect.memory import SessionView
    from recollect.model.sessions import gone_note

    name, focus = _parts(session)
    if focus is not None:
        first, limit = max(0, focus - NEIGHBOURS), 2 * NEIGHBOURS + 1

    def from_disk(memory: Memory) -> SessionView:
        notes = () if no_sync else memory.refresh()
        return memory.recall.page(name, first=first, limit=limit, notes=notes)

    view = ask(ShowRequest(name, first, limit, not no_sync), SessionView, from_disk)
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


def _show_shared(cited: str, *, limit: int, first: int) -> CommandResult:
    """Show what a team shares."""
    from recollect.model.team_citation import read_citation

    with open_memory() as memory:
        shared = memory.team.show(cited, first=first, limit=limit)
    return TEAM_SESSION(shared, now_us=now_us(), focus=read_citation(cited))


def _show_entry(cited: str, *, limit: int, first: int, no_sync: bool) -> CommandResult:
    """Show an entry, or one part of it with its neighbours."""
    import msgspec

    from recollect.memory import EntryView
    from recollect.model.learnings.entries import parts_of_citation

    uid, focus = parts_of_citation(cited)
    if focus is not None:
        first, limit = max(0, focus - 1), 3

    def from_disk(memory: Memory) -> EntryView:
        notes = () if no_sync else memory.refresh()
        return msgspec.structs.replace(memory.recall.entry(uid, first=first, limit=limit), notes=notes)

    view = ask(EntryRequest(uid, first, limit, not no_sync), EntryView, from_disk)
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
@click.option("--session", metavar="SESSION", help="Only this session, in the session's own order.")
@agent_option
@click.option("--repo", metavar="NAME", help="Only repositories whose name contains this.")
@range_options
@limit_option(100, "events")
@no_sync_option
@prints
def timeline(
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

    \b
    Examples:
      recollect timeline --repo shop-api --after yesterday
      recollect timeline repo:shop-api kind:edit after:1w
    """
    with open_memory() as memory:
        timeline = memory.timeline(
            session=session, agents=agents, repo=repo, limit=limit, sync=not no_sync, filters=" ".join(filters),
            **within,
        )  # fmt: skip
    return TIMELINE(timeline, found=timeline.entries)
