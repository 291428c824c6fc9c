# ruff: noqa: S608  statements are put together of our own constants and declared names, quoted; values are always bound
"""Reads a MemPalace directory: drawers, diaries and knowledge graph.

Drawers are pieces of verbatim text with metadata, in one of two databases. Chroma (schema of `chromadb/migrations`):
`embeddings` belong to a segment, that to a collection; `embedding_metadata` has one row a key, the text itself under
`chroma:document`. sqlite_exact: `documents` with `metadata_json`. Vectors are never read. Drawers of one source are
given one behind the other, in their order.

The graph has triples with their time. A date without a time that ends a triple stands for that whole day, as MemPalace
reads it; times without a zone are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.capture.containers.sqlite import confine, open_connection
from recollect.errors import SourceRefused, SourceUnavailable
from recollect.model.time import parse_iso

CHROMA = "chroma.sqlite3"
EXACT = "sqlite_exact.sqlite3"
GRAPH = "knowledge_graph.sqlite3"
_BELOW = ("", "palace")
"""The drawers lie in the palace, which by default is the folder `palace` of the program's own; the graph in either."""


class Palace(NamedTuple):
    """The files of a palace. drawers: those with texts; graph: None without one. beside: a graph one folder up,
    which nobody named.
    """

    drawers: tuple[Path, ...]
    graph: Path | None
    beside: Path | None = None


def find_palace(folder: Path) -> Palace:
    """Return the content of a MemPalace directory: the palace itself, or the program's folder around it.

    Raises SourceUnavailable for an unreadable folder, SourceRefused for one that is no palace.
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
        raise SourceUnavailable(f"cannot read {folder}: {error.strerror}") from error
    if not drawers and not graphs:
        raise SourceRefused(
            f"{folder} is not a MemPalace directory: it has none of {CHROMA}, {EXACT}, {GRAPH}", reason="not a palace"
        )
    return Palace(drawers, graphs[0] if graphs else None, beside)


DOCUMENT_KEY = "chroma:document"
_SUFFIX = "_drawers"
_CHROMA_COLUMNS = {
    "collections": frozenset({"id", "name"}),
    "segments": frozenset({"id", "collection", "scope"}),
    "embeddings": frozenset({"id", "segment_id", "embedding_id"}),
    "embedding_metadata": frozenset({"id", "key", "string_value", "int_value", "float_value"}),
}
_EXACT_COLUMNS = {
    "collections": frozenset({"id", "name"}),
    "documents": frozenset({"collection_id", "id", "document", "metadata_json"}),
}
_OVERLAP_CHARS = 300
_LEAST_OVERLAP_CHARS = 20
_GROUPS = ("parent_entry_id", "parent_drawer_id")
"""What a text that was cut into drawers is named by, in each of them."""
_ORDER = ("wing", "room", "source_file", *_GROUPS)


class Drawer(NamedTuple):
    """One piece. metadata: values as they are stored, without the text."""

    id: str
    text: str
    metadata: dict[str, Any]

    def said(self, key: str) -> str:
        """Return a value as text, "" for none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else "" if value is None else str(value)


class Kept(NamedTuple):
    """One text: a source file, an entry of a diary, or a note that was filed on its own, put together again.

    id: of its first drawer, or of the text that was cut. metadata: of its first drawer.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    drawers: int

    @property
    def wing(self) -> str:
        """The project, person or source that it belongs to."""
        return self.said("wing") or "unknown"

    @property
    def room(self) -> str:
        """The topic that it was filed under."""
        return self.said("room") or "general"

    @property
    def is_diary(self) -> bool:
        """Return whether it is a diary entry."""
        return self.said("type") == "diary_entry" or (self.said("room"), self.said("hall")) == ("diary", "hall_diary")

    def said(self, key: str) -> str:
        """Return a value of its metadata as text, "" for none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else "" if value is None else str(value)


def read_kept(path: Path) -> Generator[Kept, None, None]:
    """Yield the texts of a database of drawers, in a stable order. Close it: it holds the database open.

    Raises SourceUnavailable, SourceChanged, SourceRefused (no database, or not laid out as either kind).
    """
    with open_connection(str(path)) as db:
        if path.name == CHROMA:
            _must_have(db, path, _CHROMA_COLUMNS)
            drawers = _of_chroma(db)
        else:
            _must_have(db, path, _EXACT_COLUMNS)
            drawers = _of_exact(db)
        for _key, group in groupby(drawers, key=_group_of):
            yield _joined(list(group))


def _of_chroma(db: apsw.Connection) -> Iterator[Drawer]:
    keys = [f"(SELECT string_value FROM embedding_metadata WHERE id = e.id AND key = '{name}')" for name in _ORDER]
    index = "(SELECT int_value FROM embedding_metadata WHERE id = e.id AND key = 'chunk_index')"
    rows: Any = db.execute(
        "SELECT e.id, CAST(e.embedding_id AS BLOB) FROM collections JOIN segments ON segments.collection = "
        "collections.id JOIN embeddings AS e ON e.segment_id = segments.id "
        f"WHERE substr(collections.name, -{len(_SUFFIX)}) = ? ORDER BY {', '.join((*keys, index))}, e.embedding_id",
        (_SUFFIX,),
    )
    for number, name in rows:
        metadata = _metadata_of(db, number)
        yield Drawer(bytes(name).decode("utf-8", "replace"), str(metadata.pop(DOCUMENT_KEY, "")), metadata)


def _metadata_of(db: apsw.Connection, number: int) -> dict[str, Any]:
    rows: Any = db.execute(
        "SELECT CAST(key AS BLOB), CAST(string_value AS BLOB), int_value, float_value FROM embedding_metadata "
        "WHERE id = ?",
        (number,),
    )
    found: dict[str, Any] = {}
    for raw, text, whole, real in rows:
        key = bytes(raw).decode("utf-8", "replace")
        if text is not None:
            found[key] = bytes(text).decode("utf-8", "replace")
        elif whole is not None or real is not None:
            found[key] = whole if whole is not None else real
    return found


def _of_exact(db: apsw.Connection) -> Iterator[Drawer]:
    def json(name: str) -> str:
        return f"CASE WHEN json_valid(metadata_json) THEN json_extract(metadata_json, '$.{name}') END"

    order = ", ".join(json(name) for name in (*_ORDER, "chunk_index"))
    rows: Any = db.execute(
        "SELECT CAST(documents.id AS BLOB), CAST(document AS BLOB), CAST(metadata_json AS BLOB) FROM documents "
        "JOIN collections ON collections.id = documents.collection_id "
        f"WHERE substr(collections.name, -{len(_SUFFIX)}) = ? ORDER BY {order}, documents.id",
        (_SUFFIX,),
    )
    for name, text, told in rows:
        try:
            metadata = msgspec.json.decode(bytes(told or b"{}"))
        except (msgspec.DecodeError, UnicodeDecodeError):
            metadata = {}
        known = metadata if isinstance(metadata, dict) else {}
        yield Drawer(bytes(name).decode("utf-8", "replace"), bytes(text or b"").decode("utf-8", "replace"), known)


def _group_of(drawer: Drawer) -> tuple[str, ...]:
    """Return what the drawers of one text have in common."""
    for key in _GROUPS:
        if drawer.said(key):
            return (key, drawer.said(key))
    source = drawer.said("source_file")
    if source and drawer.said("type") != "diary_entry":
        return (drawer.said("wing"), drawer.said("room"), source)
    return ("", drawer.id)


def _joined(drawers: list[Drawer]) -> Kept:
    text = drawers[0].text
    for drawer in drawers[1:]:
        text = _continued(text, drawer.text)
    key = _group_of(drawers[0])
    return Kept(key[1] if len(key) == 2 else drawers[0].id, text, drawers[0].metadata, len(drawers))


def _continued(text: str, more: str) -> str:
    """Append the next piece to a text. Pieces of files repeat the end of the one before, which is kept once."""
    for size in range(min(_OVERLAP_CHARS, len(more), len(text)), _LEAST_OVERLAP_CHARS - 1, -1):
        if text.endswith(more[:size]):
            return text + more[size:]
    return f"{text}\n{more}"


def _must_have(db: apsw.Connection, path: Path, wanted: dict[str, frozenset[str]]) -> None:
    for table, columns in wanted.items():
        rows: Any = db.execute(f"PRAGMA table_info({table})")
        if not columns <= {row[1] for row in rows}:
            raise SourceRefused(f"{path} has an unknown palace layout: {table} lacks columns", reason="unknown layout")
    confine(db, wanted)


DAY_US = 86_400_000_000
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WANTED = {
    "entities": frozenset({"id", "name"}),
    "triples": frozenset({"id", "subject", "predicate", "object", "valid_from", "valid_to"}),
}
_MAYBE = frozenset({"confidence", "source_file"})


class Triple(NamedTuple):
    """One triple. Times in UTC microseconds, [valid_from, valid_to). problem: why it cannot be a fact, "" if it can."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: int | None
    valid_to: int | None
    confidence: float
    source_file: str = ""
    problem: str = ""


def read_triples(path: Path) -> Generator[Triple, None, None]:
    """Yield the triples of a knowledge graph in order of id. Close it: it holds the database open.

    Raises SourceUnavailable, SourceChanged, SourceRefused (no database, or not laid out as one).
    """
    with open_connection(str(path)) as db:
        has: set[str] = set()
        for table, columns in _WANTED.items():
            found: Any = db.execute(f"PRAGMA table_info({table})").fetchall()
            names = {row[1] for row in found}
            if not columns <= names:
                raise SourceRefused(f"{path} is not a known knowledge graph", reason="unknown layout")
            has |= names & _MAYBE if table == "triples" else set()
        confine(db, {**_WANTED, "triples": _WANTED["triples"] | has})
        confidence = "triples.confidence" if "confidence" in has else "NULL"
        texts = ("triples.id", "coalesce(one.name, triples.subject)", "triples.predicate",
                 "coalesce(other.name, triples.object)", "triples.valid_from", "triples.valid_to",
                 "triples.source_file" if "source_file" in has else "NULL")  # fmt: skip
        cells = ", ".join(f"CAST({text} AS BLOB)" for text in texts)
        rows: Any = db.execute(
            f"SELECT {confidence}, {cells} FROM triples LEFT JOIN entities AS one ON one.id = triples.subject "
            "LEFT JOIN entities AS other ON other.id = triples.object ORDER BY triples.id"
        )
        for sure, *found in rows:
            yield _triple(sure, *(bytes(cell or b"").decode("utf-8", "replace").strip() for cell in found))


def _triple(sure: Any, name: str, subject: str, predicate: str, said: str, *rest: str) -> Triple:
    begin_text, end_text, source = rest
    begin, end = _instant(begin_text, is_end=False), _instant(end_text, is_end=True)
    problem = ""
    if not (subject and predicate and said):
        problem = "a triple lacks its subject, predicate or object"
    elif (begin_text and begin is None) or (end_text and end is None):
        problem = "a time of a triple cannot be read"
    elif begin is not None and end is not None and end <= begin:
        problem = "a triple ends before it begins"
    confidence = min(1.0, max(0.0, float(sure))) if isinstance(sure, int | float) else 1.0
    return Triple(name, subject, predicate, said, begin, end, confidence, source, problem)


def _instant(text: str, *, is_end: bool) -> int | None:
    at = parse_iso(text)
    if at is not None and is_end and _DATE.fullmatch(text):
        return at + DAY_US
    return at
