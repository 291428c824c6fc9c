# ruff: noqa: S608  statements are put together of declared names, quoted
"""Fixtures of the conformance suite, and earlier versions of them.

A fixture is a small tree of files as an agent writes them: `FOLDER/<slug>/<version>/<scenario>/…` is what stands below
the agent's root. A file `NAME.sql` is a script that makes the database `NAME`, so that fixtures stay readable.

Earlier saves are made of the last one: lines, arrays, rows and files that came later are cut. A table whose rows are
things that happened loses its last rows, in the order that the adapter declares; an array in a cell loses its last
elements; a folder of small files its last files. What describes a session as a whole stays.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple

from recollect.model.capabilities import AgentFacts, Place, Table

SCRIPT = ".sql"
_FIRST_TIME_S = 1_785_574_800
"""2026-08-01 09:00 UTC: files get times in the order of their paths, so that a run doesn't depend on the checkout."""


class Fixture(NamedTuple):
    """One scenario of one version of an agent."""

    agent: str
    version: str
    scenario: str
    folder: Path

    @property
    def name(self) -> str:
        """`agent/version/scenario`."""
        return f"{self.agent}/{self.version}/{self.scenario}"


def fixtures_in(folder: Path, agent: str = "") -> Iterator[Fixture]:
    """Yield every fixture below a folder (of one agent), in a stable order."""
    for path in sorted(folder.glob("*/*/*/")):
        slug, version, scenario = path.relative_to(folder).parts
        if not agent or slug == agent:
            yield Fixture(slug, version, scenario, path)


def lay_out(fixture: Fixture, root: Path) -> list[Path]:
    """Copy a fixture's files below a root and make its databases; return the files made."""
    made: list[Path] = []
    for path in sorted(p for p in fixture.folder.rglob("*") if p.is_file()):
        target = root / path.relative_to(fixture.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == SCRIPT:
            target = target.with_suffix("")
            _make_database(target, path.read_text("utf-8"))
        else:
            shutil.copyfile(path, target)
        at = _FIRST_TIME_S + len(made)
        os.utime(target, (at, at))
        made.append(target)
    return made


def _make_database(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    try:
        connection.executescript(script)
        connection.commit()
    finally:
        connection.close()


LINES = ("jsonl", "patchlog")
_LAST = ":last"
_HEADER = b"SQLite format 3\x00"
_PARTS = (0.31, 0.74, 1.0)
"""How much of everything is written, step by step: a file of lines is seldom cut at the end of one."""
_ARRAYS = ("messages", "history", "conversation", "fullConversationHeadersOnly", "requests", "tabs", "bubbles")
"""Names of arrays in a cell to which an agent appends."""
_DEEPEST = 3
_STEP_NS = 60_000_000_000

Way = Literal["together", "in turn", "backwards"]
"""How an agent's sources grow: all of them by parts; whole, one after the other, in the order of their paths or the
other way round."""
WAYS: tuple[Way, ...] = ("together", "in turn", "backwards")
Cut = Callable[[dict[str, Any], float], dict[str, Any]]
"""Gives a document as it was when a part of it was written."""


class Saves(NamedTuple):
    """What an agent wrote below a root, and how to see earlier states of it.

    containers: of its files, by path, as the store names them. cut: in place of arrays that are cut one by one.
    """

    root: Path
    files: Sequence[Path]
    containers: Mapping[str, str]
    facts: AgentFacts
    cut: Cut | None = None

    def steps(self, target: Path, way: Way) -> Iterator[None]:
        """Bring a folder step by step to the last save."""
        if way == "together":
            for part in _PARTS:
                later = self._later_files(part)
                for path in self.files:
                    if path not in later:
                        self._save(path, target, part)
                yield
            return
        sources = sorted(self.sources, reverse=way == "backwards")
        size = -(-len(sources) // len(_PARTS))
        for first in range(0, len(sources), size):
            for path in (path for source in sources[first : first + size] for path in source):
                self._save(path, target, 1.0)
            yield

    def _save(self, path: Path, target: Path, part: float) -> None:
        to = target / path.relative_to(self.root)
        to.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        container = self.containers.get(str(path), "")
        if part < 1.0 and data.startswith(_HEADER):
            to.write_bytes(data)
            _cut_database(to, self.facts.places, part)
        else:
            data = data if part == 1.0 else _cut_file(data, container, part, self.cut)
            if to.exists() and to.read_bytes() == data:
                return
            to.write_bytes(data)
        at = path.stat().st_mtime_ns - int((1 - part) * _STEP_NS)
        os.utime(to, ns=(at, at))

    def _later_files(self, part: float) -> set[Path]:
        """Return the files of folders that were not there yet: of each document the last ones."""
        return {path for files in self._documents for path in files[max(1, int(len(files) * part)) :]}

    @property
    def sources(self) -> list[tuple[Path, ...]]:
        """The files, those of a folder that make one document together."""
        documents = self._documents
        of_documents = {path for files in documents for path in files}
        return [*documents, *((path,) for path in self.files if path not in of_documents)]

    @property
    def _documents(self) -> list[tuple[Path, ...]]:
        names = {path: path.relative_to(self.root).as_posix() for path in self.files}
        return [files for place in self.facts.places for files in _documents_of(place, names)]


def _documents_of(place: Place, names: Mapping[Path, str]) -> list[tuple[Path, ...]]:
    """Return the files of each document of a folder, in the order in which they are written. names: below the root."""
    owners: dict[str, str] = {}
    binders: dict[str, int] = {}
    found: dict[str, list[tuple[Any, Path]]] = {}
    for number, member in enumerate(place.members):
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(member.pattern)).replace(r"\*", "[^/]*")
        for path, name in names.items():
            match = re.fullmatch(pattern, name)
            bound = match.groupdict() if match else {}
            document = bound.pop("document", None) or next((owners[v] for v in bound.values() if v in owners), None)
            if document is None:
                continue
            owners.update(dict.fromkeys(bound.values(), document))
            values = [(len(value), value) for value in bound.values()]  # numbers by their value
            binder = min((binders.setdefault(name, number) for name in bound), default=number)
            found.setdefault(document, []).append(((binder, values), path))
    return [tuple(path for _, path in sorted(files)) for files in found.values()]


def _cut_file(data: bytes, container: str, part: float, cut: Cut | None) -> bytes:
    if container in LINES:
        return data[: int(len(data) * part)]
    if not container.startswith("snapshot"):
        return data
    try:
        document = json.loads(data)
    except ValueError:
        return data
    if isinstance(document, list):
        return json.dumps(_beginning(document, part)).encode()
    if not isinstance(document, dict):
        return data
    if cut is not None:
        return json.dumps(cut(document, part)).encode()
    for path in filter(None, container.partition(":")[2].split(",")):  # the arrays that are split
        *above, last = path.split(".")
        holder: Any = document
        for name in above:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and isinstance(holder.get(last), list):
            holder[last] = _beginning(holder[last], part)
    return json.dumps(document).encode()


def _beginning(array: list[Any], part: float) -> list[Any]:
    return array[: max(1, int(len(array) * part))]


def _cut_database(path: Path, places: Sequence[Place], part: float) -> None:
    """Take the last rows of each document, and the last elements of arrays in the cells that are left."""
    with closing(sqlite3.connect(path)) as db, db:
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for place in places:
            tables = [table for table in place.tables if table.name in there]
            _cut_rows(db, tables, part)
            for table in tables:
                for column in table.only if _LAST in table.order else ():  # what became of it in the end
                    db.execute(f"UPDATE {_quoted(table.name)} SET {_quoted(column)} = NULL")
                for column in sorted(_columns(db, table) & {*table.json}):
                    _cut_cells(db, table.name, column, part)


def _cut_rows(db: sqlite3.Connection, tables: Sequence[Table], part: float) -> None:
    by_document: dict[str, list[tuple[Any, str, int]]] = {}
    for table in filter(_tells_events, tables):
        known = _columns(db, table)
        if table.document and table.document not in known:
            continue
        document = _quoted(table.document) if table.document else _quoted(table.key) if table.document_in_key else "''"
        order = ", ".join(_ordering(name, known) for name in table.order)
        for rowid, written, *values in db.execute(f"SELECT rowid, {document}, {order} FROM {_quoted(table.name)}"):
            if table.document_in_key and not any(written.startswith(key.removesuffix("*")) for key in table.keys):
                continue
            name = written.split(":")[1] if table.document_in_key else written
            place = [(value is not None, isinstance(value, str), value) for value in values]
            by_document.setdefault(name, []).append((place, table.name, rowid))
    for rows in by_document.values():
        for _, name, rowid in sorted(rows)[max(1, int(len(rows) * part)) :]:
            db.execute(f"DELETE FROM {_quoted(name)} WHERE rowid = ?", (rowid,))


def _tells_events(table: Table) -> bool:
    """False for a table that describes documents: those stay as they are."""
    if table.document_in_key or table.document:
        return _LAST not in table.order and any(name != table.document for name in table.order)
    return table.order == ("rowid",)


def _columns(db: sqlite3.Connection, table: Table) -> set[str]:
    return {row[1] for row in db.execute(f"PRAGMA table_info({_quoted(table.name)})")}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _ordering(name: str, known: set[str]) -> str:
    column, _, member = name.partition(":")
    if column != "rowid" and column not in known:
        return "NULL"
    return f"json_extract({_quoted(column)}, '{member}')" if member else _quoted(column)


def _cut_cells(db: sqlite3.Connection, table: str, column: str, part: float) -> None:
    for rowid, cell in db.execute(f"SELECT rowid, {_quoted(column)} FROM {_quoted(table)}").fetchall():
        try:
            value = json.loads(cell)
        except (TypeError, ValueError):
            continue
        if _shorten(value, part, 0):
            db.execute(f"UPDATE {_quoted(table)} SET {_quoted(column)} = ? WHERE rowid = ?", (json.dumps(value), rowid))


def _shorten(value: Any, part: float, depth: int) -> bool:
    """Cut the arrays to which an agent appends; tell whether there were any."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return False
    found = False
    for name, member in value.items():
        if name in _ARRAYS and isinstance(member, list):
            value[name] = _beginning(member, part)
            found = True
        else:
            found |= _shorten(member, part, depth + 1)
    return found
