"""Where the databases of a MemPalace directory are, by their names and content."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from recollect.errors import SourceRefused, SourceUnavailable

CHROMA = "chroma.sqlite3"
EXACT = "sqlite_exact.sqlite3"
GRAPH = "knowledge_graph.sqlite3"
_BELOW = ("", "palace")
"""The drawers lie in the palace, which by default is the folder `palace` of the program's own; the graph in either."""


class Palace(NamedTuple):
    """The files of a palace. drawers: each with texts; graph: None where there is none. beside: a graph that lies one
    folder up, which nobody named."""

    drawers: tuple[Path, ...]
    graph: Path | None
    beside: Path | None = None


def find_palace(folder: Path) -> Palace:
    """Return what a MemPalace directory holds: the palace itself, or the program's folder with it.

    Raises SourceUnavailable for a folder that cannot be read, SourceRefused for one that is no palace.
    """
    try:
        if not folder.is_dir():
            raise SourceUnavailable(f"{folder} is not a directory")
        places = [folder / name if name else folder for name in _BELOW]
        drawers = tuple(file for place in places for name in (CHROMA, EXACT) if (file := place / name).is_file())
        graphs = [file for place in places if (file := place / GRAPH).is_file()]
        above = folder.absolute().parent / GRAPH
        beside = above if not graphs and drawers and above.is_file() else None
    except OSError as error:
        raise SourceUnavailable(f"cannot look into {folder}: {error.strerror}") from error
    if not drawers and not graphs:
        raise SourceRefused(
            f"{folder} is no MemPalace directory: it has none of {CHROMA}, {EXACT}, {GRAPH}", reason="not a palace"
        )
    return Palace(drawers, graphs[0] if graphs else None, beside)
