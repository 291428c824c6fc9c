"""One session: its facts, its outline, its transcript piece by piece, and the page of one event."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from recollect.errors import UnknownName
from recollect.memory import DecisionQuestion, EventFilter
from recollect.serve.web.transcript import units_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import Memory
    from recollect.model.sessions import Session

PIECE = 120
"""Events that a request gives; the next piece is fetched before the reader is there."""
BEFORE = 20
"""Events above the one that a link leads to."""
_OUTLINE = 2_000
"""Lines of an outline; a longer session has the first."""


class Mark(msgspec.Struct, frozen=True):
    """A line of the outline. kind: "turn", "decision", "compaction", "rewind" or "edit"."""

    seq: int
    kind: str
    text: str


def session_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of a session, from `?at=SEQ` on."""
    session = memory.session(request.path_params["uid"])
    asked = request.query_params.get("at", "")
    focus = int(asked) if asked.isdecimal() else None
    first = max(0, focus - BEFORE) if focus is not None else 0
    decided = memory.decisions_facet.find(DecisionQuestion(session=session.session_uid)).decisions
    usage = memory.usage.report(by="total", where=EventFilter(sessions=(session.session_uid,)))
    values = {"session": session, "focus": focus, "decisions": decided, "outline": outline(memory, session, decided)}
    return "session.html", {**values, "usage": usage.total, **piece(memory, session, first)}


def transcript_part(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the next piece of a transcript, from `?from=SEQ` on, for the page's script."""
    session = memory.session(request.path_params["uid"])
    asked = request.query_params.get("from", "")
    return "_transcript.html", {"focus": None, **piece(memory, session, int(asked) if asked.isdecimal() else 0)}


def event_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of one event, whole, with the call of a result and the result of a call."""
    session = memory.session(request.path_params["uid"])
    seq = int(request.path_params["seq"])
    found = [e for e in memory.events(session.session_uid, first_seq=seq, limit=1) if e.seq == seq]
    if not found:
        why = memory.reader().why_missing(session.session_uid, seq)
        raise UnknownName("event", f"{session.session_uid}#{seq}", hint=why or "the session has no such event")
    return "event.html", {"session": session, "event": found[0], "units": units_of(found, whole=True), "focus": seq}


def piece(memory: Memory, session: Session, first: int) -> dict[str, Any]:
    """Return the units of a piece of a session and where it goes on."""
    events = list(islice(memory.events(session.session_uid, first_seq=first, limit=PIECE + 1), PIECE + 1))
    shown = events[:PIECE]
    base = f"/session/{quote(session.session_uid, safe=':')}"
    following = events[PIECE].seq if len(events) > PIECE else None
    earlier = max(0, first - PIECE) if first else None
    return {
        "base": base,
        "units": units_of(shown),
        "next_part": f"{base}/events?from={following}" if following is not None else "",
        "next_page": f"{base}?at={following + BEFORE}" if following is not None else "",
        "earlier_page": f"{base}?at={earlier + BEFORE}#{earlier + BEFORE}" if earlier is not None else "",
    }


def outline(memory: Memory, session: Session, decided: Any) -> list[Mark]:
    """Return where to go in a session: what the user said, what was decided, and where the context was cut."""
    where = EventFilter(sessions=(session.session_uid,))
    lines, _total = memory.reader().timeline(where, limit=_OUTLINE, kinds=("user_message", "compaction", "rewind"))
    marks: list[Mark] = []
    turn = 0
    for line in lines:
        if line.kind == "user_message" and line.turn_index != turn:
            turn = line.turn_index  # what the harness adds in the user's role starts no turn
            marks.append(Mark(line.seq, "turn", line.summary))
        elif line.kind != "user_message":
            marks.append(Mark(line.seq, line.kind, line.summary))
    for view in decided:
        seq = view.citation.rpartition("#")[2]
        if seq.isdecimal():
            marks.append(Mark(int(seq), "decision", view.decision.statement))
    return sorted(marks, key=lambda mark: mark.seq)
