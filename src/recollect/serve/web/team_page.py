"""What a team shares: search, sessions, decisions, cost, members, who asked. Each page asks its server once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from recollect.errors import TeamRefused, UsageError
from recollect.memory import DecisionQuestion, EventFilter, Memory
from recollect.model.team_citation import PREFIX, read_citation
from recollect.model.team_messages import TEAM_USAGE_BY, TeamUsageBy
from recollect.serve.web.periods import choices, periods, span_of

View = Callable[[Memory, Request], tuple[str, dict[str, Any]]]


LIMIT = 50
_LABELS: dict[TeamUsageBy, str] = {
    "repo": "repository", "model": "model", "agent": "agent", "group": "group", "week": "week", "total": "in all",
}  # fmt: skip


def of_team(view: View) -> View:
    """Return a view whose page, in a memory that has joined no team, says so."""

    def answer(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
        try:
            mine = memory.team.membership()
        except TeamRefused as error:
            return "team_none.html", {"error": error}
        template, values = view(memory, request)
        return template, {**values, "mine": mine}

    return answer


def team_search_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?q=`."""
    query = request.query_params.get("q", "").strip()
    answer = memory.team.search(query, limit=LIMIT) if query else None
    return "team_search.html", {"query": query, "answer": answer}


def team_sessions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the sessions of the team for `?repo=&agent=&offset=`, newest first."""
    asked = request.query_params
    repo, agent = asked.get("repo", "").strip(), asked.get("agent", "").strip()
    offset = int(asked.get("offset", "")) if asked.get("offset", "").isdecimal() else 0
    where = EventFilter(agents=(agent,) if agent else (), repos=(repo,) if repo else ())
    page = memory.team.sessions(where, limit=LIMIT, offset=offset)
    return "team_sessions.html", {
        "page": page, "repo": repo, "agent": agent, "following": offset + len(page.sessions),
    }  # fmt: skip


def team_session_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return a session of the team, or the event that is cited with its neighbours, `?from=`."""
    cited = read_citation(PREFIX + request.path_params["cited"])
    event = request.query_params.get("event", "")
    if event:
        cited = read_citation(f"{cited}#{event}")
    start = request.query_params.get("from", "")
    view = memory.team.show(str(cited), first=int(start) if start.isdecimal() else 0, limit=LIMIT)
    return "team_session.html", {"view": view, "cited": cited}


def team_decisions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return what the team decided, for `?q=&repo=`."""
    query, repo = (request.query_params.get(name, "").strip() for name in ("q", "repo"))
    question = DecisionQuestion(repos=(repo,) if repo else (), words=tuple(query.split()))
    answer = memory.team.decisions(question, limit=LIMIT)
    return "team_decisions.html", {"answer": answer, "query": query, "repo": repo}


def team_usage_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return what the work cost, for `?period=&by=`."""
    asked = request.query_params.get("by", "") or TEAM_USAGE_BY[0]
    by = next((one for one in TEAM_USAGE_BY if one == asked), None)
    if by is None:
        raise UsageError(f"a team has no figures by {asked!r}", hint=f"by is one of {', '.join(TEAM_USAGE_BY)}")
    span = span_of(memory, request, otherwise="90d")
    after, before = span.bounds
    report = memory.team.usage(by, EventFilter(), after=after, before=before)
    given = {**span.given, "by": by}
    return "team_usage.html", {
        "span": span,
        "periods": periods("/team/usage", {"by": by}, span),
        "groupings": choices("/team/usage", given, "by", [(one, f"by {label}" if one != "total" else label)
                                                          for one, label in _LABELS.items()]),
        "by": _LABELS[by],
        "lines": [(row.key, row.totals, row.totals.tokens) for row in report.rows],
        "total": report.total,
        "tokens": report.total.tokens,
        "report": report,
    }  # fmt: skip


def team_members_page(memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
    """Return who belongs to the team; to an owner also what machines share."""
    return "team_members.html", {"members": memory.team.members().members}


def team_audit_page(memory: Memory, _request: Request) -> tuple[str, dict[str, Any]]:
    """Return who read sessions of this person, and what this person asked; to an auditor everything."""
    lines, person = memory.team.audit().lines, memory.team.membership().person
    return "team_audit.html", {
        "read": [line for line in lines if line.subject == person],
        "asked": [line for line in lines if line.subject != person],
    }


def team_href(cited: str) -> str:
    """Return where a citation of the team is opened."""
    place, _, event = cited.removeprefix(PREFIX).partition("#")
    return f"/team/session/{quote(place)}" + (f"?event={quote(event, safe='')}#cited" if event else "")
