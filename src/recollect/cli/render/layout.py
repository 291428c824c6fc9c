"""Times, prices, notes, blocks and tables, the same in every result. Loads rich only where needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from recollect.cli.terminal import Plain, console, pipe_width, put, safe_line
from recollect.local_time import LOCAL
from recollect.model.time import in_zone, minute_of
from recollect.units import size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from recollect.memory import RelatedEvent


LEAST_TIMED_BYTES = 1_000_000
"""Reading less takes as long as starting and ending do: a rate would say nothing."""
_STEPS = ((60, "s"), (60, "min"), (24, "h"), (7, "d"), (4.345, "wk"), (12, "mo"))


def stamp(us: int | None) -> str:
    """Return `2026-08-01 11:00` in the local zone; "no time" for None."""
    return "no time" if us is None else minute_of(us, LOCAL)


def clock(us: int | None) -> str:
    """Return `11:00:04` in the local zone; dashes for None."""
    return "--:--:--" if us is None else f"{in_zone(us, LOCAL):%H:%M:%S}"


def ago(us: int | None, now_us: int) -> str:
    """Return how long before now an instant was, in one unit (`3 d ago`); "" for None or the future."""
    if us is None or us > now_us:
        return ""
    left = (now_us - us) / 1e6
    for step, unit in _STEPS:
        if left < step:
            return f"{int(left)} {unit} ago"
        left /= step
    return f"{int(left)} y ago"


def when(us: int | None, now_us: int) -> str:
    """Return `3 d ago (2026-08-01 11:00)`."""
    relative = ago(us, now_us)
    return f"{relative} ({stamp(us)})" if relative else stamp(us)


def speed(count_bytes: int, seconds: float) -> str:
    """Return `7.8 MB/s`; "" where it would say nothing."""
    return f"{size(count_bytes / seconds)}/s" if count_bytes >= LEAST_TIMED_BYTES and seconds > 0 else ""


def print_notes(out: Console | Plain, notes: Sequence[str]) -> None:
    """Print one line per note."""
    for note in notes:
        put(out, (f"note: {safe_line(note)}", "yellow"))


INDENT = 4


def print_later(out: Console, later: Sequence[RelatedEvent]) -> None:
    """Print what was said later about the same thing, beneath what it is about."""
    from rich.text import Text

    for event in later:
        line = Text("    said later about this: ", style="dim").append(f"“{safe_line(event.text)}”", "default")
        line.append(f"  {stamp(event.ts)}  ").append(safe_line(event.citation), "cyan")
        out.print(line, soft_wrap=True)


def print_block(out: Console, text: Text) -> None:
    """Print text set in: wrapped to the width of a terminal; elsewhere every line stays one line, to be searched."""
    from rich.padding import Padding
    from rich.text import Text

    if out.is_terminal:
        out.print(Padding(text, (0, 0, 0, INDENT)))
    else:
        for line in text.split("\n", allow_blank=True):
            out.print(Text(" " * INDENT).append_text(line), soft_wrap=True)


GAP = "  "
"""Between columns."""


def print_table(
    out: Console | Plain, columns: Sequence[str], rows: Sequence[Sequence[str]], *, total: Sequence[str] = ()
) -> None:
    """Print `plain_table`. Where nobody looks, one that needs no wrapping is printed without rich, which takes long."""
    if isinstance(out, Plain):
        lines = [columns, *([safe_line(cell) for cell in row] for row in rows), *([total] if total else [])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        is_plain = all(cell.isascii() for line in lines for cell in line)  # others may be wider than long
        if is_plain and sum(widths) + len(GAP) * (len(widths) - 1) <= pipe_width():
            for first, *figures in lines:
                out.print(GAP.join([first.ljust(widths[0]), *map(str.rjust, figures, widths[1:])]))
            return
        out = console()
    out.print(plain_table(columns, rows, total=total))


def plain_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1, total: Sequence[str] = ()
) -> Table:
    """Return a table whose first `words` columns hold words and the rest figures; `total` is a last, bold row."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < words else "right", overflow="fold", no_wrap=number >= words)
    for row in rows:
        table.add_row(*(Text(safe_line(cell)) for cell in row))
    if total:
        table.add_row(*(Text(safe_line(cell), style="bold") for cell in total))
    return table
