"""Plots of a retrospective as SVG. matplotlib is loaded when one is drawn; where it is missing there are none.

Colours are written as CSS variables, so that one drawing serves light and dark pages; `standing_alone` fills them in.
"""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.render.layout import usd
from recollect.cli.render.retro_report import PlotName
from recollect.cli.terminal import safe_line

if TYPE_CHECKING:
    from recollect.memory import DayLine, Retro

MISSING = "without plots: matplotlib is not installed"
MAX_BARS = 62
"""More days than these are drawn as weeks, and more weeks than these as months of 30 days."""
HOT_FILES = 12
_WIDTH, _HEIGHT = 7.2, 2.5
"""Inches; the page scales a drawing to its width."""
COLOURS = {
    "ink": "#1f2430", "grid": "#d5d9e2", "success": "#2f9e6e", "fail": "#d1495b", "abandoned": "#e09f3e",
    "unknown": "#8d99ae", "not-analysed": "#c3c9d6", "first": "#3d6bb3", "second": "#e09f3e", "third": "#8b5fbf",
}  # fmt: skip
"""By name of the CSS variable: its value on a light page. The page has those for a dark one."""
_PLACES = {name: f"#0102{number:02x}" for number, name in enumerate(COLOURS)}
"""Colours as matplotlib is given them: each stands for a variable."""
_VARIABLE = {place: f"var(--{name})" for name, place in _PLACES.items()}
_SETTINGS: Any = {
    "svg.fonttype": "none", "text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": _PLACES["grid"], "axes.labelcolor": _PLACES["ink"], "text.color": _PLACES["ink"],
    "xtick.color": _PLACES["ink"], "ytick.color": _PLACES["ink"], "grid.color": _PLACES["grid"], "font.size": 9,
    "font.family": ["DejaVu Sans"], "legend.frameon": False, "axes.axisbelow": True,
}  # fmt: skip


def draw(retro: Retro, *, cache: Path | None = None) -> tuple[dict[PlotName, str], str]:
    """Return the plots that have something to show, as SVG for a page that has the colours; and why there is none.

    cache: where matplotlib may keep its list of fonts, which takes seconds to make; None: where it does by itself.
    """
    if cache is not None:
        os.environ.setdefault("MPLCONFIGDIR", os.fspath(cache / "matplotlib"))
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # that it makes that list is nothing to tell
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        return {}, MISSING
    groups = _grouped(retro.days)
    found: dict[PlotName, str] = {}
    for name, (title, make) in _PLOTS.items():
        with mpl.rc_context(), warnings.catch_warnings():
            mpl.rcdefaults()  # matplotlib obeys a `matplotlibrc` in the working directory
            mpl.rcParams.update({**_SETTINGS, "svg.hashsalt": name})
            warnings.simplefilter("ignore")  # a glyph that the font lacks: the reader's browser has another font
            figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
            FigureCanvasSVG(figure)
            axes = figure.add_subplot()
            if not make(axes, retro, groups):
                continue
            written = io.BytesIO()
            figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        found[name] = _for_page(written.getvalue().decode(), name, title)
    return found, ""


def standing_alone(svg: str) -> str:
    """Return a plot as a file of its own: its colours written out, on white."""
    filled = re.sub(r"var\(--([\w-]+)\)", lambda match: COLOURS[match[1]], svg)
    return filled.replace("<svg ", '<svg style="background:#fff" ', 1)


def _for_page(svg: str, name: str, title: str) -> str:
    """Return SVG to stand in a page among others: no prolog, no ids of others, colours by variable."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r"#0102[0-9a-f]{2}", lambda match: _VARIABLE.get(match[0], match[0]), body)
    body = body.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif")
    body = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1).strip() + "\n"


Group = tuple[str, Sequence["DayLine"]]


def _grouped(days: Sequence[DayLine]) -> list[Group]:
    """Return days, weeks or months, each with the label of its first day."""
    size = next((size for size in (1, 7) if len(days) <= size * MAX_BARS), 30)
    starts = range(0, len(days), size)
    with_year = bool(days) and days[0].day[:4] != days[-1].day[:4]
    return [(days[i].day if with_year else days[i].day[5:], days[i : i + size]) for i in starts]


def _sum(group: Group, of: Callable[[DayLine], float | None]) -> float:
    return float(sum(of(day) or 0 for day in group[1]))


def _outcomes(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    names = ("success", "fail", "abandoned", "unknown", "not analysed")
    heights = {name: [float(sum(day.sessions.get(name, 0) for day in days)) for _, days in groups] for name in names}
    return _stacked(axes, groups, heights, {name: name.replace(" ", "-") for name in heights}, "sessions")


def _cost(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    if any(day.cost_usd for day in retro.days):
        heights = {"cost": [_sum(group, lambda day: day.cost_usd) for group in groups]}
        drawn = _stacked(axes, groups, heights, {"cost": "first"}, "cost (USD)")
        axes.yaxis.set_major_formatter(lambda value, _: usd(value))
        return drawn
    heights = {
        "input": [_sum(group, lambda day: day.input_tokens) for group in groups],
        "output": [_sum(group, lambda day: day.output_tokens) for group in groups],
    }
    return _stacked(axes, groups, heights, {"input": "first", "output": "second"}, "tokens")


def _trouble(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    heights = {
        "errors": [_sum(group, lambda day: day.errors) for group in groups],
        "retries": [_sum(group, lambda day: day.retries) for group in groups],
        "interventions": [_sum(group, lambda day: day.interventions) for group in groups],
    }
    return _stacked(axes, groups, heights, {"errors": "fail", "retries": "second", "interventions": "third"}, "times")


def _files(axes: Any, retro: Retro, groups: Sequence[Group]) -> bool:
    files = retro.files[:HOT_FILES]
    if not files:
        return False
    axes.figure.set_size_inches(_WIDTH, 0.5 + 0.24 * len(files))
    places = range(len(files))
    axes.barh(places, [file.edits for file in files], color=_PLACES["first"], height=0.7)
    axes.set_yticks(places, [_tail(file.path) for file in files])
    axes.invert_yaxis()
    axes.set_xlabel("edits (the files of most sessions first)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="x", linewidth=0.6)
    axes.tick_params(length=0)
    return True


def _stacked(
    axes: Any, groups: Sequence[Group], heights: dict[str, list[float]], colours: dict[str, str], label: str
) -> bool:
    """Draw bars on each other; tell whether there is anything in them."""
    bottom = [0.0] * len(groups)
    places = range(len(groups))
    for name, values in heights.items():
        if not any(values):
            continue
        axes.bar(places, values, bottom=bottom, color=_PLACES[colours[name]], width=0.75, label=name)
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    if not any(bottom):
        return False
    step = max(1, -(-len(groups) // 8))
    axes.set_xticks(list(places)[::step], [group[0] for group in groups][::step])
    axes.set_xlim(-0.6, max(len(groups), 5) - 0.4)
    axes.set_ylabel(label)
    axes.yaxis.get_major_locator().set_params(integer="USD" not in label)
    axes.grid(axis="y", linewidth=0.6)
    axes.tick_params(length=0)
    if len([values for values in heights.values() if any(values)]) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, borderaxespad=0, handlelength=1)
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
