"""Builds MemPalace directories, laid out as that program and Chroma lay them out. All content is made up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from zlib import crc32

import apsw

_CHROMA = """
CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, database_id TEXT NOT NULL);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT,
    int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
INSERT INTO collections VALUES ('c1', 'mempalace_drawers', 384, 'd'), ('c2', 'mempalace_closets', 384, 'd');
INSERT INTO segments VALUES ('s1', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'c1'),
    ('v1', 'urn:chroma:segment/vector/hnsw-local-persisted', 'VECTOR', 'c1'),
    ('s2', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'c2');
"""
_EXACT = """
CREATE TABLE collections (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, dimension INTEGER,
    created_at TEXT NOT NULL);
CREATE TABLE documents (collection_id INTEGER NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL,
    metadata_json TEXT NOT NULL, embedding BLOB NOT NULL, dim INTEGER NOT NULL, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, PRIMARY KEY (collection_id, id));
INSERT INTO collections (name, created_at) VALUES ('mempalace_drawers', '2026-01-01');
"""
_GRAPH = """
CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT NOT NULL, type TEXT DEFAULT 'unknown',
    properties TEXT DEFAULT '{}', created_at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE triples (id TEXT PRIMARY KEY, subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL,
    valid_from TEXT, valid_to TEXT, confidence REAL DEFAULT 1.0, source_closet TEXT, source_file TEXT,
    source_drawer_id TEXT, adapter_name TEXT, extracted_at TEXT DEFAULT CURRENT_TIMESTAMP);
"""
Metadata = Mapping[str, str | int | float]


class PalaceBuilder:
    """A MemPalace folder that grows."""

    def __init__(self, folder: Path, *, backend: str = "chroma") -> None:
        self.folder = folder
        self.palace = folder / "palace"
        self.backend = backend
        self.palace.mkdir(parents=True)
        with closing(self._drawers()) as db:
            db.execute(_CHROMA if backend == "chroma" else _EXACT)

    def drawer(self, name: str, text: str, *, collection: str = "s1", **metadata: str | int | float) -> None:
        """File a piece of text."""
        with closing(self._drawers()) as db:
            if self.backend == "chroma":
                db.execute(
                    "INSERT INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?, ?, x'01')", (collection, name)
                )
                number = db.last_insert_rowid()
                values = {"chroma:document": text, **metadata}
                rows = [(number, key, *_typed(value)) for key, value in values.items()]
                db.executemany("INSERT INTO embedding_metadata VALUES (?, ?, ?, ?, ?, NULL)", rows)
            else:
                row = (1, name, text, json.dumps(metadata), b"\0" * 4, 1, "2026", "2026")
                db.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def file(self, source: str, texts: Sequence[str], *, wing: str = "shop_api", room: str = "decisions") -> None:
        """File a source in pieces, the last one first, as writers at once may."""
        for index, text in reversed(list(enumerate(texts))):
            name = f"drawer_{wing}_{room}_{crc32(source.encode()):x}_{index}"
            self.drawer(
                name, text, wing=wing, room=room, source_file=source, chunk_index=index, filed_at="2026-05-01T10:00:00"
            )

    def entry(self, name: str, text: str, *, agent: str = "claude", at: str = "2026-05-02T10:00:00+00:00") -> None:
        """Write an entry of a diary."""
        self.drawer(
            name, text, wing=f"wing_{agent}", room="diary", hall="hall_diary", topic="release", type="diary_entry",
            agent=agent, filed_at=at, chunk_index=0,
        )  # fmt: skip

    def triple(
        self, name: str, words: tuple[str, str, str], *, begin: str | None = None, end: str | None = None
    ) -> None:  # fmt: skip
        """Add a triple to the knowledge graph, or set the end of the one that is there."""
        subject, predicate, said = words
        with closing(apsw.Connection(str(self.folder / "knowledge_graph.sqlite3"))) as db:
            if not db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute(_GRAPH)
            for entity in (subject, said):
                db.execute("INSERT OR IGNORE INTO entities (id, name) VALUES (?, ?)", (entity.lower(), entity))
            db.execute(
                "INSERT INTO triples (id, subject, predicate, object, valid_from, valid_to, confidence) "
                "VALUES (?, ?, ?, ?, ?, ?, 0.9) ON CONFLICT (id) DO UPDATE SET valid_to = excluded.valid_to",
                (name, subject.lower(), predicate, said.lower(), begin, end),
            )

    def files(self) -> dict[str, bytes]:
        """Return every file with its content, to see that nothing was written."""
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}

    def _drawers(self) -> apsw.Connection:
        name = "chroma.sqlite3" if self.backend == "chroma" else "sqlite_exact.sqlite3"
        return apsw.Connection(str(self.palace / name))


def _typed(value: str | int | float) -> tuple[str | None, int | None, float | None]:
    if isinstance(value, str):
        return value, None, None
    return (None, value, None) if isinstance(value, int) else (None, None, value)
