"""A plain full-text program of a page: every text of every transcript in one SQLite FTS5 table.

`python -m benchmarks.support.plain_fts DATABASE FOLDER…` ingests what grew since the last time; it answers with
`search`. It keeps no bytes, redacts nothing and understands nothing: the floor of what indexing costs.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_SCHEMA = """
CREATE TABLE IF NOT EXISTS source(path TEXT PRIMARY KEY, offset INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS event(id INTEGER PRIMARY KEY, path TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS word USING fts5(text, content='event', content_rowid='id', tokenize='porter');
"""
_SNIPPETS = """
SELECT event.path, snippet(word, 0, '[', ']', '…', 20) FROM word JOIN event ON event.id = word.rowid
WHERE word MATCH ? ORDER BY rank LIMIT 10
"""


def connect(database: Path) -> sqlite3.Connection:
    """Open the database, made where it is missing."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.executescript(_SCHEMA)
    return connection


def ingest(connection: sqlite3.Connection, folders: list[Path]) -> None:
    """Read every whole line that was appended since the last time, in one transaction."""
    offsets = dict(connection.execute("SELECT path, offset FROM source"))
    with connection:
        for path in sorted(p for folder in folders for p in folder.rglob("*.jsonl")):
            start = offsets.get(str(path), 0)
            if path.stat().st_size == start:
                continue
            with path.open("rb") as file:
                file.seek(start)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    start += len(line)
                    _add(connection, str(path), line)
            connection.execute("INSERT OR REPLACE INTO source VALUES (?, ?)", (str(path), start))


def _add(connection: sqlite3.Connection, path: str, line: bytes) -> None:
    try:
        text = "\n".join(_strings(msgspec.json.decode(line)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    text = text.encode("utf-8", "replace").decode("utf-8")  # half of a pair is no text for SQLite
    row = connection.execute("INSERT INTO event(path, text) VALUES (?, ?)", (path, text)).lastrowid
    connection.execute("INSERT INTO word(rowid, text) VALUES (?, ?)", (row, text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for below in value.values():
            yield from _strings(below)
    elif isinstance(value, list):
        for below in value:
            yield from _strings(below)


def search(connection: sqlite3.Connection, query: str) -> list[tuple[str, str]]:
    """Return path and snippet of the best ten that have all words."""
    quoted = " ".join(f'"{word}"' for word in query.split())
    return connection.execute(_SNIPPETS, (quoted,)).fetchall()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUTF8", "1")
    ingest(connect(Path(sys.argv[1])), [Path(folder) for folder in sys.argv[2:]])
