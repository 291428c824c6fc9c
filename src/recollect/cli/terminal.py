"""Writes to the terminal: JSON for programs, rich consoles for people. No transcript can control the terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from recollect.visible import encode_json, safe, safe_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "PIPE_WIDTH",
    "Plain",
    "console",
    "error_console",
    "pipe_width",
    "put",
    "results",
    "safe",
    "safe_line",
    "write_bytes",
    "write_json",
]

PIPE_WIDTH = 120
"""Columns of tables where the output is not a terminal and COLUMNS is not set."""


def write_json(value: Any) -> None:
    """Print a result as JSON on stdout: indented on a terminal, else one line."""
    data = encode_json(value)
    if sys.stdout.isatty():
        import msgspec

        data = msgspec.json.format(data, indent=2)
    write_bytes(data + b"\n")


def write_bytes(data: bytes) -> None:
    """Write exact bytes to stdout, after what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def console() -> Console:
    """Return the console for results (stdout): colours on a terminal only, no markup, nothing guessed."""
    return _console(sys.stdout)


class Plain:
    """The console for results where nobody looks: lines go out as they are, and rich, which takes as long to import as
    all that a search needs of the store, is not loaded."""

    is_terminal = False

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def print(self, line: str = "") -> None:
        """Write a line at once. Raises BrokenPipeError where the reader has seen enough."""
        self._file.write(f"{line}\n")
        self._file.flush()


def results() -> Console | Plain:
    """Return the console for results (stdout): a plain one unless it is a terminal, or is to be treated as one."""
    is_forced = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    return console() if is_forced or sys.stdout.isatty() else Plain(sys.stdout)


def put(out: Console | Plain, *spans: str | tuple[str, str]) -> None:
    """Print one line, however wide. spans: texts, or (text, style)."""
    if isinstance(out, Plain):
        out.print("".join(span if isinstance(span, str) else span[0] for span in spans))
    else:
        from rich.text import Text

        out.print(Text.assemble(*spans), soft_wrap=True)


def pipe_width() -> int:
    """Return how wide a table may be where the output is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else PIPE_WIDTH


def error_console() -> Console:
    """Return the console for progress and notes (stderr)."""
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    from rich.console import Console

    class Piped(Console):
        """A console that lets the outermost frame answer a reader (head, less) that has seen enough."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if file.isatty() else pipe_width()
    return Piped(file=file, width=width, markup=False, highlight=False, emoji=False)
