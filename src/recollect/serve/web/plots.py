"""Plots as SVG, drawn with matplotlib, for pages that allow no inline style.

Colours are CSS variables, so that one drawing serves light and dark pages; a page that shows plots gives them values.
What matplotlib writes as inline style becomes attributes: a strict Content-Security-Policy forbids the one and allows
the other. matplotlib is loaded when a plot is drawn.
"""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

MISSING = "without plots: matplotlib is not installed"
WIDTH, HEIGHT = 7.2, 2.5
"""Inches; the page scales a drawing to its width."""
LEAST_PLACES = 12
"""Few bars are drawn as narrow as so many would be."""
LEAST = 3
"""Bars that are drawn; fewer say less than their figures."""
LEGEND_CHARS = 96
"""Of the names of all series in a legend: so many stand in one line."""
_DATED = re.compile(r"-20\d{6}$")
_HALF = 0.375
"""Of the width of a bar."""
_PLACE = (0.072, 0.13, 0.926, 0.75)
"""Of a plot whose size is given, in its drawing: left, bottom, width, height."""
COLOURS = {
    "ink": "#1f2430", "grid": "#d5d9e2", "success": "#2f9e6e", "fail": "#d1495b", "abandoned": "#e09f3e",
    "unknown": "#8d99ae", "not-analysed": "#c3c9d6", "first": "#3d6bb3", "second": "#e09f3e", "third": "#8b5fbf",
    "fourth": "#2f9e6e", "fifth": "#c8553d",
}  # fmt: skip
"""By name of the CSS variable: its value on a light page. The page has those for a dark one."""
PLACES = {name: f"#0102{number:02x}" for number, name in enumerate(COLOURS)}
"""Colours as matplotlib is given them: each stands for a variable."""
_VARIABLE = {place: f"var(--{name})" for name, place in PLACES.items()}
_SETTINGS: Any = {
    "svg.fonttype": "none", "text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": PLACES["grid"], "axes.labelcolor": PLACES["ink"], "text.color": PLACES["ink"],
    "xtick.color": PLACES["ink"], "ytick.color": PLACES["ink"], "grid.color": PLACES["grid"], "font.size": 9,
    "font.family": ["DejaVu Sans"], "legend.frameon": False, "axes.axisbelow": True,
}  # fmt: skip
_FONT = re.compile(r"\bfont: (?:[\w-]+ )*?([\d.]+px) ([^;\"]+)")


class Bars(NamedTuple):
    """Bars on each other. labels: one a bar. heights: by series, one a bar. colours: of each series, by variable.

    links: where each bar of a series leads, empty: nowhere. format_values: of the whole axis; None: as they are. size:
    in inches, (0, 0) for the usual one.
    """

    labels: Sequence[str]
    heights: Mapping[str, Sequence[float]]
    colours: Mapping[str, str]
    unit: str
    is_whole: bool = True
    links: Mapping[str, Sequence[str]] = {}
    format_values: Callable[[Sequence[float]], list[str]] | None = None
    size: tuple[float, float] = (0, 0)

    @property
    def are_few(self) -> bool:
        """Whether there are so few bars that they say less than their figures: none are drawn."""
        return len({place for values in self.heights.values() for place, value in enumerate(values) if value}) < LEAST


def draw_plot(
    name: str, title: str, make: Callable[[Any], bool], *, cache: Path | None = None, is_placed: bool = False
) -> str:
    """Return a plot as SVG to stand in a page among others, "" where it has nothing to show.

    make: draws into matplotlib's axes and tells whether there is anything. is_placed: it says itself where they lie;
    finding out what fits takes as long as drawing. cache: where matplotlib may keep its list
    of fonts, which takes seconds to make; None: where it does by itself. Raises ImportError without matplotlib.
    """
    if cache is not None:
        os.environ.setdefault("MPLCONFIGDIR", os.fspath(cache / "matplotlib"))
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # that it makes that list is nothing to tell
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # matplotlib obeys a `matplotlibrc` in the working directory
        mpl.rcParams.update({**_SETTINGS, "svg.hashsalt": name})
        warnings.simplefilter("ignore")  # a glyph that the font lacks: the reader's browser has another font
        figure = Figure(figsize=(WIDTH, HEIGHT), layout=None if is_placed else "constrained")
        FigureCanvasSVG(figure)
        if not make(figure.add_subplot()):
            return ""
        written = io.BytesIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _for_page(written.getvalue().decode(), name, title)


def standing_alone(svg: str) -> str:
    """Return a plot as a file of its own: its colours written out, on white."""
    filled = re.sub(r"var\(--([\w-]+)\)", lambda match: COLOURS[match[1]], svg)
    return filled.replace("<svg ", '<svg style="background:#fff" ', 1)


def draw_bars(axes: Any, bars: Bars) -> bool:
    """Draw bars on each other; tell whether there are enough of them."""
    if bars.are_few:
        return False
    if bars.size[0]:
        axes.figure.set_size_inches(*bars.size)
        axes.set_position(_PLACE)
    from matplotlib.collections import PolyCollection

    bottom = [0.0] * len(bars.labels)
    for name, values in bars.heights.items():
        seen = [place for place, value in enumerate(values) if value]
        if not seen:
            continue
        drawn = PolyCollection(
            [_rectangle(place, bottom[place], values[place]) for place in seen],
            facecolors=PLACES[bars.colours[name]], linewidths=0, label=_short(name, LEGEND_CHARS // len(bars.heights)),
            urls=[bars.links[name][place] for place in seen] if bars.links else None,
        )  # fmt: skip
        axes.add_collection(drawn, autolim=False)
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    axes.set_ylim(0, max(bottom) * 1.05)
    step = max(1, -(-len(bars.labels) // 8))
    axes.set_xticks(range(0, len(bars.labels), step), list(bars.labels)[::step])
    axes.set_xlim(-0.6, max(len(bars.labels), LEAST_PLACES) - 0.4)
    axes.yaxis.get_major_locator().set_params(integer=bars.is_whole)
    if bars.format_values is None:
        axes.set_ylabel(bars.unit)
    else:  # the figures say what they are, and are long
        axes.yaxis.get_major_formatter().format_ticks = bars.format_values
    axes.grid(axis="y", linewidth=0.6)
    axes.tick_params(length=0)
    axes.tick_params(axis="x", pad=5)
    if len([values for values in bars.heights.values() if any(values)]) > 1:
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=len(bars.heights), borderaxespad=0, handlelength=1,
            handletextpad=0.4, columnspacing=1.2,
        )  # fmt: skip
    return True


def in_dollars(amounts: Sequence[float]) -> list[str]:
    """Return the figures of an axis, all with as many decimals as tell them apart."""
    decimals = next((n for n in range(2, 8) if all(abs(round(one, n) - one) < 1e-9 for one in amounts)), 8)
    return [f"${one:,.{decimals}f}" for one in amounts]


def _short(name: str, most: int) -> str:
    """Return the name of a series for a legend: a model's without its date, none longer than fits."""
    undated = _DATED.sub("", name)
    return undated if len(undated) <= most else undated[: most - 1] + "…"


def _rectangle(place: int, low: float, height: float) -> list[tuple[float, float]]:
    left, right = place - _HALF, place + _HALF
    return [(left, low), (left, low + height), (right, low + height), (right, low)]


def _for_page(svg: str, name: str, title: str) -> str:
    """Return SVG without prolog and inline style, with no ids of others and colours by variable."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'href="#', f'href="#{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r"#0102[0-9a-f]{2}", lambda match: _VARIABLE.get(match[0], match[0]), body)
    body = body.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif")
    body = re.sub(r' style="([^"]*)"', _as_attributes, body)
    body = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1).strip() + "\n"


def _as_attributes(style: re.Match[str]) -> str:
    """Return an inline style as attributes: every property that matplotlib writes has one, the font as two."""
    rules = _FONT.sub(r"font-size: \1; font-family: \2", style[1])
    named = (rule.partition(":") for rule in rules.split(";") if rule.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in named)
