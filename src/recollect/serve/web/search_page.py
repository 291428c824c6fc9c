"""The start page: search grouped by session, with filters that write themselves into the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import msgspec
from markupsafe import Markup, escape
from starlette.requests import Request

from recollect.memory import EventFilter, Hit, Memory, SearchAnswer, matched_words
from recollect.model.learnings.entries import ENTRY_KINDS
from recollect.model.sessions import Session
from recollect.visible import safe

LIMIT = 30
KINDS = (
    ("kind:user_message", "what you said"),
    ("kind:assistant_message", "what agents said"),
    ("kind:tool_call", "calls"),
    ("kind:tool_result", "results"),
    ("kind:file_edit", "edits"),
)
TIMES = (("after:1d", "last day"), ("after:1w", "last week"), ("after:1mo", "last month"), ("after:1y", "last year"))
_RECENT = 12
_DECIDED_SESSIONS = 3
_DECIDED = 5
_AGENTS = 8


class SessionHits(msgspec.Struct, frozen=True):
    """The hits of one session, best first."""

    uid: str
    session: Session | None
    hits: tuple[Hit, ...]
    more: int


class Chip(msgspec.Struct, frozen=True):
    """A filter: what it writes into the query, and the query with it, or without it where it is there."""

    text: str
    label: str
    is_on: bool
    href: str


def search_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?q=`; without a query, what happened lately."""
    query = request.query_params.get("q", "").strip()
    named = [(f"agent:{agent}", agent) for agent in memory.browse.agents()[:_AGENTS]]
    chips = {"Kind": _chips(query, KINDS), "Agent": _chips(query, named), "Time": _chips(query, TIMES)}
    saved = memory.saved_searches.list()
    values: dict[str, Any] = {
        "query": query, "chips": chips, "answer": None, "groups": (), "learned": (), "saved": saved,
        "is_saved": " ".join(query.split()) in saved, "here": urlencode({"q": query}) if query else "",
    }  # fmt: skip
    if query:
        answer = memory.search(query, limit=LIMIT)
        values |= {"answer": answer, "groups": group(memory, answer), "learned": answer.learned}
    else:
        values["recent"] = memory.sessions(limit=_RECENT).sessions
    return "search.html", values


def decided_part(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return what was decided in the first of the sessions found (`?session=`, repeated) for `?q=`, and their cost.

    The page's script asks for it when the results are there. A session that decided on the words comes first.
    """
    words = matched_words(request.query_params.get("q", ""))
    uids = tuple(request.query_params.getlist("session")[:_DECIDED_SESSIONS])
    known = memory.recall.sessions(uids)
    answers = [(known[uid], memory.decisions_facet.of_session(uid)[::-1]) for uid in uids if uid in known]
    if words is not None:
        answers.sort(key=lambda one: not any(words.search(view.decision.statement) for view in one[1]))
    decided, room = [], _DECIDED
    for session, views in answers:
        if views[:room]:
            decided.append((session, views[:room]))
        room -= len(views[:room])
    costs = memory.usage.report(by="session", where=EventFilter(sessions=uids)).rows
    return "_decided.html", {"decided": decided, "costs": {row.key: row.totals.cost_usd for row in costs}}


def saved_form(memory: Memory, form: Mapping[str, str]) -> None:
    """Keep a search, or remove one. Raises UsageError, UnknownName, StoreError."""
    query = form.get("query", "")
    if form.get("act") == "remove":
        memory.saved_searches.remove(query)
    else:
        memory.saved_searches.keep(query)


def group(memory: Memory, answer: SearchAnswer) -> tuple[SessionHits, ...]:
    """Return the hits of an answer by session, in the order of each one's best hit."""
    found: dict[str, list[Hit]] = {}
    for hit in answer.hits:
        found.setdefault(hit.session_uid, []).append(hit)
    known = memory.recall.sessions(tuple(found))
    return tuple(
        SessionHits(uid, known.get(uid), tuple(hits), max(hit.more_in_session for hit in hits))
        for uid, hits in found.items()
    )


def href_of(hit: Hit) -> str:
    """Return where a hit stands: an event in its session; what was learned or noted on a page of its own."""
    if hit.kind in ENTRY_KINDS:
        page = "learnings" if hit.kind in ("learning", "action") else "entry"
        return f"/{page}/{quote(hit.session_uid)}"
    return href_of_citation(f"{hit.session_uid}#{hit.seq}")


def href_of_citation(cited: str) -> str:
    """Return where the event stands that `session_uid#seq` cites."""
    uid, _, seq = cited.rpartition("#")
    return f"/session/{quote(uid)}?at={seq}#{seq}"


def _chips(query: str, filters: Any) -> tuple[Chip, ...]:
    words = query.split()
    return tuple(
        Chip(
            text,
            label,
            text in words,
            "/?q=" + quote_plus(" ".join([w for w in words if w != text] if text in words else [*words, text])),
        )
        for text, label in filters
    )


def highlighted(text: str, query: str) -> Markup:
    """Return a passage with the words of the query marked."""
    shown = safe(text)
    words = matched_words(query)
    if words is None:
        return escape(shown)
    marked, end = Markup(), 0
    for found in words.finditer(shown):
        marked += escape(shown[end : found.start()]) + Markup("<mark>{}</mark>").format(found[0])
        end = found.end()
    return marked + escape(shown[end:])
