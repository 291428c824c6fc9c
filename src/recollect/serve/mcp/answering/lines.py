"""One line for each thing that an answer shows: its citation, when and by whom, and what it says as a quotation."""

from __future__ import annotations

import msgspec

from recollect.memory import RELATED_LABELS, Cited, Conversation, Hit
from recollect.model.events import Event
from recollect.model.payloads import AssistantMessage, Compaction, UserMessage
from recollect.model.sessions import Session
from recollect.model.text import flatten, searchable
from recollect.model.time import minute_of
from recollect.model.undone import UNDONE
from recollect.serve.mcp.answering.pages import name, passage
from recollect.units import plural

_TITLE_BYTES = 160
_SNIPPET_BYTES = 330
_PASSAGE_BYTES = 3000
"""Of a passage of 1,000 characters, whatever its script."""
_RELATED_BYTES = 500
_TALK_BYTES = 500
_SUMMARY_BYTES = 240
_UNDONE = f"{UNDONE} by a rewind"
LEFT_OUT = ("token_usage",)
"""Kinds that are never shown: figures between any two events."""


def when(us: int | None) -> str:
    """Return a time in UTC to the minute: `2026-08-01 09:03Z`."""
    return "undated" if us is None else f"{minute_of(us)}Z"


def citation(uid: str, seq: int) -> str:
    """Return `session_uid#seq`."""
    return f"{uid}#{seq}"


def hit_line(hit: Hit, *, is_first: bool = True) -> str:
    """Return a search's hit: what it is, its passage, and what belongs to it.

    is_first: of its session in this answer; the session, and what is the same for all its hits, is said once.
    """
    where = "document" if hit.kind == "document" else "session"
    more = f"{hit.more_in_session} more in this {where}" if hit.more_in_session and is_first else ""
    what = f"{hit.kind} {name(hit.tool)}" if hit.tool else hit.kind
    known = " ".join(part for part in (_UNDONE if hit.is_undone else "", hit.state, hit.status) if part)
    # The agent stands in the citation.
    repo = name(hit.repo) if is_first else ""
    how = "by meaning" if hit.match_level == "semantic" else ""
    cite = citation(hit.session_uid if is_first else "", hit.seq)
    head = (cite, when(hit.ts), repo, what, known, how, more)
    related = (
        f"\n{RELATED_LABELS[part.label]} #{part.seq}: {passage(part.text, _RELATED_BYTES)}" for part in hit.related
    )
    return f"{_joined(head)}\n{passage(hit.passage or hit.summary, _PASSAGE_BYTES)}{''.join(related)}"


def conversation_line(found: Conversation, session: Session | None) -> str:
    """Return a session that answers, with its title and its best event."""
    best = found.best
    head = (
        citation(best.session_uid, best.seq),
        *_facts(best.agent, session),
        f"{plural(found.hits, 'hit')}, best {best.kind}",
        _UNDONE if best.is_undone else "",
    )
    title = f"\n{passage(best.title, _TITLE_BYTES)}" if best.title else ""
    return f"{_joined(head)}{title}\n{passage(best.snippet or best.summary, _SNIPPET_BYTES)}"


def session_line(session: Session) -> str:
    """Return a session of a list."""
    head = (citation(session.session_uid, 0), *_facts(session.agent, session))
    return f"{_joined(head)}\n{passage(session.title or '(no title)', _TITLE_BYTES)}"


def session_facts(session: Session) -> str:
    """Return everything that is known of one session but its content."""
    forks = (("forked from", session.forked_from), ("resumed from", session.resumed_from))
    lineage = (("part of", session.parent_session), *forks)
    head = (
        citation(session.session_uid, 0),
        *_facts(session.agent, session),
        f"{'had ' if session.evicted_at is not None else ''}{plural(session.event_count, 'event')}",
        f"in {name(session.cwd, _TITLE_BYTES)}" if session.cwd else "",
        *(f"{how} {other}" for how, other in lineage if other),
        plural(session.defect_count, "unreadable record") if session.defect_count else "",
    )
    return f"{_joined(head)}\n{passage(session.title or '(no title)', _TITLE_BYTES)}"


def cited_line(uid: str, cited: Cited, what: str, *, limit: int = _SUMMARY_BYTES) -> str:
    """Return a text of a session and what it is there."""
    return f"{_joined((citation(uid, cited.seq), when(cited.ts), what))}\n{passage(cited.text, limit)}"


def event_line(event: Event) -> str:
    """Return an event of a session: what was said, else its one-line summary."""
    payload = event.payload
    said = isinstance(payload, UserMessage | AssistantMessage) and payload.text and _is_said(payload)
    text = searchable(payload)[1] if said or isinstance(payload, Compaction) else event.summary
    limit = _TALK_BYTES if said else _SUMMARY_BYTES
    return f"{event_head(event)}\n{passage(text or '(no text)', limit)}"


def event_head(event: Event) -> str:
    """Return what stands above an event's text."""
    payload = event.payload
    injected = "injected by the harness" if isinstance(payload, UserMessage) and not _is_said(payload) else ""
    model = name(payload.model) if isinstance(payload, AssistantMessage) else ""
    turn = f"turn {event.turn_index}" if event.turn_index else ""
    aside = "sidechain" if event.is_sidechain else ""
    undone = _UNDONE if event.is_undone else ""
    head = (citation(event.session_uid, event.seq), when(event.ts), event.kind, undone, injected, model, turn, aside)
    return _joined(head)


def event_text(event: Event) -> str:
    """Return all that an event says, as text."""
    text = searchable(event.payload)[1].strip()
    if text and event.kind != "file_edit":
        return text
    return flatten(msgspec.to_builtins(event.payload)) or event.summary


def _is_said(payload: UserMessage | AssistantMessage) -> bool:
    return not isinstance(payload, UserMessage) or payload.origin != "injected"


def _facts(agent: str, session: Session | None) -> tuple[str, ...]:
    if session is None:
        return (agent,)
    repo = name(session.repo)
    branch = f"@{name(session.git_branch)}" if session.git_branch else ""
    sub = f"subagent {name(session.agent_name)}".strip() if session.parent_session else ""
    turns = plural(session.turn_count, "turn")
    return (_span(session), _who(agent, session), f"{repo}{branch}", turns, sub)


def _span(session: Session) -> str:
    begin, end = when(session.started_at), when(session.ended_at)
    if begin == end:
        return begin
    return f"{begin} to {end[11:] if end[:10] == begin[:10] else end}"


def _who(agent: str, session: Session | None) -> str:
    models = ", ".join(name(model) for model in session.models[:3]) if session else ""
    return f"{agent} {models}".strip()


def _joined(parts: tuple[str, ...]) -> str:
    return " · ".join(part for part in parts if part)
