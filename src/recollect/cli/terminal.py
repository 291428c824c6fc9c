"""Writing to the terminal: JSON for programs, rich consoles for people, and no transcript ever in control of either."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120
"""Columns of tables where the output is not a terminal and COLUMNS is not set."""

# What a terminal may obey or what may fake other text: C0 but tab and newline, DEL, C1, directional overrides,
# line and paragraph separators, lone surrogates (which no encoding can write).
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def safe(text: str) -> str:
    """Return text in which nothing can move the cursor, colour, or reorder what is shown.

    Control characters become their pictures (ESC is `␛`), others `\\uXXXX`. Newlines and tabs stay; a carriage
    return before a newline goes.
    """
    return _UNSAFE.sub(_picture, text.replace("\r\n", "\n"))


def safe_line(text: str) -> str:
    """Return text on one line, safe to print: whitespace folded, control characters visible."""
    return " ".join(safe(text).split())


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"


def encode_json(value: Any) -> bytes:
    """Return JSON of any result. A lone surrogate (only file names can hold one) becomes an escape."""
    import msgspec

    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()


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


def error_console() -> Console:
    """Return the console for progress and notes (stderr)."""
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    from rich.console import Console

    class Piped(Console):
        """A console that lets the outermost frame answer a reader (head, less) that has seen enough."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None
    if not file.isatty():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() and int(columns) > 0 else PIPE_WIDTH
    return Piped(file=file, width=width, markup=False, highlight=False, emoji=False)
