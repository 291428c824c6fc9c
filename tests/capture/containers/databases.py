"""Databases as an agent writes them, and a writer in a process of its own."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from recollect.capture.containers.sqlite import open_database
from recollect.model.capabilities import Table
from tests.capture.conftest import NOTES, PARTS

SCHEMA = """
CREATE TABLE note (id TEXT PRIMARY KEY, book TEXT, at INTEGER, body TEXT, packed BLOB, token TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, note TEXT, book TEXT, at INTEGER, body TEXT);
CREATE TABLE credential (name TEXT, secret TEXT);
INSERT INTO credential VALUES ('api', 'synthetic-credential');
"""
WRITER = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
for line in sys.stdin:
    try:
        said = db.execute(json.loads(line)).fetchall()
    except sqlite3.Error as error:
        said = str(error)
    print(json.dumps(said), flush=True)
"""


class Writer:
    """An agent in a process of its own, that holds its database open and does what it is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.crash()

    def run(self, *statements: str) -> Any:
        """Run statements one after the other; return what the last one gave."""
        said: Any = None
        for statement in statements:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps(statement), file=self._process.stdin, flush=True)
            said = json.loads(self._process.stdout.readline())
        return said

    def crash(self) -> None:
        """End at once, leaving everything as it is."""
        self._process.kill()
        self._process.communicate()


def note(name: str, text: str, *, book: str = "b1", at: int = 1) -> str:
    body = json.dumps({"id": name, "say": text}).replace("'", "''")
    return (
        f"INSERT INTO note (id, book, at, body, token) VALUES ('{name}', '{book}', {at}, '{body}', 'synthetic-token')"
    )


def made(path: Path, *statements: str) -> Path:
    """Make a database, or change it, and close it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    db = sqlite3.connect(path)
    if is_new:
        db.executescript(SCHEMA)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()
    return path


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what lies in a folder, with sizes and times; what is mapped into memory by its name only."""
    return {
        p.name: (0, 0) if p.name.endswith("-shm") else (p.stat().st_size, p.stat().st_mtime_ns)
        for p in folder.iterdir()
    }


def lines(path: Path, document: str = "b1", tables: tuple[Table, ...] = (NOTES, PARTS)) -> list[dict[str, Any]]:
    with open_database(str(path), tables) as database:
        return [json.loads(line) for line in database.lines(document)]


def bodies(path: Path, document: str = "b1", tables: tuple[Table, ...] = (NOTES, PARTS)) -> list[str]:
    return [json.loads(line["columns"]["body"]["$json"])["say"] for line in lines(path, document, tables)]
