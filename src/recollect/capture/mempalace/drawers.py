# ruff: noqa: S608  statements are put together of our own constants and of names of columns that are known here
"""Drawers: pieces of verbatim text with metadata, in either of the databases that MemPalace keeps them in.

Chroma (schema of `chromadb/migrations`): `embeddings` belong to a segment, that to a collection; `embedding_metadata`
has one row a key, the text itself under `chroma:document`. sqlite_exact: `documents` with `metadata_json`. Vectors are
never read. Drawers of one source are given one behind the other, in their order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.capture.containers.sqlite import confine, open_connection
from recollect.capture.mempalace.places import CHROMA
from recollect.errors import SourceRefused

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
        """Tell whether it is an entry of a diary."""
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
    """Return a text with its next piece. Pieces of files repeat the end of the one before; that is told once."""
    for size in range(min(_OVERLAP_CHARS, len(more), len(text)), _LEAST_OVERLAP_CHARS - 1, -1):
        if text.endswith(more[:size]):
            return text + more[size:]
    return f"{text}\n{more}"


def _must_have(db: apsw.Connection, path: Path, wanted: dict[str, frozenset[str]]) -> None:
    for table, columns in wanted.items():
        rows: Any = db.execute(f"PRAGMA table_info({table})")
        if not columns <= {row[1] for row in rows}:
            raise SourceRefused(
                f"{path} is not laid out as a palace that is known: {table} lacks columns", reason="unknown layout"
            )
    confine(db, wanted)
