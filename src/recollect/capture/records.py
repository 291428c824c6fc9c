"""From lines to records, by container: what a line of rows or of a patch log means to a parser."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.capture.containers.jsonl import Line
from recollect.capture.containers.patchlog import PatchFold
from recollect.model.rows import decode_row

_ROWS = frozenset(("sqlite", "directory", "export", "otlp"))
_APPENDED = frozenset(("jsonl", "patchlog"))


def is_rows(container: str) -> bool:
    """Return True for sources whose bytes are made here, of rows or small files; they are compared as a whole."""
    return container in _ROWS


def is_appended(container: str) -> bool:
    """Return True for files that are appended to, whose records never change once they are written."""
    return container in _APPENDED


def is_whole(container: str) -> bool:
    """Return True for files that are read in one piece, because a rewrite may change any part of them."""
    return container not in _ROWS and container not in _APPENDED


def split_of(container: str) -> tuple[str, ...]:
    """Return the arrays that a stored container name says are split: `snapshot:messages,journal.entries`."""
    return tuple(filter(None, container.partition(":")[2].split(",")))


class LineReader:
    """Gives lines their meaning, in order from the first one of a revision. jsonl lines stay as they are."""

    def __init__(self, container: str) -> None:
        self._is_rows = is_rows(container)
        self._fold = PatchFold() if container == "patchlog" else None

    @property
    def needs_history(self) -> bool:
        """True where a line means something only after all lines before it."""
        return self._fold is not None

    def take(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Return the lines with what they mean: a row's table and columns, a patch's changed elements."""
        if self._is_rows:
            return [_as_row(line) for line in lines]
        if self._fold is not None:
            fold = self._fold
            return [
                msgspec.structs.replace(line, changed=fold.take(line.decoded.value)) if line.decoded.is_json else line
                for line in lines
            ]
        return lines


def _as_row(line: Line) -> Line:
    row = decode_row(line.decoded.value) if line.decoded.is_json else None
    if row is None:
        return line
    decoded = msgspec.structs.replace(line.decoded, value=row.value, code=line.decoded.code or row.defect)
    return msgspec.structs.replace(line, decoded=decoded, at=row.at)
