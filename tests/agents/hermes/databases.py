"""Reads the fixtures of agents that keep a database: rows as the parser gets them, and what it makes of them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from recollect.agents.base import Adapter
from recollect.model.capabilities import Place
from recollect.model.events import Draft
from recollect.model.payloads import kind_of
from recollect.model.records import Drift, Record, SourceInfo

FIXTURES = Path(__file__).parents[2] / "conformance" / "fixtures"


def parse(adapter: Adapter, info: SourceInfo, records: list[Record]) -> tuple[list[Draft], list[str], list[Drift]]:
    """Return all events, the codes of all defects, and all drift."""
    state = adapter.begin(info)
    drafts: list[Draft] = []
    defects: list[str] = []
    drift: list[Drift] = []
    for record in records:
        parsed = adapter.parse(record, state)
        state = parsed.state
        drafts += parsed.events
        defects += [d.code for d in parsed.defects]
        drift += parsed.drift
    return drafts, defects, drift


def documents(database: sqlite3.Connection, place: Place) -> dict[str, list[Record]]:
    """Return the records of each logical document of a place, in order."""
    rows: dict[str, list[tuple[tuple[Any, ...], str, dict[str, Any]]]] = {}
    known = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in place.tables:
        if table.name not in known:
            continue
        cursor = database.execute(f"SELECT * FROM {table.name}")
        columns = [c[0] for c in cursor.description]
        for values in cursor:
            row = dict(zip(columns, values, strict=True))
            order = tuple("" if row.get(c) is None else row[c] for c in table.order)
            document = str(row[table.document]) if table.document else ""
            kept = {k: v for k, v in row.items() if k not in table.exclude}
            for column in table.json:
                if isinstance(kept.get(column), str):
                    try:
                        kept[column] = json.loads(kept[column])
                    except ValueError:
                        continue
            rows.setdefault(document, []).append((order, table.name, kept))
    return {
        document: [Record(row, b"", i, at) for i, (_, at, row) in enumerate(sorted(found, key=lambda r: r[0]))]
        for document, found in rows.items()
    }


class Story:
    """What an adapter makes of a fixture: the events of each session."""

    def __init__(self, adapter: Adapter, script: Path) -> None:
        self.sessions: dict[str, list[Draft]] = {}
        self.defects: list[str] = []
        self.drift: list[Drift] = []
        database = sqlite3.connect(":memory:")
        database.executescript(script.read_text())
        slug = adapter.facts.slug
        for place in adapter.facts.places:
            for document, records in documents(database, place).items() if place.container == "sqlite" else ():
                info = SourceInfo(slug, place.role, script.name.removesuffix(".sql"), document=document)
                session = adapter.identify(info, b"")
                self.take(adapter, SourceInfo(slug, place.role, info.path, session, document), records)
        database.close()

    def take(self, adapter: Adapter, info: SourceInfo, records: list[Record]) -> None:
        drafts, defects, drift = parse(adapter, info, records)
        self.defects += defects
        self.drift += drift
        for draft in drafts:
            self.sessions.setdefault(draft.session or info.session, []).append(draft)

    @property
    def drafts(self) -> list[Draft]:
        return [draft for drafts in self.sessions.values() for draft in drafts]

    @property
    def kinds(self) -> set[str]:
        return {kind_of(draft.payload) for draft in self.drafts}

    def of(self, kind: str, session: str = "") -> list[Any]:
        """Return the payloads of a kind, of one session or of all."""
        drafts = self.sessions[session] if session else self.drafts
        return [d.payload for d in drafts if kind_of(d.payload) == kind]

    def talk(self, session: str = "") -> list[str]:
        """Return what people and the model said, in order."""
        drafts = self.sessions[session] if session else self.drafts
        return [
            d.payload.text
            for d in drafts
            if kind_of(d.payload) == "assistant_message"
            or (kind_of(d.payload) == "user_message" and d.payload.origin != "injected")
        ]


def scripts(slug: str) -> list[Path]:
    """Return the databases among the fixtures of an agent."""
    return sorted((FIXTURES / slug).rglob("*.sql"))
