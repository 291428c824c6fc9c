"""A plain table, the same everywhere: no frame, words left, figures right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from recollect.cli.terminal import safe_line


def plain_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1, total: Sequence[str] = ()
) -> Table:
    """Return a table whose first `words` columns hold words and the rest figures; `total` is a last, bold row."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < words else "right", overflow="fold", no_wrap=number >= words)
    for row in rows:
        table.add_row(*(Text(safe_line(cell)) for cell in row))
    if total:
        table.add_row(*(Text(safe_line(cell), style="bold") for cell in total))
    return table
