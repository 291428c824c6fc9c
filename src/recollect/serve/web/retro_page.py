"""Retrospectives and errors with their fixes, as pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from recollect.local_time import LOCAL
from recollect.memory import FIXED_BY, INTERVENTIONS, RELATIONS, Memory, Retro
from recollect.serve.web.periods import DaySpan, choices, periods, span_of
from recollect.serve.web.plots import Bars
from recollect.serve.web.usage_page import change, grouped_days, plot_of

OUTCOMES = ("success", "fail", "abandoned", "unknown", "not analysed")
SHOWN = 12
"""Lines of a list in the retrospective; pages of their own have more."""


def retro_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?period=&repo=`, which asks for its content when it is there."""
    return "retro.html", _head(memory, request, "/retro", retro_content)


def retro_content(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the retrospective itself."""
    span, retro = _asked(memory, request)
    plot, _why = _outcomes(memory, span, retro)
    previous = retro.previous
    return "_retro.html", {
        "span": span,
        "retro": retro,
        "previous": previous,
        "changes": _changes(retro),
        "outcomes": [line for line in retro.outcomes if line.sessions],
        "bad": [line for line in retro.sessions if line.outcome in ("fail", "abandoned")][:SHOWN],
        "dear": sorted((s for s in retro.sessions if s.cost_usd), key=lambda s: -(s.cost_usd or 0.0))[:5],
        "errors": retro.errors[:SHOWN],
        "shown": SHOWN,
        "fixed_by": FIXED_BY,
        "relations": RELATIONS,
        "interventions": INTERVENTIONS,
        "plot": plot,
        "errors_href": f"/errors?{urlencode({**span.given, **_repo(request)})}",
    }


def errors_page(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the page for `?period=&repo=&q=&fixed=`, which asks for its content when it is there."""
    asked = request.query_params
    values = _head(memory, request, "/errors", errors_content)
    given = {**values["span"].given, **_repo(request), "q": asked.get("q", ""), "fixed": asked.get("fixed", "")}
    offered = (("", "all"), ("yes", "fixed"), ("no", "not fixed"))
    return "errors.html", {**values, "fates": choices("/errors", given, "fixed", offered)}


def errors_content(memory: Memory, request: Request) -> tuple[str, dict[str, Any]]:
    """Return the errors themselves, the most frequent first."""
    _span, retro = _asked(memory, request)
    asked = request.query_params
    words, fate = asked.get("q", "").casefold().split(), asked.get("fixed", "")
    errors = [
        line
        for line in retro.errors
        if all(word in f"{line.tool} {line.sample}".casefold() for word in words)
        and (fate not in ("yes", "no") or (fate == "yes") == bool(line.fixed))
    ]
    left_out = retro.unlisted.get("errors")
    return "_errors.html", {
        "retro": retro,
        "errors": errors,
        "left_out": left_out.lines if left_out is not None else 0,
        "fixed_by": FIXED_BY,
    }


def _head(
    memory: Memory, request: Request, path: str, content: Callable[[Memory, Request], tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    """Return what stands above the content, and with `?whole` the content too, for a browser without scripts."""
    span = span_of(memory, request)
    asked = request.query_params
    given = {**_repo(request), **{name: asked[name] for name in ("q", "fixed") if asked.get(name)}}
    return {
        "span": span,
        "repo": asked.get("repo", "").strip(),
        "repos": memory.reader().names("repo"),
        "query": asked.get("q", ""),
        "periods": periods(path, given, span),
        "hidden": given,
        "content": f"{path}/content?{urlencode({**span.given, **given})}",
        "whole": f"{path}?{urlencode({**span.given, **given, 'whole': 'on'})}",
        **(content(memory, request)[1] if "whole" in asked else {"retro": None}),
    }


def _repo(request: Request) -> dict[str, str]:
    repo = request.query_params.get("repo", "").strip()
    return {"repo": repo} if repo else {}


def _asked(memory: Memory, request: Request) -> tuple[DaySpan, Retro]:
    memory.refresh()
    span = span_of(memory, request)
    since, until = span.bounds
    repos = tuple(f"={repo}" for repo in _repo(request).values())
    return span, memory.retro(since=since, until=until, repos=repos, sync=False, zone=LOCAL)


def _changes(retro: Retro) -> dict[str, float | None]:
    """Return how the figures of a period changed against the one before, by name."""
    before = retro.previous
    if before is None:
        return {}
    figures = ("sessions", "turns", "errors", "edits", "decisions", "interventions", "wall_clock_s")
    changes = {name: change(getattr(retro.totals, name), getattr(before.totals, name)) for name in figures}
    return {**changes, "cost": change(retro.spent.total.cost_usd or 0.0, before.spent.cost_usd or 0.0)}


def _outcomes(memory: Memory, span: DaySpan, retro: Retro) -> tuple[Any, str]:
    """Return the sessions of each day by outcome."""
    told = {day.day: day for day in retro.days}
    groups = grouped_days(span.days)
    heights = {
        name: [float(sum(told[day].sessions.get(name, 0) for day in group if day in told)) for group in groups]
        for name in OUTCOMES
    }
    colours = {name: name.replace(" ", "-") for name in OUTCOMES}
    repo = {"repo": retro.repos[0].removeprefix("=")} if retro.repos else {}
    links = [f"/sessions?{urlencode({'after': group[0], 'before': group[-1], **repo})}" for group in groups]
    bars = Bars([group[0][5:] for group in groups], heights, colours, "sessions", links=dict.fromkeys(OUTCOMES, links))
    return plot_of(memory, "outcomes", "Sessions by outcome", bars)
