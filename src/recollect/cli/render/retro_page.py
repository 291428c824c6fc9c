"""Renders a retrospective as one HTML page with plots and writes it to files.

The page loads nothing, runs no script, and no text of a transcript is markup in it. Light and dark follow the reader's
system. Where there is little room, as on a phone, the cells of a row stand below each other with their names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.render.retro_report import Document, Kind, PlotName, Proof, ReportRow, ReportTable, Section
from recollect.cli.terminal import safe_line
from recollect.errors import SourceUnavailable
from recollect.files import write_file
from recollect.memory import DayLine, Retro
from recollect.model.time import in_zone, relative_period
from recollect.serve.web.plots import COLOURS, LEAST, MISSING, PLACES, WIDTH, Bars, draw_bars, draw_plot, in_dollars

if TYPE_CHECKING:
    from recollect.memory import Memory


_DARK = {
    "ink": "#e4e7ee", "grid": "#3a4152", "success": "#4cc38a", "fail": "#f0727f", "abandoned": "#f0b45c",
    "unknown": "#94a0b8", "not-analysed": "#566077", "first": "#7aa5ea", "second": "#f0b45c", "third": "#b391e0",
    "fourth": "#4cc38a", "fifth": "#ef8f7a",
}  # fmt: skip
_STYLE = """
:root { color-scheme: light dark; %(light)s --paper: #fff; --faint: #5c6575; --shade: #f3f5f9; --link: #2858a8; }
@media (prefers-color-scheme: dark) {
  :root { %(dark)s --paper: #14171f; --faint: #a1a9b9; --shade: #1d212c; --link: #8fb4f5; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 66rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; }
a { color: var(--link); } p { margin: .4rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .2rem .9rem; font-size: .9rem; }
.note, .more { color: var(--faint); font-size: .9rem; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; min-width: 50%%; }
th { text-align: left; font-weight: 600; color: var(--faint); white-space: nowrap; }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--grid); vertical-align: top; }
td { min-width: 5.5rem; max-width: 26rem; overflow-wrap: anywhere; } td.figure, td.word { min-width: 0; }
.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.word { white-space: nowrap; }
code { font: .85em ui-monospace, monospace; background: var(--shade); border-radius: 3px; padding: .05em .3em; }
sup { line-height: 0; } sup a { padding: 0 .15em; text-decoration: none; }
.plot { max-width: 46rem; margin: .6rem 0; } .plot svg { display: block; width: 100%%; height: auto; }
.plot svg * { stroke-linejoin: round; stroke-linecap: butt; }
@media (max-width: 42rem) {
  table, tbody, tr, td { display: block; max-width: none; } thead { display: none; }
  tr { border-bottom: 1px solid var(--grid); padding: .4rem 0; } td { border: 0; padding: .1rem 0; text-align: left; }
  td.figure, td.word { display: inline-block; text-align: left; margin-right: .9rem; }
  td[data-name]:not(:first-child):not(:empty)::before { content: attr(data-name) " "; color: var(--faint); }
}
.evidence { font-size: .85rem; padding-left: 2.6rem; } .evidence li { margin: .15rem 0; }
.evidence li:target { background: var(--shade); outline: 2px solid var(--link); }
.evidence code { user-select: all; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def to_page(document: Document, plots: Mapping[PlotName, str]) -> str:
    """Return the page. plots: SVG by name, from `draw`."""
    numbers = _Numbers()
    values = {
        name: " ".join(f"--{key}: {value};" for key, value in colours.items())
        for name, colours in (("light", COLOURS), ("dark", _DARK))
    }
    body = "\n".join(part for section in document.sections for part in _section(section, plots, numbers))
    places = "\n".join(numbers.listed())
    nav = "".join(f'<a href="#{_anchor(section.title)}">{escape(section.title)}</a>' for section in document.sections)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in document.notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>{_STYLE % values}</style>\n</head>\n<body>\n"
        f'<h1>{escape(document.title)}</h1>\n{notes}\n<nav>{nav}<a href="#evidence">Evidence</a></nav>\n{body}\n'
        '<h2 id="evidence">Evidence</h2>\n<p class="note">Each command shows the place.</p>\n'
        f'<ol class="evidence">\n{places}\n</ol>\n</body>\n</html>\n'
    )


class _Numbers:
    """Gives each command a number, in the order in which they are named."""

    def __init__(self) -> None:
        self._by_command: dict[str, int] = {}

    def link(self, proof: Proof) -> str:
        """Return the link to a piece of evidence."""
        number = self._by_command.setdefault(proof.command, len(self._by_command) + 1)
        said = escape(" ".join(part for part in (proof.label, proof.citation or proof.command) if part), quote=True)
        text = f"{escape(proof.label)} {number}" if proof.label else str(number)
        return f'<a href="#e{number}" title="{said}">{text}</a>'

    def listed(self) -> Iterator[str]:
        """Yield the commands as the items of a list."""
        for command, number in self._by_command.items():
            yield f'<li id="e{number}"><code>{escape(command)}</code></li>'


def _section(section: Section, plots: Mapping[PlotName, str], numbers: _Numbers) -> Iterator[str]:
    yield f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>'
    for text in section.lead:
        yield f"<p>{escape(text)}</p>"
    if section.plot and section.plot in plots:
        yield f'<div class="plot">{plots[section.plot]}</div>'
    for table in section.tables:
        yield from _table(table, numbers)


def _table(table: ReportTable, numbers: _Numbers) -> Iterator[str]:
    names = "".join(f"<th{_class(kind)}>{escape(name)}</th>" for name, kind in table.columns)
    head = f"<thead><tr>{names}</tr></thead>" if any(name for name, _ in table.columns) else ""
    rows = "\n".join(_row(row, table.columns, numbers) for row in table.rows)
    yield f'<div class="wide"><table>{head}<tbody>\n{rows}\n</tbody></table></div>'
    if table.more:
        yield f'<p class="more">{escape(table.more)}</p>'


def _row(row: ReportRow, columns: tuple[tuple[str, Kind], ...], numbers: _Numbers) -> str:
    cells = []
    for number, (text, (name, kind)) in enumerate(zip(row.cells, columns, strict=True)):
        links = " ".join(numbers.link(one) for one in row.evidence) if not number else ""
        inner = f"{_cell(text, kind)} <sup>{links}</sup>" if links else _cell(text, kind)
        named = f' data-name="{escape(name)}"' if name else ""
        cells.append(f"<td{_class(kind)}{named}>{inner}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str, kind: Kind) -> str:
    shown = escape(text)
    return f"<code>{shown}</code>" if kind == "code" and shown else shown


def _class(kind: Kind) -> str:
    return f' class="{kind}"' if kind in ("figure", "word") else ""


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def write_last_week(
    memory: Memory, folder: Path, *, now: int, zone: tzinfo, tell: Callable[[str], None] = lambda _: None
) -> Path | None:
    """Write the report of the last whole week as `retro-2026-W47.html`; None where it is there or nothing happened.

    It is written once: what you edit or move stays so. Raises SourceUnavailable, ConfigError, StoreError.
    """
    week = relative_period("last week", now, zone)
    if week is None:
        raise AssertionError("every moment of the calendar has a week before it")
    year, number, _day = in_zone(week.start_us, zone).isocalendar()
    out = folder / f"retro-{year:04}-W{number:02}.html"
    if out.exists():
        return None
    retro = memory.retro(since=week.start_us, until=week.end_us, zone=zone, tell=tell)
    if retro.is_empty:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceUnavailable(f"cannot make {folder}: {error.strerror}") from error
    tell("drawing plots")
    write_report(out, retro, memory.home / "cache")
    return out


def write_report(out: Path, retro: Retro, cache: Path) -> list[Path]:
    """Write a report as HTML, or as Markdown with its plots beside it, and return the files.

    cache: where matplotlib keeps its list of fonts. Raises SourceUnavailable where that cannot be done.
    """
    from recollect.cli.render.retro_report import document_of, to_markdown
    from recollect.serve.web.plots import standing_alone

    document = document_of(retro)
    plots, why_none = draw(retro, cache=cache)
    if why_none:
        document = document._replace(notes=(*document.notes, why_none))
    files: dict[Path, str] = {}
    if out.suffix.lower() == ".html":
        files[out] = to_page(document, plots)
    else:
        images = {name: out.with_name(f"{out.stem}-{name}.svg") for name in plots}
        files[out] = to_markdown(document, plots={name: path.name for name, path in images.items()})
        files.update((images[name], standing_alone(svg)) for name, svg in plots.items())
    try:
        for path, text in files.items():
            write_file(path, text.encode("utf-8", "backslashreplace"), durable=True, mode=0o666)
    except OSError as error:
        where = os.fspath(error.filename or out)
        raise SourceUnavailable(f"cannot write {where}: {error.strerror}") from error
    return list(files)


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
        bars = Bars(_labels(groups), heights, {"cost": "first"}, "cost (USD)", is_whole=False, format_values=in_dollars)
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
    if len(files) < LEAST:
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
