"""Decisions by day, each with its state and the decisions that replaced it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from recollect.memory import DecisionQuestion
from recollect.model.insights.nodes import DecisionState

if TYPE_CHECKING:
    from starlette.requests import Request

    from recollect.memory import Memory

LIMIT = 200
STATES: tuple[DecisionState, ...] = get_args(DecisionState)


def decisions_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?q=&repo=&state=&sure=`."""
    asked = request.query_params
    words, repo, state = asked.get("q", "").strip(), asked.get("repo", "").strip(), asked.get("state", "")
    question = DecisionQuestion(
        repos=(repo,) if repo else (),
        states=tuple(known for known in STATES if known == state),
        words=tuple(words.split()),
        is_sure="sure" in asked,
    )
    answer = memory.decisions_facet.find(question, limit=LIMIT)
    statements = {view.decision.id: view for view in answer.decisions}
    return "decisions.html", {
        "answer": answer,
        "statements": statements,
        "query": words,
        "repo": repo,
        "state": state,
        "states": STATES,
        "is_sure": question.is_sure,
        "days": _by_day(answer.decisions),
    }


def _by_day(decisions: Any) -> list[tuple[int | None, list[Any]]]:
    """Return the decisions under a time of their day, newest first, as they come."""
    days: list[tuple[int | None, list[Any]]] = []
    for view in decisions:
        at = view.decision.ts
        if not days or _day(days[-1][0]) != _day(at):
            days.append((at, []))
        days[-1][1].append(view)
    return days


def _day(us: int | None) -> str:
    from recollect.serve.web.times import stamp

    return stamp(us)[:10]
