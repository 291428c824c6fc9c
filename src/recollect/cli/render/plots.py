"""The plots of a retrospective; see `recollect.serve.web.plots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from recollect.cli.render.retro_report import PlotName
from recollect.cli.terminal import safe_line
from recollect.memory import DayLine, Retro
from recollect.serve.web.plots import MISSING, PLACES, WIDTH, Bars, draw_bars, draw_plot
from recollect.units import usd

MAX_BARS = 62
"""More days than these are drawn as weeks, and more weeks than these as months of 30 days."""
HOT_FILES = 12


def draw(retro: Retro, *, cache: Path | None = None) -> tuple[dict[PlotName, str], str]:
    """Return the plots that have something to show, as SVG for a page that has the colours; and why there is none.

    cache: see `draw_plot`.
    """
    groups = _grouped(retro.days)
    found: dict[PlotName, str] = {}
    try:
        for name, (title, make) in _PLOTS.items():
            plot = draw_plot(name, title, partial(make, retro=retro, groups=groups), cache=cache)
            if plot:
                found[name] = plot
    except ImportError:
        return {}, MISSING
    return found, ""


Group = tuple[str, Sequence["DayLine"]]


def _grouped(days: Sequence[DayLine]) -> list[Group]:
    """Return days, weeks or months, each with the label of its first day."""
    size = next((size for size in (1, 7) if len(days) <= size * MAX_BARS), 30)
    starts = range(0, len(days), size)
    with_year = bool(days) and days[0].day[:4] != days[-1].day[:4]
    return [(days[i].day if with_year else days[i].day[5:], days[i : i + size]) for i in starts]


def _labels(groups: Sequence[Group]) -> list[str]:
    return [label for label, _ in groups]


def _sum(group: Group, of: Callable[[DayLine], float | None]) -> float:
    return float(sum(of(day) or 0 for day in group[1]))


def _outcomes(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    names = ("success", "fail", "abandoned", "unknown", "not analysed")
    heights = {name: [float(sum(day.sessions.get(name, 0) for day in days)) for _, days in groups] for name in names}
    colours = {name: name.replace(" ", "-") for name in heights}
    return draw_bars(axes, Bars(_labels(groups), heights, colours, "sessions"))


def _cost(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    if any(day.cost_usd for day in retro.days):
        heights = {"cost": [_sum(group, lambda day: day.cost_usd) for group in groups]}
        bars = Bars(_labels(groups), heights, {"cost": "first"}, "cost (USD)", is_whole=False, format_value=usd)
        return draw_bars(axes, bars)
    heights = {
        "input": [_sum(group, lambda day: day.input_tokens) for group in groups],
        "output": [_sum(group, lambda day: day.output_tokens) for group in groups],
    }
    return draw_bars(axes, Bars(_labels(groups), heights, {"input": "first", "output": "second"}, "tokens"))


def _trouble(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    heights = {
        "errors": [_sum(group, lambda day: day.errors) for group in groups],
        "retries": [_sum(group, lambda day: day.retries) for group in groups],
        "interventions": [_sum(group, lambda day: day.interventions) for group in groups],
    }
    colours = {"errors": "fail", "retries": "second", "interventions": "third"}
    return draw_bars(axes, Bars(_labels(groups), heights, colours, "times"))


def _files(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    files = retro.files[:HOT_FILES]
    if not files:
        return False
    axes.figure.set_size_inches(WIDTH, 0.5 + 0.24 * len(files))
    places = range(len(files))
    axes.barh(places, [file.edits for file in files], color=PLACES["first"], height=0.7)
    axes.set_yticks(places, [_tail(file.path) for file in files])
    axes.invert_yaxis()
    axes.set_xlabel("edits (the files of most sessions first)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="x", linewidth=0.6)
    axes.tick_params(length=0)
    return True


def _tail(path: str, limit: int = 44) -> str:
    text = safe_line(path)
    return text if len(text) <= limit else "…" + text[-(limit - 1) :]


_PLOTS: dict[PlotName, tuple[str, Callable[..., bool]]] = {
    "outcomes": ("Sessions by outcome over time", _outcomes),
    "cost": ("Cost over time", _cost),
    "trouble": ("Errors, retries and interventions over time", _trouble),
    "files": ("The files edited most", _files),
}
