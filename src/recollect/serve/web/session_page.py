"""One session: facts, outline, transcript in pieces, find within it, and single events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recollect.clock import now_us
from recollect.errors import ArchiveError, UsageError
from recollect.memory import EventFilter, command_line
from recollect.model.sessions import forgotten_note, gone_note
from recollect.serve.web.sessions_page import is_running
from recollect.serve.web.transcript import is_shown, units_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import FoundWithin, Memory, Outline, Relative
    from recollect.model.sessions import Session

FIRST = 30
"""Events of a page when it comes, about as many as a screen shows: what nobody sees yet delays what they see."""
PIECE = 60
"""Events that a later request gives; the next piece is fetched before the reader is there."""
BEFORE = 20
"""Events above the one that a link leads to."""
NEAR = 24
"""Events on both sides of a piece in which the other half of a call is looked for."""
OUTLINE_FIRST = 48
"""Lines of an outline when its page comes."""
OUTLINE_LINES = 150
"""Of an outline then; more come when the reader is there."""
DECISIONS = 30
"""At the top of a session, the newest; all stand in the outline."""
MAX_FIND_CHARS = 200
EXPORTS = {"markdown": "md", "events": "ndjson", "claude-jsonl": "jsonl"}


def session_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of a session, from `?at=SEQ` on."""
    mark = memory.browse.change_mark()  # before anything is read: what comes meanwhile is told as new
    session = memory.session(request.path_params["uid"])
    focus = _number(request, "at")
    decided = memory.decisions_facet.of_session(session.session_uid)
    family = memory.browse.family(session)
    usage = memory.usage.report(by="total", where=EventFilter(sessions=(session.session_uid,)))
    shape = memory.digest(session.session_uid)
    values = {
        "mark": mark, "session": session, "focus": focus, "decisions": decided[:DECISIONS], "decided": len(decided),
        "family": family, "usage": usage.total,
        "digest": shape, "is_running": is_running(session, now_us()), "exports": EXPORTS,
        "resume": _resume(memory, session), "gaps": _gaps(memory, session),
        "outline": _outline(memory, session, family, decided, focus or 0, limit=OUTLINE_FIRST),
    }  # fmt: skip
    return "session.html", {**values, **piece(memory, session, focus or 0, above=BEFORE, below=FIRST)}


def _gaps(memory: Memory, session: Session) -> list[str]:
    """Return what of a session is not there any more, as lines."""
    forgotten = forgotten_note(memory.reader().forgotten(session.session_uid))
    return [line for line in (gone_note(session.evicted_at), forgotten) if line]


def _resume(memory: Memory, session: Session) -> str:
    """Return what a person types to continue with a session in its own agent, "" where no such command is known."""
    try:
        found = memory.handoff.resume(session.session_uid)
    except UsageError:
        return ""
    return command_line(found.command, found.folder)


def transcript_part(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return a piece of a transcript for the page's script: from `?from=` on, before `?before=` or around `?at=`."""
    session = memory.session(request.path_params["uid"])
    before, at = _number(request, "before"), _number(request, "at")
    if before is not None:
        return "_transcript.html", {"focus": None, **piece(memory, session, before, above=PIECE, below=0)}
    if at is not None:
        return "_transcript.html", {"focus": at, **piece(memory, session, at, above=BEFORE)}
    return "_transcript.html", {"focus": None, **piece(memory, session, _number(request, "from") or 0)}


def outline_part(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the outline around `?at=SEQ`."""
    session = memory.session(request.path_params["uid"])
    decided = memory.decisions_facet.of_session(session.session_uid)
    family, at = memory.browse.family(session), _number(request, "at") or 0
    found = _outline(memory, session, family, decided, at, limit=OUTLINE_LINES)
    return "_outline.html", {"outline": found, "base": _base(session)}


def event_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of one event, whole, with its record as the agent wrote it."""
    session = memory.session(request.path_params["uid"])
    seq = int(request.path_params["seq"])
    found = memory.browse.event(session, seq)
    why = ""
    record = None
    try:
        record = memory.browse.record(session, seq)
    except ArchiveError as error:
        why = str(error)
    near = memory.browse.transcript(session, first=seq, behind=NEAR, limit=2 * NEAR)
    around = [event.seq for event in near if is_shown(event)]
    return "event.html", {
        "session": session, "event": found[0], "units": units_of(found, whole=True), "focus": seq, "record": record,
        "no_record": why, "base": _base(session),
        "previous": max((one for one in around if one < seq), default=None),
        "following": min((one for one in around if one > seq), default=None),
    }  # fmt: skip


def find_within(memory: Memory, request: Request) -> FoundWithin:
    """Return which events of a session hold `?q=`, from `?from=SEQ` on."""
    session = memory.session(request.path_params["uid"])
    text = request.query_params.get("q", "").strip()[:MAX_FIND_CHARS]
    return memory.browse.find(session, text, first=_number(request, "from") or 0)


def piece(memory: Memory, session: Session, at: int, *, above: int = 0, below: int = PIECE) -> dict[str, Any]:
    """Return the units of a piece of a session: `above` events before number `at` and `below` from it on; and where
    it continues."""
    behind = min(above + NEAR, at)
    limit = behind + below + NEAR + 1
    events = list(memory.browse.transcript(session, first=at, behind=behind, limit=limit))
    place = next((place for place, event in enumerate(events) if event.seq == at), None)
    if place is None:
        place = next((place for place, event in enumerate(events) if event.seq >= at), len(events))
    low, high = max(0, place - above), min(len(events), place + below)
    base = _base(session)
    following = events[high].seq if high < len(events) else None
    earlier = events[low].seq if 0 < low < len(events) else None
    return {
        "base": base,
        "units": units_of(events, span=(low, high)),
        "first": events[low].seq if low < len(events) else at,
        "next_part": f"{base}/events?from={following}" if following is not None else "",
        "next_page": f"{base}?at={following}#{following}" if following is not None else "",
        "earlier_part": f"{base}/events?before={earlier}" if earlier is not None else "",
        "earlier_page": f"{base}?at={earlier}#{earlier}" if earlier is not None else "",
    }


def _outline(
    memory: Memory, session: Session, family: tuple[Relative, ...], decided: Any, at: int, *, limit: int
) -> Outline:
    places = [(view.citation.rpartition("#")[2], view.decision.statement) for view in decided]
    cited = [(int(seq), text) for seq, text in places if seq.isdecimal()]
    return memory.browse.outline(session, family=family, decided=cited, at=at, limit=limit)


def _base(session: Session) -> str:
    return f"/session/{quote(session.session_uid, safe=':')}"


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    return min(int(text), 1 << 40) if text.isascii() and text.isdecimal() and len(text) < 20 else None
