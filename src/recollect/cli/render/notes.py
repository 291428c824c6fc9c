"""The notes that stand below a result."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from recollect.cli.terminal import safe_line


def print_notes(out: Console, notes: Sequence[str]) -> None:
    """Print one line per note."""
    for note in notes:
        out.print(Text(f"note: {safe_line(note)}", style="yellow"), soft_wrap=True)
