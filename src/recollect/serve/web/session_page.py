"""The list of sessions, and one of them: facts, outline, transcript in pieces, find within it, and single events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args
from urllib.parse import quote, urlencode

from starlette.requests import Request

from recollect.clock import now_us
from recollect.errors import ArchiveError, UsageError
from recollect.local_time import LOCAL
from recollect.memory import EventFilter, Memory, Outline, Relative, SessionOrder, SessionQuestion, command_line
from recollect.model.sessions import Outcome, Session, forgotten_note, gone_note
from recollect.model.time import required_time
from recollect.serve.web.transcript import is_shown, units_of
from recollect.visible import encode_json

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
    gone = (gone_note(session.evicted_at), forgotten_note(memory.reader().forgotten(session.session_uid)))
    values = {
        "mark": mark, "session": session, "focus": focus, "decisions": decided[:DECISIONS], "decided": len(decided),
        "family": family, "usage": usage.total,
        "digest": shape, "is_running": is_running(session, now_us()), "exports": EXPORTS,
        "resume": _resume(memory, session), "gaps": [line for line in gone if line],
        "outline": _outline(memory, session, family, decided, focus or 0, limit=OUTLINE_FIRST),
    }  # fmt: skip
    return "session.html", {**values, **piece(memory, session, focus or 0, above=BEFORE, below=FIRST)}


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


def find_within(memory: Memory, request: Request) -> bytes:
    """Return as JSON which events of a session hold `?q=`, from `?from=SEQ` on."""
    session = memory.session(request.path_params["uid"])
    text = request.query_params.get("q", "").strip()[:MAX_FIND_CHARS]
    return encode_json(memory.browse.find(session, text, first=_number(request, "from") or 0))


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


PAGE = 60
RUNNING_US = 10 * 60 * 1_000_000
"""A session that said something so lately, and did not say that it ended, is taken for one that is running."""
_FIELDS = ("title", "agent", "repo", "outcome", "after", "before")
_WORDS = ("title", "agent", "repo", "outcome")
"""Orders that begin with A; the others begin with the most or the newest."""


class Column(NamedTuple):
    """A column of the list. is_number: stands to the right."""

    order: SessionOrder
    label: str
    is_number: bool = False


COLUMNS = (
    Column("title", "Session"), Column("agent", "Agent"), Column("repo", "Repository"), Column("outcome", "Outcome"),
    Column("turns", "Turns", is_number=True), Column("active", "Active", is_number=True),
    Column("cost", "Cost", is_number=True), Column("errors", "Errors", is_number=True),
    Column("edits", "Edits", is_number=True), Column("start", "Started"), Column("recent", "Last active"),
)  # fmt: skip


def sessions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return a page of sessions for `?title=&agent=&repo=&outcome=&after=&before=&sort=&offset=`."""
    params = request.query_params
    values = {name: params.get(name, "").strip() for name in _FIELDS}
    order, is_descending = _order(params.get("sort", ""))
    offset = int(params["offset"][:9]) if params.get("offset", "").isdecimal() else 0
    outcome: Any = values["outcome"]
    if outcome not in ("", *get_args(Outcome)):
        raise UsageError(f"no outcome is called {outcome!r}")
    question = SessionQuestion(
        EventFilter(agents=_some(values["agent"]), repos=_some(values["repo"])), values["title"], outcome,
        _instant(values["after"]), _instant(values["before"], is_end=True), order, is_descending,
    )  # fmt: skip
    notes = memory.refresh() if not offset else ()
    mark = memory.browse.change_mark()  # before anything is read: what comes meanwhile is told as new
    lines, total = memory.browse.sessions(question, limit=PAGE, offset=offset)
    following = offset + len(lines)
    sort = {"sort": params["sort"]} if params.get("sort") else {}
    filters = {name: value for name, value in values.items() if value}
    query = urlencode({**filters, **sort, "offset": following})
    now = now_us()
    return "sessions.html", {
        "mark": mark, "lines": lines, "total": total, "offset": offset, "columns": COLUMNS, "order": order,
        "notes": notes,
        "is_descending": is_descending, "sort": sort.get("sort", ""), "filters": filters,
        "sorts": {column.order: _address(filters, column.order, order, is_descending=is_descending)
                  for column in COLUMNS},
        "running": {line.session.session_uid for line in lines if is_running(line.session, now)},
        "next_rows": f"/sessions/rows?{query}" if following < total else "",
        "next_page": f"/sessions?{query}" if following < total else "",
        "agents": memory.browse.agents(), "outcomes": get_args(Outcome), **values,
    }  # fmt: skip


def is_running(session: Session, now: int) -> bool:
    """Return whether a session is probably still going on."""
    lately = session.ended_at is not None and abs(now - session.ended_at) < RUNNING_US  # clocks differ
    return lately and not session.kind_counts.get("session_end") and session.evicted_at is None


def _order(text: str) -> tuple[SessionOrder, bool]:
    """Return an order and whether it goes down, from `cost` or `-cost`. Raises UsageError."""
    name = text.removeprefix("-")
    for order in get_args(SessionOrder):
        if name == order:
            return order, text.startswith("-")
    if text:
        raise UsageError(f"sessions cannot be sorted by {name!r}", hint=f"one of {', '.join(get_args(SessionOrder))}")
    return "recent", True


def _address(filters: Mapping[str, str], wanted: SessionOrder, order: SessionOrder, *, is_descending: bool) -> str:
    """Return the address of the list in another order, of the present one the other way round."""
    goes_down = not is_descending if wanted == order else wanted not in _WORDS
    return "/sessions?" + urlencode({**filters, "sort": f"-{wanted}" if goes_down else wanted})


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _instant(text: str, *, is_end: bool = False) -> int | None:
    """Return where a span of days begins or ends, None where none is named. Raises UsageError for no time."""
    if not text.strip():
        return None
    period = required_time(text, now_us(), LOCAL, name="before" if is_end else "after")
    return period.until_us if is_end else period.start_us
