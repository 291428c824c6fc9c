"""A retrospective as Markdown: tables, with the citations of each line in its last column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.cli.render.retro.document import Document, Kind, Proof, Section, Table

_MARKUP = re.compile(r"([\\`*_\[\]<>|#!&~])")
SHOWN_PROOFS = 6


def to_markdown(document: Document, *, plots: dict[str, str] | None = None) -> str:
    """Return the report, ended by a newline. plots: paths of images by name. No transcript's text is markup."""
    lines = [f"# {plain(document.title)}", ""]
    for note in document.notes:
        lines += [f"> {plain(note)}", ""]
    for section in document.sections:
        lines += _section(section, plots or {})
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: Section, plots: dict[str, str]) -> Iterator[str]:
    yield f"## {plain(section.title)}"
    yield ""
    for text in section.lead:
        yield plain(text)
        yield ""
    if section.plot in plots:
        yield f"![{plain(section.title)}](<{plots[section.plot]}>)"
        yield ""
    for table in section.tables:
        yield from _table(table)
        yield ""


def _table(table: Table) -> Iterator[str]:
    yield _line([*(plain(name) for name, _ in table.columns), "evidence"])
    yield _line([*("---:" if kind == "figure" else "---" for _, kind in table.columns), "---"])
    for row in table.rows:
        cells = [_cell(text, kind) for text, (_, kind) in zip(row.cells, table.columns, strict=True)]
        yield _line([*cells, ", ".join(_proof(one) for one in row.evidence[:SHOWN_PROOFS])])
    if table.more:
        yield ""
        yield f"*{plain(table.more)}*"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str, kind: Kind) -> str:
    return code(text) if kind == "code" and text else plain(text)


def _proof(one: Proof) -> str:
    label = f"{plain(one.label)} " if one.label else ""
    return label + code(one.citation or one.command)


def plain(text: str) -> str:
    """Return text in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", text)


def code(text: str) -> str:
    """Return text as code, also inside a table, where a bar must be escaped and a backtick cannot be."""
    return f"`{text.replace('`', chr(0x2018)).replace('|', chr(92) + '|')}`" if text else ""
