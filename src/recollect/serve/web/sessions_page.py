"""The list of sessions in any order, loaded as you scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args
from urllib.parse import urlencode

from recollect.clock import now_us
from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.memory import EventFilter, SessionOrder, SessionQuestion
from recollect.model.sessions import Outcome
from recollect.model.time import required_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from recollect.memory import Memory
    from recollect.model.sessions import Session

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
    question = SessionQuestion(
        EventFilter(agents=_some(values["agent"]), repos=_some(values["repo"])), values["title"], _outcome(values),
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


def _outcome(values: Mapping[str, str]) -> Any:
    """Return the outcome that is asked for, "" for any. Raises UsageError."""
    if values["outcome"] not in ("", *get_args(Outcome)):
        raise UsageError(f"no outcome is called {values['outcome']!r}")
    return values["outcome"]


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _instant(text: str, *, is_end: bool = False) -> int | None:
    """Return where a span of days begins or ends, None where none is named. Raises UsageError for no time."""
    if not text.strip():
        return None
    period = required_time(text, now_us(), LOCAL, name="before" if is_end else "after")
    return period.until_us if is_end else period.start_us
