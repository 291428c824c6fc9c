# ruff: noqa: S608  statements are put together of our own constants and of names of columns that are known here
"""The knowledge graph: triples with their time, and the names of what they are about.

A date without a time that ends a triple stands for that whole day, as MemPalace reads it; times without a zone are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

from recollect.capture.containers.sqlite import confine, open_connection
from recollect.errors import SourceRefused
from recollect.model.time import parse_iso

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
                raise SourceRefused(f"{path} is no knowledge graph that is known", reason="unknown layout")
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
