"""Decisions as a timeline or list, each with its chain; and what led to each line of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request

from recollect.errors import UnknownName
from recollect.local_time import LOCAL
from recollect.memory import DecisionQuestion, DecisionView, FileBlame, Memory
from recollect.model.insights.nodes import DecisionState
from recollect.model.time import day_start
from recollect.serve.web.periods import PERIODS, choices
from recollect.serve.web.text import stamp

LIMIT = 200
STATES: tuple[DecisionState, ...] = get_args(DecisionState)
ALL = ("all", "all")
LATELY = "90d"
FORMS = (("", "timeline"), ("list", "list"))
_FOLLOWED = {"supersedes": "superseded by", "reverses": "reversed by", "contradicts": "contradicted by"}
_MOST_STEPS = 20


class LinkedDecision(NamedTuple):
    """Another decision that one is linked to. relation: in words, seen from the one."""

    relation: str
    id: str
    statement: str
    is_newer: bool


def decisions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?period=&q=&repo=&state=&sure=&at=&view=`; without a period the lately taken, or all."""
    asked = request.query_params
    words, repo, state = asked.get("q", "").strip(), asked.get("repo", "").strip(), asked.get("state", "")
    at, form, period = asked.get("at", "").strip(), asked.get("view", ""), asked.get("period", "")
    question = DecisionQuestion(
        repos=(repo,) if repo else (),
        at=memory.decisions_facet.instant(at, name="at") if at else None,
        states=tuple(known for known in STATES if known == state),
        words=tuple(words.split()),
        is_sure="sure" in asked,
    )
    if not period:
        period = "all" if at else LATELY
    answer = memory.decisions_facet.find(
        msgspec.structs.replace(question, after=_since(period)), limit=LIMIT, with_later=False
    )
    if not answer.decisions and "period" not in asked and period != "all":
        period, answer = "all", memory.decisions_facet.find(question, limit=LIMIT, with_later=False)
    given = {"q": words, "repo": repo, "state": state, "at": at, "view": form, "period": period}
    given |= {"sure": "on"} if question.is_sure else {}
    return "decisions.html", {
        "answer": answer,
        "linked": linked(memory, answer.decisions),
        "query": words,
        "repo": repo,
        "state": state,
        "states": STATES,
        "at": at,
        "period": period,
        "periods": choices("/decisions", given, "period", [*((w, name) for w, (name, _) in PERIODS.items()), ALL]),
        "form": form if form in dict(FORMS) else "",
        "forms": choices("/decisions", given, "view", FORMS),
        "is_sure": question.is_sure,
        "days": by_day(answer.decisions),
        "left_out": [
            (name, many, f"/decisions?{urlencode({**{k: v for k, v in given.items() if v}, 'state': name})}")
            for name, many in answer.left_out.items()
        ],
    }


def _since(period: str) -> int | None:
    if period not in PERIODS:
        return None
    return day_start(datetime.now(LOCAL).date() - timedelta(days=PERIODS[period][1] - 1), LOCAL)


def chain_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page of one decision: all that it follows and that follow it, oldest first."""
    name = request.path_params["id"]
    chain = {view.decision.id: view for view in named(memory, (name,))}
    if name not in chain:
        raise UnknownName("decision", name, hint="its session may no longer contain it")
    for _ in range(_MOST_STEPS):
        wanted = {end for view in chain.values() for link in view.links for end in (link.older, link.newer)} - set(
            chain
        )
        found = named(memory, tuple(sorted(wanted)))
        if not found:
            break
        chain |= {view.decision.id: view for view in found}
    in_order = sorted(chain.values(), key=lambda view: (view.decision.ts or 0, view.decision.id))
    return "chain.html", {"focus": chain[name], "chain": in_order, "linked": linked(memory, in_order)}


def named(memory: Memory, ids: Sequence[str]) -> tuple[DecisionView, ...]:
    """Return decisions by id, whatever became of them."""
    return memory.decisions_facet.find(DecisionQuestion(words=tuple(ids))).decisions if ids else ()


def linked(memory: Memory, views: Iterable[DecisionView]) -> dict[str, list[LinkedDecision]]:
    """Return by id what each decision is linked to. What is not among them is asked for."""
    shown = {view.decision.id: view.decision.statement for view in views}
    links = {view.decision.id: view.links for view in views}
    missing = {end for some in links.values() for link in some for end in (link.older, link.newer)} - set(shown)
    shown |= memory.decisions_facet.statements(missing)
    found: dict[str, list[LinkedDecision]] = {}
    for name, some in links.items():
        for link in some:
            is_newer = link.older == name
            other = link.newer if is_newer else link.older
            relation = _FOLLOWED.get(link.relation, link.relation) if is_newer else link.relation
            if other in shown:
                found.setdefault(name, []).append(LinkedDecision(relation, other, shown[other], is_newer))
    return found


def by_day(decisions: Iterable[DecisionView]) -> list[tuple[str, list[DecisionView]]]:
    """Return the decisions under their days, newest first, as they come."""
    days: list[tuple[str, list[DecisionView]]] = []
    for view in decisions:
        day = stamp(view.decision.ts)[:10] if view.decision.ts is not None else "Undated"
        if not days or days[-1][0] != day:
            days.append((day, []))
        days[-1][1].append(view)
    return days


LISTED = 300


class LineRun(NamedTuple):
    """Lines below each other that one edit put there. first: the number of the first, from 1. edit: None without
    proof; reason: why."""

    first: int
    lines: tuple[str, ...]
    edit: int | None
    reason: str


def blame_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?repo=&q=`, the files to choose from, or for `?repo=&path=`, a file."""
    asked = request.query_params
    repo, path, words = asked.get("repo", "").strip(), asked.get("path", ""), asked.get("q", "").strip()
    memory.refresh()
    repos = memory.reader().names("repo")
    if not path:
        found = memory.files.edited(repo=repo, words=words.split(), limit=LISTED)
        return "blame_files.html", {
            "repo": repo,
            "repos": repos,
            "query": words,
            "files": [(one, f"/blame?{urlencode({'repo': one.repo, 'path': one.path})}") for one in found.files],
            "total": found.total,
        }
    blame = memory.files.blame(repo, path)
    return "blame.html", {
        "blame": blame,
        "runs": runs_of(blame),
        "proven": sum(line.edit is not None for line in blame.lines),
        "back": f"/blame?{urlencode({'repo': repo})}",
    }


def runs_of(blame: FileBlame) -> list[LineRun]:
    """Return the lines of a file, those of one edit that stand below each other together."""
    runs: list[LineRun] = []
    for number, line in enumerate(blame.lines, 1):
        last = runs[-1] if runs else None
        if last is not None and last.edit == line.edit and (line.edit is not None or last.reason == line.reason):
            runs[-1] = last._replace(lines=(*last.lines, line.text))
        else:
            runs.append(LineRun(number, (line.text,), line.edit, line.reason))
    return runs
