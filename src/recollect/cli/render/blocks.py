"""Text set in from the left."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

INDENT = 4


def print_block(out: Console, text: Text) -> None:
    """Print text set in: wrapped to the width of a terminal; elsewhere every line stays one line, to be searched."""
    if out.is_terminal:
        out.print(Padding(text, (0, 0, 0, INDENT)))
    else:
        for line in text.split("\n", allow_blank=True):
            out.print(Text(" " * INDENT).append_text(line), soft_wrap=True)
