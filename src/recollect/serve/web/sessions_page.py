"""The list of sessions, newest first, which goes on while it is scrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from recollect.clock import now_us
from recollect.local_time import LOCAL
from recollect.memory import EventFilter
from recollect.model.time import required_time

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import Memory

PAGE = 60


def sessions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return a page of sessions for `?agent=&repo=&offset=`."""
    asked = request.query_params
    agent, repo = asked.get("agent", ""), asked.get("repo", "").strip()
    offset = int(asked["offset"]) if asked.get("offset", "").isdecimal() else 0
    where = EventFilter(agents=(agent,) if agent else (), repos=(repo,) if repo else ())
    after, before = _instant(asked.get("after", "")), _instant(asked.get("before", ""), is_end=True)
    page = memory.sessions(where=where, after=after, before=before, limit=PAGE, offset=offset, sync=not offset)
    following = offset + len(page.sessions)
    dates = {name: asked.get(name, "") for name in ("after", "before")}
    query = urlencode({"agent": agent, "repo": repo, **dates, "offset": following})
    return "sessions.html", {
        "sessions": page.sessions,
        "total": page.total,
        "offset": offset,
        "next_rows": f"/sessions/rows?{query}" if following < page.total else "",
        "next_page": f"/sessions?{query}" if following < page.total else "",
        "agent": agent,
        "repo": repo,
        **dates,
        "agents": tuple(a.agent for a in memory.stats().agents if a.sessions),
        "notes": page.notes,
    }


def _instant(text: str, *, is_end: bool = False) -> int | None:
    """Return where a span of days begins or ends, None where none is named. Raises UsageError for no time."""
    if not text.strip():
        return None
    period = required_time(text, now_us(), LOCAL, name="before" if is_end else "after")
    return period.until_us if is_end else period.start_us
