"""Answers what is asked of a team: `scope: "team"`, and citations that begin with `team:`."""

from __future__ import annotations

import msgspec

from recollect.errors import UsageError
from recollect.memory import Hit, TeamAnswer, TeamHit, TeamSession, clean, conversations
from recollect.model.team_citation import PREFIX, read_citation
from recollect.model.team_messages import SharedEvent
from recollect.model.undone import UNDONE
from recollect.serve.mcp.bounded_answer import (
    Confines,
    CursorPosition,
    PageFrame,
    Paging,
    check_position,
    filter_of,
    filters_of,
    fit,
    name,
    passage,
    size,
    when,
    words_of,
)
from recollect.serve.mcp.tools import (
    Confining,
    ConversationArguments,
    ListArguments,
    OpenArguments,
    SearchArguments,
    SessionArguments,
)
from recollect.units import plural

MAX_HITS = 100
_EVENTS = 80
_PASSAGE_BYTES, _LINE_BYTES = 1_000, 240


def is_of_team(asked: object) -> bool:
    """Return whether a call is for the team."""
    cited = asked.id if isinstance(asked, OpenArguments) else ""
    if isinstance(asked, SearchArguments | SessionArguments):
        cited = asked.session
    return cited.strip().startswith(PREFIX) or (isinstance(asked, Confining) and asked.scope == "team")


class TeamHandler(Paging):
    """Answers the calls of one caller that are for the team; each asks its server once. A tool is the method of its
    name. Raises TeamRefused, TeamUnavailable."""

    def search(self, asked: SearchArguments) -> str:
        """Return cited events of what the team shares."""
        start = self._cursors.read("search", asked)
        found = self._found(asked)
        marks = [hit.citation for hit in found.hits]
        check_position(start, marks)
        lines = [_hit_line(hit) for hit in found.hits[start.offset : start.offset + asked.limit]]
        heading = (
            f"{plural(found.total, 'event matches', 'events match')} ({found.match_level}) in what the team shares."
        )
        if not lines:
            heading = "Nothing found in what the team shares."
        return self._list("search", asked, start, lines, marks, frame=PageFrame(heading, found.notes))

    def search_conversations(self, asked: ConversationArguments) -> str:
        """Return ranked sessions of the team with their best event each."""
        found = self._found(asked)
        ranked = conversations(found.hits)
        start = self._cursors.read("search_conversations", asked)
        shown = ranked[start.offset : start.offset + asked.limit]
        lines = [f"{plural(one.hits, 'hit')} · {_hit_line(one.best)}" for one in shown]
        heading = f"{plural(len(ranked), 'session matches', 'sessions match')} in what the team shares."
        marks = [one.session_uid for one in ranked]
        return self._list("search_conversations", asked, start, lines, marks, frame=PageFrame(heading, found.notes))

    def list_sessions(self, asked: ListArguments) -> str:
        """Return sessions that the team shares, newest first."""
        start = self._cursors.read("list_sessions", asked)
        where, after, before = self._memory.recall.confined(self._filters(asked))
        found = self._memory.team.sessions(where, after=after, before=before, limit=asked.limit, offset=start.offset)
        lines = [_session_line(session) for session in found.sessions]
        heading = f"{plural(found.total, 'session')} of the team, newest first."
        page = fit(lines, PageFrame(heading, found.notes), max_bytes=asked.max_bytes)
        end = start.offset + page.shown
        go_on = CursorPosition(end) if lines and end < found.total else None
        return self._with_next(page.text, "list_sessions", asked, go_on)

    def get_session(self, asked: SessionArguments) -> str:
        """Return what is shared of a session: its facts, and its events in order."""
        start = self._cursors.read("get_session", asked)
        cited = str(read_citation(asked.session)._replace(event_id="", part=0))
        view = self._memory.team.show(cited, first=start.offset, limit=_EVENTS)
        lines = [] if start.offset else [_session_line(view.session)]
        facts = len(lines)
        lines += [_event_line(view.session, event) for event in view.events]
        heading = f"A session of {view.session.person}, {plural(view.session.event_count, 'event')}."
        page = fit(lines, PageFrame(heading, view.notes), max_bytes=asked.max_bytes)
        shown = page.shown - facts
        following = view.events[shown].seq if shown < len(view.events) else view.next_seq
        go_on = CursorPosition(following) if following is not None else None
        return self._with_next(page.text, "get_session", asked, go_on)

    def open(self, asked: OpenArguments) -> str:
        """Return one event in full, in pages where it is long, with its neighbours on the first."""
        cited = read_citation(asked.id)
        if not cited.event_id:
            raise UsageError(f"{passage(asked.id, 100)} names no event", hint="get_session reads a session")
        view = self._memory.team.show(asked.id)
        at = [(event.event_id, event.part) for event in view.events].index((cited.event_id, cited.part))
        event = view.events[at]
        text = clean(event.text or event.summary)
        start = self._begin("open", asked, text)
        around = 0 if start.offset else asked.around
        before = [_event_line(view.session, one) for one in view.events[max(0, at - around) : at]]
        after = [_event_line(view.session, one) for one in view.events[at + 1 : at + 1 + around]]
        frame = PageFrame(f"{view.session.citation} from character {start.offset + 1} of {len(text)}.", view.notes)
        head = _event_head(view.session, event)
        return self._text("open", asked, text, start, frame, head=head, near=(before, after), least=size(text))

    def _found(self, asked: SearchArguments | ConversationArguments) -> TeamAnswer:
        if not asked.query.strip():
            raise UsageError("the query is empty", hint="list_sessions needs none")
        if isinstance(asked, SearchArguments):
            if asked.collection:
                raise UsageError("a team shares no documents", hint="leave out collection")
            if asked.session.strip().startswith(PREFIX):
                asked = msgspec.structs.replace(asked, session=read_citation(asked.session).session_uid)
        return self._memory.team.search(f"{self._filters(asked)} {words_of(asked.query)}".strip(), limit=MAX_HITS)

    def _filters(self, asked: Confining) -> str:
        return filters_of(self._memory, asked, Confines(filter_of("repo", asked.repo) if asked.repo else ""))


def _hit_line(hit: Hit) -> str:
    assert isinstance(hit, TeamHit)
    what = f"{hit.kind} {name(hit.tool)}" if hit.tool else hit.kind
    undone = UNDONE if hit.is_undone else ""
    head = (hit.citation, _who(hit), when(hit.ts), name(hit.repo), what, undone)
    return f"{_joined(*head)}\n{passage(hit.snippet or hit.summary, _PASSAGE_BYTES)}"


def _session_line(session: TeamSession) -> str:
    turns = plural(session.turn_count, "turn")
    head = (session.citation, _who(session), when(session.started_at), session.agent, name(session.repo), turns)
    return f"{_joined(*head)}\n{passage(session.title or '(no title)', _LINE_BYTES)}"


def _who(shared: TeamHit | TeamSession) -> str:
    return f"{name(shared.person)} on {name(shared.machine)}"


def _event_head(session: TeamSession, event: SharedEvent) -> str:
    cited = read_citation(session.citation)._replace(event_id=event.event_id, part=event.part)
    undone = UNDONE if event.is_undone else ""
    turn = f"turn {event.turn_index}" if event.turn_index else ""
    return _joined(str(cited), when(event.ts), f"{event.kind} {name(event.tool)}".strip(), undone, turn)


def _event_line(session: TeamSession, event: SharedEvent) -> str:
    return f"{_event_head(session, event)}\n{passage(event.text or event.summary or '(no text)', _LINE_BYTES)}"


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
