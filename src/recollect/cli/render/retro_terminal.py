"""Renders a retrospective for a terminal: tables that fit, short citations, each command named once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recollect.cli.render.retro_report import Document, ReportRow, ReportTable
from recollect.cli.terminal import put

LEAST_PROSE = 28
"""Columns that words of a report need beside its citations."""
LEAST_NAME = 12
"""Columns that words need at least; figures that leave less are left out."""
LEAST_CHARS = 8
"""Of a session's id; more where that is not enough to tell sessions of the report apart."""


def print_document(out: Console, document: Document) -> None:
    """Print a report. No text is markup."""
    cited = {
        proof.citation.partition("#")[0]
        for section in document.sections for table in section.tables for row in table.rows for proof in row.evidence
    }  # fmt: skip
    names = short_names(cited - {""})
    put(out, (document.title, "bold"))
    for note in document.notes:
        put(out, (f"note: {note}", "yellow"))
    for section in document.sections:
        out.print()
        out.print(Text(section.title, style="bold underline"))
        for line in section.lead:
            out.print(Text(line))
        for table in section.tables:
            _print_table(out, table, names)


def _print_table(out: Console, table: ReportTable, names: Mapping[str, str]) -> None:
    table = _fitting(table, out.width)
    evidence = [_cited(row, names) for row in table.rows]
    below = _column_below(table, evidence, out.width)
    shown = Table(box=None, pad_edge=False, header_style="dim", show_header=any(name for name, _ in table.columns))
    for name, kind in table.columns:
        is_figure = kind == "figure"
        shown.add_column(
            name, justify="right" if is_figure else "left", no_wrap=kind in ("figure", "word"), overflow="fold"
        )
    if any(evidence) and below is None:
        shown.add_column("", style="cyan", no_wrap=True)
    for row, cited in zip(table.rows, evidence, strict=True):
        cells = [Text(cell) for cell in row.cells]
        if below is not None and cited:
            cells[below].append(f"\n{cited}", style="cyan")
        shown.add_row(*cells, *((Text(cited),) if any(evidence) and below is None else ()))
    out.print(shown)
    commands = dict.fromkeys(proof.command for row in table.rows for proof in row.evidence if not proof.citation)
    for command in commands:
        put(out, (f"from: {command}", "dim"))
    if table.more:
        out.print(Text(table.more, style="dim"))


def _column_below(table: ReportTable, evidence: Sequence[str], width: int) -> int | None:
    """Return the column of words below which the citations stand, None where a column of their own fits beside."""
    if _width(table, LEAST_PROSE) + 2 + max(map(cell_len, evidence), default=0) <= width:
        return None
    prose = [number for number, (_name, kind) in enumerate(table.columns) if kind not in ("figure", "word")]
    return max(prose, key=lambda number: max(len(row.cells[number]) for row in table.rows), default=None)


def _fitting(table: ReportTable, width: int) -> ReportTable:
    """Return a table without its last figures, as many as a narrow terminal has no room for."""
    while _width(table, LEAST_NAME) > width and table.columns[-1][1] == "figure":
        rows = tuple(row._replace(cells=row.cells[:-1]) for row in table.rows)
        table = table._replace(columns=table.columns[:-1], rows=rows)
    return table


def _width(table: ReportTable, prose: int) -> int:
    """Return the columns of a terminal that a table takes whose words have so many."""
    taken = 0
    for number, (name, kind) in enumerate(table.columns):
        widest = max((cell_len(text) for text in (name, *(row.cells[number] for row in table.rows))), default=0)
        taken += 2 + (widest if kind in ("figure", "word") else min(widest, prose))
    return taken - 2


def _cited(row: ReportRow, names: Mapping[str, str]) -> str:
    """Return the first citation of a row, and how many more it has."""
    citations = [proof.citation for proof in row.evidence if proof.citation]
    if not citations:
        return ""
    uid, mark, seq = citations[0].partition("#")
    more = f" +{len(citations) - 1}" if len(citations) > 1 else ""
    return f"{names.get(uid, uid)}{mark}{seq}{more}"


def short_names(uids: Iterable[str]) -> dict[str, str]:
    """Return beginnings of sessions' ids, each as short as tells it from the others; whole ones of subagents.

    A beginning that a session shares with its subagents means the session.
    """
    known = list(uids)
    found = {}
    for uid in known:
        others = [other for other in known if other != uid and not other.startswith(f"{uid}/")]
        sizes = range(uid.find(":") + 1 + LEAST_CHARS, len(uid))
        size = next((size for size in sizes if not any(other.startswith(uid[:size]) for other in others)), len(uid))
        found[uid] = uid if "/" in uid else uid[:size]
    return found
