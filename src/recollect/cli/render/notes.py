"""The notes that stand below a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.cli.terminal import Plain, put, safe_line

if TYPE_CHECKING:
    from rich.console import Console


def print_notes(out: Console | Plain, notes: Sequence[str]) -> None:
    """Print one line per note."""
    for note in notes:
        put(out, (f"note: {safe_line(note)}", "yellow"))
